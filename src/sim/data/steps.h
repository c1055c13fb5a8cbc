// What a node's steps take and give, port by port: made by the node along with its tokens, and
// given times by a solver (batch_clock.h, replay.h). No times here.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/data/pool.h"

namespace fuseflow::engine {

/// Steps of a batch by number, ascending.
using Places = std::vector<uint32_t, UninitializedPoolAllocator<uint32_t>>;

/// Steps one after the other.
struct StepRange {
  uint32_t first = 0;
  uint32_t count = 0;
};

/// The steps that take (or give) the tokens of a port. Several ports can share one.
///
/// The step that first needs a listed token, which may be before the one that takes it: with
/// `heads` the one after the step that takes the token before; else the one in `need`, if `need` is
/// not empty; else the one that takes it. A node whose lane is listed in every batch sets
/// always_listed once; one whose lane is listed in some batches only calls list() in those.
struct Lane {
  enum class Kind : uint8_t {
    each,    ///< every step takes a token
    ranges,  ///< every step of some ranges does
    listed   ///< each token has its step in `at`
  };
  Kind kind = Kind::each;
  bool always_listed = false;  ///< in every batch
  bool heads = false;
  std::vector<StepRange> ranges;
  Places at;
  Places need;  ///< by token; more tokens than are taken may be needed

  // --- written by nodes ---

  void reset() {
    kind = always_listed ? Kind::listed : Kind::each;
    ranges.clear();
    at.clear();
    need.clear();
  }
  Lane empty_like() const {
    Lane lane;
    lane.always_listed = always_listed;
    lane.heads = heads;
    lane.reset();
    return lane;
  }
  /// From here on by token.
  Lane& list() {
    kind = Kind::listed;
    return *this;
  }
  /// The batch has only n steps.
  void cut(uint32_t n) {
    for (Places* places : {&at, &need}) {
      while (!places->empty() && places->back() >= n) places->pop_back();
    }
  }
  /// The `ahead`-th token after those taken so far is needed in a step.
  void needs(uint32_t step, uint32_t ahead = 0) {
    if (need.size() <= at.size() + ahead) need.push_back(step);
  }
  /// The next token is taken in a step, which needs it unless one before it has.
  void take(uint32_t step) {
    needs(step);
    at.push_back(step);
  }
  void add_range(uint32_t first, uint32_t count) {
    if (count == 0) return;
    if (!ranges.empty() && ranges.back().first + ranges.back().count == first) {
      ranges.back().count += count;
    } else {
      ranges.push_back({first, count});
    }
  }

  // --- read by solvers ---

  /// Tokens taken, or given, in a batch of `steps` steps.
  uint32_t tokens(uint32_t steps) const {
    if (kind == Kind::each) return steps;
    if (kind == Kind::listed) return static_cast<uint32_t>(at.size());
    uint32_t sum = 0;
    for (const StepRange& range : ranges) sum += range.count;
    return sum;
  }
  /// Listed: the tokens needed.
  uint32_t needed(uint32_t steps) const {
    if (heads) {
      const bool next = at.empty() ? steps > 0 : at.back() + 1 < steps;
      return static_cast<uint32_t>(at.size()) + (next ? 1 : 0);
    }
    return static_cast<uint32_t>(need.empty() ? at.size() : need.size());
  }
  /// Listed: the first step that needs token j.
  uint32_t need_at(uint32_t j) const {
    if (heads) return j == 0 ? 0 : at[j - 1] + 1;
    return need.empty() ? at[j] : need[j];
  }
  /// How many of the places from `first` on are before a step, one of the next thousand or so.
  static uint32_t before(const Places& places, uint32_t first, uint32_t step) {
    constexpr uint32_t kBlock = 16;
    const uint32_t* const at = places.data() + first;
    const auto n = static_cast<uint32_t>(places.size()) - first;
    uint32_t k = 0;
    while (k + kBlock <= n && at[k + kBlock - 1] < step) k += kBlock;
    // Counted, not searched: no branch depends on the places.
    const uint32_t end = std::min(n, k + kBlock);
    uint32_t count = k;
    for (; k < end; ++k) count += at[k] < step ? 1 : 0;
    return count;
  }
  size_t bytes() const {
    return ranges.size() * sizeof(StepRange) + (at.size() + need.size()) * sizeof(uint32_t);
  }
};

/// Steps that cost the same, but for the last one.
struct Stage {
  uint32_t count = 0;
  int64_t cost = 1;
  int64_t last_cost = 1;
};

/// The steps of a batch.
struct Steps {
  uint32_t count = 0;
  int64_t cost = 1;           ///< of each, if there are no stages
  std::vector<Stage> stages;  ///< or these, one after the other
  std::vector<Lane> in;
  std::vector<Lane> out;

