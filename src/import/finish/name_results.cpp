// Results: an intermediate takes the output's name, its order of dimensions and its extents of 1.
#include <algorithm>
#include <set>

#include "import/finish/finalize.h"

namespace fuseflow {

namespace {

DraftStatement* definition(DraftProgram& draft, TensorId tensor) {
  for (DraftStatement& s : draft.statements) {
    if (s.statement.result == tensor) return &s;
  }
  return nullptr;
}

/// Position of each of the value's dimensions in the tensor (-1: extent 1), or nothing if the value
/// is not the whole tensor with one atom a dimension.
std::optional<std::vector<int>> whole_order(const Draft& draft, const View& value) {
  const Expr* access = value.plain_access();
  if (access == nullptr) return std::nullopt;
  std::vector<int> order;
  size_t used = 0;
  for (const auto& dim : value.dims) {
    if (dim.size() > 1) {  // keep the parts as dimensions of their own, in order
      for (size_t k = 0; k < dim.size(); ++k) order.push_back(-2);
    } else if (dim.empty()) {
      order.push_back(-1);
    } else {
      order.push_back(-2);
    }
    for (size_t k = 0; k < dim.size(); ++k) {
      int position = -1;
      for (size_t d = 0; d < access->subscripts.size(); ++d) {
        const Subscript& s = access->subscripts[d];
        if (s.is_plain() && s.plain() == dim[k]) position = static_cast<int>(d);
      }
      if (position < 0 ||
          draft.shape[static_cast<size_t>(position)] != value.atoms[static_cast<size_t>(dim[k])]) {
        return std::nullopt;
      }
      order[order.size() - dim.size() + k] = position;
      ++used;
    }
  }
  if (used != draft.shape.size()) return std::nullopt;
  return order;
}

void permute(std::vector<Subscript>& subscripts, const std::vector<int>& order) {
  std::vector<Subscript> result;
  result.reserve(order.size());
  for (const int d : order)
    result.push_back(d < 0 ? Subscript{} : subscripts[static_cast<size_t>(d)]);
  subscripts = std::move(result);
}

}  // namespace

bool name_result(DraftProgram& draft, const View& value, const std::string& name,
                 const std::vector<View*>& others) {
  const Expr* access = value.plain_access();
  if (access == nullptr) return false;
  const TensorId id = access->tensor;
  Draft& tensor = draft.tensors[static_cast<size_t>(id)];
  DraftStatement* made = definition(draft, id);
  if (made == nullptr || tensor.tensor.role != Role::temporary) return false;
  const auto order = whole_order(tensor, value);
  if (!order) return false;

  std::vector<int64_t> shape;
  std::vector<IndexId> indices;
  Statement& s = made->statement;
  for (const int d : *order) {
    shape.push_back(d < 0 ? 1 : tensor.shape[static_cast<size_t>(d)]);
    if (d >= 0) {
      indices.push_back(s.result_indices[static_cast<size_t>(d)]);
      continue;
    }
    indices.push_back(static_cast<IndexId>(s.indices.size()));
    s.indices.push_back({"one" + std::to_string(indices.size()), 1});
  }
  s.result_indices = std::move(indices);
  const auto follow = [&](std::vector<Expr>& nodes) {
    for (Expr& node : nodes) {
      if (node.kind == Expr::Kind::access && node.tensor == id) permute(node.subscripts, *order);
    }
  };
  for (DraftStatement& user : draft.statements) follow(user.statement.nodes);
  for (View* other : others) follow(other->nodes);
  tensor.shape = std::move(shape);
  tensor.tensor.role = Role::result;
  tensor.tensor.model_shape = value.shape();
  tensor.pinned = true;
  tensor.tensor.name = name;
  return true;
}

void rename_tensor(DraftProgram& draft, const std::string& from, const std::string& to) {
  for (Draft& tensor : draft.tensors) {
    if (tensor.tensor.name == from && tensor.tensor.role != Role::result) tensor.tensor.name = to;
  }
}

void drop_dead_statements(DraftProgram& draft) {
  std::set<TensorId> needed;
  for (size_t t = 0; t < draft.tensors.size(); ++t) {
    if (draft.tensors[t].tensor.role == Role::result) needed.insert(static_cast<TensorId>(t));
  }
  std::vector<DraftStatement> kept;
  for (size_t s = draft.statements.size(); s-- > 0;) {
    if (!needed.contains(draft.statements[s].statement.result)) continue;
    for (const Expr& node : draft.statements[s].statement.nodes) {
      if (node.kind == Expr::Kind::access) needed.insert(node.tensor);
    }
    kept.push_back(std::move(draft.statements[s]));
  }
  std::reverse(kept.begin(), kept.end());
  draft.statements = std::move(kept);
}

}  // namespace fuseflow
