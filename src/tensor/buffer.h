// An immutable, shared array: it owns a vector, or views memory that somebody else keeps alive
// (a model file's buffer). Copying it shares the data, so large weights exist once.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace fuseflow {

template <typename T>
class Buffer {
 public:
  Buffer() = default;
  Buffer(std::vector<T> values)  // NOLINT(google-explicit-constructor): a vector is a buffer
      : Buffer(std::make_shared<const std::vector<T>>(std::move(values))) {}
  /// Views `view`, which must stay valid and unchanged while `keep_alive` lives.
  Buffer(std::span<const T> view, std::shared_ptr<const void> keep_alive)
      : owner_(std::move(keep_alive)), data_(view.data()), size_(view.size()) {}

  const T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  const T& operator[](size_t i) const { return data_[i]; }
  std::span<const T> span() const { return {data_, size_}; }
  std::vector<T> to_vector() const { return {begin(), end()}; }

 private:
  explicit Buffer(std::shared_ptr<const std::vector<T>> owned)
      : data_(owned->data()), size_(owned->size()) {
    owner_ = std::move(owned);
  }

  std::shared_ptr<const void> owner_;
  const T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace fuseflow
