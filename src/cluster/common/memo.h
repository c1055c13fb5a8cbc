// What was computed once, by the whole key of what it depends on (key.h). It changes no result: a
// key says all that the computation reads. Threads share it; two that want the same at a time may
// both compute it.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace fuseflow::cluster {

/// What keeping a value takes. Of one that has lists, an overload beside its type adds them.
template <typename Value>
size_t kept_bytes(const Value&) {
  return sizeof(Value);
}

template <typename Value>
class Memo {
 public:
  /// `most_bytes` of keys and values are kept; what is full begins anew.
  explicit Memo(size_t most_bytes) : most_bytes_(most_bytes) {}

  /// compute(), or what it gave for an equal key before. What it throws is not kept.
  template <typename Compute>
  Value get(const std::string& key, const Compute& compute) {
    if (std::optional<Value> known = find(key)) return *std::move(known);
    Value value = compute();
    keep(key, value);
    return value;
  }

  std::optional<Value> find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto at = values_.find(key);
    if (at == values_.end()) return std::nullopt;
    return at->second;
  }

  void keep(const std::string& key, const Value& value) {
    const size_t bytes = key.size() + kept_bytes(value);
    const std::lock_guard lock(mutex_);
    if (bytes_ + bytes > most_bytes_) {
      values_.clear();
      bytes_ = 0;
    }
    if (values_.emplace(key, value).second) bytes_ += bytes;
  }

 private:
  const size_t most_bytes_;
  std::mutex mutex_;
  std::unordered_map<std::string, Value> values_;
  size_t bytes_ = 0;
};

}  // namespace fuseflow::cluster
