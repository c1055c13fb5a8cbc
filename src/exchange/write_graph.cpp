#include "exchange/write_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "exchange/alu_ops.h"
#include "exchange/data.h"
#include "exchange/native_form.h"
#include "exchange/stream_ids.h"
#include "exchange/write_extension.h"
#include "nodes/rule.h"
#include "support/defect.h"

namespace fuseflow {

namespace {

using comal::Operation;

constexpr uint64_t kChannelSize = 1024;  ///< as deep as Comal's own graphs have their channels

class GraphWriter {
 public:
  GraphWriter(const Program& program, const Region& region, Dialect dialect)
      : program_(program),
        g_(*region.graph),
        dialect_(dialect),
        names_(file_names(program)),
        ids_(program, g_, dialect) {
    out_.graph.set_name(program.name);
    out_.graph.set_channel_size(kChannelSize);
    out_.graph.mutable_graph()->set_name(region.name);
  }

  WrittenGraph write() {
    for (const GraphIndex& index : g_.indices) {
      comal::Loop& loop = *out_.graph.add_loops();
      loop.set_name(index.name);
      loop.set_extent(index.extent);
    }
    add_facts();
    for (const Node& node : g_.nodes) write_node(node);
    return std::move(out_);
  }

 private:
  const Stream& stream(StreamId s) const { return g_.streams[static_cast<size_t>(s)]; }

  /// An input of an operation.
  template <typename Message>
  void take(const Node& node, size_t input, Message* message) {
    set_id(message, ids_.take(node.inputs[input].stream));
  }

  /// An output of an operation.
  template <typename Message>
  void give(const Node& node, size_t port, Message* message) {
    const StreamId s = node.outputs[port];
    set_id(message, ids_.given(s));
    message->set_name(stream(s).name);
  }

  void branch_outputs(const Node& node) {
    for (const StreamId s : node.outputs) {
      if (!ids_.is_written(s) || !ids_.has_branches(s)) continue;
      if (node.kind == NodeKind::buffer) continue;  // is a broadcast itself
      Operation& operation = add("broadcast");
      comal::Broadcast& broadcast = *operation.mutable_broadcast();
      operation.mutable_extension()->set_kind("wire");
      const auto bundle = [&](auto& of_kind) {
        set_id(of_kind.mutable_input(), ids_.given(s));
        ids_.branch(s, of_kind);
      };
      if (stream(s).kind == StreamKind::crd) bundle(*broadcast.mutable_crd());
      if (stream(s).kind == StreamKind::ref) bundle(*broadcast.mutable_ref());
      if (stream(s).kind == StreamKind::val) bundle(*broadcast.mutable_val());
    }
  }

  // --- operations

  Operation& add(const std::string& name) {
    Operation& operation = *out_.graph.mutable_graph()->add_operators();
    operation.set_name(name);
    operation.set_id(static_cast<uint64_t>(out_.graph.graph().operators_size()));
    return operation;
  }

  const std::string& name_of(TensorId tensor) const { return names_[static_cast<size_t>(tensor)]; }

  std::string loop_of(StreamId s) const {
    return g_.indices[static_cast<size_t>(stream(s).indices.back())].name;
  }

  void write_node(const Node& node) {
    ids_.give(node);
    if (has_operation(g_, program_, node, dialect_)) {
      write_operation(node);
    } else {
      ++out_.extensions[node_kind_name(node.kind)];
      write_extension(g_, ids_, node, node.tensor < 0 ? "" : name_of(node.tensor),
                      *add(node_kind_name(node.kind)).mutable_extension());
    }
    branch_outputs(node);
  }

  void write_operation(const Node& node) {
    switch (node.kind) {
      case NodeKind::root:
        return root(node);
      case NodeKind::scan:
        return scan(node);
      case NodeKind::repeat:
        return repeat(node);
      case NodeKind::intersect:
      case NodeKind::unite:
        return join(node);
      case NodeKind::array:
        return array(node);
      case NodeKind::map:
        return map(node);
      case NodeKind::reduce:
        return reduce(node);
      case NodeKind::accumulate:
        return accumulate(node);
      case NodeKind::drop:
        return drop(node);
      case NodeKind::filter:
        return filter(node);
      case NodeKind::buffer:
        return buffer(node);
      case NodeKind::write_level:
      case NodeKind::write_values:
        return write(node);
      default:
        throw Defect(std::string("no operation for a ") + node_kind_name(node.kind) + " node");
    }
  }

  void root(const Node& node) { give(node, 0, add("root").mutable_root()->mutable_output_ref()); }

  void scan(const Node& node) {
    comal::FiberLookup& op = *add("fiber_lookup").mutable_fiber_lookup();
    const Tensor& tensor = program_.tensors[static_cast<size_t>(node.tensor)];
    const auto level = static_cast<size_t>(node.level);
    op.set_tensor(name_of(node.tensor));
    op.set_mode(static_cast<uint64_t>(tensor.format.mode_order[level]));
    op.set_index(loop_of(node.outputs[0]));
    op.set_format(std::string(level_name(tensor.format.levels[level])));
    op.set_src(true);
    take(node, 0, op.mutable_input_ref());
    give(node, 0, op.mutable_output_crd());
    give(node, 1, op.mutable_output_ref());
  }

