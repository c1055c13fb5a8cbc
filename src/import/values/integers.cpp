#include "import/values/integers.h"

#include <algorithm>
#include <cmath>

#include "ops/range.h"

namespace fuseflow {

bool Integers::hold(const Integers& other) const {
  if (bits == 64) return true;  // of u64 as much as i64 has
  return other.is_signed ? is_signed && bits >= other.bits
                         : bits > other.bits || (bits == other.bits && !is_signed);
}

std::optional<Integers> integers_of(ElementType type) {
  switch (type) {
    case ElementType::boolean:
      return Integers{1, false};
    case ElementType::u8:
      return Integers{8, false};
    case ElementType::i8:
      return Integers{8, true};
    case ElementType::u16:
      return Integers{16, false};
    case ElementType::i16:
      return Integers{16, true};
    case ElementType::i32:
      return Integers{32, true};
    case ElementType::i64:
      return Integers{64, true};
    default:
      return std::nullopt;
  }
}

namespace {

Facts between(float least, float largest) {
  Facts range;
  range.least = least;
  range.largest = largest;
  return range;
}

/// [-m, m] where the numbers of `range` are no larger than m.
Facts no_larger(const Facts& range) {
  const float most = std::max(std::fabs(range.least), std::fabs(range.largest));
  return between(-most, most);
}

/// What a tensor of whole numbers may hold, 0 for what is read beyond its extents.
Facts range_of_tensor(const Tensor& tensor) {
  const auto type = integers_of(tensor.type);
  if (!type) return {};
  const float all = std::ldexp(1.0F, type->bits);
  const float least = type->is_signed ? -all / 2 : 0;
  const float largest = type->is_signed ? all / 2 - 1 : all - 1;
  return between(std::min(std::max(least, tensor.facts.least), 0.0F),
                 std::max(std::min(largest, tensor.facts.largest), 0.0F));
}

}  // namespace

Facts range_of_value(const View& value, const std::function<const Tensor&(TensorId)>& tensor_of) {
  std::vector<Facts> ranges;
  for (const Expr& node : value.nodes) {
    std::vector<Facts> x;
    for (const int32_t child : node.children) x.push_back(ranges[static_cast<size_t>(child)]);
    double count = 1;
    for (const IndexId index : node.over) {
      count *= static_cast<double>(value.atoms[static_cast<size_t>(index)]);
    }
    switch (node.kind) {
      case Expr::Kind::access:
        ranges.push_back(range_of_tensor(tensor_of(node.tensor)));
        break;
      case Expr::Kind::constant:
        ranges.push_back(between(node.constant, node.constant));
        break;
      case Expr::Kind::coordinate:
        ranges.push_back(
            between(0, static_cast<float>(value.atoms[static_cast<size_t>(node.index)])));
        break;
      case Expr::Kind::reduce:
        ranges.push_back(reduced_range(node.reduction, x[0], count));
        break;
      case Expr::Kind::apply:
        if (node.op == Op::div)  // of whole numbers; by 0 it is not defined
          ranges.push_back(no_larger(x[0]));
        else
          ranges.push_back(node.op == Op::mod ? no_larger(x[1]) : result_range(node.op, x));
        break;
    }
  }
  return ranges.back();
}

}  // namespace fuseflow
