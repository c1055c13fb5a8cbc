// A table for a terminal: columns as wide as their widest cell, two blanks between them.
#pragma once

#include <string>
#include <vector>

namespace fuseflow {

class TextTable {
 public:
  /// The first column is aligned to the left, all others to the right.
  explicit TextTable(std::vector<std::string> header) { add(std::move(header)); }
  /// A row with as many cells as the header has. Control characters are shown.
  void add(std::vector<std::string> cells);
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace fuseflow
