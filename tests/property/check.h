// Lowers every region of a program, verifies and runs the graphs, compares every stored tensor with
// the reference, and asserts the invariants of the reports. Shared by the unit tests of lowering
// and the property test.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "bounds.h"
#include "broken_rule.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "lower/lower.h"
#include "nodes/rule.h"
#include "reference/reference.h"
#include "resources/resources.h"
#include "resources/shallower_buffers.h"
#include "same_run.h"
#include "sim/naive/interpret.h"
#include "sim/program_run.h"
#include "sim/report/csv.h"
#include "sim/report/invariants.h"
#include "tensor/source.h"

namespace fuseflow::testing {

using Inputs = std::vector<std::shared_ptr<const Storage>>;

struct CheckOptions {
  LowerOptions lower;
  Machine machine;
  double tolerance = 0;
  int threads = 1;  ///< of the fast executor
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
    inputs[t] = std::make_shared<Storage>(load(tensor.source, known_shape(tensor), tensor.format,
                                               tensor.fill, {.element = tensor.type}));
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

/// A check of one program, step by step; the first step that fails says so in `result`.
class Check {
 public:
  Check(Program program, Inputs inputs, const CheckOptions& options)
      : program_(std::move(program)), options_(options) {
    run_.data.storage = std::move(inputs);
  }

  CheckResult result;

  void all() {
    for (const Tensor& t : program_.tensors) narrow_ = narrow_ || !holds_f32(t.type);
    if (!lowers() || !fits()) return;
    fit_buffers(program_, options_.machine);  // what both executors are given
    expected_ = evaluate(program_, run_.data.storage);
    for (const Region& region : program_.regions) {
      if (!runs(region) || !stores()) return;
    }
    try {
      assert_invariants(program_, run_);
    } catch (const std::exception& error) {
      fail("{}", error.what());
    }
  }

 private:
  template <typename... Parts>
  bool fail(fmt::format_string<Parts...> text, Parts&&... parts) {
    result.failure = fmt::format(text, std::forward<Parts>(parts)...);
    return false;
  }

  bool lowers() {
    try {
      program_ = lower_program(std::move(program_), options_.lower);
    } catch (const Error& error) {
      result.refused = error.code() == ExitCode::rejected;
      return fail("lowering: {}", error.what());
    } catch (const std::exception& error) {
      return fail("lowering: {}", error.what());
    }
    const Inputs known = load_inputs(program_);  // lowering may have added copies of inputs
    auto& inputs = run_.data.storage;
    for (size_t t = inputs.size(); t < known.size(); ++t) inputs.push_back(known[t]);
    return true;
  }

  /// The test counts units by itself: who refuses what fits is wrong too.
  bool fits() {
    for (const Region& region : program_.regions) {
      const std::string bound = exceeded(program_, *region.graph, options_.machine);
      const std::string why = why_too_large(program_, region, *region.graph, options_.machine);
      if (bound.empty() != why.empty()) {
        return fail("the test counts {}, but: {}", bound.empty() ? "enough" : "too many " + bound,
                    why);
      }
      if (bound.empty()) continue;
      result.refused = true;
      return fail("{}", why);
    }
    return true;
  }

  /// Whether both executors agree, whatever the number of threads, and the run ends.
  bool runs(const Region& region) {
    RunResult& run = run_.regions.emplace_back();
    try {
      run = interpret_graph(program_, *region.graph, run_.data, options_.machine, {});
      RunOptions fast;
      fast.executor = Executor::fast;
      fast.threads = options_.threads;
      const RunResult other = run_graph(program_, *region.graph, run_.data, options_.machine, fast);
      const std::string differs = difference(run, other);
      if (!differs.empty()) {
        return fail("running {}: the executors differ: {}", region.name, differs);
      }
    } catch (const std::exception& error) {
      return fail("running {}: {}", region.name, error.what());
    }
    result.cycles += run.cycles;
    result.flops += run.flops;
    return run.finish == Finish::done || fail("{}", waits_of(region, run));
  }

  static std::string waits_of(const Region& region, const RunResult& run) {
    std::string text = fmt::format("running {}: did not end:", region.name);
    for (const Wait& wait : run.deadlock.waits) {
      const char* kind = node_kind_name(region.graph->nodes[wait.node].kind);
      const std::string stream = wait.on < 0 ? "" : region.graph->streams[wait.on].name;
      text += fmt::format(" node {} ({}) waits for ${} {};", wait.node, kind, stream,
                          wait.full ? "to be emptied" : "to be filled");
    }
    return text;
  }

  bool stores() {
    for (const auto& [tensor, storage] : run_.regions.back().results) {
      run_.data.storage[tensor] = storage;
      const std::string& name = program_.tensors[tensor].name;
      const bool narrow = !holds_f32(program_.tensors[tensor].type);  // entries may become the fill
      const std::string wrong = narrow ? "" : untidy(*storage);
      if (!wrong.empty()) return fail("%{} {}", name, wrong);
      const Value actual = value_of(storage);
      if (compare(actual, expected_[tensor]).passes(options_.tolerance)) continue;
      if ((broken_rule != 0 || narrow_) && excused(tensor, actual)) continue;
      return fail("%{} {}", name, first_difference(actual, expected_[tensor]));
    }
    return true;
  }

  /// A broken rule counts as noticed only if rounding cannot explain what is wrong. Of values that
  /// a region stores in a narrow type and reads again, the reference knows bounds.
  bool excused(TensorId tensor, const Value& actual) const {
    ReferenceOptions options;
    options.bounds = true;
    options.wanted = {tensor};
    const auto expected = evaluate(program_, run_.data.storage, options);
    return compare(actual, expected[tensor], options_.tolerance).passes(options_.tolerance);
  }

  Program program_;
  const CheckOptions& options_;
  ProgramRun run_;
  std::vector<Value> expected_;
  bool narrow_ = false;  // some tensor's values are rounded when they are stored
};

inline CheckResult check_program(Program program, Inputs inputs, const CheckOptions& options = {}) {
  Check check(std::move(program), std::move(inputs), options);
  check.all();
  return std::move(check.result);
}

}  // namespace fuseflow::testing
