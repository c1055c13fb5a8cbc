#include "ir/print.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <map>
#include <set>
#include <type_traits>

#include "graph/node_fields.h"
#include "ir/names.h"
#include "nodes/rule.h"

namespace fuseflow {

namespace {

std::string tensor_text(const Program& program, TensorId tensor) {
  return "%" + quote_if_needed(program.tensors[tensor].name);
}

/// What the other facts do not say already of the ends of the range: canonical, as each end is
/// either implied or part of the one `range`.
bool says_more(const Facts& facts) {
  Facts named = facts;
  named.least = -std::numeric_limits<float>::infinity();
  named.largest = std::numeric_limits<float>::infinity();
  named = closed(named);
  return facts.least > named.least || facts.largest < named.largest;
}

std::string extent_symbol(const Extent& extent) {
  return extent.symbol.empty() ? std::to_string(extent.value) : quote_if_needed(extent.symbol);
}

/// Binding strength of an expression as printed; an operand weaker than its place gets parentheses.
enum Strength { comparison, sum, product, unary, primary };

class StatementPrinter {
 public:
  StatementPrinter(const Program& program, const Statement& statement)
      : program_(program), s_(statement) {}

  std::string print() const {
    std::string text = tensor_text(program_, s_.result);
    if (!s_.result_indices.empty()) {
      std::vector<std::string> names;
      for (const IndexId index : s_.result_indices) names.push_back(declared(index));
      text += fmt::format("[{}]", fmt::join(names, ", "));
    }
    return text + " = " + expression(static_cast<int>(s_.nodes.size()) - 1);
  }

 private:
  std::string index(IndexId i) const { return quote_if_needed(s_.indices[i].name); }

  std::string declared(IndexId i) const {
    return s_.indices[i].stated ? fmt::format("{}:{}", index(i), s_.indices[i].extent) : index(i);
  }

  Strength strength(int node) const {
    const Expr& e = s_.nodes[node];
    if (e.kind == Expr::Kind::reduce) return product;
    if (e.kind != Expr::Kind::apply) return primary;
    switch (e.op) {
      case Op::add:
      case Op::sub:
        return sum;
      case Op::mul:
      case Op::div:
        return product;
      default:
        return op_info(e.op).symbol.empty() ? primary : comparison;
    }
  }

  /// The text ends in a reduction's body, which would swallow a following factor.
  bool ends_in_reduction(int node) const {
    const Expr& e = s_.nodes[node];
    if (e.kind == Expr::Kind::reduce) return true;
    return e.kind == Expr::Kind::apply && strength(node) == product &&
           s_.nodes[e.children[1]].kind == Expr::Kind::reduce;
  }

  std::string operand(int node, bool parentheses) const {
    return parentheses ? "(" + expression(node) + ")" : expression(node);
  }

  std::string infix(const Expr& e, Strength own) const {
    const int left = e.children[0];
    const int right = e.children[1];
    // Comparisons do not chain; sums and products group to the left. A reduction may stand as the
    // last factor of a product.
    const bool left_parentheses =
        own == comparison ? strength(left) <= comparison
                          : strength(left) < own || (own == product && ends_in_reduction(left));
    const bool right_parentheses =
        strength(right) <= own && !(own == product && s_.nodes[right].kind == Expr::Kind::reduce);
    return fmt::format("{} {} {}", operand(left, left_parentheses), op_info(e.op).symbol,
                       operand(right, right_parentheses));
  }

  std::string expression(int node) const {
    const Expr& e = s_.nodes[node];
    switch (e.kind) {
      case Expr::Kind::constant:
        return float_text(e.constant);
      case Expr::Kind::coordinate:
        return fmt::format("coordinate({})", index(e.index));
      case Expr::Kind::access:
        return access(e);
      case Expr::Kind::reduce: {
        std::vector<std::string> over;
        for (const IndexId i : e.over) over.push_back(declared(i));
        return fmt::format("{}({}) {}", reduction_name(e.reduction), fmt::join(over, ", "),
                           operand(e.children[0], strength(e.children[0]) < product));
      }
      case Expr::Kind::apply:
        break;
    }
    if (!op_info(e.op).symbol.empty()) return infix(e, strength(node));
    std::vector<std::string> operands;
    for (const int32_t child : e.children) operands.push_back(expression(child));
    return fmt::format("{}({})", op_info(e.op).name, fmt::join(operands, ", "));
  }

