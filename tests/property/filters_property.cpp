// Streams of intermediates that are declared compressed: random programs (filtered_codes.h) give
// what the reference gives, on both executors and on a random machine with its memory, and do no
// more than with dense intermediates. `filters_property --count N --seed S [--broken RULE]`.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "check.h"
#include "filtered_codes.h"
#include "machine_case.h"
#include "shell/tool.h"
#include "support/guarded_main.h"

namespace fuseflow::testing {
namespace {

/// Filters behind which something but a writer comes.
bool filters_in_streams(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& filter) {
    if (filter.kind != NodeKind::filter) return false;
    return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
      return !writes_tensor(node.kind) && node.kind != NodeKind::repeat &&
             std::any_of(node.inputs.begin(), node.inputs.end(), [&](const Input& input) {
               return !input.is_immediate() && input.stream == filter.outputs[1];
             });
    });
  });
}

struct Run {
  CheckResult result;
  bool filters = false;
};

Run run_of(const Program& program) {
  Run run;
  run.result = check_program(program, load_inputs(program), {});
  run.filters = filters_in_streams(*lower_program(program).regions[0].graph);
  return run;
}

/// What is wrong with the program of a seed, or nothing.
std::string check(uint64_t seed, int& filtered) {
  const Program program = filtered_codes(seed, true);
  const Run with = run_of(program);
  if (!with.result.failure.empty()) return with.result.failure;
  filtered += with.filters ? 1 : 0;
  if (broken_rule != 0) return "";
  std::string wrong = check_on_machine(program, seed);
  if (!wrong.empty()) return wrong;
  const Run without = run_of(filtered_codes(seed, false));
  if (without.filters) return "a filter in a stream of a dense intermediate";
  const bool one_use = find_tensor(program, "z") < 0;
  if (one_use && with.result.flops > without.result.flops) {
    return fmt::format("{} FLOPs instead of {}", with.result.flops, without.result.flops);
  }
  return "";
}

int run(uint64_t seed, uint64_t count) {
  int failures = 0;
  int filtered = 0;
  for (uint64_t s = seed; s < seed + count && failures < 3; ++s) {
    const std::string wrong = check(s, filtered);
    if (wrong.empty()) continue;
    ++failures;
    if (broken_rule != 0) break;
    fmt::print("seed {}: {}\n{}\n", s, wrong, print_program(filtered_codes(s, true)));
  }
  fmt::print("{} programs, {} with filters in streams; {} failures\n", count, filtered, failures);
  if (broken_rule != 0) return failures > 0 ? 0 : 1;
  const bool idle = static_cast<uint64_t>(filtered) * 4 < count;  // little was tested
  return failures == 0 && !idle ? 0 : 1;
}

int property_main(int argc, char** argv) {
  CommandLine app("Filters in streams against the reference evaluation.", "filters_property");
  uint64_t seed = 1;
  uint64_t count = 300;
  app.add_option("--seed", seed, "The first program (default: 1)");
  app.add_option("--count", count, "How many programs (default: 300)");
  app.add_option("--broken", broken_rule,
                 "Break a rule (10, 11; ir-spec/lowering.md): succeeds if that is noticed");
  if (const auto ended = read_arguments(argc, argv, app)) return *ended;
  return run(seed, count);
}

}  // namespace
}  // namespace fuseflow::testing

int main(int argc, char** argv) {
  return fuseflow::guarded_main(argc, argv, fuseflow::testing::property_main);
}
