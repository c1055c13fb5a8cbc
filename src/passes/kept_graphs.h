// What becomes of the graphs that regions have when a pass changes their regions. For run_pass
// (pass.h) alone, so that no pass has a rule of its own.
#pragma once

#include <string_view>

#include "ir/program.h"
#include "passes/pass.h"

namespace fuseflow {

struct GraphRules {
  std::string_view pass;
  bool requested = false;  ///< the pass was asked to change something that was named
};

/// The program without its graphs (of regions that have statements) and their plans, each
/// with a note.
Program without_graphs_given(Program program, PassLog& log);

/// `after` is what the pass made of `before`. Gives regions back their graphs, or throws
/// Error(rejected), or drops them, each with a note (pass.h, run_pass).
Program with_kept_graphs(const Program& before, Program after, const GraphRules& rules,
                         PassLog& log);

}  // namespace fuseflow
