// What statements take as kernels of their own (kernels.h), one after the other: what one kernel of
// several statements has to beat.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster/given_formats.h"
#include "cluster/kernel_sequence.h"
#include "ir/program.h"

namespace fuseflow::cluster {

/// The statements of these tensors as kernels, elementwise ones folded where that is faster
/// (fold.h), every tensor stored dense. An L2 holds what the
/// kernels before loaded or stored, as far as it fits. Nothing, and the reason in `why`, where one
/// of them has no form of tiles.
std::optional<KernelsApart> kernels_apart(const Program& program, const std::set<TensorId>& members,
                                          const Machine& machine, std::string& why);

/// ... where one of them is a product that may leave out tiles without a value; else nothing.
/// Given operands may be gathered. Inputs arrive as `given` says; what copies of them by columns
/// take is in the total.
std::optional<KernelsApart> sparse_kernels_apart(const Program& program,
                                                 const std::vector<TensorId>& members,
                                                 const Machine& machine, const GivenFormats& given);

/// What a program has instead of a chain.
struct ChainRival {
  int64_t cycles =
      0;              ///< of the chain's statements, and of those that are folded into the last one
  int64_t after = 0;  ///< of the latter as kernels after the chain, with the pause before them
};

/// Nothing where a statement has no form of tiles.
std::optional<ChainRival> chain_rival(const Program& program,
                                      const std::vector<TensorId>& statements,
                                      const Machine& machine);

}  // namespace fuseflow::cluster
