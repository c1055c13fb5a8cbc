// SAM's Graphviz to the ComalGraph that it means.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <deque>
#include <set>
#include <unordered_map>

#include "exchange/alu_ops.h"
#include "exchange/comal_file.h"
#include "exchange/sam_dot.h"
#include "exchange/sam_ports.h"
#include "exchange/sam_types.h"
#include "nodes/rule.h"
#include "support/error.h"
#include "support/text.h"

namespace fuseflow {

namespace {

using comal::Operation;

class SamReader {
 public:
  SamReader(const DotGraph& dot, const std::string& path) : dot_(dot), path_(path) {}

  comal::ComalGraph read() {
    read_ours();
    for (const DotEdge& edge : dot_.edges) connected_.insert({edge.from, edge.to});
    for (const DotNode& node : dot_.nodes) add_node(node);
    join_inputs_first();
    for (const DotEdge& edge : dot_.edges) add_edge(edge);
    for (Port& port : ports_) connect(port);
    for (SamNode& node : nodes_) {
      if (node.operation->has_alu()) complete_operands(node);
    }
    for (int i = 0; i < out_.graph().operators_size(); ++i) {
      out_.mutable_graph()->mutable_operators(i)->set_id(static_cast<uint64_t>(i) + 1);
    }
    return std::move(out_);
  }

 private:
  /// What leaves a node at one place, and where it goes to.
  struct Port {
    StreamSlot slot;
    std::vector<const DotEdge*> edges;
    std::vector<StreamSlot> to;
    uint64_t id = 0;  ///< as it is named in extensions; 0: it is not
  };

  [[noreturn]] void fail(int line, const std::string& message) const {
    throw Error(ExitCode::rejected, Location{path_, line}, message);
  }

  /// What we write beside a graph: its name, its loops.
  void read_ours() {
    const auto ours = dot_.attributes.find("fuseflow");
    if (ours != dot_.attributes.end()) parse_text(ours->second, out_, 1);
    out_.mutable_graph()->clear_operators();
  }

  void parse_text(const std::string& text, google::protobuf::Message& message, int line) const {
    Diagnostic error;
    if (parse_message_text(text, message, error)) return;
    fail(line, "in the attribute `fuseflow`: " + error.message);
  }

  // --- nodes

  void add_node(const DotNode& node) {
    const auto [at, fresh] = by_id_.try_emplace(node.id, nodes_.size());
    if (!fresh) {
      if (nodes_[at->second].attributes == node.attributes) return;
      fail(node.line,
           fmt::format("node {} is there twice, with other attributes", printable(node.id)));
    }
    Operation& operation = *out_.mutable_graph()->add_operators();
    nodes_.push_back({&operation, node.attributes, node.line});
    SamNode& made = nodes_.back();
    const std::string ours = made.attribute("fuseflow");
    if (!ours.empty()) parse_text(ours, *operation.mutable_extension(), node.line);
    fill(made);
    operation.set_name(made.attribute("type"));
    if (!foreign() || connected_.contains(node.id)) return;
    // Nothing flows through a node without edges.
    nodes_.pop_back();
    by_id_.erase(node.id);
    out_.mutable_graph()->mutable_operators()->RemoveLast();
  }

  int number(const SamNode& node, const char* key) const {
    const std::string text = node.attribute(key);
    int value = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (status == std::errc{} && end == text.data() + text.size() && value >= 0) return value;
    fail(node.line, fmt::format("{}=\"{}\", expected a number", key, printable(text)));
  }

  /// Whether an attribute says `yes`; absent is `no`, and what is neither may mean anything.
  bool says(const SamNode& node, const char* key, std::string_view yes, std::string_view no) const {
    const std::string text = node.attribute(key);
    if (text == yes) return true;
    if (text.empty() || text == no) return false;
    fail(node.line, fmt::format("{}=\"{}\" of a node of type {}, expected {} or {}", key,
                                printable(text), printable(node.attribute("type")), no, yes));
  }

  void fill(SamNode& node) {
    std::string type = node.attribute("type");
    if (type.starts_with("fuseflow_") && !node.operation->extension().kind().empty()) return;
    if (type.starts_with("fp_")) type = type.substr(3);
    if (fill_arithmetic(node, type)) return;
    const auto row = std::find_if(kSamTypes.begin(), kSamTypes.end(),
                                  [&](const SamType& known) { return known.name == type; });
    if (row != kSamTypes.end()) return fill_operation(node, type, row->operation);
    fail(node.line, fmt::format("nodes of type '{}' are not read", printable(type)));
  }

  bool fill_arithmetic(SamNode& node, const std::string& type) {
    if (type == "relu") {
      node.operation->mutable_func()->set_name("relu");
      return true;
    }
    const auto row = std::find_if(kSamArithmetic.begin(), kSamArithmetic.end(),
                                  [&](const SamArithmetic& known) { return known.name == type; });
    if (row == kSamArithmetic.end()) return false;
    const bool sub = type == "add" && says(node, "sub", "1", "0");
    comal::ALU& op = *node.operation->mutable_alu();
    op.add_stages()->set_op(sub ? comal::ALU::SUB : row->op);
    if (!node.attribute("scalar").empty()) op.set_scalar(real(node, "scalar"));
    return true;
  }

