// What the schedule says of joins (`join j = ..`): levels that are located drop out of the formula
// of where a loop goes, bit vectors are compared by words, compressed levels gallop in pairs. A
// part of LoopOpener.
#include <algorithm>
#include <array>

#include "lower/open_loop.h"

namespace fuseflow {

/// Bit vectors as they are stored.
bool LoopOpener::by_words(const Leaf& leaf) const {
  if (leaf.level < 0) return false;
  const ExprNode& expr = emitter_.node(leaf.node);
  const Format& format = emitter_.program_.tensors[expr.tensor].format;
  return format.levels[leaf.level] == LevelKind::bitvector &&
         expr.subscripts[format.mode_order[leaf.level]].offset == 0;
}

/// A compressed level as it is stored, which is there before the region starts: its fibers are
/// lists in which the loop's coordinates stand once.
bool LoopOpener::may_gallop(const Leaf& leaf) const {
  if (leaf.level < 0 || leaf.payload < 0) return false;
  const ExprNode& expr = emitter_.node(leaf.node);
  const Tensor& tensor = emitter_.program_.tensors[expr.tensor];
  const std::vector<LevelKind>& levels = tensor.format.levels;
  const auto l = static_cast<size_t>(leaf.level);
  const bool tuples = l + 1 < levels.size() && levels[l + 1] == LevelKind::singleton;
  const int dimension = tensor.format.mode_order[l];
  return levels[l] == LevelKind::compressed && !tuples && expr.subscripts[dimension].offset == 0 &&
         tensor.shape[dimension].value <= emitter_.extents_[index_] &&
         !emitter_.held_.internal[static_cast<size_t>(expr.tensor)];
}

/// Where a galloping node, which has one way to its levels, would find this one.
size_t LoopOpener::where_stored(const Leaf& leaf) const {
  return emitter_.held_.on_chip[static_cast<size_t>(emitter_.node(leaf.node).tensor)] ? 1 : 0;
}

/// Adds the stored levels among these to the place.
void LoopOpener::note_place(JoinPlace place, const std::vector<int>& leaves, bool decides) {
  place.index = emitter_.indices_.indices[index_].name;
  std::array<std::vector<StreamId>, 2> lists;
  for (const int l : leaves) {
    const Leaf& leaf = leaves_[l];
    if (leaf.level < 0) {
      place.led = true;
      continue;
    }
    place.words += by_words(leaf) ? 1 : 0;
    std::vector<StreamId>& same = lists[where_stored(leaf)];
    const bool known = std::find(same.begin(), same.end(), leaf.crd) != same.end();
    if (decides && !known && may_gallop(leaf)) same.push_back(leaf.crd);
    place.tensors.push_back(emitter_.node(leaf.node).tensor);
  }
  for (const auto& same : lists) place.gallops += static_cast<int>(same.size() / 2);
  if (place.tensors.size() + (place.led ? 1 : 0) < 2) return;
  std::vector<JoinPlace>& all = emitter_.join_places_;
  if (std::find(all.begin(), all.end(), place) == all.end()) all.push_back(std::move(place));
}

void LoopOpener::note_places(Formula formula) {
  if (formulas_.kind(formula) == Formulas::Kind::both) {
    JoinPlace place;
    std::vector<int> leaves;
    for (const Formula child : formulas_.children(formula)) {
      if (formulas_.kind(child) == Formulas::Kind::leaf) {
        leaves.push_back(formulas_.leaf_of(child));
      } else {
        place.led = true;
      }
    }
    note_place(std::move(place), leaves, true);
  }
  for (const Formula child : formulas_.children(formula)) note_places(child);
}

/// Levels that do not decide where the loop goes.
void LoopOpener::note_left_joined(Formula formula) {
  std::vector<int> leaves;
  for (int l = 0; l < static_cast<int>(leaves_.size()); ++l) {
    if (leaves_[l].level >= 0 && !formulas_.mentions(formula, l)) leaves.push_back(l);
  }
  JoinPlace place;
  place.led = true;
  note_place(std::move(place), leaves, false);
}

/// Whether a leaf decides nowhere but in intersections with others. `alone`: it is no part of one.
bool LoopOpener::may_locate(Formula formula, int leaf, bool alone) const {
  if (formulas_.kind(formula) == Formulas::Kind::leaf) {
    return formulas_.leaf_of(formula) != leaf || !alone;
  }
  const bool both = formulas_.kind(formula) == Formulas::Kind::both;
  const std::vector<Formula>& parts = formulas_.children(formula);
  return std::all_of(parts.begin(), parts.end(),
                     [&](Formula part) { return may_locate(part, leaf, !both); });
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
      formula = formulas_.without(formula, l);
    }
  }
  return formula;
}

