#include "ir/named_reduction.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "support/text.h"

namespace fuseflow {

namespace {

/// Copies part of a statement into another, with the indices that it uses.
class Copier {
 public:
  Copier(const Statement& from, Statement& to) : from_(from), to_(to) {}

  IndexId index(IndexId i) {
    const auto [at, fresh] = indices_.try_emplace(i, static_cast<IndexId>(to_.indices.size()));
    if (fresh) to_.indices.push_back(from_.indices[static_cast<size_t>(i)]);
    return at->second;
  }

  /// The tree below `node`, except that `replaced` becomes `by`, in terms of the old indices.
  int32_t tree(int32_t node, int32_t replaced = -1, const Expr& by = {}) {
    Expr copy = node == replaced ? by : from_.nodes[static_cast<size_t>(node)];
    for (int32_t& child : copy.children) child = tree(child, replaced, by);
    for (Subscript& subscript : copy.subscripts) {
      for (auto& term : subscript.terms) term.first = index(term.first);
    }
    for (IndexId& over : copy.over) over = index(over);
    if (copy.kind == Expr::Kind::coordinate) copy.index = index(copy.index);
    to_.nodes.push_back(std::move(copy));
    return static_cast<int32_t>(to_.nodes.size()) - 1;
  }

 private:
  const Statement& from_;
  Statement& to_;
  std::map<IndexId, IndexId> indices_;
};

/// Indices that the tree uses and does not bind.
std::set<IndexId> free_indices(const Statement& s, int32_t node) {
  const Expr& e = s.nodes[static_cast<size_t>(node)];
  std::set<IndexId> free;
  for (const int32_t child : e.children) free.merge(free_indices(s, child));
  for (const Subscript& subscript : e.subscripts) {
    for (const auto& term : subscript.terms) free.insert(term.first);
  }
  if (e.kind == Expr::Kind::coordinate) free.insert(e.index);
  for (const IndexId over : e.over) free.erase(over);
  return free;
}

}  // namespace

TensorId name_reduction(Program& program, size_t region, size_t statement, int32_t node) {
  std::vector<Statement>& statements = program.regions[region].statements;
  const Statement whole = statements[statement];
  const std::set<IndexId> free = free_indices(whole, node);
  const auto id = static_cast<TensorId>(program.tensors.size());

  Tensor named;
  named.name =
      unused_name(program.tensors[static_cast<size_t>(whole.result)].name, ".", 1,
                  [&](const std::string& name) { return find_tensor(program, name) >= 0; });
  named.format = dense_format(static_cast<int>(free.size()));
  Statement part;
  part.result = id;
  part.where = whole.where;
  Copier inside(whole, part);
  Expr read;
  read.kind = Expr::Kind::access;
  read.tensor = id;
  for (const IndexId i : free) {
    named.shape.push_back({whole.indices[static_cast<size_t>(i)].extent, {}});
    part.result_indices.push_back(inside.index(i));
    read.subscripts.push_back(Subscript{{{i, 1}}, 0});
  }
  inside.tree(node);

  Statement rest;
  rest.result = whole.result;
  rest.from = whole.from;
  rest.where = whole.where;
  Copier outside(whole, rest);
  for (const IndexId i : whole.result_indices) rest.result_indices.push_back(outside.index(i));
  outside.tree(static_cast<int32_t>(whole.nodes.size()) - 1, node, read);

  program.tensors.push_back(std::move(named));
  statements[statement] = std::move(rest);
  statements.insert(statements.begin() + static_cast<std::ptrdiff_t>(statement), std::move(part));
  return id;
}

}  // namespace fuseflow
