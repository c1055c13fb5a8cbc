#include "lower/buffer_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lower/finish.h"
#include "lower/late_starts.h"

namespace fuseflow {

namespace {

constexpr int64_t kMostTokens = std::numeric_limits<int64_t>::max() / 4;

int64_t least_iterations(int loops) {
  return loops > 0 ? 2 : 1;
}

/// What its needs take; and, of what is worked ahead, the token that it must hold.
std::vector<BuffersTaken> taken_by_phase(const Graph& graph, const BufferPlan& plan) {
  std::vector<BuffersTaken> phases(static_cast<size_t>(graph.phases()));
  const auto phase_of = [&](StreamId stream) -> BuffersTaken& {
    const NodeId from = graph.streams[static_cast<size_t>(stream)].producer;
    return phases[static_cast<size_t>(graph.nodes[static_cast<size_t>(from)].phase)];
  };
  for (const auto& [place, iterations] : planned_buffers(graph, plan)) {
    phase_of(place.first).add(graph, place, iterations);
  }
  for (const auto& [stream, tokens] : plan.ahead) {
    phase_of(stream).tokens += kLeastAhead;
    phase_of(stream).least += kLeastAhead;
  }
  return phases;
}

bool takes_no_more(const Graph& graph, const BufferPlan& plan, const BufferPlan& than) {
  const std::vector<BuffersTaken> taken = taken_by_phase(graph, plan);
  const std::vector<BuffersTaken> other = taken_by_phase(graph, than);
  for (size_t p = 0; p < taken.size(); ++p) {
    if (!taken[p].within(other[p])) return false;
  }
  return true;
}

/// Where buffers that `early` has are no more: tokens that they held.
std::map<StreamId, int64_t> worked_ahead(const Graph& graph, const BufferPlan& late,
                                         const BufferPlan& early) {
  std::map<StreamId, int64_t> ahead;
  for (const auto& [place, iterations] : planned_buffers(graph, early)) {
    int64_t& most = ahead[place.first];
    most = std::max(most, tokens_of(graph, place, iterations));
  }
  for (const auto& [place, iterations] : planned_buffers(graph, late)) ahead.erase(place.first);
  return ahead;
}

}  // namespace

int64_t iterations_held(const Graph& graph, const BufferPlace& place, double rows_behind) {
  const std::vector<int>& indices = graph.streams[static_cast<size_t>(place.first)].indices;
  double all = 1;
  for (int l = 0; l < place.second; ++l) {
    all *= static_cast<double>(graph.indices[static_cast<size_t>(indices[l])].extent);
  }
  constexpr double kRounding = 1e-6;  // of sums of shares
  const double held = std::min(1 + std::ceil(rows_behind - kRounding), all);
  return std::max(static_cast<int64_t>(held), least_iterations(place.second));
}

int64_t tokens_of(const Graph& graph, const BufferPlace& place, int64_t iterations) {
  const int64_t tokens = tokens_below(graph, place.first, place.second);
  return tokens > kMostTokens / iterations ? kMostTokens : tokens * iterations;
}

int64_t least_tokens_of(const Graph& graph, const BufferPlace& place) {
  return tokens_of(graph, place, least_iterations(place.second));
}

void BuffersTaken::add(const Graph& graph, const BufferPlace& place, int64_t iterations) {
  if (iterations == 0) return;
  const auto more = [](int64_t& sum, int64_t by) { sum = std::min(kMostTokens, sum + by); };
  ++count;
  more(tokens, tokens_of(graph, place, iterations));
  more(least, least_tokens_of(graph, place));
}

std::map<BufferPlace, int64_t> planned_buffers(const Graph& graph, const BufferPlan& plan) {
  std::map<BufferPlace, int64_t> held;
  for (const auto& [at, need] : plan.needs) {
    const StreamId stream = graph.nodes[static_cast<size_t>(at.first)].inputs[at.second].stream;
    const NodeId from = graph.streams[static_cast<size_t>(stream)].producer;
    const auto L = static_cast<size_t>(need.loops);
    const double behind = plan.schedule.start(at.first, L) - plan.schedule.given(from, L);
    int64_t& most = held[{stream, need.loops}];
    most = std::max(most, iterations_held(graph, {stream, need.loops}, behind));
  }
  return held;
}

BufferPlans plan_buffers(const Graph& graph) {
  const BufferSearch search(graph);
  BufferPlan early{search.needs(), RowSchedule(graph)};
  BufferPlan late = early;
  // (Buffers that are needed anyway give no input another need.)
  if (!start_late(graph, late)) return {std::move(early), std::move(late), true};
  late.needs = search.needs(late.needs);
  late.ahead = worked_ahead(graph, late, early);
  const bool no_more = takes_no_more(graph, late, early);
  return {std::move(early), std::move(late), no_more};
}

}  // namespace fuseflow
