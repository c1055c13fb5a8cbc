#include "ir/slice.h"

#include <algorithm>

namespace fuseflow {
namespace {

/// Calls `visit` with a reference to each tensor that a region names; -1 where it names none.
template <typename Region, typename Visit>
void each_tensor(Region& region, const Visit& visit) {
  for (auto& statement : region.statements) {
    visit(statement.result);
    for (auto& e : statement.nodes) {
      if (e.kind == Expr::Kind::access) visit(e.tensor);
    }
  }
  for (auto& use : region.schedule.placements) {
    visit(use.tensor);
    visit(use.consumer);
  }
  for (auto& join : region.schedule.joins) {
    for (auto& tensor : join.located) visit(tensor);
  }
  if (!region.graph) return;
  for (auto& node : region.graph->nodes) {
    visit(node.tensor);
    visit(node.other_tensor);
    visit(node.statement);
  }
  for (auto& tensor : region.graph->scratchpad) visit(tensor);
  for (auto& tensor : region.graph->resident) visit(tensor);
}

Tensor without_values(const Tensor& tensor) {
  if (tensor.source.values.empty()) return tensor;
  Tensor result;
  result.name = tensor.name;
  result.type = tensor.type;
  result.shape = tensor.shape;
  result.format = tensor.format;
  result.fill = tensor.fill;
  result.facts = tensor.facts;
  result.assumed = tensor.assumed;
  result.role = tensor.role;
  result.source.kind = tensor.source.kind;
  result.source.params = tensor.source.params;
  result.source.nnz = tensor.source.nnz;
  result.placement = tensor.placement;
  result.where = tensor.where;
  result.copy_of = tensor.copy_of;
  return result;
}

}  // namespace

std::vector<int> last_readers(const Program& program) {
  std::vector<int> last(program.tensors.size(), -1);
  for (size_t r = 0; r < program.regions.size(); ++r) {
    for (const Statement& statement : program.regions[r].statements) {
      for (const Expr& e : statement.nodes) {
        if (e.kind == Expr::Kind::access) last[e.tensor] = static_cast<int>(r);
      }
    }
  }
  return last;
}

bool is_read_later(const Program& program, size_t region, TensorId tensor) {
  for (size_t r = region + 1; r < program.regions.size(); ++r) {
    for (const Statement& statement : program.regions[r].statements) {
      for (const Expr& e : statement.nodes) {
        if (e.kind == Expr::Kind::access && e.tensor == tensor) return true;
      }
    }
  }
  return false;
}

RegionSlice slice_region(const Program& program, size_t region,
                         const std::function<bool(TensorId)>& read_later) {
  RegionSlice slice;
  slice.program.name = program.name;
  slice.program.strategy = program.strategy;
  slice.program.regions.push_back(program.regions[region]);
  Region& only = slice.program.regions[0];
  each_tensor(only, [&](TensorId tensor) {
    if (tensor >= 0) slice.tensors.push_back(tensor);
  });
  std::vector<TensorId>& ids = slice.tensors;
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  for (const TensorId id : ids) {
    Tensor tensor = without_values(program.tensors[id]);
    slice.program.tensors.push_back(std::move(tensor));
  }
  for (const Statement& statement : only.statements) {  // it matters for what is defined here
    const auto at = std::lower_bound(ids.begin(), ids.end(), statement.result) - ids.begin();
    Role& role = slice.program.tensors[static_cast<size_t>(at)].role;
    if (role != Role::temporary || !read_later || !read_later(statement.result)) continue;
    role = Role::result;
  }
  each_tensor(only, [&](TensorId& tensor) {
    if (tensor < 0) return;
    tensor = static_cast<TensorId>(std::lower_bound(ids.begin(), ids.end(), tensor) - ids.begin());
  });
  return slice;
}

void to_whole(const RegionSlice& slice, Graph& graph) {
  for (Node& node : graph.nodes) {
    node.tensor = slice.whole(node.tensor);
    node.other_tensor = slice.whole(node.other_tensor);
    node.statement = slice.whole(node.statement);
  }
  for (TensorId& tensor : graph.scratchpad) tensor = slice.whole(tensor);
  for (TensorId& tensor : graph.resident) tensor = slice.whole(tensor);
}

}  // namespace fuseflow
