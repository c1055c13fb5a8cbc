#include "estimate/row_waits.h"

#include <algorithm>
#include <cmath>

namespace fuseflow::estimate {

namespace {

using Holds = RowWait::Holds;

/// Changes the wait of a reduction within a fiber: the fiber is given at its end, and all of it is
/// left for what follows.
void end_fiber(double fibers, double pace, RowWait& wait) {
  constexpr double kRounding = 1e-6;
  const double done = 1 - wait.left;
  const double begun = std::floor(done * fibers + kRounding) / fibers;
  if (done - begun <= kRounding) return;
  wait.there += (begun + 1 / fibers - done) * pace;
  wait.left = 1 - begun;
}

}  // namespace

void RowWaits::add(const RowWait& more) {
  const auto covers = [](const RowWait& a, const RowWait& b) {
    return a.holds == b.holds && a.fibers == b.fibers && a.there >= b.there && a.left >= b.left;
  };
  const auto covers_more = [&](const RowWait& wait) { return covers(wait, more); };
  if (std::any_of(waits_.begin(), waits_.end(), covers_more)) return;
  std::erase_if(waits_, [&](const RowWait& wait) { return covers(more, wait); });
  waits_.push_back(more);
}

void RowWaits::add(const RowWaits& before, double fibers, double pace, double later) {
  for (RowWait wait : before.waits_) {
    if (fibers > 0 && fibers <= wait.fibers) {
      if (wait.holds == Holds::until_reduced) continue;
      wait.holds = Holds::everywhere;
      wait.fibers = 0;
    }
    if (fibers > 0) end_fiber(fibers, pace, wait);
    wait.there += later;
    wait.pace = std::max(wait.pace, pace);
    add(wait);
  }
}

bool RowWaits::add_of_reader(const RowWaits& reader, double ahead, double earlier) {
  const std::vector<RowWait> own = waits_;
  bool added = false;
  for (RowWait wait : reader.waits_) {
    const auto same = [&](const RowWait& w) { return w.load == wait.load; };
    if (wait.holds != Holds::everywhere || wait.left <= ahead) continue;
    if (std::any_of(own.begin(), own.end(), same)) continue;
    wait.there -= earlier;
    wait.left -= ahead;
    wait.of_reader = true;
    add(wait);
    added = true;
  }
  return added;
}

double RowWaits::head() const {
  double head = 0;
  for (const RowWait& wait : waits_) {
    if (wait.left >= 1 && wait.holds != Holds::once_reduced) head = std::max(head, wait.there);
  }
  return head;
}

double RowWaits::end(double pace) const {
  double end = 0;
  for (const RowWait& wait : waits_) {
    if (wait.holds != Holds::once_reduced) end = std::max(end, wait.there + pace * wait.left);
  }
  return end;
}

}  // namespace fuseflow::estimate
