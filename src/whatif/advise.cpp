#include "whatif/advise.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "ir/names.h"
#include "verdict/words.h"
#include "whatif/remedies.h"

namespace fuseflow {
namespace {

constexpr double kMatters = 0.05;  ///< share of the program's cycles
constexpr size_t kMostRegions = 5;
constexpr size_t kMostTries = 3;      ///< that are named
constexpr size_t kMostSimulated = 4;  ///< of a region
constexpr size_t kMostOfPass = 2;     ///< of those with one pass; one of them is named
constexpr std::string_view kRoom = "fifo_depth";
constexpr double kHelps = 0.98;  ///< of the cycles before, at most
constexpr double kAlike = 1.05;  ///< of several values of a key the least that is so near
constexpr int64_t kMostTokens = int64_t{1} << 26;  ///< of all trials together: some seconds

/// The regions that matter, the longest first.
std::vector<size_t> longest(const std::vector<double>& cycles, double all) {
  std::vector<size_t> order(cycles.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return cycles[a] > cycles[b]; });
  const auto matters = [&](size_t r) { return cycles[r] >= kMatters * all && cycles[r] > 0; };
  const auto end = std::stable_partition(order.begin(), order.end(), matters);
  order.erase(end, order.end());
  order.resize(std::min(order.size(), kMostRegions));
  return order;
}

struct Estimated {
  Remedy change;
  double factor = 1;  ///< of the cycles before
};

/// At most so many that change the program by one pass: other things are tried, too.
template <typename One>
void limit_passes(std::vector<One>& all, size_t most) {
  std::map<std::string, size_t> seen;
  std::erase_if(all, [&](const One& one) {
    return !one.change.pass.empty() && ++seen[one.change.pass] > most;
  });
}

/// For each name, the first of its changes that is nearly as good as the best of them; the best
/// name first.
std::vector<Estimated> best_of_each(const std::vector<Estimated>& all) {
  std::vector<Estimated> kept;
  for (const Estimated& one : all) {
    const auto same = [&](const Estimated& other) { return other.change.name == one.change.name; };
    if (std::any_of(kept.begin(), kept.end(), same)) continue;
    double best = one.factor;
    for (const Estimated& other : all) {
      if (same(other)) best = std::min(best, other.factor);
    }
    for (const Estimated& other : all) {
      if (!same(other) || other.factor > kAlike * best) continue;
      kept.push_back(other);
      break;
    }
  }
  std::stable_sort(kept.begin(), kept.end(),
                   [](const Estimated& a, const Estimated& b) { return a.factor < b.factor; });
  return kept;
}

/// Each change by the estimate; where it cannot tell, as if nothing changed.
std::vector<Estimated> estimate_all(const RegionTrials& trials,
                                    const std::vector<Remedy>& changes) {
  const double before = trials.estimate({}).value_or(0);
  std::vector<Estimated> all;
  for (const Remedy& change : changes) {
    const std::optional<double> after = before > 0 ? trials.estimate(change) : std::nullopt;
    all.push_back({change, after ? *after / before : 1});
  }
  return best_of_each(all);
}

void keep_best(std::vector<TriedChange>& tries, double before) {
  std::erase_if(tries, [&](const TriedChange& one) { return one.cycles > kHelps * before; });
  std::stable_sort(tries.begin(), tries.end(),
                   [](const TriedChange& a, const TriedChange& b) { return a.cycles < b.cycles; });
  limit_passes(tries, 1);
  tries.resize(std::min(tries.size(), kMostTries));
}

/// Simulates the changes that are expected to help most; where a full stream is to limit, also
/// whether more room does.
std::vector<TriedChange> simulate_best(const RegionTrials& trials, std::vector<Estimated> all,
                                       LimitKind kind, const RunOptions& options) {
  if (kind == LimitKind::fifo) {
    std::stable_partition(all.begin(), all.end(),
                          [](const Estimated& one) { return one.change.name == kRoom; });
  }
  std::vector<TriedChange> tries;
  for (size_t k = 0; k < std::min(all.size(), kMostSimulated); ++k) {
    const std::optional<double> cycles = trials.simulate(all[k].change, options);
    if (cycles) tries.push_back({all[k].change, *cycles, true});
  }
  return tries;
}

std::vector<TriedChange> as_estimated(const std::vector<Estimated>& all, double before) {
  std::vector<TriedChange> tries;
  for (const Estimated& one : all) tries.push_back({one.change, one.factor * before, false});
  return tries;
}

bool is_rate(const std::string& key) {
  return key == "dram.channels" || key == "dram.bandwidth_gigabytes_per_second" ||
         key == "dram.interleave_bytes";
}

/// Answers also come late from channels that are asked for more than they can move, while others
/// are asked for little: then more of them, or faster ones, help.
LimitKind kind_by_rate(LimitKind kind, const std::vector<TriedChange>& tries, double before) {
  constexpr double kTells = 0.6;
  const auto tells = [&](const TriedChange& one) {
    return is_rate(one.change.name) && one.cycles < kTells * before;
  };
  const bool rate = kind == LimitKind::latency && std::any_of(tries.begin(), tries.end(), tells);
  return rate ? LimitKind::bandwidth : kind;
}

/// Estimates are too low where copies are collected through streams that are full.
void drop_copies_behind_full_streams(std::vector<TriedChange>& tries, LimitKind kind) {
  if (kind != LimitKind::fifo && kind != LimitKind::latency) return;
  std::erase_if(tries, [](const TriedChange& one) { return one.change.pass == "parallelize"; });
}

/// A stream that is full also blocks a producer that is ahead of need. It limits where more room
/// helps; where none does, steps wait for each other.
void ask_for_room(Limit& limit, const std::vector<TriedChange>& tries, double before) {
  const auto helps = [&](const TriedChange& one) {
    return one.change.name == kRoom && one.cycles <= kHelps * before;
  };
  if (limit.kind != LimitKind::fifo || std::any_of(tries.begin(), tries.end(), helps)) return;
  limit.kind = LimitKind::start;
  limit.node = limit.busiest;
  limit.share = limit.busy_share;
}

/// Of what a run counted: its kind once changes were tried, and the best of these.
void settle_run(RegionVerdict& verdict) {
  const LimitKind kind = verdict.limit.kind;
  verdict.limit.kind = kind_by_rate(kind, verdict.tries, verdict.cycles);
  if (verdict.limit.kind != kind) verdict.limit.share = verdict.limit.bytes_share;
  ask_for_room(verdict.limit, verdict.tries, verdict.cycles);
  keep_best(verdict.tries, verdict.cycles);
}

}  // namespace

