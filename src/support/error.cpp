#include "support/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace fuseflow {

namespace {

constexpr int kMaxShownColumns = 160;

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

/// The source line and a caret under the column; a long line is cut to a window around it.
std::string excerpt(const Diagnostic& diagnostic) {
  const int column = diagnostic.where.column;
  std::string line = diagnostic.source_line;
  int caret = column - 1;
  if (static_cast<int>(line.size()) > kMaxShownColumns) {
    const int begin = std::clamp(caret - kMaxShownColumns / 2, 0,
                                 static_cast<int>(line.size()) - kMaxShownColumns);
    line = (begin > 0 ? "..." : "") + line.substr(begin, kMaxShownColumns) + "...";
    caret = caret - begin + (begin > 0 ? 3 : 0);
  }
  std::replace(line.begin(), line.end(), '\t', ' ');
  const int length =
      std::clamp(diagnostic.where.length, 1, std::max(1, static_cast<int>(line.size()) - caret));
  return fmt::format("{}\n{}^{}\n", line, std::string(std::max(caret, 0), ' '),
                     std::string(length - 1, '~'));
}

}  // namespace

std::string format(const Diagnostic& diagnostic) {
  const Location& where = diagnostic.where;
  std::string text;
  if (!where.file.empty()) text += where.file + ":";
  if (where.line > 0) text += fmt::format("{}:{}:", where.line, std::max(where.column, 1));
  if (!text.empty()) text += " ";
  text += fmt::format("{}: {}\n", severity_name(diagnostic.severity), diagnostic.message);
  if (where.line > 0 && where.column > 0 && !diagnostic.source_line.empty()) {
    text += excerpt(diagnostic);
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
