// Random pipelines of passes: the next filter that a user could put behind a program, with options
// that fit it, and what the filter writes. Texts go in and come out, as through a pipe.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/program.h"
#include "tensor/random.h"

namespace fuseflow::testing {

/// A filter of the pipe with its options.
struct Step {
  std::string tool;                                          ///< a pass, or `lower`
  std::vector<std::pair<std::string, std::string>> options;  ///< name, value; a flag has "true"

  /// Names what to change: done again on what it wrote, it changes nothing.
  bool is_settled = false;
  /// Sums may add in another order after it, or be rounded elsewhere.
  bool rewrites = false;
  bool reorders_sums = false;
};

/// `fuseflow-parallelize --index r1:i --factor 2`
std::string command_of(const Step& step);

/// A step with options that fit the program. Depends on the program and the numbers alone.
Step draw_step(const Program& program, const std::string& machine, Random& random);

/// What the filter prints. `assumed`: becomes true if it assumes something of values. Throws what
/// the filter reports.
std::string run_step(const Step& step, const std::string& text, bool& assumed);

/// Whether an Error is one that the specification allows for a step whatever was written before:
/// what was asked for cannot be done to any program like this one.
bool is_documented(const Step& step, const std::string& message);

}  // namespace fuseflow::testing
