// A ComalGraph as SAM's Graphviz.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "exchange/comal_file.h"
#include "exchange/dot_text.h"
#include "exchange/ports.h"
#include "exchange/sam_dot.h"
#include "exchange/sam_types.h"

namespace fuseflow {

namespace {

using comal::Operation;
using Attributes = std::vector<std::pair<std::string, std::string>>;

/// One end of an edge.
struct EdgePort {
  size_t node = 0;
  PortKey key;
  std::string comment;
};

class SamWriter {
 public:
  explicit SamWriter(const comal::ComalGraph& graph)
      : graph_(graph), operations_(graph.graph().operators()) {}

  std::string write() {
    find_roots();
    for (int i = 0; i < operations_.size(); ++i) {
      if (!left_out_.contains(i)) ports(static_cast<size_t>(i), operations_[i]);
    }
    text_ = "digraph SAM {\n";
    comal::ComalGraph ours = graph_;
    ours.mutable_graph()->clear_operators();
    line(fmt::format("fuseflow={}", dot_quoted(message_line(ours))));
    for (int i = 0; i < operations_.size(); ++i) {
      if (!left_out_.contains(i)) write_node(i, operations_[i]);
    }
    for (const EdgePort& taken : taken_) write_edge(taken, false);
    for (const EdgePort& looked : looked_) {
      if (!written_.contains(looked.key)) write_edge(looked, true);
    }
    return text_ + "}\n";
  }

 private:
  void line(const std::string& text) { text_ += "    " + text + "\n"; }

  // --- the root, which SAM's graphs have no node for

  /// Where only scans and repeats take the reference of the only root, it and its broadcast are
  /// left out, and these say that they start there.
  void find_roots() {
    std::vector<int> roots;
    std::set<PortKey> references;
    for (int i = 0; i < operations_.size(); ++i) {
      const Ports streams = ports_of(operations_[i]);
      const bool spreads = operations_[i].has_broadcast() &&
                           operations_[i].extension().kind() == "wire" &&
                           references.contains(streams.inputs[0]);
      if (!operations_[i].has_root() && !spreads) continue;
      if (operations_[i].has_root() && !roots.empty()) return;
      roots.push_back(i);
      references.insert(streams.outputs.begin(), streams.outputs.end());
    }
    std::set<int> takers;
    for (int i = 0; i < operations_.size(); ++i) {
      if (std::find(roots.begin(), roots.end(), i) != roots.end()) continue;
      const Ports streams = ports_of(operations_[i]);
      const auto is_root = [&](const PortKey& key) { return references.contains(key); };
      if (std::any_of(streams.looked_at.begin(), streams.looked_at.end(), is_root)) return;
      if (std::none_of(streams.inputs.begin(), streams.inputs.end(), is_root)) continue;
      const bool scan = operations_[i].has_fiber_lookup();
      if (!scan && !operations_[i].has_repeat()) return;
      takers.insert(i);
    }
    left_out_.insert(roots.begin(), roots.end());
    from_root_ = takers;
  }

  // --- ports

  void out(size_t node, PortKey key, std::string comment) {
    if (key.id != 0) givers_[key] = {node, key, std::move(comment)};
  }
  void in(size_t node, PortKey key, std::string comment) {
    if (key.id != 0) taken_.push_back({node, key, std::move(comment)});
  }

  void join_ports(size_t n, const comal::Joiner& op) {
    out(n, key_of(op.output_crd()), op.index());
    for (int i = 0; i < op.input_pairs_size(); ++i) {
      const auto payload = [](const comal::Joiner::Payload& of) {
        return of.has_val_stream() ? key_of(of.val_stream()) : key_of(of.ref_stream());
      };
      in(n, key_of(op.input_pairs(i).crd()), fmt::format("in-{}", i));
      in(n, payload(op.input_pairs(i).in_ref()), fmt::format("in-{}", i));
      if (i < op.output_refs_size()) {
        out(n, payload(op.output_refs(i)), fmt::format("out-{}", i));
      }
    }
  }

