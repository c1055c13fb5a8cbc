#include "ir/value_numbers.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace fuseflow {

namespace {

/// Indices of reductions around two nodes, those in the same place beside each other.
using Bound = std::vector<std::pair<IndexId, IndexId>>;

bool same_index(IndexId a, IndexId b, const Bound& bound) {
  // The innermost reduction of either decides.
  for (auto pair = bound.rbegin(); pair != bound.rend(); ++pair) {
    if (pair->first == a || pair->second == b) return pair->first == a && pair->second == b;
  }
  return a == b;
}

class Numbering {
 public:
  explicit Numbering(const Statement& statement) : s_(statement) {}

  std::vector<int> run() {
    for (size_t n = 0; n < s_.nodes.size(); ++n) numbers_.push_back(number_of(n));
    return std::move(numbers_);
  }

 private:
  /// That of the first node with the same value.
  int number_of(size_t n) {
    for (size_t m = 0; m < n; ++m) {
      const bool first = numbers_[m] == static_cast<int>(m);
      if (first && same(static_cast<int32_t>(m), static_cast<int32_t>(n))) return numbers_[m];
    }
    return static_cast<int>(n);
  }

  bool same(int32_t a, int32_t b) {
    const Expr& x = s_.nodes[static_cast<size_t>(a)];
    const Expr& y = s_.nodes[static_cast<size_t>(b)];
    if (x.kind != y.kind || x.children.size() != y.children.size()) return false;
    switch (x.kind) {
      case Expr::Kind::access:
        return x.tensor == y.tensor && same_subscripts(x, y);
      case Expr::Kind::constant:
        return std::bit_cast<uint32_t>(x.constant) == std::bit_cast<uint32_t>(y.constant);
      case Expr::Kind::coordinate:
        return same_index(x.index, y.index, bound_);
      case Expr::Kind::apply:
        return x.op == y.op && same_children(x, y);
      case Expr::Kind::reduce:
        return same_reductions(x, y);
    }
    return false;
  }

  bool same_children(const Expr& x, const Expr& y) {
    for (size_t c = 0; c < x.children.size(); ++c) {
      const int32_t a = x.children[c], b = y.children[c];
      // Outside of reductions both have numbers already.
      const bool equal = bound_.empty()
                             ? numbers_[static_cast<size_t>(a)] == numbers_[static_cast<size_t>(b)]
                             : same(a, b);
      if (!equal) return false;
    }
    return true;
  }

  bool same_subscripts(const Expr& x, const Expr& y) const {
    if (x.subscripts.size() != y.subscripts.size()) return false;
    for (size_t d = 0; d < x.subscripts.size(); ++d) {
      const Subscript &p = x.subscripts[d], &q = y.subscripts[d];
      const auto equal = [&](const auto& t, const auto& u) {
        return t.second == u.second && same_index(t.first, u.first, bound_);
      };
      if (p.offset != q.offset || p.terms.size() != q.terms.size() ||
          !std::equal(p.terms.begin(), p.terms.end(), q.terms.begin(), equal))
        return false;
    }
    return true;
  }

  bool same_reductions(const Expr& x, const Expr& y) {
    if (x.reduction != y.reduction || x.over.size() != y.over.size()) return false;
    const size_t outer = bound_.size();
    bool equal = true;
    for (size_t i = 0; i < x.over.size(); ++i) {
      equal = equal && same_loop(x.over[i], y.over[i]);
      bound_.emplace_back(x.over[i], y.over[i]);
    }
    equal = equal && same_children(x, y);
    bound_.resize(outer);
    return equal;
  }

  /// One loop, or two of the same known extent.
  bool same_loop(IndexId a, IndexId b) const {
    const int64_t extent = s_.indices[static_cast<size_t>(a)].extent;
    return a == b || (extent >= 0 && extent == s_.indices[static_cast<size_t>(b)].extent);
  }

  const Statement& s_;
  std::vector<int> numbers_;
  Bound bound_;
};

bool may_square(const Expr& node) {
  if (node.kind != Expr::Kind::apply) return false;
  return node.op == Op::mul || node.op == Op::div || node.op == Op::max || node.op == Op::min;
}

}  // namespace

std::vector<int> value_numbers(const Statement& statement) {
  constexpr size_t kMostNodes = 512;  // every pair is looked at
  const std::vector<Expr>& nodes = statement.nodes;
  if (nodes.size() > kMostNodes || std::none_of(nodes.begin(), nodes.end(), may_square)) return {};
  return Numbering(statement).run();
}

}  // namespace fuseflow
