// Gathered products: may the rows of a product's operands be loaded one by one, and in which order
// must the first operand be stored for it? Meaning: ir-spec/cluster.md, "Gathered rows".
#pragma once

#include <map>
#include <optional>
#include <set>

#include "cluster/kernels/form.h"

namespace fuseflow::cluster {

/// The dimension of a tensor that its innermost level stores.
using InnermostDims = std::map<TensorId, int>;

/// The format that the sparse operand of a form (PresenceFinder) needs for its columns to be
/// gathered: as it is stored, or dense in another order where it is one of `by_columns`. Nothing
/// where the product cannot gather: rows or columns of several loops, or an operand whose innermost
/// level is not what is consecutive in a tile. What `kept` lists is stored so.
std::optional<Format> gathered_format(const Program& program, const KernelForm& sparse,
                                      const std::set<TensorId>& by_columns,
                                      const InnermostDims& kept = {});

/// What the operands of a product that gathers must have innermost, the first one stored as
/// `format`.
InnermostDims gathered_innermost(const Program& program, const KernelForm& sparse,
                                 const Format& format);

/// What the operands of a gathered product's graph have innermost, as its tensors are declared;
/// none where the graph does not gather.
InnermostDims gathered_innermost(const Program& program, const Graph& graph);

}  // namespace fuseflow::cluster
