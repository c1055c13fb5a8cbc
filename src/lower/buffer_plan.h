// Where a graph gets buffers, and how deep they are.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "lower/buffer_needs.h"
#include "lower/row_schedule.h"

namespace fuseflow {

/// A buffer: of a stream, for iterations of its outer loops (L). All consumers that need one like
/// it share it.
using BufferPlace = std::pair<StreamId, int>;

struct BufferPlan {
  BufferNeeds needs;
  RowSchedule schedule;
  /// Streams of nodes that start late, by the tokens that a buffer held there without: so far ahead
  /// such a node may work where a machine has room. No other node needs that.
  std::map<StreamId, int64_t> ahead = {};
};

/// The iterations that a buffer holds whose consumer works so many rows after they are given: one
/// more, but at least two, so that a row that is read again at the end (a residual) does not keep
/// the next one out, and not more than the loops have. L = 0: one, there is no other.
int64_t iterations_held(const Graph& graph, const BufferPlace& place, double rows_behind);

/// `iterations` of a place, in tokens, by the extents.
int64_t tokens_of(const Graph& graph, const BufferPlace& place, int64_t iterations);
/// The tokens of the fewest iterations that a buffer works with.
int64_t least_tokens_of(const Graph& graph, const BufferPlace& place);

/// What several buffers take: each a unit and its tokens.
struct BuffersTaken {
  int64_t count = 0;
  int64_t tokens = 0;
  int64_t least = 0;  ///< tokens, where the machine has no room for more

  /// A buffer that holds `iterations`; 0: there is none.
  void add(const Graph& graph, const BufferPlace& place, int64_t iterations);
  bool within(const BuffersTaken& other) const {
    return count <= other.count && tokens <= other.tokens && least <= other.least;
  }
};

/// The iterations that each buffer of a plan holds: of those who wait, the last one counts.
std::map<BufferPlace, int64_t> planned_buffers(const Graph& graph, const BufferPlan& plan);

/// The needs of a graph, each node working as early as it can, and with late starts
/// (late_starts.h), which are chosen where what must be held then takes no more buffers and no more
/// tokens in any phase.
struct BufferPlans {
  BufferPlan early;
  BufferPlan late;
  bool late_takes_no_more = false;
};
BufferPlans plan_buffers(const Graph& graph);

}  // namespace fuseflow
