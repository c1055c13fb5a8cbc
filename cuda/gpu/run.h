// Checks and times kernels on the GPU (run.cu), and regions that have none by their statements.
// Implemented in the one file that includes run_all.h.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <vector>

#include "fuseflow.h"

/// Ends the program with status 2 where a call gives an error.
#define FF_CHECK(call)                                                   \
  do {                                                                   \
    const auto status_ = (call);                                         \
    if (status_ != 0) {                                                  \
      std::fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, \
                   static_cast<int>(status_));                           \
      std::exit(2);                                                      \
    }                                                                    \
  } while (0)

namespace ff {

/// Tensors of statements: those of a kernel, then intermediates, each in its type.
struct StatementTensors {
  static constexpr int kMost = 96;
  void* at[kMost] = {};
  Type types[kMost] = {};
  long rows = 0;  ///< of a table of plans

  /// Room for an intermediate, once.
  void make(int number, long elements, Type type) {
    types[number] = type;
    if (at[number] == nullptr)
      FF_CHECK(cudaMalloc(&at[number], static_cast<size_t>(elements * bytes_of(type))));
  }
  __device__ float read(int number, long i) const {
    return element_at(types[number], at[number], i);
  }
  __device__ void store(int number, long i, float x) const {
    store_at(types[number], at[number], i, x);
  }
};

/// A matrix of a tensor in row-major order, or transposed: elements from one row (or column) to the
/// next, and from one of the batch to the next.
struct LibraryMatrix {
  int number;
  bool transposed;
  long pitch, batch;
};

/// c = a b, of m x k and k x n elements, for each of a batch.
struct LibraryProduct {
  long batches, m, n, k;
  LibraryMatrix a, b, c;
};

/// Who computes products in the place of plain statements; false: it has no way to.
struct Products {
  virtual ~Products() = default;
  virtual bool product(const StatementTensors& tensors, const LibraryProduct& product) = 0;
};

/// A product that a library would be asked for.
struct Rival {
  long batches, m, n, k;
};

/// A region. `function`: its kernel; null: it has none.
struct GpuKernel {
  const char* name;
  Launch launch;
  const Tensor* tensors;
  size_t tensor_count;
  const View* views;
  size_t view_count;
  const void* function;
  int threads;
  /// The region's statements one after the other, products by a library where there is one.
  void (*statements)(StatementTensors&, Products*, cudaStream_t);
  std::vector<Rival> rivals;
  long gate;              ///< elements that a kernel between the rivals gates; 0: none
  Type element;           ///< of what the rivals multiply
  bool leaves_steps_out;  ///< which follow from the data: with others it gives other results
  long rows = 0;          ///< of a table of plans: how many it is for
};

/// What a launch on so many rows needs, for as long as the program runs.
template <class OfRows>
const OfRows& of_rows(long rows) {
  static std::map<long, OfRows> all;
  return all.try_emplace(rows, OfRows{rows}).first->second;
}

/// An entry of a table of plans: the kernels that up to so many rows take, one after the other.
struct TableEntry {
  long most;
  std::vector<GpuKernel (*)(long rows)> kernels;
};

}  // namespace ff
