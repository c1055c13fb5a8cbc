#include "ir/dot.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "ir/names.h"
#include "ir/print.h"

namespace fuseflow {

namespace {

constexpr size_t kMaxLabel = 100;

/// Cuts the middle out of a long text, without splitting a UTF-8 character.
std::string shortened(const std::string& text) {
  if (text.size() <= kMaxLabel) return text;
  size_t head = kMaxLabel / 2;
  size_t tail = text.size() - kMaxLabel / 2;
  const auto continues = [&](size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
  };
  while (head > 0 && continues(head)) --head;
  while (tail < text.size() && continues(tail)) ++tail;
  return text.substr(0, head) + "..." + text.substr(tail);
}

/// As the content of a DOT string in double quotes; control characters become blanks.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return result;
}

std::string label(const std::string& text) {
  return escaped(shortened(text));
}

struct Style {
  std::string_view colour;
  std::string_view meaning;
};

/// Colour of a node by what it works on.
Style style_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::root:
      return {"#eeeeee", "root"};
    case NodeKind::scan:
    case NodeKind::locate:
    case NodeKind::array:
      return {"#cfe2f3", "reads a tensor"};
    case NodeKind::repeat:
    case NodeKind::align:
    case NodeKind::buffer:
      return {"#f3f3f3", "moves tokens"};
    case NodeKind::intersect:
    case NodeKind::unite:
    case NodeKind::leftjoin:
      return {"#fce5cd", "joins coordinates"};
    case NodeKind::map:
    case NodeKind::coordinate:
    case NodeKind::pad:
      return {"#fff2cc", "computes"};
    case NodeKind::reduce:
    case NodeKind::accumulate:
      return {"#f4cccc", "reduces"};
    case NodeKind::drop:
    case NodeKind::filter:
      return {"#ead1dc", "drops"};
    case NodeKind::write_level:
    case NodeKind::write_values:
      return {"#d9ead3", "writes a tensor"};
    case NodeKind::parallelize:
    case NodeKind::serialize:
      return {"#d9d2e9", "splits and merges"};
    case NodeKind::tile_load:
    case NodeKind::tile_store:
      return {"#d9ead3", "moves tiles"};
    case NodeKind::tile_multiply:
      return {"#f4cccc", "multiplies tiles"};
    case NodeKind::exchange:
    case NodeKind::gather:
    case NodeKind::shuffle:
    case NodeKind::reduce_scatter:
    case NodeKind::tile_hold:
      return {"#d9d2e9", "links"};
    case NodeKind::barrier_:
      break;
  }
  return {"#ffffff", ""};
}

std::string_view stream_style(StreamKind kind) {
  return kind == StreamKind::crd ? "dashed" : kind == StreamKind::ref ? "dotted" : "solid";
}

class DotPrinter {
 public:
  DotPrinter(const Program& program, const DotOptions& options) : p_(program), o_(options) {
    definer_.assign(p_.tensors.size(), -1);
    users_.resize(p_.tensors.size());
    for (size_t r = 0; r < p_.regions.size(); ++r) {
      for (const Statement& s : p_.regions[r].statements) {
        definer_[s.result] = static_cast<int>(r);
        for (const Expr& e : s.nodes) {
          if (e.kind == Expr::Kind::access) users_[e.tensor].insert(r);
        }
      }
    }
  }

  std::string print() {
    line(0, fmt::format("digraph \"{}\" {{", label(p_.name)));
    line(1, "rankdir=TB; compound=true; fontname=\"Helvetica\"; newrank=true;");
    line(1,
         "node [fontname=\"Helvetica\", fontsize=10, shape=box, style=\"filled,rounded\", "
         "fillcolor=\"#fff2cc\", margin=\"0.08,0.04\"];");
    line(1, "edge [fontname=\"Helvetica\", fontsize=8, arrowsize=0.6];");
    for (size_t r = 0; r < p_.regions.size(); ++r) print_region(r);
    print_tensors();
    for (const std::string& edge : edges_) line(1, edge);
    line(0, "}");
    return std::move(text_);
  }

 private:
  void line(int depth, const std::string& content) {
    text_ += std::string(static_cast<size_t>(depth) * 2, ' ') + content + "\n";
  }

  /// Intermediates of one region are edges; all other tensors are ellipses.
  bool is_ellipse(TensorId tensor) const {
    const Tensor& t = p_.tensors[tensor];
    if (t.role != Role::temporary || definer_[tensor] < 0) return true;
    for (const size_t user : users_[tensor]) {
      if (static_cast<int>(user) != definer_[tensor]) return true;
    }
    return false;
  }

  std::string tensor_node(TensorId tensor) {
    drawn_.insert(tensor);
    return fmt::format("t{}", tensor);
  }

  void print_region(size_t r) {
    const Region& region = p_.regions[r];
    line(1, fmt::format("subgraph cluster_r{} {{", r));
    line(2, fmt::format("label=\"@{}{}\"; color=\"#666666\"; style=rounded;", label(region.name),
                        schedule_text(region.schedule)));
    if (region.graph && !o_.statements) {
      print_graph_of(r, *region.graph);
    } else {
      print_statements(r);
    }
    line(1, "}");
  }

  static std::string schedule_text(const Schedule& schedule) {
    std::string text;
    if (!schedule.order.empty()) {
      text += "\\norder " + label(fmt::format("{}", fmt::join(schedule.order, ", ")));
    }
    for (const Parallel& parallel : schedule.parallel) {
      text += fmt::format("\\nparallel {} = {}", label(parallel.index), parallel.factor);
    }
    return text;
  }

  // --- statements

