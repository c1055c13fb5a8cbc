// Matrix Market files.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "support/error.h"
#include "support/io.h"
#include "support/text.h"
#include "tensor/inflate.h"
#include "tensor/limits.h"
#include "tensor/readers.h"
#include "tensor/repeated.h"
#include "tensor/text_cursor.h"

namespace fuseflow {

namespace {

enum class Field { real, integer, pattern };
enum class Symmetry { general, symmetric, skew };

struct Banner {
  bool coordinate = true;
  Field field = Field::real;
  Symmetry symmetry = Symmetry::general;
};

std::string next_word(std::string_view& line) {
  const size_t begin = line.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return "";
  line.remove_prefix(begin);
  const size_t end = std::min(line.find_first_of(" \t\r"), line.size());
  std::string word = in_lower_case(line.substr(0, end));
  line.remove_prefix(end);
  return word;
}

/// "%%MatrixMarket matrix coordinate real general", words in any case.
Banner read_banner(TextCursor& cursor) {
  std::string_view line = TextCursor(cursor).rest_of_line();
  if (line.size() > 1000 || next_word(line) != "%%matrixmarket" || next_word(line) != "matrix") {
    cursor.fail(
        "not a Matrix Market file, expected a first line "
        "'%%MatrixMarket matrix coordinate real general'");
  }
  Banner banner;
  const std::string form = next_word(line);
  if (form != "coordinate" && form != "array") {
    cursor.fail(fmt::format("unknown form '{}', expected coordinate or array", form));
  }
  banner.coordinate = form == "coordinate";
  const std::string field = next_word(line);
  if (field == "real" || field == "double")
    banner.field = Field::real;
  else if (field == "integer" || field == "unsigned-integer")  // scipy's, of unsigned types
    banner.field = Field::integer;
  else if (field == "pattern" && banner.coordinate)
    banner.field = Field::pattern;
  else {
    cursor.fail(fmt::format("field '{}' is not supported{}, expected {}", field,
                            field == "complex" ? " (values are real here)" : "",
                            banner.coordinate ? "real, integer or pattern" : "real or integer"));
  }
  const std::string symmetry = next_word(line);
  if (symmetry == "general")
    banner.symmetry = Symmetry::general;
  else if (symmetry == "symmetric")
    banner.symmetry = Symmetry::symmetric;
  else if (symmetry == "skew-symmetric")
    banner.symmetry = Symmetry::skew;
  else {
    cursor.fail(
        fmt::format("symmetry '{}' is not supported, expected general, symmetric or "
                    "skew-symmetric",
                    symmetry));
  }
  if (banner.field == Field::pattern && banner.symmetry == Symmetry::skew) {
    cursor.fail("a skew-symmetric pattern has no meaning, expected real or integer values");
  }
  cursor.rest_of_line();
  return banner;
}

float read_value(TextCursor& cursor, Field field) {
  switch (field) {
    case Field::real:
      return cursor.value();
    case Field::integer:
      return cursor.integer_value();
    case Field::pattern:
      return 1.0F;
  }
  return 0;
}

class CoordinateReader {
 public:
  CoordinateReader(TextCursor& cursor, const Banner& banner, int64_t rows, int64_t columns)
      : cursor_(cursor), banner_(banner), entries_{{rows, columns}, {{}, {}}, {}} {}

  Coo read(int64_t count) {
    require_announced_columns();
    // The shortest entry is "1 1\n", or "1 1 0\n" with a value; the last may lack its newline.
    const int64_t shortest = banner_.field == Field::pattern ? 4 : 6;
    const auto possible = static_cast<int64_t>(cursor_.remaining() + 1) / shortest;
    if (count > possible) {
      cursor_.fail(fmt::format("the header declares {} entries, but the rest of the file has room "
                               "for {} at most; it is truncated or its header is wrong",
                               count, possible),
                   1);
    }
    const size_t reserved =
        static_cast<size_t>(count) * (banner_.symmetry == Symmetry::general ? 1 : 2);
    for (auto& column : entries_.coords) column.reserve(reserved);
    entries_.values.reserve(reserved);
    for (int64_t e = 0; e < count; ++e) {
      cursor_.skip_lines('%');
      if (cursor_.at_end()) {
        cursor_.fail(
            fmt::format("the file ends after {} entries, but its header declares {}", e, count));
      }
      entry();
    }
    cursor_.skip_lines('%');
    if (!cursor_.at_end()) {
      cursor_.fail(fmt::format("more entries follow than the {} that the header declares", count));
    }
    return std::move(entries_);
  }

