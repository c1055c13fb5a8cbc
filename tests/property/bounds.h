// What a graph takes of a machine, counted a second time: the property test predicts with it which
// programs are refused, and why. Shares nothing with src/resources but the words of the
// specification (ir-spec/machines.md).
#pragma once

#include <map>
#include <string>

#include "ir/program.h"
#include "machine/machine.h"
#include "nodes/rule.h"

namespace fuseflow::testing {

/// A machine that most random programs fit, but not all.
inline Machine bounded_machine(uint64_t seed) {
  Machine machine;
  machine.name = "bounded";
  machine.fifo_depth = 2 + static_cast<int64_t>(seed % 3);
  for (UnitTiming& unit : machine.units) unit.count = 32;
  machine.scratchpad.bytes = 8192;
  return machine;
}

/// The resource that a graph has too little of; empty if it has enough of all.
inline std::string exceeded(const Program& program, const Graph& graph, const Machine& machine) {
  static const std::map<std::string, std::string> kUnits = {
      {"intersect", "join"}, {"intersect_words", "join"}, {"unite", "join"},
      {"leftjoin", "join"},  {"align", "join"},           {"gallop", "locate"},
      {"map", "alu"},        {"coordinate", "alu"},       {"pad", "alu"},
      {"drop", "filter"},    {"write_level", "write"},    {"write_values", "write"},
      {"convert", "write"},  {"parallelize", "split"},    {"serialize", "split"}};
  std::map<std::string, int64_t> limit;
  for (int u = 0; u < kUnitClasses; ++u) {
    const auto unit = static_cast<UnitClass>(u);
    limit[std::string(unit_class_name(unit))] = machine.timing(unit).count;
  }
  std::map<int, std::map<std::string, int64_t>> used;  // by the phase with which they start
  std::map<int, int64_t> buffers;
  int start = 0;
  for (const Node& node : graph.nodes) {
    bool by_rows = false;
    for (const int phase : graph.row_phases) by_rows = by_rows || phase == node.phase;
    if (!by_rows) start = node.phase;
    const std::string kind = node_kind_name(node.kind);
    if (kind == "buffer" && node.least == 1) continue;  // a FIFO, where there is no room for more
    const auto unit = kUnits.find(kind);
    const std::string name = unit == kUnits.end() ? kind : unit->second;
    if (++used[start][name] > limit.at(name) && limit.at(name) > 0) return name + " units";
    if (kind == "buffer") buffers[start] += 4 * (node.least > 0 ? node.least : node.capacity);
    if (kind == "accumulate") buffers[start] += 4 * (node.order + 1) * node.capacity;
  }
  int64_t bytes = 0;
  for (const auto& [phase, size] : buffers) bytes = std::max(bytes, size);
  for (const TensorId t : graph.scratchpad) {
    const Tensor& tensor = program.tensors[static_cast<size_t>(t)];
    int64_t places = 1;
    for (size_t l = 0; l < tensor.format.levels.size(); ++l) {
      const bool stored = tensor.format.levels[l] != LevelKind::dense;
      if (tensor.format.levels[l] == LevelKind::compressed) bytes += 4 * places;
      if (tensor.format.levels[l] != LevelKind::singleton) {
        places *= tensor.shape[static_cast<size_t>(tensor.format.mode_order[l])].value;
      }
      if (stored && tensor.source.nnz) places = std::min<int64_t>(places, *tensor.source.nnz);
      if (stored) bytes += 4 * places;
    }
    bytes += element_bytes(tensor.type) * places;
  }
  return machine.scratchpad.bytes > 0 && bytes > machine.scratchpad.bytes ? "scratchpad bytes" : "";
}

}  // namespace fuseflow::testing
