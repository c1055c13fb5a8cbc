// The iteration of a region before it is lowered: which instances of its statements exist, over
// which region indices, and the partial order between the indices (the partial order graph, POG)
// with the reason of every edge. Orders are chosen and checked here; nodes are made in emit.h.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"
#include "lower/affine.h"

namespace fuseflow {

/// A loop of the region. Instances whose loops always coincide share one.
struct RegionIndex {
  std::string name;  ///< unique in the region
  int64_t extent = 0;
  // Whose it was first: what it is called follows from that, among all indices of the region.
  size_t statement = 0;  ///< position in Region::statements
  IndexId index = -1;    ///< of the statement
  bool of_root = false;  ///< of the result of what is written
};

/// Gives indices their names: what they are called where they were first, in the order of
/// statements, those of what is written before others; of equal names all but the first with
/// numbers.
void name_indices(const Region& region, std::vector<RegionIndex>& indices);

/// A statement with its indices mapped to region indices. Equal instances are one.
struct Instance {
  size_t statement = 0;     ///< position in Region::statements
  std::vector<Affine> map;  ///< by IndexId of the statement
  int phase = 0;
  /// By position in Statement::nodes: the producer's instance of an access to an intermediate that
  /// is inlined (streamed or recomputed); -1 for every other node.
  std::vector<int> producers;
};

enum class EdgeKind : uint8_t {
  user,        ///< the schedule's order
  storage,     ///< a compressed level is entered through the levels above it
  result,      ///< a compressed result is written in its storage order
  stream,      ///< a use that the schedule says must stream
  preference,  ///< not required: dense storage order, streaming where it is possible, masks first
};

/// Index `before` is outside `after`. Edges of kind preference are kept only where no cycle
/// results.
struct OrderEdge {
  int before = 0;
  int after = 0;
  EdgeKind kind = EdgeKind::storage;
  std::string reason;    ///< e.g. "storage order of %adj[i,j]"; none for a preference
  TensorId tensor = -1;  ///< the view, the result or the streamed intermediate
  int instance = -1;     ///< whose access or result it is; -1: the user's order
  int group = -1;        ///< preferences of one group are kept together or not at all
};

struct RegionIndices {
  std::vector<RegionIndex> indices;
  std::vector<Instance> instances;  ///< producers before consumers
  std::vector<int>
      roots;  ///< instances that are written: results, then stored intermediates, in program order
  std::vector<OrderEdge> edges;
  std::vector<size_t> made;  ///< statements of instances, in the order in which these were made
  std::vector<int64_t> extents() const;
  /// Positions of `names`; throws Error(rejected) naming the nearest index for an unknown one.
  std::vector<int> find(const std::vector<std::string>& names) const;
  /// The names of the indices at these positions.
  std::vector<std::string> names(const std::vector<int>& positions) const;
};

/// How a use of an intermediate is met. `automatic`: streamed where the order lets it, else
/// recomputed.
enum class UseKind : uint8_t { automatic, stream, recompute, scratchpad, memory };

/// What a schedule says of uses. A region may place as many tensors as it has statements, so they
/// are looked up.
class UseKinds {
 public:
  explicit UseKinds(const Schedule& schedule);
  /// The kind of the use of `tensor` in the statement that defines `consumer`: by the line for this
  /// use, else by the last one for all uses.
  UseKind of(TensorId tensor, TensorId consumer) const;

 private:
  std::map<std::pair<TensorId, TensorId>, UseKind> kinds_;  ///< by tensor and consumer; -1: all
};

inline bool is_stored(UseKind kind) {
  return kind == UseKind::scratchpad || kind == UseKind::memory;
}

/// What is evaluated when: by statement, unless it says otherwise.
struct RegionPhases {
  std::vector<int> producer;  ///< by tensor: the statement that defines it, or -1
  std::vector<int> phase;     ///< in which it is evaluated for itself, where it is written
  std::vector<bool> is_root;  ///< it is written
  int count = 1;              ///< of phases
};
RegionPhases region_phases(const Program& program, size_t region);

/// A request that cannot be met as it is: which intermediate would have to be stored to meet it.
class LoweringConflict : public Error {
 public:
  LoweringConflict(TensorId tensor, std::string message)
      : Error(ExitCode::rejected, std::move(message)), tensor_(tensor) {}
  TensorId tensor() const { return tensor_; }

 private:
  TensorId tensor_;
};

/// An instance that is one too many, or that reads an intermediate outside of its extent.
class InstanceConflict : public LoweringConflict {
 public:
  /// `made`: statements of the instances before it and of its own, in the order in which they were
  /// made. `dimension`: in which it reads outside; -1: it is one too many.
  InstanceConflict(TensorId tensor, std::string message, std::vector<size_t> made, int dimension)
      : LoweringConflict(tensor, std::move(message)),
        made_(std::move(made)),
        dimension_(dimension) {}
  const std::vector<size_t>& made() const { return made_; }
  int dimension() const { return dimension_; }

 private:
  std::vector<size_t> made_;
  int dimension_;
};

/// Instances `made` of a region are more than `limit`: the last statement that exists more than
/// once is where to cut.
InstanceConflict too_many_instances(const Program& program, const Region& region,
                                    const std::vector<bool>& is_root, std::vector<size_t> made,
                                    size_t limit);
InstanceConflict reads_outside(const Program& program, TensorId tensor, int dimension,
                               std::vector<size_t> made);

/// A conflict that no placement and no copy resolves: there is no way to lower the region as its
/// schedule stands. It has the region's place and name.
class UnresolvedConflict : public Error {
 public:
  UnresolvedConflict(Location where, std::string message)
      : Error(ExitCode::rejected, std::move(where), std::move(message)) {}
};

/// Throws LoweringConflict if an intermediate cannot be inlined (a subscript that may leave its
/// extent, or more instances than `max_instances`).
RegionIndices region_indices(const Program& program, size_t region, size_t max_instances = 4096);

/// "%adj[i,j]" with the names of the region's indices.
std::string access_text(const Program& program, const RegionIndices& indices, TensorId tensor,
                        const std::vector<Affine>& subscripts);

/// A cycle of required edges (all kinds but preference), shortest first found; empty if there is
/// none.
std::vector<OrderEdge> find_cycle(const RegionIndices& indices);

/// The required edges; if `preferences`, those of these that fit, too, in order of importance.
std::vector<OrderEdge> edges_kept(const RegionIndices& indices, bool preferences);

/// "i before k (storage order of %b[i,k]); ..."
std::string describe(const RegionIndices& indices, const std::vector<OrderEdge>& cycle);

/// The default order as far as there is one; indices on cycles last.
std::vector<int> nearest_order(const RegionIndices& indices);

/// The default order: required edges, then preferences in order of importance where they fit;
/// among what is left, by program order. Throws LoweringConflict naming the clashing constraints.
std::vector<int> default_order(const RegionIndices& indices);

/// The schedule's order (its indices in that order, the others where the default puts them), or
/// the default order. Throws Error(rejected) with the reason and the nearest legal order.
std::vector<int> chosen_order(const RegionIndices& indices, const Schedule& schedule);

/// Why `order` (a permutation of all indices) is not legal; nothing if it is.
std::optional<std::string> why_illegal(const RegionIndices& indices, const std::vector<int>& order);

}  // namespace fuseflow
