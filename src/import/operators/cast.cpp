// Casts. One to a type that holds every value of the other changes the view; the others compute:
// integers wrap, numbers with a fraction are cut, and floating types of 16 bits round.
#include <fmt/format.h>

#include <optional>

#include "import/importer.h"
#include "import/operators/common.h"
#include "import/operators/registry.h"
#include "import/operators/wrapping.h"

namespace fuseflow {

namespace {

/// The integers of an ONNX type, which may have less bits than the type that stores them here.
std::optional<Integers> integers_of_code(int64_t code, ElementType type) {
  constexpr int64_t kUint32 = 12;
  return code == kUint32 ? Integers{32, false} : integers_of(type);
}

/// The operator that rounds to a type of 16 bits. Streams carry f32, so that a Cast that is fused
/// with what reads it would round nothing without one.
Op rounding_to(ElementType type) {
  return type == ElementType::f16 ? Op::f16 : Op::bf16;
}

enum class Change { none, truth, cut, wrap, round };

Change change_of(ElementType from, ElementType type, const std::optional<Integers>& to) {
  const auto whole = integers_of(from);
  if (type == ElementType::boolean) return from == type ? Change::none : Change::truth;
  if (to) return !whole ? Change::cut : to->hold(*whole) ? Change::none : Change::wrap;
  const bool exact = holds_f32(type) || from == type || (whole && whole->bits <= 8);
  return exact ? Change::none : Change::round;
}

void cast_to(NodeImport& node, ElementType type, const std::optional<Integers>& to) {
  View view = node.input(0);
  const Change change = change_of(view.type, type, to);
  if (change == Change::none) {
    view.type = type;
    node.output(0, std::move(view));
    return;
  }
  const Importer& importer = node.importer();
  const bool folds = importer.is_constant(view) && !importer.is_activation(view);
  Kernel k = node.kernel();
  const int x = k.broadcast(view, view.rank());
  int32_t root = k.use(x);
  if (change == Change::truth) root = k.apply(Op::ne, {root, k.constant(0)});
  if (change == Change::cut) root = cut_towards_zero(k, root);
  if (change == Change::wrap) root = lowest_bits(k, root, *to, folds);
  if (change == Change::round) root = k.apply(rounding_to(type), {root});
  node.define(0, k.result(all_labels(view.rank()), root, type));
}

void cast(NodeImport& node) {
  node.ignore({"saturate", "round_mode"});  // of casts to f8
  if (node.opset() < 6)
    node.reject("an element type by its name (opsets below 6) is not supported");
  const int64_t code = node.integer("to", 0);
  const ElementType type = node.onnx_type(code);
  cast_to(node, type, integers_of_code(code, type));
}

void cast_like(NodeImport& node) {
  node.ignore({"saturate", "round_mode"});
  const ElementType type = node.input(1).type;
  cast_to(node, type, integers_of(type));
}

constexpr OperatorRow kCastRows[] = {
    {"Cast", cast, "strings, types of 4 bits and f8"},
    {"CastLike", cast_like, "strings, types of 4 bits and f8"},
};

}  // namespace

std::span<const OperatorRow> cast_operators() {
  return kCastRows;
}

}  // namespace fuseflow
