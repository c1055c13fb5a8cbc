#include "support/interrupt.h"

#include <signal.h>

#include <array>
#include <cstddef>

namespace fuseflow {
namespace {

constexpr std::array<int, 2> kSignals{SIGINT, SIGTERM};

std::atomic<bool> flag = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only set such");

int scopes = 0;  // of the main thread
std::array<struct sigaction, kSignals.size()> handlers_before;

void on_signal(int);

bool is_caught(int number) {
  struct sigaction now {};
  return ::sigaction(number, nullptr, &now) == 0 && now.sa_handler == on_signal;
}

/// Only what POSIX allows in a handler: an atomic store and sigaction().
void on_signal(int) {
  flag.store(true, std::memory_order_relaxed);
  struct sigaction by_default {};
  by_default.sa_handler = SIG_DFL;
  for (const int number : kSignals) {
    if (is_caught(number)) ::sigaction(number, &by_default, nullptr);
  }
}

}  // namespace

InterruptScope::InterruptScope() {
  if (scopes++ > 0) return;
  struct sigaction caught {};
  caught.sa_handler = on_signal;
  caught.sa_flags = SA_RESTART;  // reads and writes go on, only those that ask see the flag
  ::sigemptyset(&caught.sa_mask);
  for (const int number : kSignals) ::sigaddset(&caught.sa_mask, number);
  for (size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &handlers_before[i]);
    if (handlers_before[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &caught, nullptr);
  }
}

InterruptScope::~InterruptScope() {
  if (--scopes > 0) return;
  // After a signal the default action is there already, and stays.
  for (size_t i = 0; i < kSignals.size(); ++i) {
    if (is_caught(kSignals[i])) ::sigaction(kSignals[i], &handlers_before[i], nullptr);
  }
}

bool interrupted() {
  return flag.load(std::memory_order_relaxed);
}

const std::atomic<bool>& interrupt_flag() {
  return flag;
}

}  // namespace fuseflow
