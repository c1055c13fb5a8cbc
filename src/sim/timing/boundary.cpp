#include "sim/timing/boundary.h"

#include <algorithm>
#include <utility>

namespace fuseflow::engine {

void ArrivalFeed::arrive(Segment& segment) {
  const TimeRef given = segment.arrivals.later(-latency_);
  into_.reserve(segment.count);
  append_times(into_.times, given, segment.count);
  into_.note_given();
  peak_.give(given, segment.count);
  segment.arrivals = long_ago();
}

HeldTokens::HeldTokens(EngineNode& node, std::vector<OutputTimes*> gives)
    : node_(node), gives_(std::move(gives)), given_(gives_.size()) {
  for (size_t o = 0; o < gives_.size(); ++o) {
    const Output* output = node.outputs[o];
    wanted_.push_back(output != nullptr && output->connected() && output->wants_times());
    if (wanted_.back()) gives_[o]->kept_from = 0;
  }
}

void HeldTokens::hold(std::span<EngineNode::OutputSegment> given) {
  std::vector<EngineNode::OutputSegment> batch;
  for (EngineNode::OutputSegment& g : given) {
    if (wanted_[g.output] && g.segment.count > 0) batch.push_back(std::move(g));
  }
  if (!batch.empty()) batches_.push_back(std::move(batch));
}

bool HeldTokens::known(const std::vector<EngineNode::OutputSegment>& batch) const {
  return std::all_of(batch.begin(), batch.end(), [this](const EngineNode::OutputSegment& given) {
    return given_[given.output].position() + given.segment.count <= gives_[given.output]->known();
  });
}

bool HeldTokens::give() {
  bool any = false;
  for (; !batches_.empty() && known(batches_.front()); batches_.pop_front()) {
    give_batch(batches_.front());
    any = true;
  }
  return any;
}

/// Outputs that share their times share them outside, too.
void HeldTokens::give_batch(std::vector<EngineNode::OutputSegment>& batch) {
  TimeRef times;
  size_t before = SIZE_MAX;
  for (EngineNode::OutputSegment& given : batch) {
    const size_t o = given.output;
    if (before < gives_.size() && gives_[before] == gives_[o]) {
      given_[o] = given_[before];
    } else {
      times = given_[o].read(gives_[o]->times, given.segment.count);
    }
    before = o;
    node_.outputs[o]->give_timed(std::move(given.segment), times);
  }
  for (const EngineNode::OutputSegment& given : batch) {
    gives_[given.output]->kept_from = given_[given.output].position();
  }
}

bool HeldTokens::give_parts() {
  bool any = false;
  for (auto& batch : batches_) {
    for (EngineNode::OutputSegment& given : batch) {
      const int64_t known = gives_[given.output]->known() - given_[given.output].position();
      const auto n = static_cast<uint32_t>(std::min<int64_t>(known, given.segment.count));
      if (n > 0) give_part(given, n);
      any = any || n > 0;
    }
  }
  return any;
}

/// The first n tokens of a segment; the others stay.
void HeldTokens::give_part(EngineNode::OutputSegment& given, uint32_t n) {
  Segment& rest = given.segment;
  Segment part = rest;
  part.count = n;
  const TimeRef times = given_[given.output].read(gives_[given.output]->times, n);
  node_.outputs[given.output]->give_timed(std::move(part), times);
  rest.begin += n;
  rest.count -= n;
  rest.payload = rest.payload.from(n);
  const Stops& stops = rest.structure->stops;
  while (rest.first_stop < stops.size() && stops[rest.first_stop].at < rest.begin) {
    ++rest.first_stop;
  }
}

}  // namespace fuseflow::engine
