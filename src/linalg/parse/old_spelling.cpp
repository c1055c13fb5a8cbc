// Translation of old spellings, by text: MLIR's parser refuses them.
#include "linalg/parse/old_spelling.h"

#include <algorithm>
#include <regex>
#include <utility>
#include <vector>

namespace fuseflow {

namespace {

/// Longer pieces are left as they are: nobody writes them, and std::regex recurses.
constexpr size_t kLongestPiece = 4000;

std::vector<std::string> found_all(const std::string& text, const std::regex& what) {
  std::vector<std::string> found;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), what); it != std::sregex_iterator();
       ++it)
    found.push_back((*it)[1]);
  return found;
}

/// The results of the affine_map that `key` names, or nothing.
std::vector<std::string> map_of(const std::string& text, const std::string& key, bool results) {
  std::smatch match;
  const std::regex entry(key + R"(\s*=\s*affine_map<\s*\(([^)]*)\)\s*->\s*\(([^)]*)\)\s*>)");
  if (!std::regex_search(text, match, entry)) return {};
  return found_all(match[results ? 2 : 1], std::regex(R"(([^,\s][^,]*[^,\s]|[^,\s]))"));
}

/// "compressed-nu-no" is neither unique nor in order.
std::string new_level(std::string level) {
  std::string properties;
  for (const auto& [ending, property] :
       {std::pair{"-no", "nonordered"}, std::pair{"-nu", "nonunique"}}) {
    if (!level.ends_with(ending)) continue;
    level.resize(level.size() - 3);
    properties = property + (properties.empty() ? "" : ", " + properties);
  }
  if (level == "compressed-hi") level = "loose_compressed";
  return level + (properties.empty() ? "" : "(" + properties + ")");
}

/// The inside of an encoding; empty if it is spelled as MLIR reads it.
std::string new_encoding(const std::string& inside) {
  if (inside.size() > kLongestPiece) return {};
  std::smatch types;
  const std::regex entry(R"((?:lvlTypes|dimLevelType)\s*=\s*\[([^\]]*)\])");
  if (!std::regex_search(inside, types, entry)) return {};
  const std::vector<std::string> levels = found_all(types[1], std::regex(R"re("([^"]*)")re"));
  std::vector<std::string> places;
  std::vector<std::string> dims;
  for (const char* key : {"dimToLvl", "dimOrdering"}) {
    if (!places.empty()) break;
    places = map_of(inside, key, true);
    dims = map_of(inside, key, false);
  }
  for (size_t d = dims.size(); places.empty() && d < levels.size(); ++d)
    dims.push_back("d" + std::to_string(d));
  if (places.empty()) places = dims;
  if (places.size() != levels.size()) return {};
  std::string map = " map = (";
  for (size_t d = 0; d < dims.size(); ++d) map += (d > 0 ? ", " : "") + dims[d];
  map += ") -> (";
  for (size_t l = 0; l < levels.size(); ++l) {
    map += (l > 0 ? ", " : "") + places[l] + " : " + new_level(levels[l]);
  }
  map += ")";
  map.append(static_cast<size_t>(std::count(inside.begin(), inside.end(), '\n')), '\n');
  return map + " ";
}

std::string with_new_encodings(std::string_view text) {
  constexpr std::string_view kBegin = "#sparse_tensor.encoding<{";
  std::string result;
  while (!text.empty()) {
    const size_t at = text.find(kBegin);
    const size_t end = at == std::string_view::npos ? at : text.find("}>", at);
    if (end == std::string_view::npos) break;
    const size_t first = at + kBegin.size();
    const std::string inside(text.substr(first, end - first));
    const std::string translated = new_encoding(inside);
    result += text.substr(0, first);
    result += translated.empty() ? inside : translated;
    text.remove_prefix(end);
  }
  return result + std::string(text);
}

/// `tensor.expand_shape %x [[0, 1]] : A into tensor<4x2xf32>` says its shape in the type alone.
std::string expanded_line(const std::string& line) {
  static const std::regex old(
      R"(^(.*tensor\.expand_shape\s+%\S+\s+\[.*\]\])(\s*:.*\binto\s+tensor<((?:\d+x)+)[^>]*>.*)$)");
  std::smatch match;
  if (line.find("tensor.expand_shape") == std::string::npos ||
      line.find("output_shape") != std::string::npos || line.size() > kLongestPiece ||
      !std::regex_match(line, match, old))
    return line;
  std::string shape;
  for (const std::string& extent : found_all(match[3], std::regex(R"((\d+)x)")))
    shape += (shape.empty() ? "" : ", ") + extent;
  return match[1].str() + " output_shape [" + shape + "]" + match[2].str();
}

}  // namespace

std::string in_new_spelling(std::string_view text) {
  const std::string encoded = with_new_encodings(text);
  if (encoded.find("tensor.expand_shape") == std::string::npos) return encoded;
  std::string result;
  size_t at = 0;
  while (at < encoded.size()) {
    const size_t end = std::min(encoded.find('\n', at), encoded.size());
    result += expanded_line(encoded.substr(at, end - at));
    if (end < encoded.size()) result += '\n';
    at = end + 1;
  }
  return result;
}

}  // namespace fuseflow
