// How many bytes the arrays of a tensor take.
#pragma once

#include <vector>

#include "ir/program.h"
#include "tensor/storage.h"

namespace fuseflow {

struct StoredArrays {
  struct Level {
    double positions = 0;    ///< bytes
    double coordinates = 0;  ///< bytes; of a bitvector its bits
  };
  std::vector<Level> levels;  ///< by level; 0 for dense levels
  double values = 0;          ///< bytes

  double total() const;
};

/// Bytes of a stored value: of a block, where there are blocks.
double stored_value_bytes(const Tensor& tensor);

/// From the data. `storage`: none for a tensor whose levels are all dense.
StoredArrays stored_arrays(const Tensor& tensor, const Storage* storage);

}  // namespace fuseflow
