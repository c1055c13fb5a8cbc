// What the passes, the estimate and the reports say of random programs, as hashes: what
// tests/pinned/run.py compares with the pinned table, so that a fault which no count of a model
// shows moves something. A row a program: `program` with a random schedule, lowered; what the
// passes make of its statements, with their notes; and on each machine the reports of its run and
// its estimates. Values are in none of them: mathematical functions differ between processors.
//   pinned_random --out DIR [--count N]     writes DIR/random.csv
#include <fmt/format.h>

#include <string>
#include <vector>

#include "estimate/estimate.h"
#include "estimate/pass_costs.h"
#include "ir/dot.h"
#include "lower/lower.h"
#include "machine/load.h"
#include "pass_tool.h"
#include "recipe.h"
#include "shrink.h"
#include "sim/program_run.h"
#include "sim/report/accelergy.h"
#include "sim/report/csv.h"
#include "sim/report/invariants.h"
#include "support/fnv1a.h"
#include "support/guarded_main.h"

namespace fuseflow::pinned {
namespace {

struct NamedPass {
  std::string column;
  std::string_view pass;
  std::vector<std::pair<std::string, std::string>> options;
};

const std::vector<NamedPass>& passes() {
  static const std::vector<NamedPass> all = {
      {"none", "fuse", {{"strategy", "none"}}}, {"full", "fuse", {{"strategy", "full"}}},
      {"auto", "fuse", {{"strategy", "auto"}}}, {"order", "order", {{"auto", ""}}},
      {"place", "place", {{"auto", ""}}},
  };
  return all;
}

struct NamedMachine {
  std::string name;
  Machine machine;
};

std::vector<NamedMachine> machines(const std::string& odd) {
  return {{"ideal", load_machine("ideal")},
          {"rda", load_machine("rda", {"dram.model=banked", "name=rda"})},
          {"comal", load_machine("comal", {"dram.preset=comal", "name=comal"})},
          {"odd", load_machine(odd, {"dram.model=fixed", "name=odd"})}};
}

/// A hash of what make() gives, or of why it gives nothing.
template <typename Make>
std::string hash_of(Make&& make) {
  std::string text;
  try {
    text = make();
  } catch (const Error& error) {
    text = error.what();
  }
  return fmt::format("#{:08x}", fnv1a(text) >> 32);
}

std::string passed(const std::string& text, const NamedPass& named) {
  PassArguments arguments;
  arguments.costs = estimated_costs();
  for (const auto& [option, value] : named.options) arguments.add(option, value);
  PassLog log;
  std::string result = run_pass(find_pass(named.pass), SourceText{"<stdin>", text}, arguments, log);
  for (const std::string& line : log.lines()) result += line + "\n";
  return result;
}

std::string reports(const Program& program, const Machine& machine) {
  RunOptions options;
  options.threads = 1;
  options.max_cycles = 3'000'000;
  const ProgramRun run = run_program(program, load_tensors(program), machine, options);
  assert_invariants(program, run);
  std::string text = region_csv(program, machine, run, {}) + node_csv(program, machine, run) +
                     stream_csv(program, run);
  return machine.has_energy ? text + accelergy_actions(program, machine, run) : text;
}

std::string row_of(const RegionEstimate& e) {
  return fmt::format("{} {} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g}\n",
                     e.region, e.limit, e.cycles, e.bound, e.flops, e.dram_read_bytes,
                     e.dram_write_bytes, e.tokens, e.energy_pj, e.energy_bound_pj,
                     e.dram_bytes_bound);
}

std::string estimates(const Program& program, const Machine& machine) {
  const TensorData patterns = load_patterns(program);
  std::string text;
  for (const ProgramEstimate& estimate :
       {estimate_from_data(program, patterns, machine),
        estimate_from_statistics(program, estimate::statistics_of(program, patterns), machine)}) {
    for (const RegionEstimate& region : estimate.regions) text += row_of(region);
    text += row_of(estimate.total);
  }
  return text;
}

std::string header(const std::vector<NamedMachine>& all) {
  std::string text = "seed,program,dot";
  for (const NamedPass& pass : passes()) text += "," + pass.column;
  for (const NamedMachine& m : all) text += fmt::format(",{0},{0}_estimate", m.name);
  return text + "\n";
}

std::string row_of_seed(uint64_t seed, const std::vector<NamedMachine>& all) {
  const testing::Recipe recipe = testing::generate_recipe(seed);
  const std::string statements = print_program(recipe.program);
  Program program;
  bool lowered = true;
  std::string row = fmt::format("{},", seed) + hash_of([&] {
                      lowered = false;
                      program = lower_program(testing::schedule_recipe(recipe, seed));
                      lowered = true;
                      return print_program(program);
                    });
  row += "," + hash_of([&] { return print_dot(program); });
  for (const NamedPass& pass : passes()) {
    row += "," + hash_of([&] { return passed(statements, pass); });
  }
  for (const NamedMachine& m : all) {
    row += "," + (lowered ? hash_of([&] { return reports(program, m.machine); }) : "-");
    row += "," + (lowered ? hash_of([&] { return estimates(program, m.machine); }) : "-");
  }
  return row + "\n";
}

int pinned_main(int argc, char** argv) {
  CommandLine app("What is said of random programs, as hashes", "pinned_random");
  std::string out;
  std::string odd;
  uint64_t count = 150;
  app.add_option("--out", out, "Folder of the table").required();
  app.add_option("--odd", odd, "File of a machine with unlike constants").required();
  app.add_option("--count", count, "Programs");
  return run_tool(argc, argv, app, [&] {
    const auto all = machines(odd);
    std::string text = header(all);
    for (uint64_t seed = 1; seed <= count; ++seed) text += row_of_seed(seed, all);
    write_output(out + "/random.csv", text);
    return ExitCode::ok;
  });
}

}  // namespace
}  // namespace fuseflow::pinned

int main(int argc, char** argv) {
  return fuseflow::guarded_main(argc, argv, fuseflow::pinned::pinned_main);
}
