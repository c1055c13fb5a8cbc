#include "support/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "support/diagnostics.h"
#include "support/text.h"

namespace fuseflow {

namespace {

constexpr size_t kMaxShownColumns = 160;

std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::error:
      return "error";
    case Severity::warning:
      return "warning";
    case Severity::note:
      return "note";
  }
  return "error";
}

/// A source line as it is shown, from some byte on: each character escaped on its own, so that the
/// caret is put under the character that it means.
struct ShownLine {
  std::vector<std::string> cells;  ///< a character each
  std::vector<size_t> columns;     ///< of each on the screen
  std::vector<size_t> offsets;     ///< of each in the line's bytes
};

size_t columns_of(const std::string& cell) {
  return utf8_length(cell, 0) == cell.size() ? 1 : cell.size();
}

ShownLine shown_line(std::string_view line, size_t begin) {
  ShownLine shown;
  for (size_t at = begin; at < line.size();) {
    const size_t length = std::max<size_t>(1, utf8_length(line, at));
    const std::string_view character = line.substr(at, length);
    shown.cells.push_back(character == "\t" ? " " : printable(character));
    shown.columns.push_back(columns_of(shown.cells.back()));
    shown.offsets.push_back(at);
    at += length;
  }
  return shown;
}

/// The source line and a caret under the column; a long line is cut to a window around it.
std::string excerpt(const Diagnostic& diagnostic) {
  const std::string_view whole = diagnostic.source_line;
  const auto caret = static_cast<size_t>(std::max(0, diagnostic.where.column - 1));
  // Before the caret at most half of what is shown, after it at most all of it.
  constexpr size_t kHalf = kMaxShownColumns / 2;
  const bool is_long = whole.size() > kMaxShownColumns;
  size_t begin = is_long && caret > kHalf ? caret - kHalf : 0;
  while (begin > 0 && begin < caret && (whole[begin] & 0xc0) == 0x80) ++begin;  // not within one
  const ShownLine shown = shown_line(whole.substr(0, begin + 2 * kMaxShownColumns), begin);
  std::string line = begin > 0 ? "..." : "";
  std::string blanks = begin > 0 ? "   " : "";
  size_t used = 0;
  size_t underlined = 0;
  size_t cell = 0;
  const size_t end = caret + static_cast<size_t>(std::max(1, diagnostic.where.length));
  for (; cell < shown.cells.size() && used + shown.columns[cell] <= kMaxShownColumns; ++cell) {
    line += shown.cells[cell];
    used += shown.columns[cell];
    if (shown.offsets[cell] < caret) blanks += std::string(shown.columns[cell], ' ');
    if (shown.offsets[cell] >= caret && shown.offsets[cell] < end) {
      underlined += shown.columns[cell];
    }
  }
  if (cell < shown.cells.size()) line += "...";
  return fmt::format("{}\n{}^{}\n", line, blanks,
                     std::string(std::max<size_t>(1, underlined) - 1, '~'));
}

}  // namespace

std::string format(const Diagnostic& diagnostic) {
  const Location& where = diagnostic.where;
  std::string text;
  if (!where.file.empty()) text += printable(where.file) + ":";
  if (where.line > 0) text += fmt::format("{}:{}:", where.line, std::max(where.column, 1));
  if (!text.empty()) text += " ";
  text += fmt::format("{}: {}\n", severity_name(diagnostic.severity),
                      printable(diagnostic.message, "\n"));
  if (where.line > 0 && where.column > 0 && !diagnostic.source_line.empty()) {
    text += excerpt(diagnostic);
  }
  return text;
}

std::string format(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  size_t errors = 0;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.severity == Severity::error) ++errors;
    if (errors <= kMaxErrors) text += format(diagnostic);
  }
  if (errors > kMaxErrors) {
    text += fmt::format("note: {} more errors are not shown\n", errors - kMaxErrors);
  }
  return text;
}

Error::Error(ExitCode code, std::string message) : Error(code, Location{}, std::move(message)) {}

Error::Error(ExitCode code, Location where, std::string message)
    : code_(code), diagnostics_{{Severity::error, std::move(where), std::move(message), {}}} {}

Error::Error(ExitCode code, std::vector<Diagnostic> diagnostics)
    : code_(code), diagnostics_(std::move(diagnostics)) {}

const char* Error::what() const noexcept {
  return diagnostics_.empty() ? "error" : diagnostics_.front().message.c_str();
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  std::string best;
  size_t best_distance = std::max<size_t>(2, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    std::vector<size_t> row(candidate.size() + 1);
    std::iota(row.begin(), row.end(), size_t{0});
    for (size_t i = 0; i < name.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i + 1;
      for (size_t j = 0; j < candidate.size(); ++j) {
        const size_t substitute = diagonal + (name[i] == candidate[j] ? 0 : 1);
        diagonal = row[j + 1];
        row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, substitute});
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

void report(Severity severity, std::string message) {
  const std::string text = format(Diagnostic{severity, {}, std::move(message), {}});
  std::fputs(text.c_str(), stderr);
}

}  // namespace fuseflow
