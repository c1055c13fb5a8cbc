// Phases that were lowered before, by what they are lowered from: for all who lower regions of one
// program, one after another, in one thread.
#pragma once

#include <memory>
#include <unordered_map>
#include <utility>

#include "lower/hash_numbers.h"
#include "lower/phase.h"

namespace fuseflow {

class KnownPhases {
 public:
  /// Null if there is none.
  std::shared_ptr<LoweredPhase> find(const PhaseForm& form) const {
    const auto found = phases_.find(form);
    return found == phases_.end() ? nullptr : found->second;
  }

  void keep(PhaseForm form, std::shared_ptr<LoweredPhase> phase) {
    nodes_ += phase->plain.graph.nodes.size();
    if (nodes_ > kMostNodes) {
      phases_.clear();
      nodes_ = phase->plain.graph.nodes.size();
    }
    phases_.emplace(std::move(form), std::move(phase));
  }

  size_t size() const { return phases_.size(); }

 private:
  /// A node takes about a kilobyte, with its streams, form, and copy among buffers.
  static constexpr size_t kMostNodes = 100'000;

  struct Hash {
    size_t operator()(const PhaseForm& form) const { return hash_of(form); }
  };

  std::unordered_map<PhaseForm, std::shared_ptr<LoweredPhase>, Hash> phases_;
  size_t nodes_ = 0;
};

}  // namespace fuseflow
