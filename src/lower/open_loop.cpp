#include "lower/open_loop.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace fuseflow {

using Kind = ExprNode::Kind;

int LoopOpener::open(int node, bool everywhere_wanted) {
  root_ = node;
  Formula wanted = formula(node);
  const bool all = everywhere_wanted || wanted == Formulas::kAll || wanted == Formulas::kNever;
  settle_filters(wanted, all);
  if (!all) {
    note_places(wanted);
    note_left_joined(wanted);
    wanted = locate_levels(wanted);
  }
  JoinResult lead = all ? everywhere() : build(wanted);
  const int space = emitter_.space_of(lead.crd, context_.space, index_);
  if (all) emitter_.spaces_[space].complete = true;
  for (const int leaf : complete_) {
    if (leaves_[leaf].crd == lead.crd) emitter_.spaces_[space].complete = true;
  }
  look_up(lead);
  record(lead, space);
  return space;
}

bool LoopOpener::bound(const Affine& affine) const {
  return std::all_of(affine.terms.begin(), affine.terms.end(), [&](const auto& term) {
    return std::binary_search(context_.bound.begin(), context_.bound.end(), term.first);
  });
}

LoopOpener::Formula LoopOpener::formula(int n) {
  const int known = known_.at(n);
  if (known >= 0) return known;
  const Formula made = make_formula(n);
  known_.set(n, made);
  return made;
}

LoopOpener::Formula LoopOpener::make_formula(int n) {
  const ExprNode& expr = emitter_.node(n);
  if (expr.kind == Kind::constant) return Formulas::kNever;
  if (!std::binary_search(expr.free.begin(), expr.free.end(), index_)) return Formulas::kAll;
  switch (expr.kind) {
    case Kind::view:
      return view_formula(n);
    case Kind::reduce:
      return stream_formula(n);
    case Kind::filtered:
      return filter_formula(n);
    case Kind::apply:
      return apply_formula(expr);
    default:
      return Formulas::kAll;
  }
}

LoopOpener::Formula LoopOpener::apply_formula(const ExprNode& expr) {
  for (const int child : expr.children) formula(child);  // all of them take part
  if (!expr.fill) return Formulas::kAll;
  std::vector<Formula> products;
  std::vector<Formula> members;
  for (const unsigned pattern : expr.patterns) {
    members.clear();
    for (size_t c = 0; c < expr.children.size(); ++c) {
      if (((pattern >> c) & 1U) != 0) members.push_back(formula(expr.children[c]));
    }
    products.push_back(formulas_.join(Formulas::Kind::both, members));
  }
  return formulas_.join(Formulas::Kind::either, products);
}

LoopOpener::Formula LoopOpener::view_formula(int n) {
  const ExprNode& expr = emitter_.node(n);
  const Tensor& tensor = emitter_.program_.tensors[expr.tensor];
  for (int level = 0; level < tensor.format.rank(); ++level) {
    const int dimension = tensor.format.mode_order[level];
    const Affine& affine = expr.subscripts[dimension];
    if (bound(affine)) continue;
    if (!affine.is_shift() || affine.terms[0].first != index_) return Formulas::kAll;
    if (tensor.format.levels[level] == LevelKind::dense) {
      const int64_t extent = tensor.shape[dimension].value;
      if (affine.offset == 0 && extent == emitter_.extents_[index_]) dense_.emplace_back(n, level);
      return Formulas::kAll;
    }
    Leaf leaf;
    leaf.node = n;
    leaf.level = level;
    const StreamId parent = emitter_.reference(n, level, context_.space);
    emitter_.builder_.set_origin(expr.statement);
    leaf.crd = scan(expr.tensor, level, parent, -affine.offset, &leaf.payload);
    return formulas_.leaf(add_leaf(std::move(leaf)));
  }
  return Formulas::kAll;
}

