#include "explore/search_clock.h"

#include <algorithm>

#include "support/interrupt.h"

namespace fuseflow {

SearchOptions next_of(size_t searches, SearchOptions options) {
  constexpr double kNoneLeft = 1e-9;  // 0: no limit
  const auto now = std::chrono::steady_clock::now();
  const double spent = std::chrono::duration<double>(now - options.started).count();
  if (options.budget_seconds == 0) return options;
  const double left = options.budget_seconds - spent;
  options.budget_seconds = std::max(kNoneLeft, left / static_cast<double>(searches));
  options.started = now;
  return options;
}

bool SearchClock::out_of_time(double share) const {
  if (interrupted()) return true;
  const double spent = std::chrono::duration<double>(Clock::now() - options_.started).count();
  return options_.budget_seconds > 0 && spent > share * options_.budget_seconds;
}

void SearchClock::show(size_t done, size_t all, const std::string& what) const {
  if (options_.progress) options_.progress({what, done, all, best_});
}

}  // namespace fuseflow
