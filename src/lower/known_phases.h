// Phases that were lowered before, by what they are lowered from: for all who lower regions of one
// program, one after another, in one thread. What is known makes no difference but to time.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "lower/hash_numbers.h"
#include "lower/phase.h"

namespace fuseflow {

class PhaseRegion;

class KnownPhases {
 public:
  /// A phase of a region that was analysed, lowered before or now. Throws what lower_phase()
  /// throws.
  std::shared_ptr<LoweredPhase> lowered(const PhaseContext& context,
                                        const std::vector<PhaseRoot>& roots,
                                        const PhaseNames& names, PhaseForms& forms);

  /// A phase as a region of its own; null if there is none of its form.
  std::shared_ptr<PhaseRegion> find(const PhaseForm& form) const;
  void keep(PhaseForm form, std::shared_ptr<PhaseRegion> region);

  /// Of different forms, that were lowered.
  size_t size() const { return lowered_.size(); }

 private:
  struct Hash {
    size_t operator()(const PhaseForm& form) const { return hash_of(form); }
  };
  template <typename T>
  using ByForm = std::unordered_map<PhaseForm, std::shared_ptr<T>, Hash>;

  ByForm<LoweredPhase> lowered_;
  ByForm<PhaseRegion> regions_;
  size_t nodes_ = 0;  ///< of lowered_
};

}  // namespace fuseflow
