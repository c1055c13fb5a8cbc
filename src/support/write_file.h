// Bytes into files, all of them or none.
#pragma once

#include <string>
#include <string_view>

#include "support/destination.h"

namespace fuseflow {

/// All bytes. To a terminal control characters but line ends and tabs go as \xHH: a name out of a
/// file must not give it orders. False if nobody reads the pipe any more. Throws Error(io), which
/// calls the file `name`.
bool write_bytes(int descriptor, std::string_view text, const std::string& name);

/// A descriptor and a device get the text as they are. A file has either its old content or the
/// new: the text goes to a new file beside it, of a name that nobody can foresee, which is closed
/// and renamed over it when the system has said that all of it is kept. The new file has the old
/// one's permissions and, where that is allowed, owner. False and Error(io) as above.
bool write_destination(const Destination& destination, std::string_view text,
                       const std::string& name);

}  // namespace fuseflow
