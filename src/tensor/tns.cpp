// FROSTT files.
#include <fmt/format.h>

#include <algorithm>

#include "support/io.h"
#include "tensor/limits.h"
#include "tensor/readers.h"
#include "tensor/repeated.h"
#include "tensor/text_cursor.h"

namespace fuseflow {

namespace {

void end_entry(TextCursor& cursor) {
  cursor.skip_blanks();
  if (cursor.peek() == '#')
    cursor.rest_of_line();
  else
    cursor.end_line();
}

}  // namespace

RawTensor read_tns(const std::string& path, const std::optional<std::vector<int64_t>>& shape) {
  const MappedFile file(path);
  TextCursor cursor(file.bytes(), path);
  cursor.skip_lines('#');
  if (cursor.at_end() && !shape) {
    cursor.fail("no entries, and so no shape; expected entries, or declare the shape");
  }
  const size_t words = cursor.at_end() ? shape->size() + 1 : cursor.words_left('#');
  if (words < 1 || words - 1 > kMaxRank || (shape && shape->size() != words - 1)) {
    cursor.fail(fmt::format("an entry of {} coordinates and a value, expected {} coordinates",
                            words - 1, shape ? fmt::format("{}", shape->size()) : "at most 16"));
  }
  Coo entries;
  entries.shape.assign(words - 1, 0);
  entries.coords.resize(words - 1);
  std::vector<int64_t> limit(words - 1, kMaxStored);
  for (size_t d = 0; shape && d < limit.size(); ++d) {
    if ((*shape)[d] >= 0) entries.shape[d] = limit[d] = (*shape)[d];
  }
  for (; !cursor.at_end(); cursor.skip_lines('#')) {
    for (size_t d = 0; d < limit.size(); ++d) {
      const uint32_t c = cursor.coordinate(limit[d], 1, "coordinate");
      entries.shape[d] = std::max<int64_t>(entries.shape[d], int64_t{c} + 1);
      entries.coords[d].push_back(c);
    }
    entries.values.push_back(cursor.value());
    end_entry(cursor);
  }
  RawTensor raw;
  raw.origin = path;
  raw.shape = entries.shape;
  raw.data = std::move(entries);
  return raw;
}

void find_repeated_in_tns(const std::string& path, const std::vector<uint64_t>& coordinate) {
  const MappedFile file(path);
  TextCursor cursor(file.bytes(), path);
  int first = 0;
  for (cursor.skip_lines('#'); !cursor.at_end(); cursor.skip_lines('#')) {
    const TextCursor start = cursor;
    bool same = true;
    for (const uint64_t c : coordinate) {
      same &= cursor.coordinate(kMaxStored, 1, "coordinate") == c;
    }
    cursor.value();
    end_entry(cursor);
    if (!same) continue;
    if (first > 0) {
      start.fail(
          fmt::format("these coordinates are given again, after line {}; expected every "
                      "entry once: add up those of one place first",
                      first));
    }
    first = start.line();
  }
}

}  // namespace fuseflow
