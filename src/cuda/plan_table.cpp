// plan.csv of a folder of kernels.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "cuda/files.h"
#include "sim/tiles/run.h"
#include "support/csv.h"

namespace fuseflow::cuda {
namespace {

constexpr int64_t kSumBytes = 4;
constexpr const char* kColumns =
    "kernel,region,machine,cycles,loaded_bytes,stored_bytes,link_bytes,clusters,cores,"
    "multiplying_threads,scratchpad_bytes,sum_registers,adders,finish,finish_bytes,"
    "by_threads_bytes,gathered_bytes,fitted,refused\n";

struct Predicted {
  int64_t cycles = 0, loaded = 0, stored = 0, sent = 0;
  int64_t by_threads = 0;  ///< of those loaded: of tensors that the copy engine does not bring
  int64_t gathered = 0;    ///< .. of tiles of products
};

Predicted predicted(Graph graph, const Machine& machine, const std::vector<Load>& loads) {
  std::set<NodeId> copied, gathered;
  for (const Load& load : loads) {
    (load.view ? copied : gathered).insert({load.node, load.second_node});
    for (const NodeId n : {load.node, load.second_node}) {
      if (n >= 0) graph.nodes[static_cast<size_t>(n)].tile.by_threads = !load.view;
    }
  }
  const RunResult result = time_tiles_region(graph, machine);
  Predicted all;
  all.cycles = result.cycles;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const NodeStats& node = result.nodes[n];
    all.loaded += node.read_bytes;
    all.stored += node.write_bytes;
    all.sent += node.tile_link_bytes;
    if (graph.nodes[n].kind == NodeKind::tile_load && copied.count(static_cast<NodeId>(n)) == 0)
      all.by_threads += node.read_bytes;
    if (gathered.count(static_cast<NodeId>(n)) != 0) all.gathered += node.read_bytes;
  }
  return all;
}

/// Bytes of all tiles that the last adders take and store, part of those predicted: the sums, zeros
/// in their place, the result in its type.
int64_t finish_bytes(const Program& program, const Kernel& kernel) {
  const Finish& finish = kernel.finish;
  if (finish.adders <= 1) return 0;
  const Tensor& result = program.tensors[static_cast<size_t>(kernel.results[0].tensor)];
  return finish.tiles * finish.tile_elements * (2 * kSumBytes + element_bytes(result.type));
}

std::string fitted_text(const Kernel& kernel) {
  std::vector<std::string> all = kernel.repairs;
  all.insert(all.end(), kernel.choices.begin(), kernel.choices.end());
  return fmt::format("{}", fmt::join(all, "; "));
}

std::string plan_rows(const Program& program, const std::vector<Generated>& kernels,
                      const Machine& machine, const std::string& before) {
  std::string text;
  for (const Generated& g : kernels) {
    const Region& region = program.regions[g.region];
    const Predicted p = predicted(*region.graph, machine, g.kernel.loads);
    const Kernel& k = g.kernel;
    const bool there = g.refused.empty();
    const std::string finish =
        !there ? ""
        : k.finish.adders == 1
            ? "rounded and stored by the cores that have it"
            : "added in f32; the last adder rounds it, stores it and clears the sums";
    const int64_t finished = there ? finish_bytes(program, k) : 0;
    text += before;
    text +=
        fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", g.name,
                    csv_field(region.name), csv_field(machine.name), p.cycles, p.loaded, p.stored,
                    p.sent, there ? k.clusters : 0, there ? k.cores : 0, there ? k.groups * 128 : 0,
                    there ? k.scratchpad : 0, there ? k.registers : 0, there ? k.finish.adders : 0,
                    csv_field(finish), finished, there ? p.by_threads : 0, there ? p.gathered : 0,
                    csv_field(fitted_text(k)), csv_field(g.refused));
  }
  return text;
}

}  // namespace

std::string plan_csv(const Program& program, const std::vector<Generated>& kernels,
                     const Machine& machine) {
  return kColumns + plan_rows(program, kernels, machine, "");
}

std::string plan_csv(const std::vector<TableEntry>& table, const Machine& machine) {
  std::string text = std::string("rows_up_to,") + kColumns;
  for (const TableEntry& entry : table) {
    text += plan_rows(entry.program, entry.kernels, machine, std::to_string(entry.rows.most) + ",");
  }
  return text;
}

}  // namespace fuseflow::cuda
