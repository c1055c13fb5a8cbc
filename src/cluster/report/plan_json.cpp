#include "cluster/report/plan_json.h"

#include <algorithm>

#include "cluster/chain/recognize.h"
#include "support/json.h"

namespace fuseflow::cluster {
namespace {

constexpr int kPlanSchema = 2;  ///< rises when a member changes its meaning

std::string lower(Dim dim) {
  return std::string(1, static_cast<char>(letter_of(dim) - 'A' + 'a'));
}

Json by_dim(const Extents& extents) {
  Json::Members members;
  for (const Dim dim : kAllDims) members.emplace_back(lower(dim), extents[dim]);
  return Json::object(std::move(members));
}

Json chain_json(const PlannedChain& planned) {
  const Chain& c = planned.chain;
  std::vector<Json> b;
  for (const std::string& name : planned.tensors.b) b.emplace_back(name);
  return Json::object({
      {"name", c.name},
      {"kind", name_of(c.kind)},
      {"activation", name_of(c.activation)},
      {"element_bytes", c.bytes.work()},
      {"tensor_bytes", Json::object({{"a", c.bytes.a},
                                     {"b", c.bytes.b},
                                     {"c", c.bytes.c},
                                     {"d", c.bytes.d},
                                     {"e", c.bytes.e}})},
      {"extents", by_dim(c.size)},
      {"vectors_before_activation", c.bias0},
      {"vectors_after", c.bias1},
      {"tensors_after", c.residual},
      {"activation_after", name_of(c.last_activation)},
      {"tensors", Json::object({{"a", planned.tensors.a},
                                {"b", Json::array(std::move(b))},
                                {"d", planned.tensors.d},
                                {"e", planned.tensors.e}})},
  });
}

Json loops_json(const RankedPlan& ranked) {
  const LoopSchedule& schedule = ranked.plan.schedule;
  std::vector<Json> loops;
  for (int depth = 0; depth < schedule.loops(); ++depth) {
    const Dim dim = schedule.loop(depth);
    loops.push_back(
        Json::object({{"dimension", lower(dim)}, {"steps", ranked.analysis.steps.temporal[dim]}}));
  }
  return Json::array(std::move(loops));
}

Json spatial_json(const RankedPlan& ranked) {
  std::vector<Json> spatial;
  for (const Dim dim : kAllDims) {
    if (ranked.plan.schedule.temporal(dim)) continue;
    spatial.push_back(
        Json::object({{"dimension", lower(dim)}, {"clusters", ranked.analysis.steps.steps[dim]}}));
  }
  return Json::array(std::move(spatial));
}

Json cluster_json(const Plan& plan) {
  const ClusterShape& s = plan.shape;
  return Json::object({{"m", s.m},
                       {"n", s.n},
                       {"k", s.k},
                       {"l", s.l},
                       {"cores", s.cores()},
                       {"shuffle", s.shuffle()},
                       {"reduce", s.reduce()}});
}

/// Tile buffers of a core, and how often one core loads each.
Json loads_json(const RankedPlan& ranked) {
  const Extents& t = ranked.plan.tile;
  const Analysis& a = ranked.analysis;
  const auto load = [&](const char* tensor, int64_t rows, int64_t columns, int64_t element,
                        int64_t times) {
    return Json::object({{"tensor", tensor},
                         {"rows", rows},
                         {"columns", columns},
                         {"bytes", rows * columns * element},
                         {"copies", a.capacity.stages},
                         {"times", times}});
  };
  return Json::array({load("a", t[Dim::m], t[Dim::k], a.bytes.a, a.visits.a_loads),
                      load("b", t[Dim::k], t[Dim::n], a.bytes.b, a.visits.b_loads),
                      load("d", t[Dim::n], t[Dim::l], a.bytes.d, a.visits.d_loads)});
}

Json held_json(const RankedPlan& ranked) {
  const Capacity& c = ranked.analysis.capacity;
  const auto held = [](const char* tensor, int64_t tiles, const HeldBytes& where) {
    return Json::object({{"tensor", tensor},
                         {"tiles", tiles},
                         {"registers", where.registers},
                         {"scratchpad", where.scratchpad},
                         {"links", where.links},
                         {"global", where.global}});
  };
  return Json::object({{"accumulators", c.accumulator_bytes},
                       {"e_accumulators", c.e_accumulators},
                       {"buffers", c.buffer_bytes},
                       {"intermediates", Json::array({held("c", c.c_tiles_held, c.c),
                                                      held("e", c.e_tiles_held, c.e)})}});
}

Json copies_json(const RankedPlan& ranked) {
  const int64_t cores = ranked.analysis.steps.clusters * ranked.plan.shape.cores();
  std::vector<Json> copies;
  for (const LinkCopy& copy : copies_of(ranked.analysis, ranked.plan)) {
    copies.push_back(Json::object({{"kind", copy.kind},
                                   {"tensor", copy.tensor},
                                   {"type", copy.partial ? "partial" : "element"},
                                   {"cores", copy.cores},
                                   {"bytes", copy.bytes},
                                   {"times", copy.times},
                                   {"all_bytes", copy.bytes * copy.times * cores}}));
  }
  return Json::array(std::move(copies));
}

/// Who waits for whom: what comes over links has arrived when all cores of a group have sent it; in
/// the ring of a shuffle a core waits for its neighbour alone.
Json barriers_json(const RankedPlan& ranked) {
  std::vector<Json> barriers;
  for (const LinkCopy& copy : copies_of(ranked.analysis, ranked.plan)) {
    if (copy.kind == "fetch") continue;  // what is fetched was there after the gather
    const bool ring = copy.kind == "shuffle";
    barriers.push_back(Json::object(
        {{"after", copy.kind}, {"cores", ring ? 2 : copy.cores}, {"times", copy.times}}));
  }
  return Json::array(std::move(barriers));
}

Json plan_json(const MeasuredPlan& best) {
  if (best.rank == 0) return {};
  const RankedPlan& ranked = best.plan;
  const Analysis& a = ranked.analysis;
  return Json::object({{"loops", loops_json(ranked)},
                       {"spatial", spatial_json(ranked)},
                       {"cluster", cluster_json(ranked.plan)},
                       {"clusters", a.steps.clusters},
                       {"waves", ranked.cost.waves},
                       {"tile", by_dim(ranked.plan.tile)},
                       {"way", name_of(ranked.plan.way)},
                       {"loads", loads_json(ranked)},
                       {"held", held_json(ranked)},
                       {"copies", copies_json(ranked)},
                       {"barriers", barriers_json(ranked)},
                       {"clusters_that_add_e_in_memory", a.steps.sharers()},
                       {"finish_bytes", a.settled.global()},
                       {"bytes", bytes_json(a.total)},
                       {"cycles", best.measure.measured.cycles},
                       {"scale", best.measure.scale},
                       {"fastest_of_all", best.proven() && best.measure.scale == 1}});
}

Json cycles_of(const MeasuredPlan& plan) {
  return plan.rank == 0 ? Json() : Json(plan.measure.measured.cycles);
}

Json planned_json(const PlannedChain& planned) {
  const Choice& choice = planned.choice;
  return Json::object({{"chain", chain_json(planned)},
                       {"chosen", name_of(choice.way())},
                       {"taken", planned.taken},
                       {"cycles", Json::object({{"linked", cycles_of(choice.linked)},
                                                {"one_core", cycles_of(choice.one_core)},
                                                {"folded", choice.folded.cycles},
                                                {"separate", choice.separate.cycles}})},
                       {"plan", plan_json(choice.fused())}});
}

}  // namespace

ChainTensors tensors_of(const Program& program, const ChainForm& form) {
  const auto name = [&](const KernelTerm& access) {
    return program.tensors[static_cast<size_t>(access.tensor)].name;
  };
  ChainTensors tensors{name(form.a), name(form.d), name(form.store), {}};
  for (const KernelTerm& b : form.b) tensors.b.push_back(name(b));
  return tensors;
}

ChainTensors tensors_of(const Chain& chain) {
  const Program program = chain_program(chain);
  return tensors_of(program, find_chains(program).at(0).form);
}

std::vector<LinkCopy> copies_of(const Analysis& analysis, const Plan& plan) {
  const ClusterShape& shape = plan.shape;
  const int64_t element = analysis.bytes.work();
  const int64_t c_tile = plan.tile[Dim::m] * plan.tile[Dim::n];
  const Communication sent =
      communicate(shape, plan.way, c_tile, plan.tile[Dim::m] * plan.tile[Dim::l]);
  const Visits& visits = analysis.visits;
  const int64_t uses = visits.passes / analysis.capacity.c_tiles_held;
  const std::vector<LinkCopy> all{
      {"exchange_partial", "c", true, shape.k, sent.exchange_partial * kAccumulatorBytes,
       visits.c_tiles},
      {"exchange_gather", "c", false, shape.k, sent.exchange_gather * element, visits.c_tiles},
      {"fetch", "c", false, shape.k, analysis.capacity.c.links, uses},
      {"shuffle", "c", false, shape.shuffle(), c_tile * element,
       visits.rounds * (shape.shuffle() - 1)},
      {"reduce_scatter", "e", true, shape.reduce(), sent.reduce_scatter * kAccumulatorBytes,
       visits.e_tiles}};
  std::vector<LinkCopy> some;
  std::copy_if(all.begin(), all.end(), std::back_inserter(some),
               [](const LinkCopy& copy) { return copy.bytes * copy.times > 0; });
  return some;
}

Json bytes_json(const LevelBytes& bytes) {
  return Json::object({{"registers", bytes.registers},
                       {"scratchpad_read", bytes.scratchpad_read},
                       {"scratchpad_write", bytes.scratchpad_write},
                       {"links", bytes.link},
                       {"global_read", bytes.global_read},
                       {"global_write", bytes.global_write}});
}

Json dimension_json(const GraphIndex& index) {
  return Json::object({{"name", index.name},
                       {"size", index.size},
                       {"tile", index.block},
                       {"tiles", index.extent},
                       {"cores", index.tiling.cluster}});
}

std::string plans_json(const Machine& machine, const std::vector<PlannedChain>& chains,
                       std::vector<Json> rows, std::vector<Json> kernels) {
  std::vector<Json> plans;
  plans.reserve(chains.size());
  for (const PlannedChain& chain : chains) plans.push_back(planned_json(chain));
  return Json::object({{"schema", kPlanSchema},
                       {"machine", machine.name},
                       {"clock_gigahertz", machine.clock_gigahertz},
                       {"chains", Json::array(std::move(plans))},
                       {"rows", Json::array(std::move(rows))},
                       {"kernels", Json::array(std::move(kernels))}})
             .text() +
         "\n";
}

}  // namespace fuseflow::cluster
