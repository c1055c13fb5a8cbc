#include "passes/transposed.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "passes/choose.h"
#include "passes/effort.h"
#include "passes/parts.h"
#include "passes/storage_moves.h"
#include "support/unless_refused.h"

namespace fuseflow {

namespace {

/// A share of the cycles: what may be left of them.
constexpr double kMostLeft = 0.9;
/// Ranks of which all orders are tried.
constexpr size_t kMostModes = 3;

/// The tensor's levels over its dimensions in every other order.
std::vector<Format> transposed(const Tensor& tensor) {
  const Format& format = tensor.format;
  if (format.all_dense() || !format.block.empty() || format.mode_order.size() > kMostModes) {
    return {};
  }
  std::vector<LevelKind> levels = format.levels;  // of tuples no loop goes over one coordinate
  std::replace(levels.begin(), levels.end(), LevelKind::singleton, LevelKind::compressed);
  std::vector<Format> result;
  std::vector<int> order = format.mode_order;
  std::sort(order.begin(), order.end());
  do {
    if (order != format.mode_order) result.push_back(make_format(levels, order));
  } while (std::next_permutation(order.begin(), order.end()));
  return result;
}

class TransposeSearch {
 public:
  TransposeSearch(const Program& kernels, const Parts& parts, const Machine& machine,
                  double least_elsewhere, CostModel& costs, PassLog& log)
      : best_(kernels),
        parts_(parts),
        machine_(machine),
        least_elsewhere_(least_elsewhere),
        costs_(costs),
        log_(log),
        most_effort_(costs.effort() + transpose_effort(costs.effort())) {}

  std::optional<Program> run() {
    const std::vector<TensorId> tensors = stored_tensors_read(best_);
    if (std::none_of(tensors.begin(), tensors.end(), [&](TensorId id) { return has_orders(id); })) {
      return std::nullopt;
    }
    least_ = cost_of(best_);
    if (!least_ || least_->cycles > kOutOfReach * least_elsewhere_) return std::nullopt;
    bool any = false;
    for (const TensorId tensor : tensors) {
      const StorageMove all{tensor, uses_of(best_, tensor)};
      if (!all.uses.empty()) any = improve(all) || any;
    }
    if (!any || least_->cycles > least_elsewhere_) return std::nullopt;
    return std::move(best_);
  }

 private:
  bool has_orders(TensorId tensor) const {
    return !transposed(best_.tensors[static_cast<size_t>(tensor)]).empty();
  }

  /// Tries all orders of one tensor.
  bool improve(const StorageMove& move) {
    const double most = kMostLeft * least_->cycles;
    const Tensor given = best_.tensors[static_cast<size_t>(move.tensor)];
    std::optional<Program> found;
    for (const Format& format : transposed(given)) {
      if (costs_.effort() >= most_effort_) break;
      std::optional<Program> program = with_move(best_, move, format, costs_.phases());
      if (!program) continue;
      std::optional<Cost> cost = cost_of(*program);
      if (!better(cost, least_) || cost->cycles > most) continue;
      least_ = std::move(cost);
      found = std::move(program);
    }
    if (!found) return false;
    best_ = std::move(*found);
    log_.note(moved_text(best_, move));
    return true;
  }

  /// Of the regions, placed by default.
  std::optional<Cost> cost_of(const Program& kernels) {
    PlacedRuns placed(kernels, machine_, costs_);
    return unless_refused([&] {  // no placement may make them regions
      return costs_.of_program(assemble(kernels, parts_, machine_, placed).program);
    });
  }

  Program best_;
  const Parts& parts_;
  const Machine& machine_;
  const double least_elsewhere_;
  CostModel& costs_;
  PassLog& log_;
  const double most_effort_;
  std::optional<Cost> least_;
};

}  // namespace

std::optional<Program> transposed_for(const Program& kernels, const Parts& parts,
                                      const Machine& machine, double least_elsewhere,
                                      CostModel& costs, PassLog& log) {
  return TransposeSearch(kernels, parts, machine, least_elsewhere, costs, log).run();
}

}  // namespace fuseflow
