// Lowers every region of a program, verifies and runs the graphs, and compares every stored tensor
// with the reference. Shared by the unit tests of lowering and the property test.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "lower/lower.h"
#include "bounds.h"
#include "same_run.h"
#include "reference/reference.h"
#include "resources/resources.h"
#include "sim/interpret.h"
#include "tensor/source.h"

namespace fuseflow::testing {

using Inputs = std::vector<std::shared_ptr<const Storage>>;

struct CheckOptions {
  LowerOptions lower;
  Machine machine;
  double tolerance = 0;
};

/// Result of a check: empty is a pass.
struct CheckResult {
  std::string failure;
  bool refused = false;  ///< lowering threw Error(rejected); `failure` says why
  int64_t cycles = 0;
  int64_t flops = 0;
};

/// Inputs and constants from their sources.
inline Inputs load_inputs(const Program& program) {
  Inputs inputs(program.tensors.size());
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    const Tensor& tensor = program.tensors[t];
    if (tensor.source.kind == Source::Kind::none) continue;
    inputs[t] = std::make_shared<Storage>(
        load(tensor.source, known_shape(tensor), tensor.format, tensor.fill));
  }
  return inputs;
}

inline std::string first_difference(const Value& actual, const Value& expected) {
  const Comparison c = compare(actual, expected);
  std::vector<int64_t> coords;
  int64_t rest = std::max<int64_t>(c.worst, 0);
  for (size_t d = expected.shape.size(); d-- > 0;) {
    coords.insert(coords.begin(), rest % expected.shape[d]);
    rest /= expected.shape[d];
  }
  return fmt::format("at [{}]: {} instead of {} (largest error {})", fmt::join(coords, ","),
                     actual.at(coords), expected.at(coords), c.max_abs_error);
}

/// What a compressed result must not hold: fibers without elements below an element, fill values.
inline std::string untidy(const Storage& storage) {
  for (size_t l = 1; l < storage.levels.size(); ++l) {
    const bool compressed = storage.levels[l - 1].kind == LevelKind::compressed &&
                            storage.levels[l].kind == LevelKind::compressed;
    const auto& pos = storage.levels[l].pos;
    for (size_t p = 1; compressed && p < pos.size(); ++p) {
      if (pos[p - 1] == pos[p]) return fmt::format("has an empty fiber at level {}", l);
    }
  }
  const bool innermost = !storage.format.has_padding() && !storage.levels.empty() &&
                         storage.levels.back().kind == LevelKind::compressed;
  for (const float value : storage.values) {
    if (innermost && value == storage.fill) return "stores its fill";
  }
  return "";
}

inline CheckResult check_program(Program program, Inputs inputs, const CheckOptions& options = {}) {
  CheckResult result;
  try {
    program = lower_program(std::move(program), options.lower);
  } catch (const Error& error) {
    result.refused = error.code() == ExitCode::rejected;
    result.failure = fmt::format("lowering: {}", error.what());
    return result;
  }
  const Inputs known = load_inputs(program);  // lowering may have added copies of inputs
  for (size_t t = inputs.size(); t < known.size(); ++t) inputs.push_back(known[t]);
  try {
    verify(program);
  } catch (const Error& error) {
    result.failure = fmt::format("the graph is not valid: {}", error.what());
    return result;
  }
  for (const Region& region : program.regions) {
    const std::string bound = exceeded(program, *region.graph, options.machine);
    const std::string why = why_too_large(program, region, *region.graph, options.machine);
    if (bound.empty() != why.empty()) {
      result.failure = fmt::format("the test counts {}, but: {}", bound.empty() ? "enough" : "too many " + bound, why);
      return result;
    }
    if (bound.empty()) continue;
    result.refused = true;
    result.failure = why;
    return result;
  }
  const std::vector<Value> expected = evaluate(program, inputs);
  TensorData data{inputs};
  for (const Region& region : program.regions) {
    RunResult run;
    try {
      run = interpret_graph(program, *region.graph, data, options.machine, {});
      RunOptions fast;
      fast.executor = Executor::fast;
      const RunResult other = run_graph(program, *region.graph, data, options.machine, fast);
      const std::string differs = difference(run, other);
      if (!differs.empty()) {
        result.failure =
            fmt::format("running {}: the executors differ: {}", region.name, differs);
        return result;
      }
    } catch (const Error& error) {
      result.failure = fmt::format("running {}: {}", region.name, error.what());
      return result;
    }
    if (run.finish != Finish::done) {
      result.failure = fmt::format("running {}: did not end:", region.name);
      for (const Wait& wait : run.deadlock.waits) {
        const char* kind = node_kind_name(region.graph->nodes[wait.node].kind);
        const std::string stream = wait.on < 0 ? "" : region.graph->streams[wait.on].name;
        result.failure += fmt::format(" node {} ({}) waits for ${} {};", wait.node, kind, stream,
                                      wait.full ? "to be emptied" : "to be filled");
      }
      return result;
    }
    result.cycles += run.cycles;
    result.flops += run.flops;
    for (const auto& [tensor, storage] : run.results) {
      data.storage[tensor] = storage;
      const std::string wrong = untidy(*storage);
      if (!wrong.empty()) {
        result.failure = fmt::format("%{} {}", program.tensors[tensor].name, wrong);
        return result;
      }
      const Value actual = value_of(storage);
      if (compare(actual, expected[tensor]).passes(options.tolerance)) continue;
      result.failure = fmt::format("%{} {}", program.tensors[tensor].name,
                                   first_difference(actual, expected[tensor]));
      return result;
    }
  }
  return result;
}

}  // namespace fuseflow::testing
