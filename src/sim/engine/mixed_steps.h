// The recurrence of steps that need, take and give one token a port at most: port by port over many
// steps, so that only the maxima depend on each other. Pure loops; replay.h knows what they mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/engine/fifo.h"
#include "sim/engine/step_kernels.h"

namespace fuseflow::engine {

/// What the types do at an input.
struct MixedIn {
  struct Need {
    int32_t need = 0;  ///< tokens that must be known; the last of them is waited for
    int32_t take = 0;
  };
  std::vector<Need> needs;  ///< by type
  kernels::TypeSet taking;
  kernels::TypeSet needing;
  // Whether, as far as types that can be done in batches have been added,
  bool all = true;     ///< each takes a token, and needs as many
  bool same = true;    ///< each that needs tokens needs as many
  bool sparse = true;  ///< each needs only what it takes
  int32_t need = 0;    ///< of the first that needs any

  void add(size_t type, Need what);
};

/// What the types do at an output.
struct MixedOut {
  kernels::TypeSet giving;
  bool all = true;  ///< each gives a token

  void add(size_t type, int32_t count);
};

struct MixedLanes {
  static constexpr int kMost = 8;
  struct In {
    const MixedIn* types;
    const TimeLines* times;
    TimeLines::Cursor at;  ///< near the next token to be taken
    int64_t delay;
    TimeLines* takes;
  };
  struct Out {
    const MixedOut* types;
    Gives* requests;  ///< null: not memory
    TimeLines* times;
  };
  /// A consumer whose room an output has to wait for.
  struct Credit {
    size_t out;
    int64_t index;  ///< the take that the next token waits for; below 0: none
    const TimeLines* takes;
    TimeLines::Cursor at;  ///< near it
  };
  In in[kMost];
  Out out[kMost];
  Credit credit[kMost];
  int ins = 0;
  int outs = 0;
  int credits = 0;
  const kernels::TypeSet* special =
      nullptr;                     ///< types that are none of these; null: there are none
  const int32_t* costs = nullptr;  ///< by type
  int32_t cost = -1;               ///< of all types; below 0: they differ
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

constexpr int64_t kMostMixedSteps = 1024;  ///< done at once
constexpr int64_t kMostAhead = 4;          ///< tokens needed

/// Does up to n steps of the types listed before the horizon; how many.
int64_t run_mixed(MixedLanes& lanes, const uint8_t* types, int64_t n, int64_t horizon,
                  MixedProgress& progress);

}  // namespace fuseflow::engine
