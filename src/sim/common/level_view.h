// One storage level of a tensor as nodes read it: fibers, elements, look-ups, and the bytes that
// each costs (ir-spec/timing.md "What is counted"). A dense level needs no data, only the tensor's
// shape.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/program.h"
#include "tensor/storage.h"

namespace fuseflow {

/// Throws Error(rejected): the tensor has no data to read.
[[noreturn]] void missing_data(const std::string& tensor);

class LevelView {
 public:
  struct Element {
    int64_t coordinate = 0;
    int64_t position = 0;
  };
  /// The elements of a fiber that are inside the loop's extent: numbers first .. end-1.
  struct Fiber {
    int64_t parent = -1;
    int64_t first = 0;
    int64_t end = 0;
    int64_t size() const { return end - first; }
  };

  /// `storage` may be null for a dense level. Throws Error(rejected) when it is needed.
  LevelView(const Program& program, TensorId tensor, int level, const Storage* storage);

  /// A loop over 0 .. extent-1 that belongs to no tensor; references are the coordinates.
  static LevelView counter(int64_t extent);

  std::string name() const;
  LevelKind kind() const { return kind_; }
  int64_t extent() const { return extent_; }
  bool in_range(int64_t coordinate) const { return coordinate >= 0 && coordinate < extent_; }

  /// The fiber below `reference` (empty for kAbsent), without the elements whose coordinate +
  /// offset is outside 0 .. loop_extent - 1.
  Fiber fiber(uint32_t reference, int64_t offset, int64_t loop_extent) const;
  Element element(const Fiber& fiber, int64_t number) const;

  /// The position of a coordinate below `reference`, kAbsent if there is none.
  uint32_t find(uint32_t reference, int64_t coordinate) const;

  /// Bytes of positions read to enter the fiber of `reference`; `last` is the one entered before.
  int64_t position_bytes(uint32_t reference, uint32_t last) const;
  int64_t word_bytes() const;                  ///< of bits read to scan a fiber
  int64_t element_bytes() const;               ///< read for each element of a scan
  int64_t probe_bytes(uint32_t parent) const;  ///< read for a look-up, beside positions
  /// Steps of a look-up below `reference` (not kAbsent): in a compressed level those of a binary
  /// search.
  int64_t look_up_steps(uint32_t reference) const;

 private:
  LevelView() = default;
  uint32_t fiber_begin(uint32_t reference) const;
  uint32_t fiber_end(uint32_t reference) const;
  void count_bits();
  int64_t coordinate_of_bit(uint32_t reference, int64_t position) const;
  uint32_t position_of_bit(uint32_t reference, int64_t coordinate) const;

  bool counter_ = false;
  std::string tensor_;
  int number_ = 0;
  LevelKind kind_ = LevelKind::dense;
  int64_t extent_ = 0;
  const Level* level_ = nullptr;
  int64_t parents_ = 0;  ///< positions of the level above
  /// Of a bitvector: the bits before each word, so that long fibers need not be counted again for
  /// each element.
  std::vector<uint32_t> bits_before_;
};

}  // namespace fuseflow
