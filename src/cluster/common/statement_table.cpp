#include "cluster/common/statement_table.h"

#include <algorithm>

namespace fuseflow::cluster {

StatementTable::StatementTable(const Program& program) : program_(program) {
  for (const Region& region : program.regions) {
    for (const Statement& statement : region.statements) {
      defined_[statement.result] = &statement;
      for (const Expr& node : statement.nodes) {
        if (node.kind == Expr::Kind::access) users_[node.tensor].insert(statement.result);
      }
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

bool StatementTable::unread(TensorId tensor) const {
  return of(tensor) != nullptr && users_.count(tensor) == 0;
}

bool StatementTable::read_only_by(TensorId tensor, const std::set<TensorId>& members) const {
  const auto users = users_.find(tensor);
  return users == users_.end() ||
         std::all_of(users->second.begin(), users->second.end(),
                     [&](TensorId user) { return members.count(user) != 0 || unread(user); });
}

std::set<TensorId> StatementTable::unread_beside(const std::set<TensorId>& members) const {
  std::set<TensorId> found;
  for (const TensorId member : members) {
    const auto users = users_.find(member);
    if (users == users_.end()) continue;
    for (const TensorId user : users->second) {
      if (unread(user)) found.insert(user);
    }
  }
  return found;
}

}  // namespace fuseflow::cluster
