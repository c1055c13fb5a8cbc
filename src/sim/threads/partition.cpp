#include "sim/threads/partition.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace fuseflow::engine {

namespace {

constexpr int kMostPasses = 4;
constexpr int kMostWithoutGain = 24;  // moves of a pass in a row that find no better division
// Ends of nets that a pass examines, about, at most: some ten milliseconds. No pass over a small
// graph is cut; one over a large graph makes fewer moves, of which each is the best of a part of
// the nodes where even kLeastMoves would take longer.
constexpr size_t kMostLooks = 400'000;
constexpr size_t kLeastMoves = 8;

/// A division that is improved by moving one node at a time (Fiduccia and Mattheyses): a pass moves
/// nodes once each, every time the one that gains most or loses least, and keeps the best division
/// met.
class Division {
 public:
  Division(const Workload& workload, int parts)
      : Division(workload, in_order(workload, parts), parts) {}
  Division(const Workload& workload, std::vector<int> part, int parts)
      : workload_(workload),
        parts_(static_cast<size_t>(parts)),
        part_(std::move(part)),
        ends_(workload.node.size()),
        takers_(workload.nets.size() * parts_),
        load_(parts_) {
    for (size_t n = 0; n < workload.nets.size(); ++n) {
      const Workload::Net& net = workload.nets[n];
      ends_[net.from].push_back({n, 0});
      for (const int to : net.to) {
        auto& own = ends_[to];
        if (own.empty() || own.back().net != n) own.push_back({n, 0});
        ++own.back().takes;
        ++takers_[n * parts_ + static_cast<size_t>(part_[to])];
      }
    }
    size_t looks = 1;  // to find one move among all
    for (const auto& own : ends_) looks += own.size() * parts_;
    stride_ = 1 + looks * kLeastMoves / kMostLooks;
    most_moves_ = std::max(kLeastMoves, kMostLooks / looks);
    measure();
  }

  const std::vector<double>& load() const { return load_; }

  std::vector<int> improve() {
    for (int pass = 0; pass < kMostPasses && improve_once(); ++pass) {
    }
    return part_;
  }

 private:
  /// Stretches of nodes in graph order with equal work: neighbours are mostly near each other.
  static std::vector<int> in_order(const Workload& workload, int parts) {
    const double all = std::accumulate(workload.node.begin(), workload.node.end(), 0.0);
    std::vector<int> part;
    double before = 0;
    for (const double work : workload.node) {
      const double middle = before + work / 2;
      const int p = all > 0 ? static_cast<int>(middle / all * parts) : 0;
      part.push_back(std::clamp(p, 0, parts - 1));
      before += work;
    }
    return part;
  }

  double badness() const {
    double sum = 0;
    for (const double load : load_) sum += load * load;
    return sum;
  }

  /// The load of every part, from the beginning.
  void measure() {
    std::fill(load_.begin(), load_.end(), 0.0);
    for (size_t n = 0; n < part_.size(); ++n) {
      load_[part_[n]] += workload_.node[n];
    }
    for (size_t n = 0; n < workload_.nets.size(); ++n) count(n, 1);
  }

  /// Adds `factor` times what a net costs to the loads.
  void count(size_t n, double factor) {
    const Workload::Net& net = workload_.nets[n];
    const auto home = static_cast<size_t>(part_[net.from]);
    const int* takers = takers_.data() + n * parts_;
    bool leaves = false;
    for (size_t p = 0; p < parts_; ++p) {
      if (p == home || takers[p] == 0) continue;
      leaves = true;
      load_[p] += factor * net.taking;
    }
    if (leaves) load_[home] += factor * net.giving;
  }

  void move(size_t node, int to) {
    const int from = part_[node];
    for (const Pin& end : ends_[node]) count(end.net, -1);
    load_[from] -= workload_.node[node];
    part_[node] = to;
    load_[to] += workload_.node[node];
    for (const Pin& end : ends_[node]) {
      takers_[end.net * parts_ + static_cast<size_t>(from)] -= end.takes;
      takers_[end.net * parts_ + static_cast<size_t>(to)] += end.takes;
    }
    for (const Pin& end : ends_[node]) count(end.net, 1);
  }

  bool improve_once() {
    const std::vector<int> before = part_;
    const double start = badness();
    double best = start;
    std::vector<int> best_part = part_;
    std::vector<bool> moved(part_.size(), false);
    size_t left = most_moves_;
    for (int without_gain = 0; without_gain < kMostWithoutGain && left > 0;
         ++without_gain, --left) {
      const auto [node, to, reached] = best_move(moved);
      if (node == part_.size()) break;
      move(node, to);
      moved[node] = true;
      if (reached < best * (1 - 1e-9)) {
        best = reached;
        best_part = part_;
        without_gain = 0;
      }
    }
    for (size_t node = 0; node < part_.size(); ++node) {
      if (part_[node] != best_part[node]) move(node, best_part[node]);
    }
    measure();  // without what moves have rounded
    return part_ != before;
  }

  struct Move {
    size_t node;
    int to;
    double badness;
  };
  /// Of every stride_-th node, each time of others.
  Move best_move(const std::vector<bool>& moved) {
    Move best{part_.size(), 0, 0};
    for (size_t node = moves_++ % stride_; node < part_.size(); node += stride_) {
      if (moved[node]) continue;
      const int home = part_[node];
      for (int to = 0; to < static_cast<int>(parts_); ++to) {
        if (to == home) continue;
        kept_ = load_;
        move(node, to);
        const double reached = badness();
        move(node, home);
        load_ = kept_;  // to the last bit
        if (best.node == part_.size() || reached < best.badness) best = {node, to, reached};
      }
    }
    return best;
  }

  /// A net that a node gives to, or takes from so many times.
  struct Pin {
    size_t net;
    int takes;
  };

  const Workload& workload_;
  const size_t parts_;
  std::vector<int> part_;
  std::vector<std::vector<Pin>> ends_;  // by node
  std::vector<int> takers_;             // by net and part
  size_t stride_ = 1;
  size_t most_moves_ = 0;     // of a pass
  size_t moves_ = 0;          // so far
  std::vector<double> load_;  // by part
  std::vector<double> kept_;  // those before a trial
};

}  // namespace

std::vector<double> loads(const Workload& workload, const std::vector<int>& part, int parts) {
  return Division(workload, part, parts).load();
}

std::vector<int> divide(const Workload& workload, int parts) {
  if (parts <= 1) return std::vector<int>(workload.node.size(), 0);
  return Division(workload, parts).improve();
}

}  // namespace fuseflow::engine
