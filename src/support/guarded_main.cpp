#include "support/guarded_main.h"

#include <cstdio>
#include <exception>

#include "support/error.h"
#include "support/stack.h"
#include "support/standard_streams.h"
#include "support/text.h"

namespace fuseflow {
namespace {

int (*guarded)(int, char**) = nullptr;

/// Nothing may be thrown through the change of stacks.
int caught(int argc, char** argv) noexcept {
  try {
    return guarded(argc, argv);
  } catch (const std::exception& bug) {
    std::fprintf(stderr, "internal error: %s\n", printable(bug.what()).c_str());
  } catch (...) {
    std::fputs("internal error: an exception of no known type\n", stderr);
  }
  return static_cast<int>(ExitCode::internal);
}

}  // namespace

int guarded_main(int argc, char** argv, int (*body)(int, char**)) noexcept {
  open_missing_streams();
  guarded = body;
  return on_enough_stack(argc, argv, caught);
}

}  // namespace fuseflow
