// fuseflow-cluster: plans chains of dense operators over the linked scratchpads of many cores.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "chain_options.h"
#include "cluster/chain/evaluate.h"
#include "cluster/chain/lower_plan.h"
#include "cluster/chain/recognize.h"
#include "cluster/chain/search.h"
#include "cluster/combine.h"
#include "cluster/common/machine_to_plan.h"
#include "cluster/kernels/divide.h"
#include "cluster/kernels/kernels.h"
#include "cluster/planned_program.h"
#include "cluster/report/chain_report.h"
#include "cluster/report/kernel_json.h"
#include "cluster/report/kernels_report.h"
#include "cluster/report/online_report.h"
#include "cluster/report/plan_json.h"
#include "cluster/report/rows_json.h"
#include "cluster/report/rows_report.h"
#include "cluster/rest.h"
#include "cluster/tails.h"
#include "cluster_uses.h"
#include "import/import.h"
#include "ir/copies.h"
#include "ir/data_facts.h"
#include "ir/names.h"
#include "ir/residency.h"
#include "machine_options.h"
#include "program_tool.h"
#include "shell/thread_options.h"
#include "support/outputs.h"

namespace {

using namespace fuseflow;
using namespace fuseflow::cluster;

struct Options {
  ChainOptions chain;
  MachineOptions machine{"h100", {}};
  Effort effort;
  std::string explain, plans, plan, table;
  FilterOptions filter;
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

/// What to do for every power of two of rows up to the largest wanted.
std::vector<TableRow> plan_table(const Options& o, const Chain& chain, const Machine& machine) {
  std::vector<TableRow> rows;
  for (int64_t m = 16; m <= o.table_up_to; m *= 2) {
    const Chain sized = padded(with_rows(chain, m));
    Choice choice = choose(sized, machine, o.effort, nullptr, o.threads);
    if (choice.fused().rank > 0) rows.push_back({m, std::move(choice)});
  }
  return rows;
}

/// The chain asked for, or every workload, as rows of the evaluation table.
ExitCode run_evaluation(const Options& o, const Machine& machine) {
  const bool one = o.chain.named();
  const std::vector<Chain> chains = one ? std::vector<Chain>{o.chain.make()} : workloads();
  std::string text = evaluation_header();
  bool right = true;
  for (const Evaluation& row : evaluate(chains, machine, o.effort, o.threads)) {
    right = right && row.values.passed;
    text += evaluation_row(row, machine);
  }
  write_output(o.filter.output, text);
  return right ? ExitCode::ok : ExitCode::unfinished;
}

/// Counts and searches, and writes what was asked for; nothing when it stops before measuring.
std::optional<Choice> plan_chain(const Options& o, const Chain& chain, const Machine& machine,
                                 const ChainForm* form = nullptr) {
  if (!o.explain.empty()) {
    SearchOptions options;
    options.skip_costs = true;
    write_output(o.explain, explain_csv(search(chain, machine, options).counts));
    if (!o.measure && o.plans.empty() && o.plan.empty()) return std::nullopt;
  }
  Choice choice = choose(chain, machine, o.effort, form, o.threads);
  if (!o.plans.empty()) write_output(o.plans, plans_csv(chain, machine, choice));
  return choice;
}

/// A program, and how its inputs arrive: those that --dense stores, in the formats of their
/// readers.
struct Given {
  Program program;
  GivenFormats formats;
  DataRead read;  ///< held, so that planning does not read them again
};

/// What a chain has to beat.
std::string rivals_text(const ChainRivals& rivals) {
  const std::string leaving =
      rivals.leaving_out > 0
          ? fmt::format(", {} leaving out tiles without a value", rivals.leaving_out)
          : "";
  return fmt::format("its kernels apart {}{}", rivals.kernels, leaving);
}

/// Plans one chain of a program; false when the tool stops after --explain.
bool plan_found(const Options& o, const Machine& machine, const FoundChain& found, Given& given,
                std::vector<PlannedChain>& planned) {
  Program& program = given.program;
  const Chain chain = padded(found.chain);
  const std::optional<Choice> choice = plan_chain(o, chain, machine, &found.form);
  if (!choice) {
    return false;
  }
  const Chain covered = chain_of(chain, choice->fused());
  planned.push_back({covered, tensors_of(program, found.form), *choice, false});
  const std::string label =
      fmt::format("chain %{} ({}, {})", chain.name, name_of(chain.kind), name_of(chain.activation));
  const auto left = [&](const std::string& why) {
    report(Severity::note, fmt::format("{}: {}; left as it is", label, why));
    return true;
  };
  const MeasuredPlan& best = choice->fused();
  if (best.rank == 0) return left("no plan fits the machine");
  const Measured& measured = best.measure.measured;
  const ChainRivals rivals = rivals_of(program, found, *choice, given.formats, machine);
  const bool loses = rivals.win(measured.cycles);
  const std::string beside = rivals_text(rivals);
  if (loses && !o.accept_slower) {
    return left(fmt::format("its best plan takes {} cycles, {}", measured.cycles, beside));
  }
  if (!check_values(covered, best.plan.plan, machine).passed) {
    throw Error(ExitCode::unfinished, label + ": the plan computes wrong values");
  }
  const PlanNotes notes = plan_notes(covered, machine, best);
  if (!attach_plan(program, found, notes,
                   lower_plan(found.form, covered, best.plan.plan, best.plan.analysis))) {
    return left("its statements share regions with others or are scheduled");
  }
  planned.back().taken = true;
  report(
      loses ? Severity::warning : Severity::note,
      fmt::format("{}: {} cycles, {}; {} bytes of global memory, apart {} ({}){}", label,
                  measured.cycles, beside, measured.bytes.global(), choice->separate.bytes.global(),
                  choice->folded.bytes.global(), loses ? ": fusion loses here" : ""));
  if (o.verbose) {
    say(plan_text(covered, machine, *choice));
  }
  return true;
}

/// At most `most` of them one by one.
void explain_refused(const Program& program, const std::vector<RefusedChain>& refused,
                     size_t most) {
  const auto name = [&](TensorId tensor) {
    return quote_if_needed(program.tensors[static_cast<size_t>(tensor)].name);
  };
  for (size_t i = 0; i < std::min(refused.size(), most); ++i) {
    report(Severity::note,
           fmt::format("the products %{} and %{} are no chain: {}", name(refused[i].first),
                       name(refused[i].tensor), refused[i].why));
  }
  if (refused.size() > most) {
    report(Severity::note, fmt::format("and {} more pairs of products are no chains; --explain "
                                       "says why for each",
                                       refused.size() - most));
  }
}

/// One product by itself.
ExitCode run_product(const Options& o, const Machine& machine) {
  const ProductSize size = o.chain.make_product();
  const MeasuredProduct product = find_product(size, machine, o.effort);
  write_output(o.filter.output, product_csv(machine, product));
  return ExitCode::ok;
}

/// Where the machine has units for streams, products with compressed operands are left to them.
KernelOptions kernel_options(const GivenFormats& given, const Machine& machine) {
  return {.store_operands_dense = !machine.has_streams, .reorder_operands = true, .given = &given};
}

/// Takes away the plans of chains without which the rest makes up for them and more.
void drop_chains(Given& given, const Program& unchained, const Machine& machine,
                 std::vector<PlannedChain>& planned) {
  Program& program = given.program;
  std::vector<TensorId> taken;
  for (const PlannedChain& chain : planned) {
    if (chain.taken) taken.push_back(find_tensor(program, chain.tensors.e));
  }
  const KernelOptions options = kernel_options(given.formats, machine);
  for (const DroppedChain& dropped :
       drop_slow_chains(program, unchained, taken, machine, options)) {
    const std::string& name = program.tensors[static_cast<size_t>(dropped.result)].name;
    for (PlannedChain& chain : planned) chain.taken = chain.taken && chain.tensors.e != name;
    report(Severity::note,
           fmt::format("chain %{}: with the kernels around it {} cycles, without it {}; left as "
                       "it is",
                       quote_if_needed(name), dropped.with, dropped.without));
  }
}

/// Statements of several reductions, of which a kernel has one, as several statements.
void divide(Program& program, const Machine& machine, const KernelOptions& options) {
  for (const DividedStatement& divided : divide_statements(program, machine, options)) {
    report(Severity::note,
           fmt::format("%{}: each of its {} reductions is a kernel of its own",
                       quote_if_needed(program.tensors[static_cast<size_t>(divided.result)].name),
                       divided.reductions));
  }
}

/// Every statement as a kernel of tiles; regions that have no such form are named.
void add_kernels(Program& program, const GivenFormats& given, const Machine& machine) {
  std::vector<SparseKernel> sparse;
  KernelOptions options = kernel_options(given, machine);
  divide(program, machine, options);
  report_divided(program, divide_products(program, machine, options, Divide::where_faster));
  options.sparse = &sparse;
  std::vector<UnprovedProduct> unproved;
  options.unproved = &unproved;
  report_kernels(program, make_kernels(program, machine, options), sparse);
  report_lost_tiles(program, machine, unproved);
}

/// Names the first of these regions, and how many more there are.
void note_regions(const std::vector<std::string>& regions, std::string_view options) {
  constexpr size_t kNamed = 3;
  if (regions.empty()) return;
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(regions.size(), kNamed); ++i) {
    names.push_back("@" + quote_if_needed(regions[i]));
  }
  const std::string more =
      regions.size() > kNamed ? fmt::format(" and {} more", regions.size() - kNamed) : "";
  const bool one = regions.size() == 1;
  report(Severity::note,
         fmt::format("{}{} stay{} as streams; {} makes kernels of tiles of {}, too",
                     fmt::join(names, ", "), more, one ? "s" : "", options, one ? "it" : "them"));
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

/// --explain alone only says what there is.
bool measures_chains(const Options& o) {
  return o.explain.empty() || o.measure || !o.plans.empty() || !o.plan.empty();
}

/// Products and reductions of rows in one kernel: one product is no chain.
int least_work(const Options& o) {
  return o.strategy == "tiles" ? 1 : 2;
}

/// Kernels of what several statements compute, where that is faster: rows, products after sparse
/// ones; with `tiles` of all that is no chain, elementwise statements in the kernels that they
/// alone read.
CombinedKernels plan_kernels(const Options& o, const Machine& machine, Given& given) {
  Program& program = given.program;
  const RowsOptions rows{.measure = true, .least_work = least_work(o)};
  CombinedKernels combined;
  if (o.strategy == "tiles") {
    const KernelOptions options = kernel_options(given.formats, machine);
    divide(program, machine, options);
    PlannedRest rest = plan_rest(program, machine, options, rows);
    report_divided(program, rest.divided);
    report_kernels(program, rest.refused, rest.sparse);
    report_lost_tiles(program, machine, rest.unproved);
    combined = std::move(rest.combined);
  } else {
    combined.rows = plan_rows(program, machine, rows);
    combined.second_products = plan_second_products(program, machine);
  }
  report_folded(program, combined.folded);
  report_rows(program, combined.rows);
  return combined;
}

/// With --explain alone runs of rows are only found, of the program as it is.
void find_rows(const Options& o, const Machine& machine, Program& program) {
  report_rows(program,
              plan_rows(program, machine, {.measure = false, .least_work = least_work(o)}));
}

bool any_taken(const std::vector<RowsOutcome>& outcomes) {
  return std::any_of(outcomes.begin(), outcomes.end(), [](const RowsOutcome& outcome) {
    return outcome.kind == RowsOutcome::Kind::taken;
  });
}
bool any_taken(const std::vector<SecondProductOutcome>& outcomes) {
  return std::any_of(outcomes.begin(), outcomes.end(),
                     [](const SecondProductOutcome& outcome) { return outcome.taken; });
}

/// What the program has in the end, as JSON: chains that are part of a kernel of rows are not in
/// it.
std::string plans_in(const Program& program, const Machine& machine,
                     std::vector<PlannedChain> chains, const std::vector<RowsOutcome>& outcomes) {
  std::set<std::string> replaced;
  std::vector<Json> rows;
  for (const RowsOutcome& outcome : outcomes) {
    rows.push_back(rows_json(program, outcome));
    if (outcome.kind != RowsOutcome::Kind::taken) continue;
    for (const TensorId t : outcome.members) {
      replaced.insert(program.tensors[static_cast<size_t>(t)].name);
    }
  }
  std::erase_if(chains, [&](const PlannedChain& c) { return replaced.contains(c.tensors.e); });
  return plans_json(machine, chains, std::move(rows), kernels_json(program, machine));
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

/// The unfused program: every statement a kernel, no chain.
ExitCode run_kernels(const Options& o, const Machine& machine) {
  Given given = given_program(o);
  add_kernels(given.program, given.formats, machine);
  note_left_to_streams(o, given.program, machine);
  if (!o.plan.empty()) {
    write_output(o.plan, plans_json(machine, {}, {}, kernels_json(given.program, machine)));
  }
  write_planned(o, machine, std::move(given));
  return ExitCode::ok;
}

/// Plans every online softmax; with --explain alone they are only found.
std::vector<OnlineOutcome> plan_softmaxes(const Options& o, const Machine& machine,
                                          Program& program) {
  std::vector<OnlineOutcome> outcomes = plan_online(
      program, machine, {.measure = measures_chains(o), .accept_slower = o.accept_slower});
  report_online(program, outcomes);
  return outcomes;
}

/// The filter: plans every online softmax and every chain of a program. --explain and --plans show
/// the largest chain.
ExitCode run_filter(const Options& o, const Machine& machine) {
  if (o.strategy == "none") return run_kernels(o, machine);
  Given given = given_program(o);
  Program& program = given.program;
  const std::vector<OnlineOutcome> softmaxes = plan_softmaxes(o, machine, program);
  const Program unchained = program;
  const bool measures = measures_chains(o);
  if (!measures) find_rows(o, machine, program);
  std::vector<RefusedChain> refused;
  std::vector<FoundChain> chains = find_chains(program, &refused);
  std::erase_if(refused, [&](const RefusedChain& pair) {  // said above
    return std::any_of(softmaxes.begin(), softmaxes.end(),
                       [&](const OnlineOutcome& s) { return s.result == pair.tensor; });
  });
  constexpr size_t kMostUnasked = 20;
  const bool nothing = chains.empty() && softmaxes.empty();
  if (o.verbose || !o.explain.empty() || nothing) {
    explain_refused(program, refused, o.explain.empty() ? kMostUnasked : refused.size());
  }
  if (measures) {
    chains = with_fastest_tails(program, std::move(chains), machine, o.effort, o.threads);
  }
  const auto work = [](const FoundChain& f) {
    const Extents& s = f.chain.size;
    return static_cast<double>(s[Dim::m]) * static_cast<double>(s[Dim::n]) *
           static_cast<double>(s[Dim::k] + s[Dim::l]);
  };
  std::stable_sort(chains.begin(), chains.end(),
                   [&](const FoundChain& a, const FoundChain& b) { return work(a) > work(b); });
  if (!o.explain.empty() && chains.empty()) write_output(o.explain, explain_header());
  if (!measures && chains.empty()) {  // what is planned is not asked for
    if (nothing) report(Severity::note, "no chain of dense products found");
    return ExitCode::ok;
  }
  Options each = o;
  std::vector<PlannedChain> planned;
  for (const FoundChain& found : chains) {
    if (!plan_found(each, machine, found, given, planned)) {
      return ExitCode::ok;
    }
    each.explain.clear();
    each.plans.clear();
  }
  if (o.strategy == "tiles" && !o.accept_slower) drop_chains(given, unchained, machine, planned);
  CombinedKernels combined;
  if (measures) combined = plan_kernels(o, machine, given);
  report_second_products(program, combined.second_products);
  if (nothing && !any_taken(combined.rows) && !any_taken(combined.second_products)) {
    report(Severity::note, o.strategy == "tiles"
                               ? "no chain of dense products found"
                               : "no chain of dense products found; the program is left as it is");
  }
  if (measures) note_left_to_streams(o, program, machine);
  if (!o.plan.empty()) {
    write_output(o.plan, plans_in(program, machine, std::move(planned), combined.rows));
  }
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
    write_output(o.table, table_csv(chain, machine, plan_table(o, chain, machine)));
    return ExitCode::ok;
  }
  const std::optional<Choice> choice = plan_chain(o, chain, machine);
  if (!choice) {
    return ExitCode::ok;
  }
  if (choice->fused().rank == 0) {
    throw Error(ExitCode::rejected,
                fmt::format("no plan of chain {} fits machine {}, expected smaller extents or "
                            "larger scratchpads",
                            chain.name, machine.name));
  }
  const Chain covered = chain_of(chain, choice->fused());
  if (!o.plan.empty()) {
    write_output(o.plan, plans_json(machine, {{covered, tensors_of(chain), *choice, false}}));
  }
  write_output(o.filter.output, plan_text(covered, machine, *choice));
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
                 "Largest number of rows in the table (default: 4096)")
      .option_text("N")
      .between(16, 1 << 20);
  add_filter_options(app, o.filter);
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
