// In which formats tensors could be stored, as far as their data and facts say.
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

/// Intermediates that one region writes and others read, none of which has a graph; ascending.
std::vector<TensorId> passed_intermediates(const Program& program);

/// The formats of a tensor that a search tries: of an input or constant of a known density, and of
/// an intermediate, those that its facts allow.
std::vector<Format> forms_of(const Program& program, TensorId tensor);

}  // namespace fuseflow
