#include "ir/term.h"

#include <algorithm>
#include <functional>
#include <set>

#include "support/text.h"

namespace fuseflow {

namespace {

/// Calls visit(index) for every index that the expression itself names, in the order of its text.
template <typename Node, typename Visit>
void each_index(Node& expr, const Visit& visit) {
  for (auto& index : expr.over) visit(index);
  if (expr.kind == Expr::Kind::coordinate) visit(expr.index);
  for (auto& subscript : expr.subscripts) {
    for (auto& term : subscript.terms) visit(term.first);
  }
}

void replace_indices(Expr& expr, const std::vector<IndexId>& places) {
  each_index(expr, [&](IndexId& index) { index = places[static_cast<size_t>(index)]; });
  for (Subscript& subscript : expr.subscripts) {
    std::sort(subscript.terms.begin(), subscript.terms.end());
  }
}

/// Puts a term into a statement, with the statement's own indices.
class Builder {
 public:
  Builder(const Scope& scope, Statement& statement)
      : scope_(scope), s_(statement), place_(scope.indices.size(), -1) {}

  IndexId place(IndexId index) {
    IndexId& known = place_[static_cast<size_t>(index)];
    if (known >= 0) return known;
    Index own = scope_.indices[static_cast<size_t>(index)];
    own.name =
        unused_name(own.name, "", 1, [&](const auto& name) { return names_.contains(name); });
    names_.insert(own.name);
    s_.indices.push_back(std::move(own));
    return known = static_cast<IndexId>(s_.indices.size()) - 1;
  }

  int32_t add(const Term& term) {
    for (const IndexId index : term.expr.over) place(index);  // bound before the body names them
    Expr expr = term.expr;
    for (const Term& child : term.children) expr.children.push_back(add(child));
    each_index(expr, [&](IndexId& index) { index = place(index); });
    for (Subscript& subscript : expr.subscripts) {
      std::sort(subscript.terms.begin(), subscript.terms.end());
    }
    s_.nodes.push_back(std::move(expr));
    return static_cast<int32_t>(s_.nodes.size()) - 1;
  }

 private:
  const Scope& scope_;
  Statement& s_;
  std::vector<IndexId> place_;  ///< by index of the scope; -1: not in the statement yet
  std::set<std::string> names_;
};

}  // namespace

std::vector<IndexId> add_indices(const Program& program, const Statement& statement, Scope& scope) {
  const size_t first = scope.indices.size();
  std::vector<IndexId> places;
  for (const Index& index : statement.indices) {
    places.push_back(static_cast<IndexId>(scope.indices.size()));
    scope.indices.push_back(index);
    scope.extents.push_back({index.extent, ""});
    scope.blocks.push_back(1);
  }
  const auto set_block = [&](IndexId index, const Tensor& tensor, size_t d) {
    const std::vector<int64_t>& block = tensor.format.block;
    if (!block.empty()) scope.blocks[first + static_cast<size_t>(index)] = block[d];
  };
  for (const Expr& e : statement.nodes) {
    if (e.kind != Expr::Kind::access) continue;
    const Tensor& tensor = program.tensors[static_cast<size_t>(e.tensor)];
    for (size_t d = 0; d < e.subscripts.size(); ++d) {
      if (!e.subscripts[d].is_plain()) continue;
      const IndexId index = e.subscripts[d].plain();
      Extent& known = scope.extents[first + static_cast<size_t>(index)];
      if (known.symbol.empty() && tensor.shape[d].value == known.value) known = tensor.shape[d];
      set_block(index, tensor, d);
    }
  }
  const Tensor& result = program.tensors[static_cast<size_t>(statement.result)];
  for (size_t d = 0; d < statement.result_indices.size(); ++d) {
    set_block(statement.result_indices[d], result, d);
  }
  return places;
}

std::vector<int64_t> block_over(const Scope& scope, const std::vector<IndexId>& indices) {
  std::vector<int64_t> block;
  for (const IndexId index : indices) block.push_back(scope.blocks[static_cast<size_t>(index)]);
  if (std::all_of(block.begin(), block.end(), [](int64_t b) { return b == 1; })) block.clear();
  return block;
}

Term term_at(const Statement& statement, int32_t node, const std::vector<IndexId>& places) {
  Term term{statement.nodes[static_cast<size_t>(node)], {}};
  for (const int32_t child : term.expr.children) {
    term.children.push_back(term_at(statement, child, places));
  }
  term.expr.children.clear();
  replace_indices(term.expr, places);
  return term;
}

Term renamed(Term term, const std::vector<IndexId>& places) {
  replace_indices(term.expr, places);
  for (Term& child : term.children) child = renamed(std::move(child), places);
  return term;
}

Term apply_term(Op op, std::vector<Term> operands) {
  Term term;
  term.expr.kind = Expr::Kind::apply;
  term.expr.op = op;
  term.children = std::move(operands);
  return term;
}

Term sum_term(std::vector<IndexId> over, Term body) {
  Term term;
  term.expr.kind = Expr::Kind::reduce;
  term.expr.over = std::move(over);
  term.children.push_back(std::move(body));
  return term;
}

Term access_term(TensorId tensor, const std::vector<IndexId>& subscripts) {
  Term term;
  term.expr.kind = Expr::Kind::access;
  term.expr.tensor = tensor;
  for (const IndexId index : subscripts) term.expr.subscripts.push_back({{{index, 1}}, 0});
  return term;
}

std::vector<IndexId> free_indices(const Term& term) {
  std::vector<IndexId> found;
  std::set<IndexId> bound;
  const std::function<void(const Term&)> walk = [&](const Term& at) {
    bound.insert(at.expr.over.begin(), at.expr.over.end());
    each_index(at.expr, [&](IndexId index) {
      if (std::find(found.begin(), found.end(), index) == found.end()) found.push_back(index);
    });
    for (const Term& child : at.children) walk(child);
  };
  walk(term);
  std::erase_if(found, [&](IndexId index) { return bound.contains(index); });
  return found;
}

bool computes(const Term& term) {
  return term.expr.kind == Expr::Kind::apply || term.expr.kind == Expr::Kind::reduce;
}

Statement statement_of(const Scope& scope, TensorId result, const std::vector<IndexId>& indices,
                       const Term& term) {
  Statement statement;
  statement.result = result;
  Builder builder(scope, statement);
  for (const IndexId index : indices) statement.result_indices.push_back(builder.place(index));
  builder.add(term);
  return statement;
}

}  // namespace fuseflow
