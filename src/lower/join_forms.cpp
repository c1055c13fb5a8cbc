// What the schedule says of joins (`join j = ..`): levels that are located drop out of the formula
// of where a loop goes, bit vectors are compared by words. A part of LoopOpener.
#include <algorithm>

#include "lower/open_loop.h"

namespace fuseflow {

bool LoopOpener::mentions(const Formula& formula, int leaf) {
  if (formula.kind == Formula::Kind::leaf) return formula.leaf == leaf;
  return std::any_of(formula.children.begin(), formula.children.end(),
                     [&](const Formula& child) { return mentions(child, leaf); });
}

/// Bit vectors as they are stored.
bool LoopOpener::by_words(const Leaf& leaf) const {
  if (leaf.level < 0) return false;
  const ExprNode& expr = emitter_.node(leaf.node);
  const Format& format = emitter_.program_.tensors[expr.tensor].format;
  return format.levels[leaf.level] == LevelKind::bitvector &&
         expr.subscripts[format.mode_order[leaf.level]].offset == 0;
}

/// Adds the stored levels among these to the place.
void LoopOpener::note_place(JoinPlace place, const std::vector<int>& leaves) {
  place.index = emitter_.indices_.indices[index_].name;
  for (const int l : leaves) {
    const Leaf& leaf = leaves_[l];
    if (leaf.level < 0) {
      place.led = true;
      continue;
    }
    place.words += by_words(leaf) ? 1 : 0;
    place.tensors.push_back(emitter_.node(leaf.node).tensor);
  }
  if (place.tensors.size() + (place.led ? 1 : 0) < 2) return;
  std::vector<JoinPlace>& all = emitter_.join_places_;
  if (std::find(all.begin(), all.end(), place) == all.end()) all.push_back(std::move(place));
}

void LoopOpener::note_places(const Formula& formula) {
  if (formula.kind == Formula::Kind::both) {
    JoinPlace place;
    std::vector<int> leaves;
    for (const Formula& child : formula.children) {
      if (child.kind == Formula::Kind::leaf) {
        leaves.push_back(child.leaf);
      } else {
        place.led = true;
      }
    }
    note_place(std::move(place), leaves);
  }
  for (const Formula& child : formula.children) note_places(child);
}

/// Levels that do not decide where the loop goes.
void LoopOpener::note_left_joined(const Formula& formula) {
  std::vector<int> leaves;
  for (int l = 0; l < static_cast<int>(leaves_.size()); ++l) {
    if (leaves_[l].level >= 0 && !mentions(formula, l)) leaves.push_back(l);
  }
  JoinPlace place;
  place.led = true;
  note_place(std::move(place), leaves);
}

/// Whether a leaf decides nowhere but in intersections with others. `alone`: it is no part of one.
bool LoopOpener::may_locate(const Formula& formula, int leaf, bool alone) const {
  if (formula.kind == Formula::Kind::leaf) return formula.leaf != leaf || !alone;
  const bool both = formula.kind == Formula::Kind::both;
  return std::all_of(formula.children.begin(), formula.children.end(),
                     [&](const Formula& child) { return may_locate(child, leaf, !both); });
}

/// The formula as if the leaf had an entry everywhere.
LoopOpener::Formula LoopOpener::without(const Formula& formula, int leaf) {
  if (formula.kind == Formula::Kind::leaf) return formula.leaf == leaf ? Formula{} : formula;
  if (formula.children.empty()) return formula;
  std::vector<Formula> parts;
  for (const Formula& child : formula.children) parts.push_back(without(child, leaf));
  return join(formula.kind, pointers_to(parts));
}

LoopOpener::Formula LoopOpener::locate_levels(Formula formula) {
  const Join* join = emitter_.joins_[index_];
  if (join == nullptr || join->form != JoinForm::locate) return formula;
  for (const TensorId tensor : join->located) {
    for (int l = 0; l < static_cast<int>(leaves_.size()); ++l) {
      Leaf& leaf = leaves_[l];
      if (leaf.level < 0 || emitter_.node(leaf.node).tensor != tensor) continue;
      if (!may_locate(formula, l, true)) continue;
      leaf.located = true;
      formula = without(formula, l);
    }
  }
  return formula;
}

/// The bit vectors of an intersection by words, the others merged with what comes of it.
LoopOpener::Joined LoopOpener::build_words(const Formula& formula) {
  std::vector<Joined> words;
  std::vector<Joined> others;
  for (const Formula& child : formula.children) {
    const bool word = child.kind == Formula::Kind::leaf && by_words(leaves_[child.leaf]);
    std::vector<Joined>& parts = word ? words : others;
    Joined part = build(child);
    const auto same = [&](const Joined& other) { return other.crd == part.crd; };
    if (std::none_of(parts.begin(), parts.end(), same)) parts.push_back(std::move(part));
  }
  if (words.size() > 1) others.insert(others.begin(), join_nodes(NodeKind::intersect_words, words));
  if (words.size() == 1) others.push_back(std::move(words[0]));
  return join_nodes(NodeKind::intersect, std::move(others));
}

}  // namespace fuseflow
