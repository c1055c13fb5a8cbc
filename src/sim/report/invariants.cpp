#include "sim/report/invariants.h"

#include <fmt/format.h>

#include "ir/names.h"
#include "sim/common/written_tensors.h"
#include "support/defect.h"

namespace fuseflow {
namespace {

[[noreturn]] void broken(const Region& region, const std::string& what) {
  throw Defect(fmt::format("region @{}: {}", quote_if_needed(region.name), what));
}

/// Whether a stream of references visits every position of `tensor` down to `level`: scans alone,
/// from the root, of all of each level.
bool visits_all(const Graph& graph, StreamId stream, TensorId tensor, int level,
                const Storage& storage) {
  const Node& node = graph.nodes[graph.streams[stream].producer];
  if (level < 0) return node.kind == NodeKind::root;
  if (node.kind != NodeKind::scan || node.tensor != tensor || node.level != level ||
      node.offset != 0 || node.outputs.size() < 2 || node.outputs[1] != stream) {
    return false;
  }
  const auto& loops = graph.streams[node.outputs[0]].indices;
  const int64_t extent = graph.indices[loops.back()].extent;
  return storage.levels[level].extent <= extent &&
         visits_all(graph, node.inputs[0].stream, tensor, level - 1, storage);
}

/// Compulsory traffic: what visits all of a tensor reads all of it, what is written is written
/// whole.
void assert_compulsory(const Program& program, const Region& region, const RunResult& result,
                       const TensorData& data) {
  int64_t written = 0;
  for (const auto& [tensor, storage] : result.results) {
    written += written_bytes(program, tensor, -1, *storage);
  }
  if (result.dram_write_bytes + result.scratchpad_write_bytes < written) {
    broken(region, "less was written than the results hold");
  }
  const Graph& graph = *region.graph;
  for (size_t n = 0; n < graph.nodes.size() && result.finish == Finish::done; ++n) {
    const Node& node = graph.nodes[n];
    const Storage* storage = node.kind == NodeKind::array ? data.find(node.tensor) : nullptr;
    if (storage == nullptr || node.inputs.empty()) continue;
    const Tensor& tensor = program.tensors[node.tensor];
    const int last = static_cast<int>(storage->levels.size()) - 1;
    if (!visits_all(graph, node.inputs[0].stream, node.tensor, last, *storage)) continue;
    if (result.nodes[n].read_bytes < storage->stored() * element_bytes(tensor.type)) {
      broken(region, fmt::format("node {} visits all of %{} and read {} bytes", n,
                                 quote_if_needed(tensor.name), result.nodes[n].read_bytes));
    }
  }
}

void assert_region(const Region& region, const RunResult& result) {
  int64_t given = 0;
  for (size_t n = 0; n < result.nodes.size(); ++n) {
    const NodeStats& s = result.nodes[n];
    if (s.busy < 0 || s.memory < 0 || s.starved < 0 || s.blocked < 0 ||
        s.busy + s.memory + s.starved + s.blocked != result.cycles) {
      broken(region,
             fmt::format("node {} is busy {}, waits {} for memory, starved {} and blocked {} of {} "
                         "cycles",
                         n, s.busy, s.memory, s.starved, s.blocked, result.cycles));
    }
    given += s.tokens_out;
    if (result.finish != Finish::done) continue;
    int64_t taken = 0;
    for (const Input& input : region.graph->nodes[n].inputs) {
      if (!input.is_immediate()) taken += result.streams[input.stream].tokens;
    }
    if (taken != s.tokens_in) {
      broken(region, fmt::format("node {} took {} of {} tokens", n, s.tokens_in, taken));
    }
  }
  if (given != result.tokens) {
    broken(region, fmt::format("{} tokens given, {} counted", given, result.tokens));
  }
}

}  // namespace

void assert_invariants(const Program& program, const ProgramRun& run) {
  for (size_t r = 0; r < run.regions.size(); ++r) {
    assert_region(program.regions[r], run.regions[r]);
    assert_compulsory(program, program.regions[r], run.regions[r], run.data);
  }
}

}  // namespace fuseflow
