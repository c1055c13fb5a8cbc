// What simulating a point gave, and how journals and the CSVs of shards hold it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/point_status.h"

namespace fuseflow {

struct PointResult {
  PointStatus status = PointStatus::open;  ///< of one that was run (was_run), once it is known
  int64_t cycles = 0;
  int64_t flops = 0;
  int64_t dram_bytes = 0;
  int64_t scratchpad_bytes = 0;
  std::string note;
  int64_t energy_pj = 0;  ///< whole picojoules
  bool operator==(const PointResult&) const = default;
};

/// A result as texts.
struct ResultFields {
  std::string status, cycles, flops, dram_bytes, scratchpad_bytes, note, energy_pj;
};

/// Gives the result, or says in `wrong` what no simulation gives: cycles of 0 of a point that ran,
/// a count below 0, what is no number, a status that no run has.
PointResult result_of(const ResultFields& fields, std::string& wrong);

/// A number in hexadecimal digits; says in `wrong` what `name` is instead.
uint64_t hexadecimal(const std::string& name, const std::string& text, std::string& wrong);

/// A whole number that is not negative; says in `wrong` what `name` is instead.
int64_t natural(const std::string& name, const std::string& text, std::string& wrong);

}  // namespace fuseflow
