#include "sim/engine/mixed_steps.h"

#include <algorithm>
#include <array>

#include "sim/engine/step_lines.h"
#include "sim/engine/step_waits.h"

namespace fuseflow::engine {

namespace {

using End = MixedProgress::End;

class StepBatch {
 public:
  StepBatch(MixedLanes& lanes, const uint8_t* types, int64_t n, MixedProgress& progress)
      : lanes_(lanes), types_(types), n_(n), p_(progress) {}

  int64_t run(int64_t horizon) {
    p_.end = End::none;
    if (lanes_.special != nullptr) find_special();
    for (int i = 0; i < lanes_.ins && n_ > 0; ++i) wait_for(i);
    for (int o = 0; o < lanes_.outs && n_ > 0; ++o) {
      if (!lanes_.out[o].types->all) given_[o].find(lanes_.out[o].types->giving, types_, n_);
    }
    for (int c = 0; c < lanes_.credits && n_ > 0; ++c) wait_for_credits(c);
    if (n_ == 0) return 0;
    if (!solve_lines()) solve_numbers();
    end_before(horizon);
    if (n_ == 0) return 0;
    for (int i = 0; i < lanes_.ins; ++i) take(i);
    for (int o = 0; o < lanes_.outs; ++o) give(o);
    count();
    return n_;
  }

 private:
  /// Only the steps before step k can be done; below 0: none.
  void cut(int64_t k, End why) {
    if (k >= n_) return;
    n_ = std::max<int64_t>(k, 0);
    p_.end = why;
  }
  void find_special() {
    Places& places = places_[0];  // not used for anything else yet
    places.find(*lanes_.special, types_, n_);
    if (places.count > 0) cut(places[0], End::special);
  }

  // --- what has to be there ---

  static int64_t held(const MixedLanes::In& in) { return in.times->end() - in.takes->end(); }
  static int64_t arrival(const MixedLanes::In& in, int64_t ahead) {
    return in.times->at(in.takes->end() + ahead, in.at) + in.delay;
  }
  /// Calls wait(j, arrival) for the next n tokens but `ahead`.
  template <typename Wait>
  static void for_arrivals(const MixedLanes::In& in, int64_t ahead, int64_t n, Wait&& wait) {
    TimeLines::Cursor cursor = in.at;
    for (int64_t j = 0; j < n;) {
      const auto s = in.times->stretch(in.takes->end() + ahead + j, n - j, cursor);
      for (int64_t k = 0; k < s.count; ++k) wait(j + k, s.at(k) + in.delay);
      j += s.count;
    }
  }

