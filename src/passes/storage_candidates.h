// In which formats an input or constant could be read, as far as its data and facts say.
#pragma once

#include <optional>
#include <vector>

#include "ir/program.h"

namespace fuseflow {

/// Values that a program reads, as they are stored.
double entries_read(const Program& program);

/// The share of a tensor's elements that differ from its fill; nothing where the data is not read.
std::optional<double> density_of(const Program& program, TensorId tensor);

/// Whether the facts of a tensor let it have absent entries.
bool may_have_absent(const Tensor& tensor);

/// The formats that a search tries, those first that are fewest: of a tensor of a known density,
/// those that its facts allow.
std::vector<Format> forms_of(const Program& program, TensorId tensor);

}  // namespace fuseflow
