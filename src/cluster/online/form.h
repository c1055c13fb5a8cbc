// Softmax and the product that follows it as one kernel: P = exp(X - max X) / sum, Y = P V, where X
// follows elementwise from tensors and one product (attention) or from tensors alone. Read from
// statements, never from names. Meaning: ir-spec/cluster.md, "Online softmax".
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster/common/statement_table.h"
#include "cluster/kernels/terms.h"

namespace fuseflow::cluster {

class OpenScores;

/// The terms are those of X, the last of them.
struct OnlineForm : KernelTerms {
  TensorId result = -1;
  std::vector<TileSubscript> stored;  ///< where an element of the result is
  int32_t scores = -1;                ///< X
  TensorId scores_tensor = -1;        ///< ... as a tensor; -1: it is none
  int32_t product = -1;               ///< in X: a `reduce` of the loads (m, l) and (k, l); -1: none
  KernelTerm values;                  ///< V
  bool maximum = false;               ///< the rows' largest is subtracted
  std::optional<Op> rounded;          ///< P is rounded so: it must be whole before the product
  bool by_reciprocal = false;         ///< P is the exponential times the reciprocal of the sum
  std::set<TensorId> members;         ///< tensors whose statements it computes
  std::set<TensorId> unread;          ///< temporaries made from members that nobody reads
  std::set<TensorId> as_dense;        ///< loaded tensors to be stored dense first
  std::set<TensorId> as_copy;         ///< ... to be copied, because others read them, too
  /// Scores that are not surely -inf; null: not known, or all. Set by who knows the data.
  std::shared_ptr<const OpenScores> open = nullptr;
};

/// The form that ends in the product of a statement; nothing where it has none, and the reason in
/// `why` where it is the product of a softmax at all.
std::optional<OnlineForm> online_form(const StatementTable& statements, const Statement& last,
                                      std::string& why);

/// Tiles of `block` elements (1 along g), copies of the loads, the steps of k whose tiles there is
/// room for, and the cores of a cluster: those that have tiles of rows and share keys and values,
/// or those that have the same rows and a part of the keys each (one of the two is 1).
struct OnlineTiles {
  KernelSizes block{1, 1, 1, 1};
  int64_t copies = 1;
  int64_t steps = 1;
  int cores = 1;
  int parts = 1;
};
Graph online_graph(const OnlineForm& form, const OnlineTiles& tiles);

}  // namespace fuseflow::cluster
