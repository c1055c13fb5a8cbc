#include "whatif/remedies.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/names.h"
#include "lower/region_indices.h"
#include "nodes/rule.h"
#include "passes/complete_schedule.h"
#include "resources/operators.h"
#include "resources/resources.h"

namespace fuseflow {
namespace {

constexpr size_t kMostLoops = 4;    ///< that are split over copies
constexpr size_t kMostInputs = 3;   ///< that are kept on chip
constexpr double kWaitedFor = 0.1;  ///< share of the cycles for which a load waits for memory

class Finder {
 public:
  Finder(const Program& slice, const Program* given, const Machine& machine,
         const RegionFigures& figures, const Limit& limit)
      : slice_(slice),
        given_(given),
        graph_(*slice.regions[0].graph),
        machine_(machine),
        figures_(figures),
        limit_(limit) {}

  std::vector<Remedy> find() {
    if (graph_.tiles) {
      memory_rate();
      return std::move(changes_);
    }
    if (is_conversion(graph_)) return {};
    depths();
    const bool timed = machine_.dram.model != "none";
    if (timed && uses_memory(graph_, slice_.tensors.size())) memory();
    if (limit_.node >= 0) unit(graph_.nodes[static_cast<size_t>(limit_.node)]);
    if (limit_.kind == LimitKind::start) latencies();
    if (given_ != nullptr && !given_->regions[0].statements.empty()) {
      copies();
      inputs_on_chip();
      if (limit_.loading_share > 0) inputs_in_memory();
    }
    return std::move(changes_);
  }

 private:
  template <typename Value>
  void set(const std::string& key, const Value& value) {
    changes_.push_back({key, {fmt::format("{}={}", key, value)}, "", {}});
  }
  template <typename Value>
  void multiples(const std::string& key, Value now, const std::vector<int>& factors) {
    for (const int factor : factors) set(key, now * static_cast<Value>(factor));
  }

  void depths() {
    if (machine_.fifo_depth > 0) multiples("fifo_depth", machine_.fifo_depth, {2, 4, 8, 16, 32});
  }

  void memory() {
    multiples("dram.outstanding", machine_.dram.outstanding, {2, 4});
    const int64_t latency = machine_.dram.latency_cycles;
    if (latency > 1) set("dram.latency_cycles", latency / 2);
    interleaving();
    memory_rate();
  }

  /// Small arrays lie in few channels.
  void interleaving() {
    const DramModel& dram = machine_.dram;
    if (dram.model != "comal" && dram.interleave_bytes > dram.burst_bytes) {
      set("dram.interleave_bytes", dram.burst_bytes);
    }
  }

  /// A faster bus helps whatever the model. More channels are more banks, too.
  void memory_rate() {
    const double now = machine_.memory_bytes_per_cycle(graph_.tiles.has_value());
    if (now == 0) return;
    multiples("dram.bandwidth_gigabytes_per_second", now * machine_.clock_gigahertz, {2, 4});
    if (machine_.dram.model == "banked") multiples("dram.channels", machine_.dram.channels, {2, 4});
  }

  /// What makes the unit of a node slow.
  void unit(const Node& node) {
    const UnitClass which = unit_class(node.kind);
    const std::string unit = fmt::format("units.{}.", unit_class_name(which));
    const auto of_op = node.kind == NodeKind::map ? operator_class(node.op) : std::nullopt;
    const int64_t slow =
        of_op ? machine_.operators[static_cast<size_t>(*of_op)].interval_cycles : 0;
    if (slow > 1) set(fmt::format("operators.{}.interval_cycles", operator_class_name(*of_op)), 1);
    if (slow == 0 && machine_.timing(which).interval_cycles > 1) set(unit + "interval_cycles", 1);
    if (node.kind == NodeKind::accumulate) {
      if (!machine_.accumulate_double_buffered) set("accumulate_double_buffered", true);
      if (machine_.accumulate_drain_interval_cycles > 0) set("accumulate_drain_interval_cycles", 0);
      if (machine_.accumulate_outer_stops_take_steps) {
        set("accumulate_outer_stops_take_steps", false);
      }
    }
    if (writes_tensor(node.kind) && machine_.write_stops_take_steps) {
      set("write_stops_take_steps", false);
    }
    if (graph_.on_chip(node.tensor)) scratchpad_rates();
  }

  void scratchpad_rates() {
    const ScratchpadModel& model = machine_.scratchpad;
    const auto faster = [&](const char* key, int64_t now) {
      if (now > 0) multiples(key, now, {2, 4});
    };
    faster("scratchpad.bytes_per_cycle", model.bytes_per_cycle);
    if (model.tiles > 1) faster("scratchpad.link_bytes_per_cycle", model.link_bytes_per_cycle);
  }

