// From what writers stored to a tensor: pads levels and values that were not given to the end, and
// checks that they fit together. Shared by both executors.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "ir/program.h"
#include "sim/common/run_result.h"
#include "tensor/storage.h"

namespace fuseflow {

/// What one writer has stored: of its level, or the values. Trailing fibers and values that were
/// never given are missing; assemble_result adds them.
struct Written {
  std::vector<uint32_t> pos;
  std::vector<uint32_t> crd;
  std::vector<float> values;
  /// Where several writers store parts of one tensor: the array that all of them store in, each at
  /// places of its own, as long as the tensor and full of its fill. Else null.
  std::shared_ptr<std::vector<float>> whole;
  int64_t given = 0;  ///< values or blocks stored

  /// Where values are stored.
  std::vector<float>& array() { return whole ? *whole : values; }
};

/// The arrays of tensors that several writers store parts of.
class SharedArrays {
 public:
  SharedArrays(const Program& program, const Graph& graph);
  /// Makes `stored`, what `writer` stores, a part of the tensor's array, if several write it.
  /// Throws Error(rejected) if the tensor is too large.
  void share(const Node& writer, Written& stored);

 private:
  const Program& program_;
  std::vector<int> writers_;  ///< by tensor, of its values
  std::map<TensorId, std::shared_ptr<std::vector<float>>> arrays_;
};

/// What the writers of one tensor stored. `pos`/`crd` by storage level, empty for dense levels.
struct WrittenTensor {
  TensorId tensor = -1;
  std::vector<std::vector<uint32_t>> pos;
  std::vector<std::vector<uint32_t>> crd;
  std::vector<float> values;
};

/// What the writers of phases that end together stored, put together by tensor.
class WrittenTensors {
 public:
  /// `id` is the node's number; nodes come in their order.
  void add(const Program& program, NodeId id, const Node& writer, Written stored);
  /// Appends the tensors to the results, in the order of their ids, puts them into `data` (by
  /// TensorId), and counts the bytes that each writer wrote.
  void store(const Program& program, std::vector<std::shared_ptr<const Storage>>& data,
             RunResult& result);

 private:
  struct Writer {
    NodeId id;
    TensorId tensor;
    int level;           ///< -1: the values
    int64_t part_bytes;  ///< of a part of the values: those that it gave; else -1
  };
  void count_bytes(const Program& program, const std::vector<std::shared_ptr<const Storage>>& data,
                   RunResult& result) const;

  std::map<TensorId, WrittenTensor> written_;
  std::vector<Writer> writers_;
};

/// Throws Error(rejected) if the dense levels of a tensor, from the outermost on, have more places
/// than an array can hold: known before anything is stored.
void check_places(const Tensor& tensor);

/// Throws Error(internal) if levels and values do not fit (a defect of the graph).
std::shared_ptr<const Storage> assemble_result(const Program& program, WrittenTensor written);

/// Bytes that the writer of a level (or of the values, level -1) writes: values with the tensor's
/// element size, coordinates and positions 4 bytes each.
int64_t written_bytes(const Program& program, TensorId tensor, int level, const Storage& storage);

/// Bytes of a tensor as it is stored: values with its element size, coordinates and positions 4
/// bytes each, words of bits 8.
int64_t storage_bytes(const Program& program, TensorId tensor, const Storage& storage);

/// Fills the counts of a graph from those of its nodes and streams: totals by memory, loads of
/// scratchpad inputs, starved cycles, peaks. `data` holds every tensor by TensorId.
void finish_counts(const Program& program, const Graph& graph,
                   const std::vector<std::shared_ptr<const Storage>>& data, RunResult& result);

}  // namespace fuseflow