RegionFigures figures_of(const RunResult& result) {
  RegionFigures figures;
  figures.cycles = static_cast<double>(result.cycles);
  figures.dram_bytes = static_cast<double>(result.dram_read_bytes + result.dram_write_bytes);
  figures.dram_bursts = static_cast<double>(result.dram_bursts);
  for (const NodeStats& node : result.nodes) {
    figures.nodes.push_back({true, static_cast<double>(node.busy), static_cast<double>(node.memory),
                             static_cast<double>(node.starved), static_cast<double>(node.blocked),
                             static_cast<double>(node.first_step),
                             static_cast<double>(node.last_step),
                             static_cast<double>(node.read_bytes + node.write_bytes)});
  }
  for (const StreamStats& stream : result.streams) {
    figures.stream_blocked.push_back(static_cast<double>(stream.blocked));
  }
  return figures;
}

std::vector<RegionVerdict> verdicts_of_run(const TrialSetup& setup, const ProgramRun& run) {
  std::vector<double> cycles;
  for (const RunResult& result : run.regions) cycles.push_back(static_cast<double>(result.cycles));
  const auto all = static_cast<double>(total_cycles(run, setup.machine));
  RunOptions options = setup.run;
  options.trace = false;
  options.explain_deadlock = false;
  options.accessed = {};
  options.progress = {};
  int64_t left = kMostTokens;
  std::vector<RegionVerdict> verdicts;
  for (const size_t r : longest(cycles, all)) {
    const RunResult& result = run.regions[r];
    const RegionFigures figures = figures_of(result);
    const auto limit = find_limit(*setup.lowered.regions[r].graph, setup.machine, figures);
    if (!limit) continue;
    RegionVerdict verdict{r, figures.cycles, all, true, *limit, {}};
    const RegionTrials trials(setup.given, setup.lowered, r, run.data, setup.machine_with);
    std::vector<Estimated> changes = estimate_all(
        trials, remedies_for(trials.slice(), trials.given_slice(), setup.machine, figures, *limit));
    limit_passes(changes, kMostOfPass);
    const int64_t work = static_cast<int64_t>(kMostSimulated) * std::max<int64_t>(1, result.tokens);
    if (work <= left) {
      left -= work;
      options.max_cycles = result.cycles;  // what takes longer does not help
      verdict.tries = simulate_best(trials, changes, limit->kind, options);
    } else {
      verdict.tries = as_estimated(changes, figures.cycles);
    }
    settle_run(verdict);
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

RegionVerdict verdict_of_figures(const TrialSetup& setup, size_t region, const TensorData& data,
                                 const RegionFigures& figures, const Limit& limit) {
  RegionVerdict verdict{region, figures.cycles, figures.cycles, true, limit, {}};
  const RegionTrials trials(setup.given, setup.lowered, region, data, setup.machine_with);
  const std::vector<Remedy> changes =
      remedies_for(trials.slice(), trials.given_slice(), setup.machine, figures, limit);
  verdict.tries = as_estimated(estimate_all(trials, changes), figures.cycles);
  drop_copies_behind_full_streams(verdict.tries, limit.kind);
  settle_run(verdict);
  return verdict;
}

TensorData expected_data(const Program& program, const Machine& machine) {
  TensorData data = load_patterns(program);
  data.storage.resize(program.tensors.size());
  std::vector<bool> uncertain(program.tensors.size(), false);
  for (const Region& region : program.regions) {
    static_cast<void>(estimate_region_into(program, region, data, uncertain, machine));
  }
  return data;
}

namespace {

/// What limits a region in which no node is busy for most of the time: an estimate does not count
/// what nodes wait for, so the machine's key tells that helps most. Deeper FIFOs help against a
/// memory that answers late, or against other ways that are long: the former if a memory that takes
/// no time would help half as much.
LimitKind kind_by_keys(const RegionTrials& trials, LimitKind kind,
                       const std::vector<Estimated>& all, double before) {
  constexpr double kTells = 0.9;
  if (kind != LimitKind::start) return kind;
  const auto best = std::find_if(all.begin(), all.end(), [](const Estimated& one) {
    return one.change.pass.empty() && one.factor < kTells;
  });
  if (best == all.end()) return kind;
  const std::string& key = best->change.name;
  if (is_rate(key)) return LimitKind::bandwidth;
  if (key.starts_with("dram.")) return LimitKind::latency;
  if (key != kRoom) return kind;
  const std::optional<double> free = trials.estimate({"", {"dram.model=none"}, "", {}});
  const bool memory = free && 1 - *free / before >= (1 - best->factor) / 2;
  return memory ? LimitKind::latency : LimitKind::fifo;
}

}  // namespace

RegionFigures figures_of(const RegionEstimate& region) {
  RegionFigures figures;
  figures.cycles = region.cycles;
  figures.dram_bytes = region.dram_read_bytes + region.dram_write_bytes;
  figures.dram_bursts = region.dram_bursts;
  figures.waits_known = false;
  for (size_t n = 0; n < region.busy.size(); ++n) {
    figures.nodes.push_back({.known = true,
                             .busy = region.busy[n],
                             .first_step = region.loading_cycles,
                             .tensor_bytes = region.tensor_bytes[n]});
  }
  return figures;
}

std::vector<RegionVerdict> verdicts_of_estimate(const TrialSetup& setup,
                                                const ProgramEstimate& estimate,
                                                const TensorData& data) {
  std::vector<double> cycles;
  for (const RegionEstimate& region : estimate.regions) cycles.push_back(region.cycles);
  std::vector<RegionVerdict> verdicts;
  for (const size_t r : longest(cycles, estimate.total.cycles)) {
    const RegionEstimate& region = estimate.regions[r];
    const RegionFigures figures = figures_of(region);
    const auto limit = find_limit(*setup.lowered.regions[r].graph, setup.machine, figures);
    if (!limit) continue;
    RegionVerdict verdict{r, figures.cycles, estimate.total.cycles, false, *limit, {}};
    const RegionTrials trials(setup.given, setup.lowered, r, data, setup.machine_with);
    const std::vector<Estimated> changes = estimate_all(
        trials, remedies_for(trials.slice(), trials.given_slice(), setup.machine, figures, *limit));
    verdict.limit.kind = kind_by_keys(trials, limit->kind, changes, figures.cycles);
    if (verdict.limit.kind == LimitKind::bandwidth) verdict.limit.share = limit->bytes_share;
    verdict.tries = as_estimated(changes, figures.cycles);
    drop_copies_behind_full_streams(verdict.tries, verdict.limit.kind);
    keep_best(verdict.tries, figures.cycles);
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

std::string tries_words(const RegionVerdict& verdict) {
  std::string tries;
  for (const TriedChange& one : verdict.tries) {
    tries +=
        fmt::format("{}`{}` ({}{:.0f} cycles, {:.2f} times as fast)", tries.empty() ? "" : ", ",
                    command_of(one.change), one.simulated ? "" : "about ", one.cycles,
                    verdict.cycles / std::max(1.0, one.cycles));
  }
  return tries.empty() ? "nothing that was tried helps" : tries;
}

std::string verdict_lines(const TrialSetup& setup, const std::vector<RegionVerdict>& verdicts) {
  std::string text;
  for (const RegionVerdict& verdict : verdicts) {
    const Region& region = setup.lowered.regions[verdict.region];
    const Graph& graph = *region.graph;
    text += fmt::format(
        "@{}: {:.0f} cycles ({:.1f}% of all), {}\n", quote_if_needed(region.name), verdict.cycles,
        100 * verdict.cycles / std::max(1.0, verdict.all),
        limit_words(setup.lowered, graph, setup.machine, verdict.limit, verdict.waits_known));
    text += "  at best: " + roof_words(setup.lowered, graph, verdict.limit, verdict.cycles) + "\n";
    text += "  try: " + tries_words(verdict) + "\n";
  }
  return text;
}

}  // namespace fuseflow
