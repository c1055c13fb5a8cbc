// Operators on the bits of integers. Constants are computed at import; bytes that the program
// computes, bit by bit. Wider integers it computes in f32, which does not hold all of their bits.
#include <fmt/format.h>

#include <bit>
#include <functional>
#include <limits>

#include "import/importer.h"
#include "import/operators/common.h"
#include "import/operators/registry.h"
#include "import/operators/small_types.h"
#include "support/text.h"

namespace fuseflow {

namespace {

/// A value as whole numbers, and the strides by which it broadcasts to `shape`.
struct BroadcastInts {
  std::vector<int64_t> values;
  std::vector<int64_t> strides;

  BroadcastInts(const ConstantTensor& data, const std::vector<int64_t>& shape)
      : values(data.as_ints()), strides(shape.size(), 0) {
    int64_t stride = 1;
    for (size_t d = data.shape.size(); d-- > 0;) {
      const size_t to = shape.size() - data.shape.size() + d;
      if (data.shape[d] != 1) strides[to] = stride;
      stride *= data.shape[d];
    }
  }

  int64_t at(int64_t place, const std::vector<int64_t>& shape) const {
    int64_t from = 0;
    for (size_t d = shape.size(); d-- > 0; place /= shape[d]) from += place % shape[d] * strides[d];
    return values[static_cast<size_t>(from)];
  }
};

/// f of the elements of two constants, which broadcast.
ConstantPtr folded(const NodeImport& node, const ConstantTensor& a, const ConstantTensor& b,
                   const std::function<int64_t(int64_t, int64_t)>& f) {
  const std::vector<int64_t> shape = broadcast_shape({a.shape, b.shape}, node.onnx().op);
  const int64_t size = element_count(shape);
  if (size > kMaxFoldedElements) node.reject("the result is too large");
  const BroadcastInts left(a, shape);
  const BroadcastInts right(b, shape);
  std::vector<int64_t> values;
  for (int64_t i = 0; i < size; ++i)
    values.push_back(narrowed(f(left.at(i, shape), right.at(i, shape)), a.type));
  return constant_ints(std::move(values), shape, a.type);
}

bool has_8_bits(ElementType type) {
  return type == ElementType::u8 || type == ElementType::i8;
}

/// The operators here are of whole numbers alone.
void require_integers(const NodeImport& node, int inputs) {
  for (int i = 0; i < inputs; ++i) {
    const ElementType type = node.input(i).type;
    if (is_integer(type) && type != ElementType::boolean) continue;
    node.reject(
        fmt::format("input {} has elements of {}, expected whole numbers", i, element_name(type)));
  }
}

[[noreturn]] void reject_wide(const NodeImport& node) {
  node.reject(
      "the integers are computed by the program, which holds them as f32 and so not all of their "
      "bits; expected constants, an integer input of the model, or integers of 8 bits");
}

/// The byte of `value`, from 0 to 255.
int32_t unsigned_byte(Kernel& k, int32_t value) {
  return k.apply(Op::mod, {value, k.constant(256)});
}

/// A number from 0 to 255 as an element of the type.
int32_t as_type(Kernel& k, int32_t byte, ElementType type) {
  if (type == ElementType::u8) return byte;
  const int32_t negative = k.apply(Op::ge, {byte, k.constant(128)});
  return k.apply(Op::where, {negative, k.apply(Op::sub, {byte, k.constant(256)}), byte});
}

int32_t bit(Kernel& k, int32_t byte, int place) {
  const auto power = static_cast<float>(1 << place);
  const int32_t above = k.apply(Op::floor, {k.apply(Op::div, {byte, k.constant(power)})});
  return k.apply(Op::mod, {above, k.constant(2)});
}

/// The sum of op(bit of a, bit of b) * 2^place.
View byte_by_byte(NodeImport& node, Op op) {
  const View& a = node.input(0);
  const View& b = node.input(1);
  const auto shape = broadcast_shape({a.shape(), b.shape()}, node.onnx().op);
  const auto rank = static_cast<int>(shape.size());
  Kernel first = node.kernel();
  const int x = first.broadcast(a, rank);
  const int y = first.broadcast(b, rank);
  int32_t sum = -1;
  for (int place = 0; place < 8; ++place) {
    const int32_t left = bit(first, unsigned_byte(first, first.use(x)), place);
    const int32_t right = bit(first, unsigned_byte(first, first.use(y)), place);
    const int32_t weighted =
        first.apply(Op::where, {first.apply(op, {left, right}),
                                first.constant(static_cast<float>(1 << place)), first.constant(0)});
    sum = sum < 0 ? weighted : first.apply(Op::add, {sum, weighted});
  }
  std::vector<int> labels;
  for (int d = 0; d < rank; ++d) labels.push_back(shape[static_cast<size_t>(d)] == 1 ? -1 : d);
  const View bytes = node.helper("byte", first.result(labels, sum, ElementType::u8));
  if (a.type == ElementType::u8) return bytes;
  Kernel second = node.kernel();
  const int z = second.operand(bytes, all_labels(rank));
  return second.result(all_labels(rank), as_type(second, second.use(z), a.type), a.type);
}

template <Op op>
int64_t on_bits(int64_t a, int64_t b) {
  if (op == Op::logical_and) return a & b;
  return op == Op::logical_or ? a | b : a ^ b;
}

template <Op op>
void bitwise(NodeImport& node) {
  require_integers(node, 2);
  const ConstantPtr a = node.try_constant(0);
  const ConstantPtr b = node.try_constant(1);
  if (a && b) return node.output_constant(0, folded(node, *a, *b, on_bits<op>));
  if (!has_8_bits(node.input(0).type)) reject_wide(node);
  node.define(0, byte_by_byte(node, op));
}

/// -1 - x; of an unsigned number its largest value less x.
void bitwise_not(NodeImport& node) {
  require_integers(node, 1);
  const View& x = node.input(0);
  const Integers of = integers_of_code(x.code, x.type).value_or(Integers{});
  const int64_t largest = of.is_signed ? -1 : (int64_t{1} << of.bits) - 1;
  if (const ConstantPtr data = node.try_constant(0)) {
    std::vector<int64_t> values = data->as_ints();
    for (int64_t& v : values) v = largest - v;
    return node.output_constant(0, constant_ints(std::move(values), data->shape, data->type));
  }
  if (!has_8_bits(x.type)) reject_wide(node);
  Kernel k = node.kernel();
  const int o = k.operand(x, all_labels(x.rank()));
  const int32_t root = k.apply(Op::sub, {k.constant(static_cast<float>(largest)), k.use(o)});
  node.define(0, k.result(all_labels(x.rank()), root, x.type));
}

/// a << b; folded() and hold_unsigned() cut what is pushed out of the type.
int64_t shifted_left(int64_t a, int64_t b) {
  return b > 63 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << static_cast<uint64_t>(b));
}

/// a * 2^b or a / 2^b, cut to the type.
View shifted_bytes(NodeImport& node, bool left) {
  const auto shape =
      broadcast_shape({node.input(0).shape(), node.input(1).shape()}, node.onnx().op);
  const auto rank = static_cast<int>(shape.size());
  Kernel k = node.kernel();
  const int x = k.broadcast(node.input(0), rank);
  const int y = k.broadcast(node.input(1), rank);
  const int32_t power = k.apply(Op::pow, {k.constant(2), k.use(y)});
  const int32_t root = left ? unsigned_byte(k, k.apply(Op::mul, {k.use(x), power}))
                            : k.apply(Op::floor, {k.apply(Op::div, {k.use(x), power})});
  std::vector<int> labels;
  for (int d = 0; d < rank; ++d) labels.push_back(shape[static_cast<size_t>(d)] == 1 ? -1 : d);
  return k.result(labels, root, node.input(0).type);
}

void bit_shift(NodeImport& node) {
  require_integers(node, 2);
  const std::string direction = node.text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    node.reject(fmt::format("direction '{}' is unknown, expected LEFT or RIGHT", shown(direction)));
  const bool left = direction == "LEFT";
  const ElementType type = node.input(0).type;
  const ConstantPtr a = node.try_constant(0);
  const ConstantPtr b = node.try_constant(1);
  if (a && b) {
    const auto shift = [&](int64_t x, int64_t by) {
      if (by < 0) node.reject(fmt::format("a shift by {}, expected 0 or more", by));
      if (left) return shifted_left(x, by);
      return by > 63 ? 0
                     : static_cast<int64_t>(static_cast<uint64_t>(x) >> static_cast<uint64_t>(by));
    };
    return node.output_constant(0, folded(node, *a, *b, shift));
  }
  if (type != ElementType::u8) reject_wide(node);
  node.define(0, shifted_bytes(node, left));
}

/// Bytes as the other type of bytes; booleans as bytes.
void cast_bytes(NodeImport& node, ElementType type) {
  const View& x = node.input(0);
  Kernel k = node.kernel();
  const int o = k.operand(x, all_labels(x.rank()));
  const int32_t root = as_type(k, unsigned_byte(k, k.use(o)), type);
  node.define(0, k.result(all_labels(x.rank()), root, type));
}

/// BitCast: the bits of a value as another type of as many bits.
void bit_cast(NodeImport& node) {
  constexpr int64_t kFloat = 1, kUint16 = 4, kInt16 = 5, kInt32 = 6, kUint32 = 12;
  const View& x = node.input(0);
  const int64_t to = node.integer("to", 0);
  const ElementType type = node.onnx_type(to);
  if (element_bytes(x.type) == 1 && element_bytes(type) == 1) return cast_bytes(node, type);
  const ConstantPtr data = node.try_constant(0);
  if (!data) {
    node.reject(
        "the bits of values that the program computes, or of data, cannot be told; "
        "expected constants, an integer input of the model, or types of 8 bits");
  }
  const bool from_float = x.type == ElementType::f32;
  const bool known = to == kUint16 || to == kInt16 || to == kInt32 || to == kUint32 ||
                     (to == kFloat && data->integral());
  if (!known || (!from_float && !data->integral()))
    node.reject(fmt::format("bits of {} as {} are not supported", element_name(x.type),
                            element_name(type)));
  std::vector<int64_t> ints;
  std::vector<float> floats;
  for (int64_t i = 0; i < data->size(); ++i) {
    const auto bits = from_float ? std::bit_cast<uint32_t>(data->as_float(i))
                                 : static_cast<uint32_t>(data->as_int(i));
    if (to == kFloat) floats.push_back(std::bit_cast<float>(bits));
    if (to == kInt32) ints.push_back(static_cast<int32_t>(bits));
    if (to == kUint32) ints.push_back(bits);
    if (to == kInt16) ints.push_back(static_cast<int16_t>(bits));
    if (to == kUint16) ints.push_back(static_cast<uint16_t>(bits));
  }
  node.output_constant(0, to == kFloat ? constant_floats(std::move(floats), data->shape, type)
                                       : constant_ints(std::move(ints), data->shape, type));
}

constexpr const char* kWideNote = "integers of more than 8 bits that the program computes";

constexpr OperatorRow kBitsRows[] = {
    {"BitCast", bit_cast, "floating-point values that are not constant; types of 64 bits"},
    {"BitShift", bit_shift, kWideNote},
    {"BitwiseAnd", bitwise<Op::logical_and>, kWideNote},
    {"BitwiseNot", bitwise_not,
     "integers of more than 8 bits that the program computes; unsigned "
     "ones of more than 8 bits"},
    {"BitwiseOr", bitwise<Op::logical_or>, kWideNote},
    {"BitwiseXor", bitwise<Op::logical_xor>, kWideNote},
};

}  // namespace

std::span<const OperatorRow> bits_operators() {
  return kBitsRows;
}

}  // namespace fuseflow
