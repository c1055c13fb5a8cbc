#include "estimate/pass_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "estimate/count_within.h"
#include "estimate/guessed.h"
#include "estimate/known_extents.h"
#include "ir/copies.h"
#include "ir/names.h"
#include "ir/print.h"
#include "ir/slice_regions.h"
#include "lower/completed_region.h"
#include "lower/lower.h"
#include "resources/resources.h"
#include "sim/program_run.h"
#include "support/error.h"
#include "support/stop.h"

namespace fuseflow {

/// Regions of a program that is not copied for each of them: what lowering makes of a region is
/// kept beside it, and the program is copied once where lowering, or reading tuples as nested
/// lists, changes more.
class LoweredRegions {
 public:
  LoweredRegions(const Program& given, KnownPhases& known) : given_(given), known_(known) {
    const auto has_tuples = [](const Tensor& tensor) {
      const auto& levels = tensor.format.levels;
      return std::find(levels.begin(), levels.end(), LevelKind::singleton) != levels.end();
    };
    if (std::any_of(given.tensors.begin(), given.tensors.end(), has_tuples)) {
      changed_ = given;
      nest_tuples(*changed_);
    }
  }

  const Program& program() const { return changed_ ? *changed_ : given_; }

  /// The region with its graph, lowered as whatever runs it would do, until another one is lowered;
  /// null where that is refused.
  const Region* lower(size_t region) {
    if (at(region).graph) return &at(region);
    try {
      return &lowered_.emplace(region, made(region)).first->second;
    } catch (const Error&) {
      return nullptr;
    }
  }

  /// The copies that a region, which is lowered, reads and no region before it. Of regions that are
  /// not lowered yet, lowering may find more.
  std::vector<TensorId> first_read_copies(size_t region) const {
    std::vector<TensorId> copies = copies_read(program(), at(region));
    std::set<TensorId> before;
    for (size_t r = 0; r < region && !copies.empty(); ++r) {
      for (const TensorId copy : copies_read(program(), at(r))) before.insert(copy);
    }
    std::erase_if(copies, [&](TensorId copy) { return before.contains(copy); });
    return copies;
  }

 private:
  const Region& at(size_t region) const {
    const auto found = lowered_.find(region);
    return found == lowered_.end() ? program().regions[region] : found->second;
  }

  Region made(size_t region) {
    LowerOptions options;
    options.names = false;
    options.known = &known_;
    CompletedRegion completed(program(), region, options);
    if (&completed.program() != &program()) changed_ = completed.program();
    return completed.take_region();
  }

  const Program& given_;
  KnownPhases& known_;
  std::optional<Program> changed_;
  std::map<size_t, Region> lowered_;
};

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
/// Entries of a pattern that are walked in the time of making a node.
constexpr double kEntriesPerNode = 64;
/// Rows of relations that counting makes in that time.
constexpr double kRowsPerNode = 100;
/// Rows that counting a region may make in any case, for each entry of what it reads, and for each
/// that the program given took.
constexpr double kLeastRows = 1 << 24;
constexpr double kRowsOfEntry = 16;
constexpr size_t kRowsOfFirst = 4;
/// Tokens of a program that is simulated in a tenth of a second.
constexpr double kFewTokens = 1e7;

/// `sum` keeps the limit of the region that was added last.
void add(Cost& sum, Cost more) {
  sum.limit = more.limit;
  sum.cycles += more.cycles;
  sum.dram_bytes += more.dram_bytes;
  sum.flops += more.flops;
  sum.tokens += more.tokens;
  sum.beyond += more.beyond;
  sum.guessed = sum.guessed || more.guessed;
  if (sum.doubt.empty()) sum.doubt = std::move(more.doubt);
}

/// The result of the statement whose node takes longest.
TensorId limit_of(const RegionEstimate& e, const Region& region) {
  const auto longest = std::max_element(e.busy.begin(), e.busy.end());
  if (longest == e.busy.end() || region.statements.empty()) return -1;
  const auto node = static_cast<size_t>(longest - e.busy.begin());
  const TensorId statement = region.graph->nodes[node].statement;
  return statement >= 0 ? statement : region.statements.back().result;
}

/// What choices go by.
Cost cost_of(const RegionEstimate& e, const Region& region) {
  Cost cost;
  cost.limit = limit_of(e, region);
  cost.cycles = e.cycles;
  cost.dram_bytes = e.dram_read_bytes + e.dram_write_bytes;
  cost.flops = e.flops;
  cost.tokens = e.tokens;
  return cost;
}

/// Whether a filter drops zeros of what a relu gives: half are taken to be (filter_rule.h).
bool guesses_values(const Graph& graph) {
  const auto producer = [&](const Input& in) -> const Node* {
    if (in.is_immediate()) return nullptr;
    const NodeId from = graph.streams[static_cast<size_t>(in.stream)].producer;
    return from < 0 ? nullptr : &graph.nodes[static_cast<size_t>(from)];
  };
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& filter) {
    if (filter.kind != NodeKind::filter || filter.init != 0) return false;
    const Node* node = producer(filter.inputs[0]);
    while (node != nullptr && (node->kind == NodeKind::buffer || node->kind == NodeKind::repeat)) {
      node = producer(node->inputs[0]);
    }
    return node != nullptr && node->kind == NodeKind::map && node->op == Op::relu;
  });
}

