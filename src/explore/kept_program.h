// Programs that a search plans before it simulates anything: its journal keeps them, so that a
// resumed search does not plan them again.
#pragma once

#include <functional>
#include <string>

#include "explore/record.h"
#include "ir/program.h"

namespace fuseflow {

/// What `plan` makes of `from`: what it made before where the journal has that, by the name and the
/// text of `from`. What `plan` throws is not kept.
Program kept_program(Record& record, const std::string& name, const Program& from,
                     const std::function<Program()>& plan);

}  // namespace fuseflow
