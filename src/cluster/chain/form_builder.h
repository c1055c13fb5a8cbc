// Builds the form of a chain that ends in a given statement, or says that there is none. The part
// of recognition that reads expressions.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster/chain/form.h"
#include "ir/program.h"

namespace fuseflow::cluster {

/// What a form was made of.
struct BuiltForm {
  ChainForm form;
  std::set<TensorId> members;    ///< tensors whose statements belong to the chain
  bool last_read_again = false;  ///< what a statement after the second product gives is read twice
  bool windows = false;          ///< A is read through windows: a convolution
  int first_loads = 0;           ///< vectors over N
  int last_vectors = 0, last_tensors = 0;
};

/// The statement that computes a tensor and may belong to a chain, or null.
using ChainStatementOf = std::function<const Statement*(TensorId)>;

/// The chain whose second product is in the statement of `e`, followed by the elementwise
/// statements of `tail`, in the order of the program; the last gives the result. Nothing, and the
/// reason in `why`, where there is none; no reason where there are no two products.
std::optional<BuiltForm> build_form(const Program& program, const ChainStatementOf& statement_of,
                                    const Statement& e, const std::vector<const Statement*>& tail,
                                    std::string& why);

}  // namespace fuseflow::cluster
