#include "sim/run.h"

#include <cmath>

#include "sim/engine/engine.h"
#include "sim/interpret.h"

namespace fuseflow {

UnitClass unit_class(NodeKind kind) {
  switch (kind) {
    case NodeKind::root:
      return UnitClass::root;
    case NodeKind::scan:
      return UnitClass::scan;
    case NodeKind::locate:
      return UnitClass::locate;
    case NodeKind::repeat:
      return UnitClass::repeat;
    case NodeKind::intersect:
    case NodeKind::unite:
    case NodeKind::leftjoin:
    case NodeKind::align:
      return UnitClass::join;
    case NodeKind::array:
      return UnitClass::array;
    case NodeKind::map:
    case NodeKind::coordinate:
    case NodeKind::pad:
      return UnitClass::alu;
    case NodeKind::reduce:
      return UnitClass::reduce;
    case NodeKind::accumulate:
      return UnitClass::accumulate;
    case NodeKind::drop:
    case NodeKind::filter:
      return UnitClass::filter;
    case NodeKind::buffer:
      return UnitClass::buffer;
    case NodeKind::write_level:
    case NodeKind::write_values:
      return UnitClass::write;
    case NodeKind::parallelize:
    case NodeKind::serialize:
    case NodeKind::barrier_:
      break;
  }
  return UnitClass::split;
}

RunResult run_graph(const Program& program, const Graph& graph, const TensorData& data,
                    const Machine& machine, const RunOptions& options) {
  RunResult result = options.executor == Executor::fast
                         ? run_fast(program, graph, data, machine, options)
                         : interpret_graph(program, graph, data, machine, options);
  const auto moved = static_cast<double>(result.scratchpad_read_bytes) +
                     static_cast<double>(result.scratchpad_write_bytes);
  const auto tiles = static_cast<double>(machine.scratchpad.tiles);
  result.link_bytes = std::llround(moved * (tiles - 1) / tiles);
  return result;
}

}  // namespace fuseflow
