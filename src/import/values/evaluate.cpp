// A vectorised tree walk: every node is evaluated for a row of the innermost atom at a time.
#include "import/values/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "import/values/integers.h"
#include "support/error.h"
#include "support/stop.h"
#include "tensor/limits.h"

namespace fuseflow {

namespace {

int64_t wrap(uint64_t v) {
  return static_cast<int64_t>(v);
}

/// Wraps like numpy; a negative exponent gives the truncated fraction.
int64_t integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    return base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  }
  uint64_t result = 1;
  auto square = static_cast<uint64_t>(base);
  for (; exponent > 0; exponent /= 2, square *= square) {
    if (exponent % 2 == 1) result *= square;
  }
  return wrap(result);
}

/// Integer semantics of the operators (ONNX: division truncates, mod follows the divisor's sign).
int64_t evaluate_integer(Op op, const int64_t* x) {
  const auto ua = static_cast<uint64_t>(x[0]);
  switch (op) {
    case Op::neg:
      return wrap(0 - ua);
    case Op::abs:
      return x[0] < 0 ? wrap(0 - ua) : x[0];
    case Op::sign:
      return (x[0] > 0) - (x[0] < 0);
    case Op::relu:
      return std::max<int64_t>(x[0], 0);
    case Op::floor:
    case Op::ceil:
    case Op::round:
      return x[0];
    case Op::logical_not:
      return x[0] == 0;
    case Op::isnan:
    case Op::isinf:
      return 0;
    case Op::add:
      return wrap(ua + static_cast<uint64_t>(x[1]));
    case Op::sub:
      return wrap(ua - static_cast<uint64_t>(x[1]));
    case Op::mul:
      return wrap(ua * static_cast<uint64_t>(x[1]));
    case Op::div:
      if (x[1] == 0) throw Error(ExitCode::rejected, "integer division by zero");
      return x[1] == -1 ? wrap(0 - ua) : x[0] / x[1];
    case Op::mod: {
      if (x[1] == 0) throw Error(ExitCode::rejected, "integer division by zero");
      if (x[1] == -1) return 0;
      const int64_t r = x[0] % x[1];
      return r != 0 && (r < 0) != (x[1] < 0) ? r + x[1] : r;
    }
    case Op::pow:
      return integer_power(x[0], x[1]);
    case Op::min:
      return std::min(x[0], x[1]);
    case Op::max:
      return std::max(x[0], x[1]);
    case Op::eq:
      return x[0] == x[1];
    case Op::ne:
      return x[0] != x[1];
    case Op::lt:
      return x[0] < x[1];
    case Op::le:
      return x[0] <= x[1];
    case Op::gt:
      return x[0] > x[1];
    case Op::ge:
      return x[0] >= x[1];
    case Op::logical_and:
      return x[0] != 0 && x[1] != 0;
    case Op::logical_or:
      return x[0] != 0 || x[1] != 0;
    case Op::logical_xor:
      return (x[0] != 0) != (x[1] != 0);
    case Op::where:
      return x[0] != 0 ? x[1] : x[2];
    default:
      break;
  }
  throw Error(ExitCode::rejected,
              fmt::format("operator {} on integers is not supported", op_info(op).name));
}