  std::string access(const Expr& e) const {
    std::string text = tensor_text(program_, e.tensor);
    if (e.subscripts.empty()) return text;
    std::vector<std::string> subscripts;
    for (const Subscript& s : e.subscripts) subscripts.push_back(subscript(s));
    return text + fmt::format("[{}]", fmt::join(subscripts, ", "));
  }

  std::string subscript(const Subscript& subscript) const {
    std::string text;
    for (const auto& [i, coefficient] : subscript.terms) {
      const uint64_t size = coefficient < 0 ? -static_cast<uint64_t>(coefficient)
                                            : static_cast<uint64_t>(coefficient);
      if (coefficient < 0) text += text.empty() ? "-" : " - ";
      if (coefficient >= 0 && !text.empty()) text += " + ";
      text += size == 1 ? index(i) : fmt::format("{}*{}", size, index(i));
    }
    if (text.empty()) return std::to_string(subscript.offset);
    const uint64_t size = subscript.offset < 0 ? -static_cast<uint64_t>(subscript.offset)
                                               : static_cast<uint64_t>(subscript.offset);
    if (size != 0) text += fmt::format(" {} {}", subscript.offset < 0 ? "-" : "+", size);
    return text;
  }

  const Program& program_;
  const Statement& s_;
};

class GraphPrinter {
 public:
  GraphPrinter(const Program& program, Graph graph, int indent)
      : program_(program), g_(std::move(graph)), pad_(static_cast<size_t>(indent), ' ') {
    name_streams(g_);
  }

  std::string print() {
    line(0, "graph {");
    print_tensors("scratchpad", g_.scratchpad);
    print_tensors("resident", g_.resident);
    for (const GraphIndex& index : g_.indices) {
      const std::string blocks =
          index.size < 0 ? "" : fmt::format(" block={} size={}", index.block, index.size);
      line(1, fmt::format("index {}: {}{}{}", quote_if_needed(index.name), index.extent, blocks,
                          digits(index)));
    }
    if (g_.tiles) line(1, tiles(*g_.tiles));
    for (size_t n = 0; n < g_.nodes.size(); ++n) {
      if (n == 0 || g_.nodes[n].phase != g_.nodes[n - 1].phase) {
        if (n > 0) line(1, "}");
        line(1, g_.starts_by_rows(g_.nodes[n].phase) ? "phase rows {" : "phase {");
      }
      line(2, node(g_.nodes[n]));
    }
    if (!g_.nodes.empty()) line(1, "}");
    line(0, "}");
    return std::move(text_);
  }

 private:
  void print_tensors(std::string_view word, const std::vector<TensorId>& tensors) {
    std::vector<std::string> names;
    names.reserve(tensors.size());
    for (const TensorId tensor : tensors) names.push_back(tensor_text(program_, tensor));
    if (!names.empty()) line(1, fmt::format("{} {}", word, fmt::join(names, ", ")));
  }

  void line(int depth, const std::string& content) {
    text_ += pad_ + std::string(static_cast<size_t>(depth) * 2, ' ') + content + "\n";
  }

  std::string stream(StreamId s) const { return "$" + quote_if_needed(g_.streams[s].name); }

  /// "[i,k]", nothing for an empty list.
  std::string index_list(const std::vector<int>& indices) const {
    std::vector<std::string> names;
    names.reserve(indices.size());
    for (const int i : indices) names.push_back(quote_if_needed(g_.indices[i].name));
    return names.empty() ? "" : fmt::format("[{}]", fmt::join(names, ","));
  }

