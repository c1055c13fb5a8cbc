#include "support/strong_components.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace fuseflow {

namespace {

constexpr size_t kNone = std::numeric_limits<size_t>::max();

class Tarjan {
 public:
  explicit Tarjan(const Edges& edges)
      : edges_(edges), number_(edges.nodes(), kNone), low_(edges.nodes(), 0) {
    found_.part.assign(edges.nodes(), kNone);
  }

  StrongComponents run() {
    for (size_t v = 0; v < edges_.nodes(); ++v) {
      if (number_[v] == kNone) visit(v);
    }
    return std::move(found_);
  }

 private:
  struct Frame {
    size_t node = 0;
    size_t edge = 0;
  };

  void enter(size_t v) {
    number_[v] = low_[v] = counted_++;
    open_.push_back(v);
    path_.push_back({v, 0});
  }

  void visit(size_t start) {
    enter(start);
    while (!path_.empty()) {
      Frame& top = path_.back();
      const size_t v = top.node;
      const auto next = edges_.from(v);
      if (top.edge < next.size()) {
        const size_t w = next[top.edge++];
        if (number_[w] == kNone) {
          enter(w);
        } else if (found_.part[w] == kNone) {
          low_[v] = std::min(low_[v], number_[w]);
        }
        continue;
      }
      leave(v);
    }
  }

  void leave(size_t v) {
    path_.pop_back();
    if (!path_.empty()) low_[path_.back().node] = std::min(low_[path_.back().node], low_[v]);
    if (low_[v] != number_[v]) return;
    for (size_t w = kNone; w != v;) {
      w = open_.back();
      open_.pop_back();
      found_.part[w] = found_.count;
    }
    ++found_.count;
  }

  const Edges& edges_;
  StrongComponents found_;
  std::vector<size_t> number_;
  std::vector<size_t> low_;
  std::vector<size_t> open_;
  std::vector<Frame> path_;
  size_t counted_ = 0;
};

}  // namespace

StrongComponents strong_components(const Edges& edges) {
  return Tarjan(edges).run();
}

StrongComponents strong_components(const std::vector<std::vector<size_t>>& next) {
  return strong_components(Edges(next.size(), [&](const auto& add) {
    for (size_t v = 0; v < next.size(); ++v) {
      for (const size_t w : next[v]) add(v, w);
    }
  }));
}

}  // namespace fuseflow
