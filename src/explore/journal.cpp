#include "explore/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "ir/parse.h"
#include "ir/print.h"
#include "support/csv.h"
#include "support/error.h"
#include "support/fnv1a.h"

namespace fuseflow {

namespace {

constexpr std::string_view kTitle = "fuseflow-explore journal ";
constexpr std::string_view kResult = "result,";
constexpr size_t kResultFields = 9;
constexpr std::string_view kVersion = "5";

std::string line_of(uint64_t point, const PointResult& r) {
  return fmt::format("{}{:016x},{},{},{},{},{},{},{}\n", kResult, point, name_of(r.status),
                     r.cycles, r.flops, r.dram_bytes, r.scratchpad_bytes, csv_field(r.note),
                     r.energy_pj);
}

/// Whether a line has the result of a point: lines of the memo begin with another word.
bool is_result(const std::string& line) {
  return line.starts_with(kResult);
}

/// Why a file that does not begin with the header of this search is not taken.
std::string refusal(const std::string& text, const SearchIdentity& search) {
  if (!text.starts_with(kTitle)) {
    return "it is no journal of fuseflow-explore; expected one that this search has written, or "
           "the name of a new file";
  }
  const std::string line = text.substr(kTitle.size(), text.find('\n') - kTitle.size());
  if (line.ends_with('\r')) return "its lines end in CR LF; expected LF, as they were written";
  const size_t blank = line.find(' ');
  if (line.substr(0, blank) != kVersion || blank == std::string::npos) {
    return "it is the journal of another version; expected one that this version has written, or "
           "the name of a new file";
  }
  return fmt::format(
      "it is the journal of another search: {}; expected the journal of this search, or the name "
      "of a new file",
      difference(line.substr(blank + 1), search));
}

}  // namespace

Journal::Journal(const std::string& path, const SearchIdentity& search) : path_(path) {
  if (path.empty()) return;
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file_ < 0) cannot("open");
  try {
    lock();
    load(search);
  } catch (const Error&) {
    ::close(file_);
    throw;
  }
}

Journal::~Journal() {
  if (file_ >= 0) ::close(file_);
}

void Journal::cannot(const char* what) const {
  throw Error(ExitCode::io, fmt::format("cannot {} {}: {}", what, path_, std::strerror(errno)));
}

/// Held until the file is closed, also by a process that is killed. Without it two searches would
/// write into each other's lines. Where the file system has no locks, nobody else can have one.
void Journal::lock() {
  if (::flock(file_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  throw Error(ExitCode::rejected,
              fmt::format("--resume {}: another search is writing this journal; expected it to end "
                          "first, or the name of another file",
                          path_));
}

namespace {

std::string contents(int file) {
  std::string text;
  std::array<char, 1 << 16> part{};
  for (;;) {
    const ssize_t got = ::pread(file, part.data(), part.size(), static_cast<off_t>(text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(part.data(), static_cast<size_t>(got));
  }
}

}  // namespace

/// What a killed run left of the last line is overwritten.
void Journal::load(const SearchIdentity& search) {
  const std::string header = fmt::format("{}{} {}\n", kTitle, kVersion, text_of(search));
  const std::string text = contents(file_);
  const bool begins = text.size() < header.size() && header.starts_with(text);
  size_t end = 0;
  if (!begins) {
    if (!text.starts_with(header)) {
      throw Error(ExitCode::rejected, fmt::format("--resume {}: {}", path_, refusal(text, search)));
    }
    end = read_lines(text, header.size());
  }
  if (end < text.size() && ::ftruncate(file_, static_cast<off_t>(end)) != 0) cannot("write");
  if (begins &&
      ::pwrite(file_, header.data(), header.size(), 0) != static_cast<ssize_t>(header.size())) {
    cannot("write");
  }
  if (::lseek(file_, 0, SEEK_END) < 0) cannot("write");
}

size_t Journal::read_lines(const std::string& text, size_t begin) {
  int number = 1;
  while (begin < text.size()) {
    ++number;
    const size_t end = text.find('\n', begin);
    const bool last = end == std::string::npos || end + 1 == text.size();
    const std::string line = text.substr(begin, end == std::string::npos ? end : end - begin);
    std::string wrong = end == std::string::npos ? "no end of the line" : "";
    if (wrong.empty()) read_line(line, wrong);
    // Only writing can tear a line, and only the last one; what is wrong but whole was not written.
    const bool torn = last && is_result(line) && csv_fields(line).size() < kResultFields;
    if (last && (end == std::string::npos || torn)) {
      report(Severity::note, fmt::format("{}:{}: the line was not written to its end; what it "
                                         "would say is found again",
                                         path_, number));
      return begin;
    }
    if (!wrong.empty()) {
      throw Error(ExitCode::rejected, Location{path_, number, 0},
                  fmt::format("not a line of a journal: {}; delete the line to have what it says "
                              "found again",
                              wrong));
    }
    begin = end + 1;
  }
  return text.size();
}

/// Takes what a line says, or says in `wrong` why it says nothing.
void Journal::read_line(const std::string& line, std::string& wrong) {
  const std::vector<std::string> f = csv_fields(line);
  if (memo_.take(f, wrong)) return;
  if (!is_result(line) || f.size() != kResultFields) {
    wrong = is_result(line) ? fmt::format("{} fields, expected {}", f.size(), kResultFields)
                            : "no kind of line that there is";
    return;
  }
  const uint64_t point = hexadecimal("point", f[1], wrong);
  PointResult result = result_of({f[2], f[3], f[4], f[5], f[6], f[7], f[8]}, wrong);
  if (wrong.empty()) found_[point] = std::move(result);
}

void Journal::take(std::map<uint64_t, PointResult> shards) {
  shards.insert(found_.begin(), found_.end());
  found_ = std::move(shards);
}

std::optional<PointResult> Journal::known(uint64_t point, int64_t goal) const {
  const auto found = found_.find(point);
  if (found == found_.end()) return std::nullopt;
  const PointResult& result = found->second;
  const bool cut = result.status == PointStatus::cut;
  if (cut && (goal == 0 || goal > result.cycles)) return std::nullopt;
  const bool over = goal > 0 && result.status != PointStatus::failed && result.cycles >= goal;
  return over ? PointResult{PointStatus::cut, goal, 0, 0, 0, ""} : result;
}

Program Journal::kept(const std::string& name, const Program& from,
                      const std::function<Program()>& plan) {
  if (!keeps()) return plan();
  const std::string key = fmt::format("{} {:016x}", name, fnv1a(print_program(from)));
  const auto known = memo_.programs.find(key);
  if (known != memo_.programs.end()) {
    try {
      return parse_program({"the seed " + name + " of the journal", known->second});
    } catch (const Error& error) {  // somebody changed the file: planned again
      if (error.code() != ExitCode::rejected) throw;
    }
  }
  Program planned = plan();
  append(memo_line(key, planned));
  return planned;
}

void Journal::append(uint64_t point, const PointResult& result) {
  if (file_ < 0) return;
  const std::string line = line_of(point, result);
  const std::lock_guard lock(mutex_);
  write(line);
  if (::fsync(file_) != 0) cannot("write");
}

void Journal::append(const std::string& memo_line) {
  if (file_ < 0) return;
  const std::lock_guard lock(mutex_);
  write(memo_line);
}

void Journal::write(const std::string& line) {
  for (size_t done = 0; done < line.size();) {
    const ssize_t wrote = ::write(file_, line.data() + done, line.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) cannot("write");
    done += static_cast<size_t>(wrote);
  }
}

}  // namespace fuseflow
