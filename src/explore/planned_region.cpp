#include "explore/planned_region.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/error.h"
#include "support/text.h"

namespace fuseflow {
namespace {

/// Tensors of the graph that it reads dense and `kernels` do not store so.
std::vector<TensorId> read_dense(const Program& kernels, const Program& program,
                                 const Region& region) {
  std::vector<TensorId> found;
  for (const Node& node : region.graph->nodes) {
    if (node.tensor < 0) continue;
    const auto t = static_cast<size_t>(node.tensor);
    const Tensor& planned = program.tensors[t];
    const bool known = t < kernels.tensors.size() && kernels.tensors[t].name == planned.name;
    if (known && kernels.tensors[t].format == planned.format) continue;
    const bool given = known && kernels.tensors[t].source.kind != Source::Kind::none;
    if (!given || !planned.format.all_dense()) {
      throw Error(ExitCode::rejected, region.where,
                  fmt::format("region @{} of the seed is planned for %{} as {}, which the program "
                              "that is searched stores otherwise or declares elsewhere",
                              region.name, planned.name, to_string(planned.format)));
    }
    if (std::find(found.begin(), found.end(), node.tensor) == found.end()) {
      found.push_back(node.tensor);
    }
  }
  return found;
}

/// The copy of a tensor that stores all elements; it is made once for all regions.
TensorId dense_copy(Program& program, TensorId of) {
  Tensor copy = program.tensors[static_cast<size_t>(of)];
  Format& format = copy.format;
  std::fill(format.levels.begin(), format.levels.end(), LevelKind::dense);
  std::sort(format.mode_order.begin(), format.mode_order.end());
  format.block.clear();
  copy.model_shape.reset();
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    const Tensor& other = program.tensors[t];
    const bool same = other.source == copy.source && other.format == copy.format &&
                      other.name.starts_with(copy.name + ".dense");
    if (same) return static_cast<TensorId>(t);
  }
  copy.name = unused_name(copy.name, ".dense", 1,
                          [&](const std::string& name) { return find_tensor(program, name) >= 0; });
  program.tensors.push_back(std::move(copy));
  return static_cast<TensorId>(program.tensors.size()) - 1;
}

}  // namespace

std::shared_ptr<const PlannedRegion> planned_region(const Program& kernels, const Program& program,
                                                    const Region& region, Interval run) {
  size_t statements = 0;
  for (size_t k = run.first; k <= run.last; ++k) {
    statements += kernels.regions[k].statements.size();
  }
  if (statements != region.statements.size()) {
    throw Error(ExitCode::rejected, region.where,
                fmt::format("region @{} of the seed is a part of a kernel; expected whole kernels "
                            "in a region that is planned for cores",
                            region.name));
  }
  return std::make_shared<const PlannedRegion>(
      PlannedRegion{*region.graph, region.plan, read_dense(kernels, program, region)});
}

Program put_planned(Program program, size_t region, const PlannedRegion& planned) {
  Graph graph = planned.graph;
  for (const TensorId original : planned.read_dense) {
    const TensorId copy = dense_copy(program, original);
    for (Node& node : graph.nodes) {
      if (node.tensor == original) node.tensor = copy;
    }
    for (Statement& statement : program.regions[region].statements) {
      for (Expr& access : statement.nodes) {
        if (access.kind == Expr::Kind::access && access.tensor == original) access.tensor = copy;
      }
    }
  }
  Region& put = program.regions[region];
  put.graph = std::move(graph);
  put.plan = planned.plan;
  return program;
}

}  // namespace fuseflow
