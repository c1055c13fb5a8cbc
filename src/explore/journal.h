// What is known of points from before, and where new results go: on disk, appended one by one and
// flushed to the device, so that a search that is killed goes on where it was; beside them what it
// has worked out (memo.h). Without a file nothing is kept. Simulates and plans nothing.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "explore/identity.h"
#include "explore/memo.h"
#include "explore/point_result.h"

namespace fuseflow {

class Journal {
 public:
  /// Opens or creates `path` (empty: no journal) and keeps it locked. Throws Error(rejected) if it
  /// is no journal or one of another search, if another process has it open as a journal, or a line
  /// of it is wrong: the file then stays as it is. Throws Error(io) if it cannot be written.
  Journal(const std::string& path, const SearchIdentity& search);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// Results of merged shards, which count before those of the file.
  void take(std::map<uint64_t, PointResult> shards);
  /// As the search began.
  const std::map<uint64_t, PointResult>& found() const { return found_; }
  bool has(uint64_t point) const { return found_.count(point) > 0; }
  /// What simulating the point gives that has to take fewer cycles than `goal` (0: no goal);
  /// nothing where the result does not say so: a run that was cut says nothing of a longer one.
  std::optional<PointResult> known(uint64_t point, int64_t goal) const;
  /// What an earlier search had worked out when this one began.
  const Memo& memo() const { return memo_; }
  /// Whether what is worked out now is kept.
  bool keeps() const { return file_ >= 0; }
  /// Any thread may.
  void append(uint64_t point, const PointResult& result);
  /// A line of a memo. Any thread may. It is flushed with the next result: what is lost is worked
  /// out again.
  void append(const std::string& memo_line);
  /// What `plan` makes of `from`: what it made before where the file has that, by the name and the
  /// text of `from`, so that a resumed search does not plan it again. What `plan` throws is not
  /// kept.
  Program kept(const std::string& name, const Program& from, const std::function<Program()>& plan);

 private:
  void lock();
  void load(const SearchIdentity& search);
  /// Reads the lines from `begin` on; gives where the last whole one ends.
  size_t read_lines(const std::string& text, size_t begin);
  void read_line(const std::string& line, std::string& wrong);
  void write(const std::string& line);
  [[noreturn]] void cannot(const char* what) const;

  int file_ = -1;
  std::string path_;
  std::mutex mutex_;
  std::map<uint64_t, PointResult> found_;
  Memo memo_;
};

}  // namespace fuseflow
