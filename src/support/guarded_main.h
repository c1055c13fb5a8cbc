// What main() is of every program here: three open standard streams, its body on a stack that is
// deep enough, and a message for an exception that nothing caught. Nothing else.
#pragma once

namespace fuseflow {

/// The status of `body`. Tools map their errors to statuses themselves (tools/shell/tool.h); what
/// escapes them, e.g. while the options are declared, is a defect: ExitCode::internal.
int guarded_main(int argc, char** argv, int (*body)(int, char**)) noexcept;

}  // namespace fuseflow
