// Ctrl-C (SIGINT) and SIGTERM as a flag that long work looks at, so that a tool ends with a status
// and with what it has, instead of being killed. The one place that installs signal handlers.
#pragma once

#include <atomic>

namespace fuseflow {

/// While one lives, the first SIGINT or SIGTERM only sets the flag and gives both signals their
/// default action back: a second one kills the process. A signal that the process was started with
/// ignored (nohup, a shell's background job) stays ignored. Scopes may nest; the outermost counts.
/// For a tool's main thread; the flag stays set when the scope ends.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
};

/// Whether a signal has arrived within a scope. May be asked from any thread, at any time.
bool interrupted();

/// A flag that is set when a signal came, for what takes one (RunOptions::cancel). Lives as long as
/// the process.
const std::atomic<bool>& interrupt_flag();

}  // namespace fuseflow
