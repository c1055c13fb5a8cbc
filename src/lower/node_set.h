// A set of small numbers (nodes of one phase) as bits, in a tree whose parts sets share until one
// of them changes: what is known of a stream is mostly what is known of the one before it, so that
// the sets of all streams take room in proportion to what differs.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace fuseflow {

/// Something that sets share until one of them changes it: nothing, or a `T`. Counted without
/// locks: sets that share belong to one thread.
template <typename T>
class SharedPart {
 public:
  SharedPart() = default;
  SharedPart(const SharedPart& other) : counted_(other.counted_) {
    if (counted_ != nullptr) ++counted_->users;
  }
  SharedPart(SharedPart&& other) noexcept : counted_(std::exchange(other.counted_, nullptr)) {}
  SharedPart& operator=(SharedPart other) noexcept {
    std::swap(counted_, other.counted_);
    return *this;
  }
  ~SharedPart() {
    if (counted_ != nullptr && --counted_->users == 0) delete counted_;
  }

  bool empty() const { return counted_ == nullptr; }
  const T& get() const { return counted_->part; }
  /// A part that no other set shares, to be changed.
  T& own() {
    if (counted_ == nullptr) {
      counted_ = new Counted;
    } else if (counted_->users > 1) {
      *this = SharedPart(new Counted{counted_->part, 1});
    }
    return counted_->part;
  }

  bool same(const SharedPart& other) const { return counted_ == other.counted_; }
  bool within(const SharedPart& other) const {
    if (empty() || same(other)) return true;
    return !other.empty() && get().within(other.get());
  }
  bool meets(const SharedPart& other) const {
    return !empty() && !other.empty() && (same(other) || get().meets(other.get()));
  }
  void add(const SharedPart& other) {
    if (other.within(*this)) return;
    if (within(other)) {
      *this = other;
    } else {
      own().add(other.get());
    }
  }
  void keep(const SharedPart& other) {
    if (within(other)) return;
    if (!meets(other)) {
      *this = {};
    } else {
      own().keep(other.get());
    }
  }

 private:
  struct Counted {
    T part{};
    size_t users = 1;
  };
  explicit SharedPart(Counted* counted) : counted_(counted) {}
  Counted* counted_ = nullptr;
};

/// The least parts of a set.
struct SetWords {
  static constexpr size_t kWords = 8;  // a line of the host's caches
  static constexpr size_t kBits = kWords * 64;
  std::array<uint64_t, kWords> words{};

  bool has(size_t bit) const { return (words[bit / 64] >> (bit % 64) & 1) != 0; }
  void add(size_t bit) { words[bit / 64] |= uint64_t{1} << (bit % 64); }
  void add(const SetWords& other) {
    for (size_t w = 0; w < kWords; ++w) words[w] |= other.words[w];
  }
  void keep(const SetWords& other) {
    for (size_t w = 0; w < kWords; ++w) words[w] &= other.words[w];
  }
  bool within(const SetWords& other) const {
    uint64_t beyond = 0;
    for (size_t w = 0; w < kWords; ++w) beyond |= words[w] & ~other.words[w];
    return beyond == 0;
  }
  bool meets(const SetWords& other) const {
    uint64_t both = 0;
    for (size_t w = 0; w < kWords; ++w) both |= words[w] & other.words[w];
    return both != 0;
  }
  template <typename Visit>
  void for_each(size_t first, const Visit& visit) const {
    for (size_t w = 0; w < kWords; ++w) {
      for (uint64_t rest = words[w]; rest != 0; rest &= rest - 1) {
        visit(first + w * 64 + static_cast<size_t>(std::countr_zero(rest)));
      }
    }
  }
};

/// Several parts, of which a change copies one and the references to the others.
template <typename Part>
struct SetParts {
  static constexpr size_t kParts = 8;
  static constexpr size_t kBits = kParts * Part::kBits;
  std::array<SharedPart<Part>, kParts> parts{};

