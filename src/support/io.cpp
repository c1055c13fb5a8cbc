#include "support/io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <new>

#include "support/destination.h"
#include "support/error.h"
#include "support/file_lost.h"
#include "support/inputs.h"
#include "support/path_hints.h"
#include "support/standard_streams.h"
#include "support/stop.h"
#include "support/write_file.h"

namespace fuseflow {

namespace {

std::map<std::string, std::string>& path_hints() {
  static std::map<std::string, std::string> hints;
  return hints;
}

[[noreturn]] void io_error(const std::string& what, const std::string& path) {
  const int number = errno;
  std::string message = fmt::format("{}: {}", what, std::strerror(number));
  const auto hint = number == ENOENT ? path_hints().find(path) : path_hints().end();
  if (hint != path_hints().end()) message += "; " + hint->second;
  throw Error(ExitCode::io, Location{path}, std::move(message));
}

/// Owns a file descriptor.
struct Descriptor {
  int fd;
  explicit Descriptor(int descriptor) : fd(descriptor) {}
  ~Descriptor() {
    if (fd > STDERR_FILENO) ::close(fd);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
};

/// A pipe may have nothing for ever: a tool with limits looks at them meanwhile.
void wait_for_bytes(int fd) {
  constexpr int kMilliseconds = 50;
  struct pollfd waited {};
  waited.fd = fd;
  waited.events = POLLIN;
  while (may_be_stopped() && ::poll(&waited, 1, kMilliseconds) <= 0) stop_if_asked();
}

/// Nor may it end. The text is moved as it grows, so that it takes twice its size.
void require_room(size_t bytes, const std::string& name) {
  stop_if_larger(bytes);
  static const size_t most = static_cast<size_t>(::sysconf(_SC_PHYS_PAGES)) / 4 *
                             static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  if (bytes <= most) return;
  throw Error(ExitCode::rejected, Location{name},
              fmt::format("this does not end, expected at most {} bytes: a quarter of this "
                          "machine's memory",
                          most));
}

std::string read_all(int fd, const std::string& name) {
  std::string text;
  constexpr size_t kChunk = size_t{1} << 16;
  for (;;) {
    require_room(text.size(), name);
    stop_if_asked();
    wait_for_bytes(fd);
    const size_t size = text.size();
    text.resize(size + kChunk);
    const ssize_t got = ::read(fd, text.data() + size, kChunk);
    if (got < 0 && errno == EINTR) {
      text.resize(size);
      continue;
    }
    if (got < 0) io_error("cannot read", name);
    text.resize(size + static_cast<size_t>(got));
    if (got == 0) return text;
  }
}

std::string read_standard_input() {
  static bool was_read = false;
  if (was_read) {
    throw Error(ExitCode::usage,
                "standard input (-) is given for more than one input, expected a file for all but "
                "one of them");
  }
  was_read = true;
  note_standard_input();
  return read_all(STDIN_FILENO, "<stdin>");
}

}  // namespace

void add_path_hint(const std::string& path, std::string hint) {
  path_hints()[path] = std::move(hint);
}

void require_regular(const std::string& path, std::string_view expected) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  if (!std::filesystem::exists(status) || std::filesystem::is_regular_file(status)) return;
  throw Error(ExitCode::io, Location{path},
              fmt::format("not a regular file, expected {}", expected));
}

void require_regular_or_open(const std::string& path, std::string_view expected) {
  const bool open = destination_of(path).kind == Destination::Kind::descriptor;
  if (!open) require_regular(path, expected);
}

SourceText read_source(const std::string& path) {
  if (path.empty() || path == "-") return {"<stdin>", read_standard_input()};
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd < 0) io_error("cannot open", path);
  note_input(file.fd, path);
  return {path, read_all(file.fd, path)};
}

void write_output(const std::string& path, std::string_view text) {
  require_no_input(path);
  const Destination destination = destination_of(path);
  const bool is_standard = destination.descriptor == STDOUT_FILENO;
  if (is_standard && !standard_output_is_read()) return;
  const bool read = write_destination(destination, text, path == "-" ? "<stdout>" : path);
  if (is_standard && !read) standard_output_has_no_reader();
}

namespace {

/// In memory of its own, which is unmapped like a file's.
const char* copied(const std::string& text) {
  void* memory =
      ::mmap(nullptr, text.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  std::memcpy(memory, text.data(), text.size());
  return static_cast<const char*>(memory);
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  if (path == "-") {
    const std::string text = read_standard_input();
    size_ = text.size();
    if (size_ > 0) data_ = copied(text);
    return;
  }
  require_regular(path, "a data file");
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd < 0) io_error("cannot open", path);
  note_input(file.fd, path);
  struct stat info {};
  if (::fstat(file.fd, &info) != 0) io_error("cannot stat", path);
  size_ = static_cast<size_t>(info.st_size);
  if (size_ == 0) return;
  void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (mapped == MAP_FAILED) io_error("cannot map", path);
  data_ = static_cast<const char*>(mapped);
  watch_file(data_, size_, path);
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  forget_file(data_);
  ::munmap(const_cast<char*>(data_), size_);
}

}  // namespace fuseflow
