#include "lower/reach.h"

#include <algorithm>
#include <limits>

namespace fuseflow {

namespace {

constexpr size_t kNone = std::numeric_limits<size_t>::max();

/// Tarjan's strongly connected parts without recursion. Parts are numbered so that every edge goes
/// to the same or a smaller number.
class Parts {
 public:
  explicit Parts(const std::vector<std::vector<size_t>>& next)
      : next_(next), part(next.size(), kNone), number_(next.size(), kNone), low_(next.size(), 0) {}

  void run() {
    for (size_t v = 0; v < next_.size(); ++v) {
      if (number_[v] == kNone) visit(v);
    }
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
      if (top.edge < next_[v].size()) {
        const size_t w = next_[v][top.edge++];
        if (number_[w] == kNone) {
          enter(w);
        } else if (part[w] == kNone) {
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
      part[w] = count;
    }
    ++count;
  }

  const std::vector<std::vector<size_t>>& next_;

 public:
  std::vector<size_t> part;
  size_t count = 0;

 private:
  std::vector<size_t> number_;
  std::vector<size_t> low_;
  std::vector<size_t> open_;
  std::vector<Frame> path_;
  size_t counted_ = 0;
};

}  // namespace

Reach::Reach(const std::vector<std::vector<size_t>>& next, size_t marks) {
  Parts parts(next);
  parts.run();
  part_ = std::move(parts.part);
  reached_.resize(parts.count);
  std::vector<std::vector<size_t>> members(parts.count);
  for (size_t v = 0; v < part_.size(); ++v) members[part_[v]].push_back(v);
  std::vector<size_t> added(parts.count, kNone);
  for (size_t p = 0; p < parts.count; ++p) {
    for (const size_t v : members[p]) {
      if (v < marks) reached_[p].add(v);
      for (const size_t w : next[v]) {
        const size_t q = part_[w];
        if (q != p && added[q] != p) reached_[p].add(reached_[q]);
        added[q] = p;
      }
    }
  }
}

}  // namespace fuseflow