  void clear() {
    count = 0;
    stages.clear();
    for (Lane& lane : in) lane.reset();
    for (Lane& lane : out) lane.reset();
  }
  /// n steps, the last of which may cost something else.
  void add(uint32_t n, int64_t each, int64_t last) {
    if (n == 0) return;
    if (stages.empty() && last == each && (count == 0 || each == cost)) {
      cost = each;
    } else if (!stages.empty() && stages.back().cost == each && stages.back().last_cost == each) {
      stages.back().count += n;
      stages.back().last_cost = last;
    } else {
      if (stages.empty() && count > 0) stages.push_back({count, cost, cost});
      stages.push_back({n, each, last});
    }
    count += n;
  }
  void add(uint32_t n, int64_t each) { add(n, each, each); }
  size_t bytes() const {
    size_t sum = stages.size() * sizeof(Stage);
    for (const auto* lanes : {&in, &out}) {
      for (const Lane& lane : *lanes) sum += lane.bytes();
    }
    return sum;
  }
  template <typename Each>
  void for_stages(Each&& each) const {
    if (stages.empty()) return each(Stage{count, cost, cost});
    for (const Stage& stage : stages) each(stage);
  }
};

/// The steps of a node, or of one side of it. A node that reads memory is a chain of sides: each
/// but the last gives one token for each token and requests bursts (outputs kTokens, then one from
/// kBursts on for each array); the next needs them (its inputs). A writer has one side, whose
/// outputs are its bursts. An accumulator with two stores has one side that takes, and hands them
/// over (output 0) to one that drains them (input 0).
struct StepSource {
  static constexpr int kNone = -1;
  enum { kTokens = 0, kBursts = 1 };
  std::vector<int> in_lane;   ///< by input: its lane, or kNone
  std::vector<int> out_lane;  ///< by output: its lane, or kNone
  Steps now;                  ///< of the batch at hand

  Lane& add_in_lane() { return now.in.emplace_back(); }
  /// Every input in lane 0, every output in lane 0.
  void one_lane(size_t inputs, size_t outputs) {
    in_lane.assign(inputs, 0);
    out_lane.assign(outputs, 0);
    now.in.resize(1);
    now.out.resize(1);
  }
  /// Every input, every output in a lane of its own.
  void own_lanes(size_t inputs, size_t outputs) {
    in_lane.resize(inputs);
    out_lane.resize(outputs);
    for (size_t i = 0; i < inputs; ++i) in_lane[i] = static_cast<int>(i);
    for (size_t o = 0; o < outputs; ++o) out_lane[o] = static_cast<int>(o);
    now.in.resize(inputs);
    now.out.resize(outputs);
  }
  /// One output in a lane of its own, whatever the outputs were.
  void one_output() {
    out_lane.assign(1, 0);
    now.out.resize(1);
  }
  /// Takes the batch out; another one begins.
  Steps take_batch() {
    Steps next;
    for (const Lane& lane : now.in) next.in.push_back(lane.empty_like());
    for (const Lane& lane : now.out) next.out.push_back(lane.empty_like());
    std::swap(now, next);
    return next;
  }
};

}  // namespace fuseflow::engine
