#include "ir/dot.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

#include "graph/collapse.h"
#include "ir/attribution.h"
#include "ir/dot_style.h"
#include "ir/names.h"
#include "ir/print.h"
#include "nodes/rule.h"

namespace fuseflow {

namespace {

std::string schedule_text(const Schedule& schedule) {
  std::string text;
  if (!schedule.order.empty()) {
    text += "\\norder " + dot_label(fmt::format("{}", fmt::join(schedule.order, ", ")));
  }
  for (const Parallel& parallel : schedule.parallel) {
    text += fmt::format("\\nparallel {} = {}", dot_label(parallel.index), parallel.factor);
  }
  for (const Join& join : schedule.joins) {
    text += fmt::format("\\njoin {} = {}", dot_label(join.index), join_form_name(join.form));
  }
  return text;
}

std::string placement_text(const Region& region, TensorId tensor, TensorId consumer) {
  std::string text;
  for (const UsePlacement& use : region.schedule.placements) {
    if (use.tensor != tensor) continue;
    if (use.consumer == consumer) return std::string(placement_name(use.placement));
    if (use.consumer < 0) text = placement_name(use.placement);
  }
  return text;
}

/// Every node by itself.
std::vector<NodeGroup> single_nodes(const Graph& graph) {
  std::vector<NodeGroup> groups(graph.nodes.size());
  for (size_t n = 0; n < groups.size(); ++n) groups[n].nodes = {n};
  return groups;
}

class DotPrinter {
 public:
  DotPrinter(const Program& program, const DotOptions& options)
      : p_(program), o_(options), attribution_(program) {
    definer_.assign(p_.tensors.size(), -1);
    users_.resize(p_.tensors.size());
    std::set<std::string> layers;
    for (size_t r = 0; r < p_.regions.size(); ++r) {
      for (const Statement& s : p_.regions[r].statements) {
        layers.insert(attribution_.layer(s));
        definer_[s.result] = static_cast<int>(r);
        for (const Expr& e : s.nodes) {
          if (e.kind == Expr::Kind::access) users_[e.tensor].insert(r);
        }
      }
    }
    layered_ = layers.size() > 1;
  }

  std::string print() {
    line(fmt::format("digraph \"{}\" {{", dot_label(p_.name)));
    ++depth_;
    line("rankdir=TB; compound=true; fontname=\"Helvetica\"; newrank=true;");
    line(
        "node [fontname=\"Helvetica\", fontsize=10, shape=box, style=\"filled,rounded\", "
        "fillcolor=\"#fff2cc\", margin=\"0.08,0.04\"];");
    line("edge [fontname=\"Helvetica\", fontsize=8, arrowsize=0.6];");
    std::vector<size_t> regions;
    for (size_t r = 0; r < p_.regions.size(); ++r) {
      if (!o_.region || *o_.region == r) regions.push_back(r);
    }
    by_layer(
        "cluster_l", regions, [&](size_t r) { return layer_of_region(r); },
        [&](size_t r) { print_region(r); });
    print_tensors();
    if (o_.legend) line(dot_legend(kinds_, roles_));
    for (const std::string& edge : edges_) line(edge);
    --depth_;
    line("}");
    return std::move(text_);
  }

 private:
  void line(const std::string& content) { text_ += std::string(2 * depth_, ' ') + content + "\n"; }

  void open(const std::string& cluster, const std::string& label, const char* colour,
            const char* style) {
    line(fmt::format("subgraph {} {{", cluster));
    ++depth_;
    line(fmt::format("label=\"{}\"; color=\"{}\"; style={};", label, colour, style));
  }

  void close() {
    --depth_;
    line("}");
  }

  /// Draws items, those of one layer in a cluster of their own. Layers come in the order of their
  /// first items; what has no layer, or where there is one alone, is drawn without a cluster.
  template <typename Item, typename LayerOf, typename Draw>
  void by_layer(const std::string& cluster, const std::vector<Item>& items, const LayerOf& layer_of,
                const Draw& draw) {
    std::vector<std::string> order;
    std::map<std::string, std::vector<Item>> members;
    for (const Item& item : items) {
      const std::string layer = layered_ ? layer_of(item) : "";
      std::vector<Item>& mine = members[layer];
      if (mine.empty()) order.push_back(layer);
      mine.push_back(item);
    }
    for (size_t l = 0; l < order.size(); ++l) {
      const bool clustered = !order[l].empty() && order.size() > 1;
      if (clustered) {
        open(fmt::format("{}{}", cluster, l), "layer " + dot_label(order[l]), "#3d85c6",
             "\"rounded,dashed\"");
      }
      for (const Item& item : members[order[l]]) draw(item);
      if (clustered) close();
    }
  }