  std::string output(StreamId s) const {
    std::vector<std::string> indices;
    for (const int i : g_.streams[s].indices)
      indices.push_back(quote_if_needed(g_.indices[i].name));
    return fmt::format("{}: {}<{}>{}", stream(s), stream_kind_name(g_.streams[s].kind),
                       fmt::join(indices, ","), index_list(g_.streams[s].block));
  }

  /// " cluster=2 digits=[h:28, w:28]" of a dimension of tiles.
  static std::string digits(const GraphIndex& index) {
    if (index.tiling.digits.empty()) return "";
    std::vector<std::string> parts;
    for (const TileDigit& digit : index.tiling.digits) {
      parts.push_back(fmt::format("{}:{}", quote_if_needed(digit.name), digit.extent));
    }
    return fmt::format(" cluster={} digits=[{}]", index.tiling.cluster, fmt::join(parts, ", "));
  }

  std::string tiles(const TileMapping& tiles) const {
    std::vector<std::string> loops;
    for (const Dim dim : tiles.loops) {
      loops.push_back(quote_if_needed(g_.indices[static_cast<size_t>(index_of(dim))].name));
    }
    const std::string way =
        tiles.way == GatedWay::none ? "" : fmt::format(" way={}", name_of(tiles.way));
    const std::string band =
        tiles.band ? fmt::format(" band=[{}, {}]", (*tiles.band)[0], (*tiles.band)[1]) : "";
    return fmt::format("tiles [{}] bytes={}{}{}{}", fmt::join(loops, ", "), tiles.element_bytes,
                       way, band, open_tiles(tiles.open));
  }

  /// " open=[0:2, 5:6; ; 1:3]", a list for each tile of rows.
  static std::string open_tiles(const std::vector<std::vector<TileRange>>& open) {
    if (open.empty()) return "";
    std::vector<std::string> lists;
    for (const std::vector<TileRange>& ranges : open) {
      std::vector<std::string> parts;
      parts.reserve(ranges.size());
      for (const TileRange& r : ranges) parts.push_back(fmt::format("{}:{}", r.begin, r.end));
      lists.push_back(fmt::format("{}", fmt::join(parts, ", ")));
    }
    return fmt::format(" open=[{}]", fmt::join(lists, "; "));
  }

  /// "[0, c, h + kh - 1]": affine in the digits of the graph's dimensions.
  std::string subscripts(const Node& node) const {
    std::vector<std::string> names;
    for (const GraphIndex& index : g_.indices) {
      for (const TileDigit& digit : index.tiling.digits) {
        names.push_back(quote_if_needed(digit.name));
      }
    }
    std::vector<std::string> parts;
    for (const TileSubscript& subscript : node.tile.subscripts) {
      std::string text;
      for (const auto& [digit, coefficient] : subscript.terms) {
        const std::string& name = names.at(static_cast<size_t>(digit));
        if (!text.empty()) text += " + ";
        text += coefficient == 1 ? name : fmt::format("{}*{}", coefficient, name);
      }
      if (text.empty() || subscript.offset != 0) {
        const int64_t size = subscript.offset < 0 ? -subscript.offset : subscript.offset;
        text += text.empty() ? (subscript.offset < 0 ? "-" : "")
                             : (subscript.offset < 0 ? " - " : " + ");
        text += std::to_string(size);
      }
      parts.push_back(text);
    }
    return fmt::format("[{}]", fmt::join(parts, ", "));
  }

  std::string inputs(const Node& node) const {
    std::string text;
    size_t group = 0;
    int left = node.groups.empty() ? 0 : node.groups[0];
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (i > 0 && !node.groups.empty() && left == 0) {
        text += "; ";
        left = ++group < node.groups.size() ? node.groups[group] : 0;
      } else if (i > 0) {
        text += ", ";
      }
      --left;
      const Input& input = node.inputs[i];
      text += input.is_immediate() ? float_text(input.immediate) : stream(input.stream);
    }
    return text;
  }

