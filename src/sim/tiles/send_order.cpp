#include "sim/tiles/send_order.h"

#include <algorithm>
#include <tuple>

namespace fuseflow {
namespace {

/// By operation: how many others have to run before it, one after the other.
class StepsBefore {
 public:
  StepsBefore(const TileOps& ops, const Successors& successors, const SharedLoads& shared)
      : after_(successors), shared_(shared), waits_(successors.waits), steps_(ops.nodes.size(), 0) {
    for (const auto& members : shared.members) missing_.push_back(members.size());
  }

  std::vector<int32_t> count() {
    for (size_t i = 0; i < waits_.size(); ++i) {
      if (waits_[i] == 0) reach(static_cast<int32_t>(i));
    }
    for (size_t at = 0; at < reached_.size(); ++at) {
      const auto op = static_cast<size_t>(reached_[at]);
      for (int32_t e = after_.first[op]; e < after_.first[op + 1]; ++e) {
        const int32_t next = after_.nodes[static_cast<size_t>(e)];
        int32_t& steps = steps_[static_cast<size_t>(next)];
        steps = std::max(steps, steps_[op] + 1);
        if (--waits_[static_cast<size_t>(next)] == 0) reach(next);
      }
    }
    return std::move(steps_);
  }

 private:
  /// All before an operation is counted. Loads that come together begin together.
  void reach(int32_t op) {
    const int32_t group = shared_.group.empty() ? -1 : shared_.group[static_cast<size_t>(op)];
    if (group < 0) return reached_.push_back(op);
    if (--missing_[static_cast<size_t>(group)] > 0) return;
    const std::vector<int32_t>& members = shared_.members[static_cast<size_t>(group)];
    int32_t most = 0;
    for (const int32_t each : members) most = std::max(most, steps_[static_cast<size_t>(each)]);
    for (const int32_t each : members) steps_[static_cast<size_t>(each)] = most;
    reached_.insert(reached_.end(), members.begin(), members.end());
  }

  const Successors& after_;
  const SharedLoads& shared_;
  std::vector<int32_t> waits_;
  std::vector<size_t> missing_;  ///< by group of loads
  std::vector<int32_t> steps_;
  std::vector<int32_t> reached_;
};

}  // namespace

SendOrder::SendOrder(const TileOps& ops, const Successors& successors, const SharedLoads& shared)
    : place(ops.nodes.size(), kNone) {
  for (size_t i = 0; i < place.size(); ++i) {
    if (ops.nodes[i].kind == TileOpKind::send) sends.push_back(static_cast<int32_t>(i));
  }
  if (sends.empty()) return;
  const std::vector<int32_t> steps = StepsBefore(ops, successors, shared).count();
  const auto core = [&](int32_t op) { return ops.nodes[static_cast<size_t>(op)].core; };
  const auto key = [&](int32_t op) {
    return std::tuple(core(op), steps[static_cast<size_t>(op)], op);
  };
  std::sort(sends.begin(), sends.end(), [&](int32_t a, int32_t b) { return key(a) < key(b); });
  for (size_t at = 0; at < sends.size(); ++at) {
    place[static_cast<size_t>(sends[at])] = static_cast<int32_t>(at);
    first.push_back(at == 0 || core(sends[at - 1]) != core(sends[at]));
  }
}

int32_t SendOrder::next(int32_t at) const {
  const auto following = static_cast<size_t>(at) + 1;
  return following < sends.size() && !first[following] ? at + 1 : kNone;
}

}  // namespace fuseflow