std::set<TensorId> tensors_touched(const Graph& graph) {
  std::set<TensorId> touched;
  for (const Node& node : graph.nodes) {
    for_tensors(node, [&](TensorId tensor) { touched.insert(tensor); });
  }
  return touched;
}

}  // namespace

/// Streams without bound and memory for free are estimated to a percent or so; what waits for
/// credits or for memory is not.
double EstimatedCosts::margin() const {
  return machine_.fifo_depth > 0 || machine_.dram.model != "none" ? 0.04 : 0;
}

std::shared_ptr<const Storage> PatternCache::of(const Program& program, TensorId id) {
  const auto t = static_cast<size_t>(id);
  const Tensor& tensor = program.tensors[t];
  if (!tensor.given() || tensor.format.all_dense()) return nullptr;
  std::string key = fmt::format("{} as {} fill {} of", to_string(tensor.source),
                                to_string(tensor.format), tensor.fill);
  for (const Extent& extent : tensor.shape) key += fmt::format(" {}", extent.value);
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  if (const std::string why = estimate::why_not_read(tensor); !why.empty()) {
    throw Error(ExitCode::rejected, why);
  }
  // The loader takes whole programs: one that reads this tensor alone.
  Program alone;
  alone.tensors = {tensor};
  Graph graph;
  graph.nodes.emplace_back();
  graph.nodes.back().kind = NodeKind::array;
  graph.nodes.back().tensor = 0;
  alone.regions.emplace_back();
  alone.regions.back().graph = std::move(graph);
  return known_[key] = load_tensors(alone).storage[0];
}

const estimate::TensorStatistics& StatisticsCache::of(
    const std::shared_ptr<const Storage>& pattern) {
  const auto found = known_.find(pattern);
  if (found != known_.end()) return found->second;
  return known_.emplace(pattern, estimate::statistics_of(*pattern)).first->second;
}

void EstimatedCosts::resize(TensorContents& known, size_t tensors) const {
  known.patterns.data.storage.resize(tensors);
  known.patterns.uncertain.resize(tensors, false);
  known.statistics.resize(tensors);
}

/// What is known of the inputs among these tensors, which a region touches.
void EstimatedCosts::add_inputs(const Program& program, const std::vector<TensorId>& touched,
                                TensorContents& known) {
  resize(known, program.tensors.size());
  for (const TensorId tensor : touched) {
    const auto t = static_cast<size_t>(tensor);
    if (!program.tensors[t].given()) continue;
    if (!without_data_.empty()) {
      if (known.statistics[t].levels.empty() && !program.tensors[t].format.all_dense()) {
        known.statistics[t] = estimate::guessed_statistics(program.tensors[t]);
      }
      continue;
    }
    std::shared_ptr<const Storage>& known_of = known.patterns.data.storage[t];
    known_of = patterns_.of(program, tensor);
    if (const Storage* storage = known_of.get()) {
      const auto entries = static_cast<double>(storage->positions(storage->rank() - 1));
      effort_ += entries / kEntriesPerNode;
    }
  }
}

