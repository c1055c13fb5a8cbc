// fuseflow-cluster: plans chains of dense operators over the linked scratchpads of many cores.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>

#include "chain_options.h"
#include "chip/fit.h"
#include "cluster/chain/lower_plan.h"
#include "cluster/common/machine_to_plan.h"
#include "cluster/plan.h"
#include "cluster/report/chain_report.h"
#include "cluster/report/evaluate.h"
#include "cluster/report/kernel_json.h"
#include "cluster/report/notes.h"
#include "cluster/report/plan_json.h"
#include "cluster_uses.h"
#include "cuda/generate.h"
#include "import/import.h"
#include "ir/copies.h"
#include "ir/data_facts.h"
#include "ir/names.h"
#include "ir/residency.h"
#include "machine_options.h"
#include "program_tool.h"
#include "shell/thread_options.h"
#include "support/folder.h"
#include "support/outputs.h"

namespace {

using namespace fuseflow;
using namespace fuseflow::cluster;

struct Options {
  ChainOptions chain;
  MachineOptions machine{"h100", {}};
  Effort effort;
  std::string explain, plans, plan, table, table_programs;
  ProgramOptions filter;
  bool verbose = false;
  int64_t table_up_to = 4096;
  bool measure = false;
  bool evaluate = false;
  bool accept_slower = false;
  int threads = 1;
  bool program = false;
  std::string strategy = "chains";
  bool dense = false;
};

[[noreturn]] void refuse_chain(const Chain& chain, const Machine& machine) {
  throw Error(ExitCode::rejected,
              fmt::format("no plan of chain {} fits machine {}, expected smaller extents or larger "
                          "scratchpads",
                          chain.name, machine.name));
}

/// What to do for every power of two of rows up to the first that has as many as wanted.
std::vector<TableRow> plan_table(const Options& o, const Chain& chain, const Machine& machine) {
  std::vector<TableRow> rows;
  for (int64_t m = 16; m < 2 * o.table_up_to; m *= 2) {
    const Chain sized = padded(with_rows(chain, m));
    Choice choice = choice_of(sized, machine, o.effort, o.threads);
    auto chosen = plan_chosen(with_rows(o.chain.make(), m), choice, machine);
    if (chosen) {
      rows.push_back({m, std::move(choice), std::move(*chosen)});
    } else {
      report(Severity::warning, fmt::format("chain {} of {} rows: no plan and no kernels apart of "
                                            "it fit machine {}; left out of the table",
                                            chain.name, m, machine.name));
    }
  }
  if (rows.empty()) refuse_chain(chain, machine);
  return rows;
}

/// A file for each row of the table, in the order of their names: what was chosen, as a program.
void write_table_programs(const Options& o, const std::vector<TableRow>& table) {
  const size_t digits = std::to_string(table.back().m_up_to).size();
  for (const TableRow& row : table) {
    const std::string name = fmt::format("rows_{:0{}}.ff", row.m_up_to, digits);
    write_program((std::filesystem::path(o.table_programs) / name).string(), row.chosen.program);
  }
}

/// The chain asked for, or every workload, as rows of the evaluation table.
ExitCode run_evaluation(const Options& o, const Machine& machine) {
  const bool one = o.chain.named();
  const std::vector<Chain> chains = one ? std::vector<Chain>{o.chain.make()} : workloads();
  std::string text = evaluation_header();
  bool right = true;
  for (const Evaluation& row : evaluate(chains, machine, o.effort, o.threads)) {
    right = right && (!row.values || row.values->passed);
    text += evaluation_row(row, machine);
  }
  write_output(o.filter.output, text);
  return right ? ExitCode::ok : ExitCode::unfinished;
}

/// The candidates that are left by each pruning rule, of the largest chain, if there is one.
void write_explanation(const Options& o, const Chain* chain, const Machine& machine) {
  SearchOptions options;
  options.skip_costs = true;
  write_output(o.explain, chain == nullptr ? explain_header()
                                           : explain_csv(search(*chain, machine, options).counts));
}

/// --explain alone only says what there is.
bool measures(const Options& o) {
  return o.explain.empty() || o.measure || !o.plans.empty() || !o.plan.empty();
}

/// A program, and how its inputs arrive: those that --dense stores, in the formats of their
/// readers.
struct Given {
  Program program;
  GivenFormats formats;
  DataRead read;  ///< held, so that planning does not read them again
};

/// One product by itself.
ExitCode run_product(const Options& o, const Machine& machine) {
  const ProductSize size = o.chain.make_product();
  const MeasuredProduct product = find_product(size, machine, o.effort);
  write_output(o.filter.output, product_csv(machine, product));
  return ExitCode::ok;
}

PlanStrategy strategy_of(const Options& o) {
  return o.strategy == "none"    ? PlanStrategy::none
         : o.strategy == "tiles" ? PlanStrategy::tiles
                                 : PlanStrategy::chains;
}

/// Says what becomes of a program, and keeps of it what is written as files.
class Listener : public PlanReporter {
 public:
  Listener(const Options& o, const Machine& machine)
      : PlanReporter(machine, {strategy_of(o), !o.explain.empty(), o.verbose, o.verbose}),
        o_(o),
        machine_(machine) {}

