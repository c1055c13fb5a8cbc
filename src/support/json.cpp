#include "support/json.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/text.h"

namespace fuseflow {

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

Json::Json(double value) : scalar_(fmt::format("{}", value)) {}

Json Json::object(Members members) {
  Json value;
  value.kind_ = Kind::object;
  value.members_ = std::move(members);
  return value;
}

Json Json::array(std::vector<Json> values) {
  Json value;
  value.kind_ = Kind::array;
  for (Json& each : values) value.members_.emplace_back("", std::move(each));
  return value;
}

bool Json::flat() const {
  return std::all_of(members_.begin(), members_.end(),
                     [](const auto& member) { return member.second.kind_ == Kind::scalar; });
}

std::string Json::text(int indent) const {
  if (kind_ == Kind::scalar) return scalar_;
  const bool object = kind_ == Kind::object;
  const bool one_line = flat();
  const std::string margin(static_cast<size_t>(indent), ' ');
  std::string out = object ? "{" : "[";
  for (size_t i = 0; i < members_.size(); ++i) {
    const auto& [name, value] = members_[i];
    if (!one_line) out += "\n" + margin + "  ";
    if (object) out += json_string(name) + ": ";
    out += value.text(indent + 2);
    if (i + 1 < members_.size()) out += one_line ? ", " : ",";
  }
  if (!one_line) out += "\n" + margin;
  return out + (object ? "}" : "]");
}

}  // namespace fuseflow
