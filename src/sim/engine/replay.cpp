#include "sim/engine/replay.h"

#include <algorithm>

namespace fuseflow::engine {

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

bool NodeReplay::advance(int64_t horizon) {
  bool any = false;
  beyond_ = false;
  while (run_ < runs_.size()) {
    StepRun& run = runs_[run_];
    const StepType& type = types_[run.type];
    const int64_t most = possible(type, run.count);
    if (most == 0) break;
    int64_t n = 0;
    while (n < most && step(type, horizon)) ++n;
    beyond_ = n < most;
    any = any || n > 0;
    steps_ += n;
    busy_ += n * type.cost;
    run.count -= static_cast<uint32_t>(n);
    if (run.count > 0) break;
    ++run_;
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
