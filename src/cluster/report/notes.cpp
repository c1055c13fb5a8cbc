#include "cluster/report/notes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>

#include "cluster/report/chain_report.h"
#include "cluster/report/evaluate.h"
#include "graph/tiles.h"
#include "ir/names.h"
#include "support/diagnostics.h"
#include "support/error.h"

namespace fuseflow::cluster {
namespace {

constexpr size_t kMostRefused = 20;  ///< pairs of products that are named unasked

void note(std::string text) {
  report(Severity::note, std::move(text));
}

std::string quoted_name(const Program& program, TensorId tensor) {
  return quote_if_needed(program.tensors[static_cast<size_t>(tensor)].name);
}

std::string counted(int64_t number, const char* what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

/// What is one kernel, and what it takes apart.
std::string measured_text(const KernelOutcome& o) {
  if (!o.has_apart()) {
    return fmt::format("{} cycles, no kernels apart ({}); {} bytes of global memory",
                       o.fused.cycles, o.why, o.fused.bytes.global());
  }
  return fmt::format("{} cycles, its {} kernels apart {}; {} bytes of global memory, apart {}",
                     o.fused.cycles, o.apart.kernels, o.apart.total.cycles, o.fused.bytes.global(),
                     o.apart.total.bytes.global());
}

// --- attentions ------------------------------------------------------------------------------

/// Why it is not spread over the cores of a cluster; `simulated`: else only what could be tried.
std::string spread_text(const SpreadTried& tried, const char* what, bool simulated) {
  if (!tried.none.empty()) return tried.none;
  std::string plans = fmt::format("{} plan{} {}", tried.plans, tried.plans == 1 ? "" : "s", what);
  if (!simulated) return plans;
  if (tried.simulated == 0) return fmt::format("none of {} costs less", plans);
  const std::string some =
      tried.simulated < tried.plans ? fmt::format(" ({} simulated)", tried.simulated) : "";
  return fmt::format("none of {} is faster{}", plans, some);
}

std::string spread_text(const OnlineSpread& spread, bool simulated) {
  const std::string rows = spread_text(spread.rows, "that share keys", simulated);
  const std::string keys = spread_text(spread.keys, "with keys in parts", simulated);
  return rows == keys ? rows : rows + ", " + keys;
}

/// Why an attention is on single cores; empty where it is on several.
std::string single_text(const OnlineOutcome& o) {
  if (o.tiles.cores > 1 || o.tiles.parts > 1) return "";
  return "; single cores: " + spread_text(o.spread, true);
}

// --- chains ----------------------------------------------------------------------------------

/// What a chain has to beat.
std::string rivals_text(const ChainOutcome& o) {
  const std::string leaving =
      o.leaving_out > 0 ? fmt::format(", {} leaving out tiles without a value", o.leaving_out) : "";
  return fmt::format("its kernels apart {}{}", o.choice.apart().cycles, leaving);
}

/// At most `most` of them one by one.
void note_refused(const Program& program, const std::vector<RefusedChain>& refused, size_t most) {
  for (size_t i = 0; i < std::min(refused.size(), most); ++i) {
    note(fmt::format("the products %{} and %{} are no chain: {}",
                     quoted_name(program, refused[i].first),
                     quoted_name(program, refused[i].tensor), refused[i].why));
  }
  if (refused.size() > most) {
    note(fmt::format("and {} more pairs of products are no chains; --explain says why for each",
                     refused.size() - most));
  }
}

// --- kernels ---------------------------------------------------------------------------------

void note_sparse(const Program& program, const SparseKernel& kernel) {
  const std::string dense = kernel.dense_cycles > 0
                                ? fmt::format("{} with all of them", kernel.dense_cycles)
                                : std::string("with all of them none fits");
  const char* const tiles = kernel.gathered > 0 ? "columns (by tile of rows)" : "tiles";
  const std::string gathered =
      kernel.gathered > 0 ? fmt::format(", gathered by {}", kernel.gathered) : "";
  note(fmt::format("product %{}: {} of {} {} of %{} hold a value{}; {} cycles, {}",
                   quote_if_needed(kernel.result), kernel.present, kernel.tiles, tiles,
                   quoted_name(program, kernel.operand), gathered, kernel.cycles, dense));
}

/// What the absence of a fact costs a product. Plans it as if the fact were known.
void note_lost_tiles(const Program& program, const Machine& machine,
                     const UnprovedProduct& product) {
  const std::optional<SparseKernel> kernel = if_finite(product, machine);
  if (!kernel) return;
  const TensorId other = product.sparse.not_finite;
  const bool given = program.tensors[static_cast<size_t>(other)].given();
  const std::string now =
      kernel->dense_cycles > 0 ? fmt::format(" instead of {}", kernel->dense_cycles) : "";
  note(
      fmt::format("product %{}: nothing says that %{} is finite, so it takes all {} tiles of %{}, "
                  "of which {} hold a value: with {}(finite) {} cycles{}",
                  quote_if_needed(kernel->result), quoted_name(program, other), kernel->tiles,
                  quoted_name(program, kernel->operand), kernel->present,
                  given ? "facts" : "assume", kernel->cycles, now));
}

/// Notes a product whose operands are kernels of their own now.
void note_divided(const Program& program, const DividedProduct& product) {
  std::vector<std::string> operands;
  for (const TensorId t : product.operands) operands.push_back("%" + quoted_name(program, t));
  const bool one = operands.size() == 1;
  note(
      fmt::format("product %{}: its computed operand{} {} computed once, before it, as {}, which "
                  "is faster",
                  quoted_name(program, product.result), one ? "" : "s", one ? "is" : "are",
                  fmt::join(operands, " and ")));
}

void note_folded(const Program& program, const KernelOutcome& o) {
  note(fmt::format("kernel %{} with {} before it: {} cycles, apart {} in {} kernels{}",
                   quoted_name(program, o.result),
                   counted(static_cast<int64_t>(o.members.size()) - 1, "statement"), o.fused.cycles,
                   o.apart.total.cycles, o.apart.kernels, o.taken() ? "" : "; left as they are"));
}

void note_second_product(const Program& program, const KernelOutcome& o) {
  note(fmt::format("product after a sparse one, %{}: {}{}", quoted_name(program, o.result),
                   o.why.empty() ? measured_text(o) : o.why,
                   o.taken() ? "" : "; left as they are"));
}

std::string rows_text(const RowsOutcome& o) {
  const std::string kernels = counted(o.apart.kernels, "kernel");
  if (o.fused.cycles == 0) {
    return fmt::format("no tiles that fit take fewer than the {} cycles of {}",
                       o.apart.total.cycles, kernels);
  }
  return fmt::format("{} cycles, apart {} in {}; {} bytes of global memory, apart {}",
                     o.fused.cycles, o.apart.total.cycles, kernels, o.fused.bytes.global(),
                     o.apart.total.bytes.global());
}

void note_rows(const Program& program, const RowsOutcome& o) {
  const std::string label =
      fmt::format("rows up to %{} ({}, {}, {})", quoted_name(program, o.result),
                  counted(static_cast<int64_t>(o.members.size()), "statement"),
                  counted(o.products, "product"), counted(o.reductions, "reduction"));
  switch (o.kind) {
    case KernelOutcome::Kind::refused:
      return note(fmt::format("{}: {}; left as they are", label, o.why));
    case KernelOutcome::Kind::slower:
      return note(fmt::format("{}: {}; left as they are", label, rows_text(o)));
    case KernelOutcome::Kind::found:
      return note(fmt::format("{}: one kernel, if it is faster", label));
    case KernelOutcome::Kind::taken:
      return note(fmt::format("{}: {}", label, rows_text(o)));
  }
}

bool any_taken(const CombinedKernels& combined) {
  const auto taken = [](const KernelOutcome& outcome) { return outcome.taken(); };
  return std::any_of(combined.rows.begin(), combined.rows.end(), taken) ||
         std::any_of(combined.second_products.begin(), combined.second_products.end(), taken);
}

}  // namespace

void PlanReporter::on(const Program& program, const std::vector<OnlineOutcome>& softmaxes) {
  for (const OnlineOutcome& o : softmaxes) {
    softmaxes_.push_back(o.result);
    const std::string label = fmt::format("online softmax %{}", quoted_name(program, o.result));
    const bool loses = o.taken() && o.has_apart() && o.fused.cycles >= o.apart.total.cycles;
    switch (o.kind) {
      case KernelOutcome::Kind::refused:
        note(fmt::format("{}: {}; left as it is", label, o.why));
        break;
      case KernelOutcome::Kind::slower:
        note(fmt::format("{}: {}{}; left as it is", label, measured_text(o), single_text(o)));
        break;
      case KernelOutcome::Kind::found:
        note(fmt::format("{}: {} statements; over cores: {}", label, o.members.size(),
                         spread_text(o.spread, false)));
        break;
      case KernelOutcome::Kind::taken:
        report(loses ? Severity::warning : Severity::note,
               fmt::format("{}: {}{}{}", label, measured_text(o), single_text(o),
                           loses ? ": fusion loses here" : ""));
        break;
    }
  }
}

void PlanReporter::on(const Program& program, const std::vector<FoundChain>& chains,
                      const std::vector<RefusedChain>& refused) {
  looked_for_chains_ = true;
  no_chain_ = chains.empty();
  std::vector<RefusedChain> news = refused;
  std::erase_if(news, [&](const RefusedChain& pair) {  // said of softmaxes
    return std::find(softmaxes_.begin(), softmaxes_.end(), pair.tensor) != softmaxes_.end();
  });
  if (!options_.refused && !options_.all_refused && !nothing_found()) return;
  note_refused(program, news, options_.all_refused ? news.size() : kMostRefused);
}

void PlanReporter::on(const Program& /*program*/, const FoundChain& /*found*/,
                      const ChainOutcome& o) {
  const std::string label = fmt::format("chain %{} ({}, {})", o.chain.name, name_of(o.chain.kind),
                                        name_of(o.chain.activation));
  const std::string beside = rivals_text(o);
  if (!o.taken()) {
    const std::string why =
        o.kind == KernelOutcome::Kind::refused
            ? o.why
            : fmt::format("its best plan takes {} cycles, {}", o.fused.cycles, beside);
    return note(fmt::format("{}: {}; left as it is", label, why));
  }
  if (!check_values(o.chain, o.choice.fused().plan.plan, machine_).passed) {
    throw Error(ExitCode::unfinished, label + ": the plan computes wrong values");
  }
  const bool loses = o.loses();
  report(
      loses ? Severity::warning : Severity::note,
      fmt::format("{}: {} cycles, {}; {} bytes of global memory, apart {} ({}){}", label,
                  o.fused.cycles, beside, o.fused.bytes.global(), o.choice.separate.bytes.global(),
                  o.choice.folded.bytes.global(), loses ? ": fusion loses here" : ""));
  if (options_.plans) say(plan_text(o.chain, machine_, o.choice));
}

void PlanReporter::on(const Program& program, const DroppedChain& dropped) {
  note(fmt::format("chain %{}: with the kernels around it {} cycles, without it {}; left as it is",
                   quoted_name(program, dropped.result), dropped.with, dropped.without));
}

void PlanReporter::on(const Program& program, const std::vector<DividedStatement>& divided) {
  for (const DividedStatement& statement : divided) {
    note(fmt::format("%{}: each of its {} reductions is a kernel of its own",
                     quoted_name(program, statement.result), statement.reductions));
  }
}

void PlanReporter::on(const Program& program, const RemainingKernels& rest) {
  for (const DividedProduct& product : rest.divided) note_divided(program, product);
  for (const RefusedKernel& region : rest.refused) {
    note(fmt::format("region @{} is left to streams: {}", quote_if_needed(region.region),
                     region.why));
  }
  for (const SparseKernel& kernel : rest.sparse) note_sparse(program, kernel);
  for (const UnprovedProduct& product : rest.unproved) {
    note_lost_tiles(program, machine_, product);
  }
  for (const KernelOutcome& o : rest.combined.folded) note_folded(program, o);
  report_rows(program, rest.combined.rows);
  for (const KernelOutcome& o : rest.combined.second_products) note_second_product(program, o);
  if (!nothing_found() || any_taken(rest.combined)) return;
  note(options_.strategy == PlanStrategy::tiles
           ? "no chain of dense products found"
           : "no chain of dense products found; the program is left as it is");
}

void report_rows(const Program& program, const std::vector<RowsOutcome>& outcomes) {
  for (const RowsOutcome& outcome : outcomes) note_rows(program, outcome);
}

void report_matrix_type(const Program& program, const Machine& machine) {
  const std::string& type = machine.core.matrix_type_of_f32;
  const auto multiplies_f32 = [](const Region& region) {
    return region.graph && region.graph->tiles && region.graph->tiles->element_bytes == 4 &&
           has_products(*region.graph);
  };
  const auto regions =
      std::count_if(program.regions.begin(), program.regions.end(), multiplies_f32);
  if (type.empty() || regions == 0) return;
  report(Severity::note,
         fmt::format("products of f32 take the time of {} on machine {}, which rounds what is "
                     "multiplied; their values here are of f32 (core.matrix_type_of_f32)",
                     type, machine.name));
}

}  // namespace fuseflow::cluster
