#include "ir/slice_regions.h"

#include <algorithm>
#include <map>
#include <string>
#include <type_traits>

#include "graph/node_fields.h"

namespace fuseflow {

void each_tensor(Graph& graph, const std::function<void(TensorId&)>& visit) {
  for (Node& node : graph.nodes) {
    for_each_field([&](const auto& row) {
      if constexpr (std::remove_cvref_t<decltype(row)>::names == Names::tensor) {
        visit(value_of(node, row.member));
      }
    });
  }
  for (TensorId& tensor : graph.scratchpad) visit(tensor);
  for (TensorId& tensor : graph.resident) visit(tensor);
}

namespace {

/// Calls `visit` with a reference to each tensor that a region names; -1 where it names none.
template <typename Visit>
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
  if (region.graph) each_tensor(*region.graph, visit);
}

/// What a slice needs of a tensor. (By name, so that a field more does not compile.)
Tensor without_values(const Tensor& tensor) {
  const auto& [name, type, shape, format, fill, facts, assumed, role, source, placement, where,
               model_shape, copy_of] = tensor;
  if (source.values.empty()) return tensor;
  const auto& [kind, path, array, params, values, nnz] = source;
  Tensor result;
  result.name = name;
  result.type = type;
  result.shape = shape;
  result.format = format;
  result.fill = fill;
  result.facts = facts;
  result.assumed = assumed;
  result.role = role;
  result.source.kind = kind;
  result.source.path = path;
  result.source.name = array;
  result.source.params = params;
  result.source.nnz = nnz;
  result.placement = placement;
  result.where = where;
  result.model_shape = model_shape;
  result.copy_of = copy_of;
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

namespace {

/// Adds the copies of tensors that are there, and what these are copies of. Few programs have any.
void add_copies(const Program& program, std::vector<TensorId>& ids) {
  std::map<std::string, std::vector<TensorId>> families;  // by the name of the original
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    const Tensor& tensor = program.tensors[t];
    if (!tensor.copy_of.empty()) families[tensor.copy_of].push_back(static_cast<TensorId>(t));
  }
  if (families.empty()) return;
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    const auto family = families.find(program.tensors[t].name);
    if (family != families.end()) family->second.push_back(static_cast<TensorId>(t));
  }
  for (size_t i = 0, given = ids.size(); i < given; ++i) {
    const Tensor& tensor = program.tensors[static_cast<size_t>(ids[i])];
    const auto family = families.find(tensor.copy_of.empty() ? tensor.name : tensor.copy_of);
    if (family == families.end()) continue;
    ids.insert(ids.end(), family->second.begin(), family->second.end());
  }
}

void sort_once(std::vector<TensorId>& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

/// A slice without regions yet.
RegionSlice begun(const Program& program) {
  RegionSlice slice;
  slice.program.name = program.name;
  slice.program.strategy = program.strategy;
  return slice;
}

/// The tensors that the slice's regions name.
void note_tensors(RegionSlice& slice) {
  for (Region& region : slice.program.regions) {
    each_tensor(region, [&](TensorId tensor) {
      if (tensor >= 0) slice.tensors.push_back(tensor);
    });
  }
  sort_once(slice.tensors);
}

/// Lets the slice, which has these tensors of the whole program now, name them by its own numbers.
void renumber(RegionSlice& slice, const std::function<bool(TensorId)>& read_later) {
  const std::vector<TensorId>& ids = slice.tensors;
  const auto place = [&](TensorId tensor) {
    return static_cast<size_t>(std::lower_bound(ids.begin(), ids.end(), tensor) - ids.begin());
  };
  for (Region& region : slice.program.regions) {
    for (const Statement& statement : region.statements) {  // it matters for what is defined here
      Role& role = slice.program.tensors[place(statement.result)].role;
      if (role != Role::temporary || !read_later || !read_later(statement.result)) continue;
      role = Role::result;
    }
    each_tensor(region, [&](TensorId& tensor) {
      if (tensor >= 0) tensor = static_cast<TensorId>(place(tensor));
    });
  }
}

RegionSlice slice_alone(const Program& program, const Region& region,
                        const std::function<bool(TensorId)>& read_later) {
  RegionSlice slice = begun(program);
  slice.program.regions.push_back(region);
  note_tensors(slice);
  for (const TensorId id : slice.tensors) {
    slice.program.tensors.push_back(without_values(program.tensors[static_cast<size_t>(id)]));
  }
  renumber(slice, read_later);
  return slice;
}

}  // namespace

RegionSlice slice_region(const Program& program, size_t region,
                         const std::function<bool(TensorId)>& read_later) {
  return slice_alone(program, program.regions[region], read_later);
}

RegionSlice slice_region(const Program& program, const Region& region) {
  return slice_alone(program, region, nullptr);
}

RegionSlice slice_regions(const Program& program, const std::vector<size_t>& regions,
                          const std::function<bool(TensorId)>& read_later) {
  RegionSlice slice = begun(program);
  for (const size_t r : regions) slice.program.regions.push_back(program.regions[r]);
  note_tensors(slice);
  add_copies(program, slice.tensors);
  sort_once(slice.tensors);
  for (const TensorId id : slice.tensors) {
    slice.program.tensors.push_back(program.tensors[static_cast<size_t>(id)]);
  }
  renumber(slice, read_later);
  return slice;
}

void to_whole(const RegionSlice& slice, Schedule& schedule) {
  for (UsePlacement& use : schedule.placements) {
    use.tensor = slice.whole(use.tensor);
    use.consumer = slice.whole(use.consumer);
  }
  for (Join& join : schedule.joins) {
    for (TensorId& tensor : join.located) tensor = slice.whole(tensor);
  }
}

void to_whole(const RegionSlice& slice, Graph& graph) {
  each_tensor(graph, [&](TensorId& tensor) { tensor = slice.whole(tensor); });
}

}  // namespace fuseflow
