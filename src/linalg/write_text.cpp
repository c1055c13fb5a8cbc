// MLIR's text of small things.
#include "linalg/write_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <bit>
#include <cmath>
#include <numbers>

#include "support/defect.h"
#include "support/error.h"

namespace fuseflow {

namespace {

/// Operators that are one operation; the others are composed.
const char* single_operation(Op op) {
  switch (op) {
    case Op::neg:
      return "arith.negf";
    case Op::abs:
      return "math.absf";
    case Op::exp:
      return "math.exp";
    case Op::log:
      return "math.log";
    case Op::sqrt:
      return "math.sqrt";
    case Op::rsqrt:
      return "math.rsqrt";
    case Op::tanh:
      return "math.tanh";
    case Op::erf:
      return "math.erf";
    case Op::floor:
      return "math.floor";
    case Op::ceil:
      return "math.ceil";
    case Op::round:
      return "math.roundeven";
    case Op::sin:
      return "math.sin";
    case Op::cos:
      return "math.cos";
    case Op::add:
      return "arith.addf";
    case Op::sub:
      return "arith.subf";
    case Op::mul:
      return "arith.mulf";
    case Op::div:
      return "arith.divf";
    case Op::pow:
      return "math.powf";
    case Op::min:
      return "arith.minimumf";
    case Op::max:
      return "arith.maximumf";
    default:
      return nullptr;
  }
}

const char* predicate(Op op) {
  switch (op) {
    case Op::eq:
      return "oeq";
    case Op::ne:
      return "une";
    case Op::lt:
      return "olt";
    case Op::le:
      return "ole";
    case Op::gt:
      return "ogt";
    case Op::ge:
      return "oge";
    default:
      return nullptr;
  }
}

}  // namespace

std::string mlir_number(float value) {
  if (!std::isfinite(value)) return fmt::format("0x{:08X}", std::bit_cast<uint32_t>(value));
  return fmt::format("{:.9e}", value);
}

std::string MlirBody::add(const std::string& text) {
  std::string name = fmt::format("%b{}", next_++);
  lines_ += fmt::format("      {} = {}\n", name, text);
  return name;
}

std::string MlirBody::constant(float value) {
  return add(fmt::format("arith.constant {} : f32", mlir_number(value)));
}

std::string MlirBody::one(const char* op, const std::string& a) {
  return add(fmt::format("{} {} : f32", op, a));
}

std::string MlirBody::two(const char* op, const std::string& a, const std::string& b) {
  return add(fmt::format("{} {}, {} : f32", op, a, b));
}

std::string MlirBody::compared(const char* with, const std::string& a, const std::string& b) {
  return add(fmt::format("arith.cmpf {}, {}, {} : f32", with, a, b));
}

std::string MlirBody::number(const std::string& condition) {
  return add(fmt::format("arith.uitofp {} : i1 to f32", condition));
}

std::string MlirBody::chosen(const std::string& condition, const std::string& a,
                             const std::string& b) {
  return add(fmt::format("arith.select {}, {}, {} : f32", condition, a, b));
}

std::string MlirBody::index(size_t loop) {
  const std::string at = add(fmt::format("linalg.index {} : index", loop));
  const std::string integer = add(fmt::format("arith.index_cast {} : index to i64", at));
  return add(fmt::format("arith.sitofp {} : i64 to f32", integer));
}

std::string MlirBody::reduced(Reduction reduction, const std::string& so_far,
                              const std::string& value) {
  const char* op = reduction == Reduction::max    ? "arith.maximumf"
                   : reduction == Reduction::min  ? "arith.minimumf"
                   : reduction == Reduction::prod ? "arith.mulf"
                                                  : "arith.addf";
  return two(op, so_far, value);
}

std::string MlirBody::rounded_to(const char* type, const std::string& x) {
  const std::string less = add(fmt::format("arith.truncf {} : f32 to {}", x, type));
  return add(fmt::format("arith.extf {} : {} to f32", less, type));
}

std::string MlirBody::stored(const std::string& value, ElementType type) {
  if (holds_f32(type)) return value;
  if (type == ElementType::f16) return rounded_to("f16", value);
  if (type == ElementType::bf16) return rounded_to("bf16", value);
  if (type == ElementType::boolean) return number(compared("une", value, constant(0)));
  if (!is_integer(type))
    throw Error(ExitCode::rejected,
                fmt::format("elements of {} are computed, to which LLVM does not round; expected "
                            "f32, f16, bf16 or integers",
                            element_name(type)));
  const std::string whole = one("math.roundeven", value);
  if (element_bytes(type) > 2) return whole;
  const auto bound = [&](float far) { return constant(rounded(far, type)); };
  return two("arith.minimumf", two("arith.maximumf", whole, bound(-INFINITY)), bound(INFINITY));
}

std::string MlirBody::sigmoid(const std::string& x) {
  const std::string e = one("math.exp", one("arith.negf", x));
  const std::string one_value = constant(1);
  return two("arith.divf", one_value, two("arith.addf", one_value, e));
}

std::string MlirBody::composed(Op op, const std::vector<std::string>& x) {
  const std::string& a = x[0];
  const auto c = [&](float value) { return constant(value); };
  const auto truth = [&](const std::string& v) { return compared("une", v, c(0)); };
  switch (op) {
    case Op::relu:
      return two("arith.maximumf", a, c(0));
    case Op::f16:
      return rounded_to("f16", a);
    case Op::bf16:
      return rounded_to("bf16", a);
    case Op::reciprocal:
      return two("arith.divf", c(1), a);
    case Op::sigmoid:
      return sigmoid(a);
    case Op::silu:
      return two("arith.mulf", a, sigmoid(a));
    case Op::softplus: {
      const std::string e = one("math.exp", one("arith.negf", one("math.absf", a)));
      return two("arith.addf", two("arith.maximumf", a, c(0)), one("math.log1p", e));
    }
    case Op::gelu: {
      const std::string e =
          one("math.erf", two("arith.mulf", a, c(1 / std::numbers::sqrt2_v<float>)));
      return two("arith.mulf", two("arith.mulf", a, c(0.5F)), two("arith.addf", e, c(1)));
    }
    case Op::gelu_tanh: {
      const std::string cube = two("arith.mulf", two("arith.mulf", a, a), a);
      const std::string inner = two("arith.addf", a, two("arith.mulf", cube, c(0.044715F)));
      const std::string t = one("math.tanh", two("arith.mulf", inner, c(0.7978845608F)));
      return two("arith.mulf", two("arith.mulf", a, c(0.5F)), two("arith.addf", t, c(1)));
    }
    case Op::hardswish: {
      const std::string line = two("arith.addf", two("arith.divf", a, c(6)), c(0.5F));
      const std::string cut = two("arith.minimumf", two("arith.maximumf", line, c(0)), c(1));
      return two("arith.mulf", a, cut);
    }
    case Op::sign: {
      const std::string same = compared("ueq", a, c(0));  // 0 and NaN stay
      const std::string unit = two("math.copysign", c(1), a);
      return chosen(same, a, unit);
    }
    case Op::logical_not:
      return number(compared("oeq", a, c(0)));
    case Op::isnan:
      return number(compared("uno", a, a));
    case Op::isinf:
      return number(compared("oeq", one("math.absf", a), c(INFINITY)));
    case Op::mod: {
      const std::string rest = two("arith.remf", a, x[1]);
      const std::string apart = compared("olt", two("arith.mulf", rest, x[1]), c(0));
      return chosen(apart, two("arith.addf", rest, x[1]), rest);
    }
    case Op::logical_and:
    case Op::logical_or:
    case Op::logical_xor: {
      const char* bits = op == Op::logical_and  ? "arith.andi"
                         : op == Op::logical_or ? "arith.ori"
                                                : "arith.xori";
      const std::string p = truth(a);
      const std::string q = truth(x[1]);
      return number(add(fmt::format("{} {}, {} : i1", bits, p, q)));
    }
    case Op::leaky_relu:
      return chosen(compared("olt", a, c(0)), two("arith.mulf", x[1], a), a);
    case Op::elu: {
      const std::string less = two("arith.subf", one("math.exp", a), c(1));
      return chosen(compared("olt", a, c(0)), two("arith.mulf", x[1], less), a);
    }
    case Op::where:
      return chosen(truth(a), x[1], x[2]);
    default:
      throw Defect("an operator without operations of MLIR");
  }
}

std::string MlirBody::apply(Op op, const std::vector<std::string>& x) {
  if (const char* single = single_operation(op))
    return x.size() == 1 ? one(single, x[0]) : two(single, x[0], x[1]);
  if (const char* with = predicate(op)) return number(compared(with, x[0], x[1]));
  return composed(op, x);
}

std::string mlir_type(const std::vector<int64_t>& shape, const std::string& encoding) {
  std::string text = "tensor<";
  for (const int64_t extent : shape) text += fmt::format("{}x", extent);
  return text + "f32" + (encoding.empty() ? "" : ", " + encoding) + ">";
}

std::string mlir_encoding(const Format& format, const std::string& tensor) {
  std::string dims;
  for (int d = 0; d < format.rank(); ++d) dims += fmt::format("{}d{}", d > 0 ? ", " : "", d);
  std::vector<std::string> levels;
  for (size_t l = 0; l < format.levels.size(); ++l) {
    const LevelKind kind = format.levels[l];
    if (kind == LevelKind::bitvector)
      throw Error(ExitCode::rejected,
                  fmt::format("%{} has a level of bits, which no encoding has; expected dense, "
                              "compressed or singleton (fuseflow-store changes formats)",
                              tensor));
    const bool tuples =
        l + 1 < format.levels.size() && format.levels[l + 1] == LevelKind::singleton;
    const char* property = tuples ? "(nonunique)" : "";
    const int dim = format.mode_order[l];
    const int64_t block = format.block.empty() ? 1 : format.block[static_cast<size_t>(dim)];
    const std::string place =
        format.block.empty() ? fmt::format("d{}", dim) : fmt::format("d{} floordiv {}", dim, block);
    levels.push_back(fmt::format("{} : {}{}", place, level_name(kind), property));
  }
  for (size_t d = 0; d < format.block.size(); ++d)
    levels.push_back(fmt::format("d{} mod {} : dense", d, format.block[d]));
  return fmt::format("#sparse_tensor.encoding<{{ map = ({}) -> ({}) }}>", dims,
                     fmt::join(levels, ", "));
}

std::string mlir_map(size_t loops, const std::vector<Subscript>& subscripts) {
  std::string dims;
  for (size_t l = 0; l < loops; ++l) dims += fmt::format("{}d{}", l > 0 ? ", " : "", l);
  std::vector<std::string> places;
  for (const Subscript& s : subscripts) {
    std::vector<std::string> terms;
    for (const auto& [loop, c] : s.terms)
      terms.push_back(c == 1 ? fmt::format("d{}", loop) : fmt::format("d{} * {}", loop, c));
    if (s.offset != 0 || terms.empty()) terms.push_back(fmt::format("{}", s.offset));
    places.push_back(fmt::format("{}", fmt::join(terms, " + ")));
  }
  return fmt::format("affine_map<({}) -> ({})>", dims, fmt::join(places, ", "));
}

}  // namespace fuseflow
