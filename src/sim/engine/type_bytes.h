// Types of steps that follow one another, a byte each. Nothing else.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace fuseflow::engine {

class TypeBytes {
 public:
  static constexpr uint32_t kShort = 32;  ///< of one type, for put()

  size_t size() const { return size_; }
  const uint8_t* data() const { return bytes_.data(); }
  /// Fewer than kShort of one type: all written at once, though not all count.
  void put(uint8_t type, uint32_t count) {
    reserve(kShort);
    std::memset(bytes_.data() + size_, type, kShort);
    size_ += count;
  }
  /// Room for `count` more, for the caller to write.
  uint8_t* extend(size_t count) {
    reserve(count);
    size_ += count;
    return bytes_.data() + size_ - count;
  }
  void append(const TypeBytes& other) {
    if (other.size_ > 0) std::memcpy(extend(other.size_), other.data(), other.size_);
  }
  void drop_front(size_t count) {
    size_ -= count;
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(count), size_, bytes_.begin());
  }
  void drop_back(size_t count) { size_ -= count; }
  void clear() { size_ = 0; }
  void swap(TypeBytes& other) {
    bytes_.swap(other.bytes_);
    std::swap(size_, other.size_);
  }

 private:
  void reserve(size_t count) {
    if (size_ + count > bytes_.size()) bytes_.resize(std::max(2 * bytes_.size(), size_ + count));
  }

  std::vector<uint8_t> bytes_;  // of which size_ are in use
  size_t size_ = 0;
};

}  // namespace fuseflow::engine
