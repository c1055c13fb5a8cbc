// What a node's steps need, take and give, as data: left behind by the functional pass where FIFOs
// are bounded or memory takes time, and solved with credits by replay.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sim/engine/type_bytes.h"

namespace fuseflow::engine {

/// One kind of step of a node.
struct StepType {
  struct Need {
    uint16_t port = 0;
    uint32_t need = 1;  ///< tokens that must have arrived
    uint32_t take = 1;  ///< tokens taken
  };
  struct Give {
    uint16_t output = 0;
    uint16_t count = 1;
  };
  std::vector<Need> needs;
  std::vector<Give> gives;
  int64_t cost = 1;

  /// Adds what a port needs and takes; nothing if it needs nothing.
  void need(size_t port, int64_t count, int64_t take) {
    if (count > 0) {
      needs.push_back(
          {static_cast<uint16_t>(port), static_cast<uint32_t>(count), static_cast<uint32_t>(take)});
    }
  }
  void give(size_t output, int64_t count = 1) {
    if (count > 0) {
      gives.push_back({static_cast<uint16_t>(output), static_cast<uint16_t>(count)});
    }
  }
};

/// `count` steps of one type; or of kMixed, whose types are bytes of their own.
struct StepRun {
  static constexpr uint32_t kMixed = UINT32_MAX;
  uint32_t type = 0;
  uint32_t count = 0;
};

/// The steps of a node in order. Types are made when first met, by a code that the node chooses.
class StepLog {
 public:
  bool wanted = false;
  std::vector<StepType> types;
  std::vector<StepRun> runs;  ///< not fetched yet
  TypeBytes mixed;            ///< types of the steps of mixed runs
  size_t gate_port = 0;       ///< the input from which gate() takes

  /// The next step also needs and takes so many tokens of the port `gate_port`.
  void gate(uint32_t tokens) { gate_ += tokens; }
  template <typename Make>
  void add(uint32_t code, uint32_t count, Make&& make) {
    if (count == 0) return;
    if (gate_ > 0) {
      add_gated(code, make);
      if (--count == 0) return;
    }
    put(type_of(code, make), count);
  }
  /// The type of a code, for steps put one by one.
  template <typename Make>
  uint32_t type_of(uint32_t code, Make&& make) {
    Known& known = known_[code * kSpread >> (32 - kKnownBits)];
    if (known.type != kNone && known.code == code) return known.type;
    auto [it, fresh] = by_code_.try_emplace(code, static_cast<uint32_t>(types.size()));
    if (fresh) make(types.emplace_back());
    known = {code, it->second};
    return it->second;
  }
  /// `count` steps of a type.
  void put(uint32_t type, uint32_t count) {
    const bool follows = !runs.empty() && runs.back().count < UINT32_MAX / 2;
    if (follows && runs.back().type == type) {
      runs.back().count += count;
    } else if (count < TypeBytes::kShort && type < kMostMixed) {
      if (!follows || runs.back().type != StepRun::kMixed) runs.push_back({StepRun::kMixed, 0});
      runs.back().count += count;
      mixed.put(static_cast<uint8_t>(type), count);
    } else {
      runs.push_back({type, count});
    }
  }
  /// Room for `count` single steps whose types the caller writes; all are below kMostMixed.
  uint8_t* put_mixed(uint32_t count) {
    const bool follows =
        !runs.empty() && runs.back().type == StepRun::kMixed && runs.back().count < UINT32_MAX / 2;
    if (!follows) runs.push_back({StepRun::kMixed, 0});
    runs.back().count += count;
    return mixed.extend(count);
  }
  /// Fewer were written: the last `count` are no steps.
  void take_back_mixed(uint32_t count) {
    runs.back().count -= count;
    mixed.drop_back(count);
  }
  /// What the steps take of the host's memory.
  size_t bytes() const { return runs.size() * sizeof(StepRun) + mixed.size(); }

  static constexpr uint32_t kMostMixed = 256;

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr int kKnownBits = 6;
  static constexpr uint32_t kSpread = 2654435769U;
  struct Known {
    uint32_t code = 0;
    uint32_t type = kNone;
  };

  template <typename Make>
  void add_gated(uint32_t code, Make&& make) {
    auto [gated, made] = gated_.try_emplace({code, gate_}, static_cast<uint32_t>(types.size()));
    if (made) {
      make(types.emplace_back());
      types.back().need(gate_port, gate_, gate_);
    }
    runs.push_back({gated->second, 1});
    gate_ = 0;
  }

  uint32_t gate_ = 0;
  std::array<Known, 1U << kKnownBits> known_{};  // of by_code_: those asked for last
  std::map<uint32_t, uint32_t> by_code_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> gated_;
};

}  // namespace fuseflow::engine
