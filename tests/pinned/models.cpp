// Counts of every exported model, for every strategy (of other exports of the same model only none
// and full) and machine: what tests/pinned/run.py compares with the pinned tables. Each case is
// NAME.onnx with NAME/case.txt (its --bind and --expect options), taken through what
// fuseflow-import, fuseflow-fuse, fuseflow-sim and fuseflow-estimate do with it, in one process.
// The results on `ideal` are compared with the reference and with what PyTorch computed: a
// difference is an error. `text` columns are hashes of the programs. Run from the folder of the
// models:
//   pinned_models --out DIR [--filter PREFIX]... [--variant MODEL]... [--table NAME]...
//                 [--all-estimates] [--jobs N]
// writes DIR/imports.csv, units.csv, ideal.csv, comal.csv, rda.csv, banked.csv, estimates.csv.
#include <fmt/format.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "estimate/estimate.h"
#include "estimate/pass_costs.h"
#include "import/import.h"
#include "import_options.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "lower/lower.h"
#include "machine/load.h"
#include "pass_tool.h"
#include "resources/resources.h"
#include "sim/program_run.h"
#include "sim/report/check.h"
#include "sim/report/csv.h"
#include "sim/report/invariants.h"
#include "support/fnv1a.h"
#include "support/guarded_main.h"

namespace fuseflow::pinned {
namespace {

constexpr const char* kStrategies[] = {"none", "layer", "full", "auto"};

/// Families of which estimates are pinned, too.
constexpr const char* kEstimated[] = {"attention_", "autoencoder_", "gat_",
                                      "gcn_",       "gnn_",         "sage_"};

struct NamedMachine {
  std::string name;  ///< of the table
  Machine machine;
};

/// Rows of one model, by table.
using Rows = std::map<std::string, std::string>;

/// Small counts of everything that the tables hold, so that a row is one line.
const std::map<std::string, std::string>& headers() {
  static const std::string counts =
      "model,strategy,status,cycles,flops,dram_read_bytes,dram_write_bytes,scratchpad_read_bytes,"
      "scratchpad_write_bytes,link_bytes,register_bytes,tokens,peak_fifo_tokens\n";
  static const std::map<std::string, std::string> result = [] {
    std::map<std::string, std::string> all;
    for (const char* machine : {"ideal", "comal", "rda", "banked"}) all[machine] = counts;
    std::string units =
        "model,strategy,text,regions,phases,nodes,streams,tensor_bytes,buffer_bytes";
    for (int u = 0; u < kUnitClasses; ++u) {
      units += fmt::format(",{}", unit_class_name(static_cast<UnitClass>(u)));
    }
    all["units"] = units + "\n";
    all["imports"] =
        "model,text,tensors,constants,statements,expressions,finite,nonnegative,nonzero,below_inf,"
        "no_"
        "nan,"
        "assumed,stored_levels,literals\n";
    all["estimates"] =
        "model,strategy,machine,from,cycles,bound_cycles,flops,dram_read_bytes,dram_write_bytes,"
        "scratchpad_read_bytes,scratchpad_write_bytes,tokens\n";
    return all;
  }();
  return result;
}

std::vector<NamedMachine> machines() {
  return {{"ideal", load_machine("ideal", {})},
          {"comal", load_machine("comal", {})},
          {"rda", load_machine("rda", {})},
          {"banked", load_machine("rda", {"dram.model=banked"})}};
}

/// The values of an option in the case file of a model.
std::vector<std::string> case_option(const std::string& model, const std::string& option) {
  std::istringstream lines(read_source(model + "/case.txt").text);
  std::vector<std::string> result;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(option + " ")) result.push_back(line.substr(option.size() + 1));
  }
  return result;
}

std::string hash_of(const std::string& text) {
  return fmt::format("#{:016x}", fnv1a(text));
}

std::string imported(const std::string& model) {
  ImportOptions options;
  collect(case_option(model, "--bind"), "--bind", options.bindings,
          [](const std::string& v) { return parse_binding(v); });
  const Program program = import_onnx(model + ".onnx", options);
  verify(program);
  return print_program(program);
}

std::string fused(const std::string& text, const char* strategy) {
  PassArguments arguments;
  arguments.costs = estimated_costs();
  arguments.add("strategy", strategy);
  PassLog log;
  return run_pass(find_pass("fuse"), SourceText{"<stdin>", text}, arguments, log);
}

