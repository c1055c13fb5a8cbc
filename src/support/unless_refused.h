// Who tries several ways goes on where one is refused (a program that cannot be lowered, a pass
// that does not apply). A Defect and Stopped are no Errors, so they end the search.
#pragma once

#include <string>

#include "support/error.h"

namespace fuseflow {

/// What `attempt` gives; where it throws an Error, an empty value of that type, and the text of
/// the Error in `why`, if there is one.
template <typename Try>
auto unless_refused(const Try& attempt, std::string* why = nullptr) -> decltype(attempt()) {
  try {
    return attempt();
  } catch (const Error& error) {
    if (why != nullptr) *why = error.what();
    return decltype(attempt())();
  }
}

}  // namespace fuseflow
