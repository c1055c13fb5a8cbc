#include "passes/topological.h"

#include <algorithm>
#include <unordered_map>

#include "support/ceil_div.h"

namespace fuseflow {

namespace {

__extension__ using Wide = unsigned __int128;
constexpr Wide kMost = ~Wide{0};

Wide saturating_add(Wide a, Wide b) {
  return a > kMost - b ? kMost : a + b;
}
Wide saturating_multiply(Wide a, Wide b) {
  return a != 0 && b > kMost / a ? kMost : a * b;
}

std::string decimal(Wide value) {
  std::string digits;
  do {
    digits += static_cast<char>('0' + static_cast<int>(value % 10));
    value /= 10;
  } while (value != 0);
  std::reverse(digits.begin(), digits.end());
  return digits;
}

/// n over k, saturated, by Pascal's triangle.
Wide binomial(size_t n, size_t k) {
  std::vector<Wide> row(k + 1, 0);
  row[0] = 1;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = k; j > 0; --j) row[j] = saturating_add(row[j], row[j - 1]);
  }
  return row[k];
}

using Set = std::vector<uint64_t>;

struct SetHash {
  size_t operator()(const Set& set) const {
    uint64_t hash = 0x9e3779b97f4a7c15ULL;
    for (const uint64_t word : set) {
      hash ^= word;
      hash *= 0xff51afd7ed558ccdULL;
      hash ^= hash >> 32;
    }
    return hash;
  }
};

bool contains(const Set& set, int element) {
  return (set[element / 64] >> (element % 64) & 1) != 0;
}

/// Elements that are connected, each component ascending.
std::vector<std::vector<int>> components(const PartialOrder& order) {
  std::vector<int> parent(order.size());
  for (size_t i = 0; i < parent.size(); ++i) parent[i] = static_cast<int>(i);
  const auto root = [&](int i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  };
  for (size_t i = 0; i < order.size(); ++i) {
    for (const int b : order.before[i]) {
      const int x = root(static_cast<int>(i));
      const int y = root(b);
      parent[std::max(x, y)] = std::min(x, y);
    }
  }
  std::vector<std::vector<int>> result;
  std::vector<int> position(order.size(), -1);
  for (size_t i = 0; i < order.size(); ++i) {
    const int r = root(static_cast<int>(i));
    if (position[r] < 0) {
      position[r] = static_cast<int>(result.size());
      result.emplace_back();
    }
    result[position[r]].push_back(static_cast<int>(i));
  }
  return result;
}

PartialOrder restricted(const PartialOrder& order, const std::vector<int>& elements) {
  std::vector<int> position(order.size(), -1);
  for (size_t i = 0; i < elements.size(); ++i) position[elements[i]] = static_cast<int>(i);
  PartialOrder result;
  for (const int element : elements) {
    result.before.emplace_back();
    for (const int b : order.before[element]) result.before.back().push_back(position[b]);
  }
  return result;
}

struct OrderCount {
  Wide count = 0;
  bool complete = true;
};

/// Layer k holds, for every down-set of k elements, in how many orders it can be taken.
OrderCount count_connected(const PartialOrder& order, uint64_t& sets_left) {
  const size_t n = order.size();
  std::unordered_map<Set, Wide, SetHash> layer;
  layer.emplace(Set(ceil_div(n, size_t{64}), 0), 1);
  Wide total = 1;
  for (size_t k = 0; k < n; ++k) {
    std::unordered_map<Set, Wide, SetHash> next;
    for (const auto& [set, ways] : layer) {
      for (size_t i = 0; i < n; ++i) {
        if (contains(set, static_cast<int>(i))) continue;
        const std::vector<int>& before = order.before[i];
        const auto taken = [&set = set](int b) { return contains(set, b); };
        if (!std::all_of(before.begin(), before.end(), taken)) continue;
        Set larger = set;
        larger[i / 64] |= uint64_t{1} << (i % 64);
        Wide& count = next[std::move(larger)];
        count = saturating_add(count, ways);
      }
      // Every beginning that was counted can be completed: their number is a lower bound.
      if (next.size() > sets_left) return {total, false};
    }
    sets_left -= next.size();
    layer = std::move(next);
    total = 0;
    for (const auto& [set, ways] : layer) total = saturating_add(total, ways);
  }
  return {total, true};
}

class OrderLister {
 public:
  OrderLister(const PartialOrder& order, const std::function<bool(const std::vector<int>&)>& visit)
      : order_(order), visit_(visit), waiting_(order.size()), after_(order.size()) {
    for (size_t i = 0; i < order.size(); ++i) {
      waiting_[i] = static_cast<int>(order.before[i].size());
      for (const int b : order.before[i]) after_[b].push_back(static_cast<int>(i));
    }
  }

  bool run() {
    if (sorted_.size() == order_.size()) return visit_(sorted_);
    for (size_t i = 0; i < order_.size(); ++i) {
      if (waiting_[i] != 0) continue;
      waiting_[i] = -1;
      sorted_.push_back(static_cast<int>(i));
      for (const int next : after_[i]) --waiting_[next];
      const bool more = run();
      for (const int next : after_[i]) ++waiting_[next];
      sorted_.pop_back();
      waiting_[i] = 0;
      if (!more) return false;
    }
    return true;
  }

 private:
  const PartialOrder& order_;
  const std::function<bool(const std::vector<int>&)>& visit_;
  std::vector<int> waiting_;  ///< elements before it that are not taken yet; -1: taken
  std::vector<std::vector<int>> after_;
  std::vector<int> sorted_;
};

}  // namespace

bool for_each_sort(const PartialOrder& order,
                   const std::function<bool(const std::vector<int>&)>& visit) {
  return OrderLister(order, visit).run();
}

SortCount count_sorts(const PartialOrder& order, uint64_t max_sets) {
  Wide total = 1;
  size_t placed = 0;
  SortCount result;
  for (const std::vector<int>& component : components(order)) {
    const OrderCount counted = count_connected(restricted(order, component), max_sets);
    if (!counted.complete) {
      result.exact = false;
      result.stopped = "too many partial orders to visit";
    }
    placed += component.size();
    total = saturating_multiply(total, counted.count);
    total = saturating_multiply(total, binomial(placed, component.size()));
  }
  if (total == kMost) {
    result.exact = false;
    result.stopped = "the number exceeds 128 bits";
  }
  result.number = decimal(total);
  return result;
}

}  // namespace fuseflow