  void print_statements(size_t r) {
    const Region& region = p_.regions[r];
    for (size_t s = 0; s < region.statements.size(); ++s) {
      const Statement& statement = region.statements[s];
      line(2, fmt::format("s{}_{} [label=\"{}\"];", r, s, label(print_statement(p_, statement))));
      print_uses(r, s);
      if (is_ellipse(statement.result)) {
        edges_.push_back(fmt::format("s{}_{} -> {};", r, s, tensor_node(statement.result)));
      }
    }
  }

  void print_uses(size_t r, size_t s) {
    const Region& region = p_.regions[r];
    std::set<TensorId> seen;
    for (const Expr& e : region.statements[s].nodes) {
      if (e.kind != Expr::Kind::access || !seen.insert(e.tensor).second) continue;
      const std::string placement = placement_text(region, e.tensor, region.statements[s].result);
      size_t producer = 0;
      while (producer < s && region.statements[producer].result != e.tensor) ++producer;
      const std::string from = producer < s && !is_ellipse(e.tensor)
                                   ? fmt::format("s{}_{}", r, producer)
                                   : tensor_node(e.tensor);
      edges_.push_back(
          fmt::format("{} -> s{}_{}{};", from, r, s,
                      placement.empty() ? "" : fmt::format(" [label=\"{}\"]", placement)));
    }
  }

  static std::string placement_text(const Region& region, TensorId tensor, TensorId consumer) {
    std::string text;
    for (const UsePlacement& use : region.schedule.placements) {
      if (use.tensor != tensor) continue;
      if (use.consumer == consumer) return std::string(placement_name(use.placement));
      if (use.consumer < 0) text = placement_name(use.placement);
    }
    return text;
  }

  // --- graphs

  void print_graph_of(size_t r, const Graph& graph) {
    int phase = -1;
    const bool phases = !graph.nodes.empty() && graph.nodes.back().phase > 0;
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      const Node& node = graph.nodes[n];
      if (phases && node.phase != phase) {
        if (phase >= 0) line(2, "}");
        phase = node.phase;
        line(2, fmt::format("subgraph cluster_r{}_p{} {{", r, phase));
        line(3, fmt::format("label=\"phase {}{}\"; color=\"#bbbbbb\"; style=dashed;", phase,
                            graph.starts_by_rows(phase) ? ", by rows" : ""));
      }
      line(phases ? 3 : 2, fmt::format("n{}_{} [label=\"{}\", fillcolor=\"{}\"];", r, n,
                                       node_label(node), style_of(node.kind).colour));
      print_streams(r, n, graph);
    }
    if (phases && phase >= 0) line(2, "}");
  }

  std::string node_label(const Node& node) const {
    const NodeKindInfo& info = node_kind_info(node.kind);
    std::string text(info.name);
    if (info.op) text = std::string(op_info(node.op).name);
    if (info.reduction) text += fmt::format(" {}", reduction_name(node.reduction));
    if (info.order) text += fmt::format(" {}", node.order);
    text = escaped(text);
    if (info.tensor && node.tensor >= 0) {
      text += "\\n%" + label(p_.tensors[node.tensor].name);
      if (info.level) text += fmt::format(".{}", node.level);
    }
    for (const Input& input : node.inputs) {
      if (input.is_immediate()) text += " " + float_text(input.immediate);
    }
    if (info.capacity && node.capacity > 0) text += fmt::format("\\ncapacity {}", node.capacity);
    return text;
  }

  void print_streams(size_t r, size_t n, const Graph& graph) {
    const Node& node = graph.nodes[n];
    for (const Input& input : node.inputs) {
      if (input.is_immediate()) continue;
      const Stream& stream = graph.streams[input.stream];
      std::string attributes = fmt::format("style={}", stream_style(stream.kind));
      if (o_.labels) attributes += fmt::format(", label=\"{}\"", label(stream.name));
      edges_.push_back(fmt::format("n{}_{} -> n{}_{} [{}];", r, stream.producer, r, n, attributes));
    }
    if (node.tensor < 0) return;
    const bool writes = node.kind == NodeKind::write_level || node.kind == NodeKind::write_values ||
                        node.kind == NodeKind::tile_store;
    const std::string tensor = tensor_node(node.tensor);
    const std::string self = fmt::format("n{}_{}", r, n);
    edges_.push_back(fmt::format("{} -> {} [color=\"#999999\", arrowhead=none];",
                                 writes ? self : tensor, writes ? tensor : self));
  }

  // --- tensors

  void print_tensors() {
    for (const TensorId tensor : drawn_) {
      const Tensor& t = p_.tensors[tensor];
      const std::string_view colour = t.role == Role::input      ? "#9fc5e8"
                                      : t.role == Role::constant ? "#d0e0e3"
                                      : t.role == Role::result   ? "#b6d7a8"
                                                                 : "#ffffff";
      std::vector<std::string> shape;
      for (const Extent& extent : t.shape) {
        shape.push_back(extent.symbol.empty() ? std::to_string(extent.value) : extent.symbol);
      }
      line(1, fmt::format("t{} [label=\"%{}\\n{}[{}] {}\", shape=ellipse, style=filled, "
                          "fillcolor=\"{}\"];",
                          tensor, label(t.name), element_name(t.type),
                          label(fmt::format("{}", fmt::join(shape, ", "))), to_string(t.format),
                          colour));
    }
  }

  const Program& p_;
  const DotOptions& o_;
  std::vector<int> definer_;             ///< region of each tensor's statement
  std::vector<std::set<size_t>> users_;  ///< regions that read each tensor
  std::set<TensorId> drawn_;
  std::vector<std::string> edges_;
  std::string text_;
};

}  // namespace

std::string print_dot(const Program& program, const DotOptions& options) {
  return DotPrinter(program, options).print();
}

}  // namespace fuseflow
