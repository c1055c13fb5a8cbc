#include "sim/engine/partition.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace fuseflow::engine {

namespace {

constexpr int kMostPasses = 4;
constexpr int kMostInVain = 24;  // moves of a pass without a better division than before

/// A division that is improved by moving one node at a time (Fiduccia and Mattheyses): a pass moves
/// nodes once each, every time the one that gains most or loses least, and keeps the best division
/// met.
class Division {
 public:
  Division(const Workload& workload, int parts)
      : workload_(workload),
        parts_(parts),
        part_(in_order(workload, parts)),
        nets_(workload.node.size()),
        load_(loads(workload, part_, parts)) {
    for (size_t n = 0; n < workload.nets.size(); ++n) {
      const Workload::Net& net = workload.nets[n];
      nets_[static_cast<size_t>(net.from)].push_back(n);
      for (const int to : net.to) {
        auto& own = nets_[static_cast<size_t>(to)];
        if (own.empty() || own.back() != n) own.push_back(n);
      }
    }
  }

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

  /// Adds `factor` times what a net costs to the loads.
  void count(const Workload::Net& net, double factor) { add_net(net, part_, factor, load_); }

  friend std::vector<double> fuseflow::engine::loads(const Workload&, const std::vector<int>&, int);
  static void add_net(const Workload::Net& net, const std::vector<int>& part, double factor,
                      std::vector<double>& load) {
    const int home = part[static_cast<size_t>(net.from)];
    bool leaves = false;
    for (size_t i = 0; i < net.to.size(); ++i) {
      const int p = part[static_cast<size_t>(net.to[i])];
      if (p == home) continue;
      leaves = true;
      const bool counted =
          std::any_of(net.to.begin(), net.to.begin() + static_cast<std::ptrdiff_t>(i),
                      [&](int to) { return part[static_cast<size_t>(to)] == p; });
      if (!counted) load[static_cast<size_t>(p)] += factor * net.taking;
    }
    if (leaves) load[static_cast<size_t>(home)] += factor * net.giving;
  }

  void move(size_t node, int to) {
    for (const size_t n : nets_[node]) count(workload_.nets[n], -1);
    load_[static_cast<size_t>(part_[node])] -= workload_.node[node];
    part_[node] = to;
    load_[static_cast<size_t>(to)] += workload_.node[node];
    for (const size_t n : nets_[node]) count(workload_.nets[n], 1);
  }

  bool improve_once() {
    const std::vector<int> before = part_;
    const double start = badness();
    double best = start;
    std::vector<int> best_part = part_;
    std::vector<bool> moved(part_.size(), false);
    for (int in_vain = 0; in_vain < kMostInVain; ++in_vain) {
      const auto [node, to, reached] = best_move(moved);
      if (node == part_.size()) break;
      move(node, to);
      moved[node] = true;
      if (reached < best * (1 - 1e-9)) {
        best = reached;
        best_part = part_;
        in_vain = 0;
      }
    }
    part_ = best_part;
    load_ = loads(workload_, part_, parts_);
    return part_ != before;
  }

  struct Move {
    size_t node;
    int to;
    double badness;
  };
  Move best_move(const std::vector<bool>& moved) {
    Move best{part_.size(), 0, 0};
    for (size_t node = 0; node < part_.size(); ++node) {
      if (moved[node]) continue;
      const int home = part_[node];
      for (int to = 0; to < parts_; ++to) {
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

  const Workload& workload_;
  const int parts_;
  std::vector<int> part_;
  std::vector<std::vector<size_t>> nets_;  // by node
  std::vector<double> load_;               // by part
  std::vector<double> kept_;               // those before a trial
};

}  // namespace

std::vector<double> loads(const Workload& workload, const std::vector<int>& part, int parts) {
  std::vector<double> load(static_cast<size_t>(parts), 0.0);
  for (size_t n = 0; n < part.size(); ++n) load[static_cast<size_t>(part[n])] += workload.node[n];
  for (const Workload::Net& net : workload.nets) Division::add_net(net, part, 1, load);
  return load;
}

std::vector<int> divide(const Workload& workload, int parts) {
  if (parts <= 1) return std::vector<int>(workload.node.size(), 0);
  return Division(workload, parts).improve();
}

}  // namespace fuseflow::engine