int64_t combine_integer(Reduction reduction, int64_t a, int64_t b) {
  switch (reduction) {
    case Reduction::sum:
    case Reduction::mean:
      return wrap(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    case Reduction::prod:
      return wrap(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    case Reduction::max:
      return std::max(a, b);
    case Reduction::min:
      return std::min(a, b);
  }
  return 0;
}

int64_t integer_identity(Reduction reduction) {
  if (reduction == Reduction::max) return std::numeric_limits<int64_t>::min();
  if (reduction == Reduction::min) return std::numeric_limits<int64_t>::max();
  return reduction == Reduction::prod ? 1 : 0;
}

/// T is the domain: float or int64_t.
template <typename T>
class Evaluator {
 public:
  Evaluator(const View& value, const ConstantLookup& constants) : value_(value) {
    for (const Expr& node : value.nodes) {
      data_.push_back(node.kind == Expr::Kind::access ? constants(node.tensor) : nullptr);
    }
    coords_.assign(value.atoms.size(), 0);
    std::vector<IndexId> order;
    for (const auto& dim : value.dims) order.insert(order.end(), dim.begin(), dim.end());
    if (!order.empty()) {
      inner_ = order.back();
      order.pop_back();
    }
    outer_ = std::move(order);
    width_ = inner_ < 0 ? 1 : value.atoms[static_cast<size_t>(inner_)];
    rows_.resize(value.nodes.size());
  }

  std::vector<T> run() {
    std::vector<T> out = room_for<T>(value_.size());
    if (out.empty()) return out;
    int64_t at = 0;
    for (;;) {
      const std::vector<T>& row = eval(static_cast<int32_t>(value_.nodes.size()) - 1);
      std::copy(row.begin(), row.end(), out.begin() + at);
      at += width_;
      count_row();
      if (!advance(outer_)) return out;
    }
  }

 private:
  /// Lets the work be given up every now and then.
  void count_row() {
    constexpr int64_t kOften = 1 << 16;
    row_steps_ += width_ + 1;
    if (row_steps_ < kOften) return;
    row_steps_ = 0;
    stop_if_asked();
  }

  /// Steps the odometer over `atoms`; false after the last, with all back at 0.
  bool advance(const std::vector<IndexId>& atoms) {
    for (size_t k = atoms.size(); k-- > 0;) {
      int64_t& c = coords_[static_cast<size_t>(atoms[k])];
      if (++c < value_.atoms[static_cast<size_t>(atoms[k])]) return true;
      c = 0;
    }
    return false;
  }

  const std::vector<T>& eval(int32_t n) {
    const Expr& node = value_.nodes[static_cast<size_t>(n)];
    std::vector<T>& row = rows_[static_cast<size_t>(n)];
    row.resize(static_cast<size_t>(width_));
    switch (node.kind) {
      case Expr::Kind::constant:
        std::fill(row.begin(), row.end(), number(node.constant));
        break;
      case Expr::Kind::coordinate:
        for (int64_t i = 0; i < width_; ++i) {
          row[static_cast<size_t>(i)] =
              static_cast<T>(node.index == inner_ ? i : coords_[static_cast<size_t>(node.index)]);
        }
        break;
      case Expr::Kind::access:
        access(node, *data_[static_cast<size_t>(n)], row);
        break;
      case Expr::Kind::apply:
        apply(node, row);
        break;
      case Expr::Kind::reduce:
        reduce(node, row);
        break;
    }
    return row;
  }

  void access(const Expr& node, const ConstantTensor& tensor, std::vector<T>& row) {
    int64_t base = 0;
    int64_t stride = 0;
    int64_t low = 0;
    int64_t high = width_;  // the part of the row whose subscripts are in range
    for (size_t d = 0; d < node.subscripts.size(); ++d) {
      int64_t at = node.subscripts[d].offset;
      int64_t step = 0;
      for (const auto& [index, c] : node.subscripts[d].terms) {
        if (index == inner_)
          step += c;
        else
          at += c * coords_[static_cast<size_t>(index)];
      }
      const int64_t extent = tensor.shape[d];
      while (low < high && (at + step * low < 0 || at + step * low >= extent)) ++low;
      while (low < high && (at + step * (high - 1) < 0 || at + step * (high - 1) >= extent)) --high;
      base = base * extent + at;
      stride = stride * extent + step;
    }
    for (int64_t i = 0; i < width_; ++i) {
      const bool inside = i >= low && i < high;
      row[static_cast<size_t>(i)] = inside ? load(tensor, base + stride * i) : T{0};
    }
  }

  /// The minimum and the maximum of nothing are infinite: of integers, the ends of their type.
  T number(float value) const {
    if constexpr (std::is_same_v<T, float>) return value;
    if (!std::isinf(value)) return static_cast<T>(integer_of(value));
    const Integers all = integers_of(value_.type).value();
    return static_cast<T>(value < 0 ? all.least() : all.largest());
  }

  static T load(const ConstantTensor& tensor, int64_t at) {
    if constexpr (std::is_same_v<T, float>)
      return tensor.as_float(at);
    else
      return tensor.as_int(at);
  }

  void apply(const Expr& node, std::vector<T>& row) {
    if constexpr (std::is_same_v<T, float>) {
      const float* operands[3] = {};
      const int strides[3] = {1, 1, 1};
      for (size_t c = 0; c < node.children.size(); ++c) operands[c] = eval(node.children[c]).data();
      evaluate_many(node.op, {operands, node.children.size()}, {strides, node.children.size()},
                    row.data(), width_);
    } else {
      const std::vector<T>* operands[3] = {};
      for (size_t c = 0; c < node.children.size(); ++c) operands[c] = &eval(node.children[c]);
      for (size_t i = 0; i < row.size(); ++i) {
        T x[3] = {};
        for (size_t c = 0; c < node.children.size(); ++c) x[c] = (*operands[c])[i];
        row[i] = evaluate_integer(node.op, x);
      }
    }
  }

  void reduce(const Expr& node, std::vector<T>& row) {
    const bool integer = std::is_same_v<T, int64_t>;
    std::fill(row.begin(), row.end(),
              static_cast<T>(integer ? integer_identity(node.reduction) : static_cast<int64_t>(0)));
    if constexpr (!std::is_same_v<T, int64_t>)
      std::fill(row.begin(), row.end(), identity(node.reduction));
    int64_t count = 0;
    for (const IndexId index : node.over) {
      if (value_.atoms[static_cast<size_t>(index)] == 0) return;
    }
    for (;;) {
      const std::vector<T>& body = eval(node.children[0]);
      for (size_t i = 0; i < row.size(); ++i) {
        if constexpr (std::is_same_v<T, int64_t>)
          row[i] = combine_integer(node.reduction, row[i], body[i]);
        else
          row[i] = combine(node.reduction, row[i], body[i]);
      }
      ++count;
      count_row();
      if (!advance(node.over)) break;
    }
    if (node.reduction == Reduction::mean) {
      for (T& v : row) v /= static_cast<T>(count);
    }
  }

  const View& value_;
  std::vector<const ConstantTensor*> data_;
  std::vector<int64_t> coords_;
  std::vector<IndexId> outer_;
  IndexId inner_ = -1;
  int64_t width_ = 1;
  int64_t row_steps_ = 0;  // since count_row() asked last
  std::vector<std::vector<T>> rows_;
};

/// True if no access or constant of the expression is a floating number.
bool integer_domain(const View& value, const ConstantLookup& constants) {
  if (!ConstantTensor::is_integral(value.type)) return false;
  for (const Expr& node : value.nodes) {
    if (node.kind == Expr::Kind::access && !constants(node.tensor)->integral()) return false;
    if (node.kind == Expr::Kind::constant && node.constant != std::trunc(node.constant))
      return false;
  }
  return true;
}

}  // namespace

int64_t evaluation_steps(const View& value) {
  constexpr uint64_t kStepsPerRow = 32;  // measured: a row of 3 elements takes as long as one of 30
  uint64_t row = 1;  // the innermost extent: so many elements are evaluated at once
  for (const auto& dim : value.dims) {
    if (!dim.empty()) row = static_cast<uint64_t>(value.atoms[static_cast<size_t>(dim.back())]);
  }
  uint64_t steps = static_cast<uint64_t>(value.size());
  if (row > 0) steps = saturating_product(steps / row, row + kStepsPerRow);
  for (const Expr& node : value.nodes) {
    for (const IndexId index : node.over) {
      steps =
          saturating_product(steps, static_cast<uint64_t>(value.atoms[static_cast<size_t>(index)]));
    }
  }
  steps = saturating_product(steps, value.nodes.size());
  return static_cast<int64_t>(std::min<uint64_t>(steps, std::numeric_limits<int64_t>::max()));
}

ConstantPtr evaluate_value(const View& value, const ConstantLookup& constants) {
  if (!integer_domain(value, constants)) {
    // Rounded to the type once, at the end, as a region that stores it does.
    return constant_values(Evaluator<float>(value, constants).run(), value.shape(), value.type);
  }
  std::vector<int64_t> ints = Evaluator<int64_t>(value, constants).run();
  for (int64_t& v : ints) v = narrowed(v, value.type);
  return constant_ints(std::move(ints), value.shape(), value.type);
}

ConstantPtr evaluate_if_defined(const View& value, const ConstantLookup& constants) {
  try {
    return evaluate_value(value, constants);
  } catch (const Error& error) {
    if (error.code() != ExitCode::rejected) throw;
    return nullptr;
  }
}

}  // namespace fuseflow
