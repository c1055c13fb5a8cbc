#include "cluster/report/chain_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/chain/bound.h"
#include "support/csv.h"

namespace fuseflow::cluster {
namespace {

constexpr char kPlanColumns[] =
    "schedule,cls_m,cls_n,cls_k,cls_l,blk_m,blk_n,blk_k,blk_l,way,clusters,waves,"
    "register_bytes,scratchpad_read_bytes,scratchpad_write_bytes,link_bytes,global_read_bytes,"
    "global_write_bytes,cost_registers,cost_scratchpad,cost_link,cost_global,cost,compute,"
    "occupancy,bound,phased";

std::string plan_cells(const RankedPlan& ranked) {
  const Plan& p = ranked.plan;
  const LevelBytes& v = ranked.analysis.total;
  const Cost& c = ranked.cost;
  return fmt::format(
      "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{:.1f},{:.1f},{:.1f},{:.1f},{:.1f},"
      "{:.1f},{:.4f},{:.1f},{:.1f}",
      p.schedule.name(), p.shape.m, p.shape.n, p.shape.k, p.shape.l, p.tile[Dim::m], p.tile[Dim::n],
      p.tile[Dim::k], p.tile[Dim::l], name_of(p.way), ranked.analysis.steps.clusters, c.waves,
      v.registers, v.scratchpad_read, v.scratchpad_write, v.link, v.global_read, v.global_write,
      c.registers, c.scratchpad, c.link, c.global, c.memory(), c.compute, c.occupancy, c.bound(),
      c.phased);
}

std::string placement_text(const HeldBytes& placed) {
  return fmt::format("registers {}, scratchpad {}, links {}, global {}", placed.registers,
                     placed.scratchpad, placed.links, placed.global);
}

/// Empty cells where there is no plan.
std::string plan_cells(const MeasuredPlan& plan) {
  constexpr std::string_view kColumns = kPlanColumns;
  if (plan.rank > 0) return plan_cells(plan.plan);
  return std::string(static_cast<size_t>(std::count(kColumns.begin(), kColumns.end(), ',')), ',');
}

}  // namespace

double ratio(int64_t of, int64_t to) {
  return to == 0 ? 0 : static_cast<double>(of) / static_cast<double>(to);
}

std::string explain_header() {
  return "rule,candidates\n";
}

std::string explain_csv(const Counts& counts) {
  std::string text = explain_header();
  for (size_t rule = 0; rule < counts.left.size(); ++rule) {
    text += fmt::format("{},{}\n", rule == 0 ? "none" : std::to_string(rule), counts.left[rule]);
  }
  return text;
}

std::string plans_csv(const Chain& chain, const Machine& machine, const Choice& choice) {
  std::vector<const SimulatedPlan*> plans;
  for (const MeasuredPlan* best : {&choice.linked, &choice.one_core}) {
    for (const SimulatedPlan& plan : best->simulated) plans.push_back(&plan);
  }
  std::stable_sort(plans.begin(), plans.end(), [](const SimulatedPlan* a, const SimulatedPlan* b) {
    return a->plan.cost.phased < b->plan.cost.phased;
  });
  std::string text = fmt::format(
      "schema,chain,machine,rank,{},measured_cycles,scale,least_cycles\n", kPlanColumns);
  int rank = 0;
  for (const SimulatedPlan* at : plans) {
    const ScaledMeasure& measure = at->measure;
    const std::string cycles =
        measure.measured.finished ? std::to_string(measure.measured.cycles) : "";
    text += fmt::format("{},{},{},{},{},{},{},{}\n", kCsvSchema, chain.name, machine.name, ++rank,
                        plan_cells(at->plan), cycles, measure.scale,
                        least_cycles(at->plan.analysis, at->plan.plan, machine));
  }
  return text;
}

namespace {

/// Cycles and how they were measured; empty cells where there is no plan.
std::string plan_cycles(const MeasuredPlan& plan) {
  return plan.rank == 0 ? ","
                        : fmt::format("{},{}", plan.measure.measured.cycles, plan.measure.scale);
}

}  // namespace

std::string table_csv(const Chain& chain, const Machine& machine,
                      const std::vector<TableRow>& rows) {
  std::string text = fmt::format(
      "schema,chain,machine,m_up_to,{},chosen,cycles,linked_cycles,linked_scale,one_core_cycles,"
      "one_core_scale,folded_cycles,separate_cycles,links_gain\n",
      kPlanColumns);
  for (const TableRow& row : rows) {
    const Choice& c = row.choice;
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{:.3f}\n", kCsvSchema, chain.name,
                        machine.name, row.m_up_to, plan_cells(c.fused()), name_of(row.chosen.way),
                        row.chosen.cycles, plan_cycles(c.linked), plan_cycles(c.one_core),
                        c.folded.cycles, c.separate.cycles, c.links_gain());
  }
  return text;
}

