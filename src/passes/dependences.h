// Which statement uses whose result, over the whole program: the DAG that grouping works on.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace fuseflow {

/// All statements in program order, with their producers and consumers (positions in `statements`).
struct Dependences {
  struct Node {
    const Statement* statement = nullptr;
    size_t region = 0;
    std::vector<int> producers;  ///< ascending, each once
    std::vector<int> consumers;  ///< ascending, each once
  };
  std::vector<Node> nodes;
  std::vector<int> definer;  ///< by tensor; -1: an input
};

Dependences dependences(const Program& program);

/// Tensors that the statement reads, each once, in order of first use.
std::vector<TensorId> uses(const Statement& statement);

}  // namespace fuseflow
