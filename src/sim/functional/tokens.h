// Chunks of tokens: the structure that the streams of a space share, a stream's payloads, and their
// arrival times. Pure data.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/common/token.h"
#include "sim/data/pool.h"
#include "sim/data/times.h"

namespace fuseflow::engine {

inline constexpr uint16_t kDoneLevel = 0xFFFF;

/// A token that is no payload. `at` counts the tokens of the structure that holds it.
struct Stop {
  uint32_t at = 0;
  uint16_t level = 0;  ///< kDoneLevel: done
  uint32_t bits = 0;   ///< bit b: boundary b closes a real element's fiber
  bool done() const { return level == kDoneLevel; }
  bool closes(int boundary = 0) const { return ((bits >> boundary) & 1U) != 0; }
};

using Stops = std::vector<Stop, PoolAllocator<Stop>>;

/// What is where in a chunk: all tokens are payloads but those at the stops.
struct Structure {
  Stops stops;
  uint32_t count = 0;
};
using StructureRef = std::shared_ptr<const Structure>;
inline std::shared_ptr<Structure> new_structure() {
  return make_pooled<Structure>();
}

struct RunLengthPayload;  // run_length.h

/// Payloads by token (coordinates, references: uint32_t; values: float; blocks: their names in the
/// BlockPool, kept too); 0 at stops. Null where no consumer reads them. Or run lengths, then they
/// are words by fiber.
struct Payload {
  std::shared_ptr<const void> keep;
  const void* data = nullptr;
  std::shared_ptr<const RunLengthPayload> run_length = nullptr;
  const uint32_t* words() const { return static_cast<const uint32_t*>(data); }
  const float* values() const { return static_cast<const float*>(data); }
  Payload from(uint32_t k) const {
    return {keep, data == nullptr ? nullptr : static_cast<const uint32_t*>(data) + k, run_length};
  }
};

/// Room for payloads of `count` tokens.
inline std::shared_ptr<uint32_t[]> allocate_payload(size_t count) {
  return std::allocate_shared_for_overwrite<uint32_t[]>(PoolAllocator<uint32_t>(), count);
}

/// A stretch of a stream: tokens begin .. begin+count-1 of a structure.
struct Segment {
  StructureRef structure;
  uint32_t begin = 0;
  uint32_t count = 0;
  uint32_t first_stop = 0;  ///< the first stop at or after `begin`
  Payload payload;          ///< of token `begin` and on
  TimeRef arrivals;         ///< of token `begin` and on
};

}  // namespace fuseflow::engine