namespace {

/// What became of the plans of one space; `tiles`: which tiles it has.
std::string log_text(std::string_view tiles, const SearchLog& log) {
  const std::string rest =
      log.left == 0 ? "no other one is faster"
                    : fmt::format("{} not looked at (the effort was spent), none faster than {}",
                                  log.left, log.least_left);
  return fmt::format("{} plans with tiles {}, {} simulated, {} left out by their bound, {}",
                     log.candidates, tiles, log.simulated, log.bounded, rest);
}

std::string search_text(std::string_view what, const MeasuredPlan& best) {
  std::string text =
      fmt::format("  {}: {} cycles; {}", what,
                  best.rank == 0 ? "no" : std::to_string(best.measure.measured.cycles),
                  log_text("of powers of two", best.log));
  if (best.even_log.candidates > 0) text += "; " + log_text("that cut evenly", best.even_log);
  return text + "\n";
}

/// Who makes E, and what of the bytes below that takes.
std::string finish_text(const Analysis& a) {
  const int64_t sharers = a.steps.sharers();
  if (sharers == 1) return "  E: stored by the cores that have its sums\n";
  return fmt::format(
      "  E: {} clusters add to sums in memory; the last to add makes E of them (global read {}, "
      "global write {})\n",
      sharers, a.settled.global_read, a.settled.global_write);
}

}  // namespace

std::string plan_text(const Chain& chain, const Machine& machine, const Choice& choice) {
  const MeasuredPlan& best = choice.fused();
  const RankedPlan& ranked = best.plan;
  const Plan& p = ranked.plan;
  const Analysis& a = ranked.analysis;
  const Cost& c = ranked.cost;
  std::string text =
      fmt::format("chain {} ({}, {}): M {} N {} K {} L {}, {} bytes an element\n", chain.name,
                  name_of(chain.kind), name_of(chain.activation), chain.size[Dim::m],
                  chain.size[Dim::n], chain.size[Dim::k], chain.size[Dim::l], chain.bytes.work());
  text += fmt::format("machine {}: {} clusters of {} cores, {} wave(s), occupancy {:.3f}\n",
                      machine.name, a.steps.clusters, p.shape.cores(), c.waves, c.occupancy);
  text += fmt::format("plan {}\n", describe(p));
  text += fmt::format("  shuffle {}, reduce {}, steps of a cluster: M {} N {} K {} L {}\n",
                      p.shape.shuffle(), p.shape.reduce(), a.steps.temporal[Dim::m],
                      a.steps.temporal[Dim::n], a.steps.temporal[Dim::k], a.steps.temporal[Dim::l]);
  text += fmt::format("  C of a core (bytes): {}\n", placement_text(a.capacity.c));
  text += fmt::format("  partial E of a core (bytes): {}\n", placement_text(a.capacity.e));
  text += finish_text(a);
  text += fmt::format(
      "  bytes: global read {}, global write {}, links {}, scratchpad read {}, "
      "scratchpad write {}, registers {}\n",
      a.total.global_read, a.total.global_write, a.total.link, a.total.scratchpad_read,
      a.total.scratchpad_write, a.total.registers);
  if (machine.has_l2()) {
    const LevelBytes& moved = best.measure.measured.bytes;
    text += fmt::format("  of global read and write, not in the L2: {} and {}\n", moved.global_read,
                        moved.global_write);
  }
  text += fmt::format(
      "  cycles by level: registers {:.0f}, scratchpad {:.0f}, links {:.0f}, "
      "global {:.0f}; compute {:.0f}; bound {:.0f}\n",
      c.registers, c.scratchpad, c.link, c.global, c.compute, c.bound());
  text += fmt::format(
      "  measured: {} cycles ({}), {} by cost\n", best.measure.measured.cycles,
      best.measure.scale == 1 ? "in full" : fmt::format("reduced by {}", best.measure.scale),
      best.rank);
  text += search_text("linked clusters", choice.linked);
  text += search_text("single cores", choice.one_core);
  text += fmt::format("  kernels apart: {} cycles with elementwise operators folded, {} without\n",
                      choice.folded.cycles, choice.separate.cycles);
  const bool taken = choice.cycles() < choice.apart().cycles;
  text += taken ? fmt::format("  verdict: fused, {:.3f} times as fast as the kernels apart\n",
                              ratio(choice.apart().cycles, choice.cycles()))
                : fmt::format("  verdict: kernels apart, {:.3f} times as fast as the plan\n",
                              ratio(best.measure.measured.cycles, choice.apart().cycles));
  return text;
}

std::string product_csv(const Machine& machine, const MeasuredProduct& product) {
  const ProductSize& size = product.size;
  const ProductPlan& p = product.plan;
  const Measured& measured = product.measured;
  const double seconds = machine.seconds_of(static_cast<double>(measured.cycles));
  const LevelBytes& bytes = measured.bytes;
  const int64_t asked = machine.has_l2() ? bytes.l2_read + bytes.l2_write : bytes.global();
  return fmt::format(
      "schema,machine,m,n,k,blk_m,blk_n,blk_k,steps_m,steps_n,split_k,stages,cycles,seconds,"
      "tflops_per_second,global_bytes,core_bytes,global_gigabytes_per_second,plans_simulated,"
      "proven,cluster_m,cluster_n\n"
      "{},{},{},{},{},{},{},{},{},{},{},{},{},{:.6g},{:.3f},{},{},{:.1f},{},{},{},{}\n",
      kCsvSchema, machine.name, size.m, size.n, size.k, p.m, p.n, p.k, p.steps_m, p.steps_n,
      p.split_k, p.stages, measured.cycles, seconds,
      static_cast<double>(measured.flops) / seconds / 1e12, bytes.global(), asked,
      static_cast<double>(bytes.global()) / seconds / 1e9, product.log.simulated,
      product.log.left == 0 ? "yes" : "no", p.cores_m, p.cores_n);
}

}  // namespace fuseflow::cluster
