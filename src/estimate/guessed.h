// Statistics of a tensor whose data is not there or too large to be read: from its extents and the
// number of entries that its source states, as if they were spread evenly.
#pragma once

#include "estimate/statistics.h"

namespace fuseflow::estimate {

TensorStatistics guessed_statistics(const Tensor& tensor);

/// Why the data of a tensor is better guessed than read: its source says that there are more
/// entries than a compiler should read. Empty otherwise.
std::string why_not_read(const Tensor& tensor);

}  // namespace fuseflow::estimate
