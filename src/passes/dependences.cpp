#include "passes/dependences.h"

#include <algorithm>

namespace fuseflow {

std::vector<TensorId> uses(const Statement& statement) {
  std::vector<TensorId> tensors;
  for (const Expr& e : statement.nodes) {
    if (e.kind != Expr::Kind::access) continue;
    if (std::find(tensors.begin(), tensors.end(), e.tensor) == tensors.end()) {
      tensors.push_back(e.tensor);
    }
  }
  return tensors;
}

Dependences dependences(const Program& program) {
  Dependences d;
  d.definer.assign(program.tensors.size(), -1);
  for (size_t r = 0; r < program.regions.size(); ++r) {
    for (const Statement& s : program.regions[r].statements) {
      const int id = static_cast<int>(d.nodes.size());
      Dependences::Node node{&s, r, {}, {}};
      for (const TensorId tensor : uses(s)) {
        if (d.definer[tensor] >= 0) node.producers.push_back(d.definer[tensor]);
      }
      std::sort(node.producers.begin(), node.producers.end());
      for (const int producer : node.producers) d.nodes[producer].consumers.push_back(id);
      d.definer[s.result] = id;
      d.nodes.push_back(std::move(node));
    }
  }
  return d;
}

}  // namespace fuseflow
