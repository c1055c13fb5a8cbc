#include <algorithm>

#include "ir/reference_order.h"
#include "reference/reference.h"
#include "reference/selection.h"
#include "reference/statement.h"
#include "reference/versions.h"
#include "reference/watch.h"

namespace fuseflow {

namespace {

using namespace reference;

/// For each statement, in order, the tensors that no later one reads.
std::vector<std::vector<TensorId>> last_uses(const std::vector<const Statement*>& statements,
                                             size_t tensors) {
  std::vector<std::vector<TensorId>> result(statements.size());
  std::vector<bool> used(tensors, false);
  for (size_t s = statements.size(); s-- > 0;) {
    for (const Expr& node : statements[s]->nodes) {
      if (node.kind != Expr::Kind::access || used[node.tensor]) continue;
      used[node.tensor] = true;
      result[s].push_back(node.tensor);
    }
    if (!used[statements[s]->result]) result[s].push_back(statements[s]->result);
  }
  return result;
}

/// Statements that the wanted tensors need, in order; no wanted tensor: all of them.
std::vector<const Statement*> needed(const Program& program, const std::vector<TensorId>& wanted) {
  std::vector<const Statement*> statements = reference_order(program);
  if (wanted.empty()) return statements;
  std::vector<bool> read(program.tensors.size(), false);
  for (const TensorId tensor : wanted) read[tensor] = true;
  std::vector<const Statement*> result;
  for (auto at = statements.rbegin(); at != statements.rend(); ++at) {
    if (!read[(*at)->result]) continue;
    for (const Expr& node : (*at)->nodes) {
      if (node.kind == Expr::Kind::access) read[node.tensor] = true;
    }
    result.push_back(*at);
  }
  std::reverse(result.begin(), result.end());
  return result;
}

/// Of each statement by itself: clearing those of the whole program takes long where it has many.
void forget_spelled(const Statement& statement, EvaluationState& shared) {
  for (const Expr& node : statement.nodes) {
    if (node.kind == Expr::Kind::access) shared.spelled[node.tensor].reset();
  }
}

}  // namespace

int64_t Value::elements() const {
  return element_count(shape);
}

float Value::at(std::span<const int64_t> coords) const {
  if (sparse) return sparse->at(coords);
  int64_t offset = 0;
  for (size_t d = 0; d < shape.size(); ++d) offset = offset * shape[d] + coords[d];
  return (*dense)[offset];
}

Value value_of(std::shared_ptr<const Storage> storage) {
  Value value{storage->shape, nullptr, nullptr};
  if (storage->format.all_dense()) {
    value.dense = std::make_shared<std::vector<float>>(to_dense(*storage));
  } else {
    value.sparse = std::move(storage);
  }
  return value;
}

std::vector<Value> evaluate(const Program& program,
                            const std::vector<std::shared_ptr<const Storage>>& inputs,
                            const ReferenceOptions& options) {
  const std::vector<const Statement*> statements = needed(program, options.wanted);
  const size_t tensors = program.tensors.size();
  const auto last = last_uses(statements, tensors);
  Watch watch(options, statements.size());
  Versions versions(program, options, watch);
  EvaluationState shared{program,
                         options,
                         watch,
                         std::vector<Value>(tensors),
                         std::vector<std::optional<Facts>>(tensors),
                         std::vector<std::optional<Grid>>(tensors),
                         decltype(EvaluationState::spelled)(tensors)};
  const auto give = [&](TensorId tensor) {
    const auto t = static_cast<size_t>(tensor);
    if (t >= inputs.size() || inputs[t] == nullptr) return;
    shared.values[t] = value_of(inputs[t]);
    shared.values[t].fixed = true;
  };
  for (size_t t = 0; t < tensors; ++t) give(static_cast<TensorId>(t));
  for (size_t s = 0; s < statements.size(); ++s) {
    watch.next_statement();
    const TensorId result = statements[s]->result;
    for (const TensorId t : versions.select(*statements[s], shared.values)) {
      shared.facts[t].reset();
      shared.grids[t].reset();
    }
    StatementEvaluator evaluator(shared, *statements[s]);
    Value computed = evaluator.run();
    if (options.bounds) computed.selection = selection_of(*statements[s], shared.values, computed);
    forget_spelled(*statements[s], shared);
    shared.values[result] = versions.define(result, std::move(computed));
    shared.values[result].undecided = evaluator.undecided();
    if (options.on_result) options.on_result(result, shared.values[result]);
    // What reads a copy of given elements reads it as it was loaded.
    if (program.tensors[static_cast<size_t>(result)].given()) give(result);
    for (size_t u = 0; u < last[s].size() && !options.keep_all; ++u) {
      shared.values[last[s][u]] = Value{};
      versions.drop(last[s][u]);
    }
  }
  versions.restore(shared.values);
  return std::move(shared.values);
}

}  // namespace fuseflow
