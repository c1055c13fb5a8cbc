// One statement as a kernel: its expression over the dimensions of tiles, and the graph for given
// tile sizes. Nothing of machines.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/tile_kernel.h"
#include "ir/program.h"

namespace fuseflow::cluster {

/// A loop of the statement; `dim` is settled when all accesses are known.
struct KernelDigit {
  std::string name;
  int64_t extent = 1;
  KernelDim dim = kKernelM;
  bool summed = false;  ///< a loop of the reduction
};

/// A part of the expression; children before parents, the result last.
struct KernelTerm {
  enum class Kind : uint8_t { load, constant, map, reduce } kind = Kind::constant;
  TensorId tensor = -1;                   ///< load
  std::vector<TileSubscript> subscripts;  ///< ... over positions in KernelForm::digits
  float constant = 0;
  Op op = Op::add;
  Reduction reduction = Reduction::sum;
  std::vector<int32_t> children;
};

struct KernelForm {
  TensorId result = -1;
  std::vector<TileSubscript> stored;  ///< where an element of the result is
  std::vector<KernelDigit> digits;    ///< those of the result first
  std::vector<KernelTerm> terms;
  bool product = false;  ///< the reduction is a product of matrices
  int64_t element_bytes = 4;
};

/// The form of a statement, with the statements of `folded` (by their results) inside; nothing,
/// and the reason in `why`, where it has none.
std::optional<KernelForm> kernel_form(const Program& program, const Statement& statement,
                                      const std::map<TensorId, const Statement*>& folded,
                                      std::string& why);

/// Elements along each dimension.
KernelSizes sizes_of(const KernelForm& form);

/// The graph with tiles of `block` elements (1 along g), `copies` of each load.
Graph kernel_graph(const KernelForm& form, const KernelSizes& block, int64_t copies);

}  // namespace fuseflow::cluster