  using PlanReporter::on;
  void on(const Program& program, const std::vector<FoundChain>& chains,
          const std::vector<RefusedChain>& refused) override {
    PlanReporter::on(program, chains, refused);
    if (o_.explain.empty()) return;
    const Chain largest = chains.empty() ? Chain{} : padded(chains.front().chain);
    write_explanation(o_, chains.empty() ? nullptr : &largest, machine_);
  }
  void on(const Program& program, const FoundChain& found, const ChainOutcome& outcome) override {
    if (!o_.plans.empty() && chains_.empty()) {
      write_output(o_.plans, plans_csv(padded(found.chain), machine_, outcome.choice));
    }
    chains_.push_back(
        {outcome.chain, tensors_of(program, found.form), outcome.choice, outcome.taken()});
    PlanReporter::on(program, found, outcome);
  }
  void on(const Program& program, const DroppedChain& dropped) override {
    const std::string& name = program.tensors[static_cast<size_t>(dropped.result)].name;
    for (PlannedChain& chain : chains_) chain.taken = chain.taken && chain.tensors.e != name;
    PlanReporter::on(program, dropped);
  }
  void on(const Program& program, const RemainingKernels& rest) override {
    rows_ = rest.combined.rows;
    PlanReporter::on(program, rest);
  }

  /// What the program has in the end, as JSON: chains that are part of a kernel of rows are not in
  /// it.
  std::string json(const Program& program) const {
    std::set<std::string> replaced;
    std::vector<Json> rows;
    for (const RowsOutcome& outcome : rows_) {
      rows.push_back(rows_json(program, outcome));
      if (!outcome.taken()) continue;
      for (const TensorId t : outcome.members) {
        replaced.insert(program.tensors[static_cast<size_t>(t)].name);
      }
    }
    std::vector<PlannedChain> chains = chains_;
    std::erase_if(chains, [&](const PlannedChain& c) { return replaced.contains(c.tensors.e); });
    return plans_json(machine_, chains, std::move(rows), kernels_json(program, machine_));
  }

 private:
  const Options& o_;
  const Machine& machine_;
  std::vector<PlannedChain> chains_;
  std::vector<RowsOutcome> rows_;
};

/// The first of these regions, and how many more there are.
std::string named(const std::vector<std::string>& regions) {
  constexpr size_t kNamed = 3;
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(regions.size(), kNamed); ++i) {
    names.push_back("@" + quote_if_needed(regions[i]));
  }
  const std::string more =
      regions.size() > kNamed ? fmt::format(" and {} more", regions.size() - kNamed) : "";
  return fmt::format("{}{}", fmt::join(names, ", "), more);
}

void note_regions(const std::vector<std::string>& regions, std::string_view options) {
  if (regions.empty()) return;
  const bool one = regions.size() == 1;
  report(Severity::note, fmt::format("{} stay{} as streams; {} makes kernels of tiles of {}, too",
                                     named(regions), one ? "s" : "", options, one ? "it" : "them"));
}

/// Regions whose kernels of tiles need given operands that are stored compressed to be dense.
std::vector<std::string> kernels_if_dense(const Program& program, const Machine& machine,
                                          const std::vector<std::string>& kernels) {
  if (!machine.has_streams) return {};  // they are stored so without being asked
  std::vector<std::string> dense =
      regions_with_forms(program, machine, {.store_operands_dense = true});
  std::erase_if(dense, [&](const std::string& name) {
    return std::find(kernels.begin(), kernels.end(), name) != kernels.end();
  });
  return dense;
}

