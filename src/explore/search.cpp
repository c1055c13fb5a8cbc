#include "explore/search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>

#include "explore/fingerprint.h"
#include "explore/partition.h"
#include "ir/print.h"
#include "lower/lower.h"
#include "machine/load.h"
#include "sim/program_run.h"
#include "support/error.h"

namespace fuseflow {

namespace {

class Search {
 public:
  Search(const Program& kernels, const Machine& machine, const SearchOptions& options)
      : kernels_(kernels),
        machine_(machine),
        options_(options),
        runs_(kernels),
        journal_(options.journal, identity()),
        limit_threads_(tbb::global_control::max_allowed_parallelism,
                       static_cast<size_t>(std::max(1, options.threads))) {}

  SearchResult run() {
    for (Point& point : enumerate_points(kernels_, machine_, options_.space)) {
      Trial trial;
      trial.status = point.refused.empty() ? "" : "refused";
      trial.note = point.refused;
      trial.point = std::move(point);
      out_.trials.push_back(std::move(trial));
    }
    data_ = intermediate_data();
    known_ = journal_.found();
    for (const std::string& shard : options_.merge) {
      for (auto& [id, result] : read_shard(shard)) known_[id] = result;
    }
    estimate_all();
    simulate_all();
    choose();
    return std::move(out_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// What a journal must have been written for.
  std::string identity() const {
    const std::string text = fmt::format("{}{}{} {} {}", print_program(kernels_),
                                         print_machine(machine_), options_.space.max_kernels,
                                         options_.space.max_orders, options_.space.max_placements);
    uint64_t hash = 0xcbf29ce484222325ULL;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    return fmt::format("{:016x}", hash);
  }

  void show(size_t done, size_t all, const std::string& what) const {
    if (options_.progress) options_.progress(done, all, what);
  }

  bool out_of_time() const {
    return options_.budget_seconds > 0 &&
           std::chrono::duration<double>(Clock::now() - start_).count() > options_.budget_seconds;
  }

  /// Inputs, and every intermediate as the unfused program stores it.
  TensorData intermediate_data() const {
    show(0, kernels_.regions.size(), "running the unfused program");
    Program base = kernels_;
    for (size_t r = 0; r < base.regions.size(); ++r) {
      Point plain;
      base.regions[r].graph.reset();
      base = apply_point(std::move(base), r, plain);
    }
    base = lower_program(std::move(base));
    const Machine unbounded;
    RunOptions options;
    options.executor = Executor::fast;
    options.threads = options_.threads;
    ProgramRun run = run_program(base, load_tensors(base), unbounded, options);
    if (run.finish != Finish::done) {
      throw Error(ExitCode::unfinished, "the unfused program does not finish");
    }
    return std::move(run.data);
  }

  struct Lowered {
    Program program;
    size_t region = 0;
    TensorData data;
    const Region& at() const { return program.regions[region]; }
  };

  Lowered lower(const Point& point) const {
    Runs::Run run = runs_.make(point.first, point.last);
    Lowered result{apply_point(std::move(run.program), run.region, point), run.region, data_};
    result.program.regions[run.region].graph = lower_region(result.program, run.region);
    check_fits(result.program, result.at(), machine_);
    result.data.storage.resize(result.program.tensors.size());
    for (size_t t = data_.storage.size(); t < result.program.tensors.size(); ++t) {
      const Tensor& copy = result.program.tensors[t];  // in another order, made by the placement
      if (copy.source.kind == Source::Kind::none) continue;
      result.data.storage[t] = std::make_shared<const Storage>(
          load(copy.source, known_shape(copy), copy.format, copy.fill));
    }
    for (const Statement& s : result.at().statements) {
      result.data.storage[static_cast<size_t>(s.result)] = nullptr;
    }
    return result;
  }

  // --- estimates

  void estimate_all() {
    std::vector<uint64_t> prints(out_.trials.size(), 0);
    std::atomic<size_t> done = 0;
    tbb::parallel_for(size_t{0}, out_.trials.size(), [&](size_t i) {
      Trial& trial = out_.trials[i];
      if (trial.status.empty()) prints[i] = estimate_one(trial);
      show(++done, out_.trials.size(), "estimating");
    });
    std::map<std::tuple<size_t, size_t, uint64_t>, size_t> seen;
    for (size_t i = 0; i < prints.size(); ++i) {
      Trial& trial = out_.trials[i];
      if (!trial.status.empty()) continue;
      const auto [first, fresh] =
          seen.try_emplace({trial.point.first, trial.point.last, prints[i]}, i);
      if (fresh) continue;
      trial.status = "same";
      trial.note = fmt::format("as point {}", first->second);
    }
  }

  uint64_t estimate_one(Trial& trial) const {
    try {
      const Lowered lowered = lower(trial.point);
      trial.region = lowered.at().name;
      const RegionEstimate estimate =
          estimate_region(lowered.program, lowered.at(), lowered.data, machine_);
      trial.estimate = estimate.cycles;
      trial.bound = estimate.bound;
      return fingerprint(*lowered.at().graph);
    } catch (const Error& error) {
      if (error.code() == ExitCode::internal) throw;
      trial.status = "refused";
      trial.note = error.what();
      return 0;
    }
  }

  // --- simulation

  void simulate_all() {
    simulate(first_points(), 0);
    const std::vector<double> known = costs([](const Trial& t) {
      return t.status == "simulated" ? static_cast<double>(t.result.cycles) : kNone;
    });
    const Partition incumbent(runs_.size(), known, pause());
    const std::vector<double> least = costs([](const Trial& t) {
      if (t.status == "simulated") return static_cast<double>(t.result.cycles);
      return t.status.empty() || t.status == "failed" ? t.bound : kNone;
    });
    const Partition bounds(runs_.size(), least, pause());
    std::vector<size_t> left;
    for (size_t i = 0; i < out_.trials.size(); ++i) {
      Trial& trial = out_.trials[i];
      if (!trial.status.empty()) continue;
      const double others = bounds.around(trial.point.first, trial.point.last);
      const double same = known[slot(trial.point.first, trial.point.last)];
      // What it has to beat: the best program so far, and the same kernels as placed before.
      const double goal = std::min(incumbent.total() - others, same);
      if (trial.bound >= goal) {
        trial.status = "pruned";
      } else {
        trial.result.cycles = std::isfinite(goal) ? static_cast<int64_t>(std::ceil(goal)) : 0;
        left.push_back(i);
      }
    }
    std::stable_sort(left.begin(), left.end(), [&](size_t a, size_t b) {
      return out_.trials[a].estimate < out_.trials[b].estimate;
    });
    simulate(left, 1);
  }

  /// Fixed from the start: the estimated best of every kernel alone, and the regions of the
  /// estimated best partition.
  std::vector<size_t> first_points() const {
    const std::vector<double> estimates =
        costs([](const Trial& t) { return t.status.empty() ? t.estimate : kNone; });
    const Partition best(runs_.size(), estimates, pause());
    if (!std::isfinite(best.total())) throw_empty();
    std::vector<std::pair<size_t, size_t>> wanted = best.intervals();
    for (size_t k = 0; k < runs_.size(); ++k) wanted.emplace_back(k, k);
    std::vector<size_t> result;
    for (const auto& [first, last] : wanted) {
      const size_t none = out_.trials.size();
      size_t least = none;
      for (size_t i = 0; i < none; ++i) {
        const Trial& t = out_.trials[i];
        if (t.point.first != first || t.point.last != last || !t.status.empty()) continue;
        if (least == none || t.estimate < out_.trials[least].estimate) least = i;
      }
      if (least != none) result.push_back(least);
    }
    std::sort(result.begin(), result.end());
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
  }

  [[noreturn]] void throw_empty() const {
    for (size_t k = 0; k < runs_.size(); ++k) {
      const bool any = std::any_of(out_.trials.begin(), out_.trials.end(), [&](const Trial& t) {
        return t.point.first <= k && t.point.last >= k && t.status.empty();
      });
      if (any) continue;
      std::string why = "no point";
      for (const Trial& t : out_.trials) {
        if (t.point.first == k && t.point.last == k && !t.note.empty()) why = t.note;
      }
      throw Error(ExitCode::rejected,
                  fmt::format("the search space is empty: no region with kernel @{} is possible on "
                              "machine {}: {}",
                              kernels_.regions[k].name, machine_.name, why));
    }
    throw Error(ExitCode::rejected,
                "the search space is empty: no partition into possible regions exists");
  }

  /// In parallel. Stage 0 is done by every shard, stage 1 is divided.
  void simulate(const std::vector<size_t>& points, int stage) {
    std::atomic<size_t> done = 0;
    tbb::parallel_for(size_t{0}, points.size(), [&](size_t i) {
      Trial& trial = out_.trials[points[i]];
      const size_t id = trial.point.id;
      const int64_t goal = trial.result.cycles;
      const auto found = known_.find(id);
      if (found != known_.end()) {
        trial.result = found->second;
        trial.status = trial.result.status;
      } else if (!options_.merge.empty()) {
        trial.status = "unvisited";
      } else if (stage == 1 && id % options_.shards != options_.shard) {
        trial.status = "elsewhere";
      } else if (out_of_time()) {
        trial.status = "unvisited";
      } else {
        trial.result = simulate_one(trial, goal);
        trial.status = trial.result.status;
        journal_.append(id, trial.result);
      }
      const bool ran = trial.status == "simulated" || trial.status == "cut";
      trial.note = ran ? trial.note : trial.result.note;
      if (!ran && trial.status != "failed") trial.result = {};
      show(++done, points.size(), stage == 0 ? "simulating first points" : "simulating");
    });
  }

  PointResult simulate_one(const Trial& trial, int64_t goal) const {
    const Lowered lowered = lower(trial.point);
    RunOptions options;
    options.executor = Executor::fast;
    options.threads = 1;
    options.max_cycles = goal;
    options.explain_deadlock = false;
    const RunResult run =
        run_graph(lowered.program, *lowered.at().graph, lowered.data, machine_, options);
    PointResult result;
    result.cycles = run.cycles;
    result.flops = run.flops;
    result.dram_bytes = run.dram_read_bytes + run.dram_write_bytes;
    result.scratchpad_bytes = run.scratchpad_read_bytes + run.scratchpad_write_bytes;
    if (run.finish == Finish::done) {
      result.status = "simulated";
      if (static_cast<double>(run.cycles) < trial.bound) {
        throw Error(ExitCode::internal,
                    fmt::format("point {}: the bound {} is above the simulated {} cycles",
                                trial.point.id, trial.bound, run.cycles));
      }
    } else if (run.finish == Finish::max_cycles) {
      // How far a run got when it was cut depends on the executor; what it had to beat does not.
      result = {"cut", goal, 0, 0, 0, ""};
    } else {
      result = {"failed", 0, 0, 0, 0, run.finish == Finish::deadlock ? "deadlock" : "limit"};
    }
    return result;
  }

  // --- partitions

  size_t slot(size_t first, size_t last) const { return first * runs_.size() + last; }
  double pause() const { return static_cast<double>(machine_.reconfiguration_cycles); }

  /// The least cost of a point for each run of kernels.
  template <typename Cost>
  std::vector<double> costs(const Cost& cost) const {
    std::vector<double> least(runs_.size() * runs_.size(), kNone);
    for (const Trial& t : out_.trials) {
      double& entry = least[slot(t.point.first, t.point.last)];
      entry = std::min(entry, cost(t));
    }
    return least;
  }

  void choose() {
    const std::vector<double> known = costs([](const Trial& t) {
      return t.status == "simulated" ? static_cast<double>(t.result.cycles) : kNone;
    });
    double unfused = -pause();
    for (size_t k = 0; k < runs_.size(); ++k) unfused += known[slot(k, k)] + pause();
    if (std::isfinite(unfused)) out_.unfused = static_cast<int64_t>(unfused);
    const bool whole = options_.shards == 1;
    const Partition best(runs_.size(), known, pause());
    if (!whole || !std::isfinite(best.total())) return;
    out_.best = static_cast<int64_t>(best.total());
    std::vector<size_t> starts;
    std::vector<const Trial*> chosen;
    for (const auto& [first, last] : best.intervals()) {
      starts.push_back(first);
      for (Trial& t : out_.trials) {
        const bool here = t.point.first == first && t.point.last == last;
        if (!here || t.status != "simulated") continue;
        if (static_cast<double>(t.result.cycles) != known[slot(first, last)]) continue;
        t.best = true;
        chosen.push_back(&t);
        break;
      }
    }
    out_.program = assemble(starts, chosen);
  }

  Program assemble(const std::vector<size_t>& starts,
                   const std::vector<const Trial*>& chosen) const {
    Program program = runs_.partition(starts);
    for (const Trial* trial : chosen) {
      const TensorId wanted = kernels_.regions[trial->point.first].statements[0].result;
      for (size_t r = 0; r < program.regions.size(); ++r) {
        const std::vector<Statement>& all = program.regions[r].statements;
        if (std::none_of(all.begin(), all.end(),
                         [&](const Statement& s) { return s.result == wanted; })) {
          continue;
        }
        program = apply_point(std::move(program), r, trial->point);
        break;
      }
    }
    return program;
  }

  const Program& kernels_;
  const Machine& machine_;
  const SearchOptions& options_;
  const Runs runs_;
  Journal journal_;
  tbb::global_control limit_threads_;
  const Clock::time_point start_ = Clock::now();
  TensorData data_;
  std::map<size_t, PointResult> known_;
  SearchResult out_;
};

}  // namespace

SearchResult search(const Program& kernels, const Machine& machine, const SearchOptions& options) {
  return Search(kernels, machine, options).run();
}

std::string search_csv(const Program& kernels, const Machine& machine, const SearchResult& result) {
  std::string text =
      "schema,program,machine,point,first_kernel,last_kernel,region,placement,order,status,"
      "estimated_cycles,bound_cycles,cycles,flops,dram_bytes,scratchpad_bytes,best,note\n";
  const std::string start =
      fmt::format("1,{},{},", csv_field(kernels.name), csv_field(machine.name));
  for (const Trial& t : result.trials) {
    const bool ran = t.status == "simulated" || t.status == "cut" || t.status == "failed";
    const bool estimated = t.estimate > 0;
    text += fmt::format(
        "{}{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", start, t.point.id, t.point.first,
        t.point.last, csv_field(t.region), csv_field(t.point.recipe.name),
        csv_field(fmt::format("{}", fmt::join(t.point.order, " "))), t.status,
        estimated ? fmt::format("{:.0f}", t.estimate) : "",
        estimated ? fmt::format("{:.0f}", t.bound) : "",
        ran ? fmt::format("{}", t.result.cycles) : "", ran ? fmt::format("{}", t.result.flops) : "",
        ran ? fmt::format("{}", t.result.dram_bytes) : "",
        ran ? fmt::format("{}", t.result.scratchpad_bytes) : "", t.best ? "yes" : "",
        csv_field(t.note));
  }
  const auto total = [&](const char* name, int64_t cycles) {
    if (cycles <= 0) return;
    text += fmt::format("{}{},0,{},total,,,total,,,{},,,,,\n", start, name,
                        kernels.regions.size() - 1, cycles);
  };
  total("unfused", result.unfused);
  total("best", result.best);
  return text;
}

}  // namespace fuseflow
