// What a node of a phase by rows waits for, and when it can end for that: rows that an earlier
// phase completes, waited for by the node itself or by those before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fuseflow::estimate {

/// A wait in which nodes have gone through a part of their work.
struct RowWait {
  enum class Holds : uint8_t { everywhere, until_reduced, once_reduced };

  double there = 0;  ///< the cycle at which the wait ends
  double left = 1;   ///< the share of a node's work that is left then
  /// Before or after a reduction of at most so many fibers only.
  Holds holds = Holds::everywhere;
  double fibers = 0;
  size_t load = 0;  ///< the node that reads the rows; others wait with it
  double pace = 0;  ///< the longest from first to last step of those before the node that wait
  bool of_reader = false;  ///< begun in a buffer that waits with its reader
};

/// The waits of one node.
class RowWaits {
 public:
  /// Keeps what decides for some pace: what ends later, or leaves more.
  void add(const RowWait& more);
  /// What a node before this one waits for, `later` cycles later. `fibers`: that it reduces, 0
  /// where it reduces nothing; a reduction goes on a fiber at a time. `pace`: cycles from its first
  /// step to its last one.
  void add(const RowWaits& before, double fibers, double pace, double later);
  /// What a reader of this node's bounded stream waits for, unless this node waits for the same
  /// rows: it is ahead of the reader by the share `ahead` of its work at most, and then takes each
  /// step `earlier` cycles before the reader. False: the reader adds no wait.
  bool add_of_reader(const RowWaits& reader, double ahead, double earlier);

  /// visit(done, wait) for each wait in which the node itself stops after the share `done` of its
  /// work. Not with the reader of a buffer, of whose slack only one buffer's is known.
  template <typename Visit>
  void for_each_stop(const Visit& visit) const {
    for (const RowWait& wait : waits_) {
      const bool stops = wait.holds != RowWait::Holds::once_reduced && !wait.of_reader;
      if (stops && wait.left > 0) visit(1 - wait.left, wait);
    }
  }

  /// When the node can begin; 0 where nothing holds it.
  double head() const;
  /// When it has ended if from its first step to its last one it takes `pace`.
  double end(double pace) const;

 private:
  std::vector<RowWait> waits_;
};

}  // namespace fuseflow::estimate
