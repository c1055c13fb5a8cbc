#include "sim/engine/mixed_steps.h"

#include <algorithm>
#include <array>

namespace fuseflow::engine {

namespace {

constexpr int64_t kNever = INT64_MIN / 4;
using Steps = std::array<int64_t, kMostMixedSteps>;
using End = MixedProgress::End;

/// Steps at which something happens at a port, one after the other.
struct Places {
  // Nothing is set before find(): most ports need no places.
  std::array<uint16_t, kMostMixedSteps + kernels::kPlacesSlack> at;
  int64_t count;

  void find(const kernels::TypeSet& set, const uint8_t* types, int64_t n) {
    count = kernels::places_of(set, types, n, at.data());
  }
  int64_t operator[](int64_t j) const { return at[static_cast<size_t>(j)]; }
  /// Of those before step `end`.
  int64_t before(int64_t end) const {
    if (count == 0 || (*this)[count - 1] < end) return count;
    return std::lower_bound(at.begin(), at.begin() + count, end) - at.begin();
  }
};

/// The pieces of a ring: calls part(first of the piece, its place in the ring, how many).
template <typename Part>
void in_pieces(size_t mask, int64_t index, int64_t n, Part&& part) {
  for (int64_t k = 0; k < n;) {
    const size_t at = static_cast<size_t>(index + k) & mask;
    const int64_t count = std::min(n - k, static_cast<int64_t>(mask + 1 - at));
    part(k, at, count);
    k += count;
  }
}

/// Earliest times of steps, as far as some port sets them.
class Bounds {
 public:
  bool any() const { return any_; }
  const int64_t* at() const { return at_.data(); }
  /// Steps first .. n-1 are no earlier than the times of a ring from `index` on (that of step 0).
  void add_each(const int64_t* ring, size_t mask, int64_t index, int64_t plus, int64_t first,
                int64_t n) {
    const bool fresh = !any_ && first == 0;
    if (!fresh) start(n);
    any_ = true;
    int64_t* const all = at_.data() + first;
    in_pieces(mask, index + first, n - first, [&](int64_t k, size_t at, int64_t count) {
      const int64_t* from = ring + at;
      int64_t* to = all + k;
      if (fresh) {
        for (int64_t i = 0; i < count; ++i) to[i] = from[i] + plus;
      } else {
        kernels::raise(to, from, plus, count);
      }
    });
  }
  /// For single steps of the n.
  void start(int64_t n) {
    if (!any_) std::fill_n(at_.data(), n, kNever);
    any_ = true;
  }
  void add(int64_t k, int64_t time) {
    int64_t& bound = at_[static_cast<size_t>(k)];
    bound = std::max(bound, time);
  }

 private:
  Steps at_;
  bool any_ = false;
};

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
    for (int c = 0; c < lanes_.credits && n_ > 0; ++c) wait_for(lanes_.credit[c]);
    if (n_ == 0) return 0;
    solve();
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

  void wait_for(int i) {
    const MixedLanes::In& in = lanes_.in[i];
    const MixedIn& types = *in.types;
    if (types.all) return wait_for_each(in);
    places_[i].find(types.same ? types.taking : types.needing, types_, n_);
    if (!types.same) return wait_at_needs(in, places_[i]);
    types.sparse ? wait_at_takes(in, places_[i]) : wait_behind_takes(in, places_[i]);
  }
  void wait_for_each(const MixedLanes::In& in) {
    const int64_t ahead = in.types->need - 1;
    cut(in.known - in.taken - ahead, End::waits);
    if (n_ <= 0 || arrival(in, ahead + n_ - 1) <= p_.free_at) return;
    arrivals_.add_each(in.times, in.mask, in.taken + ahead, in.delay, 0, n_);
  }
  /// Every step that takes waits for what it takes.
  void wait_at_takes(const MixedLanes::In& in, const Places& takes) {
    const int64_t held = in.known - in.taken;
    int64_t count = takes.count;
    if (count > held) {
      cut(takes[held], End::waits);
      count = held;
    }
    if (count == 0 || arrival(in, count - 1) <= p_.free_at) return;
    arrivals_.start(n_);
    for (int64_t j = 0; j < count; ++j) arrivals_.add(takes[j], arrival(in, j));
  }
  /// What is there for a step is there for those behind it, until one takes.
  void wait_behind_takes(const MixedLanes::In& in, const Places& takes) {
    const int64_t ahead = in.types->need - 1;
    const int64_t held = in.known - in.taken - ahead;
    const int64_t count = std::min(takes.count, held - 1);
    if (takes.count >= held) {
      cut(first_need(in, held <= 0 ? 0 : takes[held - 1] + 1), End::waits);
      if (held <= 0) return;
    }
    if (arrival(in, ahead + count) <= p_.free_at) return;
    arrivals_.start(n_);
    for (int64_t j = 0; j <= count; ++j) {
      const int64_t k = first_need(in, j == 0 ? 0 : takes[j - 1] + 1);
      if (k < n_) arrivals_.add(k, arrival(in, ahead + j));
    }
  }
  /// The first step from k on that needs something.
  int64_t first_need(const MixedLanes::In& in, int64_t k) const {
    while (k < n_ && in.types->needing[types_[k]] == 0) ++k;
    return k;
  }
  void wait_at_needs(const MixedLanes::In& in, const Places& needs) {
    const int64_t held = in.known - in.taken;
    const int64_t most = n_ + kMostAhead;
    if (held > most && arrival(in, most) <= p_.free_at) return;
    arrivals_.start(n_);
    int64_t taken = 0;
    for (int64_t j = 0; j < needs.count; ++j) {
      const MixedIn::Need need = in.types->needs[types_[needs[j]]];
      if (taken + need.need > held) return cut(needs[j], End::waits);
      arrivals_.add(needs[j], arrival(in, taken + need.need - 1));
      taken += need.take;
    }
  }
  static int64_t arrival(const MixedLanes::In& in, int64_t ahead) {
    return in.times[static_cast<size_t>(in.taken + ahead) & in.mask] + in.delay;
  }

