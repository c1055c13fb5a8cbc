#include "support/diagnostics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "support/source_lines.h"
#include "support/terminal.h"
#include "support/text.h"

namespace fuseflow {

namespace {

constexpr size_t kMaxShownColumns = 160;

struct SeverityInfo {
  std::string_view name;
  std::string_view colour;
};

SeverityInfo info_of(Severity severity) {
  switch (severity) {
    case Severity::error:
      return {"error", "1;31"};
    case Severity::warning:
      return {"warning", "1;35"};
    case Severity::note:
      return {"note", "1;36"};
  }
  return {"error", "1;31"};
}

constexpr std::string_view kBold = "1";
constexpr std::string_view kGreen = "1;32";

/// `text` in the colour that this ANSI sequence chooses, where there are colours.
std::string painted(std::string text, std::string_view sequence, Colours colours) {
  if (colours == Colours::off) return text;
  return fmt::format("\x1b[{}m{}\x1b[0m", sequence, text);
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
std::string excerpt(const Diagnostic& diagnostic, Colours colours) {
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
  const std::string mark = '^' + std::string(std::max<size_t>(1, underlined) - 1, '~');
  return fmt::format("{}\n{}{}\n", line, blanks, painted(mark, kGreen, colours));
}

}  // namespace

std::string format(const Diagnostic& diagnostic, Colours colours) {
  const Location& where = diagnostic.where;
  std::string place;
  if (!where.file.empty()) place += printable(where.file) + ":";
  if (where.line > 0) place += fmt::format("{}:{}:", where.line, std::max(where.column, 1));
  const SeverityInfo severity = info_of(diagnostic.severity);
  std::string text = place.empty() ? "" : painted(place, kBold, colours) + " ";
  text += painted(fmt::format("{}:", severity.name), severity.colour, colours);
  text += fmt::format(" {}\n", printable(diagnostic.message, "\n"));
  if (where.line > 0 && where.column > 0 && !diagnostic.source_line.empty()) {
    text += excerpt(diagnostic, colours);
  }
  return text;
}

std::string format(const Diagnostic& diagnostic) {
  return format(diagnostic, Colours::off);
}

std::string format(const std::vector<Diagnostic>& diagnostics, Colours colours) {
  std::string text;
  size_t errors = 0;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.severity == Severity::error) ++errors;
    if (errors <= kMaxErrors) text += format(diagnostic, colours);
  }
  if (errors > kMaxErrors) {
    const std::string left = fmt::format("{} more errors are not shown", errors - kMaxErrors);
    text += format(Diagnostic{Severity::note, {}, left, {}}, colours);
  }
  return text;
}

void print(const std::vector<Diagnostic>& diagnostics) {
  const Colours colours = stderr_has_colours() ? Colours::on : Colours::off;
  std::vector<Diagnostic> shown = diagnostics;
  for (Diagnostic& one : shown) {
    if (one.source_line.empty()) one.source_line = kept_line(one.where);
  }
  std::fputs(format(shown, colours).c_str(), stderr);
}

void say(const std::string& text) {
  if (!is_quiet()) std::fputs(printable(text, "\n\t").c_str(), stderr);
}

void report(Severity severity, std::string message) {
  if (severity != Severity::error && is_quiet()) return;
  print({Diagnostic{severity, {}, std::move(message), {}}});
}

}  // namespace fuseflow
