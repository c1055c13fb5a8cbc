#include "tensor/format.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>

#include "support/ceil_div.h"
#include "support/error.h"
#include "support/suggest.h"
#include "tensor/limits.h"

namespace fuseflow {

namespace {

constexpr std::array<std::string_view, 4> kLevelNames = {"dense", "compressed", "singleton",
                                                         "bitvector"};

std::string_view trim(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = text.find(separator);
    parts.push_back(trim(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// Formats by the names that they have elsewhere.
constexpr std::array<Foreign, 9> kForeignFormats = {{{"sparse", "compressed"},
                                                     {"csr", "dense,compressed"},
                                                     {"csc", "dense,compressed@1,0"},
                                                     {"dcsr", "compressed,compressed"},
                                                     {"csf", "compressed,compressed,compressed"},
                                                     {"coo", "compressed,singleton"},
                                                     {"bsr", "dense,compressed[16x16]"},
                                                     {"bitmap", "bitvector"},
                                                     {"full", "dense"}}};

/// `part`: what of the text is wrong; empty: all of it.
[[noreturn]] void bad_format(std::string_view text, const std::string& what,
                             std::string_view part = {}) {
  Location where;  // within the text
  if (!part.empty()) {
    where.column = static_cast<int>(part.data() - text.data()) + 1;
    where.length = static_cast<int>(part.size());
  }
  throw Error(ExitCode::rejected, where,
              fmt::format("format '{}': {}; write for example 'dense,compressed', "
                          "'dense,compressed@1,0' or 'dense,compressed[16x16]'",
                          text, what));
}

LevelKind parse_level(std::string_view text, std::string_view name) {
  const auto found = std::find(kLevelNames.begin(), kLevelNames.end(), name);
  if (found == kLevelNames.end()) {
    const std::vector<std::string> known(kLevelNames.begin(), kLevelNames.end());
    bad_format(text,
               fmt::format("unknown level '{}'{}, expected one of {}", name,
                           did_you_mean(name, known, kForeignFormats, " (did you mean '", "'?)"),
                           fmt::join(kLevelNames, ", ")),
               name);
  }
  return static_cast<LevelKind>(found - kLevelNames.begin());
}

int64_t parse_number(std::string_view text, std::string_view digits, const char* what) {
  int64_t value = 0;
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (status != std::errc{} || end != digits.data() + digits.size() || value < 0) {
    bad_format(text, fmt::format("'{}' is not {}, expected a number", digits, what));
  }
  return value;
}

bool is_identity(const std::vector<int>& order) {
  for (size_t l = 0; l < order.size(); ++l) {
    if (order[l] != static_cast<int>(l)) return false;
  }
  return true;
}

std::vector<int> identity_order(int rank) {
  std::vector<int> order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

bool is_permutation_of_dimensions(const std::vector<int>& order) {
  std::vector<int> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  return is_identity(sorted);
}

/// What is wrong with a format, or empty.
std::string format_fault(const Format& format) {
  const size_t rank = format.levels.size();
  if (rank > kMaxRank) return fmt::format("{} levels, expected at most {}", rank, kMaxRank);
  if (format.mode_order.size() != rank || !is_permutation_of_dimensions(format.mode_order)) {
    return fmt::format("mode order [{}] is not a permutation of the {} dimensions",
                       fmt::join(format.mode_order, ","), rank);
  }
  for (size_t l = 0; l < rank; ++l) {
    if (format.levels[l] != LevelKind::singleton) continue;
    if (l == 0 || (format.levels[l - 1] != LevelKind::compressed &&
                   format.levels[l - 1] != LevelKind::singleton)) {
      return "a singleton level must follow a compressed or singleton level";
    }
  }
  if (format.block.empty()) return "";
  if (format.block.size() != rank) {
    return fmt::format("{} block extents for {} dimensions", format.block.size(), rank);
  }
  int64_t volume = 1;
  for (const int64_t extent : format.block) {
    if (extent < 1 || extent > (int64_t{1} << 20)) return "block extents must be 1 to 1048576";
    volume *= extent;
    if (volume > (int64_t{1} << 20)) return "a block may hold at most 1048576 values";
  }
  return "";
}

}  // namespace

std::string_view level_name(LevelKind kind) {
  return kLevelNames.at(static_cast<size_t>(kind));
}

int64_t Format::coordinates(size_t dimension, int64_t extent) const {
  return block.empty() || extent < 0 ? extent : ceil_div(extent, block[dimension]);
}

int64_t Format::block_volume() const {
  return std::accumulate(block.begin(), block.end(), int64_t{1}, std::multiplies<>());
}

bool Format::all_dense() const {
  return block.empty() && std::all_of(levels.begin(), levels.end(),
                                      [](LevelKind kind) { return kind == LevelKind::dense; });
}

bool Format::has_padding() const {
  return levels.empty() || levels.back() == LevelKind::dense || !block.empty();
}

std::string to_string(const Format& format) {
  if (format.levels.empty()) return "scalar";
  std::string text;
  for (const LevelKind kind : format.levels) {
    if (!text.empty()) text += ',';
    text += level_name(kind);
  }
  if (!is_identity(format.mode_order)) {
    text += fmt::format("@{}", fmt::join(format.mode_order, ","));
  }
  if (!format.block.empty()) text += fmt::format("[{}]", fmt::join(format.block, "x"));
  return text;
}

Format parse_format(std::string_view text) {
  std::string_view rest = trim(text);
  Format format;
  if (rest == "scalar") return format;
  if (!rest.empty() && rest.back() == ']') {
    const size_t open = rest.find('[');
    if (open == std::string_view::npos) bad_format(text, "']' without '['");
    for (const std::string_view part : split(rest.substr(open + 1, rest.size() - open - 2), 'x')) {
      format.block.push_back(parse_number(text, part, "a block extent"));
    }
    rest = trim(rest.substr(0, open));
  }
  const size_t at = rest.find('@');
  for (const std::string_view name : split(rest.substr(0, at), ',')) {
    format.levels.push_back(parse_level(text, name));
  }
  if (at == std::string_view::npos) {
    format.mode_order = identity_order(format.rank());
  } else {
    for (const std::string_view part : split(rest.substr(at + 1), ',')) {
      const int64_t mode = parse_number(text, part, "a dimension");
      format.mode_order.push_back(static_cast<int>(std::min(mode, int64_t{kMaxRank})));
    }
  }
  if (const std::string fault = format_fault(format); !fault.empty()) bad_format(text, fault);
  return format;
}

Format dense_format(int rank) {
  return Format{std::vector<LevelKind>(static_cast<size_t>(rank), LevelKind::dense),
                identity_order(rank),
                {}};
}

Format make_format(std::vector<LevelKind> levels, std::vector<int> mode_order) {
  const int rank = static_cast<int>(levels.size());
  if (mode_order.empty()) mode_order = identity_order(rank);
  Format format{std::move(levels), std::move(mode_order), {}};
  check_format(format, rank);
  return format;
}

Format sparse_format(int rank) {
  Format format = dense_format(rank);
  for (size_t l = rank > 1 ? 1 : 0; l < format.levels.size(); ++l) {
    format.levels[l] = LevelKind::compressed;
  }
  return format;
}

void check_format(const Format& format, int rank) {
  if (const std::string fault = format_fault(format); !fault.empty()) {
    bad_format(to_string(format), fault);
  }
  if (format.rank() != rank) {
    bad_format(to_string(format), fmt::format("it has {} levels, but the tensor has {} dimensions",
                                              format.rank(), rank));
  }
}

}  // namespace fuseflow
