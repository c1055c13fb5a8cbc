// What a generated kernel says of the tensors that it is given.
#pragma once

namespace ff {

enum class Type : int { f16, f32 };

/// A tensor in row-major order.
struct Tensor {
  const char* name;
  Type type;
  long elements;
  bool result;
  int number;  ///< in the program: what one kernel gives, later ones read
};

/// A tensor as the copy engine sees it: batches of matrices whose inner coordinates are
/// consecutive. Pitches are in elements. What is outside is read as 0.
struct View {
  int tensor;
  long outer, inner, batches;
  long pitch, batch_pitch;
  int box_outer, box_inner;
};

/// What has to be there to launch a kernel.
struct Launch {
  int clusters, cores;  ///< .. of a cluster
  int scratchpad;       ///< bytes of a core
  int groups;           ///< of 128 threads that multiply
  long sums;            ///< elements of f32 that are 0 before the first launch
  int counters;         ///< of 4 bytes, 0 before the first launch
};

}  // namespace ff