/// From the data, or what was counted before; keeps the patterns that the region writes.
Cost EstimatedCosts::counted(const Program& program, const Region& region, KnownPatterns& known) {
  CountedRegions::Key key = CountedRegions::key_of(program, region, known);
  const CountedRegion* found = counted_.find(key);
  if (found == nullptr) found = &counted_.keep(std::move(key), count(program, region, known));
  for (const CountedRegion::Written& written : found->written) {
    known.data.storage[static_cast<size_t>(written.tensor)] = written.pattern;
    known.uncertain[static_cast<size_t>(written.tensor)] = written.uncertain;
  }
  return found->cost;
}

/// What counting a region may take: a program that takes far more than the one given, and than its
/// entries, is not what anybody looks for.
size_t EstimatedCosts::most_rows(const KnownPatterns& known) const {
  if (!has_first_) return SIZE_MAX;
  double entries = 0;
  for (const std::shared_ptr<const Storage>& pattern : known.data.storage) {
    if (pattern) entries += static_cast<double>(pattern->positions(pattern->rank() - 1));
  }
  return std::max(static_cast<size_t>(kLeastRows + kRowsOfEntry * entries),
                  kRowsOfFirst * first_rows_);
}

CountedRegion EstimatedCosts::count(const Program& program, const Region& region,
                                    const KnownPatterns& known) {
  KnownPatterns after = known;
  const size_t most = most_rows(known);
  size_t left = most;
  const RegionEstimate e = time_region_within(left, program, region, after.data, after.uncertain,
                                              machine_, phase_counts_);
  if (!has_first_) first_rows_ += most - left;
  effort_ += static_cast<double>(most - left) / kRowsPerNode;
  CountedRegion counted{cost_of(e, region), {}};
  counted.cost.guessed = guesses_values(*region.graph);
  if (!e.certain) {
    counted.cost.doubt =
        fmt::format("values decide how much flows in region @{}", quote_if_needed(region.name));
  }
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    if (after.data.storage[t] == known.data.storage[t]) continue;
    counted.written.push_back(
        {static_cast<TensorId>(t), after.data.storage[t], after.uncertain[t]});
  }
  return counted;
}

Cost EstimatedCosts::from_statistics(const Program& program, const Region& region,
                                     TensorContents& known) {
  Cost cost =
      cost_of(time_region_from_statistics(program, region, known.statistics, machine_), region);
  cost.doubt = "from statistics, because " + without_data_;
  return cost;
}

/// Estimates a region with a graph and keeps the patterns that it writes. The region is looked at
/// alone, so that the time for it does not grow with the program.
Cost EstimatedCosts::estimate_into(const Program& program, const Region& region,
                                   TensorContents& known) {
  stop_if_asked();
  const std::set<TensorId> touched = tensors_touched(*region.graph);
  add_inputs(program, {touched.begin(), touched.end()}, known);
  for (const Statement& s : region.statements) {
    const auto t = static_cast<size_t>(s.result);
    if (program.tensors[t].given()) continue;  // a copy has the data of its source
    known.patterns.data.storage[t] = nullptr;
    known.statistics[t] = {};
  }
  if (program.regions.size() == 1) return estimate_alone(program, region, known);
  const RegionSlice slice = slice_region(program, region);
  TensorContents seen;
  for (const TensorId tensor : slice.tensors) {
    const auto t = static_cast<size_t>(tensor);
    seen.patterns.data.storage.push_back(known.patterns.data.storage[t]);
    seen.patterns.uncertain.push_back(known.patterns.uncertain[t]);
    seen.statistics.push_back(known.statistics[t]);
  }
  Cost cost = estimate_alone(slice.program, slice.program.regions[0], seen);
  if (cost.limit >= 0) cost.limit = slice.tensors[static_cast<size_t>(cost.limit)];
  for (size_t i = 0; i < slice.tensors.size(); ++i) {
    const auto t = static_cast<size_t>(slice.tensors[i]);
    known.patterns.data.storage[t] = std::move(seen.patterns.data.storage[i]);
    known.patterns.uncertain[t] = seen.patterns.uncertain[i];
    known.statistics[t] = std::move(seen.statistics[i]);
  }
  return cost;
}

