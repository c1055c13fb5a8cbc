// Files of the DLMC collection (deep learning matrix collection).
#include <fmt/format.h>

#include "support/io.h"
#include "tensor/limits.h"
#include "tensor/readers.h"
#include "tensor/text_cursor.h"

namespace fuseflow {

namespace {

/// A header number and the comma after it.
int64_t header_number(TextCursor& cursor, const char* what, bool comma) {
  const int64_t value = cursor.integer(what);
  cursor.skip_blanks();
  if (comma) {
    if (cursor.peek() != ',') cursor.fail("expected a comma, as in '512, 512, 26214'");
    cursor.advance();
  }
  return value;
}

/// Row offsets: rows + 1 numbers that do not decrease, from 0 to `count`.
std::vector<int64_t> read_offsets(TextCursor& cursor, int64_t rows, int64_t count) {
  std::vector<int64_t> offsets(static_cast<size_t>(rows) + 1);
  for (size_t r = 0; r < offsets.size(); ++r) {
    const int64_t offset = cursor.integer("a row offset");
    const int64_t least = r == 0 ? 0 : offsets[r - 1];
    if (offset < least || offset > (r == 0 ? 0 : count)) {
      cursor.fail(fmt::format("row offset {} is out of range, expected {} to {}", offset, least,
                              r == 0 ? 0 : count),
                  1);
    }
    offsets[r] = offset;
  }
  if (offsets.back() != count) {
    cursor.fail(fmt::format("the last row offset is {}, expected the {} entries that the header "
                            "declares",
                            offsets.back(), count),
                1);
  }
  cursor.end_line();
  return offsets;
}

}  // namespace

RawTensor read_smtx(const std::string& path) {
  const MappedFile file(path);
  TextCursor cursor(file.bytes(), path);
  const int64_t rows = header_number(cursor, "the number of rows", true);
  const int64_t columns = header_number(cursor, "the number of columns", true);
  const int64_t count = header_number(cursor, "the number of entries", false);
  // Every offset and every index takes a digit and a separator.
  const auto possible = static_cast<int64_t>(cursor.remaining() + 1) / 2;
  if (rows > possible || count > possible || columns > kMaxStored) {
    cursor.fail(fmt::format("the header declares {} x {} with {} entries, but the rest of the file "
                            "has room for {} numbers at most; it is truncated or its header is "
                            "wrong",
                            rows, columns, count, possible),
                1);
  }
  cursor.end_line();
  const std::vector<int64_t> offsets = read_offsets(cursor, rows, count);
  Coo entries{{rows, columns}, {{}, {}}, {}};
  for (auto& column : entries.coords) column.reserve(static_cast<size_t>(count));
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t e = offsets[r]; e < offsets[r + 1]; ++e) {
      entries.coords[0].push_back(static_cast<uint32_t>(r));
      entries.coords[1].push_back(cursor.coordinate(columns, 0, "column index"));
    }
  }
  cursor.end_line();
  cursor.skip_lines('\0');
  if (!cursor.at_end()) cursor.fail("text after the column indices, expected the end of the file");
  entries.values.assign(static_cast<size_t>(count), 1.0F);
  RawTensor raw;
  raw.origin = path;
  raw.shape = entries.shape;
  raw.data = std::move(entries);
  return raw;
}

}  // namespace fuseflow
