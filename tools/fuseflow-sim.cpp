// fuseflow-sim: simulates a program cycle by cycle, checks its results, and reports as CSV.
#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <optional>
#include <set>

#include "estimate/estimate.h"
#include "import/import.h"
#include "import_options.h"
#include "ir/data_facts.h"
#include "ir/names.h"
#include "ir/stored.h"
#include "lower/density_notes.h"
#include "lower/lower.h"
#include "machine/load.h"
#include "machine_options.h"
#include "program_tool.h"
#include "progress_line.h"
#include "shell/thread_options.h"
#include "sim/memory/trace.h"
#include "sim/program_run.h"
#include "sim/report/accelergy.h"
#include "sim/report/check.h"
#include "sim/report/csv.h"
#include "sim/report/invariants.h"
#include "sim/report/summary.h"
#include "sim/report/trace.h"
#include "support/defect.h"
#include "support/interrupt.h"
#include "support/outputs.h"
#include "support/stop.h"
#include "support/suggest.h"
#include "tensor/write.h"
#include "whatif/advise.h"
#include "whatif/table.h"

namespace fuseflow {
namespace {

/// A result, and the array that it is compared with.
struct Expected {
  TensorId tensor;
  std::string file;
  ExpectedArray values;
};

struct SimOptions {
  ProgramOptions filter;
  MachineOptions machine;
  bool list_machines = false;
  const Option* print_machine = nullptr;
  std::string printed_machine;  ///< empty: that of --machine
  bool check = false;
  bool strict = false;
  double tolerance = 1e-4;
  const Option* tolerance_given = nullptr;
  std::vector<std::string> expect;
  std::vector<Expected> expected;  ///< what these name
  std::vector<std::string> dump;
  std::string nodes_file;
  std::string streams_file;
  std::string actions_file;
  std::string trace_file;
  std::string dram_trace_file;
  std::string dram_trace;  ///< its text
  RunOptions run;
  std::chrono::steady_clock::time_point started;  ///< of reading the program, which comes first
  double max_memory_mib = 0;
  std::string executor = "fast";
  bool verbose = false;
  std::vector<std::string> what_if;
};

void add_options(CommandLine& app, SimOptions& o) {
  add_program_options(app, o.filter);
  add_machine_options(app, o.machine);
  app.add_flag("--list-machines", o.list_machines, "List the presets and exit");
  o.print_machine =
      &app.add_option("--print-machine", o.printed_machine,
                      "Print the machine (default: that of --machine) as TOML and exit")
           .option_text("[NAME|FILE]")
           .expected(0, 1);
  app.add_flag("--check", o.check, "Compare every result with the reference evaluation");
  app.add_flag("--strict", o.strict,
               "End with status 6 where --check leaves something undecided or not compared")
      .needs(app.option("--check"));
  app.add_option("--expect", o.expect, "Compare a result with an array in a file (repeatable)")
      .option_text("NAME=FILE")
      .one_a_use();
  o.tolerance_given =
      &app.add_option("--tolerance", o.tolerance,
                      "Largest error that passes, relative to the largest value (default: 1e-4)")
           .option_text("X")
           .number_from(0);
  app.add_option("--dump", o.dump, "Write a result to FILE (.npy, .mtx, .tns; repeatable)")
      .option_text("NAME=FILE")
      .one_a_use();
  app.add_option("--nodes", o.nodes_file, "Write a CSV row for every node").option_text("FILE");
  app.add_option("--streams", o.streams_file, "Write a CSV row for every stream")
      .option_text("FILE");
  app.add_option("--actions", o.actions_file,
                 "Write how often each action happens, as Accelergy 0.4 reads it (YAML)")
      .option_text("FILE");
  app.add_option("--trace", o.trace_file, "Write a timeline for Perfetto, 1 cycle = 1 us")
      .option_text("FILE");
  app.add_option("--dram-trace", o.dram_trace_file,
                 "Write every burst that memory serves, as fuseflow-dram reads it")
      .option_text("FILE");
  add_threads_option(app, o.run.threads);
  app.add_option("--max-cycles", o.run.max_cycles, "End with status 4 after N cycles")
      .option_text("N")
      .whole_above(0);
  app.add_option("--max-seconds", o.run.max_seconds, "End with status 4 after S seconds")
      .option_text("S")
      .number_above(0);
  app.add_option("--max-memory", o.max_memory_mib, "End with status 4 beyond N MiB of buffers")
      .option_text("N")
      .number_above(0);
  app.add_option("--executor", o.executor, "fast or naive").among({"fast", "naive"}).hidden();
  app.add_option("--what-if", o.what_if,
                 "Simulate with each value of a machine's constant in turn, and print a table of "
                 "their cycles instead of the regions (repeatable)")
      .option_text("KEY=VALUE[,VALUE]")
      .one_a_use();
  app.add_flag("-v,--verbose", o.verbose,
               "Print what limits the longest regions, what was tried and helps, bottlenecks and "
               "the roofline to standard error");
}

/// `NAME=FILE`, apart.
std::pair<std::string, std::string> name_and_file(const std::string& option,
                                                  const std::string& text) {
  if (const auto halves = fuseflow::split_name(text)) return *halves;
  throw Error(ExitCode::usage, fmt::format("{}: `{}` is not NAME=FILE", option, text));
}

/// `NAME=FILE` as the tensor that the name means, and the file.
std::pair<TensorId, std::string> named_file(const Program& program, const std::string& option,
                                            const std::string& text) {
  const auto [name, file] = name_and_file(option, text);
  const TensorId tensor = find_tensor(program, name);
  if (tensor < 0) {
    std::vector<std::string> names;
    for (const Tensor& t : program.tensors) names.push_back(t.name);
    throw Error(ExitCode::usage,
                fmt::format("{}: there is no tensor %{}{}", option, quote_if_needed(name),
                            did_you_mean(name, names, {}, ", did you mean %", "?")));
  }
  return {tensor, file};
}

/// Tokens of the whole program by the statistics of its inputs; 0 if it is not known.
double expected_tokens(const Program& program, const TensorData& data, const Machine& machine) {
  try {
    return estimate_from_statistics(program, estimate::statistics_of(program, data), machine)
        .total.tokens;
  } catch (const Error&) {
    return 0;
  }
}

/// How far the simulation is.
class Progress {
 public:
  Progress(const Program& program, const TensorData& data, const Machine& machine)
      : regions_(program.regions.size()) {
    if (line_.on()) expected_ = expected_tokens(program, data, machine);
  }
  void region(size_t number) {
    region_ = number;
    tokens_before_ += tokens_;
    tokens_ = 0;
  }
  void show(int64_t cycles, int64_t tokens) {
    tokens_ = tokens;
    if (!line_.due()) return;
    const double seconds = line_.seconds();
    const auto done = static_cast<double>(tokens_before_ + tokens);
    std::string left;
    if (done > 0 && expected_ > done) {
      left = fmt::format(", about {:.0f} s left", seconds * (expected_ - done) / done);
    }
    line_.draw(fmt::format(
        "region {}/{}: {:.1f} million cycles, {:.1f} million tokens, {:.1f} million a second, "
        "{:.0f} s{}",
        region_ + 1, regions_, static_cast<double>(cycles) * 1e-6, done * 1e-6,
        done * 1e-6 / seconds, seconds, left));
  }

