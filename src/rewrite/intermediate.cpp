// New intermediates: their names, and how they are stored, by the calculus that import goes by.
#include <fmt/format.h>

#include <algorithm>

#include "ir/names.h"
#include "ir/print.h"
#include "ir/sparsity.h"
#include "rewrite/site.h"
#include "support/text.h"

namespace fuseflow {

namespace {

Program tensors_alone(std::vector<Tensor> tensors) {
  Program program;
  program.tensors = std::move(tensors);
  return program;
}

/// Facts of `wanted` that `known` does not say.
Facts lacking(const Facts& known, const Facts& wanted) {
  Facts facts;
  facts.finite = wanted.finite && !known.finite;
  facts.nonzero = wanted.nonzero && !known.nonzero;
  return facts == Facts{} ? facts : closed(facts);
}

/// Compressed where entries may be absent, as import stores results.
void set_storage(Tensor& tensor, const ResultSparsity& inferred) {
  tensor.format = dense_format(static_cast<int>(tensor.shape.size()));
  tensor.facts = inferred.facts;
  for (size_t d = 0; d < inferred.absent_along.size(); ++d) {
    if (inferred.absent_along[d]) tensor.format.levels[d] = LevelKind::compressed;
  }
  if (tensor.format.all_dense()) return;
  tensor.fill = *inferred.fill;
  tensor.facts = both(tensor.facts, facts_of_constant(tensor.fill));
}

}  // namespace

Facts without_range(const Facts& facts) {
  Facts named = facts;
  named.least = Facts{}.least;
  named.largest = Facts{}.largest;
  return closed(named);
}

Facts facts_of_term(const Scope& scope, const Term& term, const std::vector<Tensor>& known) {
  const Statement alone = statement_of(scope, -1, free_indices(term), term);
  return analyse(tensors_alone(known), alone).back().facts;
}

std::optional<Term> add_intermediate(const Scope& scope, const std::vector<IndexId>& indices,
                                     const Term& value, const Statement& origin,
                                     const Facts& needed, std::vector<Tensor>& known,
                                     Rewrite& rewrite) {
  Tensor tensor;
  for (const IndexId index : indices) {
    tensor.shape.push_back(scope.extents[static_cast<size_t>(index)]);
    if (!tensor.shape.back().known()) return std::nullopt;
  }
  tensor.name = unused_name(known[static_cast<size_t>(origin.result)].name, "_", 1,
                            [&](const std::string& name) {
                              return std::any_of(known.begin(), known.end(),
                                                 [&](const Tensor& t) { return t.name == name; });
                            });
  tensor.where = origin.where;
  const auto id = static_cast<TensorId>(known.size());
  Statement statement = statement_of(scope, id, indices, value);
  statement.from = origin.from;
  statement.where = origin.where;
  set_storage(tensor, infer_result(tensors_alone(known), statement));
  tensor.assumed = lacking(tensor.facts, needed);
  if (tensor.assumed != Facts{}) {
    rewrite.assumed.push_back(
        fmt::format("%{} is {}", quote_if_needed(tensor.name), facts_text(tensor.assumed)));
  }
  known.push_back(tensor);
  tensor.facts = without_range(tensor.facts);
  rewrite.tensors.push_back(std::move(tensor));
  rewrite.added.push_back(std::move(statement));
  return access_term(id, indices);
}

}  // namespace fuseflow
