// A set of small numbers (nodes of one phase) as bits, in chunks that sets share until one of them
// changes: what is known of a stream is mostly what is known of the one before it, so that the sets
// of all streams take room in proportion to what differs.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace fuseflow {

class NodeSet {
 public:
  void add(size_t bit) {
    if (chunks_.size() <= bit / kBits) chunks_.resize(bit / kBits + 1);
    chunks_[bit / kBits].own()[bit % kBits / 64] |= uint64_t{1} << (bit % 64);
  }
  void add(const NodeSet& other) {
    if (chunks_.size() < other.chunks_.size()) chunks_.resize(other.chunks_.size());
    for (size_t c = 0; c < other.chunks_.size(); ++c) {
      const Shared& more = other.chunks_[c];
      Shared& mine = chunks_[c];
      if (more.empty() || mine.same(more) || more.within(mine)) continue;
      if (mine.empty() || mine.within(more)) {
        mine = more;
        continue;
      }
      Words& words = mine.own();
      for (size_t w = 0; w < kWords; ++w) words[w] |= more.words()[w];
    }
  }
  void keep(const NodeSet& other) {
    chunks_.resize(std::min(chunks_.size(), other.chunks_.size()));
    for (size_t c = 0; c < chunks_.size(); ++c) {
      const Shared& rest = other.chunks_[c];
      Shared& mine = chunks_[c];
      if (mine.empty() || mine.same(rest)) continue;
      if (!mine.meets(rest)) {
        mine = {};
      } else if (!mine.within(rest)) {
        Words& words = mine.own();
        for (size_t w = 0; w < kWords; ++w) words[w] &= rest.words()[w];
      }
    }
  }
  bool has(size_t bit) const {
    if (bit / kBits >= chunks_.size() || chunks_[bit / kBits].empty()) return false;
    return (chunks_[bit / kBits].words()[bit % kBits / 64] >> (bit % 64) & 1) != 0;
  }
  bool meets(const NodeSet& other) const {
    const size_t n = std::min(chunks_.size(), other.chunks_.size());
    for (size_t c = 0; c < n; ++c) {
      if (chunks_[c].meets(other.chunks_[c])) return true;
    }
    return false;
  }
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (size_t c = 0; c < chunks_.size(); ++c) {
      if (chunks_[c].empty()) continue;
      for (size_t w = 0; w < kWords; ++w) {
        for (uint64_t rest = chunks_[c].words()[w]; rest != 0; rest &= rest - 1) {
          visit(c * kBits + w * 64 + static_cast<size_t>(std::countr_zero(rest)));
        }
      }
    }
  }
  bool empty() const {
    return std::all_of(chunks_.begin(), chunks_.end(), [](const Shared& c) { return c.empty(); });
  }

 private:
  static constexpr size_t kWords = 16;  // two lines of the host's caches
  static constexpr size_t kBits = kWords * 64;
  using Words = std::array<uint64_t, kWords>;

  /// A chunk with at least one bit, or none at all. Counted without locks: sets that share chunks
  /// belong to one thread.
  class Shared {
   public:
    Shared() = default;
    Shared(const Shared& other) : counted_(other.counted_) {
      if (counted_ != nullptr) ++counted_->users;
    }
    Shared(Shared&& other) noexcept : counted_(std::exchange(other.counted_, nullptr)) {}
    Shared& operator=(Shared other) noexcept {
      std::swap(counted_, other.counted_);
      return *this;
    }
    ~Shared() {
      if (counted_ != nullptr && --counted_->users == 0) delete counted_;
    }

    bool empty() const { return counted_ == nullptr; }
    bool same(const Shared& other) const { return counted_ == other.counted_; }
    const Words& words() const { return counted_->words; }

    /// Words that nobody else sees, to be changed.
    Words& own() {
      if (counted_ == nullptr) {
        counted_ = new Counted;
      } else if (counted_->users > 1) {
        *this = Shared(new Counted{counted_->words, 1});
      }
      return counted_->words;
    }
    bool within(const Shared& other) const {
      if (empty() || other.empty()) return empty();
      uint64_t beyond = 0;
      for (size_t w = 0; w < kWords; ++w) beyond |= words()[w] & ~other.words()[w];
      return beyond == 0;
    }
    bool meets(const Shared& other) const {
      if (empty() || other.empty()) return false;
      uint64_t both = 0;
      for (size_t w = 0; w < kWords; ++w) both |= words()[w] & other.words()[w];
      return both != 0;
    }

   private:
    struct Counted {
      Words words{};
      size_t users = 1;
    };
    explicit Shared(Counted* counted) : counted_(counted) {}
    Counted* counted_ = nullptr;
  };

  std::vector<Shared> chunks_;
};

}  // namespace fuseflow
