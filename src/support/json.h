// JSON as text: values that are put together and written with members in the order given.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fuseflow {

/// A JSON string. JSON is UTF-8: what is not, and control characters, are shown as \xHH.
std::string json_string(std::string_view text);

/// Containers of scalars stand on one line, others have a line a member.
class Json {
 public:
  using Members = std::vector<std::pair<std::string, Json>>;

  Json() : scalar_("null") {}
  Json(int64_t value) : scalar_(std::to_string(value)) {}          // NOLINT: a value is JSON
  Json(int value) : scalar_(std::to_string(value)) {}              // NOLINT
  Json(bool value) : scalar_(value ? "true" : "false") {}          // NOLINT
  Json(double value);                                              // NOLINT
  Json(std::string_view text) : scalar_(json_string(text)) {}      // NOLINT
  Json(const std::string& text) : Json(std::string_view(text)) {}  // NOLINT
  Json(const char* text) : Json(std::string_view(text)) {}         // NOLINT
  static Json object(Members members);
  static Json array(std::vector<Json> values);

  /// Without a line end after the last line.
  std::string text(int indent = 0) const;

 private:
  enum class Kind : uint8_t { scalar, object, array };
  bool flat() const;

  Kind kind_ = Kind::scalar;
  std::string scalar_;
  Members members_;  ///< of an array: without names
};

}  // namespace fuseflow
