// Mapped files that are made shorter while they are read. The kernel then ends the process by
// SIGBUS; here it ends with a message and ExitCode::io instead. Nothing else.
#pragma once

#include <cstddef>
#include <string>

namespace fuseflow {

/// The `size` bytes at `begin` are those of the file at `path`, until forget_file(). Any thread.
void watch_file(const char* begin, size_t size, const std::string& path);

/// What watch_file() was told of; nothing if it was not. Before it is unmapped.
void forget_file(const char* begin);

}  // namespace fuseflow
