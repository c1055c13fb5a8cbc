#include "lower/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "ir/copies.h"
#include "ir/print.h"
#include "ir/residency.h"
#include "ir/slice.h"
#include "ir/sparsity.h"
#include "lower/at_region.h"
#include "lower/block.h"
#include "lower/finish.h"
#include "lower/in_scratchpad.h"
#include "lower/join_phases.h"
#include "lower/known_phases.h"
#include "lower/parallelize.h"
#include "lower/phase.h"
#include "lower/placements.h"
#include "tensor/rounding.h"

namespace fuseflow {

namespace {

/// Makes the graph of the only region of a program, its indices in the given order.
class RegionLowering {
 public:
  RegionLowering(const Program& program, const RegionIndices& indices,
                 const Expressions& expressions, const std::vector<int>& order,
                 const LowerOptions& options)
      : program_(program),
        region_(program.regions[0]),
        options_(options),
        indices_(indices),
        expressions_(expressions),
        context_{program, indices, expressions, order, options.max_nodes, names_count()},
        forms_(program, indices, expressions, order),
        on_chip_(tensors_in_scratchpad(program)) {}

  LoweredRegion run() {
    // Blocks and copies change the graph of the region as a whole.
    const bool as_whole = context_.names_count;
    JoinedPhases joined =
        join_phases(indices_, lowered_phases(), options_.buffers && !as_whole, options_.max_nodes);
    Graph& graph = joined.graph;
    std::vector<size_t>& tags = joined.origins;
    if (as_whole) {
      block_graph(graph, program_, region_, indices_, tags);
      if (options_.buffers) insert_buffers(graph, tags);
    }
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
  /// Copies name their loop, and blocks belong to one: equal loops of other names are not merged.
  bool names_count() const {
    const auto blocked = [](const Tensor& tensor) { return !tensor.format.block.empty(); };
    return !region_.schedule.parallel.empty() ||
           std::any_of(program_.tensors.begin(), program_.tensors.end(), blocked);
  }

  std::vector<PhasePart> lowered_phases() {
    std::map<int, std::vector<PhaseRoot>> roots;  // by phase
    for (const int root : indices_.roots) {
      roots[indices_.instances[static_cast<size_t>(root)].phase].push_back(root_of(root));
    }
    std::vector<PhasePart> parts;
    for (const auto& [phase, own] : roots) {
      PhaseNames names = forms_.names_of(own);
      std::shared_ptr<LoweredPhase> lowered = lowered_phase(own, names);
      parts.push_back({phase, std::move(lowered), std::move(names)});
    }
    return parts;
  }

  /// A phase that was lowered before, or is lowered now.
  std::shared_ptr<LoweredPhase> lowered_phase(const std::vector<PhaseRoot>& roots,
                                              const PhaseNames& names) {
    KnownPhases* const known = context_.names_count ? nullptr : options_.known;
    PhaseForm form;
    if (known != nullptr) {
      form = forms_.form_of(roots, names);
      if (std::shared_ptr<LoweredPhase> found = known->find(form)) return found;
    }
    auto lowered = std::make_shared<LoweredPhase>(lower_phase(context_, roots, names));
    if (known != nullptr) known->keep(std::move(form), lowered);
    return lowered;
  }

  PhaseRoot root_of(int root) const {
    const Instance& instance = indices_.instances[static_cast<size_t>(root)];
    const Statement& statement = region_.statements[instance.statement];
    const Tensor& tensor = program_.tensors[static_cast<size_t>(statement.result)];
    const int node = without_rounding(expressions_.of_instance[static_cast<size_t>(root)], tensor);
    const std::optional<float> fill = expressions_.nodes[static_cast<size_t>(node)].fill;
    const bool same =
        fill && (*fill == tensor.fill || (std::isnan(*fill) && std::isnan(tensor.fill)));
    return {root, node, fill && !same};
  }

  /// What is rounded to the type of the tensor that stores it, without that: storing rounds.
  int without_rounding(int node, const Tensor& tensor) const {
    const ExprNode& made = expressions_.nodes[static_cast<size_t>(node)];
    const bool rounds =
        made.kind == ExprNode::Kind::apply && made.op == rounding_operator(tensor.type);
    if (!rounds) return node;
    const int value = made.children[0];
    return expressions_.nodes[static_cast<size_t>(value)].fill == made.fill ? value : node;
  }

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
      if (touched[t] && on_chip_[t]) graph.scratchpad.push_back(static_cast<TensorId>(t));
    }
  }

  const Program& program_;
  const Region& region_;
  const LowerOptions& options_;
  const RegionIndices& indices_;
  const Expressions& expressions_;
  const PhaseContext context_;
  PhaseForms forms_;
  const std::vector<bool> on_chip_;  ///< by tensor
};

/// Analyses the only region of a program.
AnalysedRegion analysed(const Program& program, const LowerOptions& options) {
  return analysed_region(program, 0, most_instances(options, program.regions[0].statements.size()));
}

/// Lowers a region by itself.
LoweredRegion lower_slice(const Program& program, size_t region,
                          const std::function<bool(TensorId)>& read_later,
                          const std::vector<Resident>& kept, const LowerOptions& options) {
  if (makes_copy(program, program.regions[region])) {
    const TensorId copy = program.regions[region].statements[0].result;
    return {*copy_region(program, copy).graph, {0}, {}};
  }
  const RegionSlice slice = slice_region(program, region, read_later);
  try {
    const auto [indices, expressions] = analysed(slice.program, options);
    const std::vector<int> order = chosen_order(indices, slice.program.regions[0].schedule);
    LoweredRegion lowered =
        RegionLowering(slice.program, indices, expressions, order, options).run();
    to_whole(slice, lowered.graph);
    keep_residents(kept, region, lowered.graph);
    for (JoinPlace& place : lowered.join_places) {
      for (TensorId& tensor : place.tensors) tensor = slice.whole(tensor);
    }
    return lowered;
  } catch (const LoweringConflict& conflict) {
    throw LoweringConflict(slice.whole(conflict.tensor()), conflict.what());
  }
}

}  // namespace

