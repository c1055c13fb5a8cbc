#include "sim/report/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "ir/attribution.h"
#include "nodes/rule.h"
#include "resources/resources.h"
#include "sim/common/energy_of_run.h"
#include "support/csv.h"

namespace fuseflow {
namespace {

struct Row {
  std::string region;
  RunResult counts;
  bool checked = false;
  bool wrong = false;
  bool undecided = false;
  double abs_error = 0;
  double rel_error = 0;
  std::string_view lacks;  ///< what the machine lacks of what ran here
  EnergyParts energy = {};
  double area_mm2 = 0;
};

/// energy_pj, edp, memory_pj, loading_pj, leakage_pj, area_mm2.
std::string energy_fields(const Machine& machine, const Row& row) {
  const double delay = edp(machine, row.energy.total_pj, static_cast<double>(row.counts.cycles));
  return (machine.has_energy
              ? fmt::format("{:.3f},{:.6g},{:.3f},{:.3f},{:.3f},", row.energy.total_pj, delay,
                            row.energy.memory_pj, row.energy.loading_pj, row.energy.leakage_pj)
              : ",,,,,") +
         (machine.has_area ? fmt::format("{:.6g}", row.area_mm2) : "");
}

Row total_row(const Machine& machine, const ProgramRun& run, const ProgramEnergy& energy) {
  return {.region = "total",
          .counts = total_counts(run, machine),
          .lacks = "",
          .energy = energy,
          .area_mm2 = energy.area_mm2};
}

std::string_view checked_text(const Row& row) {
  if (!row.checked) return "no";
  if (row.wrong) return "wrong";
  return row.undecided ? "undecided" : "ok";
}

std::string row_text(const Program& program, const Machine& machine, const Row& row) {
  const RunResult& c = row.counts;
  return fmt::format(
      "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{:.6g},{},{},{},{}\n", kCsvSchema,
      csv_field(program.name), csv_field(machine.name), csv_field(row.region), c.cycles, c.flops,
      c.dram_read_bytes, c.dram_write_bytes, c.scratchpad_read_bytes, c.scratchpad_write_bytes,
      c.link_bytes, c.tokens, c.peak_fifo_tokens, checked_text(row),
      row.checked ? fmt::format("{:.6g}", row.abs_error) : "", c.register_bytes,
      row.checked ? fmt::format("{:.6g}", row.rel_error) : "", row.lacks,
      csv_field(program.strategy), machine.seconds_of(static_cast<double>(c.cycles)),
      energy_fields(machine, row), c.l2_read_bytes, c.l2_write_bytes, c.dram_bursts);
}

void apply_check(Row& row, const CheckedTensor& one) {
  row.checked = true;
  row.wrong = row.wrong || !one.passes;
  row.undecided = row.undecided || !one.decided();
  const bool differs = !one.comparison.same_nans || !one.comparison.same_infinities;
  row.abs_error = std::max(row.abs_error, differs ? INFINITY : one.comparison.max_abs_error);
  row.rel_error = std::max(row.rel_error, differs ? INFINITY : one.comparison.max_rel_error);
}

/// By tensor: --check and --expect may both have compared it.
using ChecksByTensor = std::multimap<TensorId, const CheckedTensor*>;

void apply_checks(Row& row, const ChecksByTensor& checks) {
  for (const auto& [tensor, storage] : row.counts.results) {
    const auto [first, last] = checks.equal_range(tensor);
    for (auto at = first; at != last; ++at) apply_check(row, *at->second);
  }
}

/// operator, statement, layer, model_node, function: what a node stands for in the model.
std::string attribution_text(const Program& program, const Attribution& attribution, size_t region,
                             const Node& node) {
  const NodeFields& fields = node_rule(node.kind).fields;
  const std::string_view function = fields.op          ? op_info(node.op).name
                                    : fields.reduction ? reduction_name(node.reduction)
                                                       : std::string_view();
  const Statement* statement = attribution.statement(region, node);
  if (statement == nullptr) return fmt::format(",,,,{}", function);
  const Tensor& result = program.tensors[statement->result];
  return fmt::format("{},{},{},{},{}", csv_field(statement->from.op), csv_field(result.name),
                     csv_field(attribution.layer(*statement)), csv_field(statement->from.name),
                     function);
}

}  // namespace

std::string outputs_of(const Graph& graph, const Node& node) {
  std::string text;
  for (const StreamId stream : node.outputs) {
    if (stream < 0) continue;
    text += (text.empty() ? "" : " ") + graph.streams[stream].name;
  }
  return text;
}

std::string tensor_of(const Program& program, const Node& node) {
  if (node.tensor < 0) return "";
  const std::string& name = program.tensors[node.tensor].name;
  if (node.level < 0 && node.other_tensor >= 0) {
    return fmt::format("{} {}", name, program.tensors[node.other_tensor].name);
  }
  if (node.level < 0) return name;
  if (node.other_tensor < 0) return fmt::format("{}.{}", name, node.level);
  return fmt::format("{}.{} {}.{}", name, node.level, program.tensors[node.other_tensor].name,
                     node.other_level);
}

std::string region_csv(const Program& program, const Machine& machine, const ProgramRun& run,
                       const std::vector<CheckedTensor>& checked, bool all_checked) {
  std::string text =
      "schema,program,machine,region,cycles,flops,dram_read_bytes,dram_write_bytes,"
      "scratchpad_read_bytes,scratchpad_write_bytes,link_bytes,tokens,peak_fifo_tokens,checked,"
      "max_abs_error,register_bytes,max_rel_error,lacks,strategy,seconds,energy_pj,edp,memory_pj,"
      "loading_pj,leakage_pj,area_mm2,l2_read_bytes,l2_write_bytes,dram_bursts\n";
  const ProgramEnergy energy = energy_of_run(program, machine, run);
  Row total = total_row(machine, run, energy);
  ChecksByTensor checks;
  for (const CheckedTensor& one : checked) checks.emplace(one.tensor, &one);
  for (size_t r = 0; r < run.regions.size(); ++r) {
    Row row{.region = program.regions[r].name,
            .counts = run.regions[r],
            .lacks = lacking_part(*program.regions[r].graph, machine),
            .energy = energy.regions[r],
            .area_mm2 = energy.areas_mm2[r]};
    apply_checks(row, checks);
    total.checked = total.checked || row.checked;
    total.wrong = total.wrong || row.wrong;
    total.undecided = total.undecided || row.undecided;
    total.abs_error = std::max(total.abs_error, row.abs_error);
    total.rel_error = std::max(total.rel_error, row.rel_error);
    if (!row.lacks.empty()) total.lacks = row.lacks;
    text += row_text(program, machine, row);
  }
  total.checked = total.checked && (all_checked || total.wrong);
  return text + row_text(program, machine, total);
}

namespace {

/// energy_pj and what it is made of, in the order of ActionGroup; nodes have no DRAM and no
/// leakage.
std::string node_energy_text(const Machine& machine, const NodeEnergy& energy) {
  constexpr auto kShown = static_cast<size_t>(ActionGroup::dram);
  if (!machine.has_energy) return std::string(kShown, ',');
  std::string text = fmt::format("{:.3f}", energy.total());
  for (size_t g = 0; g < kShown; ++g) text += fmt::format(",{:.3f}", energy.pj[g]);
  return text;
}

}  // namespace

std::string node_csv(const Program& program, const Machine& machine, const ProgramRun& run) {
  std::string text =
      "schema,region,node,kind,tensor,outputs,phase,steps,first_step,last_step,busy,starved,"
      "blocked,tokens_in,tokens_out,flops,read_bytes,write_bytes,operator,statement,layer,"
      "model_node,function,energy_pj,operator_pj,step_pj,fifo_pj,buffer_pj,scratchpad_pj,link_pj,"
      "register_pj,memory\n";
  const ProgramEnergy energy = energy_of_run(program, machine, run);
  const Attribution attribution(program);
  for (size_t r = 0; r < run.regions.size(); ++r) {
    const Region& region = program.regions[r];
    for (size_t n = 0; n < run.regions[r].nodes.size(); ++n) {
      const Node& node = region.graph->nodes[n];
      const NodeStats& s = run.regions[r].nodes[n];
      text += fmt::format(
          "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", kCsvSchema,
          csv_field(region.name), n, node_kind_name(node.kind), csv_field(tensor_of(program, node)),
          csv_field(outputs_of(*region.graph, node)), node.phase, s.steps, s.first_step,
          s.last_step, s.busy, s.starved, s.blocked, s.tokens_in, s.tokens_out, s.flops,
          s.read_bytes, s.write_bytes, attribution_text(program, attribution, r, node),
          node_energy_text(machine, energy.regions[r].nodes[n]), s.memory);
    }
  }
  return text;
}

std::string stream_csv(const Program& program, const ProgramRun& run) {
  std::string text =
      "schema,region,stream,kind,loops,producer,consumers,tokens,peak_tokens,blocked\n";
  for (size_t r = 0; r < run.regions.size(); ++r) {
    const Graph& graph = *program.regions[r].graph;
    std::vector<int> consumers(graph.streams.size(), 0);
    for (const Node& node : graph.nodes) {
      for (const Input& input : node.inputs) {
        if (!input.is_immediate()) ++consumers[input.stream];
      }
    }
    for (size_t s = 0; s < graph.streams.size(); ++s) {
      const Stream& stream = graph.streams[s];
      std::string loops;
      for (const int index : stream.indices) {
        loops += (loops.empty() ? "" : " ") + graph.indices[index].name;
      }
      text += fmt::format("{},{},{},{},{},{},{},{},{},{}\n", kCsvSchema,
                          csv_field(program.regions[r].name), csv_field(stream.name),
                          stream_kind_name(stream.kind), csv_field(loops), stream.producer,
                          consumers[s], run.regions[r].streams[s].tokens,
                          run.regions[r].streams[s].peak, run.regions[r].streams[s].blocked);
    }
  }
  return text;
}

}  // namespace fuseflow