Cost EstimatedCosts::estimate_alone(const Program& program, const Region& region,
                                    TensorContents& known) {
  Cost cost = without_data_.empty() ? counted(program, region, known.patterns)
                                    : from_statistics(program, region, known);
  if (!why_too_large(program, region, *region.graph, machine_).empty()) {
    cost.cycles = kNever;
    cost.beyond = share_beyond(program, *region.graph, machine_);
  }
  return cost;
}

/// Lowers the region as whatever runs it would; null where that is refused.
const Region* EstimatedCosts::lower_in(LoweredRegions& lowered, size_t region) {
  const Region* const next = lowered.lower(region);
  if (next != nullptr) effort_ += static_cast<double>(next->graph->nodes.size());
  return next;
}

/// What it takes to make the copies that a region is the first to read.
Cost EstimatedCosts::copies_before(const LoweredRegions& lowered, size_t region,
                                   TensorContents& known) {
  Cost sum;
  const Program& program = lowered.program();
  for (const TensorId copy : lowered.first_read_copies(region)) {
    add(sum, estimate_into(program, copy_region(program, copy), known));
    sum.cycles += pause();
  }
  return sum;
}

std::optional<Cost> EstimatedCosts::run(const Program& given, TensorContents& known) {
  std::optional<Cost> cost = run_regions(given, known);
  has_first_ = true;
  return cost;
}

std::optional<Cost> EstimatedCosts::run_regions(const Program& given, TensorContents& known) {
  LoweredRegions lowered(given, phases());
  Cost total;
  try {
    require_known_extents(given);
    for (size_t r = 0; r < given.regions.size(); ++r) {
      const Region* const region = lower_in(lowered, r);
      if (region == nullptr) return Cost{kNever, kNever, ""};
      add(total, copies_before(lowered, r, known));
      add(total, estimate_into(lowered.program(), *region, known));
      if (r > 0) total.cycles += pause();
    }
  } catch (const Error& problem) {
    if (without_data_.empty()) {
      const Diagnostic& why = problem.diagnostics().front();
      without_data_ = (why.where.file.empty() ? "" : why.where.file + ": ") + why.message;
    }
    return std::nullopt;
  }
  return total;
}

std::optional<Cost> EstimatedCosts::learn(const Program& given) {
  learned_ = {};
  without_data_.clear();
  std::optional<Cost> cost = run(given, learned_);
  if (!cost) {
    learned_ = {};
    cost = run(given, learned_);
  }
  resize(learned_, given.tensors.size());  // other programs have other copies after these
  return cost;
}

void EstimatedCosts::take_over(const EstimatedCosts& other) {
  patterns_ = other.patterns_;
  statistics_ = other.statistics_;
  counted_ = other.counted_;
  without_data_ = other.without_data_;
  learned_ = other.learned_;
  first_rows_ = other.first_rows_;
  has_first_ = other.has_first_;
}

std::optional<Cost> EstimatedCosts::of_regions(const Program& given,
                                               const std::vector<size_t>& regions) {
  return of_regions(given, regions, learned_);
}

