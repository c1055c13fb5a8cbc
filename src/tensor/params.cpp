#include "tensor/params.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "support/error.h"

namespace fuseflow {

namespace {

template <typename T>
std::optional<T> whole(std::string_view text) {
  T value{};
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<double> whole_real(std::string_view text) {
  const std::optional<double> value = whole<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

const std::string* Params::find(std::string_view key) const {
  for (const auto& [name, value] : list_) {
    if (name == key) return &value;
  }
  return nullptr;
}

void Params::fail(std::string_view key, std::string_view expected) const {
  throw Error(ExitCode::rejected,
              fmt::format("{}: {}={}, expected {}", owner_, key, text(key, "(absent)"), expected));
}

std::string Params::text(std::string_view key, std::string_view otherwise) const {
  const std::string* found = find(key);
  return found != nullptr ? *found : std::string(otherwise);
}

int64_t Params::integer(std::string_view key, int64_t otherwise, int64_t low, int64_t high) const {
  const std::string* found = find(key);
  if (found == nullptr) return otherwise;
  const std::optional<int64_t> value = whole<int64_t>(*found);
  if (!value || *value < low || *value > high) {
    fail(key, fmt::format("a whole number from {} to {}", low, high));
  }
  return *value;
}

double Params::real(std::string_view key, double otherwise, double low, double high) const {
  const std::string* found = find(key);
  if (found == nullptr) return otherwise;
  const std::optional<double> value = whole_real(*found);
  if (!value || *value < low || *value > high) {
    fail(key, fmt::format("a number from {} to {}", low, high));
  }
  return *value;
}

bool Params::boolean(std::string_view key, bool otherwise) const {
  const std::string* found = find(key);
  if (found == nullptr) return otherwise;
  if (*found == "true" || *found == "1") return true;
  if (*found == "false" || *found == "0") return false;
  fail(key, "true or false");
}

std::optional<std::vector<int64_t>> Params::shape(std::string_view key) const {
  const std::string* found = find(key);
  if (found == nullptr) return std::nullopt;
  constexpr const char* kExpected = "extents in brackets such as [1000,1000]";
  std::string_view rest = *found;
  if (rest.size() < 2 || rest.front() != '[' || rest.back() != ']') fail(key, kExpected);
  rest = rest.substr(1, rest.size() - 2);
  std::vector<int64_t> extents;
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    const std::optional<int64_t> extent = whole<int64_t>(rest.substr(0, comma));
    if (!extent || *extent < 0) fail(key, kExpected);
    extents.push_back(*extent);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
    if (rest.empty()) fail(key, kExpected);
  }
  return extents;
}

}  // namespace fuseflow