/// What is left to streams though cores could take it, which may take longer.
void note_left_to_streams(const Options& o, const Program& program, const Machine& machine) {
  const std::vector<std::string> left =
      regions_with_forms(program, machine, {.store_operands_dense = !machine.has_streams});
  if (o.strategy == "chains") note_regions(left, "--strategy=tiles");
  note_regions(kernels_if_dense(program, machine, left),
               o.strategy == "chains" ? "--strategy=tiles --dense" : "--dense");
}

/// Kernels that fuseflow-cuda does not generate, where it generates kernels for the machine, by the
/// reason.
void note_without_generator(const Program& program, const Machine& machine) {
  if (!chip::chip_of(machine)) return;
  std::map<std::string, std::vector<std::string>> regions;
  for (const cuda::Generated& made : cuda::generate(program, machine)) {
    if (!made.refused.empty()) regions[made.refused].push_back(program.regions[made.region].name);
  }
  for (const auto& [why, names] : regions)
    report(Severity::note, fmt::format("{}: no CUDA kernel: {}", named(names), why));
}

Given given_program(const Options& o) {
  Given given;
  given.program = without_copy_regions(read_program(o.filter));
  if (std::string note = drop_residents(given.program); !note.empty()) {
    report(Severity::note, std::move(note));
  }
  given.read = find_data_facts(given.program);
  given.formats = given_formats(given.program);
  if (!o.dense) return given;
  std::erase_if(given.formats, [](const auto& input) { return !input.second.all_dense(); });
  store_dense(given.program);
  return given;
}

/// The program in which the machine makes what kernels read otherwise than it arrives.
void write_planned(const Options& o, const Machine& machine, Given given) {
  Program& program = given.program;
  for (const TensorId copy : restore_given_formats(program, given.formats)) {
    const Tensor& input = program.tensors[static_cast<size_t>(original_of(program, copy))];
    const Format& format = program.tensors[static_cast<size_t>(copy)].format;
    report(Severity::note,
           fmt::format("input %{} arrives as {} and is read as {}: its copy takes {} cycles; a "
                       "`const` is converted offline",
                       quote_if_needed(input.name), to_string(input.format), to_string(format),
                       conversion_cycles(input, format, machine)));
  }
  require_sound(program);
  report_matrix_type(program, machine);
  write_program(o.filter.output, std::move(program));
}

/// --explain alone: what there is of the program as it is; nothing is planned or written.
void explain_program(const Program& program, const Machine& machine, Listener& listener,
                     const Options& o) {
  Program unchanged = program;
  listener.on(program, plan_online(unchanged, machine, {.measure = false}));
  const int least_work = o.strategy == "tiles" ? 1 : 2;
  report_rows(program, plan_rows(unchanged, machine, {.measure = false, .least_work = least_work}));
  std::vector<RefusedChain> refused;
  std::vector<FoundChain> chains = find_chains(program, &refused);
  sort_by_work(chains);
  listener.on(program, chains, refused);
  if (listener.nothing_found()) report(Severity::note, "no chain of dense products found");
}

/// The filter. --explain and --plans show the largest chain.
ExitCode run_filter(const Options& o, const Machine& machine) {
  Given given = given_program(o);
  Listener listener(o, machine);
  if (!measures(o)) {
    explain_program(given.program, machine, listener, o);
    return ExitCode::ok;
  }
  given.program = plan(std::move(given.program), machine,
                       {.strategy = strategy_of(o),
                        .given = given.formats,
                        .effort = o.effort,
                        .threads = o.threads,
                        .accept_slower = o.accept_slower},
                       listener);
  note_left_to_streams(o, given.program, machine);
  note_without_generator(given.program, machine);
  if (!o.plan.empty()) write_output(o.plan, listener.json(given.program));
  write_planned(o, machine, std::move(given));
  return ExitCode::ok;
}

