#include "sim/engine/replay.h"

#include <algorithm>
#include <array>

namespace fuseflow::engine {

namespace {
constexpr int64_t kFewSteps = 8;     // are tried, however near the horizon is
constexpr int64_t kSomeSteps = 32;   // are listed, however few could be done last time
constexpr size_t kMostLooked = 256;  // runs or steps, for the next that gives
constexpr size_t kNowhere = SIZE_MAX;
}  // namespace

// --- the steps that are known ---

void NodeReplay::fetch(StepLog& log) {
  if (!connected_) connect();
  for (size_t t = plans_.size(); t < log.types.size(); ++t) make_plan(log.types[t]);
  if (log.runs.empty()) return;
  if (idle()) {
    runs_.swap(log.runs);
    mixed_.swap(log.mixed);
    run_ = 0;
    next_mixed_ = 0;
  } else {
    drop_done();
    runs_.insert(runs_.end(), log.runs.begin(), log.runs.end());
    mixed_.append(log.mixed);
  }
  log.runs.clear();
  log.mixed.clear();
}

/// Frees the room of steps that have been done, if they are half of all.
void NodeReplay::drop_done() {
  if (2 * run_ >= runs_.size()) {
    runs_.erase(runs_.begin(), runs_.begin() + static_cast<std::ptrdiff_t>(run_));
    run_ = 0;
  }
  if (2 * next_mixed_ >= mixed_.size()) {
    mixed_.drop_front(next_mixed_);
    next_mixed_ = 0;
  }
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
  in_types_.resize(ins_.size());
  out_types_.resize(outs_.size());
  needed_.resize(ins_.size());
  taken_.resize(ins_.size());
  given_.resize(outs_.size());
}

void NodeReplay::make_plan(const StepType& type) {
  const size_t number = plans_.size();
  Plan& plan = plans_.emplace_back();
  plan.cost = type.cost;
  const size_t most = std::max({ins_.size(), outs_.size(), credits_.size()});
  plan.plain = activity == nullptr && most <= MixedLanes::kMost && type.cost < INT32_MAX &&
               number < StepLog::kMostMixed;
  least_cost_ = std::min(least_cost_, type.cost);
  for (auto* ports : {&needed_, &taken_, &given_}) {
    for (TypeCounts& port : *ports) port.add(0);
  }
  requested_.add(0);
  std::vector<MixedIn::Need> needs(ins_.size());
  std::vector<int32_t> gives(outs_.size());
  for (const StepType::Need& need : type.needs) {
    const size_t in = in_of_[need.port];
    if (in == kNowhere) continue;
    plan.needs.push_back({static_cast<uint16_t>(in), need.need, need.take});
    needed_[in].raise(need.need);
    taken_[in].increase(need.take);
    plan.plain = plan.plain && need.take <= 1 && need.need <= kMostAhead && needs[in].need == 0;
    needs[in] = {static_cast<int32_t>(need.need), static_cast<int32_t>(need.take)};
  }
  for (const StepType::Give& give : type.gives) {
    const size_t out = out_of_[give.output];
    if (out == kNowhere) continue;
    plan.gives.push_back({static_cast<uint16_t>(out), give.count});
    given_[out].increase(give.count);
    if (outs_[out]->memory != nullptr) requested_.increase(give.count);
    plan.plain = plan.plain && give.count <= 1 && gives[out] == 0 && outs_[out]->records.empty();
    gives[out] = give.count;
  }
  plan.quiet = plan.gives.empty();
  if (plan.quiet) quiet_cost_ = has_quiet_ ? std::min(quiet_cost_, plan.cost) : plan.cost;
  has_quiet_ = has_quiet_ || plan.quiet;
  add_mixed(number, needs, gives);
}

/// The same for batches of many types.
void NodeReplay::add_mixed(size_t type, const std::vector<MixedIn::Need>& needs,
                           const std::vector<int32_t>& gives) {
  const Plan& plan = plans_[type];
  special_.set(type, !plan.plain);
  has_special_ = has_special_ || !plan.plain;
  mixed_costs_.push_back(static_cast<int32_t>(plan.plain ? plan.cost : 0));
  if (!plan.plain) return;
  const int32_t cost = mixed_costs_.back();
  mixed_cost_ = mixed_cost_ == kNone || mixed_cost_ == cost ? cost : kDiffers;
  for (size_t i = 0; i < ins_.size(); ++i) in_types_[i].add(type, needs[i]);
  for (size_t o = 0; o < outs_.size(); ++o) out_types_[o].add(type, gives[o]);
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
  if (stalls != nullptr && t > ready) stalls->add(ready, t - 1);
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
    if (fifo->held() > 0) fifo->source->times.find(fifo->taken(), fifo->next_give);
    const auto i = static_cast<size_t>(lanes.ins);
    lanes.in[lanes.ins++] = {&in_types_[i], &fifo->source->times, fifo->next_give, fifo->delay(),
                             &fifo->takes};
  }
  for (Gives* gives : outs_) {
    if (gives->memory == nullptr) gives->reserve(most);
    const auto o = static_cast<size_t>(lanes.outs);
    lanes.out[lanes.outs++] = {&out_types_[o], gives->memory == nullptr ? nullptr : gives,
                               &gives->times};
  }
  for (const Credit& credit : credits_) {
    Fifo& fifo = *credit.fifo;
    const int64_t index = fifo.source->given - fifo.depth;
    if (index >= 0 && index < fifo.taken()) fifo.takes.find(index, fifo.next_credit);
    lanes.credit[lanes.credits++] = {credit.out, index, &fifo.takes, fifo.next_credit};
  }
  lanes.special = has_special_ ? &special_ : nullptr;
  lanes.costs = mixed_costs_.data();
  lanes.cost = mixed_cost_;
}

