// All reading and writing of texts and whole files. Nothing else opens a file for a tool's input or
// output, so that exit statuses, `-`, closed pipes, half-written files and inputs that are kept are
// handled once.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fuseflow {

/// A text and the name that diagnostics give it (`<stdin>` for standard input).
struct SourceText {
  std::string name;
  std::string text;
};

/// A whole file, or standard input ("-" or empty), but that only once. Throws Error(io, usage).
SourceText read_source(const std::string& path);

/// Throws Error(io) if something is at `path` that is no regular file, before it is opened: a FIFO
/// would wait for a writer, a device need not end. `expected`: "a data file".
void require_regular(const std::string& path, std::string_view expected);

/// As require_regular(), but "-" and names of what this process has open, a pipe or not, are
/// accepted: /dev/stdin, a shell's `<(command)`.
void require_regular_or_open(const std::string& path, std::string_view expected);

/// Writes everything or nothing (support/write_file.h): to standard output when `path` is empty or
/// "-", else into the file, device or pipe that `path` leads to. Throws Error(usage) for a file
/// that the tool reads (support/inputs.h), and Error(io). A pipe that nobody reads any more is no
/// error: what is left to write there is dropped, so that a tool still writes its other files and
/// tells what its checks found.
void write_output(const std::string& path, std::string_view text);

/// A regular file ("-": standard input) in memory; empty files give an empty view. Throws as
/// read_source() and require_regular().
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::string_view bytes() const { return {data_, size_}; }

 private:
  const char* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace fuseflow
