// Why a tensor cannot be read or written in dense tiles, and what would make it so.
#pragma once

#include <string>

#include "ir/program.h"

namespace fuseflow::cluster {

/// "%x is not dense; expected ..." or "%x has an extent that is not known"; empty where it is dense
/// and of known shape. `stored_dense`: it will be, whatever is declared.
std::string why_not_dense(const Tensor& tensor, bool stored_dense = false);

}  // namespace fuseflow::cluster