  void wait_for(int i) {
    const MixedLanes::In& in = lanes_.in[i];
    const MixedIn& types = *in.types;
    each_[i] = false;
    if (types.all) return wait_for_each(i);
    places_[i].find(types.same ? types.taking : types.needing, types_, n_);
    if (!types.same) return wait_at_needs(in, places_[i]);
    types.sparse ? wait_at_takes(in, places_[i]) : wait_behind_takes(in, places_[i]);
  }
  void wait_for_each(int i) {
    const MixedLanes::In& in = lanes_.in[i];
    const int64_t ahead = in.types->need - 1;
    cut(held(in) - ahead, End::waits);
    each_[i] = n_ > 0 && arrival(in, ahead + n_ - 1) > p_.free_at;
  }
  /// Every step that takes waits for what it takes.
  void wait_at_takes(const MixedLanes::In& in, const Places& takes) {
    int64_t count = takes.count;
    if (count > held(in)) {
      count = held(in);
      cut(takes[count], End::waits);
    }
    if (count == 0 || arrival(in, count - 1) <= p_.free_at) return;
    Waits::Adder waits(waits_);
    for_arrivals(in, 0, count, [&](int64_t j, int64_t time) { waits.put(takes[j], time); });
    waits.finish();
  }
  /// What is there for a step is there for those behind it, until one takes.
  void wait_behind_takes(const MixedLanes::In& in, const Places& takes) {
    const int64_t ahead = in.types->need - 1;
    const int64_t there = held(in) - ahead;
    const int64_t count = std::min(takes.count, there - 1);
    if (takes.count >= there) {
      cut(first_need(in, there <= 0 ? 0 : takes[there - 1] + 1), End::waits);
      if (there <= 0) return;
    }
    if (arrival(in, ahead + count) <= p_.free_at) return;
    Waits::Adder waits(waits_);
    for_arrivals(in, ahead, count + 1, [&](int64_t j, int64_t time) {
      const int64_t k = first_need(in, j == 0 ? 0 : takes[j - 1] + 1);
      if (k < n_) waits.put(k, time);
    });
    waits.finish();
  }
  /// The first step from k on that needs something.
  int64_t first_need(const MixedLanes::In& in, int64_t k) const {
    while (k < n_ && in.types->needing[types_[k]] == 0) ++k;
    return k;
  }
  void wait_at_needs(const MixedLanes::In& in, const Places& needs) {
    const int64_t most = n_ + kMostAhead;
    if (held(in) > most && arrival(in, most) <= p_.free_at) return;
    Waits::Adder waits(waits_);
    int64_t taken = 0;
    for (int64_t j = 0; j < needs.count; ++j) {
      const MixedIn::Need need = in.types->needs[types_[needs[j]]];
      if (taken + need.need > held(in)) {
        cut(needs[j], End::waits);
        break;
      }
      waits.put(needs[j], arrival(in, taken + need.need - 1));
      taken += need.take;
    }
    waits.finish();
  }

  void wait_for_credits(int c) {
    const MixedLanes::Credit& credit = lanes_.credit[c];
    const bool all = lanes_.out[credit.out].types->all;
    const Places& places = given_[credit.out];
    const int64_t room = credit.takes->end() - credit.index;
    int64_t count = all ? n_ : places.count;
    if (count > room) {
      cut(all ? room : places[room], End::waits);
      count = room;
    }
    late_[c] = {std::max<int64_t>(0, -credit.index), count};
    // The last credit is not behind the first step: none has to be waited for.
    if (late_[c].any() && n_ > 0 && back(credit, count - 1) <= p_.free_at) late_[c] = {};
    credits_count_ += late_[c].any() ? 1 : 0;
  }
  static int64_t back(const MixedLanes::Credit& credit, int64_t j) {
    return credit.takes->at(credit.index + j, credit.at) + 1;
  }
  /// Calls wait(k, time) for the steps, below n_, that the credits may hold up, until it says
  /// false.
  template <typename Wait>
  bool for_credits(int c, Wait&& wait) const {
    const MixedLanes::Credit& credit = lanes_.credit[c];
    const bool all = lanes_.out[credit.out].types->all;
    TimeLines::Cursor cursor = credit.at;
    for (int64_t j = late_[c].first; j < late_[c].count;) {
      const auto s = credit.takes->stretch(credit.index + j, late_[c].count - j, cursor);
      for (int64_t i = 0; i < s.count; ++i, ++j) {
        const int64_t k = all ? j : given_[credit.out][j];
        if (k >= n_) return true;
        if (!wait(k, s.at(i) + 1)) return false;
      }
    }
    return true;
  }
  void add_credits(int c) {
    const MixedLanes::Credit& credit = lanes_.credit[c];
    if (lanes_.out[credit.out].types->all) {
      return credits_.add_each(*credit.takes, credit.at, credit.index, 1, late_[c].first, n_);
    }
    credits_.start(n_);
    for_credits(c, [&](int64_t k, int64_t time) {
      credits_.add(k, time);
      return true;
    });
  }

  // --- when ---

