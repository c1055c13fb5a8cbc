// The part of an expression that reduces is written out as a tree; the rest stays shared.
#include "linalg/own_indices.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "support/error.h"

namespace fuseflow {

namespace {

constexpr size_t kMostOwnNodes = 20000;

using Renamed = std::map<IndexId, IndexId>;

class OwnIndices {
 public:
  explicit OwnIndices(View& value) : value_(value), reduces_(value.nodes.size(), false) {
    for (size_t n = 0; n < reduces_.size(); ++n) {
      const Expr& e = value.nodes[n];
      reduces_[n] = e.kind == Expr::Kind::reduce ||
                    std::any_of(e.children.begin(), e.children.end(), [&](int32_t child) {
                      return reduces_[static_cast<size_t>(child)];
                    });
    }
  }
  /// Whether an index is reduced more than once when everything shared is written out.
  bool needed() const;
  void run();

 private:
  int32_t copy(int32_t n, const Renamed& renamed);
  void rename(Expr& e, const Renamed& renamed) const;
  /// New indices for those of a reduction that another one has.
  Renamed own(Expr& e, Renamed renamed);

  View& value_;
  std::vector<bool> reduces_;  ///< by node: something below it does
  std::vector<Expr> made_;
  std::map<int32_t, int32_t> shared_;  ///< nodes that nothing is renamed in
  std::set<IndexId> taken_;
};

bool OwnIndices::needed() const {
  std::vector<int> uses(value_.nodes.size(), 0);
  uses.back() = 1;
  std::set<IndexId> reduced;
  for (size_t n = uses.size(); n-- > 0;) {  // parents before children
    const Expr& e = value_.nodes[n];
    if (uses[n] == 0) continue;
    for (const int32_t child : e.children) {
      int& use = uses[static_cast<size_t>(child)];
      use = std::min(2, use + uses[n]);
    }
    if (e.kind != Expr::Kind::reduce) continue;
    if (uses[n] > 1) return true;
    for (const IndexId index : e.over) {
      if (!reduced.insert(index).second) return true;
    }
  }
  return false;
}

void OwnIndices::rename(Expr& e, const Renamed& renamed) const {
  const auto to = [&](IndexId& index) {
    const auto found = renamed.find(index);
    if (found != renamed.end()) index = found->second;
  };
  for (Subscript& s : e.subscripts) {
    for (auto& term : s.terms) to(term.first);
  }
  for (IndexId& index : e.over) to(index);
  if (e.kind == Expr::Kind::coordinate) to(e.index);
}

Renamed OwnIndices::own(Expr& e, Renamed renamed) {
  for (IndexId& index : e.over) {
    if (taken_.insert(index).second) continue;
    const auto fresh = static_cast<IndexId>(value_.atoms.size());
    value_.atoms.push_back(value_.atoms[static_cast<size_t>(index)]);
    renamed[index] = fresh;
  }
  return renamed;
}

int32_t OwnIndices::copy(int32_t n, const Renamed& renamed) {
  const bool shared = !reduces_[static_cast<size_t>(n)] && renamed.empty();
  const auto found = shared_.find(n);
  if (shared && found != shared_.end()) return found->second;
  Expr e = value_.nodes[static_cast<size_t>(n)];
  const Renamed inside = e.kind == Expr::Kind::reduce ? own(e, renamed) : renamed;
  rename(e, inside);
  for (int32_t& child : e.children) child = copy(child, inside);
  if (made_.size() > kMostOwnNodes)
    throw Error(ExitCode::rejected,
                fmt::format("its expression uses reductions (of tensor.extract at places that data "
                            "choose, for one) so often that it has more than {} nodes; expected "
                            "several linalg operations",
                            kMostOwnNodes));
  made_.push_back(std::move(e));
  const auto at = static_cast<int32_t>(made_.size()) - 1;
  if (shared) shared_[n] = at;
  return at;
}

void OwnIndices::run() {
  copy(static_cast<int32_t>(value_.nodes.size()) - 1, {});
  value_.nodes = std::move(made_);
}

}  // namespace

void give_own_indices(View& value) {
  OwnIndices indices(value);
  if (indices.needed()) indices.run();
}

}  // namespace fuseflow
