#include "sim/report/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/attribution.h"
#include "nodes/rule.h"
#include "resources/resources.h"
#include "sim/common/energy_of_run.h"
#include "sim/common/written_tensors.h"
#include "support/csv.h"

namespace fuseflow {
namespace {

struct Row {
  std::string region;
  RunResult counts;
  bool checked = false;
  bool wrong = false;
  double abs_error = 0;
  double rel_error = 0;
  std::string_view lacks;  ///< what the machine lacks of what ran here
  double energy_pj = 0, memory_pj = 0, loading_pj = 0, leakage_pj = 0, area_mm2 = 0;
};

/// energy_pj, edp, memory_pj, loading_pj, leakage_pj, area_mm2.
std::string energy_fields(const Machine& machine, const Row& row) {
  const double delay = edp(machine, row.energy_pj, static_cast<double>(row.counts.cycles));
  return (machine.has_energy ? fmt::format("{:.3f},{:.6g},{:.3f},{:.3f},{:.3f},", row.energy_pj,
                                           delay, row.memory_pj, row.loading_pj, row.leakage_pj)
                             : ",,,,,") +
         (machine.has_area ? fmt::format("{:.6g}", row.area_mm2) : "");
}

/// Of a region or of the program.
template <typename Energy>
void set_energy(Row& row, const Energy& energy, double area_mm2) {
  row.energy_pj = energy.total_pj;
  row.memory_pj = energy.memory_pj;
  row.loading_pj = energy.loading_pj;
  row.leakage_pj = energy.leakage_pj;
  row.area_mm2 = area_mm2;
}

Row total_row(const Machine& machine, const ProgramRun& run, const ProgramEnergy& energy) {
  Row total{.region = "total", .counts = total_counts(run, machine), .lacks = {}};
  set_energy(total, energy, energy.area_mm2);
  return total;
}

std::string row_text(const Program& program, const Machine& machine, const Row& row) {
  const RunResult& c = row.counts;
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{:.6g},{},{},{}\n",
                     kCsvSchema, csv_field(program.name), csv_field(machine.name),
                     csv_field(row.region), c.cycles, c.flops, c.dram_read_bytes,
                     c.dram_write_bytes, c.scratchpad_read_bytes, c.scratchpad_write_bytes,
                     c.link_bytes, c.tokens, c.peak_fifo_tokens,
                     !row.checked ? "no" : (row.wrong ? "wrong" : "ok"),
                     row.checked ? fmt::format("{:.6g}", row.abs_error) : "", c.register_bytes,
                     row.checked ? fmt::format("{:.6g}", row.rel_error) : "", row.lacks,
                     csv_field(program.strategy), machine.seconds_of(static_cast<double>(c.cycles)),
                     energy_fields(machine, row), c.l2_read_bytes, c.l2_write_bytes);
}

void apply_check(Row& row, const std::vector<CheckedTensor>& checked) {
  for (const CheckedTensor& one : checked) {
    const auto& results = row.counts.results;
    const bool here = std::any_of(results.begin(), results.end(),
                                  [&](const auto& r) { return r.first == one.tensor; });
    if (!here) continue;
    row.checked = true;
    row.wrong = row.wrong || !one.passes;
    const bool differs = !one.comparison.same_nans || !one.comparison.same_infinities;
    row.abs_error = std::max(row.abs_error, differs ? INFINITY : one.comparison.max_abs_error);
    row.rel_error = std::max(row.rel_error, differs ? INFINITY : one.comparison.max_rel_error);
  }
}

[[noreturn]] void broken(const Region& region, const std::string& what) {
  throw Error(ExitCode::internal, fmt::format("region @{}: {}", region.name, what));
}

/// Whether a stream of references visits every position of `tensor` down to `level`: scans alone,
/// from the root, of all of each level.
bool visits_all(const Graph& graph, StreamId stream, TensorId tensor, int level,
                const Storage& storage) {
  const Node& node =
      graph.nodes[static_cast<size_t>(graph.streams[static_cast<size_t>(stream)].producer)];
  if (level < 0) return node.kind == NodeKind::root;
  if (node.kind != NodeKind::scan || node.tensor != tensor || node.level != level ||
      node.offset != 0 || node.outputs.size() < 2 || node.outputs[1] != stream) {
    return false;
  }
  const auto& loops = graph.streams[static_cast<size_t>(node.outputs[0])].indices;
  const int64_t extent = graph.indices[static_cast<size_t>(loops.back())].extent;
  return storage.levels[static_cast<size_t>(level)].extent <= extent &&
         visits_all(graph, node.inputs[0].stream, tensor, level - 1, storage);
}

/// Compulsory traffic: what visits all of a tensor reads all of it, what is written is written
/// whole.
void assert_compulsory(const Program& program, const Region& region, const RunResult& result,
                       const TensorData& data) {
  int64_t written = 0;
  for (const auto& [tensor, storage] : result.results) {
    written += written_bytes(program, tensor, -1, *storage);
  }
  if (result.dram_write_bytes + result.scratchpad_write_bytes < written) {
    broken(region, "less was written than the results hold");
  }
  const Graph& graph = *region.graph;
  for (size_t n = 0; n < graph.nodes.size() && result.finish == Finish::done; ++n) {
    const Node& node = graph.nodes[n];
    const Storage* storage = node.kind == NodeKind::array ? data.find(node.tensor) : nullptr;
    if (storage == nullptr || node.inputs.empty()) continue;
    const Tensor& tensor = program.tensors[static_cast<size_t>(node.tensor)];
    const int last = static_cast<int>(storage->levels.size()) - 1;
    if (!visits_all(graph, node.inputs[0].stream, node.tensor, last, *storage)) continue;
    if (result.nodes[n].read_bytes < storage->stored() * element_bytes(tensor.type)) {
      broken(region, fmt::format("node {} visits all of %{} and read {} bytes", n, tensor.name,
                                 result.nodes[n].read_bytes));
    }
  }
}

void assert_region(const Region& region, const RunResult& result) {
  int64_t given = 0;
  for (size_t n = 0; n < result.nodes.size(); ++n) {
    const NodeStats& s = result.nodes[n];
    if (s.busy < 0 || s.starved < 0 || s.blocked < 0 ||
        s.busy + s.starved + s.blocked != result.cycles) {
      broken(region, fmt::format("node {} is busy {}, starved {} and blocked {} of {} cycles", n,
                                 s.busy, s.starved, s.blocked, result.cycles));
    }
    given += s.tokens_out;
    if (result.finish != Finish::done) continue;
    int64_t taken = 0;
    for (const Input& input : region.graph->nodes[n].inputs) {
      if (!input.is_immediate()) taken += result.streams[static_cast<size_t>(input.stream)].tokens;
    }
    if (taken != s.tokens_in) {
      broken(region, fmt::format("node {} took {} of {} tokens", n, s.tokens_in, taken));
    }
  }
  if (given != result.tokens) {
    broken(region, fmt::format("{} tokens given, {} counted", given, result.tokens));
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
  const Tensor& result = program.tensors[static_cast<size_t>(statement->result)];
  return fmt::format("{},{},{},{},{}", csv_field(statement->from.op), csv_field(result.name),
                     csv_field(attribution.layer(*statement)), csv_field(statement->from.name),
                     function);
}

}  // namespace

std::string outputs_of(const Graph& graph, const Node& node) {
  std::string text;
  for (const StreamId stream : node.outputs) {
    if (stream < 0) continue;
    text += (text.empty() ? "" : " ") + graph.streams[static_cast<size_t>(stream)].name;
  }
  return text;
}

std::string tensor_of(const Program& program, const Node& node) {
  if (node.tensor < 0) return "";
  const std::string& name = program.tensors[static_cast<size_t>(node.tensor)].name;
  if (node.level < 0 && node.other_tensor >= 0) {
    return fmt::format("{} {}", name, program.tensors[static_cast<size_t>(node.other_tensor)].name);
  }
  if (node.level < 0) return name;
  if (node.other_tensor < 0) return fmt::format("{}.{}", name, node.level);
  return fmt::format("{}.{} {}.{}", name, node.level,
                     program.tensors[static_cast<size_t>(node.other_tensor)].name,
                     node.other_level);
}

void assert_invariants(const Program& program, const ProgramRun& run) {
  for (size_t r = 0; r < run.regions.size(); ++r) {
    assert_region(program.regions[r], run.regions[r]);
    assert_compulsory(program, program.regions[r], run.regions[r], run.data);
  }
}

std::string region_csv(const Program& program, const Machine& machine, const ProgramRun& run,
                       const std::vector<CheckedTensor>& checked, bool all_checked) {
  std::string text =
      "schema,program,machine,region,cycles,flops,dram_read_bytes,dram_write_bytes,"
      "scratchpad_read_bytes,scratchpad_write_bytes,link_bytes,tokens,peak_fifo_tokens,checked,"
      "max_abs_error,register_bytes,max_rel_error,lacks,strategy,seconds,energy_pj,edp,memory_pj,"
      "loading_pj,leakage_pj,area_mm2,l2_read_bytes,l2_write_bytes\n";
  const ProgramEnergy energy = energy_of_run(program, machine, run);
  Row total = total_row(machine, run, energy);
  for (size_t r = 0; r < run.regions.size(); ++r) {
    Row row{.region = program.regions[r].name, .counts = run.regions[r], .lacks = {}};
    set_energy(row, energy.regions[r], energy.areas_mm2[r]);
    row.lacks = lacking_part(*program.regions[r].graph, machine);
    apply_check(row, checked);
    total.checked = total.checked || row.checked;
    total.wrong = total.wrong || row.wrong;
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
      "register_pj\n";
  const ProgramEnergy energy = energy_of_run(program, machine, run);
  const Attribution attribution(program);
  for (size_t r = 0; r < run.regions.size(); ++r) {
    const Region& region = program.regions[r];
    for (size_t n = 0; n < run.regions[r].nodes.size(); ++n) {
      const Node& node = region.graph->nodes[n];
      const NodeStats& s = run.regions[r].nodes[n];
      text += fmt::format(
          "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", kCsvSchema,
          csv_field(region.name), n, node_kind_name(node.kind), csv_field(tensor_of(program, node)),
          csv_field(outputs_of(*region.graph, node)), node.phase, s.steps, s.first_step,
          s.last_step, s.busy, s.starved, s.blocked, s.tokens_in, s.tokens_out, s.flops,
          s.read_bytes, s.write_bytes, attribution_text(program, attribution, r, node),
          node_energy_text(machine, energy.regions[r].nodes[n]));
    }
  }
  return text;
}

std::string stream_csv(const Program& program, const ProgramRun& run) {
  std::string text = "schema,region,stream,kind,loops,producer,consumers,tokens,peak_tokens\n";
  for (size_t r = 0; r < run.regions.size(); ++r) {
    const Graph& graph = *program.regions[r].graph;
    std::vector<int> consumers(graph.streams.size(), 0);
    for (const Node& node : graph.nodes) {
      for (const Input& input : node.inputs) {
        if (!input.is_immediate()) ++consumers[static_cast<size_t>(input.stream)];
      }
    }
    for (size_t s = 0; s < graph.streams.size(); ++s) {
      const Stream& stream = graph.streams[s];
      std::string loops;
      for (const int index : stream.indices) {
        loops += (loops.empty() ? "" : " ") + graph.indices[static_cast<size_t>(index)].name;
      }
      static constexpr const char* kKinds[] = {"crd", "ref", "val"};
      text += fmt::format("{},{},{},{},{},{},{},{},{}\n", kCsvSchema,
                          csv_field(program.regions[r].name), csv_field(stream.name),
                          kKinds[static_cast<size_t>(stream.kind)], csv_field(loops),
                          stream.producer, consumers[s], run.regions[r].streams[s].tokens,
                          run.regions[r].streams[s].peak);
    }
  }
  return text;
}

}  // namespace fuseflow
