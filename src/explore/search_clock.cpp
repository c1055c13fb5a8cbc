#include "explore/search_clock.h"

#include <algorithm>

#include "support/interrupt.h"

namespace fuseflow {

namespace {

double seconds_since(std::chrono::steady_clock::time_point when) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - when).count();
}

/// Of a budget: 0 would be no limit.
double left_of(const SearchOptions& options) {
  constexpr double kNoneLeft = 1e-9;
  return std::max(kNoneLeft, options.budget_seconds - seconds_since(options.started));
}

}  // namespace

SearchOptions next_of(size_t searches, SearchOptions options) {
  if (options.budget_seconds == 0) return options;
  options.budget_seconds = left_of(options) / static_cast<double>(searches);
  options.started = std::chrono::steady_clock::now();
  return options;
}

bool SearchClock::out_of_time(double share) const {
  if (interrupted()) return true;
  return options_.budget_seconds > 0 &&
         seconds_since(options_.started) > share * options_.budget_seconds;
}

double SearchClock::seconds_left() const {
  return options_.budget_seconds > 0 ? left_of(options_) : 0;
}

void SearchClock::show(size_t done, size_t all, const std::string& what) const {
  if (options_.progress) options_.progress({what, done, all, best_});
}

}  // namespace fuseflow