std::optional<Cost> EstimatedCosts::of_slice(const Program& slice,
                                             const std::vector<TensorId>& tensors,
                                             const std::vector<size_t>& regions) {
  TensorContents known;
  resize(known, slice.tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto t = static_cast<size_t>(tensors[i]);
    if (t >= learned_.statistics.size()) continue;  // a copy that was not there
    known.patterns.data.storage[i] = learned_.patterns.data.storage[t];
    known.patterns.uncertain[i] = learned_.patterns.uncertain[t];
    known.statistics[i] = learned_.statistics[t];
  }
  return of_regions(slice, regions, std::move(known));
}

std::optional<Cost> EstimatedCosts::of_regions(const Program& given,
                                               const std::vector<size_t>& regions,
                                               TensorContents known) {
  LoweredRegions lowered(given, phases());
  Cost sum;
  try {
    for (const size_t r : regions) {
      const Region* const region = lower_in(lowered, r);
      if (region == nullptr) return Cost{kNever, kNever, ""};
      add(sum, copies_before(lowered, r, known));
      add(sum, estimate_into(lowered.program(), *region, known));
    }
  } catch (const Error&) {
    return std::nullopt;  // too large to be counted, or not followed
  }
  return sum;
}

/// A region with a graph. `known`: of what was guessed before; adds what the region writes. Else
/// patterns are as they were learned.
Cost EstimatedCosts::guess(const Program& program, const Region& region,
                           std::vector<estimate::TensorStatistics>& known) {
  std::set<TensorId> read = tensors_touched(*region.graph);
  for (const Statement& s : region.statements) {
    known[static_cast<size_t>(s.result)] = {};
    if (!program.tensors[static_cast<size_t>(s.result)].given()) read.erase(s.result);
  }
  for (const TensorId tensor : read) {
    const auto t = static_cast<size_t>(tensor);
    if (!known[t].levels.empty()) continue;
    std::shared_ptr<const Storage> pattern;
    if (program.tensors[t].given()) {
      pattern = patterns_.of(program, tensor);
    } else if (t < learned_.patterns.data.storage.size()) {
      pattern = learned_.patterns.data.storage[t];
    }
    if (pattern) known[t] = statistics_.of(pattern);
  }
  return cost_of(time_region_from_statistics(program, region, known, machine_), region);
}

std::optional<Cost> EstimatedCosts::guess_of_regions(const Program& given,
                                                     const std::vector<size_t>& regions) {
  if (!without_data_.empty()) return std::nullopt;
  LoweredRegions lowered(given, phases());
  std::vector<estimate::TensorStatistics> known(given.tensors.size());
  Cost sum;
  try {
    for (const size_t r : regions) {
      const Region* const region = lower_in(lowered, r);
      if (region == nullptr) return std::nullopt;
      const Program& program = lowered.program();
      known.resize(program.tensors.size());  // lowering may have made copies
      for (const TensorId copy : lowered.first_read_copies(r)) {
        add(sum, guess(program, copy_region(program, copy), known));
        sum.cycles += pause();
      }
      add(sum, guess(program, *region, known));
    }
  } catch (const Error&) {
    return std::nullopt;
  }
  return sum;
}

std::optional<double> EstimatedCosts::simulated(const Program& given) {
  const auto [known, is_new] = simulated_.try_emplace(print_program(given));
  if (is_new) known->second = simulate(given);
  return known->second;
}

std::optional<double> EstimatedCosts::simulate(const Program& given) {
  const std::optional<Cost> cost = of_program(given);
  if (!cost || cost->tokens > kFewTokens) return std::nullopt;
  try {
    const Program lowered = lower_silently(given);
    RunOptions options;
    options.explain_deadlock = false;
    const ProgramRun run = run_program(lowered, load_tensors(lowered), machine_, options);
    return run.finish == Finish::done ? static_cast<double>(total_cycles(run, machine_)) : kNever;
  } catch (const Error&) {
    return std::nullopt;  // the machine has no room for it, or its data cannot be read
  }
}

std::optional<Cost> EstimatedCosts::of_program(const Program& given) {
  const std::string before = without_data_;
  TensorContents known;
  std::optional<Cost> cost = run(given, known);
  without_data_ = before;
  return cost;
}

}  // namespace fuseflow
