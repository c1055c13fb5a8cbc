#include "explore/shard.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "explore/search_csv.h"
#include "support/csv.h"
#include "support/error.h"
#include "support/io.h"

namespace fuseflow {

namespace {

/// Adds a result. All that were simulated to their end are the same, else it is not added; a result
/// takes the place of one that was cut.
bool add_result(std::map<uint64_t, PointResult>& all, uint64_t point, const PointResult& result) {
  const auto [known, is_new] = all.emplace(point, result);
  if (is_new || known->second == result) return true;
  if (known->second.status != PointStatus::cut && result.status != PointStatus::cut) return false;
  if (known->second.status == PointStatus::cut) known->second = result;
  return true;
}

/// One CSV, row by row.
class ShardFile {
 public:
  ShardFile(const std::string& path, const SearchIdentity& search) : path_(path), search_(search) {
    std::istringstream lines(read_source(path).text);
    std::string line;
    std::getline(lines, line);
    names_ = csv_fields(line);
    for (const char* name : {"schema", "point", "status", "cycles", "flops", "dram_bytes",
                             "scratchpad_bytes", "note", "energy_pj", "search", "shard"}) {
      static_cast<void>(column(name));
    }
    while (std::getline(lines, line)) {
      ++line_;
      read_row(csv_fields(line));
    }
    if (shard.empty()) throw Error(ExitCode::rejected, path + " holds no points of a shard");
    check_whole();
  }

  std::string shard;  ///< "0/2"
  std::map<uint64_t, PointResult> found;

 private:
  size_t column(const std::string& name) const {
    const auto at = std::find(names_.begin(), names_.end(), name);
    if (at != names_.end()) return static_cast<size_t>(at - names_.begin());
    throw Error(ExitCode::rejected,
                fmt::format("{} has no column {}, expected the CSV of a shard", path_, name));
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ExitCode::rejected, Location{path_, line_, 0}, why);
  }

  void read_row(const std::vector<std::string>& fields) {
    if (fields.size() != names_.size()) {
      refuse(fmt::format("a row of {} fields, expected {}", fields.size(), names_.size()));
    }
    const auto field = [&](const char* name) { return fields[column(name)]; };
    if (field("schema") != std::to_string(kCsvSchema)) {
      throw Error(ExitCode::rejected,
                  fmt::format("{} is a CSV of schema {}, expected schema {}: search that shard "
                              "again with this version",
                              path_, field("schema"), kCsvSchema));
    }
    if (const std::string other = difference(field("search"), search_); !other.empty()) {
      throw Error(ExitCode::rejected,
                  fmt::format("{} is a shard of another search: {}; expected the shards of this "
                              "search, with the same options but for --shard and --merge",
                              path_, other));
    }
    if (shard.empty()) shard = field("shard");
    if (field("shard") != shard) refuse("a row of another shard than the rows before it");
    if (ended_) refuse("a row after the one that ends the shard");
    const std::optional<PointStatus> status = find_point_status(field("status"));
    if (!status) return read_total(field("point"), field("note"));
    ++points_;
    if (!was_run(*status)) return;
    std::string wrong;
    const uint64_t key = hexadecimal("key", field("key"), wrong);
    const PointResult result =
        result_of({field("status"), field("cycles"), field("flops"), field("dram_bytes"),
                   field("scratchpad_bytes"), field("note"), field("energy_pj")},
                  wrong);
    if (!wrong.empty()) refuse("not the row of a point: " + wrong);
    const std::string point = field("point");
    if (!known_.insert(point).second) refuse(fmt::format("point {} is there twice", point));
    // Points that are found in two ways have one key.
    if (!add_result(found, key, result)) refuse(fmt::format("point {} has two results", point));
  }

  void check_whole() const {
    const std::string points = rows_of_points(points_);
    if (ended_ && end_ == points) return;
    const std::string why =
        ended_ ? fmt::format("it has {}, and its last row says {}", points, end_)
               : fmt::format(
                     "no row `{}` is at its end, so the search was interrupted or the file "
                     "cut",
                     kShardEnd);
    throw Error(ExitCode::rejected,
                fmt::format("{} is not all of shard {}: {}; expected a search of that shard to its "
                            "end",
                            path_, shard, why));
  }

  void read_total(const std::string& name, const std::string& note) {
    ended_ = name == kShardEnd;
    if (ended_) end_ = note;
  }

  const std::string path_;
  const SearchIdentity& search_;
  int line_ = 1;
  size_t points_ = 0;  ///< rows of them
  bool ended_ = false;
  std::string end_;  ///< what the last row says of them
  std::vector<std::string> names_;
  std::set<std::string> known_;  ///< points
};

/// Refuses a set of shards that is not all of one search, each once.
void check_complete(const std::map<std::string, std::string>& paths_of) {
  const std::string& first = paths_of.begin()->first;
  const std::string count = first.substr(first.find('/') + 1);
  std::string wrong;
  const int64_t shards = natural("shards", count, wrong);
  std::vector<std::string> missing;
  for (int64_t s = 0; s < shards && missing.size() < 8; ++s) {
    const std::string shard = fmt::format("{}/{}", s, count);
    if (paths_of.count(shard) == 0) missing.push_back(shard);
  }
  for (const auto& [shard, path] : paths_of) {
    if (shard.substr(shard.find('/') + 1) == count) continue;
    throw Error(ExitCode::rejected,
                fmt::format("{} is shard {} and {} is shard {}, expected shards of one division",
                            paths_of.begin()->second, first, path, shard));
  }
  if (missing.empty() && wrong.empty()) return;
  throw Error(ExitCode::rejected, fmt::format("--merge: the CSV of shard {} is missing; expected "
                                              "those of all shards, each once",
                                              fmt::join(missing, ", ")));
}

void add(std::map<uint64_t, PointResult>& all, const ShardFile& file, const std::string& path) {
  for (const auto& [point, result] : file.found) {
    if (add_result(all, point, result)) continue;
    throw Error(ExitCode::rejected,
                fmt::format("{} contradicts another shard in a point: {} cycles and {}", path,
                            result.cycles, all.at(point).cycles));
  }
}

}  // namespace

std::map<uint64_t, PointResult> read_shards(const std::vector<std::string>& paths,
                                            const SearchIdentity& search) {
  std::map<uint64_t, PointResult> all;
  std::map<std::string, std::string> paths_of;  // by shard
  for (const std::string& path : paths) {
    const ShardFile file(path, search);
    const auto [known, is_new] = paths_of.emplace(file.shard, path);
    if (!is_new) {
      throw Error(ExitCode::rejected, fmt::format("{} and {} are both shard {}, expected each once",
                                                  known->second, path, file.shard));
    }
    add(all, file, path);
  }
  if (!paths.empty()) check_complete(paths_of);
  return all;
}

}  // namespace fuseflow