 private:
  /// By the first entry: a header that says otherwise is wrong for all of them.
  void require_announced_columns() {
    cursor_.skip_lines('%');
    const size_t words = cursor_.at_end() ? 0 : cursor_.words_left();
    const bool pattern = banner_.field == Field::pattern;
    if (words == 3 && pattern) {
      cursor_.fail(
          "an entry with a value, but the header says `pattern`; expected a row and a "
          "column, or `real` in the header");
    }
    if (words == 2 && !pattern) {
      TextCursor numbers = cursor_;  // which may be what is wrong
      numbers.coordinate(entries_.shape[0], 1, "row");
      numbers.coordinate(entries_.shape[1], 1, "column");
      cursor_.fail(
          fmt::format("an entry without a value, but the header says `{}`; expected a row, "
                      "a column and a value, or `pattern` in the header",
                      banner_.field == Field::integer ? "integer" : "real"));
    }
  }

  void entry() {
    const uint32_t i = cursor_.coordinate(entries_.shape[0], 1, "row");
    const uint32_t j = cursor_.coordinate(entries_.shape[1], 1, "column");
    const float v = read_value(cursor_, banner_.field);
    if (banner_.symmetry == Symmetry::skew && i == j) {
      cursor_.fail("a diagonal entry, expected none in a skew-symmetric matrix", 1);
    }
    cursor_.end_line();
    add(i, j, v);
    if (banner_.symmetry != Symmetry::general && i != j) {
      add(j, i, banner_.symmetry == Symmetry::skew ? -v : v);
    }
  }

  void add(uint32_t i, uint32_t j, float v) {
    entries_.coords[0].push_back(i);
    entries_.coords[1].push_back(j);
    entries_.values.push_back(v);
  }

  TextCursor& cursor_;
  const Banner& banner_;
  Coo entries_;
};

/// What such a file lists, for one that lists more.
std::string surplus_values(const Banner& banner, int64_t rows, int64_t columns) {
  const int64_t below = rows * (rows - 1) / 2;
  switch (banner.symmetry) {
    case Symmetry::general:
      return fmt::format("more values follow than the {} x {} that the header declares", rows,
                         columns);
    case Symmetry::symmetric:
      return fmt::format(
          "more values follow than the {} of a symmetric array of {} x {}: its "
          "diagonal and what is below; `general` in the header announces all values",
          below + rows, rows, columns);
    case Symmetry::skew:
      return fmt::format(
          "more values follow than the {} of a skew-symmetric array of {} x {}: what "
          "is below its diagonal, which is 0 and not listed",
          below, rows, columns);
  }
  return {};
}

/// The array form: all values column by column (of the lower triangle when symmetric).
std::vector<float> read_array(TextCursor& cursor, const Banner& banner, int64_t rows,
                              int64_t columns) {
  const uint64_t count =
      saturating_product(static_cast<uint64_t>(rows), static_cast<uint64_t>(columns));
  // Each value that is in the file takes at least "0\n". A symmetric matrix has at least the half
  // without its diagonal there, and is square.
  const uint64_t given = banner.symmetry == Symmetry::general
                             ? count
                             : (count - std::min(count, static_cast<uint64_t>(rows))) / 2;
  if (given > cursor.remaining() / 2 + 1) {
    cursor.fail(fmt::format("the header declares {} x {} values, more than the rest of the file "
                            "has room for; it is truncated or its header is wrong",
                            rows, columns),
                1);
  }
  std::vector<float> values(count, 0);
  for (int64_t j = 0; j < columns; ++j) {
    const int64_t first = banner.symmetry == Symmetry::general ? 0
                          : banner.symmetry == Symmetry::skew  ? j + 1
                                                               : j;
    for (int64_t i = first; i < rows; ++i) {
      cursor.skip_lines('%');
      if (cursor.at_end()) {
        cursor.fail(
            fmt::format("the file ends before the value of row {}, column {}", i + 1, j + 1));
      }
      const float v = read_value(cursor, banner.field);
      cursor.end_line();
      values[static_cast<size_t>(i * columns + j)] = v;
      if (banner.symmetry != Symmetry::general && i != j) {
        values[static_cast<size_t>(j * columns + i)] = banner.symmetry == Symmetry::skew ? -v : v;
      }
    }
  }
  cursor.skip_lines('%');
  if (!cursor.at_end()) cursor.fail(surplus_values(banner, rows, columns));
  return values;
}

}  // namespace

namespace {

RawTensor parse_mtx(std::string_view text, const std::string& path) {
  TextCursor cursor(text, path);
  const Banner banner = read_banner(cursor);
  cursor.skip_lines('%');
  if (cursor.at_end()) cursor.fail("the file ends where the size line is expected");
  const int64_t rows = cursor.integer("the number of rows");
  const int64_t columns = cursor.integer("the number of columns");
  const int64_t count = banner.coordinate ? cursor.integer("the number of entries") : 0;
  if (rows > kMaxStored || columns > kMaxStored) {
    cursor.fail(
        fmt::format("{} x {} is too large, expected extents up to {}", rows, columns, kMaxStored));
  }
  if (banner.symmetry != Symmetry::general && rows != columns) {
    cursor.fail(fmt::format("a symmetric matrix of {} x {}, expected a square one", rows, columns));
  }
  cursor.end_line();
  RawTensor raw;
  raw.origin = path;
  raw.shape = {rows, columns};
  raw.element = banner.field == Field::integer ? ElementType::i64 : ElementType::f32;
  if (banner.coordinate) {
    raw.data = CoordinateReader(cursor, banner, rows, columns).read(count);
  } else {
    raw.data = Buffer<float>(read_array(cursor, banner, rows, columns));
  }
  return raw;
}

/// The most bytes that a Matrix Market text with this beginning may have: lines of a usual length
/// for all that its size line declares.
uint64_t most_bytes(std::string_view head, const std::string& path) {
  constexpr uint64_t kLine = 256;
  constexpr uint64_t kBeside = 2 * kHeadBytes;  ///< the banner, and comments
  TextCursor cursor(head, path);
  const Banner banner = read_banner(cursor);
  cursor.skip_lines('%');
  if (cursor.at_end()) cursor.fail("only comments in the first mebibyte, expected the size line");
  const auto rows = static_cast<uint64_t>(cursor.integer("the number of rows"));
  const auto columns = static_cast<uint64_t>(cursor.integer("the number of columns"));
  const uint64_t count = banner.coordinate
                             ? static_cast<uint64_t>(cursor.integer("the number of entries"))
                             : saturating_product(rows, columns);
  const uint64_t lines = saturating_product(count, kLine);
  return std::min(lines, UINT64_MAX - kBeside) + kBeside;
}

}  // namespace

RawTensor read_mtx(const std::string& path) {
  const MappedFile file(path);
  return parse_mtx(file.bytes(), path);
}

RawTensor read_mtx_gz(const std::string& path) {
  const MappedFile file(path);
  return parse_mtx(
      gunzip(file.bytes(), path, [&](std::string_view head) { return most_bytes(head, path); }),
      path);
}

namespace {

/// Entries of a whole file (`read_mtx` has accepted it) up to the second that gives a place.
class RepeatFinder {
 public:
  RepeatFinder(TextCursor& cursor, const Banner& banner, uint64_t row, uint64_t column)
      : cursor_(cursor), banner_(banner), row_(row), column_(column) {}

