#include "cuda/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cuda/refuse.h"
#include "graph/tiles.h"

namespace fuseflow::cuda {
namespace {

std::string spaces(int count) {
  return std::string(static_cast<size_t>(count), ' ');
}

std::string dim_name(const Graph& graph, int dim) {
  return "at_" + graph.indices[static_cast<size_t>(dim)].name;
}

/// Statements of a lambda that name the coordinates of dimensions, and end it where the tile or the
/// dimension has no such element.
std::string coordinates_text(const Graph& graph, const std::vector<DimensionAt>& dims,
                             const std::string& otherwise, int indent) {
  std::string text;
  for (const DimensionAt& at : dims) {
    const std::string name = dim_name(graph, at.dim);
    const int64_t size = graph.indices[static_cast<size_t>(at.dim)].elements();
    if (at.within == DimensionAt::Within::nothing) {
      text += fmt::format("{}[[maybe_unused]] const int {} = {};\n", spaces(indent), name,
                          text_of(at.begin));
      continue;
    }
    const std::string within = at.within == DimensionAt::Within::row ? "row" : "column";
    text +=
        fmt::format("{}const int {} = {} + {};\n", spaces(indent), name, text_of(at.begin), within);
    text += fmt::format("{}if ({} >= {} || {} >= {}) return {};\n", spaces(indent), within,
                        at.block, name, size, otherwise);
  }
  return text;
}

/// The value of a digit of the graph, by its number over all dimensions.
std::string digit_text(const Graph& graph, int digit) {
  for (size_t dim = 0; dim < graph.indices.size(); ++dim) {
    const std::vector<TileDigit>& digits = graph.indices[dim].tiling.digits;
    const int first = first_digit(graph, static_cast<int>(dim));
    if (digit >= first + static_cast<int>(digits.size())) continue;
    int64_t inner = 1;
    for (size_t i = digits.size(); i-- > static_cast<size_t>(digit - first) + 1;)
      inner *= digits[i].extent;
    const bool outermost = digit == first;
    const std::string name = dim_name(graph, static_cast<int>(dim));
    if (digits.size() == 1) return name;
    const std::string divided = inner == 1 ? name : fmt::format("{} / {}", name, inner);
    return outermost
               ? divided
               : fmt::format("{} % {}", divided, digits[static_cast<size_t>(digit - first)].extent);
  }
  return "0";
}

std::string subscript_text(const Graph& graph, const TileSubscript& subscript) {
  std::vector<std::string> terms;
  for (const auto& [digit, factor] : subscript.terms) {
    const std::string value = digit_text(graph, digit);
    const bool simple = value.find(' ') == std::string::npos;
    terms.push_back(factor == 1
                        ? (simple ? value : "(" + value + ")")
                        : fmt::format("{} * {}", simple ? value : "(" + value + ")", factor));
  }
  if (subscript.offset != 0 || terms.empty()) terms.push_back(std::to_string(subscript.offset));
  return fmt::format("{}", fmt::join(terms, " + "));
}

/// Statements and an expression for the place of an element; `coordinates` are there already.
struct Place {
  std::string statements;
  std::string value;
};
Place place_of(const Program& program, const Graph& graph, TensorId tensor,
               const std::vector<TileSubscript>& subscripts, const std::string& prefix,
               const std::string& otherwise, int indent) {
  const std::vector<int64_t> shape = known_shape(program.tensors[static_cast<size_t>(tensor)]);
  std::vector<int64_t> extents;
  for (const GraphIndex& index : graph.indices) {
    for (const TileDigit& digit : index.tiling.digits) extents.push_back(digit.extent);
  }
  Place place;
  std::vector<std::string> terms, checks;
  int64_t pitch = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    const TileSubscript& s = subscripts[d];
    int64_t least = s.offset, most = s.offset;
    for (const auto& [digit, factor] : s.terms) {
      const int64_t reach = factor * (extents[static_cast<size_t>(digit)] - 1);
      (reach < 0 ? least : most) += reach;
    }
    const std::string name = fmt::format("{}{}", prefix, d);
    place.statements +=
        fmt::format("{}const int {} = {};\n", spaces(indent), name, subscript_text(graph, s));
    if (least < 0) checks.push_back(fmt::format("{} < 0", name));
    if (most >= shape[d]) checks.push_back(fmt::format("{} >= {}", name, shape[d]));
    terms.insert(terms.begin(), pitch == 1 ? name : fmt::format("{}L * {}", pitch, name));
    pitch *= shape[d];
  }
  if (!checks.empty() && otherwise.empty()) {
    place.value = fmt::format("{} ? -1 : {}", fmt::join(checks, " || "), fmt::join(terms, " + "));
    return place;
  }
  if (!checks.empty())
    place.statements +=
        fmt::format("{}if ({}) return {};\n", spaces(indent), fmt::join(checks, " || "), otherwise);
  place.value = terms.empty() ? "0" : fmt::format("{}", fmt::join(terms, " + "));
  return place;
}

/// The work of a tile's element as statements.
class WorkText {
 public:
  WorkText(const Program& program, const Graph& graph, const Work& work,
           const TensorNumbers& tensors, int indent)
      : program_(program), graph_(graph), work_(work), tensors_(tensors), indent_(indent) {}