  /// The layer of all statements of a region; empty where they are of several.
  std::string layer_of_region(size_t r) const {
    std::set<std::string> layers;
    for (const Statement& s : p_.regions[r].statements) layers.insert(attribution_.layer(s));
    return layers.size() == 1 ? *layers.begin() : "";
  }

  std::string layer_of_node(size_t r, const Node& node) const {
    const Statement* statement = attribution_.statement(r, node);
    return statement == nullptr ? "" : attribution_.layer(*statement);
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
    roles_.insert(p_.tensors[tensor].role);
    return fmt::format("t{}", tensor);
  }

  void print_region(size_t r) {
    const Region& region = p_.regions[r];
    open(fmt::format("cluster_r{}", r),
         "@" + dot_label(region.name) + schedule_text(region.schedule), "#666666", "rounded");
    if (region.graph && !o_.statements) {
      print_graph_of(r, *region.graph);
    } else {
      print_statements(r);
    }
    close();
  }

  // --- statements

  void print_statements(size_t r) {
    const Region& region = p_.regions[r];
    std::vector<size_t> all(region.statements.size());
    for (size_t s = 0; s < all.size(); ++s) all[s] = s;
    by_layer(
        fmt::format("cluster_r{}_l", r), all,
        [&](size_t s) { return attribution_.layer(region.statements[s]); },
        [&](size_t s) { print_statement_box(r, s); });
  }

