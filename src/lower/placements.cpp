#include "lower/placements.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lower/flops.h"

namespace fuseflow {

namespace {

class PlacementSearch {
 public:
  PlacementSearch(Program program, size_t region, const PlacementOptions& options)
      : region_(region), options_(options) {
    choice_.program = std::move(program);
    given_ = schedule().placements;
    // The first attempt must not spend long on a program that recomputation would blow up.
    lower_ = options.lower;
    lower_.max_instances = std::min(lower_.max_instances, 64 + 4 * statements().size());
  }

  PlacementChoice run() {
    LoweredRegion lowered = lower_until_possible();
    if (has_inlined() && !options_.recompute_always) {
      const std::vector<double> unfused = unfused_flops();
      for (const double flops : unfused) choice_.unfused_flops += flops;
      while (true) {
        const std::vector<double> fused = by_statement(lowered);
        choice_.flops = 0;
        for (const double flops : fused) choice_.flops += flops;
        if (choice_.flops <= options_.max_recompute * choice_.unfused_flops) break;
        if (!store_worst(fused, unfused)) break;
        lowered = lower_until_possible();
      }
      note_recomputed(by_statement(lowered), unfused);
    }
    return std::move(choice_);
  }

 private:
  Schedule& schedule() { return choice_.program.regions[region_].schedule; }
  const std::vector<Statement>& statements() const {
    return choice_.program.regions[region_].statements;
  }
  const Tensor& tensor(TensorId id) const { return choice_.program.tensors[id]; }

  bool has_inlined() {
    const Region& region = choice_.program.regions[region_];
    std::set<TensorId> produced;
    for (const Statement& statement : region.statements) {
      for (const Expr& node : statement.nodes) {
        if (node.kind != Expr::Kind::access || produced.count(node.tensor) == 0) continue;
        if (!is_stored(use_kind(choice_.program, region, node.tensor, statement.result)))
          return true;
      }
      produced.insert(statement.result);
    }
    return false;
  }

  LoweredRegion lower_until_possible() {
    while (true) {
      try {
        return lower_region_traced(choice_.program, region_, lower_);
      } catch (const LoweringConflict& conflict) {
        if (conflict.tensor() < 0 || !store(conflict.tensor(), conflict.what())) throw;
      }
    }
  }

  std::vector<double> by_statement(const LoweredRegion& lowered) const {
    const std::vector<double> flops = estimated_flops(choice_.program, lowered.graph);
    std::vector<double> result(statements().size(), 0);
    for (size_t n = 0; n < flops.size(); ++n) result[lowered.statement_of_node[n]] += flops[n];
    return result;
  }

  /// Every intermediate through memory.
  std::vector<double> unfused_flops() {
    const Schedule fused = schedule();
    schedule() = {};
    for (const Statement& statement : statements()) {
      schedule().placements.push_back({statement.result, -1, Placement::memory});
    }
    std::vector<double> result =
        by_statement(lower_region_traced(choice_.program, region_, lower_));
    schedule() = fused;
    return result;
  }

  /// Places every use of the tensor that the user has not placed. False if there is none.
  bool store(TensorId id, const std::string& why) {
    const bool given = std::any_of(given_.begin(), given_.end(), [&](const UsePlacement& use) {
      return use.tensor == id && use.consumer < 0;
    });
    if (given || !stored_.insert(id).second) return false;
    const double bytes = estimated_bytes(tensor(id));
    const double left = static_cast<double>(options_.scratchpad_bytes) - used_bytes_;
    const bool fits = options_.scratchpad_bytes == 0 || bytes <= left;
    if (fits) used_bytes_ += bytes;
    auto& list = schedule().placements;
    list.insert(list.begin(), {id, -1, fits ? Placement::scratchpad : Placement::memory});
    choice_.notes.push_back(fmt::format("%{} is kept in {}: {}", tensor(id).name,
                                        fits ? "the scratchpad" : "memory", why));
    return true;
  }

  /// The intermediates whose work multiplies most against their consumers'.
  bool store_worst(const std::vector<double>& fused, const std::vector<double>& unfused) {
    std::vector<double> factor(fused.size(), 1);
    for (size_t s = 0; s < fused.size(); ++s) {
      if (unfused[s] > 0) factor[s] = std::max(1.0, fused[s] / unfused[s]);
    }
    std::vector<std::pair<double, size_t>> jumps;
    for (size_t s = 0; s < fused.size(); ++s) {
      double consumers = 1;
      for (size_t c = s + 1; c < fused.size(); ++c) {
        if (uses(statements()[c], statements()[s].result)) {
          consumers = std::max(consumers, factor[c]);
        }
      }
      if (factor[s] > 1.01 * consumers) jumps.emplace_back(factor[s] / consumers, s);
    }
    std::stable_sort(jumps.begin(), jumps.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    bool any = false;
    for (const auto& [jump, s] : jumps) {
      if (any && jump < 8) break;
      any = store(statements()[s].result,
                  fmt::format("recomputing it at every use would take {:.1f} times its FLOPs",
                              jump)) ||
            any;
    }
    return any;
  }

  static bool uses(const Statement& statement, TensorId id) {
    return std::any_of(statement.nodes.begin(), statement.nodes.end(), [&](const Expr& node) {
      return node.kind == Expr::Kind::access && node.tensor == id;
    });
  }

  void note_recomputed(const std::vector<double>& fused, const std::vector<double>& unfused) {
    for (size_t s = 0; s < fused.size(); ++s) {
      if (unfused[s] <= 0 || fused[s] <= 1.05 * unfused[s]) continue;
      choice_.notes.push_back(fmt::format("%{} is recomputed (about {:.1f} times its FLOPs)",
                                          tensor(statements()[s].result).name,
                                          fused[s] / unfused[s]));
    }
  }

  const size_t region_;
  const PlacementOptions& options_;
  LowerOptions lower_;
  PlacementChoice choice_;
  std::vector<UsePlacement> given_;
  std::set<TensorId> stored_;
  double used_bytes_ = 0;
};

}  // namespace

double estimated_bytes(const Tensor& tensor) {
  const double entries = estimated_entries(tensor);
  const auto element = static_cast<double>(element_bytes(tensor.type));
  double compressed = 0;
  for (const LevelKind level : tensor.format.levels)
    compressed += level == LevelKind::dense ? 0 : 1;
  return entries * (element + 4 * compressed);
}

PlacementChoice choose_placements(Program program, size_t region, const PlacementOptions& options) {
  return PlacementSearch(std::move(program), region, options).run();
}

}  // namespace fuseflow
