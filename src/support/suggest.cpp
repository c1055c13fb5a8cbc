#include "support/suggest.h"

#include <algorithm>

#include "support/error.h"
#include "support/text.h"

namespace fuseflow {

namespace {

/// Whether `part` begins and ends at words of the text, as `bandwidth` and `dram.bandwidth` do in
/// `dram.bandwidth_gigabytes_per_second`.
bool has_words(std::string_view text, std::string_view part) {
  const auto separates = [](char c) { return c == '_' || c == '.' || c == '-'; };
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
    const size_t end = at + part.size();
    const bool begins = at == 0 || separates(text[at - 1]);
    if (begins && (end == text.size() || separates(text[end]))) return true;
  }
  return false;
}

/// The shortest known name that has all of `name` as words.
std::string longer_name(std::string_view name, const std::vector<std::string>& known) {
  constexpr size_t kShortest = 4;
  const std::string* best = nullptr;
  for (const std::string& one : known) {
    if (name.size() < kShortest || !has_words(one, name)) continue;
    if (best == nullptr || one.size() < best->size()) best = &one;
  }
  return best == nullptr ? std::string() : *best;
}

}  // namespace

std::string meant_name(std::string_view name, const std::vector<std::string>& known,
                       std::span<const Foreign> foreign) {
  constexpr size_t kLongestName = 200;
  constexpr size_t kMostKnown = 5000;
  if (name.size() > kLongestName) return {};
  const std::string lower = in_lower_case(name);
  const auto same = std::find_if(known.begin(), known.end(), [&](const std::string& one) {
    return one.size() == lower.size() && in_lower_case(one) == lower;
  });
  if (same != known.end()) return *same;
  const auto said = std::find_if(foreign.begin(), foreign.end(),
                                 [&](const Foreign& one) { return one.there == lower; });
  if (said != foreign.end()) return std::string(said->here);
  if (known.size() > kMostKnown) return {};
  const std::string longer = longer_name(name, known);
  return longer.empty() ? nearest_name(name, known) : longer;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& known,
                         std::span<const Foreign> foreign, std::string_view before,
                         std::string_view after) {
  const std::string meant = meant_name(name, known, foreign);
  if (meant.empty()) return {};
  return std::string(before) + meant + std::string(after);
}

}  // namespace fuseflow