LoopOpener::Formula LoopOpener::stream_formula(int n) {
  const ExprNode& expr = emitter_.node(n);
  const auto before = [&](int a, int b) { return emitter_.rank_[a] < emitter_.rank_[b]; };
  const bool inner = std::all_of(expr.over.begin(), expr.over.end(),
                                 [&](int over) { return before(index_, over); });
  if (inner) {  // its own loops come later: its operands take part
    const Formula body = formula(expr.children[0]);
    return expr.fill ? body : Formulas::kAll;
  }
  // A stream that came in above, unless it is of another loop of the same name.
  const auto& known = emitter_.spaces_[context_.space].streams;
  const auto place = known.find(n);
  const bool is_known = place != known.end() && !place->second.indices.empty() &&
                        emitter_.sorted(emitter_.unbound(n, context_)) == place->second.indices;
  Leaf leaf;
  leaf.node = n;
  leaf.stream = is_known ? place->second : emitter_.reduction(n, context_);
  leaf.crd = leaf.stream.crds[0];
  const float pad = expr.fill.value_or(
      expr.reduction == Reduction::mean ? std::nanf("") : identity(expr.reduction));
  leaf.pad = pad;
  if (leaf.stream.crds.size() == 1) leaf.payload = leaf.stream.value.stream;
  const bool complete = leaf.stream.complete[0];
  const int position = add_leaf(std::move(leaf));
  if (complete) complete_.push_back(position);
  if (!expr.fill) return Formulas::kAll;
  return formulas_.leaf(position);
}

int LoopOpener::add_leaf(Leaf leaf) {
  leaves_.push_back(std::move(leaf));
  return static_cast<int>(leaves_.size()) - 1;
}

/// The coordinates of a participant, with the payloads of all that come with them.
LoopOpener::JoinResult LoopOpener::build_leaf(int leaf) const {
  const StreamId crd = leaves_[leaf].crd;
  JoinResult result{crd, {}};
  for (const Leaf& other : leaves_) {
    if (other.crd != crd || other.payload < 0 || other.located) continue;
    const auto same = [&](const JoinedStream& item) { return item.payload == other.payload; };
    if (std::any_of(result.items.begin(), result.items.end(), same)) continue;
    result.items.push_back({other.payload, other.payload, other.is_value(), other.pad, true});
  }
  return result;
}

LoopOpener::JoinResult LoopOpener::build(Formula wanted) {
  if (formulas_.kind(wanted) == Formulas::Kind::leaf) return build_leaf(formulas_.leaf_of(wanted));
  const bool both = formulas_.kind(wanted) == Formulas::Kind::both;
  if (both) {
    // A stream with further loops inside is not thinned out: its inner streams could follow only
    // with all of a fiber buffered. The others are looked up at its coordinates.
    for (const Formula child : formulas_.children(wanted)) {
      const bool is_leaf = formulas_.kind(child) == Formulas::Kind::leaf;
      if (is_leaf && leaves_[formulas_.leaf_of(child)].payload < 0) return build(child);
    }
    const Join* join = emitter_.joins_[index_];
    if (join != nullptr && join->form == JoinForm::words) return build_words(wanted);
    if (join != nullptr && join->form == JoinForm::gallop) return build_gallops(wanted);
  }
  std::vector<JoinResult> parts;
  for (const Formula child : formulas_.children(wanted)) {
    JoinResult part = build(child);
    const auto same = [&](const JoinResult& other) { return other.crd == part.crd; };
    if (std::none_of(parts.begin(), parts.end(), same)) parts.push_back(std::move(part));
  }
  return join_nodes(both ? NodeKind::intersect : NodeKind::unite, std::move(parts));
}

