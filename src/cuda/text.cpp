#include "cuda/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "cuda/work_text.h"

namespace fuseflow::cuda {
namespace {

std::string space(int count) {
  return std::string(static_cast<size_t>(count), ' ');
}

}  // namespace

std::string number_text(float value) {
  if (std::isnan(value)) return "(0.0F / 0.0F)";
  if (std::isinf(value)) return value > 0 ? "(1.0F / 0.0F)" : "(-1.0F / 0.0F)";
  const std::string digits = fmt::format("{:.9g}", value);
  const std::string text =
      digits.find_first_of(".e") == std::string::npos ? digits + ".0F" : digits + "F";
  return value < 0 ? "(" + text + ")" : text;
}

std::string operator_text(Op op, const std::vector<std::string>& operands) {
  const std::string_view name = op_info(op).name;
  if (op == Op::f16 || op == Op::bf16)
    return fmt::format("ff::rounded_to(ff::Type::{}, {})", name, operands.at(0));
  // What C++ has as words of its own.
  const bool logical = op == Op::logical_and || op == Op::logical_or || op == Op::logical_xor ||
                       op == Op::logical_not;
  return fmt::format("ff::op::{}{}({})", logical ? "logical_" : "", name,
                     fmt::join(operands, ", "));
}

bool is_multiplied(ElementType type) {
  return type == ElementType::f16 || type == ElementType::bf16 || type == ElementType::f32 ||
         type == ElementType::f8e4m3 || type == ElementType::f8e5m2;
}

bool is_read(ElementType type) {
  return is_multiplied(type) || type == ElementType::boolean || type == ElementType::u8 ||
         type == ElementType::i8 || type == ElementType::i32 || type == ElementType::i64;
}

std::string type_text(ElementType type) {
  return fmt::format("ff::Type::{}", type == ElementType::boolean ? "u8" : element_name(type));
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

std::string place_lambda(const Program& program, const Kernel& kernel, const ElementAt& element,
                         int indent) {
  std::string text = "[&](int row, int column) -> long {\n";
  text += coordinates_text(kernel, element.dims, "-1", indent + 2);
  const PlaceText place =
      place_text(program, *kernel.graph, element.tensor, element.subscripts, "i", "-1", indent + 2);
  text += place.statements;
  text += fmt::format("{}return {};\n{}}}", space(indent + 2), place.value, space(indent));
  return text;
}

std::string work_lambda(const Program& program, const Kernel& kernel, const Work& work,
                        const TensorNumbers& tensors, const std::string& swapped, int indent) {
  const bool two = work.from.size() == 2;
  std::string text =
      fmt::format("[&](int row, int column, float x{}) -> float {{\n", two ? ", float y" : "");
  text += coordinates_text(kernel, work.dims, "0", indent + 2);
  WorkText inner(program, *kernel.graph, tensors, indent + 2);
  for (const auto& [stream, named] : work.named) inner.name(stream, named);
  inner.name(work.from[0], swapped.empty() ? "x" : fmt::format("({} == 0 ? x : y)", swapped));
  if (two)
    inner.name(work.from[1], swapped.empty() ? "y" : fmt::format("({} == 0 ? y : x)", swapped));
  const std::string value = inner.value(work.result);
  text += inner.take();
  return text + fmt::format("{}return {};\n{}}}", space(indent + 2), value, space(indent));
}

namespace {

/// The end of a lambda that stores a value.
std::string store_text(const Program& program, const Kernel& kernel, const ElementAt& result,
                       const TensorNumbers& tensors, const std::string& value, int indent) {
  const PlaceText place =
      place_text(program, *kernel.graph, result.tensor, result.subscripts, "i", "", indent + 2);
  const ElementType type = program.tensors[static_cast<size_t>(result.tensor)].type;
  return place.statements +
         fmt::format("{}ff::store_element<{}>(params, {}, {}, {});\n{}}}", space(indent + 2),
                     type_text(type), tensors.at(result.tensor), place.value, value, space(indent));
}

}  // namespace

std::string element_lambda(const Program& program, const Kernel& kernel, const Work& work,
                           const ElementAt& result, const TensorNumbers& tensors, int indent) {
  std::string text = "[&](int row, int column) {\n";
  text += coordinates_text(kernel, work.dims, "", indent + 2);
  WorkText inner(program, *kernel.graph, tensors, indent + 2);
  const std::string value = inner.value(work.result);
  text += inner.take();
  return text + store_text(program, kernel, result, tensors, value, indent);
}

std::string combined_text(Reduction reduction, const std::string& x, const std::string& y) {
  if (reduction == Reduction::prod) return fmt::format("{} * {}", x, y);
  if (reduction == Reduction::sum || reduction == Reduction::mean) {
    return fmt::format("{} + {}", x, y);
  }
  return fmt::format("ff::op::{}({}, {})", reduction_name(reduction), x, y);
}

std::string rows_lambdas(const Program& program, const Kernel& kernel, const RowsReduction& rows,
                         const ElementAt& result, const TensorNumbers& tensors, int indent) {
  std::string text = "[&](int row, int column) -> float {\n";
  text +=
      coordinates_text(kernel, rows.value.dims, number_text(identity(rows.reduction)), indent + 2);
  WorkText inner(program, *kernel.graph, tensors, indent + 2);
  const std::string value = inner.value(rows.value.result);
  text += inner.take();
  text += fmt::format("{}return {};\n{}}}, ", space(indent + 2), value, space(indent));
  text += fmt::format("[&](float x, float y) {{ return {}; }}, [&](int row, float x) {{\n",
                      combined_text(rows.reduction, "x", "y"));
  text += coordinates_text(kernel, rows.last.dims, "", indent + 2);
  if (rows.start != identity(rows.reduction)) {
    text += fmt::format("{}x = {};\n", space(indent + 2),
                        combined_text(rows.reduction, number_text(rows.start), "x"));
  }
  if (rows.reduction == Reduction::mean) {
    text += fmt::format("{}x = x / {}.0F;\n", space(indent + 2), rows.columns);
  }
  WorkText last(program, *kernel.graph, tensors, indent + 2);
  last.name(rows.reduced, "x");
  const std::string stored = last.value(rows.last.result);
  text += last.take();
  return text + store_text(program, kernel, result, tensors, stored, indent);
}

}  // namespace fuseflow::cuda
