// What nodes share that read or write tensors in a memory that takes time: which bursts they
// request, and the steps of their sides that request and use them (ir-spec/memory.md).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "sim/functional/node.h"

namespace fuseflow::engine {

class MemoryNode : public EngineNode {
 public:
  MemoryNode(const Context& context, NodeId id)
      : EngineNode(context, id),
        memory_wants_batches_(timed_memory() && context.machine.dram.model == "comal") {}

 protected:
  void start_batch() override { split_ = false; }
  /// Whether the node's tensor is in a memory that takes time.
  bool timed_memory() const {
    return context_.addresses != nullptr && context_.addresses->in_memory(node_.tensor);
  }
  /// One side more than there are numbers: of the arrays that each side but the last requests, in
  /// the order of the arrays.
  void make_sides(std::initializer_list<size_t> arrays);
  /// Whether memory takes time and is asked in batches (ir-spec/memory.md, `comal`).
  bool memory_wants_batches() const { return memory_wants_batches_; }
  /// The node's own steps ask and wait, through a port for each array.
  void ask_in_own_steps(size_t arrays) {
    asking.emplace(sides.back(), arrays, context_.machine.dram.outstanding);
    bursts.resize(arrays);
    last_burst_.assign(arrays, kNoBurst);
  }
  /// Whether these bytes are all in the burst of an array (a writer: of the output) requested last.
  bool in_last_burst(size_t array, uint64_t address, uint64_t bytes) const {
    const uint64_t inside = address - last_burst_[array];
    const uint64_t size = context_.addresses->burst_bytes();
    return inside < size && inside + bytes <= size;
  }
  /// Calls each(burst) for the bursts that hold these bytes.
  template <typename Each>
  void for_bursts(uint64_t address, uint64_t bytes, Each&& each) const {
    const uint64_t size = context_.addresses->burst_bytes();
    for (uint64_t burst = address - address % size; burst < address + bytes; burst += size) {
      each(burst);
    }
  }
  /// Requests the bursts that hold these bytes: all of them where memory is asked in batches, else
  /// those but the one that was requested last of the array. Returns how many.
  uint32_t request(size_t array, uint64_t address, uint64_t bytes) {
    return memory_wants_batches() ? collect(array, address, bytes) : fetch(array, address, bytes);
  }
  uint32_t collect(size_t array, uint64_t address, uint64_t bytes);
  uint32_t fetch(size_t array, uint64_t address, uint64_t bytes) {
    return in_last_burst(array, address, bytes) ? 0 : fetch_others(array, address, bytes);
  }
  /// Calls fetch() for n elements of so many bytes each, one after the other, and fetched(bursts)
  /// for each that requests some, quiet(count) for those between.
  template <typename Fetched, typename Quiet>
  void fetch_each(size_t array, uint64_t address, uint64_t bytes, uint64_t n, Fetched&& fetched,
                  Quiet&& quiet) {
    const uint64_t size = context_.addresses->burst_bytes();
    for (uint64_t k = 0; k < n;) {
      const uint64_t element = address + k * bytes;
      const uint64_t inside = element - last_burst_[array];
      const uint64_t whole = inside < size ? std::min(n - k, (size - inside) / bytes) : 0;
      if (whole == 0) {
        fetched(fetch_others(array, element, bytes));
        ++k;
      } else {
        quiet(static_cast<uint32_t>(whole));
        k += whole;
      }
    }
  }
  /// How many bursts it would request, of an array whose bursts are not collected.
  uint32_t fetched_by(size_t array, uint64_t address, uint64_t bytes) const {
    uint32_t count = 0;
    for_bursts(address, bytes,
               [&](uint64_t burst) { count += count > 0 || burst != last_burst_[array] ? 1 : 0; });
    return count;
  }
  /// By array of those that a side requests: a scan of a bit vector asks for two at a time.
  using BurstCounts = std::array<uint32_t, 2>;
  /// Steps of a side, and what each of them does (ir-spec/memory.md).
  struct SideSteps {
    uint32_t count = 1;
    BurstCounts uses = {};  ///< that the side before has requested
    BurstCounts requests = {};
  };
  /// Each takes one token of the side before (the first side: of every input) and gives one (the
  /// last side: to all outputs).
  void log_side(size_t side, SideSteps steps) {
    Steps& target = sides[side].now;
    const bool many = steps.uses[0] > 1 || steps.requests[0] > 1;
    const bool both = steps.uses[1] + steps.requests[1] > 0;
    if (split_ || target.count == 0 || many || both) return log_any(side, steps);
    if (steps.uses[0] > 0) target.in[StepSource::kBursts].at.push_back(target.count);
    if (steps.requests[0] > 0) target.out[StepSource::kBursts].at.push_back(target.count);
    target.count += steps.count;
  }
  /// Whether a step needs or requests more bursts than a port may have outstanding.
  bool too_many_bursts(SideSteps steps) const {
    return too_many(steps.uses) || too_many(steps.requests);
  }
  /// Such a step of side `side`, as several: its bursts are used, and requested, as many at a time
  /// as may be outstanding. The one that uses the last and requests the first is the step proper.
  /// Returns the latter's number.
  uint32_t log_parts(size_t side, SideSteps step);
  /// A step of a side. It takes and gives no tokens unless it is added to the ranges of the side's
  /// lanes.
  void add_part(size_t side, SideSteps step, int64_t cost);
  /// Steps of side `side` that use so many bursts, and nothing else.
  void log_uses(size_t side, BurstCounts uses);
  /// Whether the first bursts that a step requests can be outstanding beside the last that the step
  /// before uses.
  bool fit_together(const BurstCounts& used, const BurstCounts& requested) const {
    for (size_t a = 0; a < used.size(); ++a) {
      const uint32_t last = used[a] == 0 ? 0 : (used[a] - 1) % most_bursts_ + 1;
      if (last + std::min(requested[a], most_bursts_) > most_bursts_) return false;
    }
    return true;
  }

  static constexpr uint64_t kNoBurst = uint64_t{1} << 63;
  std::vector<uint64_t> last_burst_;  ///< by array: where it starts

 private:
  static constexpr int64_t kMostBurstsOfStep = UINT16_MAX;

  bool too_many(const BurstCounts& counts) const {
    return std::max(counts[0], counts[1]) > most_bursts_;
  }
  /// Takes as many bursts of each array as may be outstanding, or what there is.
  BurstCounts take_part(BurstCounts& counts) const;
  /// Takes as many of each array that has more than may be outstanding.
  BurstCounts take_full_part(BurstCounts& counts) const;
  void log_any(size_t side, SideSteps steps);
  /// In the next step of a side.
  static void insert_bursts(Steps& target, SideSteps step);
  uint32_t fetch_others(size_t array, uint64_t address, uint64_t bytes);

  const bool memory_wants_batches_;
  uint32_t most_bursts_ = UINT32_MAX;  // of a step: what a port may have outstanding
  bool split_ = false;                 // in the batch at hand: some step is done in parts
};

}  // namespace fuseflow::engine
