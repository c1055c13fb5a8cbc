// Who tries several ways goes on where one is refused (a program that cannot be lowered, a pass
// that does not apply), yet not where FuseFlow has a defect.
#pragma once

#include <string>

#include "support/error.h"

namespace fuseflow {

/// What `attempt` gives; where it throws an Error that is no defect, an empty value of that type,
/// and the text of the Error in `why`, if there is one.
template <typename Try>
auto unless_refused(const Try& attempt, std::string* why = nullptr) -> decltype(attempt()) {
  try {
    return attempt();
  } catch (const Error& error) {
    if (error.code() == ExitCode::internal) throw;
    if (why != nullptr) *why = error.what();
    return decltype(attempt())();
  }
}

}  // namespace fuseflow
