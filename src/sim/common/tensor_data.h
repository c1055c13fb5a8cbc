// The stored tensors of a program as nodes read them. Pure data.
#pragma once

#include <memory>
#include <vector>

#include "ir/program.h"
#include "tensor/storage.h"

namespace fuseflow {

/// The stored tensors of a program, by TensorId; null where nothing is stored yet.
struct TensorData {
  std::vector<std::shared_ptr<const Storage>> storage;
  const Storage* find(TensorId tensor) const {
    const auto i = static_cast<size_t>(tensor);
    return tensor >= 0 && i < storage.size() ? storage[i].get() : nullptr;
  }
};

}  // namespace fuseflow
