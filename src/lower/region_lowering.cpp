#include "lower/region_lowering.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "lower/block.h"
#include "lower/finish.h"
#include "lower/join_phases.h"
#include "lower/known_phases.h"
#include "lower/parallelize.h"
#include "lower/phase_region.h"

namespace fuseflow {

namespace {

/// Copies name their loop, and blocks belong to one: equal loops of other names are not merged, and
/// the graph of the region is changed as a whole.
bool do_names_count(const Program& program) {
  const auto blocked = [](const Tensor& tensor) { return !tensor.format.block.empty(); };
  return !program.regions[0].schedule.parallel.empty() ||
         std::any_of(program.tensors.begin(), program.tensors.end(), blocked);
}

/// What becomes of the graph of all phases.
class RegionFinish {
 public:
  RegionFinish(const Program& program, const HeldTensors& held, const LowerOptions& options)
      : program_(program), region_(program.regions[0]), held_(held), options_(options) {}

  LoweredRegion run(JoinedPhases joined) {
    Graph& graph = joined.graph;
    std::vector<size_t>& tags = joined.origins;
    list_scratchpad(graph);
    if (!region_.schedule.parallel.empty()) {
      parallelize_graph(graph, graph_tensors(program_), region_.schedule.parallel, tags,
                        options_.max_nodes, options_.buffers);
      remove_dead(graph, tags);  // buffers in copies of what is waited for outside
    }
    if (!region_.schedule.barriers) start_by_rows(graph);
    if (options_.buffers) {
      if (options_.names) name_streams(graph, tensor_names());
      note_statements(graph, tags);
    }
    return {std::move(graph), std::move(tags), std::move(joined.join_places)};
  }

 private:
  std::vector<std::string> tensor_names() const {
    std::vector<std::string> names;
    for (const Tensor& tensor : program_.tensors) names.push_back(tensor.name);
    return names;
  }

  /// A phase need not wait for the one before it where all that it reads of earlier phases is in
  /// the scratchpad, whose rows say when they are there.
  void start_by_rows(Graph& graph) const {
    const std::vector<int> end_of = ends_awaited(graph);
    for (int phase = 1, first = 0; phase < static_cast<int>(end_of.size()); ++phase) {
      if (end_of[static_cast<size_t>(phase)] >= first) {
        first = phase;
      } else {
        graph.row_phases.push_back(phase);
      }
    }
  }

  /// By phase: the last of those before for whose end it has to wait, -1 if there is none.
  std::vector<int> ends_awaited(const Graph& graph) const {
    const std::vector<int> written = phases_written(graph, program_.tensors.size());
    std::vector<int> end_of(static_cast<size_t>(graph.phases()), -1);
    std::vector<bool> on_chip(program_.tensors.size(), false);
    for (const TensorId tensor : graph.scratchpad) on_chip[static_cast<size_t>(tensor)] = true;
    for (const Node& node : graph.nodes) {
      int& end = end_of[static_cast<size_t>(node.phase)];
      for_tensors(node, [&](TensorId tensor) {
        const auto t = static_cast<size_t>(tensor);
        const bool rows = on_chip[t] && node.other_tensor < 0;
        if (!rows && written[t] < node.phase) end = std::max(end, written[t]);
      });
    }
    return end_of;
  }

  /// Nodes say what they were made for, where that could be more than one statement.
  void note_statements(Graph& graph, const std::vector<size_t>& tags) const {
    if (region_.statements.size() < 2) return;
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      graph.nodes[n].statement = region_.statements[tags[n]].result;
    }
  }

  /// Tensors that the graph touches and that live in the scratchpad.
  void list_scratchpad(Graph& graph) const {
    std::vector<bool> touched(program_.tensors.size(), false);
    for (const Node& node : graph.nodes) {
      for_tensors(node, [&](TensorId tensor) { touched[static_cast<size_t>(tensor)] = true; });
    }
    for (size_t t = 0; t < touched.size(); ++t) {
      if (touched[t] && held_.on_chip[t]) graph.scratchpad.push_back(static_cast<TensorId>(t));
    }
  }