  void accumulate_ports(size_t n, const comal::SparseAccumulator& op) {
    in(n, key_of(op.input_inner_crd()), "inner-0");
    for (int i = 0; i < op.input_outer_crds_size(); ++i) {
      in(n, key_of(op.input_outer_crds(i)),
         fmt::format("outer-{}", op.order() - static_cast<uint64_t>(i)));
    }
    in(n, key_of(op.input_val()), "");
    out(n, key_of(op.output_inner_crd()), "out-0");
    for (int i = 0; i < op.output_outer_crds_size(); ++i) {
      out(n, key_of(op.output_outer_crds(i)),
          fmt::format("out-{}", op.order() - 1 - static_cast<uint64_t>(i)));
    }
    out(n, key_of(op.output_val()), "");
  }

  void drop_ports(size_t n, const comal::CoordDrop& op) {
    in(n, key_of(op.input_outer_crd()), "outer-" + op.outer_crd());
    in(n, key_of(op.input_inner_crd()), "inner-" + op.inner_crd());
    in(n, key_of(op.input_inner_val()), "inner-val");
    out(n, key_of(op.output_outer_crd()), "outer-" + op.outer_crd());
    out(n, key_of(op.output_inner_crd()), "inner-" + op.inner_crd());
    out(n, key_of(op.output_inner_val()), "inner-val");
  }

  void ports(size_t n, const Operation& op) {
    const Ports streams = ports_of(op);
    for (const PortKey& key : streams.looked_at) looked_.push_back({n, key, ""});
    if (op.has_joiner()) return join_ports(n, op.joiner());
    if (op.has_spacc()) return accumulate_ports(n, op.spacc());
    if (op.has_coord_drop()) return drop_ports(n, op.coord_drop());
    const bool at_root = from_root_.contains(static_cast<int>(n));
    for (const PortKey& key : streams.inputs) {
      const bool root = at_root && key.kind == PortKind::ref && key == root_input(op);
      if (!root) in(n, key, "");
    }
    for (const PortKey& key : streams.outputs) out(n, key, "");
  }

  static PortKey root_input(const Operation& op) {
    return op.has_repeat() ? key_of(op.repeat().in_ref()) : key_of(op.fiber_lookup().input_ref());
  }

  // --- text

  static const char* type_of(PortKind kind) {
    switch (kind) {
      case PortKind::crd:
        return "crd";
      case PortKind::ref:
        return "ref";
      case PortKind::val:
        return "val";
      case PortKind::signal:
        return "repsig";
    }
    return "";
  }

  static const char* style_of(PortKind kind) {
    switch (kind) {
      case PortKind::crd:
        return " style=dashed";
      case PortKind::ref:
        return " style=bold";
      case PortKind::signal:
        return " style=dotted";
      case PortKind::val:
        return "";
    }
    return "";
  }

  void write_edge(const EdgePort& taken, bool looks) {
    const auto giver = givers_.find(taken.key);
    if (giver == givers_.end()) return;
    written_.insert(taken.key);
    const std::string& own = giver->second.comment;
    const std::string& comment = taken.comment.empty() ? own : taken.comment;
    const char* type = type_of(taken.key.kind);
    line(fmt::format("{} -> {} [label={}{} type=\"{}\" comment={} stream=\"{}\"{}{}]",
                     giver->second.node, taken.node,
                     dot_quoted(comment.empty() ? type : fmt::format("{}_{}", type, comment)),
                     style_of(taken.key.kind), type, dot_quoted(comment), taken.key.id,
                     own.empty() || comment == own ? "" : fmt::format(" from={}", dot_quoted(own)),
                     looks ? " look=\"true\"" : ""));
  }

  std::string attributes_text(const Attributes& attributes) {
    std::string text;
    for (const auto& [key, value] : attributes) {
      text += fmt::format(" {}={}", key, dot_quoted(value));
    }
    return text;
  }

  void write_node(int n, const Operation& op) {
    Attributes attributes = attributes_of(op);
    if (from_root_.contains(n)) attributes.emplace_back("root", "true");
    const bool extended = op.has_extension();
    if (extended) attributes.emplace_back("fuseflow", message_line(op.extension()));
    const bool point = op.has_broadcast();
    line(fmt::format("{} [label={} {}{}]", n, dot_quoted(label_of(attributes)),
                     point ? "shape=point" : "shape=box", attributes_text(attributes)));
  }

