// Structured operations (loops, operands, a body) as statements.
#pragma once

#include <optional>
#include <vector>

#include "import/importer.h"
#include "linalg/function.h"

namespace fuseflow {

/// The function's tensors while their statements are made.
struct LinalgValues {
  Importer& importer;
  const LinalgFunction& function;
  std::vector<std::optional<View>> views;  ///< by LinalgId
  std::vector<bool> undefined;             ///< by LinalgId: nothing has defined its elements
  std::vector<bool> noted;                 ///< by LinalgId: a note says that they count as 0

  const View& at(LinalgId id) const { return *views[static_cast<size_t>(id)]; }
  std::string name(LinalgId id) const { return function.values[static_cast<size_t>(id)].name; }
};

/// Refuses to compute with the numbers of places in a dimension that has more than f32 holds.
void check_counted(const LinalgOp& op, int64_t extent);

/// Throws Error(rejected) at the operation's place.
[[noreturn]] void refuse_linalg(const LinalgOp& op, const std::string& why);

/// A statement for `value`, in the format that the file gives `id`.
View define_linalg(LinalgValues& values, LinalgId id, View value, int group);

/// The value with every dimension a single atom; copied where it cannot be a view.
View single_atoms(LinalgValues& values, const View& value, const std::string& name, int group);

/// Result number `r` of a structured operation.
View structured_result(LinalgValues& values, const LinalgOp& op, size_t r, int group);

}  // namespace fuseflow
