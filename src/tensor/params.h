// Typed access to the key=value parameters of a source.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fuseflow {

class Params {
 public:
  using List = std::vector<std::pair<std::string, std::string>>;

  /// `owner` is the source's name, for messages.
  Params(const List& list, std::string_view owner) : list_(list), owner_(owner) {}

  bool has(std::string_view key) const { return find(key) != nullptr; }
  std::string text(std::string_view key, std::string_view otherwise) const;
  /// Throw Error(rejected) when the text is no such number or outside [low, high].
  int64_t integer(std::string_view key, int64_t otherwise, int64_t low, int64_t high) const;
  double real(std::string_view key, double otherwise, double low, double high) const;
  bool boolean(std::string_view key, bool otherwise) const;
  /// "[2,3]" or "[]"; absent when the key is.
  std::optional<std::vector<int64_t>> shape(std::string_view key) const;
  [[noreturn]] void fail(std::string_view key, std::string_view expected) const;

 private:
  const std::string* find(std::string_view key) const;

  const List& list_;
  std::string_view owner_;
};

/// A whole text as a number.
std::optional<double> whole_real(std::string_view text);

}  // namespace fuseflow