  static std::string label_of(const Attributes& attributes) {
    std::string label;
    for (const auto& [key, value] : attributes) {
      if (key == "type") label = value;
      if (key == "tensor" || key == "mode") label += " " + value;
    }
    return label;
  }

  static std::string alu_type(const comal::ALU& op) {
    if (op.stages(0).op() == comal::ALU::SUB) return "add";
    for (const SamArithmetic& row : kSamArithmetic) {
      if (row.op == op.stages(0).op()) return std::string(row.name);
    }
    return "";
  }

  static Attributes accumulate_attributes(const comal::SparseAccumulator& op) {
    Attributes attributes = {{"type", "spaccumulator"}, {"order", std::to_string(op.order())}};
    for (uint64_t i = 0; i <= op.order(); ++i) {
      attributes.emplace_back(fmt::format("in{}", i), std::to_string(i));
    }
    return attributes;
  }

  static Attributes attributes_of(const Operation& op) {
    switch (op.op_case()) {
      case Operation::kFiberLookup:
        return {{"type", "fiberlookup"},
                {"index", op.fiber_lookup().index()},
                {"tensor", op.fiber_lookup().tensor()},
                {"mode", std::to_string(op.fiber_lookup().mode())},
                {"format", op.fiber_lookup().format()},
                {"src", "true"}};
      case Operation::kRepeat:
        return {{"type", "repeat"}, {"index", op.repeat().index()}};
      case Operation::kRepeatsig:
        return {{"type", "repsiggen"}, {"index", op.repeatsig().index()}};
      case Operation::kJoiner:
        return {{"type", op.joiner().join_type() == comal::Joiner::UNION ? "union" : "intersect"},
                {"index", op.joiner().index()}};
      case Operation::kArray:
        return {{"type", "arrayvals"}, {"tensor", op.array().tensor()}};
      case Operation::kAlu:
        return {{"type", alu_type(op.alu())},
                {"sub", op.alu().stages(0).op() == comal::ALU::SUB ? "1" : "0"},
                {"scalar", fmt::format("{}", op.alu().scalar())}};
      case Operation::kReduce:
        return {{"type", "reduce"},
                {"operator", op.reduce().reduce_type() == comal::Reduce::MAX ? "max" : "add"}};
      case Operation::kSpacc:
        return accumulate_attributes(op.spacc());
      case Operation::kCoordDrop:
        return {
            {"type", "crddrop"},
            {"outer", op.coord_drop().outer_crd()},
            {"inner", op.coord_drop().has_input_inner_val() ? "val" : op.coord_drop().inner_crd()}};
      case Operation::kFiberWrite:
        return {{"type", "fiberwrite"},
                {"index", op.fiber_write().index()},
                {"tensor", op.fiber_write().tensor()},
                {"mode", op.fiber_write().mode_val()},
                {"format", op.fiber_write().format()},
                {"size", op.fiber_write().size()},
                {"sink", "true"}};
      case Operation::kValWrite:
        return {{"type", "fiberwrite"},
                {"tensor", op.val_write().tensor()},
                {"mode", "vals"},
                {"sink", "true"}};
      case Operation::kRoot:
        return {{"type", "root"}};
      case Operation::kBroadcast:
        return {{"type", "broadcast"}};
      default:
        return {{"type", "fuseflow_" + kind_of(op)}};
    }
  }

  const comal::ComalGraph& graph_;
  const google::protobuf::RepeatedPtrField<Operation>& operations_;
  std::set<int> left_out_;   ///< the root and its broadcasts
  std::set<int> from_root_;  ///< what takes the root's reference
  std::map<PortKey, EdgePort> givers_;
  std::vector<EdgePort> taken_;
  std::vector<EdgePort> looked_;
  std::set<PortKey> written_;
  std::string text_;
};

}  // namespace

std::string sam_dot(const comal::ComalGraph& graph) {
  return SamWriter(graph).write();
}

}  // namespace fuseflow