/// What import found: tensors, statements, facts, levels that are not dense, and every different
/// number that stands in a statement.
std::string imports_of(const Program& program) {
  std::array<size_t, 5> facts{};
  size_t constants = 0;
  size_t assumed = 0;
  size_t stored = 0;
  for (const Tensor& t : program.tensors) {
    constants += t.role == Role::constant ? 1 : 0;
    assumed += t.assumed == Facts{} ? 0 : 1;
    const bool known[] = {t.facts.finite, t.facts.nonnegative, t.facts.nonzero, t.facts.below_inf,
                          t.facts.no_nan};
    for (size_t f = 0; f < facts.size(); ++f) facts[f] += known[f] ? 1 : 0;
    for (const LevelKind kind : t.format.levels) stored += kind == LevelKind::dense ? 0 : 1;
  }
  size_t statements = 0;
  size_t expressions = 0;
  std::set<float> literals;
  for (const Region& region : program.regions) {
    statements += region.statements.size();
    for (const Statement& statement : region.statements) {
      expressions += statement.nodes.size();
      for (const Expr& e : statement.nodes) {
        if (e.kind == Expr::Kind::constant) literals.insert(e.constant);
      }
    }
  }
  return fmt::format("{},{},{},{},{},{},{},{}\n", program.tensors.size(), constants, statements,
                     expressions, fmt::join(facts, ","), assumed, stored, fmt::join(literals, " "));
}

/// Throws Error(unfinished) where a result is not what the reference gives, or PyTorch gave.
void check_results(const std::string& model, const Program& program, const ProgramRun& run) {
  constexpr double kTolerance = 1e-4;  // that of fuseflow-sim --check
  std::vector<TensorId> written;
  for (const RunResult& region : run.regions) {
    for (const auto& [tensor, storage] : region.results) written.push_back(tensor);
  }
  CheckSettings settings;
  settings.tolerance = kTolerance;
  settings.threads = 1;
  std::vector<CheckedTensor> checked =
      check_reference(program, run.data, written, settings).tensors;
  if (checked.size() != written.size()) {
    throw Error(ExitCode::unfinished, "not every result was compared");
  }
  for (const std::string& text : case_option(model, "--expect")) {
    const size_t equals = text.find('=');
    const TensorId tensor = find_tensor(program, text.substr(0, equals));
    const std::string path = text.substr(equals + 1);
    checked.push_back(check_expected(program, run.data, tensor, path,
                                     load_expected(program, tensor, path), kTolerance));
  }
  for (const CheckedTensor& one : checked) {
    if (!one.passes) throw Error(ExitCode::unfinished, describe_failure(program, one));
  }
}

/// status: ok, unfinished, or `refused` (and zeros) when the machine cannot run it.
std::string simulated(const std::string& model, const Program& program, const TensorData& data,
                      const Machine& machine) {
  std::string status = "ok";
  ProgramRun run;
  try {
    run = run_program(program, data, machine, {});
    assert_invariants(program, run);
    if (run.finish != Finish::done) status = "unfinished";
    if (machine.name == "ideal") check_results(model, program, run);
  } catch (const Error& error) {
    if (error.code() != ExitCode::rejected) throw;
    status = "refused";
    run = {};
  }
  const RunResult sum = total_counts(run, machine);
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", status, sum.cycles, sum.flops,
                     sum.dram_read_bytes, sum.dram_write_bytes, sum.scratchpad_read_bytes,
                     sum.scratchpad_write_bytes, sum.link_bytes, sum.register_bytes, sum.tokens,
                     sum.peak_fifo_tokens);
}

/// Units by class over all regions and phases; bytes on chip are the most of any region.
std::string units_of(const Program& program, const Machine& machine) {
  std::array<int64_t, kUnitClasses> units{};
  int64_t phases = 0;
  size_t nodes = 0;
  size_t streams = 0;
  int64_t tensor_bytes = 0;
  int64_t buffer_bytes = 0;
  for (const Region& region : program.regions) {
    const Resources needed = region_resources(program, *region.graph, machine);
    nodes += region.graph->nodes.size();
    streams += region.graph->streams.size();
    phases += region.graph->phases();
    tensor_bytes = std::max(tensor_bytes, needed.tensor_bytes);
    for (const PhaseResources& phase : needed.phases) {
      buffer_bytes = std::max(buffer_bytes, phase.buffer_bytes);
      for (size_t u = 0; u < units.size(); ++u) units[u] += phase.units[u];
    }
  }
  std::string text = fmt::format("{},{},{},{},{},{}", program.regions.size(), phases, nodes,
                                 streams, tensor_bytes, buffer_bytes);
  for (const int64_t count : units) text += fmt::format(",{}", count);
  return text + "\n";
}

std::string estimate_row(const ProgramEstimate& estimate) {
  const RegionEstimate& t = estimate.total;
  return fmt::format("{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g}\n", t.cycles, t.bound,
                     t.flops, t.dram_read_bytes, t.dram_write_bytes, t.scratchpad_read_bytes,
                     t.scratchpad_write_bytes, t.tokens);
}

