#include "explore/orders.h"

#include <algorithm>
#include <set>

#include "passes/orders.h"
#include "tensor/random.h"

namespace fuseflow {

namespace {

class OrderSampler {
 public:
  explicit OrderSampler(const RegionIndices& indices)
      : indices_(indices), partial_(partial_order(indices, false)) {}

  std::vector<std::vector<int>> sample(size_t limit) {
    const std::vector<int> usual = default_order(indices_);
    limit_ = limit;
    add(usual);
    const bool all = for_each_sort(partial_, [&](const std::vector<int>& order) {
      add(order);
      return found_.size() <= limit_;
    });
    if (!all) {
      found_ = {usual};
      known_ = {usual};
      neighbours(usual);
      draw();
    }
    return std::move(found_);
  }

 private:
  void add(std::vector<int> order) {
    if (known_.insert(order).second) found_.push_back(std::move(order));
  }

  void neighbours(const std::vector<int>& first) {
    for (size_t i = 0; i + 1 < first.size() && found_.size() < limit_; ++i) {
      std::vector<int> order = first;
      std::swap(order[i], order[i + 1]);
      if (!why_illegal(indices_, order)) add(std::move(order));
    }
  }

  void draw() {
    Random random(1);
    for (int tries = 0; tries < 1000 && found_.size() < limit_; ++tries) add(drawn(random));
  }

  /// A sort, each element one of those that all before it leave ready.
  std::vector<int> drawn(Random& random) const {
    std::vector<int> order;
    std::vector<bool> taken(partial_.size(), false);
    while (order.size() < partial_.size()) {
      std::vector<int> ready;
      for (size_t i = 0; i < partial_.size(); ++i) {
        const std::vector<int>& before = partial_.before[i];
        const bool is_ready = std::all_of(before.begin(), before.end(),
                                          [&](int b) { return taken[static_cast<size_t>(b)]; });
        if (!taken[i] && is_ready) ready.push_back(static_cast<int>(i));
      }
      order.push_back(ready[random.below(ready.size())]);
      taken[static_cast<size_t>(order.back())] = true;
    }
    return order;
  }

  const RegionIndices& indices_;
  const PartialOrder partial_;
  std::vector<std::vector<int>> found_;
  std::set<std::vector<int>> known_;
  size_t limit_ = 1;
};

}  // namespace

std::vector<std::vector<std::string>> candidate_orders(const RegionIndices& indices, size_t limit) {
  std::vector<std::vector<std::string>> result;
  for (const std::vector<int>& order : OrderSampler(indices).sample(limit)) {
    result.push_back(indices.names(order));
  }
  return result;
}

}  // namespace fuseflow
