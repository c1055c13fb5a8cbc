#include "machine_case.h"

#include <algorithm>
#include <array>
#include <optional>
#include <random>

#include "check.h"
#include "machine/check.h"
#include "machine/load.h"
#include "recipe.h"
#include "shrink.h"
#include "sim/advice.h"
#include "sim/fast_executor.h"

namespace fuseflow::testing {
namespace {

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed * 0x9E3779B97F4A7C15ULL + 1) {}
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  template <size_t N>
  int64_t one_of(const std::array<int64_t, N>& values) {
    return values[static_cast<size_t>(below(N))];
  }

 private:
  std::mt19937_64 random_;
};

void draw_memory(Draw& draw, DramModel& dram) {
  dram.model = std::array{"none", "fixed", "banked", "comal"}[static_cast<size_t>(draw.below(4))];
  dram.burst_bytes = draw.one_of<5>({4, 8, 16, 64, 64});
  dram.interleave_bytes = dram.burst_bytes * draw.one_of<3>({1, 4, 16});
  dram.row_bytes = dram.burst_bytes * draw.one_of<3>({1, 4, 16});
  dram.channels = draw.one_of<4>({1, 3, 16, 64});
  dram.outstanding = draw.one_of<6>({1, 1, 2, 3, 8, 64});
  dram.latency_cycles = draw.one_of<5>({1, 2, 40, 500, 5000});
  dram.interval_cycles = draw.one_of<3>({1, 2, 9});
  dram.queue_depth = draw.one_of<3>({1, 4, 32});
  dram.most_bypassed = draw.one_of<3>({1, 4, 64});
  dram.bank_groups = draw.one_of<3>({1, 2, 4});
  dram.banks_per_group = draw.one_of<3>({1, 2, 4});
}

/// How the engine is tuned must not show.
EngineTuning draw_tuning(Draw& draw) {
  EngineTuning tuning;
  tuning.chunk = static_cast<uint32_t>(draw.one_of<4>({2, 5, 64, 16384}));
  tuning.few = static_cast<uint32_t>(draw.one_of<2>({4, 256}));
  tuning.run_length_from = static_cast<uint32_t>(draw.one_of<3>({0, 4, 32}));
  tuning.alone = draw.one_of<2>({1, 256});
  tuning.scatter = draw.below(4) == 0;
  return tuning;
}

/// One program on one machine, region by region.
class MachineCheck {
 public:
  MachineCheck(Program program, uint64_t machine_seed)
      : draw_(machine_seed + 1),
        machine_(draw_machine(machine_seed)),
        program_(std::move(program)) {
    unlimited_ = machine_;
    unlimited_.dram.model = "none";
  }

  std::string run() {
    try {
      program_ = lower_program(std::move(program_));
      data_.storage = load_inputs(program_);
    } catch (const Error& error) {
      return error.code() == ExitCode::rejected ? "" : error.what();
    }
    data_.storage.resize(program_.tensors.size());
    const std::vector<Value> expected = evaluate(program_, data_.storage);
    for (const Region& region : program_.regions) {
      if (!why_too_large(program_, region, *region.graph, machine_).empty()) return "";
      std::string wrong;
      try {
        const auto fitted = with_shallower_buffers(program_, *region.graph, machine_);
        wrong = check(fitted ? *fitted : *region.graph, expected);
      } catch (const std::exception& error) {
        wrong = error.what();
      }
      if (!wrong.empty()) return fmt::format("region @{}: {}", region.name, wrong);
      if (!ended_) return "";
    }
    return "";
  }

 private:
  std::string check(const Graph& graph, const std::vector<Value>& expected) {
    RunOptions quiet;
    quiet.full_streams = true;
    quiet.explain_deadlock = false;
    const RunResult naive = interpret_graph(program_, graph, data_, unlimited_, quiet);
    ended_ = naive.finish == Finish::done;
    RunOptions threaded = quiet;
    threaded.threads = static_cast<int>(1 + draw_.below(4));
    const EngineTuning tuning = draw_tuning(draw_);
    const RunResult fast = run_fast(program_, graph, data_, unlimited_, threaded, tuning);
    const std::string differs = difference(naive, fast);
    if (!differs.empty()) return "the executors differ: " + differs;
    if (!ended_) return check_advice(graph);
    if (machine_.dram.model != "none") {
      std::string wrong = check_memory(graph, naive);
      if (!wrong.empty()) return wrong;
    }
    for (const auto& [tensor, storage] : naive.results) {
      data_.storage[static_cast<size_t>(tensor)] = storage;
      const Value actual = value_of(storage);
      const Value& value = expected[static_cast<size_t>(tensor)];
      if (compare(actual, value).passes(0)) continue;
      return fmt::format("%{} {}", program_.tensors[static_cast<size_t>(tensor)].name,
                         first_difference(actual, value));
    }
    return "";
  }