  /// Where no unit is busy, how long their results take.
  void latencies() {
    std::set<UnitClass> used;
    for (const Node& node : graph_.nodes) used.insert(unit_class(node.kind));
    for (const UnitClass which : used) {
      if (machine_.timing(which).latency_cycles <= 1) continue;
      set(fmt::format("units.{}.latency_cycles", unit_class_name(which)), 1);
    }
    if (machine_.scratchpad.latency_cycles > 0 && !graph_.scratchpad.empty()) {
      set("scratchpad.latency_cycles", 0);
    }
  }

  /// Loops around the node that limits: by name, as graph and region have them.
  std::set<std::string> loops_of(NodeId node) const {
    std::set<std::string> names;
    const auto add = [&](StreamId stream) {
      if (stream < 0) return;
      for (const int index : graph_.streams[static_cast<size_t>(stream)].indices) {
        names.insert(graph_.indices[static_cast<size_t>(index)].name);
      }
    };
    for (const Input& input : graph_.nodes[static_cast<size_t>(node)].inputs) add(input.stream);
    for (const StreamId output : graph_.nodes[static_cast<size_t>(node)].outputs) add(output);
    return names;
  }

  /// The region's loops, outermost first.
  std::vector<std::string> loops() const {
    Program completed = *given_;
    PassLog log;
    complete_schedule(completed, 0, log);
    const RegionIndices indices = region_indices(completed, 0);
    std::vector<std::string> names;
    for (const int index : chosen_order(indices, completed.regions[0].schedule)) {
      names.push_back(indices.indices[static_cast<size_t>(index)].name);
    }
    return names;
  }

  void copies() {
    std::vector<std::string> names;
    try {
      names = loops();
    } catch (const Error&) {
      return;
    }
    if (limit_.node >= 0) {
      const std::set<std::string> around = loops_of(limit_.node);
      std::erase_if(names, [&](const std::string& name) { return !around.contains(name); });
    }
    names.resize(std::min(names.size(), kMostLoops));
    const Region& region = given_->regions[0];
    for (const std::string& name : names) {
      int64_t now = 1;
      for (const Parallel& entry : region.schedule.parallel) {
        if (entry.index == name) now = entry.factor;
      }
      for (const int64_t more : {2, 4}) {
        changes_.push_back(
            {"parallelize " + name,
             {},
             "parallelize",
             {{"index", region.name + ":" + name}, {"factor", std::to_string(now * more)}}});
      }
    }
  }

  /// Inputs whose loads wait for memory, the longest first.
  void inputs_on_chip() {
    std::vector<std::pair<double, TensorId>> waited;
    for (size_t n = 0; n < std::min(graph_.nodes.size(), figures_.nodes.size()); ++n) {
      const TensorId tensor = graph_.nodes[n].tensor;
      if (tensor < 0 || graph_.on_chip(tensor)) continue;
      if (!slice_.tensors[static_cast<size_t>(tensor)].given()) continue;
      const NodeFigures& node = figures_.nodes[n];
      const double waits = figures_.waits_known ? node.memory : node.busy;
      if (waits < kWaitedFor * figures_.cycles) continue;
      waited.emplace_back(waits, tensor);
    }
    std::stable_sort(waited.begin(), waited.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::set<TensorId> seen;
    for (const auto& [waits, tensor] : waited) {
      if (seen.size() == kMostInputs || !seen.insert(tensor).second) continue;
      const std::string name = slice_.tensors[static_cast<size_t>(tensor)].name;
      changes_.push_back({"place " + name, {}, "place", {{"place", name + "=scratchpad"}}});
    }
  }

  /// What is loaded before the first step.
  void inputs_in_memory() {
    const std::vector<bool> loaded = loaded_at_start(graph_, slice_.tensors.size());
    for (size_t t = 0, tried = 0; t < loaded.size() && tried < kMostInputs; ++t) {
      if (!loaded[t] || !slice_.tensors[t].given()) continue;
      const std::string& name = slice_.tensors[t].name;
      changes_.push_back({"place " + name, {}, "place", {{"place", name + "=memory"}}});
      ++tried;
    }
  }

  const Program& slice_;
  const Program* const given_;
  const Graph& graph_;
  const Machine& machine_;
  const RegionFigures& figures_;
  const Limit& limit_;
  std::vector<Remedy> changes_;
};

}  // namespace

std::vector<Remedy> remedies_for(const Program& slice, const Program* given, const Machine& machine,
                                 const RegionFigures& figures, const Limit& limit) {
  return Finder(slice, given, machine, figures, limit).find();
}

}  // namespace fuseflow
