// Gives loops of random programs forms of joins: located levels, words of bit vectors.
#pragma once

#include "lower/lower.h"
#include "passes/join_forms.h"
#include "tensor/random.h"

namespace fuseflow::testing {

/// Every other joined loop of a region gets one of its forms, whatever it costs.
inline void add_joins(Program& program, size_t region, uint64_t seed) {
  Random random(seed + region, 85);
  Schedule& schedule = program.regions[region].schedule;
  const std::vector<JoinPlace> places = lower_region_traced(program, region).join_places;
  for (const std::string& index : joined_indices(places)) {
    const std::vector<Join> forms = other_forms(places, join_of(schedule, index));
    if (forms.empty() || random.uniform() < 0.5) continue;
    set_join(schedule, forms[random.below(forms.size())]);
  }
}

}  // namespace fuseflow::testing
