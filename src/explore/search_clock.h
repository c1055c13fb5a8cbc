// How much of its time a search has left, and what it tells of how far it is. Decides nothing.
#pragma once

#include <chrono>
#include <string>

#include "explore/search_options.h"

namespace fuseflow {

/// The options of the next of so many searches, from now on: its share of the time that is left.
SearchOptions next_of(size_t searches, SearchOptions options);

class SearchClock {
 public:
  explicit SearchClock(const SearchOptions& options) : options_(options) {}

  /// Also when a signal asked the search to end. `share`: of the time budget.
  bool out_of_time(double share = 1) const;
  /// Of the time budget; 0 where there is none. Of one that is spent it is a little more than 0.
  double seconds_left() const;
  /// Any thread may.
  void show(size_t done, size_t all, const std::string& what) const;
  /// What the best program so far takes, for what is shown. Not while threads show.
  void set_best(std::string text) { best_ = std::move(text); }

 private:
  const SearchOptions& options_;
  std::string best_;
};

}  // namespace fuseflow
