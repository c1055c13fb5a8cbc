// What main() is of every program here: its body, on a stack that is deep enough, and a message for
// an exception that nothing caught. Nothing else.
#pragma once

#include <cstdio>
#include <exception>

#include "support/error.h"

namespace fuseflow {

/// The status of `body`. Tools map their errors to statuses themselves (support/tool.h); what
/// escapes them, e.g. while the options are declared, is a defect: ExitCode::internal.
int guarded_main(int argc, char** argv, int (*body)(int, char**)) noexcept;

}  // namespace fuseflow
