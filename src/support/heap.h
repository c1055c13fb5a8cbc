// How this process uses the C library's heap: for tools that simulate. Nothing else.
#pragma once

namespace fuseflow {

/// For work on large arrays that come and go: freed memory is kept for the next one, and the first
/// of it is on huge pages, where each of the 4 KiB pages would be fetched from the kernel by a
/// fault of its own. May be called again.
void prepare_heap();

}  // namespace fuseflow
