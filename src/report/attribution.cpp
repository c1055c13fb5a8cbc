#include "report/attribution.h"

#include "lower/lower.h"
#include "passes/layers.h"

namespace fuseflow {
namespace {

bool is_numbered(const std::string& part) {
  return !part.empty() && part.back() >= '0' && part.back() <= '9';
}

Origin origin_of(const Program& program, const Statement& statement) {
  const std::string& name = program.tensors[static_cast<size_t>(statement.result)].name;
  return {name, layer_of_name(name)};
}

std::vector<Origin> region_origins(const Program& program, size_t r) {
  const Region& region = program.regions[r];
  std::vector<Origin> origins;
  if (!region.graph) {
    for (const size_t statement : lower_region_traced(program, r).statement_of_node) {
      origins.push_back(origin_of(program, region.statements[statement]));
    }
    return origins;
  }
  origins.resize(region.graph->nodes.size());
  if (region.statements.size() == 1) {
    origins.assign(origins.size(), origin_of(program, region.statements[0]));
  }
  return origins;
}

}  // namespace

std::string layer_of_name(const std::string& name) {
  std::string layer;
  for (const std::string& part : module_path(name)) {
    layer += (layer.empty() ? "" : "/") + part;
    if (is_numbered(part)) break;
  }
  return layer;
}

std::vector<std::vector<Origin>> node_origins(const Program& program) {
  std::vector<std::vector<Origin>> origins;
  for (size_t r = 0; r < program.regions.size(); ++r) origins.push_back(region_origins(program, r));
  return origins;
}

}  // namespace fuseflow
