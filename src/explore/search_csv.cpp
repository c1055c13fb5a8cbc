#include "explore/search_csv.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "support/csv.h"

namespace fuseflow {

namespace {

std::string copies_cell(const Point& point) {
  std::vector<std::string> parts;
  for (const Parallel& p : point.parallel) {
    parts.push_back(fmt::format("{}={}{}", p.index, p.factor, p.contiguous ? " contiguous" : ""));
  }
  return fmt::format("{}", fmt::join(parts, " "));
}

std::string number(bool shown, double value) {
  return shown ? fmt::format("{:.0f}", value) : std::string();
}

std::string row(const Trial& t) {
  const bool ran = was_run(t.status);
  const bool estimated = t.expected.cycles > 0;
  const auto count = [&](int64_t value) { return ran ? fmt::format("{}", value) : std::string(); };
  const std::vector<std::string> fields = {
      fmt::format("{}", t.point.id),
      fmt::format("{}", t.point.first),
      fmt::format("{}", t.point.last),
      csv_field(t.region),
      csv_field(t.point.recipe.name),
      csv_field(fmt::format("{}", fmt::join(t.point.order, " "))),
      std::string(name_of(t.status)),
      number(estimated, t.expected.cycles),
      number(estimated, t.least.cycles),
      count(t.result.cycles),
      count(t.result.flops),
      count(t.result.dram_bytes),
      count(t.result.scratchpad_bytes),
      t.best ? "yes" : "",
      csv_message(t.note),
      csv_field(copies_cell(t.point)),
      csv_field(t.point.seed),
      t.block == 1 ? "" : fmt::format("{}", t.block),
      number(estimated, t.expected.energy_pj),
      number(estimated, t.least.energy_pj),
      count(t.result.energy_pj),
      number(estimated, t.least.dram_bytes)};
  return fmt::format("{}", fmt::join(fields, ","));
}

/// What a row of a shard ends with. `key`: of a point.
std::string end_of_row(const SearchResult& result, const std::string& key = "") {
  if (!result.mark) return "\n";
  return fmt::format(",{},{},{}\n", csv_field(result.mark->search), csv_field(result.mark->shard),
                     key);
}

}  // namespace

std::string rows_of_points(size_t rows) {
  return fmt::format("{} points", rows);
}

std::string search_csv(const Program& kernels, const Machine& machine, const SearchResult& result) {
  std::string text =
      "schema,program,machine,point,first_kernel,last_kernel,region,placement,order,status,"
      "estimated_cycles,bound_cycles,cycles,flops,dram_bytes,scratchpad_bytes,best,note,copies,"
      "seed,block,estimated_energy_pj,bound_energy_pj,energy_pj,bound_dram_bytes";
  text += result.mark ? ",search,shard,key\n" : "\n";
  const std::string start =
      fmt::format("{},{},{},", kCsvSchema, csv_field(kernels.name), csv_field(machine.name));
  for (const Trial& t : result.trials) {
    text += start + row(t) + end_of_row(result, fmt::format("{:016x}", t.point.key));
  }
  const std::string end = end_of_row(result);
  const auto total = [&](const char* name, const Amounts& amounts) {
    if (amounts.cycles <= 0) return;
    text += fmt::format("{}{},0,{},total,,,total,,,{:.0f},,,,,,,,,,,{:.0f},{}", start, name,
                        kernels.regions.size() - 1, amounts.cycles, amounts.energy_pj, end);
  };
  total("unfused", result.unfused);
  total("unfused_copies", result.unfused_copies);
  total("best", result.best);
  if (result.mark && result.mark->ended) {
    text += fmt::format("{}{},0,{},total,,,total,,,,,,,,{},,,,,,,{}", start, kShardEnd,
                        kernels.regions.size() - 1, rows_of_points(result.trials.size()), end);
  }
  return text;
}

}  // namespace fuseflow
