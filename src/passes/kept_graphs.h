// What becomes of the graphs that regions have when a pass changes their regions: for run_pass
// (pass.h), so that no pass has a rule of its own, and for lists of what a pass may change.
#pragma once

#include <string>
#include <string_view>

#include "ir/program.h"
#include "passes/pass.h"

namespace fuseflow {

struct GraphRules {
  std::string_view pass;
  bool requested = false;  ///< the pass was asked to change something that was named
};

/// Why a pass that is asked to change a region refuses to: lowering would not give the graph that
/// the region has. Empty: it would, or there is none.
std::string why_graph_stays(const Program& program, size_t region);

/// The program without its graphs (of regions that have statements) and their plans, each
/// with a note.
Program without_graphs_given(Program program, PassLog& log);

/// `after` is what the pass made of `before`. Gives regions back their graphs, or throws
/// Error(rejected), or drops them, each with a note (pass.h, run_pass).
Program with_kept_graphs(const Program& before, Program after, const GraphRules& rules,
                         PassLog& log);

}  // namespace fuseflow
