// A phase of a region, lowered by itself.
//
// Streams do not leave their phase, and what one phase stores another reads as it reads an input.
// So what a phase becomes follows from
//   - the expressions of its results, down to what they read,
//   - the extents of their loops, and which of two loops is outside of the other,
//   - the declarations of the tensors that they read and write, and which of these are on chip,
//   - what the schedule says of joins in these loops.
// Neither names nor other phases make a difference. Phases that are equal in all of this
// (phase_form.h) are therefore lowered once (known_phases.h): layers repeat, and what a search
// tries changes two or three phases of many. Mostly it can be told before loops are made which
// phases are equal (phase_region.h).
//
// Settled for the region as a whole (join_phases.h): how its loops are numbered, and whether nodes
// start late (late_starts.h), which those of all phases do or of none.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "lower/buffer_plan.h"
#include "lower/expression.h"
#include "lower/join_places.h"
#include "lower/phase_form.h"

namespace fuseflow {

/// A loop of a phase: of an index, or (-1) of a single iteration that no index counts.
struct PhaseLoop {
  int index = -1;
  int around = 0;  ///< loops of the same index that it is nested in
};

/// Nodes and streams name tensors, indices and statements by the numbers of PhaseNames.
class LoweredPhase {
 public:
  /// A graph of one phase, numbered 0, and for each node the statement that first needed it.
  struct Nodes {
    Graph graph;
    std::vector<size_t> origins;
  };

  Nodes plain;                                  ///< without buffers
  std::vector<PhaseLoop> loops;                 ///< in the order in which they were asked for
  std::vector<std::pair<int, int>> same_loops;  ///< of `loops`, that turned out to be one
  std::vector<int> loop_of;                     ///< by index of the graph: of `loops`
  std::vector<JoinPlace> join_places;           ///< without the names of indices
  std::vector<int> join_indices;                ///< by place
  size_t made = 0;         ///< nodes before those that nobody needs were removed
  size_t spaces = 0;       ///< that were opened
  size_t last_origin = 0;  ///< the statement that was lowered last

  /// Whether buffers take no more where nodes start late.
  bool may_start_late();
  /// Whether anything needs a buffer, with late starts or without.
  bool needs_buffers(bool late);
  const Nodes& with_buffers(bool late);

 private:
  const BufferPlans& plans();
  std::optional<BufferPlans> plans_;
  std::optional<Nodes> buffered_[2];  ///< without late starts, with them
};

/// What decides how a region is lowered, its phases among themselves.
struct PhaseContext {
  const Program& program;  ///< of one region
  const RegionIndices& indices;
  const Expressions& expressions;
  const std::vector<int>& order;
  const HeldTensors& held;
  size_t max_nodes = 0;
  bool names_count = false;  ///< loops of other names stay apart
};

/// The instance `root` as a phase writes it.
PhaseRoot phase_root(const Program& program, const RegionIndices& indices,
                     const Expressions& expressions, int root);

/// Throws Error(rejected) where the phase alone takes too many nodes, or cannot be written.
LoweredPhase lower_phase(const PhaseContext& context, const std::vector<PhaseRoot>& roots,
                         const PhaseNames& names);

}  // namespace fuseflow
