// The table of metrics. A new column of the report that people compare becomes one row here.
#include "report/metric.h"

namespace fuseflow {

const std::vector<Metric>& metrics() {
  static const std::vector<Metric> table = {
      {"cycles", {"cycles"}, true, true},
      {"seconds", {"seconds"}, true, true},
      {"dram_bytes", {"dram_read_bytes", "dram_write_bytes"}},
      {"scratchpad_bytes", {"scratchpad_read_bytes", "scratchpad_write_bytes"}},
      {"link_bytes", {"link_bytes"}},
      {"register_bytes", {"register_bytes"}},
      {"flops", {"flops"}},
      {"tokens", {"tokens"}},
      {"energy_pj", {"energy_pj"}, true, true},
      {"edp", {"edp"}, false},
  };
  return table;
}

const Metric* find_metric(std::string_view name) {
  for (const Metric& metric : metrics()) {
    if (metric.name == name) return &metric;
  }
  return nullptr;
}

std::optional<double> value_of(const Metric& metric, const RunRow& row) {
  double sum = 0;
  for (const std::string_view column : metric.columns) {
    const auto found = row.numbers.find(std::string(column));
    if (found == row.numbers.end()) return std::nullopt;
    sum += found->second;
  }
  return sum;
}

RunTime time_of(const RunRow& row) {
  return {value_of(*find_metric("cycles"), row), value_of(*find_metric("seconds"), row)};
}

}  // namespace fuseflow