  std::string statements() {
    for (const NodeId id : work_.nodes) add(id);
    return take();
  }
  /// The statements since the last call.
  std::string take() { return std::exchange(text_, ""); }
  std::string value(StreamId stream) {
    const auto known = names_.find(stream);
    if (known != names_.end()) return known->second;
    const Node& from =
        graph_.nodes[static_cast<size_t>(graph_.streams[static_cast<size_t>(stream)].producer)];
    if (from.kind == NodeKind::tile_load) return read(stream, from);
    if (from.kind == NodeKind::tile_coordinate || from.kind == NodeKind::map) {
      add(graph_.streams[static_cast<size_t>(stream)].producer);
      return names_.at(stream);
    }
    throw Refused{"elementwise work on what is not in this tile"};
  }
  void name(StreamId stream, const std::string& as) { names_[stream] = as; }

 private:
  void add(NodeId id) {
    const Node& node = graph_.nodes[static_cast<size_t>(id)];
    const StreamId out = node.outputs[0];
    if (names_.count(out) != 0) return;
    std::string value_text;
    if (node.kind == NodeKind::tile_coordinate) {
      value_text =
          fmt::format("static_cast<float>({})", subscript_text(graph_, node.tile.subscripts[0]));
    } else {
      std::vector<std::string> operands;
      for (const Input& input : node.inputs) {
        operands.push_back(input.is_immediate() ? number_text(input.immediate)
                                                : value(input.stream));
      }
      if (node.op == Op::f16 || node.op == Op::bf16)
        throw Refused{"work that rounds to a narrower type"};
      value_text = fmt::format("ff::op::{}({})", op_info(node.op).name, fmt::join(operands, ", "));
    }
    define(out, value_text);
  }
  std::string read(StreamId stream, const Node& load) {
    const Tensor& tensor = program_.tensors[static_cast<size_t>(load.tensor)];
    if (tensor.type != ElementType::f16 && tensor.type != ElementType::f32) {
      throw Refused{fmt::format("%{} has elements of {}; f16 and f32 are read", tensor.name,
                                element_name(tensor.type))};
    }
    if (tensor.fill != 0) throw Refused{fmt::format("%{} has another fill than 0", tensor.name)};
    const Place place = place_of(program_, graph_, load.tensor, load.tile.subscripts,
                                 fmt::format("p{}_", stream), "", indent_);
    text_ += place.statements;
    define(stream,
           fmt::format("ff::read_element(params, {}, {})", tensors_.at(load.tensor), place.value));
    return names_.at(stream);
  }
  void define(StreamId stream, const std::string& value_text) {
    std::string name = "v_";
    for (const char c : graph_.streams[static_cast<size_t>(stream)].name)
      name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    name += fmt::format("_{}", stream);
    text_ += fmt::format("{}const float {} = {};\n", spaces(indent_), name, value_text);
    names_[stream] = name;
  }

  const Program& program_;
  const Graph& graph_;
  const Work& work_;
  const TensorNumbers& tensors_;
  int indent_;
  std::string text_;
  std::map<StreamId, std::string> names_;
};

}  // namespace

std::string number_text(float value) {
  if (std::isnan(value)) return "(0.0F / 0.0F)";
  if (std::isinf(value)) return value > 0 ? "(1.0F / 0.0F)" : "(-1.0F / 0.0F)";
  const std::string digits = fmt::format("{:.9g}", value);
  const std::string text =
      digits.find_first_of(".e") == std::string::npos ? digits + ".0F" : digits + "F";
  return value < 0 ? "(" + text + ")" : text;
}

