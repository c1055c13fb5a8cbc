#include "passes/kept_graphs.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "graph/fingerprint.h"
#include "ir/names.h"
#include "lower/lower.h"
#include "support/error.h"
#include "support/unless_refused.h"

namespace fuseflow {

namespace {

std::set<TensorId> results_of(const Region& region) {
  std::set<TensorId> results;
  for (const Statement& s : region.statements) results.insert(s.result);
  return results;
}

/// Tensors that a region's statements or graph name.
std::set<TensorId> tensors_of(const Region& region) {
  std::set<TensorId> tensors = results_of(region);
  for (const Statement& s : region.statements) {
    for (const Expr& expr : s.nodes) {
      if (expr.kind == Expr::Kind::access) tensors.insert(expr.tensor);
    }
  }
  if (!region.graph) return tensors;
  for (const Node& node : region.graph->nodes) {
    for_tensors(node, [&](TensorId tensor) { tensors.insert(tensor); });
  }
  return tensors;
}

std::optional<uint64_t> lowered_fingerprint(const Program& program, size_t r) {
  return unless_refused(
      [&] { return std::optional<uint64_t>(fingerprint(lower_region(program, r))); });
}

class GraphKeeper {
 public:
  GraphKeeper(const Program& before, Program after, const GraphRules& rules, PassLog& log)
      : before_(before), after_(std::move(after)), rules_(rules), log_(log) {}

  Program run() {
    for (size_t r = 0; r < before_.regions.size(); ++r) {
      if (before_.regions[r].graph) answer_for(r);
    }
    return std::move(after_);
  }

 private:
  void answer_for(size_t r) {
    const Region& old = before_.regions[r];
    Region* same = successor(old);
    if (same != nullptr && same->graph && fingerprint(*same->graph) == fingerprint(*old.graph)) {
      return;
    }
    const std::string name = "@" + quote_if_needed(old.name);
    const std::string why = why_graph_stays(before_, r);
    if (why.empty()) {
      if (same != nullptr && !same->graph && lowers_as(*same, old)) {
        same->graph = old.graph;
        same->plan = old.plan;
      } else if (same == nullptr || !same->graph) {
        log_.note(fmt::format("dropped the graph of region {}: lowering makes a new one", name));
      }
      return;
    }
    if (rules_.requested || same == nullptr || !tensors_unchanged(old)) refuse(old, name, why);
    log_.note(fmt::format("region {} is left as it is: {}", name, why));
    const std::string kept = same->name;
    *same = old;
    same->name = kept;
  }

  /// The region that computes the same and nothing else; null if there is none.
  Region* successor(const Region& old) {
    const std::set<TensorId> wanted = results_of(old);
    for (Region& region : after_.regions) {
      const std::set<TensorId> found = results_of(region);
      const bool all = std::includes(found.begin(), found.end(), wanted.begin(), wanted.end());
      if (wanted.empty() ? region.name == old.name : all && !others_in(found, wanted)) {
        return &region;
      }
    }
    return nullptr;
  }

  /// Whether a region has results of other regions; copies that a pass made do not count.
  bool others_in(const std::set<TensorId>& found, const std::set<TensorId>& wanted) const {
    const auto made = [&](TensorId t) { return static_cast<size_t>(t) >= before_.tensors.size(); };
    return std::any_of(found.begin(), found.end(),
                       [&](TensorId t) { return wanted.count(t) == 0 && !made(t); });
  }

  /// Whether lowering gives a region, as the pass left it, the graph that it had.
  bool lowers_as(const Region& region, const Region& old) const {
    const auto r = static_cast<size_t>(&region - after_.regions.data());
    return lowered_fingerprint(after_, r) == fingerprint(*old.graph);
  }

  bool tensors_unchanged(const Region& old) const {
    const std::set<TensorId> tensors = tensors_of(old);
    return std::all_of(tensors.begin(), tensors.end(), [&](TensorId t) {
      const Tensor& then = before_.tensors[static_cast<size_t>(t)];
      const Tensor& now = after_.tensors[static_cast<size_t>(t)];
      return then.format == now.format && then.type == now.type && then.role == now.role &&
             then.placement == now.placement;
    });
  }

  [[noreturn]] void refuse(const Region& old, const std::string& name,
                           const std::string& why) const {
    std::string instead = fmt::format(
        "--drop-graphs, which removes it, or a program without it: `graph {{ .. }}` deleted");
    if (old.graph->tiles) {
      instead = fmt::format(
          "fuseflow-{} before what plans it (fuseflow-cluster, or fuseflow-fuse without "
          "--no-tiles), or --drop-graphs, which removes the plan",
          rules_.pass);
    }
    if (old.statements.empty()) instead = "a region with statements";
    throw Error(ExitCode::rejected, old.where,
                fmt::format("{} would change region {}, but {}; expected {}", rules_.pass, name,
                            why, instead));
  }

  const Program& before_;
  Program after_;
  const GraphRules& rules_;
  PassLog& log_;
};

}  // namespace

std::string why_graph_stays(const Program& program, size_t region) {
  const Region& given = program.regions[region];
  if (!given.graph) return "";
  if (given.graph->tiles) return "its graph is planned for cores";
  if (given.statements.empty()) return "it has only a graph";
  if (lowered_fingerprint(program, region) == fingerprint(*given.graph)) return "";
  return "its graph is not the one that its statements and schedule give";
}

Program without_graphs_given(Program program, PassLog& log) {
  for (Region& region : program.regions) {
    if (!region.graph || region.statements.empty()) continue;
    log.note(fmt::format("dropped the graph of region @{}", quote_if_needed(region.name)));
    if (region.graph->tiles) region.plan.clear();
    region.graph.reset();
  }
  return program;
}

Program with_kept_graphs(const Program& before, Program after, const GraphRules& rules,
                         PassLog& log) {
  return GraphKeeper(before, std::move(after), rules, log).run();
}

}  // namespace fuseflow