  double real(const SamNode& node, const std::string& key) const {
    const std::string text = node.attribute(key);
    double value = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (status == std::errc{} && end == text.data() + text.size()) return value;
    fail(node.line, fmt::format("{}=\"{}\", expected a number", key, printable(text)));
  }

  /// An operand that is a number. Comal's operators have one for some only: other nodes become
  /// extensions. A maximum of one operand is one with 0.
  void complete_operands(SamNode& node) const {
    const comal::ALU& alu = node.operation->alu();
    const auto* const row = std::find_if(kAluOps.begin(), kAluOps.end(), [&](const AluOp& known) {
      return known.theirs == alu.stages(0).op();
    });
    const auto* const constant =
        std::find_if(kSamConstants.begin(), kSamConstants.end(), [&](const SamConstant& known) {
          return node.attributes.contains(std::string(known.attribute));
        });
    const bool has_constant = constant != kSamConstants.end();
    const bool maximum = row->ours == Op::max && alu.vals().inputs_size() == 1;
    if (!has_constant && !maximum) return;
    const double number = has_constant ? real(node, std::string(constant->attribute)) : 0;
    if (maximum && number == 0) {
      comal::Intrinsic relu;
      relu.set_name("relu");
      *relu.mutable_input_val() = alu.vals().inputs(0);
      *relu.mutable_output_val() = alu.vals().output();
      *node.operation->mutable_func() = relu;
      return;
    }
    comal::Extension map;
    map.set_kind(node_kind_name(NodeKind::map));
    map.set_op(std::string(op_info(row->ours).name));
    if (constant->first) map.add_inputs()->set_number(static_cast<float>(number));
    for (const auto& input : alu.vals().inputs()) *map.add_inputs()->mutable_val() = input;
    if (!constant->first) map.add_inputs()->set_number(static_cast<float>(number));
    *map.add_outputs()->mutable_val() = alu.vals().output();
    if (map.inputs_size() != op_info(row->ours).arity) {
      fail(node.line, fmt::format("{} has {} operands with its {}=\"{}\", expected {}",
                                  node.attribute("type"), map.inputs_size(), constant->attribute,
                                  printable(node.attribute(std::string(constant->attribute))),
                                  op_info(row->ours).arity));
    }
    node.operation->clear_alu();
    *node.operation->mutable_extension() = map;
  }

  void fill_operation(SamNode& node, const std::string& type, Operation::OpCase operation) {
    Operation& op = *node.operation;
    switch (operation) {
      case Operation::kRoot:
        op.mutable_root();
        return;
      case Operation::kBroadcast:
        return fill_broadcast(node);
      case Operation::kFiberLookup:
        return fill_lookup(node, *op.mutable_fiber_lookup());
      case Operation::kRepeat:
        op.mutable_repeat()->set_root(says(node, "root", "true", "false"));
        op.mutable_repeat()->set_index(node.attribute("index"));
        return;
      case Operation::kRepeatsig:
        op.mutable_repeatsig()->set_index(node.attribute("index"));
        return;
      case Operation::kJoiner:
        op.mutable_joiner()->set_index(node.attribute("index"));
        op.mutable_joiner()->set_join_type(type == "union" ? comal::Joiner::UNION
                                                           : comal::Joiner::INTERSECT);
        return;
      case Operation::kArray:
        op.mutable_array()->set_tensor(node.attribute("tensor"));
        return;
      case Operation::kReduce:
        op.mutable_reduce()->set_reduce_type(
            says(node, "operator", "max", "add") ? comal::Reduce::MAX : comal::Reduce::ADD);
        return;
      case Operation::kSpacc:
        return fill_accumulate(node, *op.mutable_spacc());
      case Operation::kCoordHold:
        op.mutable_coord_hold();
        return;
      case Operation::kCoordDrop:
        op.mutable_coord_drop();
        return;
      default:
        return fill_write(node);
    }
  }

  /// A broadcast takes no step in SAM; one of ours that is a buffer says so.
  void fill_broadcast(SamNode& node) {
    node.operation->mutable_broadcast();
    if (node.attribute("fuseflow").empty()) node.operation->mutable_extension()->set_kind("wire");
  }

  void fill_lookup(const SamNode& node, comal::FiberLookup& op) const {
    op.set_tensor(node.attribute("tensor"));
    op.set_mode(static_cast<uint64_t>(number(node, "mode")));
    op.set_format(node.attribute("format"));
    op.set_index(node.attribute("index"));
    op.set_root(says(node, "root", "true", "false"));
  }

  /// in0 is the innermost loop kept; the others from the outermost inwards. A vector reducer keeps
  /// one loop, whose coordinates are all that it takes.
  void fill_accumulate(const SamNode& node, comal::SparseAccumulator& op) const {
    if (node.attribute("type") == "vectorreducer") {
      op.set_order(1);
      op.set_inner_crd(node.attribute("accum_index"));
      return;
    }
    op.set_order(static_cast<uint64_t>(number(node, "order")));
    op.set_inner_crd(node.attribute("in0"));
    constexpr int kMost = 16;
    if (op.order() > kMost) fail(node.line, "an accumulator of more than 16 loops");
    for (uint64_t i = op.order(); i >= 1; --i) {
      op.add_outer_crds(node.attribute(fmt::format("in{}", i)));
    }
  }

