// A kernel computes in f32, and only what a region stores is rounded to a declared type. So
// rounding is arithmetic, also to types that the language has: what is fused is not stored.
#include "import/operators/small_types.h"

#include <cmath>
#include <limits>

#include "import/onnx/definitions.h"
#include "import/onnx/tensor_proto.h"
#include "import/operators/common.h"

namespace fuseflow {

namespace {

constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();

/// The kernel's only operand: x, which may be used several times.
struct OperandRounding {
  Kernel k;
  int32_t x;
  std::vector<int> labels;
  ElementType type;

  OperandRounding(const NodeImport& node, const View& view)
      : k(node.kernel()), x(-1), labels(all_labels(view.rank())), type(view.type) {
    const int at = k.operand(view, labels);
    x = k.use(at);
  }
  int32_t times(int32_t v, float factor) { return k.apply(Op::mul, {v, k.constant(factor)}); }
  int32_t size() { return k.apply(Op::abs, {x}); }
  int32_t clamped(int32_t v, float largest) {
    const int32_t above = k.apply(Op::max, {v, k.constant(-largest)});
    return k.apply(Op::min, {above, k.constant(largest)});
  }
  /// NaN where the size is `bound` or larger (or only larger).
  int32_t nan_from(int32_t v, float bound, bool bound_itself) {
    const Op op = bound_itself ? Op::ge : Op::gt;
    const int32_t beyond = k.apply(op, {size(), k.constant(bound)});
    return k.apply(Op::where, {beyond, k.constant(kNotANumber), v});
  }
  View result(int32_t root, ElementType as) { return k.result(labels, root, as); }
};

/// What a type makes of numbers beyond its largest.
struct Limits {
  float largest;
  float overflow;  ///< from here on a number is rounded to what is beyond
  bool overflow_itself;
};

View limited(NodeImport& node, const View& x, const Limits& limits, bool saturates,
             ElementType type) {
  OperandRounding r(node, x);
  const int32_t value = saturates ? r.clamped(r.x, limits.largest)
                                  : r.nan_from(r.x, limits.overflow, limits.overflow_itself);
  return r.result(value, type);
}

/// The nearest number with `mantissa` bits after the first and an exponent of at least `least`, of
/// two equally near the even one. A logarithm that misses a whole number by its rounding does no
/// harm: the power of two that x is next to is a number of both exponents.
View to_mantissa(NodeImport& node, const View& x, int mantissa, int least, ElementType type) {
  OperandRounding r(node, x);
  const int32_t log = r.times(r.k.apply(Op::log, {r.size()}), 1 / std::log(2.0F));
  const int32_t floor = r.k.apply(Op::floor, {log});
  const int32_t exponent = r.k.apply(Op::max, {floor, r.k.constant(static_cast<float>(least))});
  const int32_t of_step =
      r.k.apply(Op::sub, {exponent, r.k.constant(static_cast<float>(mantissa))});
  const int32_t step = r.k.apply(Op::pow, {r.k.constant(2), of_step});
  const int32_t steps = r.k.apply(Op::round, {r.k.apply(Op::div, {r.x, step})});
  return r.result(r.k.apply(Op::mul, {steps, step}), type);
}

/// A type without NaN makes 0 of it.
View without_nan(NodeImport& node, const View& x) {
  OperandRounding r(node, x);
  const int32_t none = r.k.apply(Op::isnan, {r.x});
  return r.result(r.k.apply(Op::where, {none, r.k.constant(0), r.x}), ElementType::f32);
}

/// x held to what the type has, as an f32 of its own.
View bounded(NodeImport& node, const View& x, const Limits& limits, bool saturates) {
  return node.helper("bounded", limited(node, x, limits, saturates, ElementType::f32));
}

}  // namespace

int stored_code(int64_t code) {
  return is_stored_wider(static_cast<int>(code)) ? static_cast<int>(code) : 0;
}

std::optional<Integers> integers_of_code(int64_t code, ElementType type) {
  if (code == kOnnxUint2) return Integers{2, false};
  if (code == kOnnxInt2) return Integers{2, true};
  if (code == kOnnxUint4) return Integers{4, false};
  if (code == kOnnxInt4) return Integers{4, true};
  if (code == kOnnxUint32) return Integers{32, false};
  return integers_of(type);
}

namespace {

const Parameter* parameter_at(const std::vector<Parameter>& parameters, size_t i) {
  if (i < parameters.size()) return &parameters[i];
  const bool any = !parameters.empty() && parameters.back().count == Parameter::Count::any;
  return any ? &parameters.back() : nullptr;
}

/// The unsigned type of an output that the operator's definition gives the type of an input.
int unsigned_code(const NodeImport& node, const OperatorDefinition& definition, size_t output) {
  const Parameter* to = parameter_at(definition.outputs, output);
  for (int i = 0; to != nullptr && i < node.input_count(); ++i) {
    const Parameter* from = parameter_at(definition.inputs, static_cast<size_t>(i));
    if (from == nullptr || from->type != to->type || !node.has_input(i)) continue;
    const View& input = node.any_input(i);
    if (!input.sequence && is_unsigned_word(input.code)) return input.code;
  }
  return 0;
}

/// The lowest 32 bits of a u32, and of a u64 all 64, which i64 has up to 2^63.
int64_t unsigned_value(const NodeImport& node, int64_t value, int code) {
  if (code == kOnnxUint32) return value & std::numeric_limits<uint32_t>::max();
  if (value < 0) node.reject("a result of type uint64 is 2^63 or more, expected less");
  return value;
}

}  // namespace

void hold_unsigned(NodeImport& node) {
  const OnnxNode& onnx = node.onnx();
  const OperatorDefinition* definition = definition_at(onnx.full_name(), onnx.opset);
  Importer& importer = node.importer();
  for (size_t o = 0; definition != nullptr && o < onnx.outputs.size(); ++o) {
    const std::string& name = onnx.outputs[o];
    if (name.empty() || !importer.has_value(name)) continue;
    View view = importer.value(name);
    if (view.sequence || view.type != ElementType::i64) continue;
    if (!is_unsigned_word(view.code)) view.code = unsigned_code(node, *definition, o);
    if (!is_unsigned_word(view.code)) continue;
    const ConstantPtr data = importer.is_constant(view) ? importer.constant_of(view) : nullptr;
    const std::vector<int64_t> found = data ? data->as_ints() : std::vector<int64_t>{};
    std::vector<int64_t> held = found;
    for (int64_t& v : held) v = unsigned_value(node, v, view.code);
    const int code = view.code;
    if (held != found)
      view = importer.add_constant(name, constant_ints(std::move(held), data->shape));
    view.code = code;
    importer.mark_unsigned(view);
    importer.set_value(name, std::move(view));
  }
}

bool is_small_float(ElementType type, int code) {
  return type == ElementType::f8e4m3 || type == ElementType::f8e5m2 ||
         code == kOnnxFloat8E4M3FNUZ || code == kOnnxFloat8E5M2FNUZ || code == kOnnxFloat8E8M0;
}

View rounded_to_small(NodeImport& node, const View& x, ElementType type, int code, bool saturates) {
  switch (code) {
    case kOnnxFloat8E4M3FNUZ:
      return to_mantissa(node, bounded(node, x, {240, 248, true}, saturates), 3, -7, type);
    case kOnnxFloat8E5M2FNUZ:
      return to_mantissa(node, bounded(node, x, {57344, 61440, true}, saturates), 2, -15, type);
    case kOnnxFloat4E2M1:
      return to_mantissa(node, bounded(node, without_nan(node, x), {6, 0, false}, true), 1, 0,
                         type);
    case kOnnxFloat8E8M0:
      node.reject("a Cast to f8e8m0 is not supported");
    default:
      break;
  }
  if (type == ElementType::f8e4m3)
    return to_mantissa(node, bounded(node, x, {448, 464, false}, saturates), 3, -6, type);
  if (saturates) return to_mantissa(node, bounded(node, x, {57344, 0, false}, true), 2, -14, type);
  OperandRounding r(node, x);
  return r.result(r.x, type);
}

}  // namespace fuseflow
