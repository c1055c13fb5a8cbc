// result[k] = sum(i, j) where(k == place of (i, j), value[i, j], 0).
#include "linalg/regroup.h"

#include <fmt/format.h>

#include "support/error.h"

namespace fuseflow {

namespace {

/// Adds nodes to an expression.
class Nodes {
 public:
  explicit Nodes(std::vector<Expr>& nodes) : nodes_(nodes) {}

  int32_t add(Expr node) {
    nodes_.push_back(std::move(node));
    return static_cast<int32_t>(nodes_.size()) - 1;
  }
  int32_t apply(Op op, std::vector<int32_t> children) {
    Expr node;
    node.kind = Expr::Kind::apply;
    node.op = op;
    node.children = std::move(children);
    return add(std::move(node));
  }
  int32_t constant(int64_t value) {
    Expr node;
    node.constant = static_cast<float>(value);
    return add(node);
  }
  /// The row-major place of a tuple of atoms.
  int32_t place(const std::vector<IndexId>& atoms, const std::vector<int64_t>& extents) {
    int32_t sum = constant(0);
    for (const IndexId atom : atoms) {
      Expr coordinate;
      coordinate.kind = Expr::Kind::coordinate;
      coordinate.index = atom;
      const int32_t scaled = apply(Op::mul, {sum, constant(extents[static_cast<size_t>(atom)])});
      sum = apply(Op::add, {scaled, add(coordinate)});
    }
    return sum;
  }

 private:
  std::vector<Expr>& nodes_;
};

}  // namespace

View regrouped_view(const View& value, const std::vector<int64_t>& shape) {
  if (value.size() > (int64_t{1} << 24)) {
    throw Error(ExitCode::rejected,
                fmt::format("a regrouping of {} elements that no affine index does, expected at "
                            "most 2^24",
                            value.size()));
  }
  View result = value;
  std::vector<IndexId> from;
  for (const auto& dim : value.dims) from.insert(from.end(), dim.begin(), dim.end());
  result.dims.clear();
  std::vector<IndexId> to;
  for (const int64_t extent : shape) {
    result.dims.emplace_back();
    if (extent == 1) continue;
    to.push_back(static_cast<IndexId>(result.atoms.size()));
    result.atoms.push_back(extent);
    result.dims.back().push_back(to.back());
  }
  Nodes nodes(result.nodes);
  const auto root = static_cast<int32_t>(value.nodes.size()) - 1;
  const int32_t here =
      nodes.apply(Op::eq, {nodes.place(to, result.atoms), nodes.place(from, result.atoms)});
  Expr sum;
  sum.kind = Expr::Kind::reduce;
  sum.reduction = Reduction::sum;
  sum.over = from;
  sum.children = {nodes.apply(Op::where, {here, root, nodes.constant(0)})};
  if (!from.empty()) nodes.add(std::move(sum));
  return result;
}

}  // namespace fuseflow
