#include "cuda/work_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>

#include "cuda/launch_text.h"
#include "cuda/refuse.h"
#include "cuda/text.h"
#include "graph/tiles.h"

namespace fuseflow::cuda {
namespace {

std::string spaces(int count) {
  return std::string(static_cast<size_t>(count), ' ');
}

std::string dim_name(const Graph& graph, int dim) {
  return "at_" + graph.indices[static_cast<size_t>(dim)].name;
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

}  // namespace

std::string coordinates_text(const Kernel& kernel, const std::vector<DimensionAt>& dims,
                             const std::string& otherwise, int indent) {
  std::string text;
  for (const DimensionAt& at : dims) {
    const std::string name = dim_name(*kernel.graph, at.dim);
    if (at.within == DimensionAt::TileAxis::nothing) {
      text += fmt::format("{}[[maybe_unused]] const int {} = {};\n", spaces(indent), name,
                          text_of(at.begin));
      continue;
    }
    const std::string within = at.within == DimensionAt::TileAxis::row ? "row" : "column";
    text +=
        fmt::format("{}const int {} = {} + {};\n", spaces(indent), name, text_of(at.begin), within);
    text += fmt::format("{}if ({} >= {} || {} >= {}) return {};\n", spaces(indent), within,
                        at.block, name, dim_text(kernel, at.dim, "params.rows"), otherwise);
  }
  return text;
}

PlaceText place_text(const Program& program, const Graph& graph, TensorId tensor,
                     const std::vector<TileSubscript>& subscripts, const std::string& prefix,
                     const std::string& otherwise, int indent) {
  const std::vector<int64_t> shape = known_shape(program.tensors[static_cast<size_t>(tensor)]);
  std::vector<int64_t> extents;
  for (const GraphIndex& index : graph.indices) {
    for (const TileDigit& digit : index.tiling.digits) extents.push_back(digit.extent);
  }
  PlaceText place;
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

std::string WorkText::value(StreamId stream) {
  const auto known = names_.find(stream);
  if (known != names_.end()) return known->second;
  const Node& from =
      graph_->nodes[static_cast<size_t>(graph_->streams[static_cast<size_t>(stream)].producer)];
  if (from.kind == NodeKind::tile_load) return read(stream, from);
  if (from.kind == NodeKind::tile_coordinate || from.kind == NodeKind::map) {
    add(graph_->streams[static_cast<size_t>(stream)].producer);
    return names_.at(stream);
  }
  throw Refused{"elementwise work on what is not in this tile"};
}

void WorkText::add(NodeId id) {
  const Node& node = graph_->nodes[static_cast<size_t>(id)];
  const StreamId out = node.outputs[0];
  if (names_.count(out) != 0) return;
  std::string value_text;
  if (node.kind == NodeKind::tile_coordinate) {
    value_text =
        fmt::format("static_cast<float>({})", subscript_text(*graph_, node.tile.subscripts[0]));
  } else {
    std::vector<std::string> operands;
    for (const Input& input : node.inputs) {
      operands.push_back(input.is_immediate() ? number_text(input.immediate) : value(input.stream));
    }
    value_text = operator_text(node.op, operands);
  }
  define(out, value_text);
}

std::string WorkText::read(StreamId stream, const Node& load) {
  const Tensor& tensor = program_->tensors[static_cast<size_t>(load.tensor)];
  if (!is_read(tensor.type)) {
    throw Refused{fmt::format("%{} has elements of {}, which kernels do not read", tensor.name,
                              element_name(tensor.type))};
  }
  const PlaceText place = place_text(*program_, *graph_, load.tensor, load.tile.subscripts,
                                     fmt::format("p{}_", stream), "", indent_);
  text_ += place.statements;
  define(stream, fmt::format("ff::read_element<{}>(params, {}, {}{})", type_text(tensor.type),
                             tensors_->at(load.tensor), place.value,
                             tensor.fill == 0 ? "" : ", " + number_text(tensor.fill)));
  return names_.at(stream);
}

void WorkText::define(StreamId stream, const std::string& value_text) {
  std::string name = "v_";
  for (const char c : graph_->streams[static_cast<size_t>(stream)].name)
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  name += fmt::format("_{}", stream);
  text_ += fmt::format("{}const float {} = {};\n", spaces(indent_), name, value_text);
  names_[stream] = name;
}

std::string WorkText::store(const Node& store, const std::string& value) {
  const PlaceText place = place_text(*program_, *graph_, store.tensor, store.tile.subscripts,
                                     fmt::format("y{}_", store.tensor), "", indent_);
  text_ += place.statements;
  const ElementType type = program_->tensors[static_cast<size_t>(store.tensor)].type;
  return fmt::format("ff::store_element<{}>(params, {}, {}, {});\n", type_text(type),
                     tensors_->at(store.tensor), place.value, value);
}

}  // namespace fuseflow::cuda
