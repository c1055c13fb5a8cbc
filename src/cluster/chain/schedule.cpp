#include "cluster/chain/schedule.h"

#include <fmt/format.h>

#include "support/error.h"

namespace fuseflow::cluster {
namespace {

constexpr int kMostTemporalLoops = 3;

void extend(const LoopSchedule& prefix, int loops, std::vector<LoopSchedule>& out) {
  if (prefix.loops() == loops) {
    out.push_back(prefix);
    return;
  }
  for (const Dim dim : kAllDims) {
    if (!prefix.temporal(dim)) {
      LoopSchedule longer = prefix;
      longer.push_inner(dim);
      extend(longer, loops, out);
    }
  }
}

}  // namespace

LoopSchedule LoopSchedule::parse(std::string_view letters) {
  LoopSchedule schedule;
  for (const char letter : letters) {
    const size_t at = std::string_view("MNKL").find(letter);
    if (at == std::string_view::npos || schedule.temporal(static_cast<Dim>(at))) {
      throw Error(
          ExitCode::usage,
          fmt::format("bad loop schedule '{}', expected each of M, N, K, L at most once", letters));
    }
    schedule.push_inner(static_cast<Dim>(at));
  }
  return schedule;
}

void LoopSchedule::push_inner(Dim dim) {
  order_[static_cast<size_t>(loops_)] = dim;
  position_[static_cast<size_t>(dim)] = loops_;
  ++loops_;
}

std::string LoopSchedule::name() const {
  std::string text;
  for (int depth = 0; depth < loops_; ++depth) {
    text += letter_of(loop(depth));
  }
  text += '/';
  for (const Dim dim : kAllDims) {
    if (!temporal(dim)) {
      text += letter_of(dim);
    }
  }
  return text;
}

std::vector<LoopSchedule> all_schedules() {
  std::vector<LoopSchedule> schedules;
  for (int loops = 0; loops <= kMostTemporalLoops; ++loops) {
    extend(LoopSchedule(), loops, schedules);
  }
  return schedules;
}

bool accumulation_innermost(const LoopSchedule& schedule) {
  const int outer = schedule.loops() - (schedule.temporal(Dim::k) ? 1 : 0);
  const bool innermost = schedule.position(Dim::k) == schedule.loops() - 1;
  return outer > 0 && (!schedule.temporal(Dim::k) || innermost);
}

std::vector<LoopSchedule> pruned_schedules() {
  std::vector<LoopSchedule> kept;
  for (const LoopSchedule& schedule : all_schedules()) {
    // Pruning rule 4: L is not split over clusters, i.e. it is a temporal loop (16 of the 24).
    const bool l_in_one_cluster = schedule.temporal(Dim::l);
    if (accumulation_innermost(schedule) && l_in_one_cluster) kept.push_back(schedule);
  }
  return kept;
}

std::vector<ClusterShape> all_cluster_shapes() {
  constexpr std::array<int, 5> kSizes{1, 2, 4, 8, 16};
  std::vector<ClusterShape> shapes;
  for (const int m : kSizes) {
    for (const int n : kSizes) {
      for (const int k : kSizes) {
        for (const int l : kSizes) {
          shapes.push_back({m, n, k, l});
        }
      }
    }
  }
  return shapes;
}

bool shape_allowed(const ClusterShape& shape) {
  return shape.cores() <= kLargestCluster && shape.cores() > 1 && shape.l >= shape.k;
}

}  // namespace fuseflow::cluster