  /// True if the times are lines, as they mostly are where all arrivals are.
  bool solve_lines() {
    if (lanes_.cost < 0) return false;
    lines_.start(p_.free_at, lanes_.cost);
    int64_t n = n_;
    for (int i = 0; i < lanes_.ins; ++i) {
      if (!each_[i]) continue;
      MixedLanes::In& in = lanes_.in[i];
      TimeLines::Cursor cursor = in.at;
      const auto s = in.times->stretch(in.takes->end() + in.types->need - 1, n, cursor);
      n = s.count;
      if (s.values != nullptr || !lines_.follow(s.start + in.delay, s.step)) return false;
    }
    if (n < std::min(n_, TimeLines::kLeastLine)) return false;
    for (int c = 0; c < lanes_.credits && credits_count_ > 0; ++c) {
      const auto in_time = [&](int64_t k, int64_t time) { return time <= lines_.earliest(k); };
      if (late_[c].any() && !for_credits(c, in_time)) return false;
    }
    if (!lines_.solve(waits_, n)) return false;
    cut(n, End::none);
    return true;
  }

  void solve_numbers() {
    for (int i = 0; i < lanes_.ins; ++i) {
      if (!each_[i]) continue;
      const MixedLanes::In& in = lanes_.in[i];
      const int64_t first = in.takes->end() + in.types->need - 1;
      arrivals_.add_each(*in.times, in.at, first, in.delay, 0, n_);
    }
    if (waits_.any()) arrivals_.start(n_);
    for (const auto& [k, time] : waits_) {
      if (k < n_) arrivals_.add(k, time);
    }
    for (int c = 0; c < lanes_.credits && credits_count_ > 0; ++c) {
      if (late_[c].any()) add_credits(c);
    }
    solve();
    // Steps are never nearer to each other than they cost.
    const int64_t first = times_[0];
    const int64_t last = times_[static_cast<size_t>(n_) - 1];
    if (lanes_.cost >= 0 && n_ >= TimeLines::kLeastLine && last - first == lanes_.cost * (n_ - 1)) {
      lines_.start(first, lanes_.cost);
      lines_.set(n_);
    } else {
      lines_.clear();
    }
  }
  template <bool kArrivals, bool kCredits, bool kCosts>
  void solve_with() {
    const int64_t* const arrivals = arrivals_.at();
    const int64_t* const credits = credits_.at();
    int64_t free_at = p_.free_at;
    for (int64_t k = 0; k < n_; ++k) {
      int64_t t = free_at;
      if (kArrivals) t = std::max(t, arrivals[k]);
      if (kCredits) {
        ready_[static_cast<size_t>(k)] = t;
        t = std::max(t, credits[k]);
      }
      times_[static_cast<size_t>(k)] = t;
      free_at = t + (kCosts ? lanes_.costs[types_[k]] : lanes_.cost);
    }
  }
  template <bool kArrivals, bool kCredits>
  void solve_with() {
    if (lanes_.cost < 0) return solve_with<kArrivals, kCredits, true>();
    solve_with<kArrivals, kCredits, false>();
  }
  void solve() {
    if (arrivals_.any() && !credits_.any() && lanes_.cost >= 0) {
      return kernels::solve(arrivals_.at(), n_, p_.free_at, lanes_.cost, times_.data());
    }
    if (arrivals_.any()) {
      return credits_.any() ? solve_with<true, true>() : solve_with<true, false>();
    }
    return credits_.any() ? solve_with<false, true>() : solve_with<false, false>();
  }

  int64_t time(int64_t k) const {
    return lines_.any() ? lines_.at(k) : times_[static_cast<size_t>(k)];
  }
  void end_before(int64_t horizon) {
    if (time(n_ - 1) < horizon) return;
    int64_t late = 0;
    if (lines_.any()) {
      late = lines_.first_from(horizon, n_);
    } else {
      late = std::lower_bound(times_.begin(), times_.begin() + n_, horizon) - times_.begin();
    }
    p_.next = time(late);
    cut(late, End::beyond);
  }

  // --- what is done ---