/// One joiner. A union has one pad: values with another one are left out here and looked up later.
LoopOpener::JoinResult LoopOpener::join_nodes(NodeKind kind, std::vector<JoinResult> parts) {
  if (parts.size() == 1) return std::move(parts[0]);
  Node node;
  node.kind = kind;
  const std::vector<int> loops = emitter_.builder_.stream(parts[0].crd).indices;
  std::vector<OutputSpec> outputs{{StreamKind::crd, loops}};
  JoinResult result;
  bool has_pad = false;
  for (const JoinResult& part : parts) {
    node.inputs.push_back({part.crd, 0});
    emitter_.builder_.same_index(loops.back(), emitter_.builder_.stream(part.crd).indices.back());
    int count = 1;
    for (const JoinedStream& item : part.items) {
      // Below a union, an intersection hides entries that are visited for another reason.
      if (kind == NodeKind::unite && !item.covered) continue;
      if (kind == NodeKind::unite && item.is_value) {
        const bool same = std::bit_cast<uint32_t>(node.init) == std::bit_cast<uint32_t>(item.pad);
        if (has_pad && !same) continue;
        node.init = item.pad;
        has_pad = true;
      }
      node.inputs.push_back({item.now, 0});
      const bool absent = kind == NodeKind::unite || emitter_.builder_.may_be_absent(item.now);
      outputs.push_back(
          {item.is_value ? StreamKind::val : StreamKind::ref, loops, !item.is_value && absent});
      result.items.push_back(item);
      if (kind != NodeKind::unite) result.items.back().covered = false;
      ++count;
    }
    node.groups.push_back(count);
  }
  const std::vector<StreamId> made = emitter_.builder_.add(std::move(node), outputs);
  result.crd = made[0];
  for (size_t i = 0; i < result.items.size(); ++i) result.items[i].now = made[i + 1];
  return result;
}

StreamId LoopOpener::scan(TensorId tensor, int level, StreamId reference, int64_t offset,
                          StreamId* inner) {
  Node node;
  node.kind = NodeKind::scan;
  node.tensor = tensor;
  node.level = level;
  node.offset = offset;
  node.inputs = streams_in({reference});
  std::vector<int> loops = emitter_.loops_of(context_.space);
  loops.push_back(emitter_.graph_index(index_, context_.space));
  const std::vector<StreamId> made = emitter_.builder_.add(
      std::move(node), {{StreamKind::crd, loops, false}, {StreamKind::ref, loops, false}});
  *inner = made[1];
  return made[0];
}

/// Every coordinate: the loop that another expression opened here, a stream that is known to be
/// complete, a dense level, or a counter.
LoopOpener::JoinResult LoopOpener::everywhere() {
  const int64_t which = emitter_.builder_.names_count() ? index_ : emitter_.extents_[index_];
  const auto key = std::pair(emitter_.spaces_[context_.space].crd, which);
  const auto known = emitter_.complete_.find(key);
  if (known != emitter_.complete_.end()) return {known->second, {}};
  if (!complete_.empty()) {
    return build_leaf(complete_.front());
  }
  StreamId crd = -1;
  for (const auto& [view, level] : dense_) {
    const StreamId parent = emitter_.reference(view, level, context_.space);
    if (emitter_.builder_.may_be_absent(parent)) continue;
    emitter_.builder_.set_origin(emitter_.node(view).statement);
    crd = scan(emitter_.node(view).tensor, level, parent, 0, &scanned_.second);
    scanned_.first = view;
    scanned_level_ = level;
    break;
  }
  if (crd < 0) {
    StreamId unused = -1;
    const StreamId root = emitter_.repeat_to(emitter_.spaces_[0].crd, 0, context_.space);
    crd = scan(-1, -1, root, 0, &unused);
  }
  emitter_.complete_[key] = crd;
  return {crd, {}};
}