 private:
  size_t regions_;
  ProgressLine line_;
  size_t region_ = 0;
  int64_t tokens_before_ = 0;  // of the regions that have ended
  int64_t tokens_ = 0;
  double expected_ = 0;  // of the whole program
};

/// What remains of --max-seconds; 0 where it is not given.
double seconds_left(const SimOptions& options) {
  if (options.run.max_seconds == 0) return 0;
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - options.started;
  return std::max(1e-9, options.run.max_seconds - spent.count());
}

/// What came of --check and --expect.
struct Checks {
  std::vector<CheckedTensor> tensors;
  std::vector<std::string> uncompared;  ///< what --check does not know, one line each
  bool nothing = false;                 ///< it compared nothing
  std::string stopped;                  ///< why not everything was compared
  std::optional<Error> error;  ///< the first: what cannot be compared does not cost the CSV

  bool complete() const { return stopped.empty() && !error; }
};

/// Why the reference shall end, if it shall; draws how far it is.
std::string look_at_check(const ReferenceProgress& at, const SimOptions& options,
                          ProgressLine& line) {
  if (line.due()) {
    line.draw(fmt::format("checking, statement {}/{}: {:.1f} million points, {:.0f} s",
                          at.statement, at.statements, static_cast<double>(at.points) * 1e-6,
                          line.seconds()));
  }
  if (interrupted()) return "interrupted";
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - options.started;
  const bool late = options.run.max_seconds > 0 && spent.count() > options.run.max_seconds;
  return late ? "the limit of --max-seconds was reached" : "";
}

void check_by_reference(const Program& program, const SimOptions& options, const ProgramRun& run,
                        Checks& checks) {
  std::vector<TensorId> written;
  for (const RunResult& region : run.regions) {
    for (const auto& [tensor, storage] : region.results) written.push_back(tensor);
  }
  ProgressLine line;
  CheckSettings settings{options.tolerance, options.run.threads, options.run.max_memory_bytes, {}};
  settings.stop = [&](const ReferenceProgress& at) { return look_at_check(at, options, line); };
  ReferenceCheck done = check_reference(program, run.data, written, settings);
  checks.tensors = std::move(done.tensors);
  if (done.stopped.empty()) {
    checks.uncompared = describe_uncompared(program, written, checks.tensors);
    checks.nothing = checks.tensors.empty();
    return;
  }
  checks.stopped = fmt::format("the check did not finish: {} ({} of {} results were compared)",
                               done.stopped, checks.tensors.size(), written.size());
}

Checks run_checks(const Program& program, const SimOptions& options, const ProgramRun& run) {
  Checks checks;
  const StopScope scope("the check did not finish", seconds_left(options));
  if (options.check)
    attempt(checks.error, [&] { check_by_reference(program, options, run, checks); });
  for (const auto& expected : options.expected) {
    attempt(checks.error, [&] {
      const auto& [tensor, file, values] = expected;
      checks.tensors.push_back(
          check_expected(program, run.data, tensor, file, values, options.tolerance));
    });
  }
  return checks;
}

/// Says what is not known to be right; whether there is such.
bool report_undecided(const Program& program, const Checks& checks) {
  bool any = checks.nothing || !checks.uncompared.empty();
  for (const CheckedTensor& one : checks.tensors) {
    if (one.comparison.neighbours > 0) report(Severity::note, describe_neighbours(program, one));
    const std::string excused = describe_excused(program, one);
    if (!excused.empty()) report(Severity::warning, excused);
    any = any || !one.decided();
  }
  for (const std::string& line : checks.uncompared) report(Severity::warning, line);
  if (checks.nothing) report(Severity::warning, "--check compared nothing");
  return any;
}

/// Says what the checks found; the simulation's rows are out already.
ExitCode report_checks(const Program& program, const Checks& checks, bool strict) {
  const bool undecided = report_undecided(program, checks);
  ExitCode status = undecided && strict ? ExitCode::undecided : ExitCode::ok;
  for (const CheckedTensor& one : checks.tensors) {
    if (one.passes) continue;
    report(Severity::error, describe_failure(program, one));
    status = ExitCode::unfinished;
  }
  if (!checks.stopped.empty()) {
    report(Severity::error, checks.stopped);
    status = ExitCode::unfinished;
  }
  if (checks.error) throw Error(*checks.error);
  return status;
}

void write_dump(const Program& program, const ProgramRun& run, const std::string& text) {
  const auto [tensor, file] = named_file(program, "--dump", text);
  const Storage* storage = run.data.find(tensor);
  if (storage == nullptr) {
    throw Error(ExitCode::usage,
                fmt::format("--dump: %{} is not stored by the program (it streams inside a region)",
                            quote_if_needed(program.tensors[static_cast<size_t>(tensor)].name)));
  }
  const std::vector<int64_t> shape = file_shape(program.tensors[static_cast<size_t>(tensor)]);
  write_tensor(file, shape == storage->shape ? *storage : reshaped(*storage, shape));
}

/// All files of numbers that were asked for; one that fails does not cost the others.
void write_figures(const Program& program, const Machine& machine, const SimOptions& options,
                   const ProgramRun& run, std::optional<Error>& error) {
  const auto write = [&](const std::string& file, const std::function<std::string()>& text) {
    if (!file.empty()) attempt(error, [&] { write_output(file, text()); });
  };
  write(options.nodes_file, [&] { return node_csv(program, machine, run); });
  write(options.actions_file, [&] { return accelergy_actions(program, machine, run); });
  write(options.streams_file, [&] { return stream_csv(program, run); });
  write(options.dram_trace_file, [&] { return options.dram_trace; });
  write(options.trace_file, [&] { return trace_json(program, machine, run); });
}

/// An option may name what is given and what is stored; of graphs without statements the run tells.
void require_stored(const Program& program, const std::string& option, const std::string& text) {
  const auto t = static_cast<size_t>(named_file(program, option, text).first);
  const Stored stored = stored_tensors(program)[t];
  if (stored.region < 0 || stored.written) return;
  throw Error(ExitCode::usage, fmt::format("{}: %{} is not stored by the program (it streams "
                                           "inside a region)",
                                           option, quote_if_needed(program.tensors[t].name)));
}

/// What is wrong with the options for this program, found before it is simulated.
void check_named_tensors(const Program& program, SimOptions& options) {
  for (const std::string& text : options.dump) {
    require_stored(program, "--dump", text);
    const auto [tensor, file] = named_file(program, "--dump", text);
    const Tensor& dumped = program.tensors[static_cast<size_t>(tensor)];
    require_writable_as(file, file_shape(dumped).size(), dumped.fill);
  }
  for (const std::string& text : options.expect) require_stored(program, "--expect", text);
  for (const std::string& text : options.expect) {
    const auto [tensor, file] = named_file(program, "--expect", text);
    try {
      options.expected.push_back({tensor, file, load_expected(program, tensor, file)});
    } catch (const Error& error) {
      std::vector<Diagnostic> diagnostics = error.diagnostics();
      const std::string why =
          fmt::format("--expect {}: this is compared with %{}", text,
                      quote_if_needed(program.tensors[static_cast<size_t>(tensor)].name));
      diagnostics.push_back({Severity::note, {}, why, ""});
      throw Error(error.code(), std::move(diagnostics));
    }
  }
}

/// Which regions come with a graph.
std::set<std::string> with_graph(const Program& program) {
  std::set<std::string> written;
  for (const Region& region : program.regions) {
    if (region.graph) written.insert(region.name);
  }
  return written;
}

/// What nodes find wrong with their streams is a defect of the lowering, unless the graph was
/// given: the verifier does not know the data.
[[noreturn]] void refuse_graph(const Region& region, const std::string& found) {
  const std::string message = fmt::format("the graph of region @{} does not fit its data: {}",
                                          quote_if_needed(region.name), found);
  const std::string advice = "if fuseflow-lower gave this graph, please report it as a defect";
  throw Error(ExitCode::rejected,
              {{Severity::error, region.where, message, ""}, {Severity::note, {}, advice, ""}});
}

/// `written`: the regions whose graphs were not made by lowering.
ProgramRun simulate(const Program& program, const std::set<std::string>& written, TensorData data,
                    const Machine& machine, SimOptions& options) {
  Progress progress(program, data, machine);
  options.run.cancel = &interrupt_flag();
  options.run.progress = [&](int64_t cycles, int64_t tokens) { progress.show(cycles, tokens); };
  options.run.trace = !options.trace_file.empty();
  options.run.full_streams = options.verbose || !options.streams_file.empty();
  size_t current = 0;
  int64_t started = 0;  // cycle at which the region starts
  const auto before = [&](size_t region, int64_t start) {
    progress.region(current = region);
    started = start;
    if (options.dram_trace_file.empty()) return;
    options.dram_trace += fmt::format("# @{}\n", quote_if_needed(program.regions[region].name));
  };
  if (!options.dram_trace_file.empty()) {
    options.dram_trace = trace_head(machine);
    options.run.accessed = [&](int64_t cycle, bool write, uint64_t address) {
      options.dram_trace += trace_line({started + cycle, write, address});
    };
  }
  try {
    RunOptions run = options.run;
    run.max_seconds = seconds_left(options);
    return run_program(program, std::move(data), machine, run, before);
  } catch (const Defect& defect) {
    const Region& region = program.regions[current];
    if (written.contains(region.name)) refuse_graph(region, defect.what());
    throw;
  }
}

/// The program before it was lowered, and the machine with other settings: what changes are tried
/// on.
struct WhatIfSetup {
  Program given;
  TensorData inputs;
  MachineWith machine_with;
};

/// The limits that are left for each trial.
RunOptions trial_options(const SimOptions& options) {
  RunOptions run = options.run;
  run.max_seconds = seconds_left(options);
  run.trace = false;
  run.accessed = {};
  run.progress = {};
  return run;
}

void say_summary(const Program& program, const Machine& machine, const SimOptions& options,
                 const ProgramRun& run, const WhatIfSetup& tried_on) {
  const TrialSetup setup{tried_on.given, program, machine, tried_on.machine_with,
                         trial_options(options)};
  say(verdict_lines(setup, verdicts_of_run(setup, run)));
  say(bottleneck_summary(program, machine, run));
}

/// What stands on standard output: the regions, or what-ifs.
std::string table_text(const Program& program, const Machine& machine, const SimOptions& options,
                       const ProgramRun& run, const Checks& checks, const WhatIfSetup& tried_on) {
  if (options.what_if.empty()) {
    return region_csv(program, machine, run, checks.tensors, checks.complete());
  }
  std::vector<std::string> settings;
  for (const std::string& option : options.what_if) {
    for (std::string& setting : settings_of(option)) settings.push_back(std::move(setting));
  }
  return what_if_csv(program, tried_on.inputs, machine, tried_on.machine_with, settings, run,
                     trial_options(options));
}

ExitCode report_run(const Program& program, const Machine& machine, const SimOptions& options,
                    const ProgramRun& run, const WhatIfSetup& tried_on) {
  assert_invariants(program, run);
  std::optional<Error> unwritten;  // the first: the others, and the regions' rows, are written
  if (run.finish != Finish::done) {
    write_figures(program, machine, options, run, unwritten);
    report(Severity::error, describe_finish(program, run));
    if (unwritten) throw Error(*unwritten);
    return ExitCode::unfinished;
  }
  const Checks checks = run_checks(program, options, run);
  for (const std::string& text : options.dump) {
    attempt(unwritten, [&] { write_dump(program, run, text); });
  }
  write_figures(program, machine, options, run, unwritten);
  if (options.verbose) say_summary(program, machine, options, run, tried_on);
  write_output(options.filter.output, table_text(program, machine, options, run, checks, tried_on));
  const ExitCode status = report_checks(program, checks, options.strict);
  if (unwritten) throw Error(*unwritten);
  return status;
}

/// What is wrong with the options whatever the program is.
void check_options(const SimOptions& options) {
  std::vector<NamedOutput> outputs = {
      {"-o", options.filter.output},       {"--nodes", options.nodes_file},
      {"--streams", options.streams_file}, {"--actions", options.actions_file},
      {"--trace", options.trace_file},     {"--dram-trace", options.dram_trace_file}};
  for (const std::string& text : options.dump) {
    const auto [name, file] = name_and_file("--dump", text);
    outputs.push_back({"--dump " + name, file});
    if (is_written_kind(file)) continue;
    throw Error(
        ExitCode::usage,
        fmt::format("--dump: `{}` is not a kind of tensor file that can be written, expected "
                    ".npy, .mtx or .tns",
                    file));
  }
  for (const std::string& text : options.expect) {
    static_cast<void>(parse_binding(name_and_file("--expect", text).second));
  }
  for (const std::string& text : options.what_if) static_cast<void>(settings_of(text));
  if (options.tolerance_given->given() && !options.check && options.expect.empty()) {
    throw Error(ExitCode::usage, "--tolerance is for --check and --expect, expected one of them");
  }
  check_outputs(outputs);
}

/// A key that does not exist is found before anything is simulated. A machine that is refused has a
/// row in the table.
void check_what_ifs(const SimOptions& options, const MachineWith& machine_with) {
  for (const std::string& option : options.what_if) {
    for (const std::string& setting : settings_of(option)) {
      try {
        static_cast<void>(machine_with({setting}));
      } catch (const Error& error) {
        if (error.code() != ExitCode::usage) continue;
        constexpr std::string_view kOther = "--machine-set: ";  // which reads such settings
        std::string message = error.what();
        if (message.starts_with(kOther)) message.replace(0, kOther.size(), "--what-if: ");
        throw Error(ExitCode::usage, message);
      }
    }
  }
}

ExitCode run_sim(SimOptions& options) {
  if (options.list_machines) {
    write_output(options.filter.output, list_machines());
    return ExitCode::ok;
  }
  if (!options.printed_machine.empty()) options.machine.name = options.printed_machine;
  const MachineDescription described = describe_machine(options.machine.name);
  const Machine machine = options.machine.load_with(described);
  if (options.print_machine->given()) {
    write_output(options.filter.output, print_machine(machine, MachineText::explained));
    return ExitCode::ok;
  }
  check_options(options);
  WhatIfSetup tried_on;
  tried_on.machine_with = [&](const std::vector<std::string>& more) {
    return options.machine.load_with(described, more);
  };
  check_what_ifs(options, tried_on.machine_with);
  if (!options.dram_trace_file.empty()) require_memory_model(machine);
  options.started = std::chrono::steady_clock::now();
  options.run.executor = options.executor == "naive" ? Executor::naive : Executor::fast;
  options.run.max_memory_bytes = limit_in_bytes(options.max_memory_mib);
  const InterruptScope scope;
  std::optional<StopScope> limits;  // of the part of the work that `lost` names
  const auto begin = [&](const char* lost) {
    limits.emplace(lost, seconds_left(options), options.run.max_memory_bytes);
  };
  begin("the program was not read");
  Program program = read_program(options.filter);
  const std::set<std::string> written = with_graph(program);
  begin("the data were not loaded");
  const DataRead read = find_data_facts(program);  // held until the simulation has loaded them
  begin("the program was not lowered");
  if (options.verbose) tried_on.given = program;
  program = lower_program(std::move(program));
  if (options.verbose) {
    for (const std::string& line : density_notes(program)) report(Severity::note, line);
  }
  begin("the data were not loaded");
  check_named_tensors(program, options);
  warn_of_streams(program, machine);
  warn_of_idle_keys(program, machine, described, options.machine.settings);
  note_shallower_buffers(program, machine);
  TensorData data = load_tensors(program, {}, options.run.threads);
  if (!options.what_if.empty()) tried_on.inputs = data;
  begin("the simulation did not finish");
  const ProgramRun run = simulate(program, written, std::move(data), machine, options);
  limits.reset();
  return report_run(program, machine, options, run, tried_on);
}

int tool_main(int argc, char** argv) {
  CommandLine app("Simulates a program cycle by cycle and prints a CSV row for every region.",
                  "fuseflow-sim");
  SimOptions options;
  add_options(app, options);
  register_onnx_sources();
  return run_tool(argc, argv, app, [&] { return run_sim(options); });
}

}  // namespace
}  // namespace fuseflow

int main(int argc, char** argv) {
  return fuseflow::guarded_main(argc, argv, fuseflow::tool_main);
}
