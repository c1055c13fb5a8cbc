// What a node's steps need, take and give, as data: left behind by the functional pass where FIFOs
// are bounded, and solved with credits by replay.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

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
      needs.push_back({static_cast<uint16_t>(port), static_cast<uint32_t>(count),
                       static_cast<uint32_t>(take)});
    }
  }
  void give(size_t output, int64_t count = 1) {
    if (count > 0) {
      gives.push_back({static_cast<uint16_t>(output), static_cast<uint16_t>(count)});
    }
  }
};

/// `count` steps of one type.
struct StepRun {
  uint32_t type = 0;
  uint32_t count = 0;
};

/// The steps of a node in order. Types are made when first met, by a code that the node chooses.
class StepLog {
 public:
  bool wanted = false;
  std::vector<StepType> types;
  std::vector<StepRun> runs;  ///< not fetched yet
  size_t gate_port = 0;       ///< the input from which gate() takes

  /// The next step also needs and takes so many tokens of the port `gate_port`.
  void gate(uint32_t tokens) { gate_ += tokens; }
  template <typename Make>
  void add(uint32_t code, uint32_t count, Make&& make) {
    if (count == 0) return;
    if (gate_ > 0) {
      auto [gated, made] =
          gated_.try_emplace({code, gate_}, static_cast<uint32_t>(types.size()));
      if (made) {
        make(types.emplace_back());
        types.back().need(gate_port, gate_, gate_);
      }
      runs.push_back({gated->second, 1});
      gate_ = 0;
      if (--count == 0) return;
    }
    auto [it, fresh] = by_code_.try_emplace(code, static_cast<uint32_t>(types.size()));
    if (fresh) make(types.emplace_back());
    if (!runs.empty() && runs.back().type == it->second && runs.back().count < UINT32_MAX / 2) {
      runs.back().count += count;
    } else {
      runs.push_back({it->second, count});
    }
  }

 private:
  uint32_t gate_ = 0;
  std::map<uint32_t, uint32_t> by_code_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> gated_;
};

}  // namespace fuseflow::engine
