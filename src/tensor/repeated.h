// Data that has one coordinate twice: the error, and where in a file the two are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/error.h"

namespace fuseflow {

/// Thrown where entries become levels, which do not know their file.
class RepeatedCoordinate : public Error {
 public:
  explicit RepeatedCoordinate(std::vector<uint64_t> coordinate);
  /// Counted from 0.
  const std::vector<uint64_t>& coordinate() const { return coordinate_; }

 private:
  std::vector<uint64_t> coordinate_;
};

/// Throws Error(rejected) for what `file` has twice. A text is read again: the message names both
/// lines, and what may have been meant.
[[noreturn]] void refuse_repeated(const std::string& file, const RepeatedCoordinate& repeated);

/// Throws at the line of a Matrix Market file (perhaps compressed), or of a FROSTT file, that gives
/// the coordinate for the second time; returns if there is none.
void find_repeated_in_mtx(const std::string& path, const std::vector<uint64_t>& coordinate);
void find_repeated_in_tns(const std::string& path, const std::vector<uint64_t>& coordinate);

}  // namespace fuseflow
