#include "lower/emit.h"

#include <algorithm>
#include <limits>

#include "ir/sparsity.h"
#include "lower/open_loop.h"

namespace fuseflow {

using Kind = ExprNode::Kind;

Emitter::Emitter(const Program& program, const RegionIndices& indices,
                 const Expressions& expressions, const std::vector<int>& order,
                 const HeldTensors& held, GraphBuilder& builder)
    : program_(program),
      indices_(indices),
      expressions_(expressions),
      held_(held),
      rank_(indices.indices.size(), 0),
      builder_(builder),
      extents_(indices.extents()) {
  for (size_t i = 0; i < order.size(); ++i) rank_[order[i]] = static_cast<int>(i);
  joins_.assign(indices.indices.size(), nullptr);
  for (const Join& join : program.regions[0].schedule.joins) {
    for (size_t i = 0; i < joins_.size(); ++i) {
      if (indices.indices[i].name == join.index) joins_[i] = &join;
    }
  }
}

void Emitter::begin_phase(int phase) {
  spaces_.clear();
  space_by_crd_.clear();
  complete_.clear();
  values_.clear();
  reductions_.clear();
  builder_.set_phase(phase);
  Node root;
  root.kind = NodeKind::root;
  Space space;
  space.crd = builder_.add_one(std::move(root), {StreamKind::ref, {}});
  spaces_.push_back(std::move(space));
}

std::vector<int> Emitter::unbound(int n, const Context& context) const {
  std::vector<int> result;
  for (const int index : node(n).free) {
    if (!std::binary_search(context.bound.begin(), context.bound.end(), index)) {
      result.push_back(index);
    }
  }
  return result;
}

std::vector<int> Emitter::sorted(std::vector<int> indices) const {
  std::sort(indices.begin(), indices.end(), [&](int a, int b) { return rank_[a] < rank_[b]; });
  return indices;
}

const std::vector<int>& Emitter::loops_of(int space) const {
  return builder_.stream(spaces_[space].crd).indices;
}

int Emitter::home_of(const std::vector<int>& free, int space) const {
  int s = space;
  while (s > 0 && std::find(free.begin(), free.end(), spaces_[s].index) == free.end()) {
    s = spaces_[s].parent;
  }
  return s;
}

int Emitter::graph_index(int index, int parent) {
  int times = 0;
  for (int s = parent; s > 0; s = spaces_[s].parent) times += spaces_[s].index == index ? 1 : 0;
  const auto place = graph_indices_.find({index, times});
  if (place != graph_indices_.end()) return place->second;
  return graph_indices_[{index, times}] = builder_.add_index(extents_[index]);
}

int Emitter::space_of(StreamId crd, int parent, int index) {
  const auto [place, is_new] =
      space_by_crd_.emplace(std::tuple(crd, parent, index), static_cast<int>(spaces_.size()));
  if (is_new) {
    builder_.check_room(spaces_.size());
    Space space;
    space.parent = parent;
    space.index = index;
    space.crd = crd;
    spaces_.push_back(std::move(space));
  }
  return place->second;
}

StreamTensor Emitter::emit_root(int n, const std::vector<int>& indices, bool everywhere) {
  const std::vector<int> loops = sorted(indices);
  return emit(n, {0, {}}, loops, std::vector<bool>(loops.size(), everywhere));
}

StreamTensor Emitter::emit(int n, Context context, const std::vector<int>& loops,
                           const std::vector<bool>& everywhere) {
  StreamTensor result;
  for (size_t l = 0; l < loops.size(); ++l) {
    context.space = LoopOpener(*this, context, loops[l]).open(n, everywhere[l]);
    const auto place = std::lower_bound(context.bound.begin(), context.bound.end(), loops[l]);
    if (place == context.bound.end() || *place != loops[l]) context.bound.insert(place, loops[l]);
    result.indices.push_back(loops[l]);
    result.crds.push_back(spaces_[context.space].crd);
    result.complete.push_back(spaces_[context.space].complete);
  }
  result.value = value(n, context.space);
  return result;
}

Input Emitter::value(int n, int space) {
  const int home = home_of(node(n).free, space);
  Input result = make_value(n, home);
  if (!result.is_immediate()) result.stream = repeat_to(result.stream, home, space);
  return result;
}

Input Emitter::make_value(int n, int space) {
  const auto place = values_.find({n, space});
  if (place != values_.end()) return place->second;
  const ExprNode& expr = node(n);
  Input result;
  switch (expr.kind) {
    case Kind::constant:
      result.immediate = expr.constant;
      break;
    case Kind::view: {
      Node array;
      array.kind = NodeKind::array;
      array.tensor = expr.tensor;
      const int levels = program_.tensors[expr.tensor].format.rank();
      array.inputs = streams_in({reference(n, levels, space)});
      builder_.set_origin(expr.statement);
      result.stream = builder_.add_one(std::move(array), {StreamKind::val, loops_of(space)});
      break;
    }
    case Kind::coordinate:
      result = coordinate_value(expr.subscripts[0], space);
      break;
    case Kind::apply: {
      Node map;
      map.kind = NodeKind::map;
      map.op = expr.op;
      bool constant = true;
      for (const int child : expr.children) {
        map.inputs.push_back(value(child, space));
        constant = constant && map.inputs.back().is_immediate();
      }
      if (constant) {
        std::vector<float> operands;
        for (const Input& input : map.inputs) operands.push_back(input.immediate);
        result.immediate = evaluate(expr.op, operands);
        break;
      }
      builder_.set_origin(expr.statement);
      result.stream = builder_.add_one(std::move(map), {StreamKind::val, loops_of(space)});
      break;
    }
    case Kind::reduce: {
      const auto streamed = spaces_[space].streams.find(n);
      if (streamed != spaces_[space].streams.end() && streamed->second.crds.empty()) {
        result = streamed->second.value;
        break;
      }
      const std::vector<int> loops = sorted(expr.over);
      const std::vector<bool> everywhere(loops.size(), !identity_fill(expr));
      StreamTensor body = emit(expr.children[0], {space, expr.free}, loops, everywhere);
      result = finish_reduction(n, space, std::move(body)).value;
      break;
    }
    case Kind::filtered: {
      const auto streamed = spaces_[space].streams.find(n);
      const bool decides = streamed != spaces_[space].streams.end();
      result = decides ? streamed->second.value : value(expr.children[0], space);
      break;
    }
  }
  values_[{n, space}] = result;
  return result;
}

Input Emitter::coordinate_value(const Affine& affine, int space) {
  Input sum;
  sum.immediate = static_cast<float>(affine.offset);
  const auto combine_with = [&](Op op, Input a, Input b) {
    Node map;
    map.kind = NodeKind::map;
    map.op = op;
    map.inputs = {a, b};
    return Input{builder_.add_one(std::move(map), {StreamKind::val, loops_of(space)}), 0};
  };
  for (const auto& [index, factor] : affine.terms) {
    Node node;
    node.kind = NodeKind::coordinate;
    node.inputs = streams_in({coordinate_stream(index, space)});
    Input term{builder_.add_one(std::move(node), {StreamKind::val, loops_of(space)}), 0};
    if (factor != 1) term = combine_with(Op::mul, term, {-1, static_cast<float>(factor)});
    const bool zero = sum.is_immediate() && sum.immediate == 0;
    sum = zero ? term : combine_with(Op::add, term, sum);
  }
  return sum;
}

const StreamTensor& Emitter::reduction(int n, const Context& context) {
  const auto key = std::tuple(n, context.space, unbound(n, context));
  const auto place = reductions_.find(key);
  if (place != reductions_.end()) return place->second;
  return reductions_[key] = make_reduction(n, context);
}

StreamTensor Emitter::make_reduction(int n, const Context& context) {
  const ExprNode& expr = node(n);
  std::vector<int> loops = unbound(n, context);
  Context inner{context.space, {}};
  for (const int index : expr.free) {
    if (std::find(loops.begin(), loops.end(), index) == loops.end()) inner.bound.push_back(index);
  }
  loops.insert(loops.end(), expr.over.begin(), expr.over.end());
  loops = sorted(std::move(loops));
  const std::vector<bool> everywhere(loops.size(), !identity_fill(expr));
  return finish_reduction(n, context.space, emit(expr.children[0], inner, loops, everywhere));
}

/// True if entries that are not visited may be left out of the reduction.
bool Emitter::identity_fill(const ExprNode& reduce) const {
  const ExprNode& body = node(reduce.children[0]);
  if (!body.fill) return true;
  return may_leave_out(reduce.reduction, *body.fill, body.facts);
}

float Emitter::start_of(const ExprNode& reduce) const {
  const ExprNode& body = node(reduce.children[0]);
  const bool from_zero = reduce.reduction == Reduction::max && body.fill && *body.fill == 0 &&
                         body.facts.nonnegative && reduce.count > 0;
  return from_zero ? 0.0F : identity(reduce.reduction);
}

/// True if the accumulator over loop `over` gives every coordinate of loop `loop`: no loop above
/// skips one, and no loop below leaves it empty (an accumulator only knows entries).
bool Emitter::complete_after(const StreamTensor& body, size_t over, size_t loop) const {
  for (size_t q = over; q < body.indices.size(); ++q) {
    if (!body.complete[q]) return false;
    if (q != loop && extents_[body.indices[q]] == 0) return false;
  }
  return true;
}

/// Ends the reduction's loops, innermost first: what they enclose is accumulated by coordinate.
StreamTensor Emitter::finish_reduction(int n, int space, StreamTensor body) {
  const ExprNode& expr = node(n);
  StreamId value = as_stream(body);
  builder_.set_origin(expr.statement);
  for (size_t p = body.indices.size(); p-- > 0;) {
    if (!std::binary_search(expr.over.begin(), expr.over.end(), body.indices[p])) continue;
    const StreamId parent = p == 0 ? spaces_[space].crd : body.crds[p - 1];
    Node node;
    node.reduction = expr.reduction == Reduction::mean ? Reduction::sum : expr.reduction;
    node.init = start_of(expr);
    std::vector<int> loops = builder_.stream(value).indices;
    const size_t inner = body.indices.size() - p - 1;
    loops.erase(loops.end() - static_cast<int>(inner) - 1);
    if (inner == 0) {
      node.kind = NodeKind::reduce;
      node.inputs = streams_in({parent, value});
      value = builder_.add_one(std::move(node), {StreamKind::val, loops});
    } else {
      node.kind = NodeKind::accumulate;
      node.order = static_cast<int>(inner);
      node.inputs = streams_in({parent});
      for (size_t q = p; q < body.crds.size(); ++q) node.inputs.push_back({body.crds[q], 0});
      node.inputs.push_back({value, 0});
      std::vector<OutputSpec> outputs;
      node.capacity = 1;
      for (size_t q = p + 1; q < body.crds.size(); ++q) {
        const size_t depth = loops.size() - inner + (q - p);
        outputs.push_back({StreamKind::crd, {loops.begin(), loops.begin() + depth}});
        const int64_t extent = std::max<int64_t>(extents_[body.indices[q]], 1);
        const int64_t limit = std::numeric_limits<int64_t>::max();
        node.capacity = node.capacity > limit / extent ? limit : node.capacity * extent;
      }
      outputs.push_back({StreamKind::val, loops});
      const std::vector<StreamId> made = builder_.add(std::move(node), outputs);
      for (size_t q = p + 1; q < body.crds.size(); ++q) {
        body.crds[q] = made[q - p - 1];
        body.complete[q] = complete_after(body, p, q);
      }
      value = made.back();
    }
    body.indices.erase(body.indices.begin() + static_cast<int>(p));
    body.crds.erase(body.crds.begin() + static_cast<int>(p));
    body.complete.erase(body.complete.begin() + static_cast<int>(p));
  }
  if (expr.reduction == Reduction::mean) {
    Node divide;
    divide.kind = NodeKind::map;
    divide.op = Op::div;
    divide.inputs = {{value, 0}, {-1, static_cast<float>(expr.count)}};
    value = builder_.add_one(std::move(divide), {StreamKind::val, builder_.stream(value).indices});
  }
  body.value = {value, 0};
  return body;
}

StreamId Emitter::as_stream(const StreamTensor& tensor) {
  if (!tensor.value.is_immediate()) return tensor.value.stream;
  Input constant = tensor.value;
  Node coordinate;
  coordinate.kind = NodeKind::coordinate;
  std::vector<int> loops;
  Node counter;
  counter.kind = NodeKind::scan;
  StreamId crd = tensor.crds.empty() ? -1 : tensor.crds.back();
  if (tensor.crds.empty()) {  // a number without loops: a sum over a loop of one iteration
    const auto [one, is_new] = graph_indices_.emplace(std::pair(-1, 0), 0);
    if (is_new) one->second = builder_.add_index(1);
    loops = {one->second};
    counter.inputs = streams_in({spaces_[0].crd});
    crd = builder_.add(std::move(counter), {{StreamKind::crd, loops}, {StreamKind::ref, loops}})[0];
  }
  loops = builder_.stream(crd).indices;
  coordinate.inputs = streams_in({crd});
  const StreamId any = builder_.add_one(std::move(coordinate), {StreamKind::val, loops});
  Node select;
  select.kind = NodeKind::map;
  select.op = Op::where;
  select.inputs = {{any, 0}, constant, constant};
  const StreamId value = builder_.add_one(std::move(select), {StreamKind::val, loops});
  if (!tensor.crds.empty()) return value;
  Node reduce;
  reduce.kind = NodeKind::reduce;
  reduce.inputs = streams_in({spaces_[0].crd, value});
  return builder_.add_one(std::move(reduce), {StreamKind::val, {}});
}

StreamId Emitter::coordinate_stream(int index, int space) {
  const int home = home_of({index}, space);
  return repeat_to(spaces_[home].crd, home, space);
}

StreamId Emitter::reference(int view, int levels, int space) {
  const ExprNode& expr = node(view);
  const Format& format = program_.tensors[expr.tensor].format;
  std::vector<int> indices;
  for (int level = 0; level < levels; ++level) {
    for (const auto& term : expr.subscripts[format.mode_order[level]].terms) {
      indices.push_back(term.first);
    }
  }
  const int home = home_of(indices, space);
  if (home != space) return repeat_to(reference(view, levels, home), home, space);
  if (levels == 0) return spaces_[0].crd;
  const auto place = spaces_[space].refs.find({view, levels});
  if (place != spaces_[space].refs.end()) return place->second;
  const StreamId made = locate(view, levels - 1, space);
  spaces_[space].refs[{view, levels}] = made;
  return made;
}

StreamId Emitter::locate(int view, int level, int space) {
  const ExprNode& expr = node(view);
  const Tensor& tensor = program_.tensors[expr.tensor];
  const int dimension = tensor.format.mode_order[level];
  const Affine& affine = expr.subscripts[dimension];
  Node locate;
  locate.kind = NodeKind::locate;
  locate.tensor = expr.tensor;
  locate.level = level;
  locate.offset = affine.offset;
  const StreamId parent = reference(view, level, space);
  locate.inputs = streams_in({parent});
  for (size_t t = 0; t < affine.terms.size(); ++t) {
    locate.inputs.push_back({coordinate_stream(affine.terms[t].first, space), 0});
    if (t == 0) {
      locate.stride = affine.terms[t].second;
    } else {
      locate.strides.push_back(affine.terms[t].second);
    }
  }
  const auto [low, high] = range_of(affine, extents_);
  const bool inside = low >= 0 && high < tensor.shape[dimension].value;
  const bool absent =
      builder_.may_be_absent(parent) || !inside || tensor.format.levels[level] != LevelKind::dense;
  builder_.set_origin(expr.statement);
  return builder_.add_one(std::move(locate), {StreamKind::ref, loops_of(space), absent});
}

StreamId Emitter::repeat_to(StreamId stream, int from, int to) {
  if (from == to) return stream;
  return repeat_once(repeat_to(stream, from, spaces_[to].parent), to);
}

StreamId Emitter::repeat_once(StreamId stream, int to) {
  Node repeat;
  repeat.kind = NodeKind::repeat;
  repeat.inputs = streams_in({stream, spaces_[to].crd});
  return builder_.add_one(std::move(repeat), {builder_.stream(stream).kind, loops_of(to),
                                              builder_.may_be_absent(stream)});
}

StreamId Emitter::align(StreamId to, StreamId from, StreamId inner) {
  if (to == from) return inner;
  Node align;
  align.kind = NodeKind::align;
  align.inputs = streams_in({to, from, inner});
  const Stream stream = builder_.stream(inner);
  std::vector<int> loops = builder_.stream(to).indices;
  builder_.same_index(loops.back(), builder_.stream(from).indices.back());
  loops.insert(loops.end(), stream.indices.begin() + static_cast<long>(loops.size()),
               stream.indices.end());
  return builder_.add_one(std::move(align), {stream.kind, loops, builder_.may_be_absent(inner)});
}

}  // namespace fuseflow
