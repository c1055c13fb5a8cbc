#include "sim/engine/replay.h"

#include <algorithm>

namespace fuseflow::engine {

namespace {
constexpr int64_t kFewSteps = 8;       // runs below are done step by step
constexpr int64_t kMostAtOnce = 512;   // so that FIFOs stay small
constexpr int64_t kMostAhead = 4;      // tokens needed by steps that are not done one by one
constexpr size_t kMostLooked = 256;    // runs or steps, for the next that gives
constexpr int64_t kNever = INT64_MIN / 4;
constexpr size_t kNowhere = SIZE_MAX;
}  // namespace

// --- the steps that are known ---

void NodeReplay::fetch(StepLog& log) {
  if (!connected_) connect();
  for (size_t t = plans_.size(); t < log.types.size(); ++t) make_plan(log.types[t]);
  if (log.runs.empty()) return;
  if (2 * run_ >= runs_.size()) {
    runs_.erase(runs_.begin(), runs_.begin() + static_cast<std::ptrdiff_t>(run_));
    run_ = 0;
  }
  if (2 * next_mixed_ >= mixed_.size()) {
    mixed_.erase(mixed_.begin(), mixed_.begin() + static_cast<std::ptrdiff_t>(next_mixed_));
    next_mixed_ = 0;
  }
  runs_.insert(runs_.end(), log.runs.begin(), log.runs.end());
  mixed_.insert(mixed_.end(), log.mixed.begin(), log.mixed.end());
  log.runs.clear();
  log.mixed.clear();
  if (has_quiet_) find_next_give();
}

void NodeReplay::connect() {
  connected_ = true;
  for (Fifo* fifo : inputs) {
    in_of_.push_back(fifo == nullptr ? kNowhere : ins_.size());
    if (fifo != nullptr) ins_.push_back(fifo);
  }
  for (Gives* gives : outputs) {
    out_of_.push_back(gives == nullptr ? kNowhere : outs_.size());
    if (gives == nullptr) continue;
    for (Fifo* fifo : gives->readers) {
      if (fifo->depth > 0) credits_.push_back({outs_.size(), fifo});
    }
    outs_.push_back(gives);
  }
}

void NodeReplay::make_plan(const StepType& type) {
  Plan& plan = plans_.emplace_back();
  plan.cost = type.cost;
  const size_t most = std::max({ins_.size(), outs_.size(), credits_.size()});
  plan.plain = activity == nullptr && most <= MixedLanes::kMost && type.cost < INT32_MAX;
  bool requests = false;
  const size_t first_in = mixed_needs_.size();
  const size_t first_out = mixed_gives_.size();
  mixed_needs_.resize(first_in + ins_.size(), {kNever, 0, 0, 0});
  mixed_gives_.resize(first_out + outs_.size());
  for (const StepType::Need& need : type.needs) {
    const size_t in = in_of_[need.port];
    if (in == kNowhere) continue;
    plan.needs.push_back({static_cast<uint16_t>(in), need.need, need.take});
    MixedNeed& mixed = mixed_needs_[first_in + in];
    plan.plain = plan.plain && need.take <= 1 && need.need <= kMostAhead && mixed.need == 0;
    mixed = {ins_[in]->delay(), static_cast<int32_t>(need.need), static_cast<int32_t>(need.need) - 1,
             static_cast<int32_t>(need.take)};
  }
  for (const StepType::Give& give : type.gives) {
    const size_t out = out_of_[give.output];
    if (out == kNowhere) continue;
    plan.gives.push_back({static_cast<uint16_t>(out), give.count});
    int32_t& mixed = mixed_gives_[first_out + out];
    plan.plain = plan.plain && give.count <= 1 && mixed == 0 && outs_[out]->records.empty();
    requests = requests || outs_[out]->memory != nullptr;
    mixed = give.count;
  }
  plan.bulk = plan.plain && !requests;
  plan.quiet = plan.gives.empty();
  has_quiet_ = has_quiet_ || plan.quiet;
  mixed_costs_.push_back(plan.plain ? static_cast<int32_t>(type.cost) : MixedLanes::kSpecial);
}

// --- steps one by one ---

/// One step of any type.
NodeReplay::End NodeReplay::step(const Plan& plan, int64_t horizon) {
  int64_t ready = free_at_;
  for (const StepType::Need& need : plan.needs) {
    const Fifo& fifo = *ins_[need.port];
    if (fifo.held() < need.need) return End::waits;
    ready = std::max(ready, fifo.arrival(need.need - 1));
  }
  int64_t t = ready;
  for (const StepType::Give& give : plan.gives) {
    for (const Fifo* fifo : outs_[give.output]->readers) {
      if (fifo->room() < give.count) return End::waits;
      t = std::max(t, fifo->credit(give.count - 1));
    }
  }
  if (t >= horizon) {
    wake_ = t;
    return End::beyond;
  }
  for (const StepType::Need& need : plan.needs) {
    for (uint32_t k = 0; k < need.take; ++k) ins_[need.port]->take(t);
  }
  for (const StepType::Give& give : plan.gives) {
    for (int k = 0; k < give.count; ++k) outs_[give.output]->give(t);
  }
  if (activity != nullptr && plan.cost > 0) activity->add(t, t + plan.cost - 1);
  blocked_ += t - ready;
  if (first_ < 0) first_ = t;
  last_ = t;
  free_at_ = t + plan.cost;
  count(1, plan.cost);
  return End::none;
}

/// Where all inputs and outputs stand, and room for so many steps.
void NodeReplay::open(int64_t most, MixedLanes& lanes) {
  for (Fifo* fifo : ins_) {
    fifo->reserve(most);
    const Gives& gives = *fifo->source;
    lanes.in[lanes.ins++] = {gives.times.data(), gives.times.mask(), gives.known,
                             fifo->takes.data(), fifo->takes.mask(), fifo->taken};
  }
  for (Gives* gives : outs_) {
    gives->reserve(most);
    lanes.out[lanes.outs++] = {gives->memory == nullptr ? nullptr : gives, gives->times.data(),
                               gives->times.mask(), gives->given};
  }
  for (const Credit& credit : credits_) {
    const Fifo& fifo = *credit.fifo;
    lanes.credit[lanes.credits++] = {credit.out, fifo.source->given - fifo.depth, fifo.takes.data(),
                                     fifo.takes.mask(), fifo.taken};
  }
  lanes.needs = mixed_needs_.data();
  lanes.gives = mixed_gives_.data();
  lanes.costs = mixed_costs_.data();
}

void NodeReplay::close(const MixedLanes& lanes) {
  for (size_t i = 0; i < ins_.size(); ++i) ins_[i]->taken = lanes.in[i].taken;
  for (size_t o = 0; o < outs_.size(); ++o) {
    if (outs_[o]->memory != nullptr) continue;
    outs_[o]->given = lanes.out[o].given;
    outs_[o]->known = lanes.out[o].given;
  }
}

/// Whether no token that so many steps need can delay them: all have arrived.
bool NodeReplay::early(int64_t most) const {
  return std::all_of(ins_.begin(), ins_.end(), [&](const Fifo* fifo) {
    const int64_t last = most + kMostAhead;
    return fifo->held() > last && fifo->arrival(last) <= free_at_;
  });
}

/// Up to n steps of plain types: of those listed, or all of one. The same as step() for each.
NodeReplay::End NodeReplay::plain_steps(const uint8_t* types, uint32_t type, int64_t n,
                                         int64_t horizon, int64_t& done) {
  n = std::min(n, kMostAtOnce);
  if (horizon - free_at_ < n) n = std::min(n, std::max(kFewSteps, horizon - free_at_ + 1));
  MixedLanes lanes;
  open(n, lanes);
  MixedProgress p{End::none, free_at_, last_, first_, 0, 0, 0};
  done = run_mixed_of(lanes, early(n), types, type, n, horizon, p);
  close(lanes);
  free_at_ = p.free_at;
  last_ = p.last;
  first_ = p.first;
  blocked_ += p.blocked;
  wake_ = p.next;
  count(done, p.busy);
  return p.end;
}

// --- many steps of one type ---

/// How many of n steps can be done with the tokens and credits that are known; below 0 or 0: none.
int64_t NodeReplay::possible(const Plan& plan, int64_t n) const {
  for (const StepType::Need& need : plan.needs) {
    const int64_t held = ins_[need.port]->held();
    if (need.take > 0 || held < need.need) n = std::min(n, held - need.need + 1);
  }
  for (const StepType::Give& give : plan.gives) {
    for (const Fifo* fifo : outs_[give.output]->readers) n = std::min(n, fifo->room());
  }
  return n;
}

/// The times that n steps read and write. What is there before the first of them delays none of them.
void NodeReplay::open(const Plan& plan, int64_t n, Lanes& lanes) {
  const auto wait_for = [&](const Lane& lane, Lane* list, int& size) {
    if (lane.at(n - 1) + lane.plus > free_at_) list[size++] = lane;
  };
  for (const StepType::Need& need : plan.needs) {
    Fifo& fifo = *ins_[need.port];
    TimeRing& arrivals = fifo.source->times;
    wait_for({arrivals.data(), arrivals.mask(), fifo.taken + need.need - 1, need.take, fifo.delay()},
             lanes.in, lanes.ins);
    if (need.take == 0) continue;
    fifo.reserve(n);
    lanes.store[lanes.stores++] = {fifo.takes.data(), fifo.takes.mask(), fifo.taken, 1, 0};
  }
  for (const StepType::Give& give : plan.gives) {
    Gives& gives = *outs_[give.output];
    gives.reserve(n);
    lanes.store[lanes.stores++] = {gives.times.data(), gives.times.mask(), gives.given, 1, 0};
    for (Fifo* fifo : gives.readers) {
      if (fifo->depth == 0) continue;
      wait_for({fifo->takes.data(), fifo->takes.mask(), gives.given - fifo->depth, 1, 1},
               lanes.credit, lanes.credits);
    }
  }
}

/// The same as n times step(), with everything that does not change between steps taken out.
NodeReplay::End NodeReplay::steps(const Plan& plan, int64_t n, int64_t horizon, int64_t& done) {
  // The first tokens need no credit: step() knows.
  const auto first = [&](const Credit& credit) {
    return credit.fifo->source->given < credit.fifo->depth;
  };
  if (std::any_of(credits_.begin(), credits_.end(), first)) return End::special;
  n = possible(plan, std::min(n, kMostAtOnce));
  if (n <= 0) return End::waits;
  Lanes lanes;
  open(plan, n, lanes);
  Progress p{free_at_, last_, 0, 0};
  done = run_steps_of(lanes, n, plan.cost, horizon, p);
  free_at_ = p.free_at;
  last_ = p.last;
  blocked_ += p.blocked;
  wake_ = p.next;
  count(done, done * plan.cost);
  for (const StepType::Need& need : plan.needs) {
    if (need.take > 0) ins_[need.port]->taken += done;
  }
  for (const StepType::Give& give : plan.gives) {
    Gives& gives = *outs_[give.output];
    gives.given += done;
    gives.known = gives.given;
  }
  return done < n ? End::beyond : End::none;
}

// --- all that can be done ---

/// Steps of a run, and takes them off it.
NodeReplay::End NodeReplay::do_run(StepRun& run, int64_t horizon) {
  int64_t done = 0;
  End end = End::special;
  const bool mixed = run.type == StepRun::kMixed;
  const uint8_t* types = mixed ? mixed_.data() + next_mixed_ : nullptr;
  const uint32_t type = mixed ? *types : run.type;
  const Plan& plan = plans_[type];
  if (!mixed && plan.bulk && run.count >= kFewSteps && first_ >= 0) {
    end = steps(plan, run.count, horizon, done);
  }
  if (end == End::special && plan.plain) {
    end = plain_steps(types, type, run.count, horizon, done);
  } else if (end == End::special) {
    end = step(plan, horizon);
    done = end == End::none ? 1 : 0;
  }
  run.count -= static_cast<uint32_t>(done);
  if (mixed) next_mixed_ += static_cast<size_t>(done);
  return end == End::special && done > 0 ? End::none : end;
}

/// The first thing that the next step waits for.
void NodeReplay::find_blocker() {
  const bool mixed = runs_[run_].type == StepRun::kMixed;
  const Plan& plan = plans_[mixed ? mixed_[next_mixed_] : runs_[run_].type];
  for (const StepType::Need& need : plan.needs) {
    blocker_ = ins_[need.port];
    blocker_count_ = need.need;
    blocker_credit_ = false;
    if (blocker_->held() < blocker_count_) return;
  }
  for (const StepType::Give& give : plan.gives) {
    for (const Fifo* fifo : outs_[give.output]->readers) {
      blocker_ = fifo;
      blocker_count_ = give.count;
      blocker_credit_ = true;
      if (fifo->room() < give.count) return;
    }
  }
}

/// The steps before the next one that gives a token take their time. Looks only so far.
void NodeReplay::find_next_give() {
  gives_at_ = free_at_;
  const uint8_t* types = mixed_.data() + next_mixed_;
  size_t looked = 0;
  for (size_t r = run_; r < runs_.size() && looked < kMostLooked; ++r) {
    const StepRun& run = runs_[r];
    const bool mixed = run.type == StepRun::kMixed;
    for (uint32_t k = 0; k < (mixed ? run.count : 1); ++k, ++looked) {
      const Plan& plan = plans_[mixed ? *types++ : run.type];
      if (!plan.quiet) return;
      gives_at_ += plan.cost * (mixed ? 1 : run.count);
    }
  }
}

bool NodeReplay::advance(int64_t horizon) {
  const int64_t before = steps_;
  End end = End::none;
  while (run_ < runs_.size()) {
    end = do_run(runs_[run_], horizon);
    if (end != End::none) break;
    if (runs_[run_].count == 0) ++run_;
  }
  state_ = run_ == runs_.size() ? State::idle
           : end == End::beyond ? State::beyond
                                  : State::waits;
  if (state_ == State::waits) find_blocker();
  if (has_quiet_) find_next_give();
  return steps_ != before;
}

void NodeReplay::fill(NodeStats& stats) const {
  stats.busy = busy_;
  stats.blocked = blocked_;
  stats.steps = steps_;
  stats.first_step = first_;
  stats.last_step = last_;
}

}  // namespace fuseflow::engine
