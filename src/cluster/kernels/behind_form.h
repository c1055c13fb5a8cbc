// The form of a dense product behind another product: Z = f((A X) ...) W with what stands between
// and after them, as one kernel whose core has all columns of A X. Nothing of machines.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "cluster/common/statement_table.h"
#include "cluster/kernels/form.h"

namespace fuseflow::cluster {

/// The form of the statement `root` with those of `members` inside (temporaries that no others
/// read); nothing, and the reason in `why`, where it has none: rows are one loop, the first
/// product's first operand is (m, k), W has no rows. `behind` is its outer reduction. The reason is
/// empty where nothing sums what the first product gives.
std::optional<KernelForm> behind_form(const StatementTable& statements, const Statement& root,
                                      const std::set<TensorId>& members, std::string& why);

}  // namespace fuseflow::cluster
