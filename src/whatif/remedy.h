// One thing to try against what limits a region: constants of the machine, or a pass over the
// program. Which may help: remedies.h.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace fuseflow {

struct Remedy {
  /// Of several changes with one name the smallest that is nearly as good as the best is kept.
  std::string name;
  std::vector<std::string> settings;  ///< KEY=VALUE
  std::string pass;                   ///< empty: none
  std::vector<std::pair<std::string, std::string>> arguments;
};

/// The change as it is typed: `--machine-set fifo_depth=128`, `fuseflow-parallelize --index y:i
/// --factor 2`.
std::string command_of(const Remedy& change);

/// Quoted for a shell where it must be.
std::string shell_word(const std::string& text);

}  // namespace fuseflow
