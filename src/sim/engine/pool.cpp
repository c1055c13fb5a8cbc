#include "sim/engine/pool.h"

#include <array>
#include <bit>
#include <new>
#include <vector>

namespace fuseflow::engine {

namespace {

// Smaller ones malloc serves as fast; larger ones are rare.
constexpr size_t kSmallest = 1024;
constexpr size_t kLargest = size_t{1} << 20;
constexpr size_t kClasses = 11;
constexpr size_t kMostKept = size_t{8} << 20;  // bytes a class

size_t class_of(size_t bytes) {
  return static_cast<size_t>(std::bit_width((bytes - 1) / kSmallest));
}

/// Of one thread; gives everything back when the thread ends.
struct Pool {
  std::array<std::vector<void*>, kClasses> free;
  ~Pool() {
    for (auto& list : free) {
      for (void* memory : list) ::operator delete(memory);
    }
  }
};
thread_local Pool pool;

}  // namespace

void* take_from_pool(size_t bytes) {
  if (bytes < kSmallest || bytes > kLargest) return ::operator new(bytes);
  const size_t c = class_of(bytes);
  std::vector<void*>& list = pool.free[c];
  if (list.empty()) return ::operator new(kSmallest << c);
  void* memory = list.back();
  list.pop_back();
  return memory;
}

void give_back(void* memory, size_t bytes) noexcept {
  if (bytes < kSmallest || bytes > kLargest) return ::operator delete(memory);
  const size_t c = class_of(bytes);
  std::vector<void*>& list = pool.free[c];
  if ((list.size() + 1) * (kSmallest << c) > kMostKept) return ::operator delete(memory);
  try {
    list.push_back(memory);
  } catch (...) {
    ::operator delete(memory);
  }
}

}  // namespace fuseflow::engine
