// Where the arrays of a region are in memory (ir-spec/memory.md, "Addresses"), as far as it is
// known how long they are.
#pragma once

#include <vector>

#include "estimate/stored_arrays.h"
#include "estimate/structure.h"

namespace fuseflow::estimate {

class ArrayBegins {
 public:
  /// `arrays`: by TensorId, of what exists before the graph runs.
  ArrayBegins(const Structure& structure, const std::vector<StoredArrays>& arrays);

  double positions(TensorId tensor, int level) const { return of(tensor, 2 * level); }
  double coordinates(TensorId tensor, int level) const { return of(tensor, 2 * level + 1); }
  double values(TensorId tensor) const { return begins_[static_cast<size_t>(tensor)].back(); }

 private:
  double of(TensorId tensor, int array) const {
    return begins_[static_cast<size_t>(tensor)][static_cast<size_t>(array)];
  }
  void place(double bytes, std::vector<double>& begins);

  std::vector<std::vector<double>> begins_;  ///< by tensor: two of each level, then the values
  double next_ = 0;
};

}  // namespace fuseflow::estimate