  void take(int i) {
    MixedLanes::In& in = lanes_.in[i];
    if (in.types->all) {
      append_all(*in.takes);
    } else if (in.types->same) {
      append_at(places_[i], *in.takes);
    } else {
      const Places& needs = places_[i];
      const int64_t count = needs.before(n_);
      for (int64_t j = 0; j < count; ++j) {
        if (in.types->taking[types_[needs[j]]] != 0) in.takes->append(time(needs[j]));
      }
    }
  }
  void give(int o) {
    MixedLanes::Out& out = lanes_.out[o];
    if (out.requests != nullptr) {
      const int64_t count = out.types->all ? n_ : given_[o].before(n_);
      for (int64_t j = 0; j < count; ++j) {
        out.requests->give(time(out.types->all ? j : given_[o][j]));
      }
    } else if (out.types->all) {
      append_all(*out.times);
    } else {
      append_at(given_[o], *out.times);
    }
  }
  void append_all(TimeLines& to) const {
    if (lines_.any()) {
      lines_.append_to(to, n_);
    } else {
      to.append(times_.data(), n_);
    }
  }
  void append_at(const Places& places, TimeLines& to) {
    const int64_t count = places.before(n_);
    int64_t* const room = arrivals_.room();
    if (lines_.any()) {
      lines_.at_each(places.at.data(), count, room);
    } else {
      for (int64_t j = 0; j < count; ++j) room[j] = times_[static_cast<size_t>(places[j])];
    }
    to.append(room, count);
  }
  void count() {
    if (p_.first < 0) p_.first = time(0);
    p_.last = time(n_ - 1);
    int64_t busy = n_ * lanes_.cost;
    if (lanes_.cost < 0) {
      busy = 0;
      for (int64_t k = 0; k < n_; ++k) busy += lanes_.costs[types_[k]];
    }
    p_.busy += busy;
    p_.free_at = p_.last + lanes_.costs[types_[n_ - 1]];
    if (!credits_.any()) return;
    int64_t blocked = 0;
    for (int64_t k = 0; k < n_; ++k) {
      blocked += times_[static_cast<size_t>(k)] - ready_[static_cast<size_t>(k)];
    }
    p_.blocked += blocked;
  }

  MixedLanes& lanes_;
  const uint8_t* const types_;
  int64_t n_;
  MixedProgress& p_;
  std::array<bool, MixedLanes::kMost> each_;  // by input: each step may have to wait for a token
  /// Tokens first .. count-1 of an output that may have to wait for credits.
  struct Late {
    int64_t first = 0;
    int64_t count = 0;
    bool any() const { return first < count; }
  };
  std::array<Late, MixedLanes::kMost> late_;  // by credit
  int credits_count_ = 0;                     // of those that have any
  Waits waits_;
  StepLines lines_;
  Bounds arrivals_;
  Bounds credits_;
  Steps times_;
  Steps ready_;                                   // the times without credits
  std::array<Places, MixedLanes::kMost> places_;  // by input: where it takes, or else needs, tokens
  std::array<Places, MixedLanes::kMost> given_;   // by output, where not all give
};

}  // namespace

void MixedIn::add(size_t type, Need what) {
  needs.resize(type + 1);
  needs[type] = what;
  taking.set(type, what.take > 0);
  needing.set(type, what.need > 0);
  if (need == 0) need = what.need;
  same = same && (what.need == need || what.need == 0);
  all = all && what.need > 0 && what.need == need && what.take == 1;
  sparse = sparse && what.need == what.take;
}

void MixedOut::add(size_t type, int32_t count) {
  giving.set(type, count > 0);
  all = all && count == 1;
}

int64_t run_mixed(MixedLanes& lanes, const uint8_t* types, int64_t n, int64_t horizon,
                  MixedProgress& progress) {
  StepBatch batch(lanes, types, n, progress);
  return batch.run(horizon);
}

}  // namespace fuseflow::engine