  void print_statement_box(size_t r, size_t s) {
    const Statement& statement = p_.regions[r].statements[s];
    line(fmt::format("s{}_{} [label=\"{}\"];", r, s, dot_label(print_statement(p_, statement))));
    print_uses(r, s);
    if (is_ellipse(statement.result)) {
      edges_.push_back(fmt::format("s{}_{} -> {};", r, s, tensor_node(statement.result)));
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

  // --- graphs

  void print_graph_of(size_t r, const Graph& graph) {
    const std::vector<NodeGroup> groups = o_.expand ? single_nodes(graph) : collapse_copies(graph);
    std::vector<size_t> group_of(graph.nodes.size());
    std::vector<std::vector<const NodeGroup*>> phases(static_cast<size_t>(graph.phases()));
    for (size_t g = 0; g < groups.size(); ++g) {
      for (const size_t node : groups[g].nodes) group_of[node] = groups[g].nodes[0];
      if (!is_drawn(groups[g].nodes[0])) continue;
      phases[static_cast<size_t>(graph.nodes[groups[g].nodes[0]].phase)].push_back(&groups[g]);
    }
    for (size_t phase = 0; phase < phases.size(); ++phase) {
      if (phases[phase].empty()) continue;
      const std::string cluster = fmt::format("cluster_r{}_p{}", r, phase);
      if (phases.size() > 1) {
        const bool rows = graph.starts_by_rows(static_cast<int>(phase));
        open(cluster, fmt::format("phase {}{}", phase, rows ? ", by rows" : ""), "#bbbbbb",
             "dashed");
      }
      by_layer(
          cluster + "_l", phases[phase],
          [&](const NodeGroup* group) { return layer_of_node(r, graph.nodes[group->nodes[0]]); },
          [&](const NodeGroup* group) { print_group(r, graph, *group, group_of); });
      if (phases.size() > 1) close();
    }
  }

  bool is_drawn(size_t node) const { return !o_.nodes || o_.nodes->contains(node); }

  void print_group(size_t r, const Graph& graph, const NodeGroup& group,
                   const std::vector<size_t>& group_of) {
    const size_t number = group.nodes[0];
    const Node& node = graph.nodes[number];
    kinds_.insert(node.kind);
    std::string label = fmt::format("{} {}", number, node_label(node));
    if (group.nodes.size() > 1) label += fmt::format("\\n{} copies", group.nodes.size());
    std::string colour(style_of(node.kind).colour);
    if (o_.look) {
      const NodeLook look = o_.look(r, group.nodes);
      if (!look.line.empty()) label += "\\n" + dot_label(look.line);
      colour = look.fill;
    }
    line(fmt::format("n{}_{} [label=\"{}\", fillcolor=\"{}\"];", r, number, label, colour));
    std::set<std::pair<size_t, StreamKind>> seen;
    for (const size_t copy : group.nodes) {
      print_streams(r, graph, graph.nodes[copy], number, group_of, seen);
    }
    print_tensor_edge(r, number, node);
  }

  std::string node_label(const Node& node) const {
    const NodeRule& rule = node_rule(node.kind);
    const NodeFields& fields = rule.fields;
    std::string text(*rule.name);
    if (fields.op) text = std::string(op_info(node.op).name);
    if (fields.reduction) text += fmt::format(" {}", reduction_name(node.reduction));
    if (fields.order) text += fmt::format(" {}", node.order);
    text = dot_escaped(text);
    if (fields.tensor && node.tensor >= 0) {
      text += "\\n%" + dot_label(p_.tensors[node.tensor].name);
      if (fields.level) text += fmt::format(".{}", node.level);
    }
    if (fields.other_level) {
      text +=
          fmt::format("\\n%{}.{}", dot_label(p_.tensors[node.other_tensor].name), node.other_level);
    }
    for (const Input& input : node.inputs) {
      if (input.is_immediate()) text += " " + float_text(input.immediate);
    }
    if (fields.capacity && node.capacity > 0) text += fmt::format("\\ncapacity {}", node.capacity);
    return text;
  }

  /// Streams into a node; of parallel copies one line a kind, unless streams are named.
  void print_streams(size_t r, const Graph& graph, const Node& node, size_t number,
                     const std::vector<size_t>& group_of,
                     std::set<std::pair<size_t, StreamKind>>& seen) {
    std::set<std::pair<size_t, StreamKind>> mine;
    for (const Input& input : node.inputs) {
      if (input.is_immediate()) continue;
      const Stream& stream = graph.streams[input.stream];
      const size_t from = group_of[static_cast<size_t>(stream.producer)];
      mine.emplace(from, stream.kind);
      if (seen.contains({from, stream.kind}) || !is_drawn(from)) continue;
      std::string attributes = fmt::format("style={}", line_style(stream.kind));
      if (o_.labels) attributes += fmt::format(", label=\"{}\"", dot_label(stream.name));
      edges_.push_back(fmt::format("n{}_{} -> n{}_{} [{}];", r, from, r, number, attributes));
    }
    seen.insert(mine.begin(), mine.end());
  }

  void print_tensor_edge(size_t r, size_t number, const Node& node) {
    if (!o_.tensors) return;
    const bool writes = node.outputs.empty();
    const std::string self = fmt::format("n{}_{}", r, number);
    for_tensors(node, [&](TensorId id) {
      const std::string tensor = tensor_node(id);
      edges_.push_back(fmt::format("{} -> {} [color=\"#999999\", arrowhead=none];",
                                   writes ? self : tensor, writes ? tensor : self));
    });
  }

  // --- tensors

  void print_tensors() {
    for (const TensorId tensor : drawn_) {
      const Tensor& t = p_.tensors[tensor];
      std::vector<std::string> shape;
      for (const Extent& extent : t.shape) {
        shape.push_back(extent.symbol.empty() ? std::to_string(extent.value) : extent.symbol);
      }
      line(
          fmt::format("t{} [label=\"%{}\\n{}[{}] {}\", shape=ellipse, style=filled, "
                      "fillcolor=\"{}\"];",
                      tensor, dot_label(t.name), element_name(t.type),
                      dot_label(fmt::format("{}", fmt::join(shape, ", "))), to_string(t.format),
                      style_of(t.role).colour));
    }
  }

  const Program& p_;
  const DotOptions& o_;
  const Attribution attribution_;
  bool layered_ = false;                 ///< the program has several layers
  std::vector<int> definer_;             ///< region of each tensor's statement
  std::vector<std::set<size_t>> users_;  ///< regions that read each tensor
  std::set<TensorId> drawn_;
  std::set<NodeKind> kinds_;  ///< what the legend has to explain
  std::set<Role> roles_;
  std::vector<std::string> edges_;
  size_t depth_ = 0;
  std::string text_;
};

}  // namespace

std::string print_dot(const Program& program, const DotOptions& options) {
  return DotPrinter(program, options).print();
}

}  // namespace fuseflow
