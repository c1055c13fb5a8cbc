// Lower bounds of maxima, and of sums of values that are not negative: neither, in whatever order
// it is rounded, is less than any of its terms. It tells what no range of single values does: that
// a degree, or another divisor, is not 0 because every row has an entry; that the maximum of masked
// scores is finite because every row has an open one.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "ir/program.h"
#include "ir/sparsity.h"

namespace fuseflow {

class FiberBounds {
 public:
  /// The least, over all fibers of an input or constant along these dimensions, of a fiber's
  /// largest value, what is absent included. Nothing if the data are not known.
  using Data = std::function<std::optional<float>(TensorId, const std::vector<bool>& along)>;
  /// The statement that defines a tensor; null if there is none.
  using Definition = std::function<const Statement*(TensorId)>;

  /// The program's tensors must outlive it. What was found of a definition is kept: it, and the
  /// facts of what it reads, are final once a later statement is asked for.
  FiberBounds(const Program& program, Definition definition, Data data)
      : p_(program), definition_(std::move(definition)), data_(std::move(data)) {}

  /// A lower bound of a reduction: to be used as a ReductionBound.
  float operator()(const Statement& statement, const Expr& reduction,
                   const std::vector<NodeSparsity>& below);

 private:
  /// A statement and what is known of its nodes.
  struct Frame {
    const Statement& statement;
    const std::vector<NodeSparsity>& nodes;
  };
  using Over = std::vector<bool>;  ///< by index of the statement

  float at(const Frame& frame, int32_t node, const Over& over);
  float apply(const Frame& frame, const Expr& node, const Over& over);
  float access(const Frame& frame, const Expr& node, const Over& over);
  bool reaches_maximum(const Frame& frame, const Expr& difference, const Over& over) const;
  float reduce(const Frame& frame, const Expr& node, Over over);
  float computed(TensorId tensor, const std::vector<bool>& along);

  const Program& p_;
  Definition definition_;
  Data data_;
  std::map<TensorId, std::vector<NodeSparsity>> analysed_;
  int steps_ = 0;  ///< left of the present question
};

}  // namespace fuseflow
