// What `--auto` may ask about a region: its cycles. Passes know no simulator and no estimate; a
// tool that has one hands it in (PassArguments::costs). Without one they go by expected stream
// lengths (lower/flops.h).
#pragma once

#include <optional>

#include "ir/program.h"

namespace fuseflow {

class CostModel {
 public:
  CostModel() = default;
  virtual ~CostModel() = default;
  CostModel(const CostModel&) = delete;
  CostModel& operator=(const CostModel&) = delete;

  /// Expected cycles of a region lowered to this graph, the regions before it as they are in the
  /// program; nothing if they cannot be told (its data is not there).
  virtual std::optional<double> cycles(const Program& program, size_t region,
                                       const Graph& graph) = 0;
};

}  // namespace fuseflow