  template <typename Row>
  std::string attribute(const Node& node, const Row& row) const {
    const auto& value = value_of(node, row.member);
    using T = std::remove_cvref_t<decltype(value)>;
    if constexpr (Row::names == Names::tensor) {
      return tensor_text(program_, value);
    } else if constexpr (Row::names == Names::loop) {
      return index_list(value);
    } else if constexpr (std::is_same_v<T, bool>) {
      return std::string(value ? row.rule.yes : row.rule.no);
    } else if constexpr (std::is_same_v<T, float>) {
      return float_text(value);
    } else if constexpr (std::is_integral_v<T>) {
      return std::to_string(value);
    } else {
      return fmt::format("[{}]", fmt::join(value, ", "));
    }
  }

  std::string node(const Node& node) const {
    const NodeRule& rule = node_rule(node.kind);
    const NodeFields& fields = rule.fields;
    std::string text;
    for (const StreamId s : node.outputs) text += (text.empty() ? "" : ", ") + output(s);
    if (!text.empty()) text += " = ";
    text += *rule.name;
    if (fields.op) text += fmt::format(" {}", op_info(node.op).name);
    if (fields.reduction) text += fmt::format(" {}", reduction_name(node.reduction));
    if (fields.order) text += fmt::format(" {}", node.order);
    const bool tensor = fields.tensor && node.tensor >= 0;
    if (tensor) text += " " + tensor_text(program_, node.tensor);
    if (tensor && fields.level) text += fmt::format(".{}", node.level);
    if (fields.other_level) {
      text += fmt::format(", {}.{}", tensor_text(program_, node.other_tensor), node.other_level);
    }
    if (fields.other_tensor) text += ", " + tensor_text(program_, node.other_tensor);
    if (fields.subscripts) text += (tensor ? "" : " ") + subscripts(node);
    if (!node.inputs.empty()) text += fmt::format(" ({})", inputs(node));
    for_each_field([&](const auto& row) {
      if constexpr (std::remove_cvref_t<decltype(row)>::is_attribute) {
        if (!row.used_by(fields) || is_default(node, row)) return;
        text += fmt::format(" {}={}", row.rule.name, attribute(node, row));
      }
    });
    return text;
  }

  const Program& program_;
  Graph g_;
  std::string pad_;
  std::string text_;
};

/// ` from MatMul("/layers.0/MatMul")`, or nothing.
std::string origin_text(const ModelNode& from) {
  return from.known() ? fmt::format(" from {}({})", quote_if_needed(from.op), quote(from.name))
                      : "";
}

std::string statement_line(const Program& program, const Statement& statement) {
  return "  " + print_statement(program, statement) + origin_text(statement.from) + "\n";
}

std::string print_reference(const Program& program) {
  std::string text =
      program.reference.reassociated ? "\nreference reassociated {\n" : "\nreference {\n";
  for (const Statement& statement : program.reference.statements) {
    text += statement_line(program, statement);
  }
  return text + "}\n";
}

std::string print_region(const Program& program, const Region& region) {
  std::string text = fmt::format("\nregion @{} {{\n", quote_if_needed(region.name));
  for (const std::string& line : schedule_lines(program, region.schedule)) {
    text += "  " + line + "\n";
  }
  for (const auto& [key, value] : region.plan) {
    text += fmt::format("  plan {} = {}\n", quote_if_needed(key), quote(value));
  }
  for (const Statement& statement : region.statements) {
    text += statement_line(program, statement);
  }
  if (region.graph) text += GraphPrinter(program, *region.graph, 2).print();
  return text + "}\n";
}

/// `dim N = 34` for every symbol, in order of first use.
std::string print_dims(const Program& program) {
  std::string text;
  std::set<std::string> seen;
  for (const Tensor& tensor : program.tensors) {
    for (const Extent& extent : tensor.shape) {
      if (extent.symbol.empty() || !seen.insert(extent.symbol).second) continue;
      text += fmt::format("dim {} = {}\n", quote_if_needed(extent.symbol),
                          extent.known() ? std::to_string(extent.value) : "?");
    }
  }
  return text;
}

}  // namespace

std::string join_line(const Program& program, const Join& join) {
  std::vector<std::string> tensors;
  for (const TensorId tensor : join.located) tensors.push_back(tensor_text(program, tensor));
  return fmt::format("join {} = {}{}{}", quote_if_needed(join.index), join_form_name(join.form),
                     tensors.empty() ? "" : " ", fmt::join(tensors, ", "));
}