  bool has(size_t bit) const {
    const SharedPart<Part>& part = parts[bit / Part::kBits];
    return !part.empty() && part.get().has(bit % Part::kBits);
  }
  void add(size_t bit) { parts[bit / Part::kBits].own().add(bit % Part::kBits); }
  void add(const SetParts& other) {
    for (size_t p = 0; p < kParts; ++p) parts[p].add(other.parts[p]);
  }
  void keep(const SetParts& other) {
    for (size_t p = 0; p < kParts; ++p) parts[p].keep(other.parts[p]);
  }
  bool within(const SetParts& other) const {
    for (size_t p = 0; p < kParts; ++p) {
      if (!parts[p].within(other.parts[p])) return false;
    }
    return true;
  }
  bool meets(const SetParts& other) const {
    for (size_t p = 0; p < kParts; ++p) {
      if (parts[p].meets(other.parts[p])) return true;
    }
    return false;
  }
  template <typename Visit>
  void for_each(size_t first, const Visit& visit) const {
    for (size_t p = 0; p < kParts; ++p) {
      if (!parts[p].empty()) parts[p].get().for_each(first + p * Part::kBits, visit);
    }
  }
};

/// A set of nodes by its parts, as many as it takes.
class PartList {
 public:
  void add(size_t bit) {
    if (parts_.size() <= bit / Part::kBits) parts_.resize(bit / Part::kBits + 1);
    parts_[bit / Part::kBits].own().add(bit % Part::kBits);
  }
  void add(const PartList& other) {
    if (parts_.size() < other.parts_.size()) parts_.resize(other.parts_.size());
    for (size_t p = 0; p < other.parts_.size(); ++p) parts_[p].add(other.parts_[p]);
  }
  void keep(const PartList& other) {
    parts_.resize(std::min(parts_.size(), other.parts_.size()));
    for (size_t p = 0; p < parts_.size(); ++p) parts_[p].keep(other.parts_[p]);
  }
  bool has(size_t bit) const {
    const size_t p = bit / Part::kBits;
    return p < parts_.size() && !parts_[p].empty() && parts_[p].get().has(bit % Part::kBits);
  }
  bool within(const PartList& other) const {
    for (size_t p = 0; p < parts_.size(); ++p) {
      const bool is =
          p < other.parts_.size() ? parts_[p].within(other.parts_[p]) : parts_[p].empty();
      if (!is) return false;
    }
    return true;
  }
  bool meets(const PartList& other) const {
    const size_t n = std::min(parts_.size(), other.parts_.size());
    for (size_t p = 0; p < n; ++p) {
      if (parts_[p].meets(other.parts_[p])) return true;
    }
    return false;
  }
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (size_t p = 0; p < parts_.size(); ++p) {
      if (!parts_[p].empty()) parts_[p].get().for_each(p * Part::kBits, visit);
    }
  }

 private:
  using Part = SetParts<SetParts<SetWords>>;
  std::vector<SharedPart<Part>> parts_;
};

/// Copied in no time: a copy is the same list until one of both changes.
class NodeSet {
 public:
  void add(size_t bit) { list_.own().add(bit); }
  void add(const NodeSet& other) { list_.add(other.list_); }
  void keep(const NodeSet& other) { list_.keep(other.list_); }
  bool has(size_t bit) const { return !list_.empty() && list_.get().has(bit); }
  bool meets(const NodeSet& other) const { return list_.meets(other.list_); }
  bool within(const NodeSet& other) const { return list_.within(other.list_); }
  /// Whether both are one list; sets that were made apart are not, though they may be equal.
  bool same(const NodeSet& other) const { return list_.same(other.list_); }
  template <typename Visit>
  void for_each(const Visit& visit) const {
    if (!list_.empty()) list_.get().for_each(visit);
  }
  bool empty() const { return list_.empty(); }

 private:
  SharedPart<PartList> list_;
};

}  // namespace fuseflow
