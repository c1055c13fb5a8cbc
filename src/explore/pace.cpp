#include "explore/pace.h"

#include "support/interrupt.h"

namespace fuseflow {

bool Pace::out_of_time(double share) const {
  if (interrupted()) return true;
  const double spent = std::chrono::duration<double>(Clock::now() - start_).count();
  return options_.budget_seconds > 0 && spent > share * options_.budget_seconds;
}

void Pace::show(size_t done, size_t all, const std::string& what) const {
  if (options_.progress) options_.progress({what, done, all, best_});
}

}  // namespace fuseflow
