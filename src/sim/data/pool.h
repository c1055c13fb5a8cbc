// Memory of chunks, kept by each thread and handed out again: chunks come and go by the million,
// all of a few sizes. Nothing else.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace fuseflow::engine {

/// At least so many bytes, to be given back by give_back with the same size, in any thread.
void* take_from_pool(size_t bytes);
void give_back(void* memory, size_t bytes) noexcept;

/// For std::allocate_shared.
template <typename T>
struct PoolAllocator {
  using value_type = T;
  PoolAllocator() = default;
  template <typename U>
  explicit(false) PoolAllocator(const PoolAllocator<U>&) {}
  T* allocate(size_t n) { return static_cast<T*>(take_from_pool(n * sizeof(T))); }
  void deallocate(T* memory, size_t n) noexcept { give_back(memory, n * sizeof(T)); }
  friend bool operator==(const PoolAllocator&, const PoolAllocator&) { return true; }
};

/// A PoolAllocator for vectors of plain numbers that are resized before they are written: new
/// elements are left as they are.
template <typename T>
struct UninitializedPoolAllocator : PoolAllocator<T> {
  UninitializedPoolAllocator() = default;
  template <typename U>
  explicit(false) UninitializedPoolAllocator(const UninitializedPoolAllocator<U>&) {}
  template <typename U>
  struct rebind {
    using other = UninitializedPoolAllocator<U>;
  };
  void construct(T* at) { ::new (static_cast<void*>(at)) T; }
  template <typename... Arguments>
  void construct(T* at, Arguments&&... arguments) {
    ::new (static_cast<void*>(at)) T(std::forward<Arguments>(arguments)...);
  }
};

/// Like std::make_shared, in memory of the pool.
template <typename T, typename... Arguments>
std::shared_ptr<T> make_pooled(Arguments&&... arguments) {
  return std::allocate_shared<T>(PoolAllocator<T>(), std::forward<Arguments>(arguments)...);
}

}  // namespace fuseflow::engine
