#include "passes/copies.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "ir/names.h"
#include "lower/lower.h"
#include "passes/choose.h"
#include "passes/complete_schedule.h"
#include "passes/kept_graphs.h"
#include "passes/open_regions.h"
#include "support/csv.h"
#include "support/unless_refused.h"

namespace fuseflow {

namespace {

/// A loop of a region's graph.
struct CopyLoop {
  std::string index;
  int64_t extent = 0;
  size_t depth = 0;  ///< loops around it, the fewest
};

const Parallel* copies_of(const Schedule& schedule, const std::string& index) {
  const auto found = std::find_if(schedule.parallel.begin(), schedule.parallel.end(),
                                  [&](const Parallel& entry) { return entry.index == index; });
  return found == schedule.parallel.end() ? nullptr : &*found;
}

/// The loops of a region as lowering nests them, the outermost first; none where it cannot be
/// lowered by itself. One that lowering opens several times, with a number, is one to a schedule.
std::vector<CopyLoop> loops_of(Program program, size_t region) {
  program.regions[region].schedule.parallel.clear();
  program.regions[region].graph.reset();
  LowerOptions options;
  options.buffers = false;
  const Graph graph = unless_refused([&] { return lower_region(program, region, options); });
  std::vector<CopyLoop> loops;
  if (graph.streams.empty()) return loops;
  std::set<std::string> named;
  for (const RegionIndex& index : region_indices(program, region).indices) named.insert(index.name);
  for (const Stream& stream : graph.streams) {
    for (size_t depth = 0; depth < stream.indices.size(); ++depth) {
      const GraphIndex& index = graph.indices[static_cast<size_t>(stream.indices[depth])];
      if (!named.contains(index.name)) continue;
      const auto known = std::find_if(loops.begin(), loops.end(), [&](const CopyLoop& loop) {
        return loop.index == index.name;
      });
      if (known == loops.end()) {
        loops.push_back({index.name, index.extent, depth});
      } else {
        known->depth = std::min(known->depth, depth);
      }
    }
  }
  std::stable_sort(loops.begin(), loops.end(),
                   [](const CopyLoop& a, const CopyLoop& b) { return a.depth < b.depth; });
  return loops;
}

/// Doubles the copies of a loop, or of all loops of a depth, whichever gains most, as long as the
/// estimate falls.
class CopySearch {
 public:
  CopySearch(Program& program, size_t region, const CopyLimits& limits, CostModel& costs,
             bool verbose, PassLog& log)
      : program_(program),
        region_(region),
        costs_(costs),
        verbose_(verbose),
        log_(log),
        given_(program.regions[region].schedule.parallel),
        most_copies_(limits.copies),
        most_effort_(costs.effort() + limits.effort) {}

  void run(const std::vector<CopyLoop>& loops) {
    cost_ = costs_.of_region(program_, region_);
    if (!cost_) return;
    const Cost before = *cost_;
    for (const CopyLoop& loop : loops) extents_[loop.index] = loop.extent;
    for (size_t first = 0; first < loops.size(); first += kTogether) {
      std::vector<Move> moves = moves_of(loops, first);
      while (advance(moves)) {
      }
    }
    if (schedule().parallel == given_) return;
    log_.note(fmt::format("@{}: {}: {}", name(), copies_text(schedule().parallel),
                          gain_text(*cost_, before)));
  }

 private:
  static constexpr double kLeastGain = 0.03;
  /// Loops that are searched at a time, the outermost first.
  static constexpr size_t kTogether = 6;
  static constexpr int kMostTried = 64;

  Schedule& schedule() { return program_.regions[region_].schedule; }
  std::string name() const { return quote_if_needed(program_.regions[region_].name); }

  static std::string copies_text(const std::vector<Parallel>& copies) {
    std::vector<std::string> parts;
    for (const Parallel& entry : copies) {
      parts.push_back(fmt::format("{} = {}", quote_if_needed(entry.index), entry.factor));
    }
    return fmt::format("parallel {}", fmt::join(parts, ", "));
  }

  /// Loops whose copies are doubled together.
  struct Move {
    std::vector<std::string> loops;
    double cycles = 0;  ///< share that was left when it was tried last; infinite: it does not fit
  };

