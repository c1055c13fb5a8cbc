#include "support/standard_streams.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "support/error.h"

namespace fuseflow {
namespace {

std::atomic<bool> has_reader = true;

}  // namespace

void open_missing_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (::fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    // open() gives the lowest number that is free, which is this one. Where there is no /dev/null,
    // a folder takes the number: reading and writing it fails.
    if (::open("/dev/null", O_RDWR) < 0) static_cast<void>(::open("/", O_RDONLY | O_DIRECTORY));
  }
}

void finish_standard_output() {
  // Closing a copy tells, as closing the stream itself does.
  const int copy = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (copy < 0 || ::close(copy) == 0 || errno == EINTR) return;
  throw Error(ExitCode::io, Location{"<stdout>"},
              fmt::format("cannot write: {}", std::strerror(errno)));
}

bool standard_output_is_read() {
  return has_reader;
}

void standard_output_has_no_reader() {
  has_reader = false;
}

}  // namespace fuseflow
