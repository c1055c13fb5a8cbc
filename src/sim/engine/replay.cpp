#include "sim/engine/replay.h"

#include <algorithm>

namespace fuseflow::engine {

namespace {
constexpr size_t kMostLanes = 16;
constexpr int64_t kFewSteps = 4;       // fewer are done one by one
constexpr int64_t kMostAtOnce = 4096;  // so that FIFOs without a bound stay small
}  // namespace

void Fifo::resize(size_t size) {
  std::vector<int64_t> give(size);
  std::vector<int64_t> take(size);
  std::vector<int64_t> answer(size, -1);
  for (int64_t k = base(); k < given_ && mask_ != 0; ++k) {
    give[static_cast<size_t>(k) & (size - 1)] = give_[at(k)];
    take[static_cast<size_t>(k) & (size - 1)] = take_[at(k)];
    answer[static_cast<size_t>(k) & (size - 1)] = answer_[at(k)];
  }
  give_ = std::move(give);
  take_ = std::move(take);
  answer_ = std::move(answer);
  mask_ = size - 1;
}

void Fifo::request(int64_t time) {
  answer_[at(given_)] = -1;
  memory->memory->submit({time, memory->id, given_, memory->addresses.front(), memory->write});
  memory->addresses.pop_front();
}

void Fifo::answer(int64_t number, int64_t time) {
  answer_[at(number)] = time;
  for (; answered_ < given_ && answer_[at(answered_)] >= 0; ++answered_) {
    if (memory->write) take(answer_[at(answered_)]);
  }
}

void Fifo::grow() {
  measure();
  if (2 * (given_ + 1 - base()) > static_cast<int64_t>(give_.size())) resize(give_.size() * 2);
}

/// Judges the gives whose earlier takes are known: token k meets those not taken before its time.
void Fifo::measure() {
  if (memory != nullptr) {  // nobody asks
    measured_ = given_;
    released_ = taken_;
    return;
  }
  if (depth > 0 && peak_ == depth) {  // it cannot hold more
    measured_ = given_;
    released_ = taken_;
    return;
  }
  for (; measured_ < given_; ++measured_) {
    const int64_t time = give_[at(measured_)];
    while (released_ < taken_ && take_[at(released_)] < time) ++released_;
    if (released_ == taken_ && released_ < measured_) return;
    peak_ = std::max(peak_, measured_ - released_ + 1);
  }
}

void NodeReplay::fetch(StepLog& log) {
  if (run_ == runs_.size()) {
    runs_.clear();
    run_ = 0;
  }
  types_ = log.types;
  runs_.insert(runs_.end(), log.runs.begin(), log.runs.end());
  log.runs.clear();
}

/// How many steps of a type can be done with the tokens and credits that are known.
int64_t NodeReplay::possible(const StepType& type, int64_t most) const {
  for (const StepType::Need& need : type.needs) {
    const int64_t held = inputs[need.port]->held();
    if (held < need.need) return 0;
    if (need.take > 0) most = std::min<int64_t>(most, (held - need.need) / need.take + 1);
  }
  for (const StepType::Give& give : type.gives) {
    for (const Fifo* fifo : outputs[give.output]) {
      most = std::min<int64_t>(most, fifo->room() / give.count);
    }
  }
  return std::max<int64_t>(0, most);
}

bool NodeReplay::step(const StepType& type, int64_t horizon) {
  int64_t ready = free_at_;
  for (const StepType::Need& need : type.needs) {
    ready = std::max(ready, inputs[need.port]->arrival(need.need - 1));
  }
  int64_t t = ready;
  for (const StepType::Give& give : type.gives) {
    for (const Fifo* fifo : outputs[give.output]) t = std::max(t, fifo->credit(give.count - 1));
  }
  if (t >= horizon) return false;
  for (const StepType::Need& need : type.needs) {
    for (int k = 0; k < need.take; ++k) inputs[need.port]->take(t);
  }
  for (const StepType::Give& give : type.gives) {
    auto* record = records[give.output];
    for (int k = 0; k < give.count; ++k) {
      const auto& fifos = outputs[give.output];
      if (record != nullptr && !fifos.empty()) {
        (*record)[static_cast<size_t>(fifos.front()->given())].time = t;
      }
      for (Fifo* fifo : fifos) fifo->give(t);
    }
  }
  blocked_ += t - ready;
  if (first_ < 0) first_ = t;
  last_ = t;
  free_at_ = t + type.cost;
  return true;
}

/// Whether a type's steps can be done by steps(): one token a port at most, no requests, no records.
bool NodeReplay::simple(const StepType& type) const {
  if (type.needs.size() > kMostLanes) return false;
  for (const StepType::Need& need : type.needs) {
    if (need.take > 1) return false;
  }
  size_t fifos = 0;
  for (const StepType::Give& give : type.gives) {
    if (give.count != 1 || records[give.output] != nullptr) return false;
    for (const Fifo* fifo : outputs[give.output]) {
      if (fifo->memory != nullptr) return false;
      ++fifos;
    }
  }
  return fifos <= kMostLanes;
}

/// The same as n times step(), with everything that does not change between steps taken out.
int64_t NodeReplay::steps(const StepType& type, int64_t n, int64_t horizon) {
  struct Lane {
    const int64_t* from;  // arrivals or credits
    int64_t* to;          // takes or gives; null if nothing is taken
    size_t mask;
    int64_t index;
    int64_t stride;
    int64_t back;  // credit: `depth` tokens earlier
    int64_t plus;
  };
  Lane in[kMostLanes];
  Lane out[kMostLanes];
  size_t ins = 0;
  size_t outs = 0;
  for (const StepType::Need& need : type.needs) {
    Fifo& fifo = *inputs[need.port];
    in[ins++] = {fifo.arrivals(),      need.take > 0 ? fifo.takes() : nullptr, fifo.mask(),
                 fifo.taken(),         need.take,                              need.need - 1,
                 fifo.memory == nullptr ? fifo.latency : 0};
  }
  for (const StepType::Give& give : type.gives) {
    for (Fifo* fifo : outputs[give.output]) {
      fifo->make_room(n);
      out[outs++] = {fifo->takes(), fifo->gives(), fifo->mask(), fifo->given(), 1, fifo->depth, 1};
    }
  }
  int64_t done = 0;
  int64_t free_at = free_at_;
  int64_t t = last_;
  for (; done < n; ++done) {
    int64_t ready = free_at;
    for (size_t l = 0; l < ins; ++l) {
      const Lane& lane = in[l];
      const auto at = static_cast<size_t>(lane.index + done * lane.stride + lane.back) & lane.mask;
      ready = std::max(ready, lane.from[at] + lane.plus);
    }
    t = ready;
    for (size_t l = 0; l < outs; ++l) {
      const Lane& lane = out[l];
      const int64_t token = lane.index + done - lane.back;
      if (lane.back == 0 || token < 0) continue;
      t = std::max(t, lane.from[static_cast<size_t>(token) & lane.mask] + 1);
    }
    if (t >= horizon) break;
    for (size_t l = 0; l < ins; ++l) {
      const Lane& lane = in[l];
      if (lane.to != nullptr) lane.to[static_cast<size_t>(lane.index + done) & lane.mask] = t;
    }
    for (size_t l = 0; l < outs; ++l) {
      out[l].to[static_cast<size_t>(out[l].index + done) & out[l].mask] = t;
    }
    blocked_ += t - ready;
    if (first_ < 0) first_ = t;
    last_ = t;
    free_at = t + type.cost;
  }
  free_at_ = free_at;
  for (const StepType::Need& need : type.needs) {
    if (need.take > 0) inputs[need.port]->take_many(done);
  }
  for (const StepType::Give& give : type.gives) {
    for (Fifo* fifo : outputs[give.output]) fifo->give_many(done);
  }
  return done;
}

bool NodeReplay::advance(int64_t horizon) {
  bool any = false;
  beyond_ = false;
  while (run_ < runs_.size()) {
    StepRun& run = runs_[run_];
    const StepType& type = types_[run.type];
    const int64_t most = possible(type, std::min<int64_t>(run.count, kMostAtOnce));
    if (most == 0) break;
    int64_t n = 0;
    if (most >= kFewSteps && simple(type)) {
      n = steps(type, most, horizon);
    } else {
      while (n < most && step(type, horizon)) ++n;
    }
    beyond_ = n < most;
    any = any || n > 0;
    steps_ += n;
    busy_ += n * type.cost;
    run.count -= static_cast<uint32_t>(n);
    if (beyond_) break;
    if (run.count == 0) ++run_;
  }
  if (any) {
    for (Fifo* fifo : inputs) {
      if (fifo != nullptr && fifo->memory == nullptr) fifo->measure();
    }
  }
  return any;
}

void NodeReplay::fill(NodeStats& stats) const {
  stats.busy = busy_;
  stats.blocked = blocked_;
  stats.steps = steps_;
  stats.first_step = first_;
  stats.last_step = last_;
}

}  // namespace fuseflow::engine
