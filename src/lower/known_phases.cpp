#include "lower/known_phases.h"

#include <utility>

#include "lower/phase_region.h"

namespace fuseflow {

namespace {

/// Of phases that are kept. A node takes about a kilobyte, with its streams, its share of forms,
/// and its copy among buffers.
constexpr size_t kMostNodes = 100'000;

}  // namespace

std::shared_ptr<LoweredPhase> KnownPhases::lowered(const PhaseContext& context,
                                                   const std::vector<PhaseRoot>& roots,
                                                   const PhaseNames& names, PhaseForms& forms) {
  PhaseForm form = forms.form_of(roots, names);
  const auto found = lowered_.find(form);
  if (found != lowered_.end()) return found->second;
  auto phase = std::make_shared<LoweredPhase>(lower_phase(context, roots, names));
  nodes_ += phase->plain.graph.nodes.size();
  if (nodes_ > kMostNodes) {
    lowered_.clear();
    regions_.clear();
    nodes_ = phase->plain.graph.nodes.size();
  }
  lowered_.emplace(std::move(form), phase);
  return phase;
}

std::shared_ptr<PhaseRegion> KnownPhases::find(const PhaseForm& form) const {
  const auto found = regions_.find(form);
  return found == regions_.end() ? nullptr : found->second;
}

void KnownPhases::keep(PhaseForm form, std::shared_ptr<PhaseRegion> region) {
  regions_.emplace(std::move(form), std::move(region));
}

}  // namespace fuseflow
