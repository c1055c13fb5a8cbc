#include "lower/phase_region.h"

#include <utility>

#include "lower/known_phases.h"

namespace fuseflow {

PhaseRegion::PhaseRegion(Program program, RegionPhases phases, HeldTensors held,
                         size_t max_instances)
    : program_(std::move(program)), held_(std::move(held)) {
  try {
    analysed_ = analysed_phase(program_, phases, max_instances);
  } catch (const InstanceConflict& conflict) {  // the region says of what it is one
    conflict_ = conflict;
    return;
  }
  if (!analysed_) return;
  default_order_ = fuseflow::default_order(analysed_->indices);
  for (const int root : analysed_->indices.roots) {
    roots_.push_back(phase_root(program_, analysed_->indices, analysed_->expressions, root));
  }
  names_ = PhaseForms(program_, analysed_->indices, analysed_->expressions, default_order_, held_)
               .names_of(roots_);
}

bool PhaseRegion::is_legal(const std::vector<int>& order) const {
  return !why_illegal(analysed_->indices, order);
}

std::shared_ptr<LoweredPhase> PhaseRegion::lowered(const std::vector<int>& order, size_t max_nodes,
                                                   KnownPhases& known) {
  const auto found = by_order_.find(order);
  if (found != by_order_.end()) return found->second;
  const PhaseContext context{
      program_, analysed_->indices, analysed_->expressions, order, held_, max_nodes, false};
  PhaseForms forms(program_, analysed_->indices, analysed_->expressions, order, held_);
  return by_order_[order] = known.lowered(context, roots_, names_, forms);
}

PhaseRegions::PhaseRegions(const Program& program, const HeldTensors& held)
    : program_(program),
      region_(program.regions[0]),
      held_(held),
      kinds_(region_.schedule),
      phases_(region_phases(program, 0)),
      roots_(static_cast<size_t>(phases_.count)),
      seen_(region_.statements.size(), 0),
      tensor_number_(program.tensors.size(), -1) {
  for (size_t s = 0; s < region_.statements.size(); ++s) {
    if (phases_.is_root[s]) roots_[static_cast<size_t>(phases_.phase[s])].push_back(s);
  }
}

int PhaseRegions::inlined(const Statement& reader, const Expr& node) const {
  const int producer = phases_.producer[static_cast<size_t>(node.tensor)];
  if (producer < 0 || is_stored(kinds_.of(node.tensor, reader.result))) return -1;
  return producer;
}

PhaseStatements PhaseRegions::statements_of(int phase) {
  PhaseStatements result;
  std::vector<size_t> todo = roots_[static_cast<size_t>(phase)];
  for (const size_t s : todo) seen_[s] = 1;
  while (!todo.empty()) {
    const size_t s = todo.back();
    todo.pop_back();
    const Statement& statement = region_.statements[s];
    result.statements.push_back(s);
    result.tensors.push_back(statement.result);
    for (const Expr& node : statement.nodes) {
      if (node.kind != Expr::Kind::access) continue;
      result.tensors.push_back(node.tensor);
      const int producer = inlined(statement, node);
      if (producer < 0 || seen_[static_cast<size_t>(producer)] != 0) continue;
      seen_[static_cast<size_t>(producer)] = 1;
      todo.push_back(static_cast<size_t>(producer));
    }
  }
  for (const size_t s : result.statements) seen_[s] = 0;
  sort_distinct(result.statements);
  sort_distinct(result.tensors);
  return result;
}

PhaseForm PhaseRegions::form_of(int phase, const PhaseStatements& of) {
  number_each(of.tensors, tensor_number_);
  PhaseForm form;
  form.reserve(64 * of.statements.size());
  form.push_back(static_cast<int64_t>(of.statements.size()));
  for (const size_t s : of.statements) {
    form.push_back(is_root(s, phase) ? 1 : 0);
    write_statement(region_.statements[s], form);
  }
  for (const TensorId id : of.tensors) {
    const auto t = static_cast<size_t>(id);
    const Tensor& tensor = program_.tensors[t];
    write_declaration(tensor, held_.on_chip[t], held_.internal[t], form);
    write_facts(tensor.facts, form);
    write_facts(tensor.assumed, form);
  }
  return form;
}

void PhaseRegions::write_statement(const Statement& statement, PhaseForm& to) const {
  to.push_back(tensor_number_[static_cast<size_t>(statement.result)]);
  write_list(statement.result_indices, to);
  to.push_back(static_cast<int64_t>(statement.indices.size()));
  for (const Index& index : statement.indices) to.push_back(index.extent);
  to.push_back(static_cast<int64_t>(statement.nodes.size()));
  for (const Expr& node : statement.nodes) {
    to.push_back(static_cast<int64_t>(node.kind));
    switch (node.kind) {
      case Expr::Kind::access:
        write_access(statement, node, to);
        break;
      case Expr::Kind::constant:
        to.push_back(bits(node.constant));
        break;
      case Expr::Kind::apply:
        to.push_back(static_cast<int64_t>(node.op));
        write_list(node.children, to);
        break;
      case Expr::Kind::reduce:
        to.push_back(static_cast<int64_t>(node.reduction));
        write_list(node.over, to);
        write_list(node.children, to);
        break;
      case Expr::Kind::coordinate:
        to.push_back(node.index);
        break;
    }
  }
}

void PhaseRegions::write_access(const Statement& reader, const Expr& node, PhaseForm& to) const {
  to.push_back(tensor_number_[static_cast<size_t>(node.tensor)]);
  // (Where a stored one is held, its declaration says.)
  const bool is_inlined = inlined(reader, node) >= 0;
  to.push_back(is_inlined ? static_cast<int64_t>(kinds_.of(node.tensor, reader.result)) : -1);
  for (const Subscript& subscript : node.subscripts) {
    to.push_back(static_cast<int64_t>(subscript.terms.size()));
    for (const auto& [index, factor] : subscript.terms) {
      to.push_back(index);
      to.push_back(factor);
    }
    to.push_back(subscript.offset);
  }
}

Statement PhaseRegions::renamed(Statement statement) const {
  statement.result = tensor_number_[static_cast<size_t>(statement.result)];
  for (Expr& node : statement.nodes) {
    if (node.kind != Expr::Kind::access) continue;
    node.tensor = tensor_number_[static_cast<size_t>(node.tensor)];
  }
  return statement;
}

/// How the uses of a statement are met.
void PhaseRegions::add_placements(const Statement& reader, Schedule& schedule) const {
  for (const Expr& node : reader.nodes) {
    if (node.kind != Expr::Kind::access) continue;
    if (phases_.producer[static_cast<size_t>(node.tensor)] < 0) continue;
    const UseKind kind = kinds_.of(node.tensor, reader.result);
    if (kind == UseKind::automatic) continue;
    schedule.placements.push_back({tensor_number_[static_cast<size_t>(node.tensor)],
                                   tensor_number_[static_cast<size_t>(reader.result)],
                                   static_cast<Placement>(static_cast<int>(kind) - 1)});
  }
}

/// What the phase is named by is left out: an error is thrown again by who knows the region.
PhaseRegion PhaseRegions::region_of(int phase, const PhaseStatements& of, size_t max_instances) {
  number_each(of.tensors, tensor_number_);
  Program program;
  RegionPhases phases;
  HeldTensors held(of.tensors.size());
  phases.producer.assign(of.tensors.size(), -1);
  for (size_t i = 0; i < of.tensors.size(); ++i) {
    const auto t = static_cast<size_t>(of.tensors[i]);
    const Tensor& tensor = program_.tensors[t];
    Tensor& own = program.tensors.emplace_back();
    own.type = tensor.type;
    own.shape = tensor.shape;
    own.format = tensor.format;
    own.fill = tensor.fill;
    own.facts = tensor.facts;
    own.assumed = tensor.assumed;
    held.on_chip[i] = held_.on_chip[t];
    held.internal[i] = held_.internal[t];
  }
  Region& region = program.regions.emplace_back();
  for (const size_t s : of.statements) {
    const Statement& statement = region_.statements[s];
    add_placements(statement, region.schedule);
    phases.producer[static_cast<size_t>(tensor_number_[static_cast<size_t>(statement.result)])] =
        static_cast<int>(region.statements.size());
    phases.is_root.push_back(is_root(s, phase));
    region.statements.push_back(renamed(statement));
  }
  phases.phase.assign(of.statements.size(), 0);
  return {std::move(program), std::move(phases), std::move(held), max_instances};
}

}  // namespace fuseflow
