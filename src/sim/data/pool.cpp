#include "sim/data/pool.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <mutex>
#include <new>
#include <vector>

namespace fuseflow::engine {

namespace {

// Smaller ones count as these: malloc would serve them as fast in one thread, but not where one
// thread frees what another one has made. Larger ones are rare.
constexpr size_t kSmallest = 64;
constexpr size_t kLargest = size_t{1} << 20;
constexpr size_t kClasses = 15;
// Arrays are of as many tokens as a power of two, and then of a little more: counts of references.
// They fit, and do not all start at the same place of the cache.
constexpr size_t kExtra = 1024;
constexpr size_t kFirstWithExtra = 4;          // class: what is smaller is no array of tokens
constexpr size_t kMostKept = size_t{8} << 20;  // bytes a class
constexpr size_t kMostBlocksKept = 8192;

size_t class_of(size_t bytes) {
  size_t rest = bytes;
  if (bytes > kSmallest << (kFirstWithExtra - 1)) {
    rest = std::max(bytes, (kSmallest << kFirstWithExtra) + kExtra) - kExtra;
  }
  return rest <= kSmallest ? 0 : static_cast<size_t>(std::bit_width((rest - 1) / kSmallest));
}

constexpr size_t kMove = 16;  // blocks that go between a thread and all at a time

size_t bytes_of(size_t c) {
  return (kSmallest << c) + (c < kFirstWithExtra ? 0 : kExtra);
}
size_t most_kept(size_t c) {
  return std::clamp(kMostKept / bytes_of(c), 2 * kMove, kMostBlocksKept);
}

// What is handed out starts a cache line.
constexpr std::align_val_t kAlignment{64};

void* new_block(size_t c) {
  return ::operator new(bytes_of(c), kAlignment);
}
void delete_block(void* block) {
  ::operator delete(block, kAlignment);
}

struct FreeLists {
  std::array<std::vector<void*>, kClasses> free;
  FreeLists() = default;
  FreeLists(const FreeLists&) = delete;
  FreeLists& operator=(const FreeLists&) = delete;
  ~FreeLists() {
    for (auto& list : free) {
      for (void* block : list) delete_block(block);
    }
  }
};

/// What threads have too many of: one makes chunks, another one forgets them.
struct SharedFreeLists {
  std::mutex mutex;
  FreeLists lists;
  SharedFreeLists() {
    for (size_t c = 0; c < kClasses; ++c) lists.free[c].reserve(most_kept(c));
  }
};
SharedFreeLists& shared() {
  static SharedFreeLists shared;
  return shared;
}
thread_local bool ended = false;  // the thread's lists are gone; what statics hold is not
struct ThreadFreeLists : FreeLists {
  ThreadFreeLists() = default;
  ThreadFreeLists(const ThreadFreeLists&) = delete;
  ThreadFreeLists& operator=(const ThreadFreeLists&) = delete;
  ~ThreadFreeLists() { ended = true; }
};
thread_local ThreadFreeLists own;

/// The last `count` of `from` go to `to`.
void move_blocks(std::vector<void*>& from, std::vector<void*>& to, size_t count) {
  count = std::min(count, from.size());
  to.insert(to.end(), from.end() - static_cast<ptrdiff_t>(count), from.end());
  from.resize(from.size() - count);
}

}  // namespace

void* take_from_pool(size_t bytes) {
  if (bytes > kLargest) return ::operator new(bytes);
  const size_t c = class_of(bytes);
  if (ended) return new_block(c);
  std::vector<void*>& list = own.free[c];
  if (list.empty()) {
    SharedFreeLists& all = shared();
    const std::lock_guard lock(all.mutex);
    move_blocks(all.lists.free[c], list, kMove);
  }
  if (list.empty()) return new_block(c);
  void* memory = list.back();
  list.pop_back();
  return memory;
}

void give_back(void* memory, size_t bytes) noexcept {
  if (bytes > kLargest) return ::operator delete(memory);
  if (ended) return delete_block(memory);
  const size_t c = class_of(bytes);
  std::vector<void*>& list = own.free[c];
  try {
    list.push_back(memory);
  } catch (...) {
    return delete_block(memory);
  }
  if (list.size() <= 2 * kMove) return;
  SharedFreeLists& all = shared();
  const std::lock_guard lock(all.mutex);
  std::vector<void*>& kept = all.lists.free[c];
  for (size_t k = 0; k < kMove; ++k) {
    void* block = list.back();
    list.pop_back();
    if (kept.size() < most_kept(c)) {
      kept.push_back(block);
    } else {
      delete_block(block);
    }
  }
}

}  // namespace fuseflow::engine
