#include "cluster/common/statement_table.h"

#include <algorithm>

namespace fuseflow::cluster {

StatementTable::StatementTable(const Program& program) : program_(program) {
  for (const Region& region : program.regions) add(region);
}

StatementTable::StatementTable(const Program& program, const Region& region) : program_(program) {
  add(region);
}

void StatementTable::add(const Region& region) {
  for (const Statement& statement : region.statements) {
    defined_[statement.result] = &statement;
    for (const Expr& node : statement.nodes) {
      if (node.kind == Expr::Kind::access) users_[node.tensor].insert(statement.result);
    }
  }
}

const Statement* StatementTable::defining(TensorId tensor) const {
  const auto at = defined_.find(tensor);
  return at == defined_.end() ? nullptr : at->second;
}

const Statement* StatementTable::of(TensorId tensor) const {
  const bool temporary = program_.tensors[static_cast<size_t>(tensor)].role == Role::temporary;
  return temporary ? defining(tensor) : nullptr;
}

const std::set<TensorId>& StatementTable::readers(TensorId tensor) const {
  static const std::set<TensorId> nobody;
  const auto users = users_.find(tensor);
  return users == users_.end() ? nobody : users->second;
}

bool StatementTable::read_beside(TensorId tensor, const std::set<TensorId>& members) const {
  const std::set<TensorId>& users = readers(tensor);
  return !std::includes(members.begin(), members.end(), users.begin(), users.end());
}

bool StatementTable::unread(TensorId tensor) const {
  return of(tensor) != nullptr && readers(tensor).empty();
}

bool StatementTable::read_only_by(TensorId tensor, const std::set<TensorId>& members) const {
  const std::set<TensorId>& users = readers(tensor);
  return std::all_of(users.begin(), users.end(),
                     [&](TensorId user) { return members.count(user) != 0 || unread(user); });
}

std::set<TensorId> StatementTable::unread_beside(const std::set<TensorId>& members) const {
  std::set<TensorId> found;
  for (const TensorId member : members) {
    for (const TensorId user : readers(member)) {
      if (unread(user)) found.insert(user);
    }
  }
  return found;
}

bool reduces(const Statement& statement) {
  return std::any_of(statement.nodes.begin(), statement.nodes.end(),
                     [](const Expr& node) { return node.kind == Expr::Kind::reduce; });
}

std::vector<TensorId> results_of(const Region& region) {
  std::vector<TensorId> results;
  for (const Statement& s : region.statements) results.push_back(s.result);
  return results;
}

std::vector<TensorId> results_of(const Program& program, size_t first, size_t end) {
  std::vector<TensorId> results;
  for (size_t r = first; r < end; ++r) {
    for (const Statement& s : program.regions[r].statements) results.push_back(s.result);
  }
  return results;
}

Program part_of(const Program& program, const std::set<TensorId>& members) {
  Program part = program;
  for (Region& region : part.regions) {
    std::erase_if(region.statements,
                  [&](const Statement& s) { return members.count(s.result) == 0; });
  }
  std::erase_if(part.regions, [](const Region& region) { return region.statements.empty(); });
  const StatementTable statements(program);
  for (const TensorId t : members) {
    if (statements.read_beside(t, members))
      part.tensors[static_cast<size_t>(t)].role = Role::result;
  }
  return part;
}

}  // namespace fuseflow::cluster
