#include "explore/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <sstream>

#include "support/csv.h"
#include "support/error.h"
#include "support/io.h"

namespace fuseflow {

namespace {

int64_t number(const std::string& text, const std::string& where) {
  int64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size()) {
    throw Error(ExitCode::rejected, fmt::format("{}: `{}` is not a number", where, text));
  }
  return value;
}

std::string line_of(size_t point, const PointResult& r) {
  return fmt::format("{},{},{},{},{},{},{},{}\n", point, name_of(r.status), r.cycles, r.flops,
                     r.dram_bytes, r.scratchpad_bytes, csv_field(r.note), r.energy_pj);
}

}  // namespace

Journal::Journal(const std::string& path, const std::string& search) : path_(path) {
  if (path.empty()) return;
  const std::string header = "fuseflow-explore journal 2 " + search + "\n";
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file_ < 0) {
    throw Error(ExitCode::io, fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  }
  load(path, header);
}

Journal::~Journal() {
  if (file_ >= 0) ::close(file_);
}

/// Reads whole lines; what a killed run left of a line is overwritten.
void Journal::load(const std::string& path, const std::string& header) {
  std::string text = read_source(path).text;
  const size_t whole = text.rfind('\n');
  text.resize(whole == std::string::npos ? 0 : whole + 1);
  if (text.empty()) text = header;
  if (text.compare(0, header.size(), header) != 0) {
    throw Error(ExitCode::rejected,
                fmt::format("{} is not the journal of this search (another program, machine or "
                            "search space), expected one that it has written, or no file",
                            path));
  }
  std::istringstream lines(text.substr(header.size()));
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> f = csv_fields(line);
    const std::optional<PointStatus> status =
        f.size() == 8 ? find_point_status(f[1]) : std::nullopt;
    if (!status || !was_run(*status))
      throw Error(ExitCode::rejected, fmt::format("{}: malformed line `{}`", path, line));
    found_[static_cast<size_t>(number(f[0], path))] = {
        *status, number(f[2], path), number(f[3], path), number(f[4], path), number(f[5], path),
        f[6],    number(f[7], path)};
  }
  if (::ftruncate(file_, static_cast<off_t>(text.size())) != 0 ||
      ::pwrite(file_, header.data(), header.size(), 0) != static_cast<ssize_t>(header.size()) ||
      ::lseek(file_, 0, SEEK_END) < 0) {
    throw Error(ExitCode::io, fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  }
}

void Journal::append(size_t point, const PointResult& result) {
  if (file_ < 0) return;
  const std::string line = line_of(point, result);
  const std::lock_guard lock(mutex_);
  if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size()) ||
      ::fsync(file_) != 0) {
    throw Error(ExitCode::io, fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
  }
}

std::map<size_t, PointResult> read_shard(const std::string& path) {
  std::map<size_t, PointResult> found;
  std::istringstream lines(read_source(path).text);
  std::string line;
  std::getline(lines, line);
  const std::vector<std::string> names = csv_fields(line);
  const auto column = [&](const std::string& name) {
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i] == name) return i;
    }
    throw Error(ExitCode::rejected,
                fmt::format("{} has no column {}, expected the CSV of a shard", path, name));
  };
  const size_t schema = column("schema");
  const size_t point = column("point");
  const size_t status = column("status");
  const size_t cycles = column("cycles");
  const size_t flops = column("flops");
  const size_t dram = column("dram_bytes");
  const size_t scratchpad = column("scratchpad_bytes");
  const size_t note = column("note");
  const size_t energy = column("energy_pj");
  while (std::getline(lines, line)) {
    const std::vector<std::string> f = csv_fields(line);
    if (f.size() != names.size()) {
      throw Error(ExitCode::rejected, fmt::format("{}: malformed line `{}`", path, line));
    }
    if (f[schema] != std::to_string(kCsvSchema)) {
      throw Error(ExitCode::rejected,
                  fmt::format("{} is a CSV of schema {}, expected schema {}: search that shard "
                              "again with this version",
                              path, f[schema], kCsvSchema));
    }
    const std::optional<PointStatus> known = find_point_status(f[status]);
    if (!known || !was_run(*known)) continue;
    if (f[point].empty() || f[point].find_first_not_of("0123456789") != std::string::npos) continue;
    found[static_cast<size_t>(number(f[point], path))] = {*known,
                                                          number(f[cycles], path),
                                                          number(f[flops], path),
                                                          number(f[dram], path),
                                                          number(f[scratchpad], path),
                                                          f[note],
                                                          number(f[energy], path)};
  }
  return found;
}

}  // namespace fuseflow
