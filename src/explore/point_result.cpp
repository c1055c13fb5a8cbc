#include "explore/point_result.h"

#include <fmt/format.h>

#include <charconv>

namespace fuseflow {

int64_t natural(const std::string& name, const std::string& text, std::string& wrong) {
  int64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = failed == std::errc() && end == text.data() + text.size() && !text.empty();
  if ((!whole || value < 0) && wrong.empty()) {
    wrong = fmt::format("{} `{}`, expected a whole number from 0 on", name, text);
  }
  return whole ? value : 0;
}

uint64_t hexadecimal(const std::string& name, const std::string& text, std::string& wrong) {
  uint64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  const bool whole = failed == std::errc() && end == text.data() + text.size();
  if (!whole && wrong.empty()) {
    wrong = fmt::format("{} `{}`, expected hexadecimal digits", name, text);
  }
  return value;
}

PointResult result_of(const ResultFields& f, std::string& wrong) {
  const std::optional<PointStatus> status = find_point_status(f.status);
  if (!status || !was_run(*status)) {
    wrong = fmt::format("status `{}`, expected simulated, cut or failed", f.status);
    return {};
  }
  PointResult result;
  result.status = *status;
  result.cycles = natural("cycles", f.cycles, wrong);
  result.flops = natural("flops", f.flops, wrong);
  result.dram_bytes = natural("dram_bytes", f.dram_bytes, wrong);
  result.scratchpad_bytes = natural("scratchpad_bytes", f.scratchpad_bytes, wrong);
  result.note = f.note;
  result.energy_pj = natural("energy_pj", f.energy_pj, wrong);
  if (wrong.empty() && result.cycles == 0 && result.status != PointStatus::failed) {
    wrong = "cycles `0` of a point that ran, expected more";
  }
  return result;
}

}  // namespace fuseflow
