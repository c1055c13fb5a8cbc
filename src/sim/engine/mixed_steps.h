// The recurrence of steps of mixed types, that need, take and give one token a port at most. Beside
// recurrence.h, which is for many steps of one type. Pure loops; replay.h knows what they mean.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "sim/engine/fifo.h"

namespace fuseflow::engine {

/// What a step of some type does at an input.
struct MixedNeed {
  int64_t bias = 0;   ///< added to the token's time: the latency; if nothing is needed, no time overcomes it
  int32_t need = 0;   ///< tokens that must be known
  int32_t ahead = 0;  ///< the token waited for, from the next one on
  int32_t take = 0;
};

struct MixedLanes {
  static constexpr int kMost = 8;
  struct In {
    const int64_t* times;
    size_t mask;
    int64_t known;
    int64_t* takes;
    size_t take_mask;
    int64_t taken;
  };
  struct Out {
    Gives* requests;  ///< null: not memory
    int64_t* times;
    size_t mask;
    int64_t given;
  };
  /// A consumer whose room an output has to wait for.
  struct Credit {
    size_t out;
    int64_t index;  ///< the take that the next token waits for; below 0: none
    const int64_t* takes;
    size_t mask;
    int64_t taken;
  };
  In in[kMost];
  Out out[kMost];
  Credit credit[kMost];
  int ins = 0;
  int outs = 0;
  int credits = 0;
  // By type, and place in `in` or `out`.
  const MixedNeed* needs = nullptr;
  const int32_t* gives = nullptr;
  const int32_t* costs = nullptr;  ///< kSpecial: the type is none of these
  static constexpr int32_t kSpecial = -1;
};

struct MixedProgress {
  enum class End : uint8_t { none, waits, beyond, special };
  End end = End::none;
  int64_t free_at = 0;
  int64_t last = -1;
  int64_t first = -1;
  int64_t blocked = 0;
  int64_t busy = 0;
  int64_t next = 0;  ///< time of the step that is not before the horizon
};

/// Does up to n steps of the types listed (all of `type` if null) before the horizon; how many. kIns,
/// kOuts, kCredits: numbers of lanes known at compile time, or -1. kEarly: no arrival can bind.
template <int kIns, int kOuts, int kCredits, bool kEarly>
int64_t run_mixed(MixedLanes& lanes, const uint8_t* types, size_t type, int64_t n, int64_t horizon,
                  MixedProgress& progress) {
  constexpr auto room = [](int count) { return count > 0 ? count : count == 0 ? 1 : MixedLanes::kMost; };
  const int ins = kIns >= 0 ? kIns : lanes.ins;
  const int outs = kOuts >= 0 ? kOuts : lanes.outs;
  const int credits = kCredits >= 0 ? kCredits : lanes.credits;
  // Copies, that no store of a time can change.
  MixedProgress p = progress;
  MixedLanes::In lane_in[room(kIns)];
  MixedLanes::Out lane_out[room(kOuts)];
  MixedLanes::Credit lane_credit[room(kCredits)];
  std::copy_n(lanes.in, ins, lane_in);
  std::copy_n(lanes.out, outs, lane_out);
  std::copy_n(lanes.credit, credits, lane_credit);
  const int32_t* const costs = lanes.costs;
  const MixedNeed* const all_needs = lanes.needs;
  const int32_t* const all_gives = lanes.gives;
  int64_t k = 0;
  for (; k < n; ++k) {
    if (types != nullptr) type = types[k];
    const int32_t cost = costs[type];
    if (cost == MixedLanes::kSpecial) {
      p.end = MixedProgress::End::special;
      break;
    }
    const MixedNeed* needs = all_needs + type * static_cast<size_t>(ins);
    const int32_t* gives = all_gives + type * static_cast<size_t>(outs);
    int64_t ready = p.free_at;
    bool here = true;
    for (int i = 0; !kEarly && i < ins; ++i) {
      const MixedLanes::In& in = lane_in[i];
      here = here & (in.taken + needs[i].need <= in.known);
      ready = std::max(ready, in.times[static_cast<size_t>(in.taken + needs[i].ahead) & in.mask] +
                                  needs[i].bias);
    }
    int64_t t = ready;
    for (int c = 0; c < credits; ++c) {
      const MixedLanes::Credit& credit = lane_credit[c];
      if (gives[credit.out] == 0 || credit.index < 0) continue;
      here = here & (credit.index < credit.taken);
      t = std::max(t, credit.takes[static_cast<size_t>(credit.index) & credit.mask] + 1);
    }
    if (!here || t >= horizon) {
      p.end = here ? MixedProgress::End::beyond : MixedProgress::End::waits;
      p.next = t;
      break;
    }
    for (int i = 0; i < ins; ++i) {
      MixedLanes::In& in = lane_in[i];
      in.takes[static_cast<size_t>(in.taken) & in.take_mask] = t;
      in.taken += needs[i].take;
    }
    for (int o = 0; o < outs; ++o) {
      MixedLanes::Out& out = lane_out[o];
      if (out.requests == nullptr) {
        out.times[static_cast<size_t>(out.given) & out.mask] = t;
      } else if (gives[o] != 0) {
        out.requests->give(t);
      }
      out.given += gives[o];
    }
    for (int c = 0; c < credits; ++c) lane_credit[c].index += gives[lane_credit[c].out];
    p.blocked += t - ready;
    if (k == 0 && p.first < 0) p.first = t;
    p.last = t;
    p.free_at = t + cost;
    p.busy += cost;
  }
  for (int i = 0; i < ins; ++i) lanes.in[i].taken = lane_in[i].taken;
  for (int o = 0; o < outs; ++o) lanes.out[o].given = lane_out[o].given;
  progress = p;
  return k;
}

/// The same with the specialisation that fits.
int64_t run_mixed_of(MixedLanes& lanes, bool early, const uint8_t* types, size_t type, int64_t n,
                     int64_t horizon, MixedProgress& progress);

}  // namespace fuseflow::engine
