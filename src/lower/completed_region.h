// A region lowered beside its program. What is done for one region after another must not copy the
// program each time: that takes quadratic time in all.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/program.h"
#include "lower/lower.h"

namespace fuseflow {

class CompletedRegion {
 public:
  /// Lowers as complete_and_lower() does, whether there is a graph or not, but leaves `given` as it
  /// is: it is copied where completing the region changes it. Throws what that throws.
  CompletedRegion(const Program& given, size_t region, const LowerOptions& options = {});

  /// The program as completed; the region itself may lack its graph there.
  const Program& program() const { return changed_ ? *changed_ : given_; }
  /// With its graph.
  const Region& region() const { return region_; }
  const Graph& graph() const { return *region_.graph; }
  /// The end of this object.
  Region take_region() { return std::move(region_); }

 private:
  const Program& given_;
  std::optional<Program> changed_;
  Region region_;
};

}  // namespace fuseflow
