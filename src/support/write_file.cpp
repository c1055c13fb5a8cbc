#include "support/write_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>

#include "support/error.h"
#include "support/text.h"

namespace fuseflow {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void write_error(const char* what, const std::string& name) {
  const int number = errno;
  throw Error(ExitCode::io, Location{name}, fmt::format("{}: {}", what, std::strerror(number)));
}

/// A descriptor to write to. What close() says counts: only then are some file systems sure.
class OpenFile {
 public:
  OpenFile(int descriptor, const std::string& name) : descriptor_(descriptor), name_(name) {
    if (descriptor < 0) write_error("cannot open for writing", name);
  }
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  int number() const { return descriptor_; }
  void close() {
    const int closed = ::close(descriptor_);
    descriptor_ = -1;
    if (closed != 0 && errno != EINTR) write_error("cannot write", name_);
  }

 private:
  int descriptor_;
  const std::string& name_;
};

/// 64 bits that nobody knows before.
uint64_t unforeseeable(const std::string& name) {
  uint64_t bits = 0;
  if (::getrandom(&bits, sizeof bits, 0) != sizeof bits)
    write_error("cannot open for writing", name);
  return bits;
}

/// The name of a hidden file, which says what it becomes; cut to what file systems take.
std::string name_for(const std::string& beside, const std::string& name) {
  constexpr size_t kMostKept = 200;
  const std::string file = fs::path(beside).filename().string().substr(0, kMostKept);
  return fmt::format(".{}.{:016x}", file, unforeseeable(name));
}

/// A new file in the folder of another, which is gone unless it takes that one's name.
class NewFile {
 public:
  NewFile(const std::string& beside, mode_t mode, const std::string& name)
      : path_(fs::path(beside).parent_path() / name_for(beside, name)),
        // O_EXCL: what is there already, be it a link, is neither opened nor followed.
        file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode), name) {}
  ~NewFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  int number() const { return file_.number(); }
  /// Closes it and puts it in the place of `file`.
  void replace(const std::string& file, const std::string& name) {
    file_.close();
    if (::rename(path_.c_str(), file.c_str()) != 0) write_error("cannot replace", name);
    path_.clear();
  }

 private:
  fs::path path_;
  OpenFile file_;
};

/// Owner first: changing it may take permissions away. Who may not give it away keeps the file.
void keep_owner_and_mode(int descriptor, const struct stat& before, const std::string& name) {
  struct stat now {};
  if (::fstat(descriptor, &now) != 0) write_error("cannot write", name);
  const bool other = now.st_uid != before.st_uid || now.st_gid != before.st_gid;
  mode_t mode = before.st_mode & mode_t{07777};
  if (other && ::fchown(descriptor, before.st_uid, before.st_gid) != 0) {
    if (::fchown(descriptor, static_cast<uid_t>(-1), before.st_gid) != 0) {
      mode &= ~mode_t{S_IRWXG | S_ISGID};  // these were for another group
    }
    mode &= ~mode_t{S_ISUID};
  }
  if (::fchmod(descriptor, mode) != 0) write_error("cannot write", name);
}

void replace_file(const std::string& file, std::string_view text, const std::string& name) {
  constexpr mode_t kPrivate = 0600;  // until it has the permissions of the one that it replaces
  constexpr mode_t kUsual = 0666;    // the process's umask applies
  struct stat before {};
  const bool there = ::stat(file.c_str(), &before) == 0;
  if (!there && errno != ENOENT) write_error("cannot open for writing", name);
  NewFile written(file, there ? kPrivate : kUsual, name);
  write_bytes(written.number(), text, name);
  if (there) keep_owner_and_mode(written.number(), before, name);
  written.replace(file, name);
}

}  // namespace

bool write_bytes(int descriptor, std::string_view text, const std::string& name) {
  std::string shown;
  if (::isatty(descriptor) != 0) text = shown = printable(text, "\n\t");
  while (!text.empty()) {
    const ssize_t put = ::write(descriptor, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EPIPE) return false;
    if (put < 0) write_error("cannot write", name);
    text.remove_prefix(static_cast<size_t>(put));
  }
  return true;
}

bool write_destination(const Destination& destination, std::string_view text,
                       const std::string& name) {
  switch (destination.kind) {
    case Destination::Kind::descriptor:
      return write_bytes(destination.descriptor, text, name);
    case Destination::Kind::special: {
      OpenFile file(::open(destination.path.c_str(), O_WRONLY | O_CLOEXEC), name);
      const bool read = write_bytes(file.number(), text, name);
      file.close();
      return read;
    }
    case Destination::Kind::file:
      break;
  }
  replace_file(destination.path, text, name);
  return true;
}

}  // namespace fuseflow
