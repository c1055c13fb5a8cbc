// fuseflow-cluster: plans chains of dense operators over the linked scratchpads of many cores.
#include <fmt/format.h>

#include <charconv>
#include <sstream>

#include "cluster/evaluate.h"
#include "cluster/report.h"
#include "cluster/search.h"
#include "support/tool.h"

namespace {

using namespace fuseflow;
using namespace fuseflow::cluster;

struct Options {
  std::string workload, gemm, gated, conv;
  int64_t rows = 0;
  bool bias = false, residual = false;
  std::string machine = "h100";
  std::vector<std::string> machine_set;
  int top = 11;
  std::string explain, plans, table, output = "-";
  int64_t table_up_to = 4096;
  bool measure = false;
  bool evaluate = false;
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) {
    parts.push_back(part);
  }
  return parts;
}

int64_t number(const std::string& option, const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) {
    throw Error(
        ExitCode::usage,
        fmt::format("{}: '{}' is not an extent, expected a positive whole number", option, text));
  }
  return value;
}

/// `needed` numbers, then at most one more word (an activation).
std::vector<int64_t> numbers(const std::string& option, const std::vector<std::string>& parts,
                             size_t needed, bool word_allowed) {
  if (parts.size() != needed && !(word_allowed && parts.size() == needed + 1)) {
    throw Error(ExitCode::usage,
                fmt::format("{} has {} parts, expected {}{}", option, parts.size(), needed,
                            word_allowed ? " and perhaps an activation" : ""));
  }
  std::vector<int64_t> values;
  for (size_t i = 0; i < needed; ++i) {
    values.push_back(number(option, parts[i]));
  }
  return values;
}

Chain chosen_chain(const Options& o) {
  Chain chain;
  if (!o.workload.empty()) {
    chain = workload(o.workload);
  } else if (!o.gemm.empty()) {
    const auto parts = split(o.gemm);
    const auto v = numbers("--gemm-chain", parts, 4, true);
    chain = gemm_chain(v[0], v[1], v[2], v[3],
                       parts.size() == 5 ? parse_activation(parts[4]) : Activation::relu);
  } else if (!o.gated.empty()) {
    const auto parts = split(o.gated);
    const auto v = numbers("--gated-ffn", parts, 3, true);
    chain = gated_ffn(v[0], v[1], v[2]);
    chain.activation = parts.size() == 4 ? parse_activation(parts[3]) : Activation::silu;
  } else if (!o.conv.empty()) {
    const auto parts = split(o.conv);
    const auto v = numbers("--conv-chain", parts, 6, true);
    chain = conv_chain(v[0], v[1], v[2], v[3], v[4], v[5]);
    chain.activation = parts.size() == 7 ? parse_activation(parts[6]) : Activation::relu;
  } else {
    throw Error(ExitCode::usage,
                "no chain given, expected --workload, --gemm-chain, --gated-ffn "
                "or --conv-chain");
  }
  if (o.rows > 0) {
    chain.size[Dim::m] = o.rows;
  }
  chain.bias0 = chain.bias0 || o.bias;
  chain.bias1 = chain.bias1 || o.bias;
  chain.residual = chain.residual || o.residual;
  check_chain(chain);
  return chain;
}

/// Plans for every power of two of rows up to the largest wanted.
std::vector<TableRow> plan_table(const Chain& chain, const ClusterMachine& machine, int64_t up_to) {
  std::vector<TableRow> rows;
  for (int64_t m = 16; m <= up_to; m *= 2) {
    Chain sized = chain;
    sized.size[Dim::m] = m;
    SearchOptions options;
    options.top = 1;
    SearchResult found = search(padded(sized), machine, options);
    if (!found.best.empty()) {
      rows.push_back({m, std::move(found.best.front())});
    }
  }
  return rows;
}

