#include "estimate/guessed.h"
#include "ir/elements.h"
#include "ir/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>

namespace fuseflow::estimate {

namespace {

/// More than these are not read to choose a schedule: about a second.
constexpr double kMostEntries = 2e7;
constexpr uintmax_t kMostFileBytes = uintmax_t{1} << 28;

/// Entries as the source states them.
std::optional<double> stated_entries(const Tensor& tensor) {
  if (tensor.source.nnz) return static_cast<double>(*tensor.source.nnz);
  for (const auto& [key, value] : tensor.source.params) {
    if (key == "density") return elements_of(tensor) * std::strtod(value.c_str(), nullptr);
    if (key == "edges") return std::strtod(value.c_str(), nullptr);
  }
  return std::nullopt;
}

double extent_at_level(const Tensor& tensor, int level) {
  return static_cast<double>(tensor.level_extent(static_cast<size_t>(level)));
}

}  // namespace

TensorStatistics guessed_statistics(const Tensor& tensor) {
  const double elements = std::max(1.0, elements_of(tensor));
  const double density = std::clamp(stated_entries(tensor).value_or(elements) / elements, 0.0, 1.0);
  TensorStatistics result;
  double positions = 1;  // fibers of the level
  double above = 1;      // coordinates of the level and those around it, present or not
  for (int l = 0; l < tensor.format.rank(); ++l) {
    const double extent = extent_at_level(tensor, l);
    above *= extent;
    LevelStatistics stats;
    stats.fibers = positions;
    stats.nonempty = positions;
    if (tensor.format.levels[static_cast<size_t>(l)] == LevelKind::dense) {
      positions *= extent;
      stats.entries = positions;
      result.levels.push_back(stats);
      continue;
    }
    const double below = elements / std::max(1.0, above);
    const double occupied = above * (1 - std::pow(1 - density, below));
    stats.entries = std::min(occupied, positions * extent);
    const double mean = positions > 0 ? stats.entries / positions : 0;
    stats.nonempty = positions * (mean >= extent ? 1 : 1 - std::exp(-mean));
    stats.longest = std::min(extent, 2 * mean + 1);
    const double length = stats.nonempty > 0 ? stats.entries / stats.nonempty : 0;
    stats.lengths.add(0, stats.fibers - stats.nonempty);
    stats.lengths.add(static_cast<uint64_t>(std::llround(length)), stats.nonempty);
    positions = stats.entries;
    result.levels.push_back(stats);
  }
  return result;
}

std::string why_not_read(const Tensor& tensor) {
  const double entries = stated_entries(tensor).value_or(0);
  if (entries > kMostEntries) {
    return fmt::format("%{} has {:.0f} entries, more than are read for an estimate",
                       quote_if_needed(tensor.name), entries);
  }
  if (tensor.source.kind != fuseflow::Source::Kind::file) return "";
  std::error_code missing;  // reading it says what is wrong
  const uintmax_t bytes = std::filesystem::file_size(tensor.source.path, missing);
  if (missing || bytes <= kMostFileBytes) return "";
  return fmt::format("the file of %{} has {} bytes, more than are read for an estimate",
                     quote_if_needed(tensor.name), bytes);
}

}  // namespace fuseflow::estimate
