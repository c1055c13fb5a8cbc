#include "support/file_lost.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>

#include "support/error.h"

namespace fuseflow {
namespace {

struct WatchedMapping {
  const char* begin;
  size_t size;
  std::string path;
};

// A signal handler may take no lock: it reads the slots, which are written under the mutex. What
// finds no slot is not watched.
constexpr size_t kMostFiles = 4096;
std::array<std::atomic<const WatchedMapping*>, kMostFiles> slots{};
std::mutex list_mutex;

void say(const char* text, size_t size) {
  static_cast<void>(::write(STDERR_FILENO, text, size) < 0);
}

/// Only what POSIX allows in a handler.
void on_bus_error(int number, siginfo_t* info, void*) {
  const auto at = reinterpret_cast<uintptr_t>(info->si_addr);
  for (const auto& slot : slots) {
    const WatchedMapping* file = slot.load();
    if (file == nullptr) continue;
    const auto begin = reinterpret_cast<uintptr_t>(file->begin);
    if (at < begin || at - begin >= file->size) continue;
    constexpr char kMessage[] =
        ": error: the file was made shorter while it was read, expected it to stay as it is until "
        "the tool has ended\n";
    say(file->path.data(), file->path.size());
    say(kMessage, sizeof(kMessage) - 1);
    ::_exit(static_cast<int>(ExitCode::io));
  }
  ::signal(number, SIG_DFL);  // the access is tried again, and ends the process
}

void catch_bus_errors() {
  struct sigaction caught {};
  caught.sa_sigaction = on_bus_error;
  caught.sa_flags = SA_SIGINFO;
  ::sigemptyset(&caught.sa_mask);
  ::sigaction(SIGBUS, &caught, nullptr);
}

}  // namespace

void watch_file(const char* begin, size_t size, const std::string& path) {
  static std::once_flag once;
  std::call_once(once, catch_bus_errors);
  auto file = std::make_unique<const WatchedMapping>(WatchedMapping{begin, size, path});
  const std::lock_guard lock(list_mutex);
  for (auto& slot : slots) {
    if (slot.load() != nullptr) continue;
    slot.store(file.release());
    return;
  }
}

void forget_file(const char* begin) {
  const std::lock_guard lock(list_mutex);
  for (auto& slot : slots) {
    const WatchedMapping* file = slot.load();
    if (file == nullptr || file->begin != begin) continue;
    slot.store(nullptr);
    delete file;
    return;
  }
}

}  // namespace fuseflow