/// The chain asked for, or every workload, as rows of the evaluation table.
ExitCode run_evaluation(const Options& o, const ClusterMachine& machine) {
  const bool one = !(o.workload.empty() && o.gemm.empty() && o.gated.empty() && o.conv.empty());
  const std::vector<Chain> chains = one ? std::vector<Chain>{chosen_chain(o)} : workloads();
  std::string text = evaluation_header();
  bool right = true;
  for (const Chain& chain : chains) {
    const Evaluation row = evaluate(padded(chain), machine, o.top);
    right = right && row.values.passed;
    text += evaluation_row(row, machine);
  }
  write_output(o.output, text);
  return right ? ExitCode::ok : ExitCode::unfinished;
}

ExitCode run(const Options& o) {
  const ClusterMachine machine = load_machine(o.machine, o.machine_set);
  if (o.evaluate) {
    return run_evaluation(o, machine);
  }
  const Chain chain = padded(chosen_chain(o));
  if (!o.table.empty()) {
    write_output(o.table, table_csv(chain, machine, plan_table(chain, machine, o.table_up_to)));
    return ExitCode::ok;
  }
  SearchOptions options;
  options.top = o.top;
  const SearchResult found = search(chain, machine, options);
  if (!o.explain.empty()) {
    write_output(o.explain, explain_csv(found.counts));
  }
  const bool measures = o.explain.empty() || o.measure;
  std::vector<ScaledMeasure> measured;
  MeasuredPlan best;
  if (measures) {
    best = measure_best(chain, found.best, machine, &measured);
  }
  if (!o.plans.empty()) {
    write_output(o.plans, plans_csv(chain, machine, found.best, measured));
  }
  if (!measures) {
    return ExitCode::ok;
  }
  if (found.best.empty()) {
    throw Error(ExitCode::rejected,
                fmt::format("no plan of chain {} fits machine {}, expected smaller extents or "
                            "larger scratchpads",
                            chain.name, machine.name));
  }
  write_output(o.output, plan_text(chain, machine, best));
  return ExitCode::ok;
}

void declare(CLI::App& app, Options& o) {
  auto* chain = app.add_option_group("chain", "what to plan (one of)");
  chain->add_option("--workload", o.workload, "A workload by name: G1-G10, S1-S8, C1-C8");
  chain->add_option("--gemm-chain", o.gemm, "M,N,K,L[,activation]: E = act(A[MxK] B) D");
  chain->add_option("--gated-ffn", o.gated,
                    "M,N,K[,activation]: E = (act(A Bg) * (A Bu)) D, L = K");
  chain->add_option("--conv-chain", o.conv,
                    "channels,side,out1,out2,kernel1,kernel2[,activation], as im2col");
  chain->require_option(0, 1);
  app.add_option("--rows", o.rows, "Replace M of the chain")->check(CLI::PositiveNumber);
  app.add_flag("--bias", o.bias, "Both products add a bias");
  app.add_flag("--residual", o.residual, "The result adds a residual");
  app.add_option("--machine", o.machine, "Machine preset or TOML file")->capture_default_str();
  app.add_option("--machine-set", o.machine_set, "key=value, overrides the machine");
  app.add_option("--top", o.top, "Plans kept by cost")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--explain", o.explain,
                 "Write the candidates left by each pruning rule (CSV) and stop before measuring");
  app.add_flag("--measure", o.measure, "With --explain: go on to measure");
  app.add_flag("--evaluate", o.evaluate,
               "Print the evaluation table: the chain given, or all 26 workloads");
  app.add_option("--plans", o.plans, "Write the kept plans (CSV)");
  app.add_option("--table", o.table, "Write the best plan for each number of rows (CSV) and stop");
  app.add_option("--table-up-to", o.table_up_to, "Largest number of rows in the table")
      ->check(CLI::Range(16, 1 << 20))
      ->capture_default_str();
  app.add_option("-o,--output", o.output, "Write to FILE instead of standard output");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Plans chains of dense operators over the linked scratchpads of many cores.",
               "fuseflow-cluster"};
  Options options;
  declare(app, options);
  return run_tool(argc, argv, app, [&] { return run(options); });
}
