#include "sim/timing/step_solver.h"

#include <algorithm>

#include "sim/common/activity.h"

namespace fuseflow::engine {

/// n_ only shrinks: each port cuts it to the steps that it can serve, so that what an earlier port
/// has put into waits_ or the bounds for steps from n_ on is ignored later. end_ says why it was
/// cut last. Then times are solved as a line if they are one, else one by one; cut at the horizon;
/// and tokens are taken and given.
int64_t StepSolver::run(StepQueue& queue, const StepPorts& ports, int64_t n, int64_t horizon,
                        StepProgress& progress, const StepCounting& counting) {
  queue_ = &queue;
  ports_ = &ports;
  p_ = &progress;
  first_ = queue.step();
  n_ = std::min({n, kMostSteps, queue.batch().count - first_});
  n_ = in_run(queue.even_up_to(step_at(n_)));
  end_ = StepEnd::none;
  least_cost_ = queue.batch().stages.empty() ? queue.batch().cost : 0;
  waits_.clear();
  memory_waits_.clear();
  first_answer_ = 0;
  arrival_bounds_.clear();
  memory_bounds_.clear();
  answered_steps_.clear();
  credit_bounds_.clear();
  line_.clear();
  credits_waited_for_ = 0;
  each_may_wait_.resize(ports.in.size());
  for (size_t i = 0; i < ports.in.size() && n_ > 0; ++i) wait_for(i);
  waiting_.resize(ports.credits.size());
  for (size_t c = 0; c < ports.credits.size() && n_ > 0; ++c) wait_for_credits(c);
  if (n_ == 0) return 0;
  cost_ = queue.costs(static_cast<uint32_t>(n_), costs_.data());
  if (!solve_line()) solve_numbers();
  end_before(horizon);
  if (n_ == 0) return 0;
  blocked_ = credit_bounds_.any() ? delays_after(answered()) : 0;
  if (counting.charged && blocked_ > 0) charge_credits();
  queue.count_tokens(static_cast<uint32_t>(n_));
  for (size_t i = 0; i < ports.in.size(); ++i) take(i);
  for (size_t o = 0; o < ports.out.size(); ++o) give(o);
  count(counting);
  queue.drop(static_cast<uint32_t>(n_));
  return n_;
}

/// Only the steps before step k can be done; below 0: none. Whether these are fewer.
bool StepSolver::cut(int64_t k, StepEnd why) {
  if (k >= n_) return false;
  n_ = std::max<int64_t>(k, 0);
  end_ = why;
  return true;
}

// --- what has to be there ---

void StepSolver::wait_for(size_t i) {
  const StepPorts::InputPort& in = ports_->in[i];
  LaneView& view = queue_->in(in.lane);
  Fifo& fifo = *in.fifo;
  const int64_t held = fifo.held();
  if (held > 0) fifo.source->times.find(fifo.taken(), fifo.next_give);
  each_may_wait_[i] = 0;
  if (view.listed) return wait_for_listed(fifo, in.lane);
  if (!view.each) return;
  if (cut(held, StepEnd::waits)) blocker_ = {&fifo, in.lane, false};
  each_may_wait_[i] = n_ > 0 && fifo.arrival(n_ - 1) > p_->free_at ? 1 : 0;
}

void StepSolver::wait_for_listed(const Fifo& fifo, size_t lane) {
  LaneView& view = queue_->in(lane);
  int64_t count = view.needed_before(step_at(n_));
  if (const int64_t held = fifo.held(); count > held) {
    cut(in_run(view.lane->need_at(view.next + static_cast<uint32_t>(held))), StepEnd::waits);
    blocker_ = {&fifo, lane, false};
    if (n_ == 0) return;
    count = view.needed_before(step_at(n_));
  }
  if (count == 0 || fifo.arrival(count - 1) <= p_->free_at) return;
  const bool memory = fifo.source->memory != nullptr;
  if (Waits::dense(count, n_)) {
    bound_steps(fifo, view, count, memory ? memory_bounds_ : arrival_bounds_);
  } else {
    wait_at_steps(fifo, view, count, memory ? memory_waits_ : waits_);
  }
}

/// For an input of which many steps need a token. Most tokens arrive before their steps could
/// happen, so a group is looked at first: whether its last token arrives before its first step
/// could happen.
void StepSolver::bound_steps(const Fifo& fifo, const LaneView& view, int64_t count,
                             Bounds& bounds) {
  constexpr int64_t kLooked = 16;
  const Lane& lane = *view.lane;
  // A join needs a head from the step after the one that takes the token before it.
  const Places& places = lane.heads || lane.need.empty() ? lane.at : lane.need;
  const uint32_t* const at = places.data();
  const int64_t next = static_cast<int64_t>(view.next) - (lane.heads ? 1 : 0);
  const int64_t plus = lane.heads ? 1 - first_ : -first_;
  const int64_t delay = fifo.delay();
  // The first token may have none before it.
  const int64_t head = std::max<int64_t>(in_run(lane.need_at(view.next)), 0);
  const auto step_after = [&](int64_t j) { return std::max<int64_t>(at[next + j] + plus, 0); };
  const auto step_of = [&](int64_t j) { return j == 0 ? head : step_after(j); };
  TimeLines::Cursor cursor = fifo.next_give;
  for (int64_t j = 0; j < count;) {
    const auto s = fifo.source->times.stretch(fifo.taken() + j, count - j, cursor);
    for (int64_t k = 0; k < s.count;) {
      const int64_t end = std::min(k + kLooked, s.count);
      if (s.at(end - 1) + delay <= earliest(step_of(j + k))) {
        k = end;
        continue;
      }
      if (!bounds.any()) bounds.start(n_);
      if (j + k == 0) bounds.add(head, s.at(k++) + delay);
      if (s.values == nullptr) {
        for (; k < end; ++k) bounds.add(step_after(j + k), s.start + s.step * k + delay);
      } else {
        for (; k < end; ++k) bounds.add(step_after(j + k), s.values[k] + delay);
      }
    }
    j += s.count;
  }
}

void StepSolver::wait_at_steps(const Fifo& fifo, const LaneView& view, int64_t count,
                               Waits& waits) {
  const size_t others = waits.size();
  const int64_t delay = fifo.delay();
  TimeLines::Cursor cursor = fifo.next_give;
  for (int64_t j = 0; j < count;) {
    const auto s = fifo.source->times.stretch(fifo.taken() + j, count - j, cursor);
    for (int64_t k = 0; k < s.count; ++k) {
      const int64_t at = in_run(view.lane->need_at(view.next + static_cast<uint32_t>(j + k)));
      const int64_t step = std::max<int64_t>(at, 0);
      if (s.at(k) + delay > earliest(step)) waits.put(static_cast<uint32_t>(step), s.at(k) + delay);
    }
    j += s.count;
  }
  waits.merge(others);
}

void StepSolver::wait_for_credits(size_t c) {
  const StepPorts::InputPort& credit = ports_->credits[c];
  LaneView& view = queue_->out(credit.lane);
  Fifo& fifo = *credit.fifo;
  waiting_[c] = {};
  const bool all = view.each;
  if (!all && !view.listed) return;
  const int64_t index = fifo.source->given - fifo.depth;
  const int64_t room = fifo.taken() - index;
  if (index >= 0 && room > 0) fifo.takes.find(index, fifo.next_credit);
  int64_t count = all ? n_ : view.before(step_at(n_));
  if (count > room) {
    cut(all ? room
            : in_run(view.lane->at[view.next + static_cast<size_t>(std::max<int64_t>(room, 0))]),
        StepEnd::waits);
    blocker_ = {&fifo, credit.lane, true};
    count = room;
  }
  waiting_[c] = {std::max<int64_t>(0, -index), count};
  // The last credit is not after the first step: none has to be waited for.
  if (waiting_[c].any() && n_ > 0 && fifo.credit(count - 1) <= p_->free_at) waiting_[c] = {};
  credits_waited_for_ += waiting_[c].any() ? 1 : 0;
}

/// Calls wait(k, time) for the steps, below n_, that the credits may hold up, until it says false.
template <typename Wait>
bool StepSolver::for_credits(size_t c, Wait&& wait) const {
  const StepPorts::InputPort& credit = ports_->credits[c];
  const Fifo& fifo = *credit.fifo;
  const LaneView& view = queue_->out(credit.lane);
  const bool all = view.each;
  const int64_t index = fifo.source->given - fifo.depth;
  TimeLines::Cursor cursor = fifo.next_credit;
  for (int64_t j = waiting_[c].first; j < waiting_[c].end;) {
    const auto s = fifo.takes.stretch(index + j, waiting_[c].end - j, cursor);
    for (int64_t i = 0; i < s.count; ++i, ++j) {
      const int64_t k = all ? j : in_run(view.lane->at[view.next + static_cast<size_t>(j)]);
      if (k >= n_) return true;
      if (!wait(k, s.at(i) + 1)) return false;
    }
  }
  return true;
}

void StepSolver::add_credits(size_t c) {
  const StepPorts::InputPort& credit = ports_->credits[c];
  if (queue_->out(credit.lane).each) {
    const Fifo& fifo = *credit.fifo;
    return credit_bounds_.add_each(fifo.takes, fifo.next_credit, fifo.source->given - fifo.depth, 1,
                                   waiting_[c].first, n_);
  }
  credit_bounds_.start(n_);
  for_credits(c, [&](int64_t k, int64_t time) {
    credit_bounds_.add(k, time);
    return true;
  });
}

/// Whether no credit comes after the earliest time of its step.
bool StepSolver::credits_in_time(size_t c) const {
  const StepPorts::InputPort& credit = ports_->credits[c];
  const Fifo& fifo = *credit.fifo;
  const auto in_time = [&](int64_t k, int64_t time) { return time <= line_.at(k); };
  if (!queue_->out(credit.lane).each) return for_credits(c, in_time);
  const int64_t index = fifo.source->given - fifo.depth;
  const int64_t count = std::min(waiting_[c].end, n_);
  TimeLines::Cursor cursor = fifo.next_credit;
  for (int64_t j = waiting_[c].first; j < count;) {
    const auto s = fifo.takes.stretch(index + j, count - j, cursor);
    if (s.values == nullptr) {  // two lines: their ends tell
      if (!in_time(j, s.start + 1) || !in_time(j + s.count - 1, s.last() + 1)) return false;
    } else {
      for (int64_t i = 0; i < s.count; ++i) {
        if (!in_time(j + i, s.values[i] + 1)) return false;
      }
    }
    j += s.count;
  }
  return true;
}

// --- when ---

/// True if the times are a line, as they mostly are where all arrivals are: of as many steps as are
/// one. Short lines are not worth it.
bool StepSolver::solve_line() {
  if (cost_ < 0 || arrival_bounds_.any() || memory_bounds_.any()) return false;
  line_.start(p_->free_at, cost_);
  int64_t n = n_;
  for (size_t i = 0; i < ports_->in.size(); ++i) {
    if (each_may_wait_[i] == 0) continue;
    const Fifo& fifo = *ports_->in[i].fifo;
    TimeLines::Cursor cursor = fifo.next_give;
    const auto s = fifo.source->times.stretch(fifo.taken(), n, cursor);
    n = s.count;
    if (s.values != nullptr || !line_.follow(s.start + fifo.delay(), s.step)) return false;
  }
  if (n < std::min(n_, kLeastRun)) return false;
  for (size_t c = 0; c < ports_->credits.size() && credits_waited_for_ > 0; ++c) {
    if (waiting_[c].any() && !credits_in_time(c)) return false;
  }
  const int64_t first_token = line_.delay_start(waits_);
  const int64_t first_answer = line_.delay_start(memory_waits_);
  const bool catches_up = line_.follows() && n > 1 && first_token + first_answer > 0;
  n = catches_up ? 0 : line_.solve(memory_waits_, line_.solve(waits_, n));
  if (n < std::min(n_, kLeastRun)) {
    line_.clear();
    return false;
  }
  first_answer_ = first_answer;
  cut(n, StepEnd::none);
  return true;
}

void StepSolver::solve_numbers() {
  for (size_t i = 0; i < ports_->in.size(); ++i) {
    if (each_may_wait_[i] == 0) continue;
    const Fifo& fifo = *ports_->in[i].fifo;
    arrival_bounds_.add_each(fifo.source->times, fifo.next_give, fifo.taken(), fifo.delay(), 0, n_);
  }
  if (waits_.any() || memory_waits_.any()) arrival_bounds_.start(n_);
  for (const auto& [k, time] : waits_) {
    if (k < n_) arrival_bounds_.add(k, time);
  }
  for (const auto& [k, time] : memory_waits_) {
    if (k >= n_) break;
    if (memory_bounds_.any()) {
      memory_bounds_.add(k, time);
      continue;
    }
    const int64_t tokens = arrival_bounds_.at()[k];
    if (time <= tokens) continue;
    answered_steps_.push_back({k, tokens, time});
    arrival_bounds_.add(k, time);
  }
  for (size_t c = 0; c < ports_->credits.size() && credits_waited_for_ > 0; ++c) {
    if (waiting_[c].any()) add_credits(c);
  }
  solve();
  // Steps are never nearer to each other than they cost.
  const int64_t first = times_[0];
  const int64_t last = times_[static_cast<size_t>(n_) - 1];
  if (cost_ >= 0 && n_ >= kLeastRun && last - first == cost_ * (n_ - 1)) {
    line_.set(first, cost_);
  } else {
    line_.clear();
  }
}

void StepSolver::solve() {
  if (memory_bounds_.any() && arrival_bounds_.any()) memory_bounds_.raise_to(arrival_bounds_, n_);
  if (credit_bounds_.any() && answered().any()) credit_bounds_.raise_to(answered(), n_);
  if (!answered().any() && !credit_bounds_.any()) arrival_bounds_.start(n_);
  const int64_t* const bounds = credit_bounds_.any() ? credit_bounds_.at() : answered().at();
  if (cost_ >= 0) return loops::solve(bounds, n_, p_->free_at, cost_, times_.data());
  int64_t free_at = p_->free_at;
  for (size_t k = 0; k < static_cast<size_t>(n_); ++k) {
    times_[k] = std::max(free_at, bounds[k]);
    free_at = times_[k] + costs_[k];
  }
}

void StepSolver::end_before(int64_t horizon) {
  if (time(n_ - 1) < horizon) return;
  int64_t late = 0;
  if (line_.any()) {
    late = line_.first_from(horizon);
  } else {
    late = std::lower_bound(times_.begin(), times_.begin() + n_, horizon) - times_.begin();
  }
  p_->next = time(late);
  cut(late, StepEnd::beyond);
}

// --- what is done ---

void StepSolver::take(size_t i) {
  const StepPorts::InputPort& in = ports_->in[i];
  const LaneView& view = queue_->in(in.lane);
  if (view.each) {
    in.fifo->reserve(n_);
    append_all(in.fifo->takes);
  } else if (view.listed && view.count > 0) {
    in.fifo->reserve(view.count);
    append_at(view, view.count, in.fifo->takes);
  }
}

void StepSolver::give(size_t o) {
  const StepPorts::OutputPort& out = ports_->out[o];
  const LaneView& view = queue_->out(out.lane);
  const bool all = view.each;
  if (!all && !view.listed) return;
  const int64_t count = all ? n_ : view.count;
  if (count == 0) return;
  OutputTimes& gives = *out.gives;
  if (gives.memory != nullptr) {
    for (int64_t j = 0; j < count; ++j) {
      gives.give(time(all ? j : in_run(view.lane->at[view.next + static_cast<size_t>(j)])));
    }
    return;
  }
  gives.reserve(count);
  if (all) {
    append_all(gives.times);
  } else {
    append_at(view, count, gives.times);
  }
  gives.note_given();
}

void StepSolver::append_all(TimeLines& to) const {
  if (line_.any()) {
    to.append_line(n_, line_.at(0), line_.step());
  } else {
    to.append(times_.data(), n_);
  }
}

void StepSolver::append_at(const LaneView& view, int64_t count, TimeLines& to) {
  const uint32_t* steps = view.lane->at.data() + view.next;
  const int64_t* const times = times_.data() - first_;
  while (count > 0) {
    int64_t n = count;
    int64_t* const room = to.extend(n);
    if (line_.any()) {
      line_.at_each(steps, n, first_, room);
    } else {
      for (int64_t j = 0; j < n; ++j) room[j] = times[steps[j]];
    }
    steps += n;
    count -= n;
  }
}

/// Cycles for which only credits were missing, to the FIFO whose credit came last: to each of them
/// where several came in the same cycle. Before tokens are given.
void StepSolver::charge_credits() {
  for (size_t c = 0; c < ports_->credits.size(); ++c) {
    if (!waiting_[c].any()) continue;
    int64_t& blocked = ports_->credits[c].fifo->blocked;
    if (credits_waited_for_ == 1) {
      blocked += blocked_;
      continue;
    }
    int64_t last = -1;  // a step may give two tokens
    for_credits(c, [&](int64_t k, int64_t time) {
      if (time == times_[k] && k != last) {
        blocked += std::max<int64_t>(0, time - ready(k, answered()));
        last = k;
      }
      return true;
    });
  }
}

void StepSolver::count(const StepCounting& counting) {
  StepProgress& p = *p_;
  p.blocked += blocked_;
  if (counting.counted) {
    p.memory += memory_waits();
    if (counting.busy != nullptr) trace(counting);
  }
  if (cost_ >= 0) {
    p.busy += n_ * cost_;
  } else {
    for (int64_t k = 0; k < n_; ++k) p.busy += cost(k);
  }
  if (p.first < 0) p.first = time(0);
  p.last = time(n_ - 1);
  p.steps += n_;
  p.free_at = p.last + cost(n_ - 1);
}

/// What count() adds up, step by step.
void StepSolver::trace(const StepCounting& counting) const {
  const auto note = [](Activity* activity, int64_t from, int64_t until) {
    if (from < until) activity->add(from, until - 1);
  };
  for (int64_t k = 0; k < n_; ++k) note(counting.busy, time(k), time(k) + cost(k));
  if (first_answer_ > 0) note(counting.memory, time(0) - first_answer_, time(0));
  for (const AnsweredStep& s : answered_steps_) {
    const int64_t free_at = s.step < n_ ? free_before(s.step) : s.all;
    note(counting.memory, std::max(free_at, s.tokens), std::max(free_at, s.all));
  }
  for (int64_t k = 0; memory_bounds_.any() && k < n_; ++k) {
    note(counting.memory, ready(k, arrival_bounds_), ready(k, memory_bounds_));
  }
  for (int64_t k = 0; credit_bounds_.any() && k < n_; ++k) {
    note(counting.blocked, ready(k, answered()), time(k));
  }
}

/// When step k could be if it waited for nothing but these.
int64_t StepSolver::ready(int64_t k, const Bounds& bounds) const {
  const int64_t free_at = free_before(k);
  return bounds.any() ? std::max(free_at, bounds.at()[k]) : free_at;
}

/// Cycles for which only answers of memory are missing.
int64_t StepSolver::memory_waits() const {
  if (memory_bounds_.any()) return delays_after(arrival_bounds_) - blocked_;
  int64_t sum = first_answer_;
  for (const AnsweredStep& s : answered_steps_) {
    if (s.step >= n_) break;
    const int64_t free_at = free_before(s.step);
    sum += std::max(free_at, s.all) - std::max(free_at, s.tokens);
  }
  return sum;
}

/// Cycles between when the steps could be if they waited for nothing but these, and when they are.
int64_t StepSolver::delays_after(const Bounds& bounds) const {
  if (cost_ >= 0 && bounds.any()) {
    return loops::delays(times_.data(), bounds.at(), n_, p_->free_at, cost_);
  }
  int64_t sum = times_[n_ - 1] - p_->free_at;
  if (cost_ >= 0) return sum - (n_ - 1) * cost_;
  sum = 0;
  for (int64_t k = 0; k < n_; ++k) sum += times_[k] - ready(k, bounds);
  return sum;
}

}  // namespace fuseflow::engine
