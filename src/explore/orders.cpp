#include "explore/orders.h"

#include <algorithm>
#include <set>

#include "tensor/random.h"

namespace fuseflow {

namespace {

class OrderSampler {
 public:
  explicit OrderSampler(const RegionIndices& indices)
      : indices_(indices), after_(indices.indices.size()), waiting_(indices.indices.size(), 0) {
    for (const OrderEdge& edge : indices.edges) {
      if (edge.kind == EdgeKind::preference) continue;
      after_[static_cast<size_t>(edge.before)].push_back(edge.after);
      ++waiting_[static_cast<size_t>(edge.after)];
    }
  }

  std::vector<std::vector<int>> sample(size_t limit) {
    add(default_order(indices_));
    const size_t before = found_.size();
    limit_ = limit;
    if (!enumerate()) {
      found_.resize(before);
      known_ = {found_.begin(), found_.end()};
      neighbours();
      draw();
    }
    return std::move(found_);
  }

 private:
  void add(std::vector<int> order) {
    if (known_.insert(order).second) found_.push_back(std::move(order));
  }

  /// All sorts, if there are at most `limit_`.
  bool enumerate() {
    std::vector<int> prefix;
    std::vector<int> waiting = waiting_;
    return extend(prefix, waiting) && found_.size() <= limit_;
  }

  bool extend(std::vector<int>& prefix, std::vector<int>& waiting) {
    if (found_.size() > limit_) return false;
    if (prefix.size() == waiting.size()) {
      add(prefix);
      return true;
    }
    for (size_t next = 0; next < waiting.size(); ++next) {
      if (waiting[next] != 0) continue;
      take(static_cast<int>(next), prefix, waiting);
      const bool going = extend(prefix, waiting);
      prefix.pop_back();
      waiting[next] = 0;
      for (const int later : after_[next]) ++waiting[static_cast<size_t>(later)];
      if (!going) return false;
    }
    return true;
  }

  void take(int next, std::vector<int>& prefix, std::vector<int>& waiting) const {
    prefix.push_back(next);
    waiting[static_cast<size_t>(next)] = -1;
    for (const int later : after_[static_cast<size_t>(next)]) --waiting[static_cast<size_t>(later)];
  }

  void neighbours() {
    const std::vector<int> first = found_.front();
    for (size_t i = 0; i + 1 < first.size() && found_.size() < limit_; ++i) {
      std::vector<int> order = first;
      std::swap(order[i], order[i + 1]);
      if (!why_illegal(indices_, order)) add(std::move(order));
    }
  }

  void draw() {
    Random random(1);
    for (int tries = 0; tries < 1000 && found_.size() < limit_; ++tries) {
      std::vector<int> prefix;
      std::vector<int> waiting = waiting_;
      while (prefix.size() < waiting.size()) {
        std::vector<int> ready;
        for (size_t i = 0; i < waiting.size(); ++i) {
          if (waiting[i] == 0) ready.push_back(static_cast<int>(i));
        }
        if (ready.empty()) return;  // a cycle: lowering reports it
        take(ready[random.below(ready.size())], prefix, waiting);
      }
      add(std::move(prefix));
    }
  }

  const RegionIndices& indices_;
  std::vector<std::vector<int>> after_;
  std::vector<int> waiting_;
  std::vector<std::vector<int>> found_;
  std::set<std::vector<int>> known_;
  size_t limit_ = 1;
};

}  // namespace

std::vector<std::vector<std::string>> candidate_orders(const RegionIndices& indices, size_t limit) {
  std::vector<std::vector<std::string>> result;
  for (const std::vector<int>& order : OrderSampler(indices).sample(limit)) {
    std::vector<std::string> names;
    names.reserve(order.size());
    for (const int i : order) names.push_back(indices.indices[static_cast<size_t>(i)].name);
    result.push_back(std::move(names));
  }
  return result;
}

}  // namespace fuseflow