  const Program& program_;
  const Region& region_;
  const HeldTensors& held_;
  const LowerOptions& options_;
};

/// The phases of a region that was analysed.
std::vector<PhasePart> analysed_parts(const PhaseContext& context, KnownPhases* known) {
  const RegionIndices& indices = context.indices;
  std::map<int, std::vector<PhaseRoot>> roots;  // by phase
  for (const int root : indices.roots) {
    roots[indices.instances[static_cast<size_t>(root)].phase].push_back(
        phase_root(context.program, indices, context.expressions, root));
  }
  PhaseForms forms(context.program, indices, context.expressions, context.order, context.held);
  std::vector<PhasePart> parts;
  for (const auto& [phase, own] : roots) {
    PhaseNames names = forms.names_of(own);
    std::shared_ptr<LoweredPhase> lowered =
        known != nullptr && !context.names_count
            ? known->lowered(context, own, names, forms)
            : std::make_shared<LoweredPhase>(lower_phase(context, own, names));
    parts.push_back({phase, std::move(lowered), std::move(names)});
  }
  return parts;
}

/// The phases of a region, each as a region of its own.
class SeparatePhases {
 public:
  SeparatePhases(const Program& program, const HeldTensors& held, const LowerOptions& options)
      : program_(program), region_(program.regions[0]), options_(options), found_(program, held) {}

  /// Whether each can be lowered by itself. Throws LoweringConflict where an instance cannot be
  /// made.
  bool find() {
    const size_t most = most_instances(options_, region_.statements.size());
    for (int phase = 0; phase < found_.count(); ++phase) {
      Found& next = phases_.emplace_back();
      next.of = found_.statements_of(phase);
      next.region = known_region(phase, next.of, most);
      if (next.region->has_cycle()) return false;
    }
    if (!may_be_made(most)) return false;
    for (Found& next : phases_) {
      next.first_index = indices_.size();
      for (RegionIndex index : next.region->indices()) {
        index.statement = next.of.statements[index.statement];
        indices_.push_back(std::move(index));
        phase_of_index_.push_back(static_cast<size_t>(&next - phases_.data()));
      }
    }
    return true;
  }

  /// The loops of the region.
  const std::vector<RegionIndex>& indices() const { return indices_; }

  /// Nothing where the schedule has an order that is none of all loops, or is not legal.
  std::optional<std::vector<PhasePart>> parts() {
    const std::vector<std::string>& order = region_.schedule.order;
    if (options_.names || !order.empty()) name_indices(region_, indices_);
    std::vector<std::vector<int>> orders;  // by phase
    if (order.empty()) {
      for (const Found& phase : phases_) orders.push_back(phase.region->default_order());
    } else if (!take_order(order, orders)) {
      return std::nullopt;
    }
    std::vector<PhasePart> parts;
    for (size_t p = 0; p < phases_.size(); ++p) {
      PhaseRegion& region = *phases_[p].region;
      parts.push_back({static_cast<int>(p),
                       region.lowered(orders[p], options_.max_nodes, *options_.known),
                       names_of(phases_[p])});
    }
    return parts;
  }

 private:
  /// Throws the first conflict of the region's instances. False where it is not known here.
  bool may_be_made(size_t most) const {
    std::vector<size_t> made;
    for (const Found& phase : phases_) {
      for (const size_t statement : phase.region->made()) {
        made.push_back(phase.of.statements[statement]);
        if (made.size() <= most) continue;
        throw too_many_instances(program_, region_, found_.is_root(), std::move(made), most);
      }
      const InstanceConflict* const conflict = phase.region->conflict();
      if (conflict == nullptr) continue;
      if (conflict->dimension() < 0) return false;  // there was room for fewer
      const TensorId tensor = phase.of.tensors[static_cast<size_t>(conflict->tensor())];
      throw reads_outside(program_, tensor, conflict->dimension(), std::move(made));
    }
    return true;
  }

