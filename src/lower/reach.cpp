#include "lower/reach.h"

#include <cstdint>

#include "support/strong_components.h"

namespace fuseflow {

Reach::Reach(const Edges& edges, const NodeSet& marked) {
  StrongComponents parts = strong_components(edges);
  part_ = std::move(parts.part);
  reached_.resize(parts.count);
  const Edges members(parts.count, [&](const auto& add) {
    for (size_t v = 0; v < part_.size(); ++v) add(part_[v], v);
  });
  std::vector<size_t> added(parts.count, SIZE_MAX);
  for (size_t p = 0; p < parts.count; ++p) {
    for (const size_t v : members.from(p)) {
      if (marked.has(v)) reached_[p].add(v);
      for (const size_t w : edges.from(v)) {
        const size_t q = part_[w];
        if (q != p && added[q] != p) reached_[p].add(reached_[q]);
        added[q] = p;
      }
    }
  }
}

}  // namespace fuseflow
