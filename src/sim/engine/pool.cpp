#include "sim/engine/pool.h"

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
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

constexpr size_t kMove = 16;  // blocks that go between a thread and all at a time

size_t bytes_of(size_t c) { return kSmallest << c; }
size_t most_kept(size_t c) { return std::max(2 * kMove, kMostKept / bytes_of(c)); }

struct Lists {
  std::array<std::vector<void*>, kClasses> free;
  Lists() = default;
  Lists(const Lists&) = delete;
  Lists& operator=(const Lists&) = delete;
  ~Lists() {
    for (auto& list : free) {
      for (void* memory : list) ::operator delete(memory);
    }
  }
};

/// What threads have too many of: one makes chunks, another one forgets them.
struct Shared {
  std::mutex mutex;
  Lists lists;
  Shared() {
    for (size_t c = 0; c < kClasses; ++c) lists.free[c].reserve(most_kept(c));
  }
};
Shared& shared() {
  static Shared shared;
  return shared;
}
thread_local Lists own;

/// The last `count` of `from` go to `to`.
void move_blocks(std::vector<void*>& from, std::vector<void*>& to, size_t count) {
  count = std::min(count, from.size());
  to.insert(to.end(), from.end() - static_cast<ptrdiff_t>(count), from.end());
  from.resize(from.size() - count);
}

}  // namespace

void* take_from_pool(size_t bytes) {
  if (bytes < kSmallest || bytes > kLargest) return ::operator new(bytes);
  const size_t c = class_of(bytes);
  std::vector<void*>& list = own.free[c];
  if (list.empty()) {
    Shared& all = shared();
    const std::lock_guard lock(all.mutex);
    move_blocks(all.lists.free[c], list, kMove);
  }
  if (list.empty()) return ::operator new(bytes_of(c));
  void* memory = list.back();
  list.pop_back();
  return memory;
}

void give_back(void* memory, size_t bytes) noexcept {
  if (bytes < kSmallest || bytes > kLargest) return ::operator delete(memory);
  const size_t c = class_of(bytes);
  std::vector<void*>& list = own.free[c];
  try {
    list.push_back(memory);
  } catch (...) {
    return ::operator delete(memory);
  }
  if (list.size() <= 2 * kMove) return;
  Shared& all = shared();
  const std::lock_guard lock(all.mutex);
  std::vector<void*>& kept = all.lists.free[c];
  for (size_t k = 0; k < kMove; ++k) {
    void* block = list.back();
    list.pop_back();
    if (kept.size() < most_kept(c)) {
      kept.push_back(block);
    } else {
      ::operator delete(block);
    }
  }
}

}  // namespace fuseflow::engine
