// A set of small numbers (nodes of one phase) as bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fuseflow {

class NodeSet {
 public:
  void add(size_t bit) {
    if (words_.size() <= bit / 64) words_.resize(bit / 64 + 1, 0);
    words_[bit / 64] |= uint64_t{1} << (bit % 64);
  }
  void add(const NodeSet& other) {
    if (words_.size() < other.words_.size()) words_.resize(other.words_.size(), 0);
    for (size_t w = 0; w < other.words_.size(); ++w) words_[w] |= other.words_[w];
  }
  void keep(const NodeSet& other) {
    words_.resize(std::min(words_.size(), other.words_.size()));
    for (size_t w = 0; w < words_.size(); ++w) words_[w] &= other.words_[w];
  }
  bool has(size_t bit) const {
    return bit / 64 < words_.size() && (words_[bit / 64] >> (bit % 64) & 1) != 0;
  }
  bool meets(const NodeSet& other) const {
    const size_t n = std::min(words_.size(), other.words_.size());
    for (size_t w = 0; w < n; ++w) {
      if ((words_[w] & other.words_[w]) != 0) return true;
    }
    return false;
  }
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (size_t w = 0; w < words_.size(); ++w) {
      for (uint64_t rest = words_[w]; rest != 0; rest &= rest - 1) {
        visit(w * 64 + static_cast<size_t>(std::countr_zero(rest)));
      }
    }
  }
  bool empty() const {
    return std::all_of(words_.begin(), words_.end(), [](uint64_t word) { return word == 0; });
  }

 private:
  std::vector<uint64_t> words_;
};

}  // namespace fuseflow
