// How deep a tool may nest calls, whatever `ulimit -s` says. Nothing else.
#pragma once

namespace fuseflow {

/// body(argc, argv), which throws nothing, on a stack of at least 8 MiB: nested input is refused by
/// its depth, which is chosen for that, and not by a crash. Where the limit of this process is
/// lower and cannot be raised, the stack is memory of its own.
int on_enough_stack(int argc, char** argv, int (*body)(int, char**));

}  // namespace fuseflow