  struct Found {
    PhaseStatements of;
    std::shared_ptr<PhaseRegion> region;
    size_t first_index = 0;  ///< of the region's
  };

  std::shared_ptr<PhaseRegion> known_region(int phase, const PhaseStatements& of, size_t most) {
    PhaseForm form = found_.form_of(phase, of);
    if (std::shared_ptr<PhaseRegion> known = options_.known->find(form)) return known;
    auto made = std::make_shared<PhaseRegion>(found_.region_of(phase, of, most));
    options_.known->keep(std::move(form), made);
    return made;
  }

  /// The order of all loops as orders of those of each phase.
  bool take_order(const std::vector<std::string>& order, std::vector<std::vector<int>>& orders) {
    if (order.size() != indices_.size()) return false;
    std::unordered_map<std::string, size_t> by_name;
    for (size_t i = 0; i < indices_.size(); ++i) by_name.emplace(indices_[i].name, i);
    orders.assign(phases_.size(), {});
    for (const std::string& name : order) {
      const auto found = by_name.find(name);
      if (found == by_name.end()) return false;
      const size_t p = phase_of_index_[found->second];
      orders[p].push_back(static_cast<int>(found->second - phases_[p].first_index));
      by_name.erase(found);
    }
    for (size_t p = 0; p < phases_.size(); ++p) {
      if (!phases_[p].region->is_legal(orders[p])) return false;
    }
    return true;
  }

  /// What a phase's own numbers name in the region.
  static PhaseNames names_of(const Found& phase) {
    PhaseNames names = phase.region->names();
    for (int& index : names.indices) index += static_cast<int>(phase.first_index);
    for (TensorId& tensor : names.tensors) tensor = phase.of.tensors[static_cast<size_t>(tensor)];
    for (size_t& statement : names.statements) statement = phase.of.statements[statement];
    return names;
  }

  const Program& program_;
  const Region& region_;
  const LowerOptions& options_;
  PhaseRegions found_;
  std::vector<Found> phases_;
  std::vector<RegionIndex> indices_;
  std::vector<size_t> phase_of_index_;
};

}  // namespace

LoweredRegion lower_analysed(const Program& program, const RegionIndices& indices,
                             const Expressions& expressions, const std::vector<int>& order,
                             const LowerOptions& options) {
  const HeldTensors held = held_tensors(program);
  const PhaseContext context{
      program, indices, expressions, order, held, options.max_nodes, do_names_count(program)};
  JoinedPhases joined = join_phases(indices.indices, analysed_parts(context, options.known),
                                    options.buffers && !context.names_count, options.max_nodes);
  if (context.names_count) {
    block_graph(joined.graph, program, program.regions[0], indices, joined.loop_indices,
                joined.origins);
    if (options.buffers) insert_buffers(joined.graph, joined.origins);
  }
  return RegionFinish(program, held, options).run(std::move(joined));
}

std::optional<LoweredRegion> lower_known_phases(const Program& program,
                                                const LowerOptions& options) {
  const Region& region = program.regions[0];
  if (region.statements.empty() || !region.schedule.joins.empty() || do_names_count(program)) {
    return std::nullopt;
  }
  const HeldTensors held = held_tensors(program);
  SeparatePhases phases(program, held, options);
  if (!phases.find()) return std::nullopt;
  try {
    const std::optional<std::vector<PhasePart>> parts = phases.parts();
    if (!parts) return std::nullopt;
    JoinedPhases joined = join_phases(phases.indices(), *parts, options.buffers, options.max_nodes);
    return RegionFinish(program, held, options).run(std::move(joined));
  } catch (const Error&) {  // refused by who knows the names
    return std::nullopt;
  }
}

}  // namespace fuseflow
