// fuseflow-diff: what changed from one run or program to another.
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "bind_options.h"
#include "estimate/estimate.h"
#include "import/import.h"
#include "ir/data_facts.h"
#include "ir/files.h"
#include "lower/lower.h"
#include "machine_options.h"
#include "report/number_text.h"
#include "report/run_diff.h"
#include "report/schedule_diff.h"
#include "shell/tool.h"
#include "support/input_kind.h"
#include "support/outputs.h"
#include "support/text.h"

namespace fuseflow {
namespace {

/// A metric and by how many per cent of its total it may grow.
struct Guard {
  const Metric* metric = nullptr;
  double percent = 0;
};

struct DiffOptions {
  std::string a, b;
  std::string output = "-";
  MachineOptions machine;
  BindOptions bound;
  std::vector<const Option*> of_programs;
  std::vector<std::string> programs;
  std::vector<std::string> fail_above;
  bool csv = false;
  size_t most = 20;
};

/// One side: a run's report, and the program where it is known.
struct DiffSide {
  RunTable run;
  std::optional<Program> program;
};

void add_options(CommandLine& app, DiffOptions& o) {
  app.add_option("a", o.a, "Baseline: a report or a program; - is standard input")
      .option_text("A")
      .required();
  app.add_option("b", o.b, "Report or program to compare with it; - is standard input")
      .option_text("B")
      .required();
  app.add_option("-o,--output", o.output, "Write to FILE instead of standard output")
      .option_text("FILE");
  app.add_option("--programs", o.programs,
                 "Programs of the two reports: compare regions by their statements instead of by "
                 "name")
      .option_text("A.ff B.ff")
      .expected(2);
  const Option& csv = app.add_flag("--csv", o.csv, "Print CSV: a row for each region and metric");
  app.add_option("--most", o.most, "Print at most N regions; 0: all (default: 20)")
      .option_text("N")
      .whole_from(0)
      .excludes(csv);
  app.add_option("--fail-above", o.fail_above,
                 "End with status 5 if the total of cycles, or of METRIC, grows by more than P per "
                 "cent (repeatable)")
      .option_text("[METRIC=]P%")
      .one_a_use();
  add_machine_options(app, o.machine, "For programs:");
  add_bind_options(app, o.bound);
  for (const char* name : {"--bind", "--dim", "--machine", "--machine-set"}) {
    o.of_programs.push_back(&app.option(name));
  }
}

Guard parse_guard(const std::string& text) {
  const size_t equals = text.find('=');
  const std::string name = equals == std::string::npos ? "cycles" : text.substr(0, equals);
  std::string number = equals == std::string::npos ? text : text.substr(equals + 1);
  Guard guard{find_metric(name), 0};
  if (guard.metric == nullptr) {
    std::vector<std::string> names;
    for (const Metric& metric : metrics()) names.emplace_back(metric.name);
    throw Error(ExitCode::usage, fmt::format("--fail-above: there is no metric `{}`, expected {}",
                                             name, fmt::join(names, ", ")));
  }
  if (number.ends_with('%')) number.pop_back();
  const char* end = number.data() + number.size();
  const auto [stop, error] = std::from_chars(number.data(), end, guard.percent);
  if (error != std::errc() || stop != end || !(guard.percent >= 0) ||
      !std::isfinite(guard.percent)) {
    throw Error(
        ExitCode::usage,
        fmt::format("--fail-above: `{}` is not a percentage of 0 or more, such as 5%", text));
  }
  return guard;
}

DiffSide read_side(const std::string& path, const Machine& machine, const Bindings& bindings) {
  const SourceText source = read_source(path);
  if (kind_of(source.text) != InputKind::program) return {parse_run_table(source), std::nullopt};
  Program program = read_program(source, path, "", bindings);
  const DataRead read = find_data_facts(program);  // held until the estimate has loaded them
  const Program lowered = lower_program(program);
  const ProgramEstimate estimate = estimate_from_data(lowered, load_patterns(lowered), machine);
  RunTable run = parse_run_table({source.name, estimate_csv(lowered, machine, estimate)});
  return {std::move(run), std::move(program)};
}

void attach_programs(const DiffOptions& o, DiffSide& a, DiffSide& b) {
  if (o.programs.empty()) return;
  DiffSide* sides[] = {&a, &b};
  for (size_t i = 0; i < 2; ++i) {
    if (sides[i]->program) {
      throw Error(ExitCode::usage, "--programs is for reports; programs are compared as they are");
    }
    sides[i]->program = read_program(o.programs[i]);
    require_regions_of(sides[i]->run, *sides[i]->program);
  }
}

void note_what_else_differs(const RunTable& a, const RunTable& b) {
  if (a.program != b.program) {
    report(Severity::note,
           fmt::format("the programs have other names: {} and {}", a.program, b.program));
  }
  if (a.machine != b.machine) {
    report(Severity::note, fmt::format("the machines differ: {} and {}", a.machine, b.machine));
  }
  if (clocks_differ(time_of(a.total), time_of(b.total))) {
    report(Severity::note, "the clocks differ, and with them what a cycle is: compare `seconds`");
  }
  for (const RunTable* run : {&a, &b}) {
    const auto checked = run->total.texts.find("checked");
    if (checked == run->total.texts.end()) continue;
    if (checked->second == "wrong") {
      report(Severity::warning, fmt::format("{}: a result of this run was wrong", run->file));
    }
    if (checked->second == "undecided") {
      report(Severity::warning,
             fmt::format("{}: the check of this run left results undecided", run->file));
    }
  }
}

std::string schedule_text(const DiffSide& a, const DiffSide& b,
                          const std::vector<RegionPair>& pairs) {
  if (!a.program || !b.program) return "";
  std::string out;
  const auto add = [&](const char* title, const std::vector<std::string>& lines) {
    if (!lines.empty()) out += fmt::format("\n{}\n  {}\n", title, fmt::join(lines, "\n  "));
  };
  add("schedule", schedule_changes(*a.program, *b.program, pairs));
  add("statements", statement_changes(*a.program, *b.program));
  return out;
}

/// Growth of just `percent` is allowed, also where a product of decimal fractions is not exact.
bool grew_more(double before, double now, double percent) {
  return (now - before) * 100 > percent * before * (1 + 1e-12);
}

/// Says what each guard finds. A run without the metric leaves nothing to compare: that is no pass.
ExitCode judge(const std::vector<Guard>& guards, const RunTable& a, const RunTable& b) {
  bool worse = false, lacking = false;
  for (const Guard& guard : guards) {
    const std::string_view name = guard.metric->name;
    for (const RunTable* run : {&a, &b}) {
      if (value_of(*guard.metric, run->total)) continue;
      report(
          Severity::error,
          fmt::format("--fail-above: {} says no {}, expected a report that does", run->file, name));
      lacking = true;
    }
    const std::optional<double> before = value_of(*guard.metric, a.total);
    const std::optional<double> now = value_of(*guard.metric, b.total);
    if (!before || !now || !grew_more(*before, *now, guard.percent)) continue;
    report(Severity::error, fmt::format("{} grew from {} to {}, by more than {:g}%", name,
                                        exact_number(*before), exact_number(*now), guard.percent));
    worse = true;
  }
  return worse ? ExitCode::worse : lacking ? ExitCode::rejected : ExitCode::ok;
}

/// Options about what is estimated would change nothing of two reports.
void require_programs(const DiffOptions& o, const DiffSide& a, const DiffSide& b) {
  if (a.program || b.program) return;
  for (const Option* option : o.of_programs) {
    if (!option->given()) continue;
    throw Error(ExitCode::usage,
                "--bind, --dim, --machine and --machine-set are for programs, but A and B are "
                "reports");
  }
}

ExitCode diff_main(const DiffOptions& o) {
  std::vector<Guard> guards;
  for (const std::string& text : o.fail_above) guards.push_back(parse_guard(text));
  check_outputs({{"-o", o.output}});
  const Machine machine = o.machine.load();
  const Bindings bindings = bindings_of(o.bound);
  DiffSide a = read_side(o.a, machine, bindings);
  DiffSide b = read_side(o.b, machine, bindings);
  require_programs(o, a, b);
  attach_programs(o, a, b);
  const bool by_statements = a.program && b.program;
  const std::vector<RegionPair> pairs =
      by_statements ? pair_by_statements(*a.program, *b.program) : pair_by_name(a.run, b.run);
  const std::vector<RegionPair> layers =
      by_statements ? pair_by_layers(*a.program, *b.program) : std::vector<RegionPair>{};
  const RunDiff diff = diff_runs(a.run, b.run, pairs, layers);
  note_what_else_differs(a.run, b.run);
  write_output(
      o.output,
      o.csv ? diff_csv(diff)
            : printable(diff_table(a.run, b.run, diff, o.most) + schedule_text(a, b, pairs), "\n"));
  return judge(guards, a.run, b.run);
}

int tool_main(int argc, char** argv) {
  CommandLine app(
      "Compares two reports of fuseflow-sim or fuseflow-estimate, or two programs by their "
      "estimates:\n  fuseflow-diff before.csv after.csv --fail-above 5%",
      "fuseflow-diff");
  DiffOptions options;
  add_options(app, options);
  register_onnx_sources();
  return run_tool(argc, argv, app, [&] { return diff_main(options); });
}

}  // namespace
}  // namespace fuseflow

int main(int argc, char** argv) {
  return fuseflow::guarded_main(argc, argv, fuseflow::tool_main);
}