LoweredRegion lower_region_traced(const Program& program, size_t region,
                                  const LowerOptions& options) {
  const auto read_later = [&](TensorId tensor) { return is_read_later(program, region, tensor); };
  return lower_slice(program, region, read_later, residents(program), options);
}

Graph lower_region(const Program& program, size_t region, const LowerOptions& options) {
  return lower_region_traced(program, region, options).graph;
}

namespace {

RegionSlice slice_without_order(const Program& program, size_t region) {
  RegionSlice slice = slice_region(
      program, region, [&](TensorId tensor) { return is_read_later(program, region, tensor); });
  slice.program.regions[0].schedule.order.clear();
  return slice;
}

}  // namespace

OrderedLowering::OrderedLowering(const Program& program, size_t region, const LowerOptions& options)
    : options_(options), slice_(slice_without_order(program, region)) {
  AnalysedRegion made = analysed(slice_.program, options);
  indices_ = std::move(made.indices);
  expressions_ = std::move(made.expressions);
}

Graph OrderedLowering::lower(const std::vector<int>& order) const {
  Graph graph = RegionLowering(slice_.program, indices_, expressions_, order, options_).run().graph;
  to_whole(slice_, graph);
  return graph;
}

namespace {

bool reads(const Program& program, TensorId tensor) {
  return std::any_of(program.regions.begin(), program.regions.end(), [&](const Region& region) {
    if (!region.graph) return false;
    return std::any_of(
        region.graph->nodes.begin(), region.graph->nodes.end(),
        [&](const Node& node) { return node.tensor == tensor || node.other_tensor == tensor; });
  });
}

}  // namespace

/// Makes compressed levels of levels of tuples: each coordinate is there once, with all its tuples
/// below it.
std::vector<std::string> nest_tuples(Program& program) {
  std::vector<std::string> notes;
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    Tensor& tensor = program.tensors[t];
    auto& levels = tensor.format.levels;
    const bool given = tensor.given();
    const bool tuples =
        std::find(levels.begin(), levels.end(), LevelKind::singleton) != levels.end();
    if (!given || !tuples || reads(program, static_cast<TensorId>(t))) continue;
    const std::string before = to_string(tensor.format);
    std::replace(levels.begin(), levels.end(), LevelKind::singleton, LevelKind::compressed);
    notes.push_back(
        fmt::format("%{} is read as {} instead of {}: the coordinates of tuples repeat, and loops "
                    "visit each once",
                    tensor.name, to_string(tensor.format), before));
  }
  return notes;
}

Graph complete_and_lower(Program& program, size_t region, std::vector<std::string>& notes,
                         const LowerOptions& options) {
  try {
    return lower_region(program, region, options);
  } catch (const LoweringConflict&) {
    PlacementOptions placement;
    placement.lower = options;
    PlacementChoice choice = choose_placements(program, region, placement);
    program = std::move(choice.program);
    for (std::string& note : choice.notes) {
      notes.push_back(fmt::format("@{}: {}", program.regions[region].name, note));
    }
    return lower_region(program, region, options);
  }
}

namespace {

/// Lines of the schedule that say how to join what is not joined.
void note_joins(const Program& program, size_t region, const std::vector<JoinPlace>& places,
                std::vector<std::string>& notes) {
  for (const Join& join : program.regions[region].schedule.joins) {
    if (has_effect(join, places)) continue;
    notes.push_back(
        fmt::format("@{}: `{}` changes nothing: the region joins nothing of this kind "
                    "there",
                    program.regions[region].name, join_line(program, join)));
  }
}

}  // namespace

Program lower_program(Program program, const LowerOptions& options) {
  const bool lowers = std::any_of(program.regions.begin(), program.regions.end(),
                                  [](const Region& region) { return !region.graph; });
  if (!lowers) {
    add_copy_regions(program);
    return program;
  }
  std::vector<std::string> notes = nest_tuples(program);
  std::vector<int> last = last_readers(program);
  const std::vector<Resident> kept = residents(program);
  for (size_t r = 0; r < program.regions.size(); ++r) {
    if (program.regions[r].graph) continue;
    try {
      const auto read_later = [&](TensorId tensor) { return last[tensor] > static_cast<int>(r); };
      LoweredRegion lowered = at_region(
          program.regions[r], [&] { return lower_slice(program, r, read_later, kept, options); });
      note_joins(program, r, lowered.join_places, notes);
      program.regions[r].graph = std::move(lowered.graph);
    } catch (const LoweringConflict&) {
      program.regions[r].graph = complete_and_lower(program, r, notes, options);
      last = last_readers(program);  // it may have added statements
    }
  }
  add_copy_regions(program);
  for (std::string& note : notes) report(Severity::note, std::move(note));
  return program;
}

}  // namespace fuseflow