  void fill_write(const SamNode& node) const {
    if (node.attribute("mode") == "vals") {
      node.operation->mutable_val_write()->set_tensor(node.attribute("tensor"));
      return;
    }
    comal::FiberWrite& op = *node.operation->mutable_fiber_write();
    op.set_tensor(node.attribute("tensor"));
    op.set_mode_val(std::to_string(number(node, "mode")));
    op.set_format(node.attribute("format"));
    op.set_index(node.attribute("index"));
    op.set_size(node.attribute("size"));
  }

  // --- edges

  SamNode& node_of(const std::string& id, const DotEdge& edge) {
    const auto found = by_id_.find(id);
    if (found == by_id_.end()) {
      fail(edge.line, fmt::format("an edge to node {}, which is not there", printable(id)));
    }
    return nodes_[found->second];
  }

  bool foreign() const { return !dot_.attributes.contains("fuseflow"); }

  /// A join's outputs are named like its inputs, which therefore come first.
  void join_inputs_first() {
    for (const DotEdge& edge : dot_.edges) {
      SamNode& to = node_of(edge.to, edge);
      if (to.operation->has_joiner()) input_slot(to, EdgeEnd(edge));
      note_input(to, EdgeEnd(edge));
      note_output(node_of(edge.from, edge), EdgeEnd(edge, true));
    }
  }

  bool is_extension(const SamNode& node) const {
    return node.operation->op_case() == Operation::OP_NOT_SET;
  }

  static uint64_t stream_of(const DotEdge& edge) {
    const auto found = edge.attributes.find("stream");
    if (found == edge.attributes.end()) return 0;
    uint64_t id = 0;
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), id);
    return id;
  }

  void add_edge(const DotEdge& edge) {
    const EdgeEnd end(edge);
    SamNode& from = node_of(edge.from, edge);
    SamNode& to = node_of(edge.to, edge);
    const EdgeEnd first(edge, true);
    const StreamSlot given = is_extension(from) ? StreamSlot{} : output_slot(from, first);
    if (!is_extension(from) && given.address() == nullptr) {
      fail(edge.line, fmt::format("node {} gives no {} {}", printable(edge.from),
                                  printable(first.type), printable(first.name)));
    }
    const bool looks = edge.attributes.contains("look");
    const StreamSlot taken = is_extension(to) || looks ? StreamSlot{} : input_slot(to, end);
    if (!is_extension(to) && !looks && taken.address() == nullptr) {
      fail(edge.line, fmt::format("node {} takes no {} {}", printable(edge.to), printable(end.type),
                                  printable(end.name)));
    }
    if (taken.address() != nullptr && !taken_.insert(taken.address()).second) {
      fail(edge.line,
           fmt::format("node {} takes two streams at the same place", printable(edge.to)));
    }
    Port& port = port_of(given);
    port.id = std::max(port.id, stream_of(edge));
    next_id_ = std::max(next_id_, port.id + 1);
    if (looks) return;
    port.edges.push_back(&edge);
    port.to.push_back(taken);
  }

  /// Extensions name their streams themselves: each edge is a port of its own.
  Port& port_of(const StreamSlot& slot) {
    if (slot.address() == nullptr) return ports_.emplace_back(Port{slot, {}, {}});
    const auto [found, fresh] = port_at_.try_emplace(slot.address(), ports_.size());
    if (fresh) ports_.push_back({slot, {}, {}});
    return ports_[found->second];
  }

  void connect(Port& port) {
    if (port.id == 0) port.id = next_id_++;
    port.slot.set(port.id);
    if (port.to.size() == 1) return port.to[0].set(port.id);
    if (port.to.empty()) return;
    SamNode fork{out_.mutable_graph()->add_operators(), {}};
    fork.operation->mutable_extension()->set_kind("wire");
    fork.operation->mutable_broadcast();
    const EdgeEnd end(*port.edges[0]);
    input_slot(fork, end).set(port.id);
    for (const StreamSlot& to : port.to) {
      output_slot(fork, end).set(next_id_);
      to.set(next_id_++);
    }
  }

  const DotGraph& dot_;
  const std::string& path_;
  comal::ComalGraph out_;
  std::vector<SamNode> nodes_;
  std::unordered_map<std::string, size_t> by_id_;
  std::set<std::string> connected_;  ///< nodes with edges
  std::deque<Port> ports_;
  std::unordered_map<const void*, size_t> port_at_;
  std::set<const void*> taken_;  ///< inputs that an edge leads to
  uint64_t next_id_ = 1;
};

}  // namespace

comal::ComalGraph parse_sam_dot(std::string_view text, const std::string& path) {
  const DotGraph dot = parse_dot(text, path);
  return SamReader(dot, path).read();
}

}  // namespace fuseflow
