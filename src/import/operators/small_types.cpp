#include "import/operators/small_types.h"

#include <cmath>
#include <limits>

#include "import/onnx/tensor_proto.h"
#include "import/operators/common.h"

namespace fuseflow {

namespace {

constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();

/// The kernel's only operand: x, which may be used several times.
struct Rounding1 {
  Kernel k;
  int32_t x;
  std::vector<int> labels;
  ElementType type;

  Rounding1(const NodeImport& node, const View& view)
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
  Rounding1 r(node, x);
  const int32_t value = saturates ? r.clamped(r.x, limits.largest)
                                  : r.nan_from(r.x, limits.overflow, limits.overflow_itself);
  return r.result(value, type);
}

/// E4M3 with the exponents moved by one: half of the nearest E4M3 of twice the number, but for the
/// largest one, which E4M3 does not have.
View to_e4m3fnuz(NodeImport& node, const View& x, bool saturates) {
  const View bounded =
      node.helper("bounded", limited(node, x, {240, 248, true}, saturates, ElementType::f32));
  Rounding1 twice(node, bounded);
  const View coarse = node.helper(
      "coarse", twice.result(twice.clamped(twice.times(twice.x, 2), 448), ElementType::f8e4m3));
  Kernel k = node.kernel();
  const int a = k.operand(bounded, all_labels(x.rank()));
  const int b = k.operand(coarse, all_labels(x.rank()));
  const int32_t value = k.use(a);
  const int32_t half = k.apply(Op::mul, {k.use(b), k.constant(0.5F)});
  const int32_t sign = k.apply(Op::sign, {value});
  const int32_t last = k.apply(Op::mul, {sign, k.constant(240)});
  const int32_t large = k.apply(Op::gt, {k.apply(Op::abs, {value}), k.constant(232)});
  return k.result(all_labels(x.rank()), k.apply(Op::where, {large, last, half}), ElementType::f16);
}

/// E5M2 with the exponents moved by one: where twice the number has no exponent in E5M2, the number
/// itself has one that both types know.
View to_e5m2fnuz(NodeImport& node, const View& x, bool saturates) {
  const View bounded =
      node.helper("bounded", limited(node, x, {57344, 61440, true}, saturates, ElementType::f32));
  Rounding1 once(node, bounded);
  const View large = node.helper("large", once.result(once.x, ElementType::f8e5m2));
  Rounding1 twice(node, bounded);
  const View small = node.helper(
      "small", twice.result(twice.clamped(twice.times(twice.x, 2), 2), ElementType::f8e5m2));
  Kernel k = node.kernel();
  const int a = k.operand(bounded, all_labels(x.rank()));
  const int b = k.operand(large, all_labels(x.rank()));
  const int c = k.operand(small, all_labels(x.rank()));
  const int32_t is_small = k.apply(Op::lt, {k.apply(Op::abs, {k.use(a)}), k.constant(1)});
  const int32_t half = k.apply(Op::mul, {k.use(c), k.constant(0.5F)});
  const int32_t root = k.apply(Op::where, {is_small, half, k.use(b)});
  return k.result(all_labels(x.rank()), root, ElementType::f16);
}

/// Steps of a half below 2, of 1 below 4, of 2 up to 6.
View to_e2m1(NodeImport& node, const View& x) {
  Rounding1 r(node, x);
  const auto by_step = [&](float step) {
    return r.times(r.k.apply(Op::round, {r.times(r.x, 1 / step)}), step);
  };
  const auto below = [&](float bound, int32_t yes, int32_t no) {
    return r.k.apply(Op::where, {r.k.apply(Op::lt, {r.size(), r.k.constant(bound)}), yes, no});
  };
  const int32_t root = below(2, by_step(0.5F), below(4, by_step(1), by_step(2)));
  return r.result(r.clamped(root, 6), ElementType::f8e4m3);
}

}  // namespace

int stored_code(int64_t code) {
  return is_stored_wider(static_cast<int>(code)) ? static_cast<int>(code) : 0;
}

bool is_small_float(ElementType type, int code) {
  return type == ElementType::f8e4m3 || type == ElementType::f8e5m2 ||
         code == kOnnxFloat8E4M3FNUZ || code == kOnnxFloat8E5M2FNUZ || code == kOnnxFloat8E8M0;
}

View rounded_to_small(NodeImport& node, const View& x, ElementType type, int code, bool saturates) {
  switch (code) {
    case kOnnxFloat8E4M3FNUZ:
      return to_e4m3fnuz(node, x, saturates);
    case kOnnxFloat8E5M2FNUZ:
      return to_e5m2fnuz(node, x, saturates);
    case kOnnxFloat4E2M1:
      return to_e2m1(node, x);
    case kOnnxFloat8E8M0:
      node.reject("a Cast to f8e8m0 is not supported");
    default:
      break;
  }
  if (type == ElementType::f8e4m3) return limited(node, x, {448, 464, false}, saturates, type);
  if (saturates) return limited(node, x, {57344, 0, false}, true, type);
  Rounding1 r(node, x);
  return r.result(r.x, type);
}

}  // namespace fuseflow