  /// In SAM's graphs: the signal that is made of coordinates. It takes no step here.
  uint64_t repeat_signal(const Node& node) {
    Operation& operation = add("repeatsig");
    operation.mutable_extension()->set_kind("wire");
    comal::RepeatSig& op = *operation.mutable_repeatsig();
    take(node, 1, op.mutable_input_crd());
    op.set_index(loop_of(node.inputs[1].stream));
    const uint64_t signal = ids_.fresh();
    set_id(op.mutable_output_rep_sig(), signal);
    return signal;
  }

  void repeat(const Node& node) {
    const bool look = is_looked_at(g_, node, 1);
    const bool sam = dialect_ == Dialect::sam;
    const uint64_t signal = sam ? repeat_signal(node) : 0;
    Operation& operation = add("repeat");
    comal::Repeat& op = *operation.mutable_repeat();
    op.set_index(loop_of(node.inputs[1].stream));
    const bool values = stream(node.inputs[0].stream).kind == StreamKind::val;
    if (values) {
      take(node, 0, op.mutable_in_val());
      give(node, 0, op.mutable_out_val());
    } else {
      take(node, 0, op.mutable_in_ref());
      give(node, 0, op.mutable_out_ref());
    }
    if (look) look_at(g_, ids_, node.inputs[1].stream, operation);
    if (sam) return set_id(op.mutable_rep_sig(), signal);
    const StreamId by = look ? twin_of(g_, node.inputs[1].stream) : node.inputs[1].stream;
    if (stream(by).kind == StreamKind::ref) {
      set_id(op.mutable_rep_ref(), ids_.take(by));
    } else {
      set_id(op.mutable_rep_val(), ids_.take(by));
    }
  }

  void join(const Node& node) {
    comal::Joiner& op = *add("joiner").mutable_joiner();
    op.set_join_type(node.kind == NodeKind::unite ? comal::Joiner::UNION
                                                  : comal::Joiner::INTERSECT);
    op.set_index(loop_of(node.outputs[0]));
    give(node, 0, op.mutable_output_crd());
    for (size_t group = 0; group < node.groups.size(); ++group) {
      comal::Joiner::JoinBundle& pair = *op.add_input_pairs();
      take(node, 2 * group, pair.mutable_crd());
      comal::Joiner::Payload& given = *op.add_output_refs();
      if (stream(node.inputs[2 * group + 1].stream).kind == StreamKind::val) {
        take(node, 2 * group + 1, pair.mutable_in_ref()->mutable_val_stream());
        give(node, group + 1, given.mutable_val_stream());
      } else {
        take(node, 2 * group + 1, pair.mutable_in_ref()->mutable_ref_stream());
        give(node, group + 1, given.mutable_ref_stream());
      }
    }
  }

  void array(const Node& node) {
    comal::ArrayVals& op = *add("array").mutable_array();
    op.set_tensor(name_of(node.tensor));
    take(node, 0, op.mutable_input_ref());
    give(node, 0, op.mutable_output_val());
  }

  void map(const Node& node) {
    comal::ALU& op = *add("alu").mutable_alu();
    const AluOp& alu = *find_alu(node);
    if (alu.scalar) op.set_scalar(node.inputs.back().immediate);
    for (size_t i = 0; i < node.inputs.size() - (alu.scalar ? 1 : 0); ++i) {
      take(node, i, op.mutable_vals()->add_inputs());
    }
    give(node, 0, op.mutable_vals()->mutable_output());
    op.add_stages()->set_op(alu.theirs);
  }

  void reduce(const Node& node) {
    Operation& operation = add("reduce");
    comal::Reduce& op = *operation.mutable_reduce();
    if (node.inputs.size() == 2) look_at(g_, ids_, node.inputs[0].stream, operation);
    op.set_reduce_type(node.reduction == Reduction::max ? comal::Reduce::MAX : comal::Reduce::ADD);
    take(node, node.inputs.size() - 1, op.mutable_input_val());
    give(node, 0, op.mutable_output_val());
  }

  /// Inputs: a stream around all, then the coordinates from the loop summed over to the innermost.
  void accumulate(const Node& node) {
    Operation& operation = add("spacc");
    comal::SparseAccumulator& op = *operation.mutable_spacc();
    const auto order = static_cast<size_t>(node.order);
    look_at(g_, ids_, node.inputs[0].stream, operation);
    operation.mutable_extension()->set_capacity(node.capacity);
    op.set_order(order);
    for (size_t i = 1; i <= order; ++i) {
      take(node, i, op.add_input_outer_crds());
      op.add_outer_crds(loop_of(node.inputs[i].stream));
    }
    take(node, order + 1, op.mutable_input_inner_crd());
    op.set_inner_crd(loop_of(node.inputs[order + 1].stream));
    take(node, order + 2, op.mutable_input_val());
    for (size_t i = 0; i + 1 < order; ++i) give(node, i, op.add_output_outer_crds());
    give(node, order - 1, op.mutable_output_inner_crd());
    give(node, order, op.mutable_output_val());
  }

