// A hash of text that is the same on every machine and in every run: for files, and for orders that
// results depend on.
#pragma once

#include <cstdint>
#include <string_view>

namespace fuseflow {

inline uint64_t fnv1a(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace fuseflow
