// The forms that the joins of a loop can have, and lines of schedules that give them.
#pragma once

#include <string>
#include <vector>

#include "lower/join_places.h"

namespace fuseflow {

/// The indices of these places, each once.
std::vector<std::string> joined_indices(const std::vector<JoinPlace>& places);

/// What else the line of an index could say: merge, words where there are bit vectors, gallop where
/// there are compressed levels, and which levels of one place are located (all sets of up to three,
/// else one, or all but one), beside what is located elsewhere now.
std::vector<Join> other_forms(const std::vector<JoinPlace>& places, const Join& now);

/// The line of an index; merge, where there is none.
Join join_of(const Schedule& schedule, const std::string& index);

/// Instead of the line that the index had; merge has none.
void set_join(Schedule& schedule, const Join& join);

/// What is joined at the places of one loop: "%a, %b; %a, a stream".
std::string joined_text(const Program& program, const std::vector<JoinPlace>& places);

/// "nothing", or "%a, %b at j; %c at k".
std::string places_text(const Program& program, const std::vector<JoinPlace>& places);

}  // namespace fuseflow
