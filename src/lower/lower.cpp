#include "lower/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/copies.h"
#include "ir/names.h"
#include "ir/print.h"
#include "ir/residency.h"
#include "ir/slice.h"
#include "ir/sparsity.h"
#include "ir/verify.h"
#include "lower/at_region.h"
#include "lower/placements.h"
#include "lower/region_lowering.h"
#include "support/defect.h"

namespace fuseflow {

namespace {

/// Analyses the only region of a program.
AnalysedRegion analysed(const Program& program, const LowerOptions& options) {
  return analysed_region(program, 0, most_instances(options, program.regions[0].statements.size()));
}

/// Lowers the only region of a program as a whole.
LoweredRegion lower_alone(const Program& program, const LowerOptions& options) {
  const auto [indices, expressions] = analysed(program, options);
  const std::vector<int> order = chosen_order(indices, program.regions[0].schedule);
  return lower_analysed(program, indices, expressions, order, options);
}

/// Lowers a region by itself.
LoweredRegion lower_slice(const Program& program, size_t region,
                          const std::function<bool(TensorId)>& read_later,
                          const std::vector<Resident>& kept, const LowerOptions& options) {
  if (makes_copy(program, program.regions[region])) {
    const TensorId copy = program.regions[region].statements[0].result;
    return {*copy_region(program, copy).graph, {0}, {}};
  }
  // Of a region that is the whole program a slice tells nothing more.
  const bool known = options.known != nullptr;
  const bool sliced = program.regions.size() > 1;
  if (known && !sliced) {
    if (std::optional<LoweredRegion> lowered = lower_known_phases(program, options)) {
      keep_residents(kept, region, lowered->graph);
      return std::move(*lowered);
    }
  }
  const RegionSlice slice = slice_region(program, region, read_later);
  try {
    std::optional<LoweredRegion> by_phase;
    if (known && sliced) by_phase = lower_known_phases(slice.program, options);
    LoweredRegion lowered = by_phase ? std::move(*by_phase) : lower_alone(slice.program, options);
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
  Graph graph = lower_analysed(slice_.program, indices_, expressions_, order, options_).graph;
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
                    quote_if_needed(tensor.name), to_string(tensor.format), before));
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
      notes.push_back(fmt::format("@{}: {}", quote_if_needed(program.regions[region].name), note));
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
                    quote_if_needed(program.regions[region].name), join_line(program, join)));
  }
}

bool is_bound(const Region& region) {
  return std::all_of(region.graph->indices.begin(), region.graph->indices.end(),
                     [](const GraphIndex& index) { return index.extent >= 0; });
}

/// A graph that the verifier refuses would be run or estimated all the same, and give anything.
/// Where extents are not bound yet, what needs them says so.
void verify_lowered(const Program& program) {
  if (!std::all_of(program.regions.begin(), program.regions.end(), is_bound)) return;
  try {
    verify(program);
  } catch (const Error& error) {
    throw Defect(fmt::format("lowering made a program that is not valid: {}", error.what()));
  }
}

Program lower_noted(Program program, const LowerOptions& options, std::vector<std::string>& notes) {
  const bool lowers = std::any_of(program.regions.begin(), program.regions.end(),
                                  [](const Region& region) { return !region.graph; });
  if (!lowers) {
    add_copy_regions(program);
    return program;
  }
  notes = nest_tuples(program);
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
  verify_lowered(program);
  return program;
}

}  // namespace

Program lower_program(Program program, const LowerOptions& options) {
  std::vector<std::string> notes;
  program = lower_noted(std::move(program), options, notes);
  for (std::string& note : notes) report(Severity::note, std::move(note));
  return program;
}

Program lower_silently(Program program, const LowerOptions& options) {
  std::vector<std::string> unused;
  return lower_noted(std::move(program), options, unused);
}

}  // namespace fuseflow
