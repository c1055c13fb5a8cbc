// Single tokens. Pure data.
#pragma once

#include <cstdint>

namespace fuseflow {

/// The payload of a reference that points nowhere (N).
inline constexpr uint32_t kAbsent = 0xFFFFFFFFU;

/// A token as tests compare it. A val payload is the f32's bits.
struct TokenRecord {
  static constexpr int8_t kPayload = -1;
  static constexpr int8_t kDone = 127;
  int8_t stop = kPayload;  ///< kPayload, kDone, or the level of a stop
  bool closes = false;     ///< stops: ends the fiber of a real parent element
  uint32_t payload = 0;    ///< payloads only
  int64_t time = 0;        ///< step time at which it was given (it arrives `latency` later)
  bool operator==(const TokenRecord&) const = default;
};

}  // namespace fuseflow