/// Estimates, from the data and from statistics, on a machine without memory and on one with; or
/// on all.
std::string estimates(const std::string& key, const Program& program,
                      const std::vector<NamedMachine>& machines, bool on_all) {
  std::string text;
  const TensorData patterns = load_patterns(program);
  const auto statistics = estimate::statistics_of(program, patterns);
  for (const NamedMachine& m : machines) {
    if (!on_all && m.name != "ideal" && m.name != "banked") continue;
    text += fmt::format("{},{},data,{}", key, m.name,
                        estimate_row(estimate_from_data(program, patterns, m.machine)));
    text += fmt::format("{},{},statistics,{}", key, m.name,
                        estimate_row(estimate_from_statistics(program, statistics, m.machine)));
  }
  return text;
}

struct Options {
  std::string out;
  std::vector<std::string> prefixes;
  std::set<std::string> tables;    ///< empty: all
  std::set<std::string> variants;  ///< other exports of a model: two strategies suffice
  bool all_estimates = false;      ///< of all models, on all machines
  size_t jobs = 2;
};

Rows rows_of(const std::string& model, const std::vector<NamedMachine>& machines,
             const Options& options) {
  Rows rows;
  const std::set<std::string>& tables = options.tables;
  const bool variant = options.variants.contains(model);
  const std::string text = imported(model);
  const bool estimated =
      tables.contains("estimates") &&
      (options.all_estimates ||
       std::any_of(std::begin(kEstimated), std::end(kEstimated),
                   [&](const char* family) { return model.starts_with(family); }));
  rows["imports"] =
      model + "," + hash_of(text) + "," + imports_of(parse_program({"<stdin>", text}));
  for (const char* strategy : kStrategies) {
    if (variant && std::string_view(strategy) != "none" && std::string_view(strategy) != "full") {
      continue;
    }
    const std::string key = model + "," + strategy;
    const std::string scheduled = fused(text, strategy);
    const Program program = lower_program(parse_program({"<stdin>", scheduled}));
    rows["units"] +=
        key + "," + hash_of(scheduled) + "," + units_of(program, machines.front().machine);
    const TensorData data = load_tensors(program);
    for (const NamedMachine& m : machines) {
      if (tables.contains(m.name)) {
        rows[m.name] += key + "," + simulated(model, program, data, m.machine);
      }
    }
    if (estimated) rows["estimates"] += estimates(key, program, machines, options.all_estimates);
  }
  return rows;
}

/// A model that fails has its first error on standard error, and none of the rows expected of it.
bool try_rows(const std::string& model, const std::vector<NamedMachine>& machines,
              const Options& options, Rows& rows) {
  try {
    rows = rows_of(model, machines, options);
    return true;
  } catch (const std::exception& error) {
    report(Severity::error, fmt::format("{}: {}", model, error.what()));
    return false;
  }
}

std::vector<std::string> find_models(const std::vector<std::string>& prefixes) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(".")) {
    if (!std::filesystem::exists(entry.path() / "case.txt")) continue;
    const std::string name = entry.path().filename().string();
    const bool wanted = std::any_of(prefixes.begin(), prefixes.end(),
                                    [&](const std::string& p) { return name.starts_with(p); });
    if (wanted || prefixes.empty()) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

ExitCode run(Options options) {
  if (options.tables.empty()) {
    for (const auto& [table, header] : headers()) options.tables.insert(table);
  }
  const std::vector<std::string> models = find_models(options.prefixes);
  const std::vector<NamedMachine> all = machines();
  std::vector<Rows> rows(models.size());
  std::vector<char> right(models.size());
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, options.jobs);
  tbb::parallel_for(size_t{0}, models.size(),
                    [&](size_t i) { right[i] = try_rows(models[i], all, options, rows[i]); });
  for (const auto& [table, header] : headers()) {
    if (!options.tables.contains(table)) continue;
    std::string text = header;
    for (Rows& one : rows) text += one[table];
    write_output(options.out + "/" + table + ".csv", text);
  }
  const bool ok = std::all_of(right.begin(), right.end(), [](char r) { return r != 0; });
  return ok ? ExitCode::ok : ExitCode::unfinished;
}

int pinned_main(int argc, char** argv) {
  CommandLine app("Counts of the exported models, as tables", "pinned_models");
  Options options;
  app.add_option("--out", options.out, "Folder of the tables").required();
  app.add_option("--filter", options.prefixes, "Only models that begin so (repeatable)");
  app.add_option("--table", options.tables, "Only these tables (repeatable)");
  app.add_option("--variant", options.variants,
                 "Of this model only the strategies none and full (repeatable)");
  app.add_flag("--all-estimates", options.all_estimates,
               "Estimates of all models on all machines (scripts/evaluation/estimate_models)");
  app.add_option("--jobs", options.jobs, "Models at a time");
  register_onnx_sources();
  return run_tool(argc, argv, app, [&] { return run(options); });
}

}  // namespace
}  // namespace fuseflow::pinned

int main(int argc, char** argv) {
  return fuseflow::guarded_main(argc, argv, fuseflow::pinned::pinned_main);
}
