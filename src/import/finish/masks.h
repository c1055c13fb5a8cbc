// Where a value is finite: what a -inf mask leaves open. A softmax needs it, because "absent
// entries stay 0" holds only in rows whose maximum is finite. Masks are known at import (constants,
// bound inputs), so that rows without any open entry are found here and evaluated densely.
// Conditions under which a value is finite may be more than it needs: max(x, -30) and where(m, x,
// 0) are finite where x is, and elsewhere, too. That a row is closed follows from them only where a
// value is -inf wherever they do not hold (MaskConditions::absent_elsewhere).
#pragma once

#include <optional>
#include <vector>

#include "import/values/draft.h"

namespace fuseflow {

/// The condition that what `access` reads is `kind`, over the statement's indices; nothing if it is
/// not read index by index, or beyond its extents.
std::optional<MaskCondition> condition_on(const DraftProgram& draft, const Statement& statement,
                                          const Expr& access, MaskCondition::Kind kind,
                                          float threshold = 0);

/// The conditions under which node `node` of the statement is finite; nothing if it is not known.
/// No conditions: always.
std::optional<MaskConditions> finite_where(const DraftProgram& draft, const Statement& statement,
                                           int32_t node);

/// Those of the statement's result, over its dimensions: by what it is made of, or by its values
/// where they are known and masks do not say the same.
std::optional<MaskConditions> result_finite_where(const DraftProgram& draft,
                                                  const Statement& statement);

/// Conditions over a statement's indices as conditions over the dimensions of its result.
std::optional<std::vector<MaskCondition>> over_result(const Statement& statement,
                                                      std::vector<MaskCondition> conditions);

/// Which rows of a mask are open: have a value of the indices `over` that satisfies all conditions.
struct RowScan {
  std::vector<IndexId> rows;     ///< the other indices that the conditions use, ascending
  std::vector<int64_t> extents;  ///< of `rows`
  std::vector<bool> open;        ///< row-major
};

/// Nothing if there are too many entries to look at.
std::optional<RowScan> scan_rows(const DraftProgram& draft, const Statement& statement,
                                 const std::vector<IndexId>& over,
                                 const std::vector<MaskCondition>& conditions);

/// Whether all rows are open.
bool every_row_open(const DraftProgram& draft, const Statement& statement,
                    const std::vector<IndexId>& over, const std::vector<MaskCondition>& conditions);

/// Keeps the values of a mask that the program computes from known ones (Greater(adj, 0), Equal,
/// Not, (1 - mask) * -1e4): elementwise statements up to a bounded size.
void keep_known_values(DraftProgram& draft, const Statement& statement);

}  // namespace fuseflow
