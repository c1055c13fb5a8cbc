// One rule an operation of Comal's: the node that it means, and the space of what it gives.
#include "exchange/node_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "exchange/alu_ops.h"
#include "support/text.h"

namespace fuseflow {

namespace {

using comal::Operation;

void root(NodeReader& r, const comal::Generator& op) {
  const NodeId node = r.graph().add(make_node(NodeKind::root));
  r.give(node, StreamKind::ref, GraphAssembler::kRootSpace, op.output_ref());
}

/// The loop of that name, or a new one if that is a loop around, as SAM names loops inside each
/// other. Ours are of one name only if they are one loop.
int loop_inside(NodeReader& r, int around, const std::string& name, int64_t extent) {
  if (name.empty() || !r.foreign()) return r.graph().loop(name, extent);
  const int named = r.graph().loop(name, 0);
  const std::vector<int> loops = r.graph().loops_of(around);
  const bool taken = std::find(loops.begin(), loops.end(), named) != loops.end();
  return r.graph().loop(taken ? "" : name, extent);
}

void scan(NodeReader& r, const comal::FiberLookup& op) {
  const auto [tensor, level] = r.tensors().read_dimension(op.tensor(), op.mode(), op.format());
  const bool from_root = op.input_ref().id().id() == 0 && (op.root() || level == 0);
  const Input input = from_root ? Input{r.root(), 0} : r.input(op.input_ref(), "input_ref");
  const int64_t extent = r.tensors().tensor(tensor).level_extent(static_cast<size_t>(level));
  Node made = make_node(NodeKind::scan, {input});
  made.tensor = tensor;
  made.level = level;
  const NodeId node = r.graph().add(std::move(made));
  const int around = r.graph().space_of(input.stream);
  const int space = r.graph().open(around, loop_inside(r, around, op.index(), extent));
  r.give(node, StreamKind::crd, space, op.output_crd());
  r.give(node, StreamKind::ref, space, op.output_ref());
}

/// The stream whose tokens say how often to repeat.
Input signal_of(NodeReader& r, const comal::Repeat& op) {
  const StreamId meant = r.looked_at(0);
  if (meant >= 0) return {meant, 0};
  if (op.has_rep_ref()) return r.input(op.rep_ref(), "rep_ref");
  if (op.has_rep_val()) return r.input(op.rep_val(), "rep_val");
  return r.input(op.rep_sig(), "the repeat signal");
}

void repeat(NodeReader& r, const comal::Repeat& op) {
  const Input signal = signal_of(r, op);
  const bool from_root = op.root() && op.in_ref().id().id() == 0 && !op.has_in_val();
  const Input outer = from_root         ? Input{r.root(), 0}
                      : op.has_in_val() ? r.input(op.in_val(), "in_val")
                                        : r.input(op.in_ref(), "in_ref");
  const NodeId node = r.graph().add(make_node(NodeKind::repeat, {outer, signal}));
  const int space = r.graph().space_of(signal.stream);
  const StreamKind kind = r.graph().kind_of(outer.stream);
  if (op.has_out_val()) {
    r.give(node, kind, space, op.out_val());
  } else {
    r.give(node, kind, space, op.out_ref());
  }
}

NodeId add_buffer(NodeReader& r, Input input, int64_t capacity, int64_t least) {
  Node node = make_node(NodeKind::buffer, {input});
  node.capacity = std::max<int64_t>(0, capacity);
  node.least = std::clamp<int64_t>(least, 0, node.capacity);
  return r.graph().add(std::move(node));
}

/// SAM makes a stream of its own of the coordinates that say how often to repeat.
void repeat_signal(NodeReader& r, const comal::RepeatSig& op) {
  const Input input = r.input(op.input_crd(), "input_crd");
  if (r.extension().kind() == "wire") return r.bind(key_of(op.output_rep_sig()), input.stream);
  const NodeId node = add_buffer(r, input, 0, 0);
  r.give(node, StreamKind::crd, r.graph().space_of(input.stream), op.output_rep_sig());
}

template <typename Bundle>
void spread(NodeReader& r, const Bundle& bundle) {
  Input input = r.input(bundle.input(), "the input");
  if (r.extension().kind() != "wire") {
    const NodeId node = add_buffer(r, input, r.extension().capacity(), r.extension().least());
    const auto& first = bundle.outputs_size() > 0 ? bundle.outputs(0) : bundle.input();
    input.stream = r.graph().give(node, r.graph().kind_of(input.stream),
                                  r.graph().space_of(input.stream), first.name());
  }
  for (const auto& output : bundle.outputs()) r.bind(key_of(output), input.stream);
}

/// In Comal a broadcast takes a step for each token, as a buffer does.
void broadcast(NodeReader& r, const comal::Broadcast& op) {
  if (op.has_crd()) return spread(r, op.crd());
  if (op.has_ref()) return spread(r, op.ref());
  if (op.has_val()) return spread(r, op.val());
  spread(r, op.repsig());
}

Input payload(NodeReader& r, const comal::Joiner::Payload& payload) {
  return payload.has_val_stream() ? r.input(payload.val_stream(), "a payload")
                                  : r.input(payload.ref_stream(), "a payload");
}

void give_payload(NodeReader& r, const comal::Joiner& op, int pair, StreamId stream) {
  if (pair >= op.output_refs_size()) return;
  const comal::Joiner::Payload& given = op.output_refs(pair);
  if (given.has_val_stream()) {
    r.give_as(stream, given.val_stream());
  } else {
    r.give_as(stream, given.ref_stream());
  }
}

/// Two joins of the same coordinates become one node with the payloads of both, whose outputs are
/// in one space. False: there is none of these coordinates yet.
bool join_again(NodeReader& r, const comal::Joiner& op, const Node& wanted) {
  GraphAssembler& g = r.graph();
  for (NodeId id = 0; id < g.nodes(); ++id) {
    const Node& node = g.node(id);
    bool same = node.kind == wanted.kind && node.groups.size() == wanted.groups.size();
    for (size_t group = 0; same && group < node.groups.size(); ++group) {
      same = g.space_of(node.inputs[groups_of(node)[group].first].stream) ==
             g.space_of(wanted.inputs[2 * group].stream);
    }
    if (!same) continue;
    const int space = g.space_of(node.outputs[0]);
    r.give_as(node.outputs[0], op.output_crd());
    for (int pair = 0; pair < op.input_pairs_size(); ++pair) {
      const auto group = static_cast<size_t>(pair);
      const StreamId payload = wanted.inputs[2 * group + 1].stream;
      give_payload(r, op, pair, g.add_passed(id, group, payload, space));
    }
    return true;
  }
  return false;
}

void joiner(NodeReader& r, const comal::Joiner& op) {
  if (op.input_pairs_size() < 2) r.fail("joins fewer than two streams, expected at least two");
  if (op.output_refs_size() > op.input_pairs_size()) r.fail("gives more payloads than it takes");
  const bool all = op.join_type() == comal::Joiner::UNION;
  Node node = make_node(all ? NodeKind::unite : NodeKind::intersect);
  for (const auto& pair : op.input_pairs()) {
    node.inputs.push_back(r.input(pair.crd(), "coordinates"));
    node.inputs.push_back(payload(r, pair.in_ref()));
    node.groups.push_back(2);
  }
  node.init = r.extension().init();
  if (r.foreign() && join_again(r, op, node)) return;
  const std::vector<Input> inputs = node.inputs;
  const NodeId id = r.graph().add(std::move(node));
  const int first = r.graph().space_of(inputs[0].stream);
  if (first == GraphAssembler::kRootSpace) r.fail("joins streams in no loop");
  for (const Input& input : inputs) {
    const int space = r.graph().space_of(input.stream);
    if (space != GraphAssembler::kRootSpace) {
      r.graph().unify(r.graph().loop_of(first), r.graph().loop_of(space));
    }
  }
  const int space = r.graph().open(r.graph().parent_of(first), r.graph().loop_of(first));
  r.give(id, StreamKind::crd, space, op.output_crd());
  for (int i = 0; i < op.input_pairs_size(); ++i) {
    const StreamKind kind = r.graph().kind_of(inputs[2 * static_cast<size_t>(i) + 1].stream);
    give_payload(r, op, i, r.graph().give(id, kind, space, ""));
  }
}

void refuse_blocks(NodeReader& r, bool blocked) {
  if (blocked) r.fail("works on blocks, which are not read");
}

void array(NodeReader& r, const comal::ArrayVals& op) {
  refuse_blocks(r, op.blocked());
  const TensorId tensor = r.tensors().read(op.tensor());
  const bool scalar = r.tensors().tensor(tensor).shape.empty();
  const bool from_root = scalar && op.input_ref().id().id() == 0;
  const Input input = from_root ? Input{r.root(), 0} : r.input(op.input_ref(), "input_ref");
  Node made = make_node(NodeKind::array, {input});
  made.tensor = tensor;
  const NodeId node = r.graph().add(std::move(made));
  r.give(node, StreamKind::val, r.graph().space_of(input.stream), op.output_val());
}

void alu(NodeReader& r, const comal::ALU& op) {
  refuse_blocks(r, op.blocked());
  if (op.has_crds()) r.fail("works on coordinates, expected values");
  if (op.stages_size() != 1) {
    r.fail(fmt::format("has {} stages, expected one", op.stages_size()));
  }
  const auto found = std::find_if(kAluOps.begin(), kAluOps.end(), [&](const AluOp& row) {
    return row.theirs == op.stages(0).op();
  });
  if (found == kAluOps.end()) r.fail("has an operator that is not known");
  Node node = make_node(NodeKind::map);
  node.op = found->ours;
  for (const auto& input : op.vals().inputs()) node.inputs.push_back(r.input(input, "a value"));
  if (node.inputs.empty()) r.fail("has no operands");
  const int space = r.graph().space_of(node.inputs[0].stream);
  if (found->scalar) node.inputs.push_back({-1, static_cast<float>(op.scalar())});
  const int arity = op_info(found->ours).arity;
  if (static_cast<int>(node.inputs.size()) != arity) {
    r.fail(fmt::format("has {} operands, but {} takes {}", node.inputs.size(),
                       op_info(found->ours).name, arity));
  }
  r.give(r.graph().add(std::move(node)), StreamKind::val, space, op.vals().output());
}

/// A function by its name: an operator of one operand.
void function(NodeReader& r, const comal::Intrinsic& op) {
  const std::optional<Op> found = find_op(op.name());
  if (!found || op_info(*found).arity != 1 || op.inputs_size() + op.outputs_size() > 0) {
    r.fail(fmt::format("function '{}' is not known", printable(op.name())));
  }
  const Input input = r.input(op.input_val(), "input_val");
  Node made = make_node(NodeKind::map, {input});
  made.op = *found;
  const NodeId node = r.graph().add(std::move(made));
  r.give(node, StreamKind::val, r.graph().space_of(input.stream), op.output_val());
}

void reduce(NodeReader& r, const comal::Reduce& op) {
  refuse_blocks(r, op.blocked());
  if (op.reduce_type() != comal::Reduce::ADD && op.reduce_type() != comal::Reduce::MAX) {
    r.fail("has a reduction that is not read, expected ADD or MAX");
  }
  const bool max = op.reduce_type() == comal::Reduce::MAX;
  const Input value = r.input(op.input_val(), "input_val");
  Node node = make_node(NodeKind::reduce);
  node.reduction = max ? Reduction::max : Reduction::sum;
  const StreamId parent = r.looked_at(0);
  if (parent >= 0) node.inputs.push_back({parent, 0});
  node.inputs.push_back(value);
  node.init = max ? -std::numeric_limits<float>::infinity() : 0;
  if (r.extension().has_init()) node.init = r.extension().init();
  const int space = r.graph().space_of(r.parent_of(value.stream));
  r.give(r.graph().add(std::move(node)), StreamKind::val, space, op.output_val());
}

/// A stream that is in the space: one of those given, else any.
Input in_space(NodeReader& r, int space, const std::vector<Input>& given) {
  for (const Input& input : given) {
    if (r.graph().space_of(input.stream) == space) return input;
  }
  const StreamId any = r.graph().stream_in(space);
  if (any < 0) r.fail("a loop around its values has no stream of coordinates");
  return {any, 0};
}

/// Takes the coordinates of the n loops kept, of the loop that it sums over, and a stream around
/// these. SAM gives coordinates of outer loops repeated for each inner one; those around do too.
void accumulate(NodeReader& r, const comal::SparseAccumulator& op) {
  refuse_blocks(r, op.blocked());
  const int order = op.order() == 0 ? 1 : static_cast<int>(std::min<uint64_t>(op.order(), 64));
  const Input inner = r.input(op.input_inner_crd(), "input_inner_crd");
  const int depth = r.graph().depth_of(r.graph().space_of(inner.stream));
  if (depth < order + 1) {
    r.fail(
        fmt::format("keeps {} loops of values in {}, expected one more around them", order, depth));
  }
  std::vector<Input> outer;
  for (const auto& crd : op.input_outer_crds()) outer.push_back(r.input(crd, "outer coordinates"));
  std::vector<int> around = {r.graph().space_of(inner.stream)};  // from the inside out
  while (static_cast<int>(around.size()) < order + 2) {
    around.push_back(r.graph().parent_of(around.back()));
  }
  Node node = make_node(NodeKind::accumulate);
  node.order = order;
  node.init = r.extension().init();
  node.capacity = std::max<int64_t>(0, r.extension().capacity());
  const StreamId parent = r.looked_at(0);
  if (parent >= 0) {  // written by us: the coordinates are those that are given
    node.inputs.push_back({parent, 0});
    node.inputs.insert(node.inputs.end(), outer.begin(), outer.end());
  } else {
    for (int i = order + 1; i >= 1; --i) {
      node.inputs.push_back(in_space(r, around[static_cast<size_t>(i)], outer));
    }
  }
  node.inputs.push_back(inner);
  const StreamId value = r.input(op.input_val(), "input_val").stream;
  node.inputs.push_back({r.moves().into_if_possible(value, around.front()), 0});
  const Input above = node.inputs.front();
  const NodeId id = r.graph().add(std::move(node));
  // Coordinates of the loops kept but the last; SAM also wants those around again.
  const int given = op.output_outer_crds_size();
  const bool again = given == order;
  if (given != 0 && given != order - 1 && !again) {
    r.fail(fmt::format("gives coordinates of {} outer loops, expected {}", given, order - 1));
  }
  if (again) r.bind(key_of(op.output_outer_crds(0)), above.stream);
  int space = around.back();
  for (int i = order - 1; i >= 0; --i) {
    space = r.graph().open(space, r.graph().loop_of(around[static_cast<size_t>(i)]));
    const int at = order - 1 - i + (again ? 1 : 0);
    if (i == 0) {
      r.give(id, StreamKind::crd, space, op.output_inner_crd());
    } else {
      r.give(id, StreamKind::crd, space,
             at < given ? op.output_outer_crds(at) : comal::CrdStream::default_instance());
    }
  }
  r.give(id, StreamKind::val, space, op.output_val());
}

void hold(NodeReader& r, const comal::CoordHold& op) {
  const Input inner = r.input(op.input_inner_crd(), "input_inner_crd");
  const Input outer = r.input(op.input_outer_crd(), "input_outer_crd");
  const int space = r.graph().space_of(inner.stream);
  const NodeId repeated = r.graph().add(make_node(NodeKind::repeat, {outer, inner}));
  r.give(repeated, StreamKind::crd, space, op.output_outer_crd());
  r.give(add_buffer(r, inner, 0, 0), StreamKind::crd, space, op.output_inner_crd());
}

/// Values of the coordinates' own loop: those that are 0 go, and their coordinates.
void filter_zeros(NodeReader& r, const comal::CoordDrop& op, Input crd, Input val) {
  const int from = r.graph().space_of(crd.stream);
  const NodeId node = r.graph().add(make_node(NodeKind::filter, {val, crd, val}));
  const int space = r.graph().open(r.graph().parent_of(from), r.graph().loop_of(from));
  r.give(node, StreamKind::crd, space, op.output_outer_crd());
  r.give(node, StreamKind::val, space, op.output_inner_val());
}

struct DroppedStreams {
  StreamId outer = -1;
  StreamId inner = -1;
};

/// Without the elements of `outer` that have an empty fiber of `inner`, which is directly below.
/// Two drops of the same elements become one node, whose outputs are in one space.
DroppedStreams add_drop(NodeReader& r, StreamId outer, StreamId inner) {
  GraphAssembler& g = r.graph();
  const NodeId like = r.foreign() ? r.moves().drop_like(outer, inner) : -1;
  if (like >= 0) return {r.moves().dropped(like, outer), r.moves().dropped(like, inner)};
  const int above = g.space_of(outer);
  Node made = make_node(NodeKind::drop, {Input{outer, 0}, Input{inner, 0}});
  made.groups = {1, 1};
  const NodeId node = g.add(std::move(made));
  const int kept = g.open(g.parent_of(above), g.loop_of(above));
  const int moved = g.open(kept, g.loop_of(g.space_of(inner)));
  DroppedStreams dropped;
  dropped.outer = g.give(node, g.kind_of(outer), kept, "");
  dropped.inner = g.give(node, g.kind_of(inner), moved, "");
  return dropped;
}

/// Where `inner` is several loops inside, first the elements of the loops between that are empty.
DroppedStreams drop_empty(NodeReader& r, StreamId outer, StreamId inner) {
  GraphAssembler& g = r.graph();
  const int between = g.parent_of(g.space_of(inner));
  const int above = g.space_of(outer);
  const bool deeper = between != above && g.is_below(between, above);
  if (!deeper) return add_drop(r, r.moves().into_if_possible(outer, between), inner);
  const StreamId middle = g.stream_in(between);
  if (middle < 0) r.fail("a loop between the outer and the inner coordinates has no stream");
  const DroppedStreams below = drop_empty(r, middle, inner);
  return {drop_empty(r, outer, below.outer).outer, below.inner};
}

void drop(NodeReader& r, const comal::CoordDrop& op) {
  const bool values = op.has_input_inner_val();
  const Input outer = r.input(op.input_outer_crd(), "input_outer_crd");
  const Input inner = values ? r.input(op.input_inner_val(), "input_inner_val")
                             : r.input(op.input_inner_crd(), "input_inner_crd");
  const int above = r.graph().space_of(outer.stream);
  if (above == GraphAssembler::kRootSpace) r.fail("drops coordinates in no loop");
  const StreamId beside = values ? r.moves().into(inner.stream, above) : -1;
  if (beside >= 0) return filter_zeros(r, op, outer, {beside, 0});
  if (r.graph().space_of(inner.stream) == GraphAssembler::kRootSpace) {
    r.fail("inner coordinates in no loop");
  }
  const DroppedStreams dropped = drop_empty(r, outer.stream, inner.stream);
  r.give_as(dropped.outer, op.output_outer_crd());
  if (values) {
    r.give_as(dropped.inner, op.output_inner_val());
  } else {
    r.give_as(dropped.inner, op.output_inner_crd());
  }
}

int64_t number_or(const std::string& text, int64_t otherwise) {
  int64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = status == std::errc{} && end == text.data() + text.size() && value >= 0;
  return whole ? value : otherwise;
}

void write_level(NodeReader& r, const comal::FiberWrite& op) {
  Write write;
  write.tensor = op.tensor();
  write.dimension = static_cast<int>(std::min<int64_t>(number_or(op.mode_val(), -1), 64));
  if (!op.format().empty()) write.format = level_kind_of(op.format());
  write.extent = number_or(op.size(), -1);
  write.stream = r.input(op.input_crd(), "input_crd").stream;
  r.write(std::move(write));
}

void write_values(NodeReader& r, const comal::ValWrite& op) {
  Write write;
  write.tensor = op.tensor();
  write.values = true;
  write.stream = r.input(op.input_val(), "input_val").stream;
  r.write(std::move(write));
}

}  // namespace

void apply_rule(NodeReader& r, const Operation& op) {
  switch (op.op_case()) {
    case Operation::kRoot:
      return root(r, op.root());
    case Operation::kFiberLookup:
      return scan(r, op.fiber_lookup());
    case Operation::kRepeat:
      return repeat(r, op.repeat());
    case Operation::kRepeatsig:
      return repeat_signal(r, op.repeatsig());
    case Operation::kBroadcast:
      return broadcast(r, op.broadcast());
    case Operation::kJoiner:
      return joiner(r, op.joiner());
    case Operation::kArray:
      return array(r, op.array());
    case Operation::kAlu:
      return alu(r, op.alu());
    case Operation::kFunc:
      return function(r, op.func());
    case Operation::kReduce:
      return reduce(r, op.reduce());
    case Operation::kSpacc:
      return accumulate(r, op.spacc());
    case Operation::kCoordHold:
      return hold(r, op.coord_hold());
    case Operation::kCoordDrop:
      return drop(r, op.coord_drop());
    case Operation::kFiberWrite:
      return write_level(r, op.fiber_write());
    case Operation::kValWrite:
      return write_values(r, op.val_write());
    case Operation::OP_NOT_SET:
      return read_extension(r, op.extension());
    case Operation::kCoordMask:
      r.fail("masks of coordinates are not read");
    case Operation::kFork:
    case Operation::kJoin:
      r.fail("copies of a part of the graph are not read");
    case Operation::kGenRef:
      r.fail("references made of coordinates are not read");
    case Operation::kLocate:
      r.fail("names no tensor, so it cannot be told what is located");
  }
}

}  // namespace fuseflow
