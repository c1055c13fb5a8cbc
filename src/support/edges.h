// Edges of a directed graph, those of each node side by side in one array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fuseflow {

class Edges {
 public:
  /// `tell(add)` calls add(from, to) for every edge; it is called twice, and must do the same.
  template <typename Tell>
  Edges(size_t nodes, const Tell& tell) : first_(nodes + 1, 0) {
    tell([this](size_t from, size_t) { ++first_[from + 1]; });
    for (size_t v = 0; v < nodes; ++v) first_[v + 1] += first_[v];
    to_.resize(first_[nodes]);
    std::vector<size_t> next(first_.begin(), first_.end() - 1);
    tell([&](size_t from, size_t to) { to_[next[from]++] = static_cast<uint32_t>(to); });
  }

  size_t nodes() const { return first_.size() - 1; }
  /// Where edges go from a node, in the order in which they were added.
  std::span<const uint32_t> from(size_t v) const {
    return std::span(to_).subspan(first_[v], first_[v + 1] - first_[v]);
  }

 private:
  std::vector<size_t> first_;  ///< by node, in to_
  std::vector<uint32_t> to_;
};

}  // namespace fuseflow