void NodeReplay::close() {
  for (Gives* gives : outs_) {
    if (gives->memory == nullptr) gives->given = gives->times.end();
  }
}

/// The types of the next steps, n at most, as far as they can be done together; n becomes how many.
/// In `room`, if they are not together already.
const uint8_t* NodeReplay::next_types(int64_t& n, uint8_t* room) const {
  const uint8_t* mixed = mixed_.data() + next_mixed_;
  if (runs_[run_].type == StepRun::kMixed && runs_[run_].count >= n) return mixed;
  int64_t listed = 0;
  for (size_t r = run_; r < runs_.size() && listed < n; ++r) {
    const StepRun& run = runs_[r];
    const int64_t count = std::min<int64_t>(run.count, n - listed);
    if (run.type == StepRun::kMixed) {
      std::copy_n(mixed, count, room + listed);
      mixed += run.count;
    } else {
      if (!plans_[run.type].plain) break;
      std::fill_n(room + listed, count, static_cast<uint8_t>(run.type));
    }
    listed += count;
  }
  n = listed;
  return room;
}

/// No more steps are worth listing: where each takes a token, or gives one, as many as there are
/// tokens, or as there is room, and one more, which then waits; elsewhere some more than last time.
int64_t NodeReplay::most_steps() const {
  int64_t most = std::min(kMostMixedSteps - 1, 2 * done_last_ + kSomeSteps);
  for (size_t i = 0; i < ins_.size(); ++i) {
    if (in_types_[i].all) most = std::min(most, ins_[i]->held() - (in_types_[i].need - 1));
  }
  for (const Credit& credit : credits_) {
    if (out_types_[credit.out].all) most = std::min(most, credit.fifo->room());
  }
  return std::max<int64_t>(most, 0) + 1;
}

/// Next steps of plain types. The same as step() for each.
NodeReplay::End NodeReplay::plain_steps(int64_t horizon, int64_t& done) {
  int64_t n = most_steps();
  if (horizon - free_at_ < n) n = std::max(kFewSteps, horizon - free_at_ + 1);
  std::array<uint8_t, kMostMixedSteps> room;
  const uint8_t* types = next_types(n, room.data());
  MixedLanes lanes;
  open(n, lanes);
  MixedProgress p{End::none, free_at_, last_, first_, 0, 0, 0};
  done = run_mixed(lanes, types, n, horizon, p);
  done_last_ = done;
  close();
  free_at_ = p.free_at;
  last_ = p.last;
  first_ = p.first;
  blocked_ += p.blocked;
  wake_ = p.next;
  count(done, p.busy);
  return p.end;
}

// --- all that can be done ---

/// So many of the known steps are done.
void NodeReplay::drop(int64_t done) {
  while (done > 0) {
    StepRun& run = runs_[run_];
    const auto count = static_cast<uint32_t>(std::min<int64_t>(run.count, done));
    run.count -= count;
    done -= count;
    if (run.type == StepRun::kMixed) next_mixed_ += count;
    if (run.count == 0) ++run_;
  }
}

/// Some of the next steps, in the way that fits the first of them.
NodeReplay::End NodeReplay::do_steps(int64_t horizon) {
  const StepRun& run = runs_[run_];
  const Plan& plan = plans_[run.type == StepRun::kMixed ? mixed_.data()[next_mixed_] : run.type];
  int64_t done = 1;
  End end = plan.plain ? plain_steps(horizon, done) : step(plan, horizon);
  if (!plan.plain && end != End::none) return end;
  drop(done);
  return end == End::special ? End::none : end;  // that one is the next
}

/// The first thing that the next step waits for.
void NodeReplay::find_blocker() {
  const bool mixed = runs_[run_].type == StepRun::kMixed;
  const Plan& plan = plans_[mixed ? mixed_.data()[next_mixed_] : runs_[run_].type];
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

/// How many of the next steps give nothing. Looks only so far.
void NodeReplay::find_next_give() {
  quiet_ahead_ = 0;
  const uint8_t* types = mixed_.data() + next_mixed_;
  size_t looked = 0;
  for (size_t r = run_; r < runs_.size() && looked < kMostLooked; ++r) {
    const StepRun& run = runs_[r];
    const bool mixed = run.type == StepRun::kMixed;
    for (uint32_t k = 0; k < (mixed ? run.count : 1); ++k, ++looked) {
      if (!plans_[mixed ? *types++ : run.type].quiet) return;
      quiet_ahead_ += mixed ? 1 : run.count;
    }
  }
}

bool NodeReplay::advance(int64_t horizon) {
  const int64_t before = steps_;
  End end = End::none;
  while (run_ < runs_.size()) {
    end = do_steps(horizon);
    if (end != End::none) break;
  }
  state_ = run_ == runs_.size() ? State::idle : end == End::beyond ? State::beyond : State::waits;
  if (state_ == State::waits) find_blocker();
  quiet_ahead_ = std::max<int64_t>(0, quiet_ahead_ - (steps_ - before));
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
