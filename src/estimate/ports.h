// The ports of nodes (ir-spec/memory.md): each array that a node reads or writes, and how many
// bursts it requests there. A request is new where it is not for the burst of the one before it.
#pragma once

#include <vector>

#include "estimate/address_loops.h"
#include "estimate/array_begins.h"
#include "estimate/costs.h"
#include "estimate/pieces.h"
#include "estimate/port.h"
#include "estimate/stored_arrays.h"

namespace fuseflow::estimate {

class Ports {
 public:
  /// `nodes`: their bytes. `arrays`: by TensorId. `begins`: null where it makes no difference where
  /// arrays are. `near`: cycles.
  Ports(const Structure& structure, const Counts& counts, const std::vector<NodeCost>& nodes,
        const std::vector<StoredArrays>& arrays, const ArrayBegins* begins, double burst_bytes,
        double near)
      : s_(structure),
        counts_(counts),
        nodes_(nodes),
        arrays_(arrays),
        begins_(begins),
        pieces_(structure, counts, burst_bytes),
        burst_bytes_(burst_bytes),
        near_(near) {}

  /// The ports of a node with a tensor.
  std::vector<Port> of(size_t n) const;
  /// How often a gallop waits for memory.
  double waits_of_gallop(size_t n) const;

 private:
  /// References of a fiber that ascend: by `step` positions for each of `extent` coordinates, of
  /// which the fiber lists some.
  struct AscendingReferences {
    double extent = 0;  ///< 0: in no known order
    double step = 1;
  };

  std::vector<Port> asked_by(size_t n) const;
  void place(const Node& node, std::vector<Port>& ports) const;
  std::vector<Port> of_reader(size_t n, const StoredArrays& arrays) const;
  /// What a gallop asks for: bursts of positions, of coordinates at first, and of all others.
  struct OfLevel {
    double positions = 0;
    double heads = 0;
    double others = 0;
    const StoredArrays::Level* array = nullptr;
  };
  OfLevel of_galloped(size_t n, size_t which) const;
  std::vector<Port> of_gallop(size_t n) const;
  Port of_scanned(size_t n, LevelKind kind, double bytes) const;
  Port of_looked_up(size_t n, LevelKind kind, const StoredArrays::Level& array) const;
  static double fiber_of(const StoredArrays::Level& level);
  Port of_written(const Node& node, const StoredArrays& arrays, double bytes) const;
  AddressLoops order_of_writes(const Node& node) const;
  AddressLoop written_loop(int space, double number, double step) const;
  double by_references(StreamId ref, double present, double unit, double array_bytes) const;
  double by_rows(StreamId ref, double bytes, double array_bytes) const;
  double by_jumps(double runs, double bytes, double stride, double array_bytes) const;
  double met(double fibers, double references, const AscendingReferences& ascent,
             double unit) const;
  double touched(double bytes, double stride) const;
  /// What references ask for that may go anywhere.
  Port by_scattered(StreamId ref, double present, double unit, double array_bytes) const;
  AddressLoops order_of_reads(StreamId ref, double unit) const;
  /// What is met near each other of an array that is read or written in order, a word a cycle.
  ArrayPieces in_turn() const;
  ArrayPieces written_near(const AddressLoops& order, double value) const;
  bool in_a_row(StreamId ref) const;
  AscendingReferences ascent_of(StreamId ref, int space) const;
  StreamId above(StreamId ref) const;
  StreamId joined(StreamId ref) const;
  const Node& maker(StreamId ref) const;
  const SpaceCount& in_space(StreamId stream) const {
    return counts_.space[static_cast<size_t>(s_.space_of(stream))];
  }

  const Structure& s_;
  const Counts& counts_;
  const std::vector<NodeCost>& nodes_;
  const std::vector<StoredArrays>& arrays_;
  const ArrayBegins* const begins_;
  const AccessedPieces pieces_;
  const double burst_bytes_;
  const double near_;
};

}  // namespace fuseflow::estimate
