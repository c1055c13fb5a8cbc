// A CSV file of the tools as rows with named columns. Columns that a reader does not know are kept;
// every access says which place of the file is wrong.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/csv.h"
#include "support/error.h"
#include "support/io.h"

namespace fuseflow {

/// More than any run gives; sums and products of such numbers are finite, too.
inline constexpr double kMostMeasured = 1e30;

class CsvTable {
 public:
  /// `begins`: the columns that the header has to begin with, `schema` first. `what`: what the file
  /// should be, for messages ("a report of regions, as fuseflow-sim prints"). `oldest`: the first
  /// schema whose columns mean what the reader takes them for. Throws Error(rejected): empty text,
  /// another header, a column twice, a row of another length or schema.
  CsvTable(const SourceText& source, const std::vector<std::string_view>& begins,
           std::string_view what, int oldest);

  size_t rows() const { return rows_.size(); }
  const std::string& file() const { return file_; }
  const std::vector<std::string>& columns() const { return columns_; }
  bool has(std::string_view column) const { return position(column) >= 0; }
  /// The least of any row.
  int schema() const { return schema_; }
  /// Empty if the file has no such column.
  const std::string& text(size_t row, std::string_view column) const;
  /// Nothing where the field is no finite number or there is no such column.
  std::optional<double> number(size_t row, std::string_view column) const;
  /// What a run counts or takes: 0 to kMostMeasured. Nothing where the field is empty or there is
  /// no such column; throws Error(rejected) for what no run gives: text, a negative or endless
  /// number.
  std::optional<double> measure(size_t row, std::string_view column) const;
  /// Throws Error(rejected) where `measure` gives nothing, too.
  double required(size_t row, std::string_view column) const;
  /// A whole number from `least` to `most`. Throws Error(rejected) for anything else.
  int64_t whole(size_t row, std::string_view column, int64_t least, int64_t most) const;
  /// An error at a row.
  Error rejected(size_t row, std::string message) const;

 private:
  struct Row {
    int line = 0;
    std::vector<std::string> fields;
  };
  int position(std::string_view column) const;
  void read_schema(size_t row, int oldest);

  std::string file_;
  int schema_ = kCsvSchema;
  std::vector<std::string> columns_;
  std::map<std::string, int, std::less<>> position_;
  std::vector<Row> rows_;
};

}  // namespace fuseflow
