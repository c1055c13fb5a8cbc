#include "nodes/typing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "nodes/rule.h"
#include "nodes/spaces.h"

namespace fuseflow {

Typing::Typing(const Graph& graph, std::span<const GraphTensor> tensors, const GraphError& error)
    : g_(graph), tensors_(tensors), error_(error) {
  const size_t n = graph.streams.size();
  out_.of_stream.assign(n, -1);
  out_.may_be_absent.assign(n, false);
  out_.ref_tensor.assign(n, -1);
  out_.ref_level.assign(n, -1);
}

void Typing::infer(Graph& graph, const std::vector<bool>& untyped) {
  inferred_ = &graph;
  untyped_ = &untyped;
}

Spaces Typing::run() {
  for (NodeId n = 0; n < static_cast<NodeId>(g_.nodes.size()); ++n) {
    id_ = n;
    node_ = &g_.nodes[n];
    placed_.reset();
    failed_ = false;
    if (!inputs_typed()) continue;
    node_rule(node_->kind).typing(*this);
    if (!failed_) placed();
  }
  return std::move(out_);
}

bool Typing::inputs_typed() const {
  for (const Input& input : node_->inputs) {
    if (!input.is_immediate() && out_.of_stream[input.stream] < 0) return false;
  }
  return true;
}

int Typing::loop_of_coordinates(size_t input) const {
  return fuseflow::loop_of_coordinates(g_, out_, in(input));
}

// --- words

std::string Typing::index_list(const std::vector<int>& indices) const {
  std::vector<std::string> names;
  names.reserve(indices.size());
  for (const int i : indices) names.push_back(g_.indices[i].name);
  return fmt::format("<{}>", fmt::join(names, ","));
}

std::string Typing::type(StreamId s) const {
  return fmt::format("${} ({}{})", stream(s).name, stream_kind_name(stream(s).kind),
                     index_list(stream(s).indices));
}

std::string Typing::position_text(TensorId tensor, int level) const {
  return tensor < 0 ? "the root" : fmt::format("%{}.{}", tensors_[tensor].name, level);
}

// --- checks

bool Typing::fail(const std::string& message) {
  failed_ = true;
  error_(id_, fmt::format("{}: {}", node_text(g_, tensors_, id_), message));
  return false;
}

bool Typing::counts(size_t inputs, size_t outputs) {
  if (node_->inputs.size() != inputs) {
    return fail(fmt::format("has {} input(s), expected {}", node_->inputs.size(), inputs));
  }
  return output_count(outputs);
}

bool Typing::output_count(size_t outputs) {
  if (node_->outputs.size() == outputs) return true;
  return fail(fmt::format("has {} output(s), expected {}", node_->outputs.size(), outputs));
}

bool Typing::is_kind(size_t i, StreamKind kind) {
  if (stream(in(i)).kind == kind) return true;
  return fail(fmt::format("input {} is {}, expected a {} stream", i + 1, type(in(i)),
                          stream_kind_name(kind)));
}

bool Typing::placed() {
  if (placed_) return *placed_;
  placed_ = true;
  for (size_t i = 0; *placed_ && i < inputs(); ++i) {
    if (!node_->inputs[i].is_immediate()) {
      placed_ = lies(i, (*node_rule(node_->kind).place)(*node_, i));
    }
  }
  return *placed_;
}

bool Typing::lies(size_t input, InputPlace place) {
  switch (place.is) {
    case InputPlace::Relation::anywhere:
      return true;
    case InputPlace::Relation::same:
      return same_space(place.of, input);
    case InputPlace::Relation::directly_below:
      return directly_below(input, place.of);
    case InputPlace::Relation::below:
      return nested_below(input, place.of);
    case InputPlace::Relation::around:
      return in_or_around(input, place.of);
    case InputPlace::Relation::beside:
      return same_loop(place.of, input);
    case InputPlace::Relation::copy:
      return is_copy(input, place.of);
  }
  return false;
}

bool Typing::same_space(size_t i, size_t j) {
  if (space(i) == space(j)) return true;
  return fail(
      fmt::format("{} and {} are not in the same space (opened by different nodes or "
                  "nested differently), expected streams with the same fibers",
                  type(in(i)), type(in(j))));
}

bool Typing::directly_below(size_t inner, size_t outer) {
  if (parent(space(inner)) == space(outer)) return true;
  return fail(
      fmt::format("{} is not nested directly below {}, expected one loop more over the "
                  "same outer fibers",
                  type(in(inner)), type(in(outer))));
}

bool Typing::nested_below(size_t inner, size_t outer) {
  if (space(inner) != space(outer) && around(space(outer), space(inner))) return true;
  return fail(fmt::format("{} is not nested below {}, expected a stream of its fibers",
                          type(in(inner)), type(in(outer))));
}

bool Typing::refers_to(size_t i, TensorId of, int level) {
  const TensorId tensor = level < 0 ? -1 : of;
  if (!is_kind(i, StreamKind::ref)) return false;
  const TensorId referred = out_.ref_tensor[in(i)];
  const bool same_level = out_.ref_level[in(i)] == level;
  if (same_level && (referred == tensor || same_positions(referred, tensor, level))) return true;
  return fail(fmt::format("{} is a reference to {}, expected one to {}", type(in(i)),
                          position_text(out_.ref_tensor[in(i)], out_.ref_level[in(i)]),
                          position_text(tensor, level)));
}

/// Positions of dense levels follow from extents alone, so tensors of equal shape share them. Both
/// must have the level.
bool Typing::same_positions(TensorId one, TensorId other, int level) const {
  if (one < 0 || level < 0) return false;
  const GraphTensor& a = tensors_[one];
  const GraphTensor& b = tensors_[other];
  for (int l = 0; l <= level; ++l) {
    const bool dense =
        a.format.levels[l] == LevelKind::dense && b.format.levels[l] == LevelKind::dense;
    if (!dense || a.level_extent(l) < 0 || a.level_extent(l) != b.level_extent(l)) return false;
  }
  return true;
}

bool Typing::same_loop(size_t i, size_t j) {
  const int outer = parent(space(i));
  if (outer >= 0 && parent(space(j)) == outer && index(space(j)) == index(space(i))) return true;
  return fail(
      fmt::format("{} and {} are not fibers of the same loop below the same space, "
                  "expected coordinates of one index",
                  type(in(i)), type(in(j))));
}

bool Typing::in_or_around(size_t outer, size_t inner) {
  if (around(space(outer), space(inner))) return true;
  return fail(fmt::format("{} is neither in the space of {} nor around it", type(in(outer)),
                          type(in(inner))));
}

bool Typing::around(int outer, int inner) const {
  while (inner >= 0 && inner != outer) inner = parent(inner);
  return inner >= 0;
}

int Typing::outwards(int space, int loops) const {
  while (loops-- > 0 && space >= 0) space = parent(space);
  return space;
}

bool Typing::is_copy(size_t input, size_t first) {
  const Split* of_first = split_of(outwards(space(first), node_->order));
  const Split* own = split_of(outwards(space(input), node_->order));
  if (of_first != nullptr && own != nullptr) {
    const Split expected{of_first->from, static_cast<int64_t>(inputs()),
                         static_cast<int64_t>(input), of_first->contiguous};
    if (*own == expected) return true;
  }
  return fail(fmt::format(
      "the loop around {} loop(s) of {} is not one that a parallelize has split into these {} "
      "copies, in order",
      node_->order, type(in(0)), inputs()));
}

int Typing::declared_index() {
  for (const StreamId s : node_->outputs) {
    if (untyped(s)) continue;
    if (!stream(s).indices.empty()) return stream(s).indices.back();
    fail(fmt::format("output ${} is in no loop, expected an index to open", stream(s).name));
    return -1;
  }
  fail("opens a loop that nothing names, expected the type of an output, e.g. `$i: crd<i>`");
  return -1;
}

// --- opening

int Typing::open_keyed(int under, int index, const Opener& opener) {
  const Key key{under, index, opener};
  const auto found = by_key_.find(key);
  if (found != by_key_.end()) return found->second;
  const int id = static_cast<int>(out_.spaces.size());
  out_.spaces.push_back({.parent = under,
                         .opener = id_,
                         .index = index,
                         .depth = under < 0 ? 0 : out_.spaces[under].depth + 1});
  by_key_.emplace(key, id);
  return id;
}

int Typing::open(int under, int index, int way) {
  return open_keyed(under, index, {Opener::Kind::node, id_, way});
}

int Typing::open_counted(int under, int index, int64_t extent) {
  return open_keyed(under, index, {Opener::Kind::counted, extent});
}

int Typing::move_below(int inner, int outer, int kept, bool aligned) {
  if (inner == outer) return kept;
  if (inner < 0 || parent(inner) < 0) return -1;
  const int under = move_below(parent(inner), outer, kept, aligned);
  if (under < 0) return -1;
  const Opener opener =
      aligned ? Opener{Opener::Kind::aligned, inner} : Opener{Opener::Kind::node, id_, inner};
  const int moved = open_keyed(under, index(inner), opener);
  if (!aligned) out_.spaces[moved].elements_of = out_.same_elements(inner);
  return moved;
}

int Typing::open_copy(const Split& split) {
  const int64_t way = 2 * split.copies + (split.contiguous ? 1 : 0);
  const int copy = open_keyed(parent(split.from), index(split.from),
                              {Opener::Kind::copy, split.from, way, split.copy});
  out_.split_of[copy] = split;
  return copy;
}

const Typing::Split* Typing::split_of(int space) const {
  const auto found = out_.split_of.find(space);
  return found == out_.split_of.end() ? nullptr : &found->second;
}

int Typing::open_merged(int under, const std::vector<int>& copies) {
  const int64_t set = merges_.emplace(copies, static_cast<int64_t>(merges_.size())).first->second;
  return open_keyed(under, index(copies[0]), {Opener::Kind::merged, set});
}

// --- giving

/// Indices of a space, outermost first.
std::vector<int> Typing::path(int space) const {
  std::vector<int> indices(out_.spaces[space].depth);
  for (int s = space; parent(s) >= 0; s = parent(s)) indices[out_.spaces[s].depth - 1] = index(s);
  return indices;
}

void Typing::give(size_t port, StreamKind kind, int space) {
  if (!placed()) return;
  const StreamId s = node_->outputs[port];
  const std::vector<int> indices = path(space);
  if (untyped(s)) {
    inferred_->streams[s].kind = kind;
    inferred_->streams[s].indices = indices;
  }
  if (stream(s).kind != kind || stream(s).indices != indices) {
    fail(fmt::format("output ${} is declared {}{}, expected {}{}", stream(s).name,
                     stream_kind_name(stream(s).kind), index_list(stream(s).indices),
                     stream_kind_name(kind), index_list(indices)));
    return;
  }
  out_.of_stream[s] = space;
}

void Typing::give_like(size_t port, StreamId from, int space, bool absent) {
  give(port, stream(from).kind, space);
  const StreamId s = node_->outputs[port];
  out_.ref_tensor[s] = out_.ref_tensor[from];
  out_.ref_level[s] = out_.ref_level[from];
  out_.may_be_absent[s] = out_.may_be_absent[from] || absent;
}

void Typing::give_ref(size_t port, TensorId tensor, int level, int space, bool absent) {
  give(port, StreamKind::ref, space);
  const StreamId s = node_->outputs[port];
  out_.ref_tensor[s] = tensor;
  out_.ref_level[s] = level;
  out_.may_be_absent[s] = absent;
}

void Typing::give_counted_ref(size_t port, int space) {
  give(port, StreamKind::ref, space);
  out_.ref_level[node_->outputs[port]] = 0;
}

}  // namespace fuseflow
