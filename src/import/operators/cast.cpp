// Casts. One to a type that holds every value of the other changes the view; the others compute:
// integers wrap, numbers with a fraction are cut, and floating types of 16 bits round.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "import/importer.h"
#include "import/operators/common.h"
#include "import/operators/registry.h"
#include "import/operators/small_types.h"
#include "import/operators/wrapping.h"
#include "support/diagnostics.h"
#include "support/text.h"
#include "tensor/rounding.h"

namespace fuseflow {

namespace {

enum class Change { none, truth, cut, wrap, round };

Change change_of(const View& x, ElementType type, const std::optional<Integers>& to) {
  const ElementType from = x.type;
  const auto whole = integers_of_code(x.code, from);
  if (type == ElementType::boolean) return from == type ? Change::none : Change::truth;
  if (to) return !whole ? Change::cut : to->hold(*whole) ? Change::none : Change::wrap;
  const bool exact = holds_f32(type) || from == type || (whole && whole->bits <= 8);
  return exact ? Change::none : Change::round;
}

/// Whether a type is an integer of less than a byte: of a number with a fraction these keep the
/// lowest bits, too.
bool is_small_integer(const std::optional<Integers>& to) {
  return to && to->bits > 1 && to->bits < 8;
}

/// Whether a constant has whole numbers that f32 rounds. (Folding keeps all digits.)
bool exceeds_f32(const NodeImport& node, const View& view) {
  const auto from = integers_of(view.type);
  if (!from || from->bits <= 24) return false;
  const std::vector<int64_t> values = node.importer().constant_of(view)->as_ints();
  return std::any_of(values.begin(), values.end(),
                     [](int64_t v) { return integer_of(static_cast<float>(v)) != v; });
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
  const Importer& importer = node.importer();
  const bool known = importer.folds(view);
  const bool rounds = known && !to && exceeds_f32(node, view);
  if (rounds && type == ElementType::f64) {
    report(Severity::note,
           fmt::format("node '{}' ({}): whole numbers beyond 2^24 become f64 and lose precision in "
                       "the compute type f32",
                       shown(node.onnx().name), node.onnx().op));
  }
  if (change == Change::none && !rounds) {
    view.type = type;
    view.code = code;
    node.output(0, std::move(view));
    return;
  }
  const auto changed = [&](bool folds) {
    Kernel k = node.kernel();
    const int x = k.broadcast(view, view.rank());
    int32_t root = k.use(x);
    if (change == Change::truth) root = k.apply(Op::ne, {root, k.constant(0)});
    if (change == Change::cut) root = cut_towards_zero(k, root);
    const bool wraps = change == Change::wrap || (change == Change::cut && is_small_integer(to));
    if (wraps) root = lowest_bits(k, root, *to, folds && ConstantTensor::is_integral(view.type));
    // Streams carry f32, so that a Cast that is fused with what reads it would round nothing
    // without an operator that does.
    if (change == Change::round) root = k.apply(*rounding_operator(type), {root});
    return k.result(all_labels(view.rank()), root, type);
  };
  View value = changed(true);
  if (!importer.folds(value)) value = changed(false);
  node.define(0, std::move(value));
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