/// References and values of participants that do not decide where the loop goes.
void LoopOpener::look_up(JoinResult& lead) {
  std::vector<const Leaf*> missing;
  for (const Leaf& leaf : leaves_) {
    const auto has = [&](const JoinedStream& item) { return item.payload == leaf.payload; };
    if (leaf.payload < 0 || leaf.located) continue;
    if (std::any_of(lead.items.begin(), lead.items.end(), has)) continue;
    if (leaf.crd == lead.crd) {
      lead.items.push_back({leaf.payload, leaf.payload, leaf.is_value(), leaf.pad, true});
    } else {
      missing.push_back(&leaf);
    }
  }
  while (!missing.empty()) {
    std::vector<JoinResult> parts{{lead.crd, {}}};
    std::vector<const Leaf*> later;
    bool has_pad = false;
    uint32_t pad = 0;
    for (const Leaf* leaf : missing) {
      if (leaf->is_value()) {
        if (has_pad && pad != std::bit_cast<uint32_t>(leaf->pad)) {
          later.push_back(leaf);
          continue;
        }
        has_pad = true;
        pad = std::bit_cast<uint32_t>(leaf->pad);
      }
      const auto same = [&](const JoinResult& part) { return part.crd == leaf->crd; };
      auto part = std::find_if(parts.begin() + 1, parts.end(), same);
      if (part == parts.end()) part = parts.insert(part, {leaf->crd, {}});
      const auto has = [&](const JoinedStream& item) { return item.payload == leaf->payload; };
      if (std::any_of(part->items.begin(), part->items.end(), has)) continue;
      part->items.push_back({leaf->payload, leaf->payload, leaf->is_value(), leaf->pad});
    }
    Node node;
    node.kind = NodeKind::leftjoin;
    node.init = std::bit_cast<float>(pad);
    std::vector<int> loops = emitter_.builder_.stream(lead.crd).indices;
    std::vector<OutputSpec> outputs{{StreamKind::crd, loops}};
    std::vector<JoinedStream> items;
    for (const JoinResult& part : parts) {
      node.inputs.push_back({part.crd, 0});
      emitter_.builder_.same_index(loops.back(), emitter_.builder_.stream(part.crd).indices.back());
      node.groups.push_back(1 + static_cast<int>(part.items.size()));
      for (const JoinedStream& item : part.items) {
        node.inputs.push_back({item.now, 0});
        outputs.push_back(
            {item.is_value ? StreamKind::val : StreamKind::ref, loops, !item.is_value});
        items.push_back(item);
      }
    }
    const std::vector<StreamId> made = emitter_.builder_.add(std::move(node), outputs);
    for (size_t i = 0; i < items.size(); ++i) {
      items[i].now = made[i + 1];
      lead.items.push_back(items[i]);
    }
    missing = std::move(later);
  }
}

void LoopOpener::record(const JoinResult& lead, int space) {
  if (scanned_.first >= 0) {
    emitter_.spaces_[space].refs.emplace(std::pair(scanned_.first, scanned_level_ + 1),
                                         scanned_.second);
  }
  for (const Leaf& leaf : leaves_) {
    if (leaf.located) continue;
    StreamId now = -1;
    for (const JoinedStream& item : lead.items) {
      if (item.payload == leaf.payload) now = item.now;
    }
    if (leaf.level >= 0) {
      emitter_.spaces_[space].refs.emplace(std::pair(leaf.node, leaf.level + 1), now);
      continue;
    }
    StreamTensor rest;
    rest.value = {now, 0};
    if (leaf.payload < 0) {
      rest.indices.assign(leaf.stream.indices.begin() + 1, leaf.stream.indices.end());
      rest.complete.assign(leaf.stream.complete.begin() + 1, leaf.stream.complete.end());
      if (lead.crd != leaf.crd) std::fill(rest.complete.begin(), rest.complete.end(), false);
      for (size_t c = 1; c < leaf.stream.crds.size(); ++c) {
        rest.crds.push_back(emitter_.align(lead.crd, leaf.crd, leaf.stream.crds[c]));
      }
      rest.value = {emitter_.align(lead.crd, leaf.crd, leaf.stream.value.stream), 0};
    }
    emitter_.spaces_[space].streams.emplace(leaf.node, std::move(rest));
  }
}

}  // namespace fuseflow
