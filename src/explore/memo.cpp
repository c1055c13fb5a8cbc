#include "explore/memo.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "explore/point_result.h"
#include "ir/print.h"
#include "support/csv.h"

namespace fuseflow {

namespace {

/// Stands in a line of the journal for the end of a line of a program, in which names have no such
/// bytes (ir/names.h escapes them).
constexpr char kEndOfLine = '\x1e';

constexpr std::string_view kPossible = "possible", kRefused = "refused";

/// Fields as one field: a list in a line.
std::string list_field(const std::vector<std::string>& fields) {
  std::vector<std::string> quoted;
  quoted.reserve(fields.size());
  for (const std::string& field : fields) quoted.push_back(csv_field(field));
  return csv_field(fmt::format("{}", fmt::join(quoted, ",")));
}

std::vector<std::string> list_of(const std::string& field) {
  return field.empty() ? std::vector<std::string>{} : csv_fields(field);
}

std::string amounts_fields(const Amounts& a) {
  return fmt::format("{},{},{}", a.cycles, a.energy_pj, a.dram_bytes);
}

/// The fields of a line, one after another.
class Fields {
 public:
  Fields(const std::vector<std::string>& fields, std::string& wrong)
      : fields_(fields), wrong_(wrong) {}

  bool more() const { return next_ < fields_.size(); }
  std::string text(const char* what) {
    if (more()) return fields_[next_++];
    if (wrong_.empty()) wrong_ = fmt::format("no {} at the end of the line", what);
    return {};
  }
  size_t whole(const char* what) { return static_cast<size_t>(natural(what, text(what), wrong_)); }
  double number(const char* what) {
    const std::string given = text(what);
    double value = 0;
    const auto [end, failed] = std::from_chars(given.data(), given.data() + given.size(), value);
    const bool whole = failed == std::errc() && end == given.data() + given.size();
    if ((!whole || !std::isfinite(value) || value < 0) && wrong_.empty()) {
      wrong_ = fmt::format("{} `{}`, expected a number from 0 on", what, given);
    }
    return whole && std::isfinite(value) ? value : 0;
  }
  uint64_t hash(const char* what) { return hexadecimal(what, text(what), wrong_); }
  Amounts amounts() {
    Amounts a;
    a.cycles = number("cycles");
    a.energy_pj = number("energy_pj");
    a.dram_bytes = number("dram_bytes");
    return a;
  }
  RunOfBlocks run() {
    const auto block = static_cast<int64_t>(whole("block"));
    const size_t first = whole("kernel");
    return {block, {first, whole("kernel")}};
  }