  /// Of the loops from the first one on: each alone, and those of a depth.
  static std::vector<Move> moves_of(const std::vector<CopyLoop>& loops, size_t first) {
    std::set<std::vector<std::string>> sets;
    std::map<size_t, std::vector<std::string>> by_depth;
    for (size_t i = first; i < std::min(loops.size(), first + kTogether); ++i) {
      sets.insert({loops[i].index});
      by_depth[loops[i].depth].push_back(loops[i].index);
    }
    for (const auto& [depth, names] : by_depth) sets.insert(names);
    std::vector<Move> moves;
    moves.reserve(sets.size());
    for (const std::vector<std::string>& names : sets) moves.push_back({names});
    return moves;
  }

  /// Whether one of the moves gained enough: then the best of them is made. Those that gained most
  /// when they were tried last come first, and the others are left out once one gains more than any
  /// of them did then. So all are tried before the search ends.
  bool advance(std::vector<Move>& moves) {
    const std::vector<Parallel> now = schedule().parallel;
    const double most = 1 - std::max(kLeastGain, costs_.margin());
    std::optional<Cost> best = cost_;
    std::vector<Parallel> chosen = now;
    std::stable_sort(moves.begin(), moves.end(),
                     [](const Move& a, const Move& b) { return a.cycles < b.cycles; });
    for (Move& move : moves) {
      if (chosen != now && best->cycles <= move.cycles * cost_->cycles) break;
      const std::vector<Parallel> more = doubled_copies(now, move.loops, extents_);
      if (more == now || too_many(more) || !has_time()) continue;
      const std::optional<Cost> cost = try_copies(more);
      move.cycles = cost ? cost->cycles / cost_->cycles : 1;
      if (!better(cost, best) || cost->cycles > most * cost_->cycles) continue;
      best = cost;
      chosen = more;
    }
    std::erase_if(moves, [](const Move& move) { return std::isinf(move.cycles); });
    schedule().parallel = chosen;
    cost_ = best;
    return chosen != now;
  }

  std::optional<Cost> try_copies(const std::vector<Parallel>& copies) {
    ++tried_;
    schedule().parallel = copies;
    std::optional<Cost> cost = costs_.of_region(program_, region_);
    if (verbose_) log_.note(fmt::format("@{}: {}: {}", name(), copies_text(copies), tried(cost)));
    return cost;
  }

  bool has_time() const { return tried_ < kMostTried && costs_.effort() < most_effort_; }

  bool too_many(const std::vector<Parallel>& copies) const {
    return std::any_of(copies.begin(), copies.end(),
                       [&](const Parallel& entry) { return entry.factor > most_copies_; });
  }

  static std::string tried(const std::optional<Cost>& cost) {
    if (!cost) return "unknown";
    return std::isfinite(cost->cycles) ? fmt::format("{:.0f} cycles by estimate", cost->cycles)
                                       : "does not fit";
  }

