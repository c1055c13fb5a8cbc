// Where the tensors of a graph are in memory: every array of a tensor starts at a multiple of
// kAlignment, in the order of tensors, of their levels (positions, then coordinates or bits) and
// values last. Rules: ir-spec/memory.md.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ir/program.h"
#include "tensor/storage.h"

namespace fuseflow::engine {

/// Bytes that the arrays of a result can need at most: two of each level, then the values.
std::vector<uint64_t> most_room_of(const Tensor& tensor);

class Addresses {
 public:
  static constexpr uint64_t kAlignment = 4096;
  enum Array { positions, coordinates };

  /// `data` holds the tensors that exist before the graph runs; results are given the room that
  /// they can need at most.
  Addresses(const Program& program, const Graph& graph,
            const std::vector<std::shared_ptr<const Storage>>& data, int64_t burst_bytes);

  bool in_memory(TensorId tensor) const { return tensor >= 0 && memory_[tensor]; }
  /// Bits of a bitvector level are its `coordinates`.
  uint64_t level(TensorId tensor, int level, Array array) const {
    return starts_[tensor][2 * static_cast<size_t>(level) + array];
  }
  uint64_t values(TensorId tensor) const { return starts_[tensor].back(); }
  uint64_t burst_bytes() const { return burst_bytes_; }

 private:
  uint64_t burst_bytes_;
  std::vector<bool> memory_;
  std::vector<std::vector<uint64_t>> starts_;  // by tensor: two a level, then the values
};

}  // namespace fuseflow::engine
