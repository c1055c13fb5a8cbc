#include "ir/named_reduction.h"

#include <utility>

#include "ir/term.h"
#include "support/text.h"

namespace fuseflow {

namespace {

/// The term of a node within `term`, that of the node `at`; null: it is not below it.
Term* term_of(Term& term, const Statement& s, int32_t at, int32_t node) {
  if (at == node) return &term;
  const std::vector<int32_t>& children = s.nodes[static_cast<size_t>(at)].children;
  for (size_t c = 0; c < children.size(); ++c) {
    if (Term* found = term_of(term.children[c], s, children[c], node)) return found;
  }
  return nullptr;
}

}  // namespace

TensorId name_reduction(Program& program, size_t region, size_t statement, int32_t node) {
  std::vector<Statement>& statements = program.regions[region].statements;
  const Statement whole = statements[statement];
  const auto root = static_cast<int32_t>(whole.nodes.size()) - 1;
  const auto id = static_cast<TensorId>(program.tensors.size());
  Scope scope;
  const std::vector<IndexId> places = add_indices(program, whole, scope);
  Term rest = term_at(whole, root, places);
  Term& reduction = *term_of(rest, whole, root, node);
  const std::vector<IndexId> free = free_indices(reduction);

  Tensor named;
  named.name =
      unused_name(program.tensors[static_cast<size_t>(whole.result)].name, ".", 1,
                  [&](const std::string& name) { return find_tensor(program, name) >= 0; });
  named.format = dense_format(static_cast<int>(free.size()));
  named.format.block = block_over(scope, free);
  for (const IndexId i : free) named.shape.push_back(scope.extents[static_cast<size_t>(i)]);
  Statement first = statement_of(scope, id, free, reduction);
  first.where = whole.where;

  reduction = access_term(id, free);
  std::vector<IndexId> results;
  for (const IndexId i : whole.result_indices) results.push_back(places[static_cast<size_t>(i)]);
  Statement second = statement_of(scope, whole.result, results, rest);
  second.from = whole.from;
  second.where = whole.where;

  program.tensors.push_back(std::move(named));
  statements[statement] = std::move(second);
  statements.insert(statements.begin() + static_cast<std::ptrdiff_t>(statement), std::move(first));
  return id;
}

}  // namespace fuseflow
