// Guards against NaN: `where(isnan(x), 0, x)`, which exporters put after a softmax, since a row
// that its mask closes entirely is NaN. Where x has no NaN, the guard is x. Of a softmax it has
// none where the masks' values show that every row is open, unless scores overflow: that becomes an
// assumption, which `--check` tests.
#pragma once

#include <set>

#include "import/values/draft.h"

namespace fuseflow {

class NanGuards {
 public:
  /// Drops the guards of statement number `s`, whose operands are final. False: who reads its
  /// result reads what it guarded, and nothing has to be known of it.
  bool drop(Program& program, DraftProgram& draft, size_t s);
  /// Removes guards and their conditions that nothing reads any more.
  void remove_unneeded(DraftProgram& draft) const;

 private:
  bool never(Program& program, const DraftProgram& draft, const Statement& s,
             const Expr& node) const;

  std::set<TensorId> never_;     ///< conditions that do not hold anywhere
  std::set<TensorId> unneeded_;  ///< results of statements
};

}  // namespace fuseflow
