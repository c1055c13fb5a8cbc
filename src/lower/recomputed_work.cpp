#include "lower/recomputed_work.h"

#include <algorithm>
#include <numeric>

namespace fuseflow {

double flops_of(const FlopsByResult& flops, TensorId result) {
  const auto found = flops.find(result);
  return found == flops.end() ? 0 : found->second;
}

namespace {

constexpr double kMostTimes = 1e300;
constexpr double kWorthStoring = 1.01;

std::vector<std::vector<size_t>> readers_of(const std::vector<Statement>& statements) {
  std::vector<std::vector<size_t>> readers(statements.size());
  std::map<TensorId, size_t> computed_by;
  for (size_t s = 0; s < statements.size(); ++s) {
    for (const Expr& node : statements[s].nodes) {
      if (node.kind != Expr::Kind::access) continue;
      const auto found = computed_by.find(node.tensor);
      if (found != computed_by.end()) readers[found->second].push_back(s);
    }
    computed_by[statements[s].result] = s;
  }
  return readers;
}

}  // namespace

RecomputedWork::RecomputedWork(const std::vector<Statement>& statements, const FlopsByResult& fused,
                               const FlopsByResult& unfused)
    : readers_(readers_of(statements)),
      jumps_(statements.size(), 1),
      open_(statements.size(), true) {
  for (const Statement& s : statements) {
    const double apart = flops_of(unfused, s.result), now = flops_of(fused, s.result);
    const bool known = now < kMostTimes * apart;
    times_.push_back(known ? std::max(1.0, now / apart) : apart > 0 ? kMostTimes : 1.0);
    once_.push_back(known ? now / times_.back() : apart);
  }
  for (size_t s = times_.size(); s-- > 0;) jumps_[s] = jump_of(s);
}

double RecomputedWork::flops() const {
  return std::inner_product(times_.begin(), times_.end(), once_.begin(), 0.0);
}

std::optional<size_t> RecomputedWork::worst() const {
  std::optional<size_t> worst;
  for (size_t s = 0; s < jumps_.size(); ++s) {
    const double least = worst ? jumps_[*worst] : kWorthStoring;
    if (open_[s] && jumps_[s] > least) worst = s;
  }
  return worst;
}

void RecomputedWork::settle(size_t statement, bool stored) {
  open_[statement] = false;
  if (!stored) return;
  jumps_[statement] = 0;
  for (size_t s = statement + 1; s-- > 0;)
    times_[s] = std::clamp(jumps_[s] * times_of_readers(s), 1.0, kMostTimes);
}

/// Where the times are beyond what can be said, as much as that of a reader.
double RecomputedWork::jump_of(size_t statement) const {
  if (times_[statement] < kMostTimes) return times_[statement] / times_of_readers(statement);
  double largest = 2;
  for (const size_t reader : readers_[statement]) largest = std::max(largest, jumps_[reader]);
  return largest;
}

double RecomputedWork::times_of_readers(size_t statement) const {
  double times = 1;
  for (const size_t reader : readers_[statement]) times = std::max(times, times_[reader]);
  return times;
}

}  // namespace fuseflow
