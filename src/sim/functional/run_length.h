// Payloads whose fibers are runs (dense levels, references of whole fibers) or repeat one word,
// kept as such: a few bytes a fiber instead of four a token. So are values that lie in memory one
// after the other. Nodes that can work on them do (EngineNode::takes_run_length); for all others a
// port makes words of them.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/functional/port.h"
#include "sim/functional/tokens.h"

namespace fuseflow::engine {

/// The words first, first + step, ... of a fiber; step is 0 or 1. An absent reference is only
/// repeated, never in a row with others (as a number, 0 follows it).
struct Run {
  uint32_t first = 0;
  uint32_t step = 0;
};

using Runs = std::vector<Run, PoolAllocator<Run>>;

/// A stretch of tokens of a structure, fiber by fiber: the one up to the stop `first_stop`, the one
/// up to the next stop, ... Fibers without tokens here have any run.
struct RunLengthPayload {
  uint32_t begin = 0;       ///< token of the structure where the first run starts
  uint32_t first_stop = 0;  ///< the first stop at or after `begin`
  std::shared_ptr<const Runs> runs;
  const uint32_t* memory =
      nullptr;  ///< set: words are those at these places of it; it outlives all streams
};

/// Words of one fiber in memory.
struct Words {
  const uint32_t* first = nullptr;
  uint32_t step = 1;  ///< 0: one word again and again
};

/// The run of a batch's fiber up to its s-th stop (stops.size(): up to its end), from the batch's
/// token k on, which is in that fiber.
inline Run run_of(const Batch& batch, size_t s, uint32_t k) {
  const RunLengthPayload& payload = *batch.payload.run_length;
  const size_t stop = batch.first_stop + s;
  const uint32_t start =
      stop == payload.first_stop ? payload.begin : batch.structure->stops[stop - 1].at + 1;
  Run run = (*payload.runs)[stop - payload.first_stop];
  run.first += run.step * (batch.begin + k - start);
  return run;
}

/// Calls fiber(s, first, last) for the tokens first .. last-1 before the s-th stop (and after the
/// last one), where there are any.
template <typename Fiber>
void for_fibers(const Batch& batch, Fiber&& fiber) {
  uint32_t k = 0;
  for (size_t s = 0; s < batch.stops.size(); ++s) {
    const uint32_t at = batch.at(batch.stops[s]);
    if (k < at) fiber(s, k, at);
    k = at + 1;
  }
  if (k < batch.count) fiber(batch.stops.size(), k, batch.count);
}

/// Runs by fiber, of the tokens of a batch.
inline std::shared_ptr<const RunLengthPayload> runs_like(const Batch& batch,
                                                         std::shared_ptr<const Runs> runs) {
  return make_pooled<RunLengthPayload>(
      RunLengthPayload{batch.begin, batch.first_stop, std::move(runs), nullptr});
}

/// The words of a batch's tokens first .. last-1, of the fiber up to its s-th stop; `scratch` is
/// for those that are not in memory.
Words fiber_words(const Batch& batch, size_t s, uint32_t first, uint32_t last,
                  std::vector<uint32_t>& scratch);

/// Writes the words of a run-length batch, 0 at stops.
void expand_into(const Batch& batch, uint32_t* words);
/// The batch with words; those of a run-length one are made in `scratch`, which has to outlive it.
Batch expanded(const Batch& batch, std::vector<uint32_t>& scratch);
/// Makes words of a segment's run-length payload, in the memory of the thread that calls.
void expand(Segment& segment);

}  // namespace fuseflow::engine
