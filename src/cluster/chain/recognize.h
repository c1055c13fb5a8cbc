// Finds dense chains in the statements of a program: two matrix products with only elementwise
// work between them. Matches what is computed, never names; sparse neighbours are left alone.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cluster/chain/chain.h"
#include "cluster/chain/form.h"
#include "cluster/common/attach_plan.h"
#include "ir/program.h"

namespace fuseflow::cluster {

/// A chain and the tensors whose statements make it up, in program order; the last is E.
struct FoundChain {
  Chain chain;
  std::vector<TensorId> statements;
  ChainForm form;
  /// Where more than sums follows the second product: the chain that ends before that. One or none.
  std::vector<FoundChain> shorter = {};
};

/// A product that reads the result of another one, and why the two are no chain.
struct RefusedChain {
  TensorId first = -1;   ///< the nearest sum of products that it reads
  TensorId tensor = -1;  ///< of the second product
  std::string why;
};

/// Chains of the program in program order; no statement is in two of them. A chain needs dense
/// tensors of known shape, branches and vectors of one element size each, a C that nothing else
/// uses, and for a gated chain two products of the same A. Regions with a graph are left out.
/// `refused`, when given, receives pairs of products that are no chain.
std::vector<FoundChain> find_chains(const Program& program,
                                    std::vector<RefusedChain>* refused = nullptr);

}  // namespace fuseflow::cluster
