// How this process uses its heap, the C library's or jemalloc's: for all tools. Nothing else.
#pragma once

namespace fuseflow {

/// For work on large arrays that come and go: freed memory is kept for the next one, and the first
/// GiB is on huge pages where the kernel has them, as each of the 4 KiB pages would be fetched from
/// it by a fault of its own. Takes address space, but no memory before it is used. May be called
/// again.
void prepare_heap();

}  // namespace fuseflow
