#include "import/operators/wrapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "import/operators/common.h"

namespace fuseflow {

int32_t lowest_bits(Kernel& k, int32_t value, const Integers& to, bool folds) {
  const float all = std::ldexp(1.0F, to.bits);
  const float half = std::ldexp(1.0F, to.bits - 1);
  if (folds) {
    if (!to.is_signed) return k.apply(Op::mod, {value, k.constant(all)});
    const int32_t moved = k.apply(Op::add, {value, k.constant(half)});
    return k.apply(Op::sub, {k.apply(Op::mod, {moved, k.constant(all)}), k.constant(half)});
  }
  int32_t times = -1;  // that the range fits below the value
  if (to.is_signed) {
    const int32_t halves = k.apply(Op::floor, {k.apply(Op::mul, {value, k.constant(1 / half)})});
    const int32_t above = k.apply(Op::add, {halves, k.constant(1)});
    times = k.apply(Op::floor, {k.apply(Op::mul, {above, k.constant(0.5F)})});
  } else {
    times = k.apply(Op::floor, {k.apply(Op::mul, {value, k.constant(1 / all)})});
  }
  return k.apply(Op::sub, {value, k.apply(Op::mul, {times, k.constant(all)})});
}

void define_computed(NodeImport& node, Kernel& k, const std::vector<int>& labels, int32_t root,
                     ElementType type) {
  View value = k.result(labels, root, type);
  const Importer& importer = node.importer();
  const auto to = integers_of(type);
  if (importer.folds(value) || !to || (to->bits != 8 && to->bits != 16))
    return node.define(0, std::move(value));
  constexpr float kExact = 0x1p24F;  // up to here f32 has every whole number
  const Facts range =
      range_of_value(value, [&](TensorId id) -> const Tensor& { return importer.tensor(id); });
  const float least = std::ceil(range.least), largest = std::floor(range.largest);
  if (!(least >= -kExact && largest <= kExact)) {
    node.reject(
        fmt::format("results of type {} may be beyond 2^24 before they wrap, where f32, in which "
                    "everything is computed, does not have every whole number; expected a wider "
                    "type: put Casts around it",
                    element_name(type)));
  }
  if (holds(type, least) && holds(type, largest)) return node.define(0, std::move(value));
  const bool reduces = std::any_of(value.nodes.begin(), value.nodes.end(),
                                   [](const Expr& e) { return e.kind == Expr::Kind::reduce; });
  if (!reduces) return node.define(0, k.result(labels, lowest_bits(k, root, *to, false), type));
  // The lowest bits name the value several times: a sum is computed once, before.
  value.type = ElementType::f32;
  const View wide = node.helper("wide", std::move(value));
  Kernel last = node.kernel();
  const int of = last.operand(wide, all_labels(wide.rank()));
  const int32_t bits = lowest_bits(last, last.use(of), *to, false);
  node.define(0, last.result(all_labels(wide.rank()), bits, type));
}

}  // namespace fuseflow
