#include "passes/storage_search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "passes/choose.h"
#include "passes/effort.h"
#include "passes/storage_candidates.h"
#include "passes/storage_moves.h"

namespace fuseflow {

namespace {

/// A share of the cycles: the least gain that counts. Estimates of short fibers in other formats
/// have been seen to be 35% too low, and what gains little on one machine loses on another.
constexpr double kLeastGain = 0.2;

/// Sweeps, and formats tried of a tensor in one: of small data, and of more entries than that.
struct Effort {
  int sweeps;
  int formats;
};
constexpr Effort kSmall{2, 96};
constexpr Effort kLarge{1, 24};
constexpr double kLargeEntries = 1 << 15;

/// Formats of large data are counted only if statistics expect them to gain something, and to be no
/// worse than this many times the best of them: ir-spec/storage.md says how far they are off.
constexpr double kPromising = 0.95;
constexpr double kNearBest = 1.1;

class StorageSearch {
 public:
  StorageSearch(Program& program, CostModel& costs, bool verbose, PassLog& log)
      : program_(program),
        costs_(costs),
        verbose_(verbose),
        log_(log),
        large_(entries_read(program) > kLargeEntries),
        most_effort_(costs.effort() + storage_effort(costs.effort())) {}

  bool run(const TensorForms& forms) {
    bool any = false;
    for (int sweep = 0; sweep < effort().sweeps; ++sweep) {
      bool changed = false;
      for (const auto& [tensor, all] : forms) changed = choose_form(tensor, all) || changed;
      if (!changed) break;
      any = true;
    }
    return any;
  }

 private:
  struct Trial {
    Format format;
    Program program;
    std::optional<Cost> guess;
  };

  const Effort& effort() const { return large_ ? kLarge : kSmall; }

  bool choose_form(TensorId tensor, const std::vector<Format>& forms) {
    tried_ = 0;
    bool changed = false;
    for (const StorageMove& move : storage_moves(program_, tensor)) {
      changed = choose_for(move, forms) || changed;
    }
    return changed;
  }

  bool choose_for(const StorageMove& move, const std::vector<Format>& forms) {
    if (costs_.effort() > most_effort_) return false;
    const std::vector<size_t> regions = regions_judged(program_, move);
    const std::optional<Cost> given = costs_.of_regions(program_, regions);
    if (!given) return false;
    std::vector<std::string> others;
    std::vector<Trial> trials = trials_of(move, forms);
    if (large_ && std::isfinite(given->cycles)) keep_promising(trials, regions, others);
    std::optional<Cost> least = given;
    Trial* best = nullptr;
    for (Trial& trial : trials) {
      if (costs_.effort() > most_effort_) break;
      const std::optional<Cost> cost = costs_.of_regions(trial.program, regions);
      others.push_back(fmt::format("{}: {}", to_string(trial.format), cycles_text(cost)));
      if (!better(cost, least) || !pays(*cost, *given)) continue;
      if (!is_sure(move, trial, *cost, *given)) continue;
      least = cost;
      best = &trial;
    }
    if (verbose_ && !others.empty()) {
      log_.note(fmt::format("{}: {} cycles by estimate; {}", move_text(program_, move),
                            cycles_text(given), fmt::join(others, "; ")));
    }
    if (best == nullptr) return false;
    program_ = std::move(best->program);
    costs_.learn(program_);  // what regions write has changed with it
    log_.note(fmt::format("{}: {}", moved_text(program_, move), gain_text(*least, *given)));
    return true;
  }

  /// The program with each format that it does not have, as given, too.
  std::vector<Trial> trials_of(const StorageMove& move, const std::vector<Format>& forms) {
    std::vector<Format> all = forms;
    all.push_back(program_.tensors[static_cast<size_t>(move.tensor)].format);
    std::vector<Trial> trials;
    for (const Format& form : all) {
      std::optional<Program> candidate = with_move(program_, move, form, costs_.phases());
      if (!candidate || ++tried_ > effort().formats) continue;
      trials.push_back({form, std::move(*candidate), std::nullopt});
    }
    return trials;
  }

  /// Lets those trials go that statistics expect to gain nothing, or less than others.
  void keep_promising(std::vector<Trial>& trials, const std::vector<size_t>& regions,
                      std::vector<std::string>& others) {
    const std::optional<Cost> given = costs_.guess_of_regions(program_, regions);
    if (!given) return;
    double most = kPromising * given->cycles;
    for (Trial& trial : trials) {
      trial.guess = costs_.guess_of_regions(trial.program, regions);
      if (trial.guess) most = std::min(most, kNearBest * trial.guess->cycles);
    }
    std::erase_if(trials, [&](const Trial& trial) {
      if (!trial.guess || trial.guess->cycles <= most) return false;
      others.push_back(
          fmt::format("{}: about {}", to_string(trial.format), cycles_text(trial.guess)));
      return true;
    });
  }

  /// How many entries an intermediate has may depend on its values. Estimates then are of the most
  /// that there can be, so that what is listed is no worse than estimated, unless values were
  /// guessed.
  bool is_sure(const StorageMove& move, const Trial& trial, const Cost& cost,
               const Cost& given) const {
    const Tensor& tensor = program_.tensors[static_cast<size_t>(move.tensor)];
    if (tensor.role != Role::temporary) return true;
    if (cost.guessed && !given.guessed) return false;
    return !trial.format.all_dense() || given.doubt.empty();
  }

  static bool pays(const Cost& cost, const Cost& given) {
    if (!std::isfinite(given.cycles)) return true;
    return cost.cycles <= (1 - kLeastGain) * given.cycles;
  }

  Program& program_;
  CostModel& costs_;
  const bool verbose_;
  PassLog& log_;
  const bool large_;
  const double most_effort_;
  int tried_ = 0;
};

}  // namespace

bool search_storage(Program& program, const TensorForms& forms, CostModel& costs, bool verbose,
                    PassLog& log) {
  return StorageSearch(program, costs, verbose, log).run(forms);
}

}  // namespace fuseflow
