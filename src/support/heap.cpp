#include "support/heap.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#include <sys/mman.h>
#endif

namespace fuseflow {

#ifdef __GLIBC__
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kStart = size_t{48} << 20;  // on huge pages
constexpr int kLargestOfHeap = 64 << 20;     // larger arrays are mapped by themselves
constexpr int kKept = 256 << 20;

bool prepare() {
  mallopt(M_MMAP_THRESHOLD, kLargestOfHeap);
  mallopt(M_TRIM_THRESHOLD, kKept);
  void* start = std::malloc(kStart);  // grows the heap; no page is touched
  if (start == nullptr) return false;
  const auto first = (reinterpret_cast<uintptr_t>(start) + kHugePage - 1) / kHugePage * kHugePage;
  const auto end = reinterpret_cast<uintptr_t>(start) + kStart;
  // Advice: where it is not taken, pages are small.
  static_cast<void>(madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE));
  std::free(start);
  return true;
}

}  // namespace

void prepare_heap() {
  static const bool done = prepare();
  static_cast<void>(done);
}
#else
void prepare_heap() {}
#endif

}  // namespace fuseflow
