// New intermediates: their names, and how they are stored, by the calculus that import goes by.
#include <fmt/format.h>

#include <algorithm>

#include "ir/names.h"
#include "ir/print.h"
#include "ir/sparsity.h"
#include "rewrite/site.h"
#include "rewrite/stored_types.h"
#include "support/text.h"

namespace fuseflow {

namespace {

/// Facts of `wanted` that `known` does not say.
Facts lacking(const Facts& known, const Facts& wanted) {
  Facts facts;
  facts.finite = wanted.finite && !known.finite;
  facts.nonzero = wanted.nonzero && !known.nonzero;
  return facts == Facts{} ? facts : closed(facts);
}

/// Compressed where entries may be absent, as import stores results.
/// `wanted`: the type that the tensor gets, if it holds what absent entries mean; else f32.
void set_storage(Tensor& tensor, const ResultSparsity& inferred, ElementType wanted) {
  tensor.facts = inferred.facts;
  bool is_sparse = false;
  for (size_t d = 0; d < inferred.absent_along.size(); ++d) {
    if (!inferred.absent_along[d]) continue;
    tensor.format.levels[d] = LevelKind::compressed;
    is_sparse = true;
  }
  if (is_sparse) tensor.fill = *inferred.fill;
  if (holds(wanted, tensor.fill)) tensor.type = wanted;
  tensor.facts = held_facts(tensor.facts, tensor.type);
  if (is_sparse) tensor.facts = both(tensor.facts, facts_of_constant(tensor.fill));
}

}  // namespace

Facts without_range(const Facts& facts) {
  Facts named = facts;
  named.least = Facts{}.least;
  named.largest = Facts{}.largest;
  return closed(named);
}

const Tensor& KnownTensors::of(TensorId tensor) const {
  const auto t = static_cast<size_t>(tensor);
  const size_t given = site_.known.size();
  return t < given ? site_.known[t] : added_[t - given];
}

TensorId KnownTensors::add(Tensor tensor) {
  added_.push_back(std::move(tensor));
  return static_cast<TensorId>(site_.known.size() + added_.size()) - 1;
}

bool KnownTensors::has_name(const std::string& name) const {
  return site_.names.contains(name) ||
         std::any_of(added_.begin(), added_.end(),
                     [&](const Tensor& tensor) { return tensor.name == name; });
}

ElementType KnownTensors::type_read(TensorId tensor, TensorId reader) const {
  const bool is_new = static_cast<size_t>(tensor) >= site_.known.size();
  const bool unrounded = is_new || site_.definitions.reads_stream(tensor, reader);
  return unrounded ? ElementType::f32 : of(tensor).type;
}

Program KnownTensors::alone(Statement& statement) const {
  Program program;
  for (Expr& e : statement.nodes) {
    if (e.kind != Expr::Kind::access) continue;
    program.tensors.push_back(of(e.tensor));
    e.tensor = static_cast<TensorId>(program.tensors.size()) - 1;
  }
  return program;
}

ResultSparsity KnownTensors::infer(const Statement& given) const {
  Statement statement = given;
  return infer_result(alone(statement), statement);
}

Facts KnownTensors::facts_of(const Scope& scope, const Term& term) const {
  return infer(statement_of(scope, -1, free_indices(term), term)).facts;
}

std::optional<Term> add_intermediate(const Scope& scope, const std::vector<IndexId>& indices,
                                     const Term& value, const Statement& origin,
                                     const Facts& needed, KnownTensors& known, Rewrite& rewrite) {
  Tensor tensor;
  for (const IndexId index : indices) {
    tensor.shape.push_back(scope.extents[static_cast<size_t>(index)]);
    if (!tensor.shape.back().known()) return std::nullopt;
  }
  tensor.name = unused_name(known.of(origin.result).name, "_", 1,
                            [&](const std::string& name) { return known.has_name(name); });
  tensor.where = origin.where;
  tensor.format = dense_format(static_cast<int>(indices.size()));
  tensor.format.block = block_over(scope, indices);
  Statement statement = statement_of(scope, -1, indices, value);
  statement.from = origin.from;
  statement.where = origin.where;
  const auto type_read = [&](TensorId t) { return known.type_read(t, origin.result); };
  set_storage(tensor, known.infer(statement),
              type_of_part(value, type_read, known.of(origin.result).type, rewrite.reorders));
  tensor.assumed = lacking(tensor.facts, needed);
  if (tensor.assumed != Facts{}) {
    rewrite.assumed.push_back(
        fmt::format("%{} is {}", quote_if_needed(tensor.name), facts_text(tensor.assumed)));
  }
  statement.result = known.add(tensor);
  const Term read = access_term(statement.result, indices);
  tensor.facts = without_range(tensor.facts);
  rewrite.tensors.push_back(std::move(tensor));
  rewrite.added.push_back(std::move(statement));
  return read;
}

}  // namespace fuseflow
