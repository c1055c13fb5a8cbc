#include "lower/formulas.h"

#include <algorithm>

namespace fuseflow {

Formulas::Formulas() : nodes_{{Kind::all, -1, {}}, {Kind::never, -1, {}}} {}

Formulas::Id Formulas::leaf(int number) {
  const auto [place, is_new] = leaves_.try_emplace(number, static_cast<Id>(nodes_.size()));
  if (is_new) nodes_.push_back({Kind::leaf, number, {}});
  return place->second;
}

/// a and (a or b) = a; a or (a and b) = a.
void Formulas::absorb(std::vector<Id>& parts) const {
  const auto compound = [&](Id part) { return !children(part).empty(); };
  if (std::none_of(parts.begin(), parts.end(), compound)) return;
  const std::vector<Id> all = parts;
  std::erase_if(parts, [&](Id part) {
    const std::vector<Id>& inside = children(part);
    return std::any_of(all.begin(), all.end(), [&](Id other) {
      return other != part && std::find(inside.begin(), inside.end(), other) != inside.end();
    });
  });
}

Formulas::Id Formulas::join(Kind kind, const std::vector<Id>& parts) {
  const Id neutral = kind == Kind::both ? kAll : kNever;
  const Id absorbing = kind == Kind::both ? kNever : kAll;
  std::vector<Id> list;
  const auto add = [&](Id part) {
    if (std::find(list.begin(), list.end(), part) == list.end()) list.push_back(part);
  };
  for (const Id part : parts) {
    if (part == absorbing) return absorbing;
    if (part == neutral) continue;
    if (this->kind(part) == kind) {
      for (const Id child : children(part)) add(child);
    } else {
      add(part);
    }
  }
  absorb(list);
  if (list.empty()) return neutral;
  if (list.size() == 1) return list.front();
  const auto [place, is_new] =
      joined_.try_emplace({kind, std::move(list)}, static_cast<Id>(nodes_.size()));
  if (is_new) nodes_.push_back({kind, -1, place->first.second});
  return place->second;
}

bool Formulas::mentions(Id formula, int leaf) const {
  if (kind(formula) == Kind::leaf) return leaf_of(formula) == leaf;
  const std::vector<Id>& parts = children(formula);
  return std::any_of(parts.begin(), parts.end(), [&](Id part) { return mentions(part, leaf); });
}

Formulas::Id Formulas::without(Id formula, int leaf) {
  if (kind(formula) == Kind::leaf) return leaf_of(formula) == leaf ? kAll : formula;
  if (children(formula).empty()) return formula;
  std::vector<Id> parts = children(formula);  // (those that are made move what there is)
  for (Id& part : parts) part = without(part, leaf);
  return join(kind(formula), parts);
}

}  // namespace fuseflow