  void wait_for(const MixedLanes::Credit& credit) {
    const bool all = lanes_.out[credit.out].types->all;
    const Places& places = given_[credit.out];
    const int64_t room = credit.taken - credit.index;
    int64_t count = all ? n_ : places.count;
    if (count > room) {
      cut(all ? room : places[room], End::waits);
      count = room;
    }
    const int64_t first = std::max<int64_t>(0, -credit.index);  // that has to wait at all
    const auto back = [&](int64_t j) {
      return credit.takes[static_cast<size_t>(credit.index + j) & credit.mask] + 1;
    };
    if (count <= first || n_ == 0 || back(count - 1) <= p_.free_at) return;
    if (all) return credits_.add_each(credit.takes, credit.mask, credit.index, 1, first, n_);
    credits_.start(n_);
    for (int64_t j = first; j < count; ++j) credits_.add(places[j], back(j));
  }

  // --- when ---

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
  void end_before(int64_t horizon) {
    if (times_[static_cast<size_t>(n_) - 1] < horizon) return;
    const auto end = times_.begin() + n_;
    const auto late = std::lower_bound(times_.begin(), end, horizon);
    p_.next = *late;
    cut(late - times_.begin(), End::beyond);
  }

  // --- what is done ---

  void take(int i) {
    MixedLanes::In& in = lanes_.in[i];
    if (in.types->all) {
      copy_times(in.takes, in.take_mask, in.taken, n_);
      in.taken += n_;
    } else if (in.types->same) {
      in.taken += copy_places(places_[i], in.takes, in.take_mask, in.taken);
    } else {
      const Places& needs = places_[i];
      const int64_t count = needs.before(n_);
      int64_t taken = in.taken;
      for (int64_t j = 0; j < count; ++j) {
        in.takes[static_cast<size_t>(taken) & in.take_mask] = times_[static_cast<size_t>(needs[j])];
        taken += in.types->taking[types_[needs[j]]];
      }
      in.taken = taken;
    }
  }
  void give(int o) {
    MixedLanes::Out& out = lanes_.out[o];
    if (out.requests != nullptr) {
      const int64_t count = out.types->all ? n_ : given_[o].before(n_);
      for (int64_t j = 0; j < count; ++j) {
        out.requests->give(times_[static_cast<size_t>(out.types->all ? j : given_[o][j])]);
      }
    } else if (out.types->all) {
      copy_times(out.times, out.mask, out.given, n_);
      out.given += n_;
    } else {
      out.given += copy_places(given_[o], out.times, out.mask, out.given);
    }
  }
  void copy_times(int64_t* ring, size_t mask, int64_t index, int64_t n) {
    in_pieces(mask, index, n, [&](int64_t k, size_t at, int64_t count) {
      std::copy_n(times_.data() + k, count, ring + at);
    });
  }
  int64_t copy_places(const Places& places, int64_t* ring, size_t mask, int64_t index) {
    const int64_t count = places.before(n_);
    for (int64_t j = 0; j < count; ++j) {
      ring[static_cast<size_t>(index + j) & mask] = times_[static_cast<size_t>(places[j])];
    }
    return count;
  }
  void count() {
    if (p_.first < 0) p_.first = times_[0];
    p_.last = times_[static_cast<size_t>(n_) - 1];
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
