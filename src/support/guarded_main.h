// What main() is of every program here: three open standard streams, its body, and a message for an
// exception that nothing caught. Nothing else.
#pragma once

#include <cstdio>
#include <exception>

#include "support/error.h"
#include "support/standard_streams.h"
#include "support/text.h"

namespace fuseflow {

/// The status of `body`. Tools map their errors to statuses themselves (tools/shell/tool.h); what
/// escapes them, e.g. while the options are declared, is a defect: ExitCode::internal.
inline int guarded_main(int argc, char** argv, int (*body)(int, char**)) noexcept {
  open_missing_streams();
  try {
    return body(argc, argv);
  } catch (const std::exception& bug) {
    std::fprintf(stderr, "internal error: %s\n", printable(bug.what()).c_str());
  } catch (...) {
    std::fputs("internal error: an exception of no known type\n", stderr);
  }
  return static_cast<int>(ExitCode::internal);
}

}  // namespace fuseflow