ExitCode run(const Options& o) {
  check_outputs({{"-o", o.filter.output},
                 {"--explain", o.explain},
                 {"--plans", o.plans},
                 {"--plan", o.plan},
                 {"--table", o.table}});
  const Machine machine = machine_to_plan(o.machine.load());
  require_cores(machine);
  if (o.program) {
    write_program(o.filter.output, chain_program(o.chain.make()));
    return ExitCode::ok;
  }
  if (!o.chain.product.empty()) {
    return run_product(o, machine);
  }
  if (o.evaluate) {
    return run_evaluation(o, machine);
  }
  if (!o.chain.named() && o.table.empty()) return run_filter(o, machine);
  const Chain chain = padded(o.chain.make());
  if (!o.table.empty()) {
    if (!o.table_programs.empty()) make_folder(o.table_programs);
    const std::vector<TableRow> table = plan_table(o, chain, machine);
    write_output(o.table, table_csv(chain, machine, table));
    if (!o.table_programs.empty()) write_table_programs(o, table);
    return ExitCode::ok;
  }
  if (!o.explain.empty()) write_explanation(o, &chain, machine);
  if (!measures(o)) return ExitCode::ok;
  const Choice choice = choice_of(chain, machine, o.effort, o.threads);
  if (!o.plans.empty()) write_output(o.plans, plans_csv(chain, machine, choice));
  if (choice.fused().rank == 0) refuse_chain(chain, machine);
  const Chain covered = chain_of(chain, choice.fused());
  if (!o.plan.empty()) {
    write_output(o.plan, plans_json(machine, {{covered, tensors_of(chain), choice, false}}));
  }
  write_output(o.filter.output, plan_text(covered, machine, choice));
  return ExitCode::ok;
}

void declare(CommandLine& app, Options& o) {
  add_chain_options(app, o.chain);
  add_machine_options(app, o.machine);
  app.add_option("--effort", o.effort.operations,
                 "Limit of tile operations that each search simulates (default: 16777216)")
      .option_text("N")
      .between(int64_t{1}, int64_t{1} << 40);
  app.add_option("--top", o.effort.most,
                 "Simulate only the N best plans by cost (default: all that no bound excludes)")
      .option_text("N")
      .between(1, 1000000);
  app.add_option("--strategy", o.strategy,
                 "chains: plan chains and attentions, leave the rest as streams (default); tiles: "
                 "make the rest kernels of tiles; none: make every statement a kernel of tiles")
      .option_text("NAME")
      .among({"chains", "tiles", "none"});
  app.add_flag("--dense", o.dense,
               "Store every tensor dense, so that masks become tiles, too; inputs arrive dense, "
               "without conversion");
  app.add_flag("--accept-slower", o.accept_slower,
               "Take a plan even if separate kernels are faster, with a warning");
  app.add_option("--explain", o.explain,
                 "Write the candidates left by each pruning rule (CSV) and stop before measuring; "
                 "note why pairs of products are no chain, and which softmaxes with a product are "
                 "one kernel")
      .option_text("FILE");
  app.add_flag("--measure", o.measure,
               "With --explain: continue and measure (as --plan and --plans do)");
  app.add_flag("--evaluate", o.evaluate,
               "Print the evaluation table of the given chain, or of all 26 workloads");
  add_threads_option(app, o.threads);
  app.add_flag("--program", o.program,
               "Print the chain as a program, one kernel per operator, to plan and to simulate");
  app.add_option("--plan", o.plan,
                 "Write the plan of each chain and kernel (JSON, ir-spec/plan.schema.json)")
      .option_text("FILE");
  app.add_option("--plans", o.plans, "Write the plans that were simulated (CSV)")
      .option_text("FILE");
  app.add_option("--table", o.table,
                 "Write the best plan for each number of rows, measured (CSV), and stop")
      .option_text("FILE");
  app.add_option("--table-up-to", o.table_up_to,
                 "Rows that the table takes at least (default: 4096)")
      .option_text("N")
      .between(16, 1 << 20);
  app.add_option("--table-programs", o.table_programs,
                 "With --table: also write the program of each of its rows, planned, to "
                 "DIR/rows_N.ff (fuseflow-cuda takes them together)")
      .option_text("DIR");
  add_program_options(app, o.filter);
  app.add_flag("-v,--verbose", o.verbose, "Print every plan to standard error");
}

int tool_main(int argc, char** argv) {
  CommandLine app{
      "Plans dense operator chains, attention and other kernels of tiles on cores with linked "
      "scratchpads.",
      "fuseflow-cluster"};
  Options options;
  declare(app, options);
  register_onnx_sources();  // what constants leave out is planned for
  return run_tool(argc, argv, app, [&] {
    require_used(app, use_of(app, options.chain.named(), options.strategy));
    return run(options);
  });
}

}  // namespace

int main(int argc, char** argv) {
  return fuseflow::guarded_main(argc, argv, tool_main);
}
