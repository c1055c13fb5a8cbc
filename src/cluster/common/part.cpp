#include "cluster/common/part.h"

namespace fuseflow::cluster {
namespace {

/// What statements beside these read of them.
std::set<TensorId> read_elsewhere(const Program& program, const std::set<TensorId>& members) {
  std::set<TensorId> found;
  for (const Region& region : program.regions) {
    for (const Statement& s : region.statements) {
      if (members.count(s.result) != 0) continue;
      for (const Expr& node : s.nodes) {
        if (node.kind == Expr::Kind::access && members.count(node.tensor) != 0) {
          found.insert(node.tensor);
        }
      }
    }
  }
  return found;
}

}  // namespace

Program part_of(const Program& program, const std::set<TensorId>& members) {
  Program part = program;
  for (Region& region : part.regions) {
    std::erase_if(region.statements,
                  [&](const Statement& s) { return members.count(s.result) == 0; });
  }
  std::erase_if(part.regions, [](const Region& region) { return region.statements.empty(); });
  for (const TensorId read : read_elsewhere(program, members)) {
    part.tensors[static_cast<size_t>(read)].role = Role::result;
  }
  return part;
}

}  // namespace fuseflow::cluster