/// The bit vectors of an intersection by words, the others merged with their result.
LoopOpener::JoinResult LoopOpener::build_words(Formula formula) {
  std::vector<JoinResult> words;
  std::vector<JoinResult> others;
  for (const Formula child : formulas_.children(formula)) {
    const bool word = formulas_.kind(child) == Formulas::Kind::leaf &&
                      by_words(leaves_[formulas_.leaf_of(child)]);
    std::vector<JoinResult>& parts = word ? words : others;
    JoinResult part = build(child);
    const auto same = [&](const JoinResult& other) { return other.crd == part.crd; };
    if (std::none_of(parts.begin(), parts.end(), same)) parts.push_back(std::move(part));
  }
  if (words.size() > 1) others.insert(others.begin(), join_nodes(NodeKind::intersect_words, words));
  if (words.size() == 1) others.push_back(std::move(words[0]));
  return join_nodes(NodeKind::intersect, std::move(others));
}

/// Two levels as one node: nothing scans them.
LoopOpener::JoinResult LoopOpener::gallop(const Leaf& first, const Leaf& second) {
  const auto tensor_of = [&](const Leaf& leaf) { return emitter_.node(leaf.node).tensor; };
  const auto parent_of = [&](const Leaf& leaf) {
    const Graph& graph = emitter_.builder_.graph();
    return graph.nodes[graph.streams[leaf.crd].producer].inputs[0].stream;
  };
  Node node;
  node.kind = NodeKind::gallop;
  node.tensor = tensor_of(first);
  node.level = first.level;
  node.other_tensor = tensor_of(second);
  node.other_level = second.level;
  node.inputs = streams_in({parent_of(first), parent_of(second)});
  const std::vector<int> loops = emitter_.builder_.stream(first.crd).indices;
  emitter_.builder_.same_index(loops.back(), emitter_.builder_.stream(second.crd).indices.back());
  const OutputSpec reference{StreamKind::ref, loops, false};
  const std::vector<StreamId> made = emitter_.builder_.add(
      std::move(node), {{StreamKind::crd, loops, false}, reference, reference});
  return {made[0],
          {{first.payload, made[1], false, first.pad, false},
           {second.payload, made[2], false, second.pad, false}}};
}

/// The compressed levels of an intersection in pairs, the others merged with their results.
LoopOpener::JoinResult LoopOpener::build_gallops(Formula formula) {
  std::vector<JoinResult> parts;
  std::vector<StreamId> known;
  std::array<int, 2> waiting{-1, -1};  // for a second one, by where they are
  const auto add = [&](JoinResult part) {
    const auto same = [&](const JoinResult& other) { return other.crd == part.crd; };
    if (std::none_of(parts.begin(), parts.end(), same)) parts.push_back(std::move(part));
  };
  for (const Formula child : formulas_.children(formula)) {
    const int number = formulas_.leaf_of(child);  // -1: another formula
    const bool gallops =
        number >= 0 && may_gallop(leaves_[number]) && build_leaf(number).items.size() == 1;
    if (!gallops) {
      add(build(child));
      continue;
    }
    const Leaf& leaf = leaves_[number];
    if (std::find(known.begin(), known.end(), leaf.crd) != known.end()) continue;
    known.push_back(leaf.crd);
    int& first = waiting[where_stored(leaf)];
    if (first >= 0) add(gallop(leaves_[first], leaf));
    first = first >= 0 ? -1 : number;
  }
  for (const int alone : waiting) {
    if (alone >= 0) add(build_leaf(alone));
  }
  return join_nodes(NodeKind::intersect, std::move(parts));
}

}  // namespace fuseflow
