#include "explore/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "graph/fingerprint.h"
#include "ir/copies.h"
#include "ir/names.h"
#include "lower/lower.h"
#include "sim/common/energy_of_run.h"
#include "sim/program_run.h"
#include "support/defect.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "support/latest.h"

namespace fuseflow {

namespace {

/// What nest_tuples had to leave, because a graph of the program reads it.
void refuse_tuples(const Evaluator::Lowered& lowered) {
  for (const Node& node : lowered.at().graph->nodes) {
    for_tensors(node, [&](TensorId id) {
      const Tensor& tensor = lowered.program.tensors[static_cast<size_t>(id)];
      const auto& levels = tensor.format.levels;
      if (std::find(levels.begin(), levels.end(), LevelKind::singleton) == levels.end()) return;
      throw Error(ExitCode::rejected,
                  fmt::format("%{} is stored as tuples, which a graph of the program reads; "
                              "expected compressed levels",
                              quote_if_needed(tensor.name)));
    });
  }
}

/// A region after the others of its point.
void add(PointResult& sum, const PointResult& region, const Amounts& pause) {
  sum.cycles = capped_sum(sum.cycles, capped_sum(region.cycles, capped_round(pause.cycles)));
  sum.flops += region.flops;
  sum.dram_bytes += capped_round(pause.dram_bytes) + region.dram_bytes;
  sum.scratchpad_bytes += region.scratchpad_bytes;
  sum.energy_pj =
      capped_sum(sum.energy_pj, capped_sum(region.energy_pj, capped_round(pause.energy_pj)));
}

PointResult sum_of(const std::vector<InputCopy>& copies) {
  PointResult sum;
  sum.status = PointStatus::simulated;
  for (const InputCopy& copy : copies) add(sum, copy.takes, {});
  return sum;
}

}  // namespace

std::string Trial::why_impossible(const PointResult& simulated) const {
  const Amounts found = amounts_of(simulated);
  const auto check = [&](const char* what, double lowest, double is) {
    if (is >= lowest) return std::string();
    return fmt::format("point {}: the bound {} is above the simulated {} {}", point.id, lowest, is,
                       what);
  };
  std::string why = check("cycles", least.cycles, found.cycles);
  if (why.empty()) why = check("pJ", least.energy_pj, found.energy_pj);
  if (why.empty()) why = check("bytes of memory", least.dram_bytes, found.dram_bytes);
  return why;
}

PointResult counted(const Program& program, const Graph& graph, const Machine& machine,
                    const RunResult& run) {
  const RegionEnergy energy =
      region_energy(program, graph, machine, work_of_run(graph, machine, run));
  return {PointStatus::simulated,
          run.cycles,
          run.flops,
          run.dram_read_bytes + run.dram_write_bytes,
          run.scratchpad_read_bytes + run.scratchpad_write_bytes,
          "",
          capped_round(energy.total_pj)};
}

std::optional<EstimatedPoint> Trial::estimated() const {
  const auto is_known = [](const Amounts& a) {
    return std::isfinite(a.cycles) && std::isfinite(a.energy_pj) && std::isfinite(a.dram_bytes);
  };
  if (!copies.empty() || !is_known(expected) || !is_known(least)) return std::nullopt;
  return EstimatedPoint{status == PointStatus::refused, graph, region, note, expected, least};
}

void Trial::take_estimate(const EstimatedPoint& known, Objective objective) {
  region = known.region;
  if (known.refused) {
    status = PointStatus::refused;
    note = known.note;
    return;
  }
  graph = known.graph;
  expected = known.expected;
  least = known.least;
  estimate = cost_of(objective, expected);
  bound = cost_of(objective, least);
}

uint64_t Evaluator::Lowered::fingerprint() const {
  uint64_t all = fuseflow::fingerprint(*at().graph);
  for (size_t part = 1; part < regions; ++part) {
    all = all * 0x9e3779b97f4a7c15 + fuseflow::fingerprint(*at(part).graph);
  }
  return std::max<uint64_t>(all, 1);
}

std::string Evaluator::Lowered::name() const {
  std::string names = at().name;
  for (size_t part = 1; part < regions; ++part) names += "; " + at(part).name;
  return names;
}

Evaluator::Lowered Evaluator::lower(const Point& point) const {
  RunAlone run = runs_.apply(point);
  Lowered result{std::move(run.slice.program),
                 run.region,
                 std::move(run.slice.tensors),
                 {},
                 point.planned ? point.planned->size() : 1};
  if (!result.at().graph) {
    result.program.regions[run.region].graph = lower_region(result.program, run.region);
    refuse_tuples(result);
  }
  for (const TensorId tensor : result.tensors) {
    const auto t = static_cast<size_t>(tensor);
    result.data.storage.push_back(t < data.storage.size() ? data.storage[t] : nullptr);
  }
  result.data.storage.resize(result.program.tensors.size());
  for (size_t t = result.tensors.size(); t < result.program.tensors.size(); ++t) {
    const Tensor& copy = result.program.tensors[t];  // in another order, made by the placement
    if (copy.source.kind == Source::Kind::none) continue;
    result.data.storage[t] = std::make_shared<const Storage>(
        load(copy.source, known_shape(copy), copy.format, copy.fill, {.element = copy.type}));
  }
  for (size_t part = 0; part < result.regions; ++part) {
    check_fits(result.program, result.at(part), machine_);
    for (const Statement& s : result.at(part).statements) {
      result.data.storage[static_cast<size_t>(s.result)] = nullptr;
    }
  }
  return result;
}

RegionEstimate Evaluator::estimate(Trial& trial, const Lowered& lowered) const {
  trial.region = lowered.name();
  trial.copies = copies(lowered);
  trial.expected = trial.least = amounts_of(sum_of(trial.copies));
  RegionEstimate first;
  for (size_t part = 0; part < lowered.regions; ++part) {
    RegionEstimate found =
        estimate_region(lowered.program, lowered.at(part), lowered.data, machine_);
    if (part > 0) {
      const Amounts pause = pause_of(machine_);
      trial.expected += pause;
      trial.least += {pause.cycles, std::floor(pause.energy_pj), pause.dram_bytes};
    }
    trial.expected +=
        {found.cycles, found.energy_pj, found.dram_read_bytes + found.dram_write_bytes};
    trial.least += {found.bound, std::floor(found.energy_bound_pj), found.dram_bytes_bound};
    if (part == 0) first = std::move(found);
  }
  trial.estimate = cost_of(objective_, trial.expected);
  trial.bound = cost_of(objective_, trial.least);
  return first;
}

PointResult Evaluator::simulate(Lowered& lowered, size_t part, int64_t goal, int64_t taken,
                                int threads) const {
  RunOptions options;
  options.executor = Executor::fast;
  options.threads = threads;
  options.max_cycles = goal > 0 ? goal - taken : 0;
  options.explain_deadlock = false;
  options.cancel = &interrupt_flag();
  const Graph& graph = *lowered.at(part).graph;
  const RunResult run = run_graph(lowered.program, graph, lowered.data, machine_, options);
  // How far a run got when it was cut depends on the executor; what it had to beat does not.
  if (run.finish == Finish::max_cycles) return {PointStatus::cut, goal, 0, 0, 0, ""};
  if (run.finish == Finish::cancelled) return {PointStatus::unvisited, 0, 0, 0, 0, ""};
  if (run.finish != Finish::done) {
    return {PointStatus::failed, 0, 0, 0, 0, run.finish == Finish::deadlock ? "deadlock" : "limit"};
  }
  for (const auto& [tensor, storage] : run.results) {
    lowered.data.storage[static_cast<size_t>(tensor)] = storage;
  }
  return counted(lowered.program, graph, machine_, run);
}

std::vector<InputCopy> Evaluator::copies(const Lowered& lowered) const {
  std::vector<InputCopy> made;
  std::set<TensorId> seen;
  for (size_t part = 0; part < lowered.regions; ++part) {
    for (const TensorId copy : copies_read(lowered.program, lowered.at(part))) {
      if (!seen.insert(copy).second) continue;
      const RegionEstimate e = estimate_region(lowered.program, copy_region(lowered.program, copy),
                                               lowered.data, machine_);
      PointResult takes;
      add(takes,
          {PointStatus::simulated, capped_round(e.cycles), 0,
           capped_round(e.dram_read_bytes + e.dram_write_bytes),
           capped_round(e.scratchpad_read_bytes + e.scratchpad_write_bytes), "",
           capped_round(e.energy_pj)},
          pause_of(machine_));
      const TensorId original = original_of(lowered.program, copy);
      made.push_back({lowered.tensors.at(static_cast<size_t>(original)),
                      lowered.program.tensors[static_cast<size_t>(copy)].format, takes});
    }
  }
  return made;
}

PointResult Evaluator::simulate(const Trial& trial, int64_t goal, TensorData* results,
                                int threads) const {
  Lowered lowered = lower(trial.point);
  PointResult cut{PointStatus::cut, goal, 0, 0, 0, ""};
  PointResult sum = sum_of(copies(lowered));
  for (size_t part = 0; part < lowered.regions; ++part) {
    const Amounts pause = part > 0 ? pause_of(machine_) : Amounts{};
    const int64_t taken = capped_sum(sum.cycles, capped_round(pause.cycles));
    if (goal > 0 && taken >= goal) return cut;
    PointResult region = simulate(lowered, part, goal, taken, threads);
    if (region.status != PointStatus::simulated) return region;
    add(sum, region, pause);
  }
  if (std::string why = trial.why_impossible(sum); !why.empty()) throw Defect(std::move(why));
  for (size_t part = 0; results != nullptr && part < lowered.regions; ++part) {
    for (const Statement& s : lowered.at(part).statements) {
      const auto t = static_cast<size_t>(s.result);
      if (t >= lowered.tensors.size()) continue;  // a copy that lowering made for this region
      auto& whole = results->storage.at(static_cast<size_t>(lowered.tensors[t]));
      if (lowered.data.storage[t]) whole = lowered.data.storage[t];
    }
  }
  return goal > 0 && sum.cycles >= goal ? cut : sum;
}

}  // namespace fuseflow
