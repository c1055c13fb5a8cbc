#include "cluster/common/part.h"

#include "cluster/common/statement_table.h"

namespace fuseflow::cluster {
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
