// When long work that has nothing to show before its end, such as loading data, is given up: the
// one place that knows the limits of time and memory which loops deep below a tool look at.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "support/error.h"

namespace fuseflow {

/// What ends work that is given up. Not an Error: who tries several ways and goes on where one is
/// refused must not go on here. A tool ends with ExitCode::unfinished (tools/shell/tool.h).
class Stopped : public std::exception {
 public:
  enum class Why : uint8_t { interrupted, seconds, bytes };
  Stopped(Why why, std::string message)
      : why_(why), diagnostics_{{Severity::error, {}, std::move(message), ""}} {}
  Why why() const { return why_; }
  const char* what() const noexcept override { return diagnostics_.front().message.c_str(); }
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
  /// For who catches it, knows which file or tensor the work was for, and throws it on.
  void in_file(const std::string& file) { diagnostics_.front().where.file = file; }
  void add_note(Diagnostic note) { diagnostics_.push_back(std::move(note)); }

 private:
  Why why_;
  std::vector<Diagnostic> diagnostics_;
};

/// While one lives, stop_if_asked() and stop_if_larger() look at these limits and at
/// interrupted(). One at a time, of a tool's main thread.
class StopScope {
 public:
  /// `lost`: what is said to be missing where the work is given up, "the data were not loaded"; it
  /// outlives the scope. `max_seconds` from now on, `max_bytes` for one array; 0: any.
  explicit StopScope(const char* lost, double max_seconds = 0, int64_t max_bytes = 0);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;
};

/// A limit in MiB as StopScope and the simulator take it: 0 stays none, and what is below a byte
/// does not become it.
int64_t limit_in_bytes(double mebibytes);

/// Whether there is a scope: reading from a pipe, which can wait for ever, must look at it.
bool may_be_stopped();

/// Throws Stopped if the work is to end; nothing outside a scope. Takes about as long as reading a
/// clock: for every some ten thousand steps of a loop, on any thread.
void stop_if_asked();

/// Throws Stopped if `bytes` are more than the scope allows for one array.
void stop_if_larger(uint64_t bytes);

/// Asks in one of many calls: for loops whose steps take some nanoseconds.
class PeriodicStopCheck {
 public:
  void step() {
    if (++steps_ % kSteps == 0) stop_if_asked();
  }

 private:
  static constexpr uint32_t kSteps = 1U << 16;
  uint32_t steps_ = 0;
};

}  // namespace fuseflow
