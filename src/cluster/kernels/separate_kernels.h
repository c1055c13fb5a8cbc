// What statements take as kernels of their own (kernels.h), one after the other: what one kernel of
// several statements has to beat.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster/common/given_formats.h"
#include "cluster/common/timings.h"
#include "ir/program.h"

namespace fuseflow::cluster {

enum class Fold : uint8_t { never, where_faster };

/// The statements of these tensors as kernels, those of several reductions divided (divide.h),
/// elementwise ones folded where that is faster (fold.h), every tensor stored dense. An L2 holds
/// what the kernels before loaded or stored, as far as it fits. Nothing, and the reason in `why`,
/// where one of them has no form of tiles, or none that fit the machine.
std::optional<SeparateKernels> separate_kernels(const Program& program,
                                                const std::set<TensorId>& members,
                                                const Machine& machine, std::string& why,
                                                Fold fold = Fold::where_faster);

/// The statements as kernels where one of them is a product that may leave out tiles without a
/// value; else nothing. Given operands may be gathered. Inputs arrive as `given` says; what copies
/// of them by columns take is in the total.
std::optional<SeparateKernels> separate_sparse_kernels(const Program& program,
                                                       const std::vector<TensorId>& members,
                                                       const Machine& machine,
                                                       const GivenFormats& given);

}  // namespace fuseflow::cluster
