#include "support/error.h"

#include <algorithm>
#include <numeric>

namespace fuseflow {

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

}  // namespace fuseflow
