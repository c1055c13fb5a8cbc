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
    const std::lock_guard lock(mutex_);
    bytes_ += key.size() + sizeof(Value);
    if (bytes_ > most_bytes_) {
      values_.clear();
      bytes_ = key.size() + sizeof(Value);
    }
    values_.emplace(key, value);
  }

 private:
  const size_t most_bytes_;
  std::mutex mutex_;
  std::unordered_map<std::string, Value> values_;
  size_t bytes_ = 0;
};

}  // namespace fuseflow::cluster
