// One line on standard error that is redrawn while work goes on, on a terminal only.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>

#include "support/terminal.h"
#include "support/text.h"

namespace fuseflow {

class ProgressLine {
 public:
  ProgressLine() = default;
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// On a terminal, unless -q was given.
  bool on() const { return on_; }
  /// Seconds since the work began.
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  /// Whether it is time to draw again.
  bool due() {
    const auto now = std::chrono::steady_clock::now();
    if (!on_ || now - last_ < std::chrono::milliseconds(200)) return false;
    last_ = now;
    return true;
  }
  /// Cut to the terminal's width: what is wrapped cannot be redrawn.
  void draw(const std::string& text) {
    std::fprintf(stderr, "\r%s\x1b[K", printable(text).substr(0, stderr_columns() - 1).c_str());
    drawn_ = true;
  }
  void clear() {
    if (drawn_) std::fputs("\r\x1b[K", stderr);
    drawn_ = false;
  }

 private:
  bool on_ = stderr_is_terminal() && !is_quiet();
  bool drawn_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_ = start_;
};

}  // namespace fuseflow