  void run() {
    for (cursor_.skip_lines('%'); !cursor_.at_end(); cursor_.skip_lines('%')) {
      const TextCursor start = cursor_;
      const uint64_t i = cursor_.coordinate(kMaxStored, 1, "row");
      const uint64_t j = cursor_.coordinate(kMaxStored, 1, "column");
      cursor_.rest_of_line();
      const bool symmetric = banner_.symmetry != Symmetry::general;
      const bool mirrored = symmetric && i == column_ && j == row_;
      if (!mirrored && (i != row_ || j != column_)) continue;
      if (line_ > 0) refuse(start, i, j);
      first_row_ = i;
      line_ = start.line();
    }
  }

 private:
  [[noreturn]] void refuse(const TextCursor& at, uint64_t i, uint64_t j) const {
    if (i == first_row_) {
      at.fail(
          fmt::format("row {}, column {} is given again, after line {}; expected every entry "
                      "once: add up those of one place first (scipy: .sum_duplicates())",
                      i + 1, j + 1, line_));
    }
    at.fail(fmt::format(
        "row {}, column {} is given, too, by line {}: the header says {}, so one "
        "entry gives both; expected one triangle, or `general` in the header",
        i + 1, j + 1, line_, banner_.symmetry == Symmetry::skew ? "skew-symmetric" : "symmetric"));
  }

  TextCursor& cursor_;
  const Banner& banner_;
  uint64_t row_, column_;
  uint64_t first_row_ = 0;
  int line_ = 0;  ///< that gave the place first; 0: none so far
};

void find_repeated(std::string_view text, const std::string& path,
                   const std::vector<uint64_t>& coordinate) {
  TextCursor cursor(text, path);
  const Banner banner = read_banner(cursor);
  if (!banner.coordinate || coordinate.size() != 2) return;
  cursor.skip_lines('%');
  cursor.rest_of_line();  // the size line
  RepeatFinder(cursor, banner, coordinate[0], coordinate[1]).run();
}

}  // namespace

void find_repeated_in_mtx(const std::string& path, const std::vector<uint64_t>& coordinate) {
  const MappedFile file(path);
  if (!path.ends_with(".gz")) return find_repeated(file.bytes(), path, coordinate);
  const auto most = [&](std::string_view head) { return most_bytes(head, path); };
  find_repeated(gunzip(file.bytes(), path, most), path, coordinate);
}

}  // namespace fuseflow