 private:
  const std::vector<std::string>& fields_;
  std::string& wrong_;
  size_t next_ = 1;  ///< after the kind of the line
};

EstimatedPoint estimated_of(Fields& fields) {
  EstimatedPoint point;
  point.refused = fields.text("status") == kRefused;
  point.graph = fields.hash("graph");
  point.region = fields.text("region");
  point.note = fields.text("note");
  point.expected = fields.amounts();
  point.least = fields.amounts();
  return point;
}

UsePlacement placement_of(const std::string& field, std::string& wrong) {
  const std::vector<std::string> parts = list_of(field);
  Fields fields(parts, wrong);
  UsePlacement use;
  const auto where = find_placement(parts.empty() ? "" : parts[0]);
  if (!where && wrong.empty()) wrong = fmt::format("placement `{}`", field);
  use.placement = where.value_or(Placement::memory);
  use.tensor = static_cast<TensorId>(fields.whole("tensor"));
  if (fields.more()) use.consumer = static_cast<TensorId>(fields.whole("consumer"));
  return use;
}

std::string text_of(const UsePlacement& use) {
  std::vector<std::string> parts = {std::string(placement_name(use.placement)),
                                    std::to_string(use.tensor)};
  if (use.consumer >= 0) parts.push_back(std::to_string(use.consumer));
  return fmt::format("{}", fmt::join(parts, ","));
}

StoredSet set_of(Fields& fields, std::string& wrong) {
  StoredSet set;
  set.name = fields.text("placements");
  for (const std::string& use : list_of(fields.text("placements"))) {
    set.placements.push_back(placement_of(use, wrong));
  }
  set.order = list_of(fields.text("order"));
  return set;
}

CopiedPoint copied_of(Fields& fields, std::string& wrong) {
  CopiedPoint point;
  point.base = fields.hash("point");
  for (const std::string& one : list_of(fields.text("copies"))) {
    const std::vector<std::string> parts = list_of(one);
    Fields factors(parts, wrong);
    Parallel parallel;
    parallel.index = parts.empty() ? "" : parts[0];
    parallel.factor = static_cast<int64_t>(factors.whole("copies"));
    if (parallel.factor < 1 && wrong.empty()) wrong = "copies `0`, expected more";
    parallel.contiguous = factors.more();
    point.parallel.push_back(std::move(parallel));
  }
  return point;
}

std::string text_of(const Parallel& parallel) {
  return csv_field(parallel.index) +
         fmt::format(",{}{}", parallel.factor, parallel.contiguous ? ",contiguous" : "");
}

std::string start_of(const char* kind, const RunOfBlocks& of) {
  return fmt::format("{},{},{},{}", kind, of.first, of.second.first, of.second.last);
}

}  // namespace

bool Memo::take(const std::vector<std::string>& all, std::string& wrong) {
  const std::string kind = all.empty() ? "" : all[0];
  Fields fields(all, wrong);
  if (kind == "estimate") {
    const uint64_t point = fields.hash("point");
    estimates[point] = estimated_of(fields);
  } else if (kind == "sets") {
    std::vector<StoredSet>& found = sets[fields.run()];
    for (found.clear(); fields.more() && wrong.empty();) found.push_back(set_of(fields, wrong));
  } else if (kind == "copies") {
    std::vector<CopiedPoint>& found = copies[fields.run()];
    for (found.clear(); fields.more() && wrong.empty();) found.push_back(copied_of(fields, wrong));
  } else if (kind == "whole") {
    const std::string name = fields.text("seed");
    wholes[name] = fields.amounts();
    if (wholes[name].cycles < 1 && wrong.empty()) wrong = "fewer cycles than 1 of a seed that ran";
  } else if (kind == "program") {
    const std::string key = fields.text("name");
    std::string text = fields.text("program");
    std::replace(text.begin(), text.end(), kEndOfLine, '\n');
    programs[key] = std::move(text);
  } else {
    return false;
  }
  if (fields.more() && wrong.empty()) wrong = "more fields than the line has";
  return true;
}

std::string memo_line(uint64_t point, const EstimatedPoint& e) {
  return fmt::format("estimate,{:016x},{},{:x},{},{},{},{}\n", point,
                     e.refused ? kRefused : kPossible, e.graph, csv_field(e.region),
                     csv_field(e.note), amounts_fields(e.expected), amounts_fields(e.least));
}

std::string memo_line(const RunOfBlocks& run, const std::vector<StoredSet>& sets) {
  std::string line = start_of("sets", run);
  for (const StoredSet& set : sets) {
    std::vector<std::string> uses;
    for (const UsePlacement& use : set.placements) uses.push_back(text_of(use));
    line += fmt::format(",{},{},{}", csv_field(set.name), list_field(uses), list_field(set.order));
  }
  return line + "\n";
}

std::string memo_line(const RunOfBlocks& run, const std::vector<CopiedPoint>& copies) {
  std::string line = start_of("copies", run);
  for (const CopiedPoint& point : copies) {
    std::vector<std::string> parts;
    for (const Parallel& parallel : point.parallel) parts.push_back(text_of(parallel));
    line += fmt::format(",{:016x},{}", point.base, list_field(parts));
  }
  return line + "\n";
}

std::string memo_line(const std::string& whole, const Amounts& takes) {
  return fmt::format("whole,{},{}\n", csv_field(whole), amounts_fields(takes));
}

std::string memo_line(const std::string& key, const Program& planned) {
  std::string text = print_program(planned);
  std::replace(text.begin(), text.end(), '\n', kEndOfLine);
  return fmt::format("program,{},{}\n", csv_field(key), csv_field(text));
}

}  // namespace fuseflow
