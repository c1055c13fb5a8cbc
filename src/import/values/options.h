// What the user asks of an import, and from which density on a constant is stored compressed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/program.h"

namespace fuseflow {

struct ImportOptions {
  std::map<std::string, Source> bindings;              ///< --bind NAME=...
  std::map<std::string, std::string> formats;          ///< --format NAME=LEVELS
  std::map<std::string, int64_t> dims;                 ///< --dim NAME=N
  std::map<std::string, std::vector<int64_t>> shapes;  ///< inputs of which only the shape is needed
  std::string base_dir;                                ///< relative names of bound files start here
  bool follow_links = false;  ///< weights may be links out of the model's folder
  /// Results of 16 bits are rounded where they are fused, too. Not where the user gives the types.
  bool round_results = true;
};

/// A constant (share of entries unlike its best fill at most this) is stored compressed. Just above
/// one half, so that a causal mask and 50 % pruned weights count as sparse.
inline constexpr double kSparseDensity = 0.6;

/// The largest density at which masks are stored sparse: their absent entries save all the
/// arithmetic after them.
inline constexpr double kMaskDensity = 0.95;

}  // namespace fuseflow
