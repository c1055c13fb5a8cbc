#include "cluster/common/not_dense.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/names.h"

namespace fuseflow::cluster {

std::string why_not_dense(const Tensor& tensor, bool stored_dense) {
  const std::string name = "%" + quote_if_needed(tensor.name);
  const bool known = std::all_of(tensor.shape.begin(), tensor.shape.end(),
                                 [](const Extent& extent) { return extent.known(); });
  if (!known) return name + " has an extent that is not known";
  if (stored_dense || tensor.format.all_dense()) return {};
  // The importer infers the formats of what is computed from those of the inputs.
  const std::string at_import = tensor.given() ? "of it" : "of the inputs that it is computed from";
  return fmt::format("{} is not dense; expected --dense, or --format {} at the import", name,
                     at_import);
}

}  // namespace fuseflow::cluster
