// A table for a terminal: columns as wide as their widest cell, two blanks between them.
#pragma once

#include <string>
#include <vector>

namespace fuseflow {

class TextTable {
 public:
  /// The first column is aligned to the left, all others to the right.
  explicit TextTable(std::vector<std::string> header) : rows_{std::move(header)} {}
  /// As many cells as the header has.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace fuseflow
