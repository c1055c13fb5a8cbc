// Inputs arrive in the format that the program declares. What kernels of tiles read otherwise is a
// copy that the machine makes, which takes time (ir-spec/storage.md, "What a copy costs").
// Constants are stored offline, in any format that suits their readers.
#pragma once

#include <map>
#include <vector>

#include "ir/program.h"
#include "machine/machine.h"

namespace fuseflow::cluster {

/// The formats in which inputs arrive. An input that is not listed may be stored in any.
using GivenFormats = std::map<TensorId, Format>;

GivenFormats given_formats(const Program& program);

/// Cycles that a machine takes to store an input, which arrives as the tensor declares, as
/// `format`; 0 where it arrives so. Reads data of compressed formats.
int64_t conversion_cycles(const Tensor& input, const Format& format, const Machine& machine);

/// How much longer an input that arrives as `arrives` takes to be stored as `read` than as the
/// dense format that kernels would read otherwise, the pauses before either included: that which
/// the tensor declares, or row by row where that is compressed.
int64_t reordering_cycles(const Tensor& input, const Format& arrives, const Format& read,
                          const Machine& machine);

/// Sums reordering_cycles() over all inputs that `tensors` store otherwise than `before`.
int64_t reordering_cycles(const std::vector<Tensor>& before, const GivenFormats& given,
                          const std::vector<Tensor>& tensors, const Machine& machine);

/// Declares the listed inputs as they arrive; what regions read otherwise are copies then. The
/// program has no region that reads an input in two formats. Returns the copies.
std::vector<TensorId> restore_given_formats(Program& program, const GivenFormats& given);

}  // namespace fuseflow::cluster