  Program& program_;
  const size_t region_;
  CostModel& costs_;
  const bool verbose_;
  PassLog& log_;
  const std::vector<Parallel> given_;
  const int64_t most_copies_;  ///< of one loop
  const double most_effort_;
  std::map<std::string, int64_t> extents_;
  std::optional<Cost> cost_;
  int tried_ = 0;
};

/// Reads from memory what is kept from outside, and also stores there what the region computes.
/// Gives whether that changes anything.
bool use_memory(Region& region, bool intermediates) {
  const std::vector<UsePlacement> before = region.schedule.placements;
  const auto is_computed = [&](const UsePlacement& use) {
    return std::any_of(region.statements.begin(), region.statements.end(),
                       [&](const Statement& s) { return s.result == use.tensor; });
  };
  std::erase_if(region.schedule.placements, [&](const UsePlacement& use) {
    return use.placement == Placement::scratchpad && !is_computed(use);
  });
  for (UsePlacement& use : region.schedule.placements) {
    if (intermediates && use.placement == Placement::scratchpad) use.placement = Placement::memory;
  }
  return region.schedule.placements != before;
}

/// Why copies of a loop are refused; empty: they are not.
std::string why_no_copies(const Program& program, size_t region, const CopyLoop& loop) {
  if (loop.extent < 2) return "it has fewer than two elements";
  Program copied = program;
  copied.regions[region].schedule.parallel = {{loop.index, 2, false}};
  copied.regions[region].graph.reset();
  try {
    static_cast<void>(lower_region(copied, region));
    return "";
  } catch (const Error& error) {
    return error.diagnostics().empty() ? error.what() : error.diagnostics()[0].message;
  }
}

}  // namespace

std::vector<Parallel> doubled_copies(std::vector<Parallel> copies,
                                     const std::vector<std::string>& loops,
                                     const std::map<std::string, int64_t>& extents) {
  for (const std::string& loop : loops) {
    const auto found = std::find_if(copies.begin(), copies.end(),
                                    [&](const Parallel& entry) { return entry.index == loop; });
    const int64_t factor = found == copies.end() ? 1 : found->factor;
    if (2 * factor > extents.at(loop)) continue;
    if (found == copies.end()) {
      copies.push_back({loop, 2, false});
    } else {
      found->factor *= 2;
    }
  }
  return copies;
}

void choose_copies_of(Program& program, size_t region, const CopyLimits& limits, CostModel& costs,
                      PassLog& log) {
  CopySearch(program, region, limits, costs, false, log).run(loops_of(program, region));
}

std::vector<CopiedRegion> copies_of_region(CopiedRegion given, size_t region,
                                           const CopyLimits& limits, CostModel& costs) {
  std::vector<CopiedRegion> tried;
  const auto copy_loops = [&](CopiedRegion copied) {
    choose_copies_of(copied.program, region, limits, costs, copied.notes);
    copied.cost = costs.of_region(copied.program, region);
    tried.push_back(std::move(copied));
  };
  copy_loops(std::move(given));
  for (const bool intermediates : {false, true}) {
    CopiedRegion other = tried[0];
    if (use_memory(other.program.regions[region], intermediates)) copy_loops(std::move(other));
  }
  const auto key = [](const CopiedRegion& copied) {
    return copied.cost ? std::pair(copied.cost->cycles, copied.cost->dram_bytes)
                       : std::pair(std::numeric_limits<double>::infinity(), 0.0);
  };
  std::stable_sort(tried.begin() + 1, tried.end(),
                   [&](const CopiedRegion& a, const CopiedRegion& b) { return key(a) < key(b); });
  // What gains less than the margin over the placements as given may be slower.
  const auto stays_after = [&](const CopiedRegion& other) {
    auto [cycles, bytes] = key(other);
    return std::pair(cycles / (1 - costs.margin()), bytes) >= key(tried[0]);
  };
  const auto after = std::find_if(tried.begin() + 1, tried.end(), stays_after);
  std::rotate(tried.begin(), tried.begin() + 1, after);
  return tried;
}

Program choose_copies(Program program, CostModel& costs, bool verbose, PassLog& log) {
  return search_open_regions(std::move(program), costs, loops_of,
                             [&](Program& now, size_t region, const std::vector<CopyLoop>& loops) {
                               CopySearch(now, region, {}, costs, verbose, log).run(loops);
                             });
}

std::string copies_csv(const Program& given) {
  std::string text = "region,index,extent,copies,split,refused\n";
  for (size_t r = 0; r < given.regions.size(); ++r) {
    if (given.regions[r].statements.empty()) continue;
    Program program = given;
    PassLog unused;
    complete_schedule(program, r, unused);
    const Region& region = program.regions[r];
    const std::string kept = why_graph_stays(given, r);
    for (const CopyLoop& loop : loops_of(program, r)) {
      const Parallel* entry = copies_of(region.schedule, loop.index);
      const bool contiguous = entry != nullptr && entry->contiguous;
      text +=
          fmt::format("{},{},{},{},{},{}\n", csv_field(quote_if_needed(region.name)),
                      csv_field(quote_if_needed(loop.index)), loop.extent,
                      entry == nullptr ? 1 : entry->factor, contiguous ? "contiguous" : "cyclic",
                      csv_field(kept.empty() ? why_no_copies(program, r, loop) : kept));
    }
  }
  return text;
}

}  // namespace fuseflow