std::vector<std::string> schedule_lines(const Program& program, const Schedule& schedule) {
  std::vector<std::string> lines;
  if (!schedule.order.empty()) {
    std::vector<std::string> names;
    for (const std::string& name : schedule.order) names.push_back(quote_if_needed(name));
    lines.push_back(fmt::format("order {}", fmt::join(names, ", ")));
  }
  for (const UsePlacement& use : schedule.placements) {
    const std::string in = use.consumer < 0 ? "" : " in " + tensor_text(program, use.consumer);
    lines.push_back(fmt::format("place {}{} = {}", tensor_text(program, use.tensor), in,
                                placement_name(use.placement)));
  }
  for (const Parallel& parallel : schedule.parallel) {
    lines.push_back(fmt::format("parallel {} = {}{}", quote_if_needed(parallel.index),
                                parallel.factor, parallel.contiguous ? " contiguous" : ""));
  }
  for (const Join& join : schedule.joins) lines.push_back(join_line(program, join));
  if (schedule.barriers) lines.emplace_back("barriers");
  return lines;
}

std::string print_statement(const Program& program, const Statement& statement) {
  return StatementPrinter(program, statement).print();
}

std::string print_tensor(const Tensor& tensor) {
  std::vector<std::string> shape;
  for (const Extent& extent : tensor.shape) shape.push_back(extent_symbol(extent));
  std::string text =
      fmt::format("{} %{}: {}[{}] {}", role_name(tensor.role), quote_if_needed(tensor.name),
                  element_name(tensor.type), fmt::join(shape, ", "), to_string(tensor.format));
  if (!same_constant(tensor.fill, 0)) text += fmt::format(" fill({})", float_text(tensor.fill));
  const std::string facts = facts_text(tensor.facts);
  if (!facts.empty()) text += fmt::format(" facts({})", facts);
  const std::string assumed = facts_text(tensor.assumed);
  if (!assumed.empty()) text += fmt::format(" assume({})", assumed);
  if (tensor.placement != Placement::memory) {
    text += fmt::format(" place({})", placement_name(tensor.placement));
  }
  if (!tensor.copy_of.empty()) text += fmt::format(" copy(%{})", quote_if_needed(tensor.copy_of));
  if (tensor.model_shape) text += fmt::format(" shape({})", fmt::join(*tensor.model_shape, ", "));
  if (tensor.source.kind != Source::Kind::none) text += " = " + to_string(tensor.source);
  return text;
}

std::string print_program(const Program& program) {
  std::string text = fmt::format("fuseflow {}\n", kTextVersion);
  if (!program.name.empty() || !program.strategy.empty()) {
    text += fmt::format("program {}{}\n", quote(program.name),
                        program.strategy.empty() ? "" : " strategy " + quote(program.strategy));
  }
  const std::string dims = print_dims(program);
  if (!dims.empty()) text += "\n" + dims;
  if (!program.tensors.empty()) text += "\n";
  for (const Tensor& tensor : program.tensors) text += print_tensor(tensor) + "\n";
  for (const Region& region : program.regions) text += print_region(program, region);
  if (!program.reference.statements.empty()) text += print_reference(program);
  return text;
}

std::string facts_text(const Facts& given) {
  const Facts facts = closed(given);
  const bool range = facts.no_nan && facts.least <= facts.largest && says_more(facts);
  std::vector<std::string> names;
  if (facts.finite) names.emplace_back("finite");
  if (facts.nonnegative) names.emplace_back("nonnegative");
  if (facts.nonzero) names.emplace_back("nonzero");
  if (facts.below_inf && !facts.finite) names.emplace_back("below_inf");
  if (facts.no_nan && !facts.nonnegative && !facts.below_inf) names.emplace_back("no_nan");
  if (range) {
    names.push_back(
        fmt::format("range({}, {})", float_text(facts.least), float_text(facts.largest)));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace fuseflow
