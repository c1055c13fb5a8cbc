#include "lower/phase_form.h"

#include <algorithm>
#include <bit>

namespace fuseflow {

PhaseForms::PhaseForms(const Program& program, const RegionIndices& indices,
                       const Expressions& expressions, const std::vector<int>& order,
                       const HeldTensors& held)
    : program_(program),
      indices_(indices),
      expressions_(expressions),
      rank_(indices.indices.size(), 0),
      joins_(indices.indices.size(), nullptr),
      held_(held),
      seen_(expressions.nodes.size(), 0),
      node_number_(expressions.nodes.size(), -1),
      index_number_(indices.indices.size(), -1),
      tensor_number_(program.tensors.size(), -1),
      statement_number_(program.regions[0].statements.size(), -1) {
  for (size_t i = 0; i < order.size(); ++i) {
    rank_[static_cast<size_t>(order[i])] = static_cast<int>(i);
  }
  for (const Join& join : program.regions[0].schedule.joins) {
    for (size_t i = 0; i < joins_.size(); ++i) {
      if (indices.indices[i].name == join.index) joins_[i] = &join;
    }
  }
}

PhaseNames PhaseForms::names_of(const std::vector<PhaseRoot>& roots) {
  PhaseNames names;
  const auto add_affine = [&](const Affine& affine) {
    for (const auto& term : affine.terms) names.indices.push_back(term.first);
  };
  std::vector<int> todo;
  for (const PhaseRoot& root : roots) {
    const Instance& instance = indices_.instances[static_cast<size_t>(root.instance)];
    const Statement& statement = program_.regions[0].statements[instance.statement];
    names.statements.push_back(instance.statement);
    names.tensors.push_back(statement.result);
    for (const IndexId index : statement.result_indices) {
      add_affine(instance.map[static_cast<size_t>(index)]);
    }
    todo.push_back(root.node);
  }
  while (!todo.empty()) {
    const auto n = static_cast<size_t>(todo.back());
    todo.pop_back();
    if (seen_[n] != 0) continue;
    seen_[n] = 1;
    names.nodes.push_back(static_cast<int>(n));
    const ExprNode& node = expressions_.nodes[n];
    names.statements.push_back(node.statement);
    if (node.tensor >= 0) names.tensors.push_back(node.tensor);
    for (const Affine& affine : node.subscripts) add_affine(affine);
    names.indices.insert(names.indices.end(), node.over.begin(), node.over.end());
    names.indices.insert(names.indices.end(), node.dropped.begin(), node.dropped.end());
    names.indices.insert(names.indices.end(), node.free.begin(), node.free.end());
    todo.insert(todo.end(), node.children.begin(), node.children.end());
  }
  for (const int n : names.nodes) seen_[static_cast<size_t>(n)] = 0;
  sort_distinct(names.nodes);
  sort_distinct(names.indices);
  sort_distinct(names.tensors);
  sort_distinct(names.statements);
  return names;
}

PhaseForm PhaseForms::form_of(const std::vector<PhaseRoot>& roots, const PhaseNames& names) {
  number_all(names);
  PhaseForm form;
  form.reserve(32 * names.nodes.size());
  for (const size_t count :
       {roots.size(), names.tensors.size(), names.indices.size(), names.nodes.size()}) {
    form.push_back(static_cast<int64_t>(count));
  }
  for (const PhaseRoot& root : roots) {
    const Instance& instance = indices_.instances[static_cast<size_t>(root.instance)];
    const Statement& statement = program_.regions[0].statements[instance.statement];
    form.push_back(node_number_[static_cast<size_t>(root.node)]);
    form.push_back(root.everywhere ? 1 : 0);
    form.push_back(statement_number_[instance.statement]);
    form.push_back(tensor_number_[static_cast<size_t>(statement.result)]);
    for (const IndexId index : statement.result_indices) {
      write_affine(instance.map[static_cast<size_t>(index)], form);
    }
  }
  for (const TensorId tensor : names.tensors) write_tensor(tensor, form);
  write_indices(names, form);
  for (const int n : names.nodes) write_node(expressions_.nodes[static_cast<size_t>(n)], form);
  for (const TensorId tensor : names.tensors) tensor_number_[static_cast<size_t>(tensor)] = -1;
  return form;
}

/// (Only tensors are asked for that the phase does not name: by joins.)
void PhaseForms::number_all(const PhaseNames& names) {
  number_each(names.nodes, node_number_);
  number_each(names.indices, index_number_);
  number_each(names.tensors, tensor_number_);
  number_each(names.statements, statement_number_);
}

void PhaseForms::write_tensor(TensorId id, PhaseForm& to) const {
  const auto t = static_cast<size_t>(id);
  write_declaration(program_.tensors[t], held_.on_chip[t], held_.internal[t], to);
}

void PhaseForms::write_indices(const PhaseNames& names, PhaseForm& to) const {
  std::vector<int> by_rank = names.indices;
  std::sort(by_rank.begin(), by_rank.end(), [&](int a, int b) {
    return rank_[static_cast<size_t>(a)] < rank_[static_cast<size_t>(b)];
  });
  write_indices_of(by_rank, to);
  for (const int index : names.indices) {
    const auto i = static_cast<size_t>(index);
    to.push_back(indices_.indices[i].extent);
    const Join* const join = joins_[i];
    to.push_back(join == nullptr ? -1 : static_cast<int64_t>(join->form));
    if (join == nullptr) continue;
    for (const TensorId tensor : join->located) {
      const int number = tensor_number_[static_cast<size_t>(tensor)];
      if (number >= 0) to.push_back(number);
    }
    to.push_back(-1);
  }
}

void PhaseForms::write_node(const ExprNode& node, PhaseForm& to) const {
  const auto& [kind, tensor, subscripts, constant, op, reduction, over, count, dropped, children,
               free, fill, facts, patterns, has_reduce, statement, by_structure] = node;
  to.push_back(static_cast<int64_t>(kind));
  to.push_back(tensor < 0 ? -1 : tensor_number_[static_cast<size_t>(tensor)]);
  to.push_back(static_cast<int64_t>(subscripts.size()));
  for (const Affine& affine : subscripts) write_affine(affine, to);
  to.push_back(bits(constant));
  to.push_back(static_cast<int64_t>(op));
  to.push_back(static_cast<int64_t>(reduction));
  write_indices_of(over, to);
  to.push_back(std::bit_cast<int64_t>(count));
  write_indices_of(dropped, to);
  to.push_back(static_cast<int64_t>(children.size()));
  for (const int child : children) to.push_back(node_number_[static_cast<size_t>(child)]);
  write_indices_of(free, to);
  to.push_back(fill ? 1 : 0);
  to.push_back(bits(fill.value_or(0)));
  write_facts(facts, to);
  write_list(patterns, to);
  to.push_back((has_reduce ? 2 : 0) + (by_structure ? 1 : 0));
  to.push_back(statement_number_[statement]);
}

void PhaseForms::write_indices_of(const std::vector<int>& indices, PhaseForm& to) const {
  to.push_back(static_cast<int64_t>(indices.size()));
  for (const int index : indices) to.push_back(index_number_[static_cast<size_t>(index)]);
}

void PhaseForms::write_affine(const Affine& affine, PhaseForm& to) const {
  to.push_back(static_cast<int64_t>(affine.terms.size()));
  for (const auto& [index, factor] : affine.terms) {
    to.push_back(index_number_[static_cast<size_t>(index)]);
    to.push_back(factor);
  }
  to.push_back(affine.offset);
}

}  // namespace fuseflow
