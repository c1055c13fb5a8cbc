// The tensors of a kernel or a chain as they are stored, and what a graph of tiles says of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "graph/graph.h"

namespace fuseflow::cluster {

/// A tensor in memory.
struct StoredTensor {
  int64_t element_bytes = 2;
  std::vector<int64_t> shape;
};
/// Those that a kernel reads or stores.
using StoredTensors = std::map<TensorId, StoredTensor>;

/// Bytes of an element of each tensor of a chain.
struct ElementBytes {
  int64_t a = 2, b = 2, d = 2, e = 2;
  int64_t c = 2;      ///< of the tensor that the second product reads
  int64_t bias0 = 2;  ///< of the vectors that C takes
  int64_t bias1 = 2;  ///< of the vector that E takes
  int64_t residual = 2;
  /// At which products run and C is held: that of the largest operand.
  int64_t work() const { return std::max({a, b, c, d}); }
  /// All the same.
  static ElementBytes of(int64_t bytes) {
    return {bytes, bytes, bytes, bytes, bytes, bytes, bytes, bytes};
  }
};

/// Loads and stores of tensors of another element size than the graph's say theirs.
void set_moved_bytes(Graph& graph, const StoredTensors& tensors);

/// Sets the graph's element size, too, and says which loads threads bring. Products run at that of
/// the largest tensor that one of them takes as it is loaded: what is computed before is brought to
/// the size of the other operand. Where there is none, it is that of the largest tensor.
void set_stored(Graph& graph, const StoredTensors& tensors);

}  // namespace fuseflow::cluster
