#include "support/source_lines.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace fuseflow {

namespace {

/// Offset of line `line` (from 1); the text's size if there is none.
size_t line_begin(std::string_view text, int line) {
  size_t begin = 0;
  for (int current = 1; current < line && begin < text.size(); ++current) {
    begin = std::min(text.find('\n', begin), text.size() - 1) + 1;
  }
  return begin;
}

std::string line_at(std::string_view text, const Location& where) {
  constexpr size_t kAfterCaret = 1000;  // bytes after the caret: more than is shown
  std::string_view line = text.substr(line_begin(text, where.line));
  line = line.substr(0, line.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  const auto caret = static_cast<size_t>(std::max(0, where.column - 1));
  return std::string(line.substr(0, caret + kAfterCaret));
}

struct KeptTexts {
  std::mutex mutex;
  std::map<std::string, std::string, std::less<>> by_name;
  size_t bytes = 0;
};

KeptTexts& kept_texts() {
  static KeptTexts texts;
  return texts;
}

}  // namespace

Diagnostic error_at(const SourceText& source, const Location& where, std::string message) {
  return {Severity::error, where, std::move(message), line_at(source.text, where)};
}

void keep_text(const SourceText& source) {
  constexpr size_t kMostBytes = size_t{16} << 20;
  KeptTexts& texts = kept_texts();
  const std::lock_guard lock(texts.mutex);
  std::string& kept = texts.by_name[source.name];
  texts.bytes -= kept.size();
  kept = source.text.size() > kMostBytes - texts.bytes ? std::string() : source.text;
  texts.bytes += kept.size();
}

std::string kept_line(const Location& where) {
  if (where.line <= 0) return {};
  KeptTexts& texts = kept_texts();
  const std::lock_guard lock(texts.mutex);
  const auto found = texts.by_name.find(where.file);
  return found == texts.by_name.end() ? std::string() : line_at(found->second, where);
}

}  // namespace fuseflow
