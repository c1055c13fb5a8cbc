#include "support/heap.h"

#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "support/ceil_div.h"
#endif

/// Read by jemalloc, in programs that are linked with it: what is freed is kept there, too, and
/// pages are huge where the system lets a program ask for them: a search walks graphs all over its
/// heap, and takes a seventh less time.
extern "C" {
const char* malloc_conf = "dirty_decay_ms:-1,muzzy_decay_ms:-1,narenas:1,thp:always";
}

namespace fuseflow {

#ifdef __GLIBC__
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
// The heap's start. None of it takes memory before it is used: what grows later is on small pages.
constexpr size_t kMost = size_t{1} << 30;
constexpr size_t kLeast = size_t{32} << 20;  // where the process is limited
constexpr int kLargestOfHeap = 64 << 20;     // larger arrays that do not fit are mapped alone

bool limited() {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

bool prepare() {
  mallopt(M_TRIM_THRESHOLD, -1);       // what is freed is kept
  mallopt(M_MMAP_THRESHOLD, INT_MAX);  // the start is the heap's own
  size_t bytes = limited() ? kLeast : kMost;
  void* start = std::malloc(bytes);  // touches none of its pages
  while (start == nullptr && bytes > kLeast) start = std::malloc(bytes /= 2);
  mallopt(M_MMAP_THRESHOLD, kLargestOfHeap);
  if (start == nullptr) return false;
  const auto begin = reinterpret_cast<uintptr_t>(start);
  const auto skipped =
      static_cast<size_t>(ceil_div(begin, uintptr_t{kHugePage}) * kHugePage - begin);
  // Advice: where it is not taken, pages are small.
  static_cast<void>(madvise(static_cast<char*>(start) + skipped, bytes - skipped, MADV_HUGEPAGE));
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
