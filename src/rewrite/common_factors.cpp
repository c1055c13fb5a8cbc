#include "rewrite/common_factors.h"

#include <algorithm>
#include <optional>

namespace fuseflow {

namespace {

void find_bound(const Term& term, std::set<IndexId>& bound) {
  bound.insert(term.expr.over.begin(), term.expr.over.end());
  for (const Term& child : term.children) find_bound(child, bound);
}

std::set<IndexId> bound_in(const Addend& addend) {
  std::set<IndexId> bound = addend.summed;
  for (const AddendFactor& f : addend.factors) find_bound(f.factor.term, bound);
  return bound;
}

/// Which indices of one addend stand for which of another: only bound ones, each for one.
class Renaming {
 public:
  Renaming(const Scope& scope, const Addend& to, const Addend& from)
      : scope_(scope), bound_to_(bound_in(to)), bound_from_(bound_in(from)) {}

  const std::map<IndexId, IndexId>& places() const { return places_; }

  /// Whether the terms can be made the same. The renaming stays as it was where not.
  bool match(const Term& to, const Term& from) {
    const std::map<IndexId, IndexId> before = places_;
    if (match_in(to, from)) return true;
    places_ = before;
    return false;
  }

 private:
  bool match_in(const Term& to, const Term& from) {
    Expr own = from.expr;
    if (own.over.size() != to.expr.over.size() ||
        own.subscripts.size() != to.expr.subscripts.size() ||
        from.children.size() != to.children.size()) {
      return false;
    }
    for (size_t i = 0; i < own.over.size(); ++i) {
      if (!rename(to.expr.over[i], own.over[i])) return false;
    }
    for (size_t s = 0; s < own.subscripts.size(); ++s) {
      auto& terms = own.subscripts[s].terms;
      const auto& wanted = to.expr.subscripts[s].terms;
      if (terms.size() != wanted.size()) return false;
      for (size_t t = 0; t < terms.size(); ++t) {
        if (!rename(wanted[t].first, terms[t].first)) return false;
      }
    }
    if (own.kind == Expr::Kind::coordinate && !rename(to.expr.index, own.index)) return false;
    if (!(own == to.expr)) return false;
    for (size_t c = 0; c < to.children.size(); ++c) {
      if (!match_in(to.children[c], from.children[c])) return false;
    }
    return true;
  }

  bool rename(IndexId to, IndexId& from) {
    if (bound_to_.contains(to) && bound_from_.contains(from)) {
      if (extent(to) != extent(from)) return false;
      const auto [place, is_new] = places_.try_emplace(from, to);
      if (place->second != to || (is_new && stands_twice(to))) return false;
      from = to;
    }
    return from == to;
  }

  bool stands_twice(IndexId to) const {
    return std::count_if(places_.begin(), places_.end(),
                         [&](const auto& place) { return place.second == to; }) > 1;
  }

  int64_t extent(IndexId index) const { return scope_.indices[static_cast<size_t>(index)].extent; }

  const Scope& scope_;
  std::set<IndexId> bound_to_, bound_from_;
  std::map<IndexId, IndexId> places_;
};

bool contains(const std::vector<size_t>& all, size_t one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

bool match(Renaming& renaming, const AddendFactor& to, const AddendFactor& from) {
  return to.factor.inverse == from.factor.inverse &&
         renaming.match(to.factor.term, from.factor.term);
}

/// What two addends have in common, given that it includes a certain factor of each.
class Pair {
 public:
  Pair(const Scope& scope, const Addend& first, const Addend& other)
      : first_(first), other_(other), renaming_(scope, first, other) {}

  /// Factors of the first, in ascending order; none if the two given ones are not the same.
  std::vector<size_t> grow(size_t first, size_t other) {
    if (!add(first, other)) return {};
    for (size_t f = 0; f < first_.factors.size(); ++f) {
      for (size_t o = 0; o < other_.factors.size(); ++o) add(f, o);
    }
    std::sort(of_first_.begin(), of_first_.end());
    return of_first_;
  }

  /// Whether the other one has all of these factors of the first.
  std::optional<SharingAddend> share(const std::vector<size_t>& factors, size_t addend) {
    for (const size_t f : factors) {
      const size_t before = of_first_.size();
      for (size_t o = 0; o < other_.factors.size() && of_first_.size() == before; ++o) add(f, o);
      if (of_first_.size() == before) return std::nullopt;
    }
    return SharingAddend{addend, of_other_, renaming_.places()};
  }

 private:
  bool add(size_t first, size_t other) {
    if (contains(of_first_, first) || contains(of_other_, other)) return false;
    if (!match(renaming_, first_.factors[first], other_.factors[other])) return false;
    of_first_.push_back(first);
    of_other_.push_back(other);
    return true;
  }

  const Addend& first_;
  const Addend& other_;
  Renaming renaming_;
  std::vector<size_t> of_first_, of_other_;
};

bool has_index(const Addend& addend, const std::vector<size_t>& factors) {
  return std::any_of(factors.begin(), factors.end(),
                     [&](size_t f) { return !addend.factors[f].factor.free.empty(); });
}

/// The sets of factors that an addend has in common with a later one.
std::set<std::vector<size_t>> sets_of(const Scope& scope, const std::vector<Addend>& addends,
                                      size_t first) {
  std::set<std::vector<size_t>> sets;
  for (size_t other = first + 1; other < addends.size(); ++other) {
    for (size_t f = 0; f < addends[first].factors.size(); ++f) {
      for (size_t o = 0; o < addends[other].factors.size(); ++o) {
        const std::vector<size_t> set = Pair(scope, addends[first], addends[other]).grow(f, o);
        if (has_index(addends[first], set)) sets.insert(set);
      }
    }
  }
  return sets;
}

}  // namespace

std::vector<CommonFactors> common_factors(const Scope& scope, const std::vector<Addend>& addends) {
  std::vector<CommonFactors> found;
  for (size_t first = 0; first < addends.size(); ++first) {
    for (const std::vector<size_t>& set : sets_of(scope, addends, first)) {
      CommonFactors sharers;
      for (size_t other = 0; other < addends.size(); ++other) {
        const auto sharer = other == first
                                ? SharingAddend{first, set, {}}
                                : Pair(scope, addends[first], addends[other]).share(set, other);
        if (sharer) sharers.push_back(*sharer);
      }
      // Sets whose first sharer is another addend were found from that one.
      if (sharers[0].addend == first && sharers.size() > 1) found.push_back(std::move(sharers));
    }
  }
  return found;
}

}  // namespace fuseflow
