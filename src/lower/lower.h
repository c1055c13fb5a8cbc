// Lowering: a region of statements becomes a factored sparse dataflow graph. How:
// ir-spec/lowering.md.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "ir/program.h"
#include "ir/slice.h"
#include "lower/emit.h"

namespace fuseflow {

class KnownPhases;

struct LowerOptions {
  size_t max_nodes = 200'000;    ///< of one region; more is Error(rejected)
  size_t max_instances = 4096;   ///< of one region; more is LoweringConflict, and so are more
                                 ///< than most_instances() of its statements
  bool buffers = true;           ///< false: what flows is all that is asked (expected steps)
  bool names = true;             ///< of streams; false: nobody reads the graph
  KnownPhases* known = nullptr;  ///< phases that were lowered before; null: none. Changes nothing
                                 ///< but the time that lowering takes
};

/// Instances beyond which a region is refused as recomputing too much: where every statement exists
/// many times, their number doubles or triples from layer to layer.
inline size_t most_instances(const LowerOptions& options, size_t statements) {
  return std::min(options.max_instances, 64 + 16 * statements);
}

/// Lowers one region of a valid program by its schedule. Throws Error(rejected) (LoweringConflict
/// where storing an intermediate would help) with the reason when the schedule cannot be met.
/// Deterministic.
Graph lower_region(const Program& program, size_t region, const LowerOptions& options = {});

/// The graph of a region, with what made each node: the statement (position in the region) that
/// first needed it.
struct LoweredRegion {
  Graph graph;
  std::vector<size_t> statement_of_node;
  std::vector<JoinPlace> join_places;
};
LoweredRegion lower_region_traced(const Program& program, size_t region,
                                  const LowerOptions& options = {});

/// A region made ready to be lowered in one order after another. Its own order does not count.
class OrderedLowering {
 public:
  /// Throws what lower_region() throws, but for orders.
  OrderedLowering(const Program& program, size_t region, const LowerOptions& options);

  const RegionIndices& indices() const { return indices_; }
  /// `order`: all indices, legal (why_illegal()).
  Graph lower(const std::vector<int>& order) const;

 private:
  LowerOptions options_;
  RegionSlice slice_;
  RegionIndices indices_;
  Expressions expressions_;
};

/// Lowers a region as whatever runs it does: where its schedule has no legal order, it is first
/// completed in `program`, as by choose_placements (placements.h). `notes`: how, one line each.
Graph complete_and_lower(Program& program, size_t region, std::vector<std::string>& notes,
                         const LowerOptions& options = {});

/// Inputs that are stored as tuples (singleton levels) and that no graph reads yet become nested
/// lists: above a singleton level a coordinate repeats, and loops have to visit each once. Gives
/// what changed, one line each.
std::vector<std::string> nest_tuples(Program& program);

/// Lowers every region that has no graph yet (nest_tuples, complete_and_lower), with notes, and
/// adds the regions that make copies (ir/copies.h). What it gives is verified.
Program lower_program(Program program, const LowerOptions& options = {});

/// The same without the notes: of programs that are only compared.
Program lower_silently(Program program, const LowerOptions& options = {});

}  // namespace fuseflow
