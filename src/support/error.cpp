#include "support/error.h"

#include <algorithm>

namespace fuseflow {

Error::Error(ExitCode code, std::string message) : Error(code, Location{}, std::move(message)) {}

Error::Error(ExitCode code, Location where, std::string message)
    : code_(code), diagnostics_{{Severity::error, std::move(where), std::move(message), {}}} {}

Error::Error(ExitCode code, std::vector<Diagnostic> diagnostics)
    : code_(code), diagnostics_(std::move(diagnostics)) {}

Error::Error(const Error&) = default;
Error& Error::operator=(const Error&) = default;
Error::~Error() = default;

const char* Error::what() const noexcept {
  return diagnostics_.empty() ? "error" : diagnostics_.front().message.c_str();
}

namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_but_for_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

/// Twice the number of letters that are left out, put in or changed; of a letter whose case alone
/// differs, once.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j < row.size(); ++j) row[j] = 2 * j;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = 2 * (i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t change = a[i] == b[j] ? 0 : lower(a[i]) == lower(b[j]) ? 1 : 2;
      const size_t substitute = diagonal + change;
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 2, row[j + 1] + 2, substitute});
    }
  }
  return row.back();
}

/// Letters that a typing error may change: of a short name not nearly all.
size_t most_changed(size_t size) {
  if (size < 4) return size / 2;
  return std::max<size_t>(2, size / 3);
}

}  // namespace

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  std::string best;
  size_t least = 2 * most_changed(name.size()) + 1;
  for (const std::string& candidate : candidates) {
    const size_t changed = same_but_for_case(name, candidate) ? 0 : distance(name, candidate);
    if (changed >= least) continue;
    least = changed;
    best = candidate;
  }
  return best;
}

}  // namespace fuseflow
