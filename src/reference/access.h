// Tensors as a statement reads them: tables over the loops of a domain, sparse where walking what
// is stored pays.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reference/reference.h"
#include "reference/rounding.h"
#include "reference/table.h"
#include "reference/watch.h"

namespace fuseflow::reference {

/// What statements of a program share.
struct EvaluationState {
  const Program& program;
  const ReferenceOptions& options;
  Watch& watch;
  std::vector<Value> values;                                       ///< by TensorId
  std::vector<std::optional<Facts>> facts;                         ///< of all values of a tensor
  std::vector<std::optional<Grid>> grids;                          ///< of all values of a tensor
  std::vector<std::shared_ptr<const std::vector<float>>> spelled;  ///< sparse tensors, all elements
};

/// Throws ExitCode::rejected: the statement's result takes more elements than are allowed.
[[noreturn]] void too_large(const Program& program, const Statement& statement,
                            const std::string& why);

class Accesses {
 public:
  /// `domain`, which must outlive this, may change between two calls of forget().
  Accesses(EvaluationState& shared, const Statement& statement, const Domain& domain)
      : shared_(shared),
        program_(shared.program),
        statement_(statement),
        watch_(shared.watch),
        domain_(domain) {}

  /// The table of the access at `position`; the same for accesses that read the same elements.
  /// Throws ArrayTooLarge.
  Table read(int32_t position);
  /// Tables are made anew: the domain has changed.
  void forget() { tables_.clear(); }

 private:
  Loops loops_of(const Expr& node) const;
  bool reaches_outside(const Expr& node) const;
  std::optional<Table> sparse(const Expr& node, const Value& value);
  Table dense(const Expr& node, const Value& value);
  Table padded(const Expr& node, const Value& value);
  std::shared_ptr<const std::vector<float>> elements(TensorId tensor);
  std::shared_ptr<const std::vector<float>> element_bounds(TensorId tensor);

  EvaluationState& shared_;
  const Program& program_;
  const Statement& statement_;
  Watch& watch_;
  const Domain& domain_;
  std::map<int32_t, Table> tables_;  // by the first node that reads them so
};

}  // namespace fuseflow::reference