  void drop(const Node& node) {
    comal::CoordDrop& op = *add("coord_drop").mutable_coord_drop();
    op.set_outer_crd(loop_of(node.inputs[0].stream));
    op.set_inner_crd(loop_of(node.inputs[1].stream));
    take(node, 0, op.mutable_input_outer_crd());
    take(node, 1, op.mutable_input_inner_crd());
    give(node, 0, op.mutable_output_outer_crd());
    give(node, 1, op.mutable_output_inner_crd());
  }

  /// SAM's drop of zeros: values, and coordinates of the same loop.
  void filter(const Node& node) {
    comal::CoordDrop& op = *add("coord_drop").mutable_coord_drop();
    op.set_outer_crd(loop_of(node.inputs[1].stream));
    take(node, 0, op.mutable_input_inner_val());
    take(node, 1, op.mutable_input_outer_crd());
    give(node, 0, op.mutable_output_outer_crd());
    give(node, 1, op.mutable_output_inner_val());
  }

  /// A broadcast holds what its channel holds, and takes a step for each token as a buffer does.
  void buffer(const Node& node) {
    Operation& operation = add("broadcast");
    operation.mutable_extension()->set_kind("buffer");
    operation.mutable_extension()->set_capacity(node.capacity);
    operation.mutable_extension()->set_least(node.least);
    comal::Broadcast& op = *operation.mutable_broadcast();
    const StreamId s = node.outputs[0];
    const auto bundle = [&](auto& of_kind) {
      if (!ids_.has_branches(s)) {
        give(node, 0, of_kind.add_outputs());
      } else {
        ids_.branch(s, of_kind);
        of_kind.mutable_outputs(0)->set_name(stream(s).name);
      }
      take(node, 0, of_kind.mutable_input());
    };
    if (stream(s).kind == StreamKind::crd) bundle(*op.mutable_crd());
    if (stream(s).kind == StreamKind::ref) bundle(*op.mutable_ref());
    if (stream(s).kind == StreamKind::val) bundle(*op.mutable_val());
  }

  /// Each level of a result has an operation: of dense ones, what says where the fibers below are.
  void write(const Node& node) {
    const bool values = node.kind == NodeKind::write_values;
    const auto& format = program_.tensors[static_cast<size_t>(node.tensor)].format;
    const size_t levels = node.inputs.size() - (values ? 1 : 0);
    const size_t end = values ? format.levels.size() : static_cast<size_t>(node.level) + 1;
    for (size_t i = 0; i < levels; ++i) write_level(node, i, end - levels + i);
    if (!values) return;
    comal::ValWrite& op = *add("val_write").mutable_val_write();
    op.set_tensor(name_of(node.tensor));
    op.set_sink(true);
    take(node, levels, op.mutable_input_val());
  }

  void write_level(const Node& node, size_t input, size_t level) {
    comal::FiberWrite& op = *add("fiber_write").mutable_fiber_write();
    const Tensor& tensor = program_.tensors[static_cast<size_t>(node.tensor)];
    op.set_tensor(name_of(node.tensor));
    op.set_mode_val(std::to_string(tensor.format.mode_order[level]));
    op.set_index(loop_of(node.inputs[input].stream));
    op.set_format(std::string(level_name(tensor.format.levels[level])));
    op.set_size(std::to_string(tensor.level_extent(level)));
    op.set_sink(true);
    take(node, input, op.mutable_input_crd());
  }

  void add_facts() {
    // Readers take the order of levels from operations: not from extensions, which name no
    // dimension.
    std::set<TensorId> used, by_extensions;
    for (const Node& node : g_.nodes) {
      if (node.tensor < 0) continue;
      used.insert(node.tensor);
      if (has_operation(g_, program_, node, dialect_) || node.level < 0) continue;
      by_extensions.insert(node.tensor);
    }
    for (const TensorId id : used) {
      const Tensor& tensor = program_.tensors[static_cast<size_t>(id)];
      const std::vector<int>& order = tensor.format.mode_order;
      const bool known = order.size() < 2 || (std::is_sorted(order.begin(), order.end()) &&
                                              !by_extensions.contains(id));
      if (tensor.type == ElementType::f32 && tensor.fill == 0 && known) continue;
      comal::TensorFacts& facts = *out_.graph.add_tensors();
      facts.set_name(name_of(id));
      if (!known) facts.mutable_levels()->Add(order.begin(), order.end());
      facts.set_type(std::string(element_name(tensor.type)));
      facts.set_fill(tensor.fill);
    }
  }

  const Program& program_;
  const Graph& g_;
  Dialect dialect_;
  std::vector<std::string> names_;
  StreamIds ids_;
  WrittenGraph out_;
};

}  // namespace

WrittenGraph write_graph(const Program& program, const Region& region, Dialect dialect) {
  check_has_form(program, region);
  return GraphWriter(program, region, dialect).write();
}

}  // namespace fuseflow