std::string text_of(const Coordinate& at) {
  std::vector<std::string> terms;
  for (const auto& [name, factor] : at.terms) {
    if (factor != 0) terms.push_back(factor == 1 ? name : fmt::format("{} * {}", name, factor));
  }
  if (at.offset != 0 || terms.empty()) terms.push_back(std::to_string(at.offset));
  return fmt::format("{}", fmt::join(terms, " + "));
}

std::string text_of(const CoreGroup& group) {
  if (group.count == 1) return "{rank, 1, 1, 0}";
  return fmt::format("{{{}, {}, {}, {}}}", text_of(group.first), group.stride, group.count,
                     text_of(group.mine));
}

std::string place_lambda(const Program& program, const Graph& graph, const ElementAt& element,
                         int indent) {
  std::string text = "[=](int row, int column) -> long {\n";
  text += coordinates_text(graph, element.dims, "-1", indent + 2);
  const Place place =
      place_of(program, graph, element.tensor, element.subscripts, "i", "-1", indent + 2);
  text += place.statements;
  text += fmt::format("{}return {};\n{}}}", spaces(indent + 2), place.value, spaces(indent));
  return text;
}

std::string work_lambda(const Program& program, const Graph& graph, const Work& work,
                        const TensorNumbers& tensors, const std::string& swapped, int indent) {
  const bool two = work.from.size() == 2;
  std::string text =
      fmt::format("[=](int row, int column, float x{}) -> float {{\n", two ? ", float y" : "");
  text += coordinates_text(graph, work.dims, "0", indent + 2);
  WorkText inner(program, graph, work, tensors, indent + 2);
  inner.name(work.from[0], swapped.empty() ? "x" : fmt::format("({} == 0 ? x : y)", swapped));
  if (two)
    inner.name(work.from[1], swapped.empty() ? "y" : fmt::format("({} == 0 ? y : x)", swapped));
  text += inner.statements();
  const std::string value = inner.value(work.result);
  text += inner.take();
  return text + fmt::format("{}return {};\n{}}}", spaces(indent + 2), value, spaces(indent));
}

std::string element_lambda(const Program& program, const Graph& graph, const Work& work,
                           const ElementAt& result, const TensorNumbers& tensors, int indent) {
  std::string text = "[=](int row, int column) {\n";
  text += coordinates_text(graph, work.dims, "", indent + 2);
  WorkText inner(program, graph, work, tensors, indent + 2);
  text += inner.statements();
  const std::string value = inner.value(work.result);
  text += inner.take();
  const Place place =
      place_of(program, graph, result.tensor, result.subscripts, "i", "", indent + 2);
  return text + place.statements +
         fmt::format("{}ff::store_element(params, {}, {}, {});\n{}}}", spaces(indent + 2),
                     tensors.at(result.tensor), place.value, value, spaces(indent));
}

std::string rows_lambdas(const Program& program, const Graph& graph, const RowsReduction& rows,
                         const ElementAt& result, const TensorNumbers& tensors, int indent) {
  std::string text = "[=](int row, int column) -> float {\n";
  text += coordinates_text(graph, rows.value.dims, number_text(rows.start), indent + 2);
  WorkText inner(program, graph, rows.value, tensors, indent + 2);
  text += inner.statements();
  const std::string value = inner.value(rows.value.result);
  text += inner.take();
  text += fmt::format("{}return {};\n{}}}, ", spaces(indent + 2), value, spaces(indent));
  const bool adds = rows.reduction == Reduction::sum || rows.reduction == Reduction::mean;
  const std::string combined =
      adds ? "x + y"
      : rows.reduction == Reduction::prod
          ? "x * y"
          : fmt::format("ff::op::{}(x, y)", reduction_name(rows.reduction));
  text +=
      fmt::format("[=](float x, float y) {{ return {}; }}, [=](int row, float x) {{\n", combined);
  text += coordinates_text(graph, rows.last.dims, "", indent + 2);
  if (rows.reduction == Reduction::mean) {
    text += fmt::format("{}x = x / {}.0F;\n", spaces(indent + 2), rows.columns);
  }
  WorkText last(program, graph, rows.last, tensors, indent + 2);
  last.name(rows.reduced, "x");
  text += last.statements();
  const std::string stored = last.value(rows.last.result);
  text += last.take();
  const Place place =
      place_of(program, graph, result.tensor, result.subscripts, "i", "", indent + 2);
  return text + place.statements +
         fmt::format("{}ff::store_element(params, {}, {}, {});\n{}}}", spaces(indent + 2),
                     tensors.at(result.tensor), place.value, stored, spaces(indent));
}

}  // namespace fuseflow::cuda
