// Casts. One to a type that holds every value of the other changes the view; the others compute:
// integers wrap, numbers with a fraction are cut, and what is stored in 16 bits is rounded.
#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "import/importer.h"
#include "import/operators/common.h"
#include "import/operators/registry.h"
#include "import/operators/small_types.h"

namespace fuseflow {

namespace {

/// Whole numbers of so many bits.
struct Integers {
  int bits = 0;
  bool is_signed = false;

  bool hold(const Integers& other) const {
    if (bits == 64) return true;  // of u64 as much as i64 has
    return other.is_signed ? is_signed && bits >= other.bits
                           : bits > other.bits || (bits == other.bits && !is_signed);
  }
};

std::optional<Integers> integers_of(ElementType type) {
  switch (type) {
    case ElementType::boolean:
      return Integers{1, false};
    case ElementType::u8:
      return Integers{8, false};
    case ElementType::i8:
      return Integers{8, true};
    case ElementType::i32:
      return Integers{32, true};
    case ElementType::i64:
      return Integers{64, true};
    default:
      return std::nullopt;
  }
}

/// The integers of an ONNX type, which may have less bits than the type that stores them here.
std::optional<Integers> integers_of_code(int64_t code, ElementType type) {
  if (code == kOnnxUint2) return Integers{2, false};
  if (code == kOnnxInt2) return Integers{2, true};
  if (code == kOnnxUint4) return Integers{4, false};
  if (code == kOnnxInt4) return Integers{4, true};
  if (code == kOnnxUint16) return Integers{16, false};
  if (code == kOnnxInt16) return Integers{16, true};
  if (code == kOnnxUint32) return Integers{32, false};
  return integers_of(type);
}

/// Integer to fewer bits: the lowest ones. What folds is computed in integers. What is computed in
/// f32 stays exact as long as it is: factors are powers of two, and the difference has no more
/// digits than the value.
int32_t wrapped(Kernel& k, int32_t value, const Integers& to, bool folds) {
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

enum class Change { none, truth, cut, wrap, round };

Change change_of(const View& x, ElementType type, const std::optional<Integers>& to) {
  const ElementType from = x.type;
  const auto whole = integers_of_code(x.code, from);
  if (type == ElementType::boolean) return from == type ? Change::none : Change::truth;
  if (to) return !whole ? Change::cut : to->hold(*whole) ? Change::none : Change::wrap;
  const bool exact = holds_f32(type) || from == type || (whole && whole->bits <= 8);
  return exact ? Change::none : Change::round;
}

/// Of integers of less than a byte, a number with a fraction keeps the lowest bits, too.
bool is_small_integer(const std::optional<Integers>& to) {
  return to && to->bits > 1 && to->bits < 8;
}

void cast_to(NodeImport& node, ElementType type, int code) {
  View view = node.input(0);
  const bool saturates = node.integer("saturate", 1) != 0;
  node.ignore({"round_mode"});  // of casts to f8e8m0, which are refused
  if (is_small_float(type, code)) {
    if (view.type == type && view.code == code) return node.output(0, std::move(view));
    node.define(0, rounded_to_small(node, view, type, code, saturates));
    return node.mark_code(0, code);
  }
  const std::optional<Integers> to = integers_of_code(code, type);
  const Change change = change_of(view, type, to);
  if (change == Change::none) {
    view.type = type;
    view.code = code;
    node.output(0, std::move(view));
    return;
  }
  const Importer& importer = node.importer();
  const bool folds = importer.is_constant(view) && !importer.is_activation(view);
  const bool whole = ConstantTensor::is_integral(view.type);
  Kernel k = node.kernel();
  const int x = k.broadcast(view, view.rank());
  int32_t root = k.use(x);
  if (change == Change::truth) root = k.apply(Op::ne, {root, k.constant(0)});
  if (change == Change::cut) root = cut_towards_zero(k, root);
  const bool wraps = change == Change::wrap || (change == Change::cut && is_small_integer(to));
  if (wraps) root = wrapped(k, root, *to, folds && whole);
  node.define(0, k.result(all_labels(view.rank()), root, type));
  if (code != 0) node.mark_code(0, code);
}

void cast(NodeImport& node) {
  if (node.opset() < 6)
    node.reject("an element type by its name (opsets below 6) is not supported");
  const int64_t code = node.integer("to", 0);
  const ElementType type = node.onnx_type(code);
  cast_to(node, type, stored_code(static_cast<int>(code)));
}

void cast_like(NodeImport& node) {
  cast_to(node, node.input(1).type, node.input(1).code);
}

constexpr OperatorRow kCastRows[] = {
    {"Cast", cast, "strings; to f8e8m0; below opset 6"},
    {"CastLike", cast_like, "strings; to f8e8m0"},
};

}  // namespace

std::span<const OperatorRow> cast_operators() {
  return kCastRows;
}

}  // namespace fuseflow
