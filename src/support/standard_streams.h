// The three standard streams of a process as a tool finds them when it starts and leaves them when
// it ends.
#pragma once

namespace fuseflow {

/// Opens those that are missing (`2>&-`) on /dev/null: a file that is opened later would get their
/// number, and with it the notes or the CSV. To be called before anything is opened.
void open_missing_streams();

/// Throws Error(io) if the system says that not all that was written to standard output is kept.
/// For the end of a tool; standard output stays open.
void finish_standard_output();

/// False once the pipe that standard output is has been closed: more output is of no use.
bool standard_output_is_read();
/// Said by the one who found out.
void standard_output_has_no_reader();

}  // namespace fuseflow