  /// With the memory model: the same but for times, which do not depend on the tuning.
  std::string check_memory(const Graph& graph, const RunResult& plain) {
    std::optional<RunResult> first;
    for (int turn = 0; turn < 2; ++turn) {
      const EngineTuning tuning = turn == 0 ? EngineTuning{} : draw_tuning(draw_);
      const RunResult run = run_fast(program_, graph, data_, machine_, {}, tuning);
      if (run.finish != Finish::done) return "a deadlock for the memory model's sake";
      if (run.tokens != plain.tokens) return "the memory model changes tokens";
      if (run.dram_read_bytes != plain.dram_read_bytes) return "the memory model changes bytes";
      const std::string results = different_results(plain, run);
      if (!results.empty()) return "the memory model changes " + results;
      if (!first) first = run;
      const std::string differs = difference(*first, run);
      if (!differs.empty()) return "with memory, tuning changes " + differs;
    }
    return "";
  }

  std::string check_advice(const Graph& graph) {
    const DepthAdvice advice = find_fifo_depth(program_, graph, data_, unlimited_, {});
    if (advice.depth == 0) return "";
    RunOptions quiet;
    quiet.full_streams = true;
    quiet.explain_deadlock = false;
    for (const int64_t depth : {advice.depth, advice.depth - 1}) {
      Machine machine = unlimited_;
      machine.fifo_depth = depth;
      const bool ends =
          interpret_graph(program_, graph, data_, machine, quiet).finish == Finish::done;
      if (ends != (depth == advice.depth)) {
        return fmt::format("depth {} is advised, but depth {} {}", advice.depth, depth,
                           ends ? "ends" : "deadlocks");
      }
    }
    return "";
  }

  Draw draw_;
  const Machine machine_;
  Machine unlimited_;  // the same without the memory model
  Program program_;
  TensorData data_;
  bool ended_ = false;
};

}  // namespace

Machine draw_machine(uint64_t seed) {
  Draw draw(seed);
  Machine m;
  m.name = "drawn";
  m.fifo_depth = draw.below(3) == 0 ? 0 : 1 + draw.below(8);
  m.accumulate_drain_interval_cycles = draw.below(3);
  m.accumulate_outer_stops_take_steps = draw.below(3) == 0;
  m.accumulate_double_buffered = draw.below(2) == 0;
  m.write_stops_take_steps = draw.below(3) == 0;
  for (OperatorTiming& slow : m.operators) {
    slow = {draw.one_of<3>({0, 7, 30}), draw.one_of<3>({0, 1, 5})};
  }
  m.phases_hold_units_together = draw.below(2) == 0;
  for (UnitTiming& unit : m.units) {
    unit.latency_cycles = draw.one_of<6>({1, 1, 2, 3, 17, 1000});
    unit.interval_cycles = draw.one_of<6>({1, 1, 1, 2, 3, 50});
  }
  m.scratchpad.bytes = draw.one_of<4>({0, 0, 256, 4096});
  m.scratchpad.bytes_per_cycle = draw.one_of<3>({0, 3, 64});
  m.scratchpad.tiles = draw.one_of<3>({1, 2, 5});
  m.scratchpad.link_bytes_per_cycle = draw.one_of<3>({0, 7, 64});
  m.scratchpad.latency_cycles = draw.one_of<3>({0, 1, 9});
  draw_memory(draw, m.dram);
  if (m.dram.model == "comal") m.fifo_depth = 0;  // others are refused
  check_machine(m);
  return m;
}

std::string check_on_machine(uint64_t program_seed, uint64_t machine_seed) {
  return check_on_machine(schedule_recipe(generate_recipe(program_seed), program_seed),
                          machine_seed);
}

std::string check_on_machine(const Program& program, uint64_t machine_seed) {
  return MachineCheck(program, machine_seed).run();
}

}  // namespace fuseflow::testing
