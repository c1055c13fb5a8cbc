#include "report/csv_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "support/input_kind.h"

namespace fuseflow {
namespace {

/// The next line of `text`, which loses it; a carriage return at its end is dropped.
std::string take_line(std::string_view& text) {
  const size_t end = text.find('\n');
  std::string line(text.substr(0, end));
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return line;
}

bool begins_with(const std::vector<std::string>& columns,
                 const std::vector<std::string_view>& begins) {
  if (columns.size() < begins.size()) return false;
  return std::equal(begins.begin(), begins.end(), columns.begin());
}

}  // namespace

CsvTable::CsvTable(const SourceText& source, const std::vector<std::string_view>& begins,
                   std::string_view what, int oldest)
    : file_(source.name) {
  std::string_view rest = without_byte_order_mark(source.text);
  if (rest.empty()) {
    throw Error(ExitCode::rejected,
                fmt::format("{} is empty: did the tool that made it fail?", file_));
  }
  columns_ = csv_fields(take_line(rest));
  if (!begins_with(columns_, begins)) {
    const std::string why = why_no_table(source.text, what);
    if (!why.empty()) throw Error(ExitCode::rejected, Location{file_}, why);
    throw Error(ExitCode::rejected, Location{file_, 1, 0, 1},
                fmt::format("not {}: expected a header that begins with `{}`", what,
                            fmt::join(begins, ",")));
  }
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (position_.emplace(columns_[i], static_cast<int>(i)).second) continue;
    throw Error(ExitCode::rejected, Location{file_, 1, 0, 1},
                fmt::format("column `{}` twice, expected each once", columns_[i]));
  }
  for (int line = 2; !rest.empty(); ++line) {
    const std::string text = take_line(rest);
    if (text.empty()) continue;
    rows_.push_back({line, csv_fields(text)});
    if (rows_.back().fields.size() != columns_.size()) {
      throw rejected(rows_.size() - 1, fmt::format("{} fields, expected {} as in the header",
                                                   rows_.back().fields.size(), columns_.size()));
    }
    read_schema(rows_.size() - 1, oldest);
  }
}

void CsvTable::read_schema(size_t row, int oldest) {
  const std::string& field = text(row, "schema");
  if (field == "schema") {
    throw rejected(row, "a second header: expected the table of one run, a file each");
  }
  const auto schema = static_cast<int>(whole(row, "schema", 1, INT32_MAX));
  schema_ = std::min(schema_, schema);
  if (schema >= oldest && schema <= kCsvSchema) return;
  throw rejected(row, fmt::format("a CSV of schema {}, which {} version of the tools wrote; "
                                  "expected schema {}: run the tool that made it again",
                                  schema, schema < oldest ? "an older" : "a newer", kCsvSchema));
}

int CsvTable::position(std::string_view column) const {
  const auto found = position_.find(column);
  return found == position_.end() ? -1 : found->second;
}

const std::string& CsvTable::text(size_t row, std::string_view column) const {
  static const std::string none;
  const int at = position(column);
  return at < 0 ? none : rows_[row].fields[static_cast<size_t>(at)];
}

std::optional<double> CsvTable::number(size_t row, std::string_view column) const {
  const std::string& field = text(row, column);
  const char* end = field.data() + field.size();
  double value = 0;
  const auto [stop, error] = std::from_chars(field.data(), end, value);
  if (field.empty() || error != std::errc() || stop != end) return std::nullopt;
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<double> CsvTable::measure(size_t row, std::string_view column) const {
  const std::string& field = text(row, column);
  if (field.empty()) return std::nullopt;
  const std::optional<double> value = number(row, column);
  if (value && *value >= 0 && *value <= kMostMeasured) return value;
  throw rejected(row, fmt::format("`{}` in column `{}`, expected a number from 0 to {:g}", field,
                                  column, kMostMeasured));
}

double CsvTable::required(size_t row, std::string_view column) const {
  const std::optional<double> value = measure(row, column);
  if (value) return *value;
  throw rejected(row,
                 fmt::format("`{}` in column `{}`, expected a number", text(row, column), column));
}

int64_t CsvTable::whole(size_t row, std::string_view column, int64_t least, int64_t most) const {
  const std::string& field = text(row, column);
  const char* end = field.data() + field.size();
  int64_t value = 0;
  const auto [stop, error] = std::from_chars(field.data(), end, value);
  if (error == std::errc() && stop == end && value >= least && value <= most) return value;
  throw rejected(row, fmt::format("`{}` in column `{}`, expected a whole number from {} to {}",
                                  field, column, least, most));
}

Error CsvTable::rejected(size_t row, std::string message) const {
  return Error(ExitCode::rejected, Location{file_, rows_[row].line, 0, 1}, std::move(message));
}

}  // namespace fuseflow
