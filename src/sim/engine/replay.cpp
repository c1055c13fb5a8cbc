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
    for (uint32_t k = 0; k < need.take; ++k) inputs[need.port]->take(t);
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
  if (activity != nullptr && type.cost > 0) activity->add(t, t + type.cost - 1);
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
      // The first tokens need no credit: step() knows.
      if (fifo->memory != nullptr || fifo->given() < fifo->depth) return false;
      ++fifos;
    }
  }
  return fifos <= kMostLanes;
}

namespace {

/// Times to be read (arrivals, credits) or written (takes, gives), one a step.
struct Lane {
  int64_t* times;
  size_t mask;
  int64_t index;
  int64_t stride;
  int64_t plus;
  int64_t& at(int64_t k) const { return times[static_cast<size_t>(index + k * stride) & mask]; }
};

struct Lanes {
  Lane in[kMostLanes];
  Lane credit[kMostLanes];
  Lane store[2 * kMostLanes];
  int ins = 0;
  int credits = 0;
  int stores = 0;
};

struct Progress {
  int64_t free_at = 0;
  int64_t first = -1;
  int64_t last = -1;
  int64_t blocked = 0;
};

/// The recurrence. kIn, kCredit, kStore: numbers of lanes known at compile time, or -1.
template <int kIn, int kCredit, int kStore>
int64_t run_steps(const Lanes& lanes, int64_t n, int64_t cost, int64_t horizon, Progress& p) {
  const int ins = kIn >= 0 ? kIn : lanes.ins;
  const int credits = kCredit >= 0 ? kCredit : lanes.credits;
  const int stores = kStore >= 0 ? kStore : lanes.stores;
  int64_t k = 0;
  int64_t t = p.last;
  for (; k < n; ++k) {
    int64_t ready = p.free_at;
    for (int l = 0; l < ins; ++l) ready = std::max(ready, lanes.in[l].at(k) + lanes.in[l].plus);
    int64_t step = ready;
    for (int l = 0; l < credits; ++l) step = std::max(step, lanes.credit[l].at(k) + 1);
    if (step >= horizon) break;
    t = step;
    for (int l = 0; l < stores; ++l) lanes.store[l].at(k) = t;
    p.blocked += t - ready;
    if (p.first < 0) p.first = t;
    p.free_at = t + cost;
  }
  p.last = t;
  return k;
}

int64_t run_steps_of(const Lanes& lanes, int64_t n, int64_t cost, int64_t horizon, Progress& p) {
  using Run = int64_t (*)(const Lanes&, int64_t, int64_t, int64_t, Progress&);
  static constexpr Run kRuns[3][3][4] = {
      {{run_steps<0, 0, 0>, run_steps<0, 0, 1>, run_steps<0, 0, 2>, run_steps<0, 0, 3>},
       {run_steps<0, 1, 0>, run_steps<0, 1, 1>, run_steps<0, 1, 2>, run_steps<0, 1, 3>},
       {run_steps<0, 2, 0>, run_steps<0, 2, 1>, run_steps<0, 2, 2>, run_steps<0, 2, 3>}},
      {{run_steps<1, 0, 0>, run_steps<1, 0, 1>, run_steps<1, 0, 2>, run_steps<1, 0, 3>},
       {run_steps<1, 1, 0>, run_steps<1, 1, 1>, run_steps<1, 1, 2>, run_steps<1, 1, 3>},
       {run_steps<1, 2, 0>, run_steps<1, 2, 1>, run_steps<1, 2, 2>, run_steps<1, 2, 3>}},
      {{run_steps<2, 0, 0>, run_steps<2, 0, 1>, run_steps<2, 0, 2>, run_steps<2, 0, 3>},
       {run_steps<2, 1, 0>, run_steps<2, 1, 1>, run_steps<2, 1, 2>, run_steps<2, 1, 3>},
       {run_steps<2, 2, 0>, run_steps<2, 2, 1>, run_steps<2, 2, 2>, run_steps<2, 2, 3>}}};
  if (lanes.ins < 3 && lanes.credits < 3 && lanes.stores < 4) {
    return kRuns[lanes.ins][lanes.credits][lanes.stores](lanes, n, cost, horizon, p);
  }
  return run_steps<-1, -1, -1>(lanes, n, cost, horizon, p);
}

}  // namespace

/// The same as n times step(), with everything that does not change between steps taken out.
int64_t NodeReplay::steps(const StepType& type, int64_t n, int64_t horizon) {
  Lanes lanes;
  for (const StepType::Need& need : type.needs) {
    Fifo& fifo = *inputs[need.port];
    const int64_t plus = fifo.memory == nullptr ? fifo.latency : 0;
    lanes.in[lanes.ins++] = {fifo.arrivals(), fifo.mask(), fifo.taken() + need.need - 1, need.take,
                             plus};
    if (need.take == 0) continue;
    lanes.store[lanes.stores++] = {fifo.takes(), fifo.mask(), fifo.taken(), 1, 0};
  }
  for (const StepType::Give& give : type.gives) {
    for (Fifo* fifo : outputs[give.output]) {
      fifo->make_room(n);
      lanes.store[lanes.stores++] = {fifo->gives(), fifo->mask(), fifo->given(), 1, 0};
      if (fifo->depth == 0) continue;
      lanes.credit[lanes.credits++] = {fifo->takes(), fifo->mask(), fifo->given() - fifo->depth, 1,
                                       1};
    }
  }
  Progress p{free_at_, first_, last_, 0};
  const int64_t done = run_steps_of(lanes, n, type.cost, horizon, p);
  free_at_ = p.free_at;
  first_ = p.first;
  last_ = p.last;
  blocked_ += p.blocked;
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
    if (most >= kFewSteps && activity == nullptr && simple(type)) {
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
