// Determinants of small matrices, written out as sums of products: what an elimination would do
// depends on values.
#include <fmt/format.h>

#include <vector>

#include "import/importer.h"
#include "import/operators/common.h"
#include "import/operators/registry.h"

namespace fuseflow {

namespace {

constexpr int64_t kMostRows = 4;  ///< 24 products

class Determinant {
 public:
  Determinant(NodeImport& node, const View& x)
      : rows_(static_cast<int>(x.extent(x.rank() - 1))),
        rank_(x.rank()),
        type_(x.type),
        kernel_(node.kernel()) {
    for (int i = 0; i < rows_; ++i) {
      for (int j = 0; j < rows_; ++j) {
        View element = node.sliced(node.sliced(x, rank_ - 2, i, 1, 1), rank_ - 1, j, 1, 1);
        element.dims.resize(static_cast<size_t>(rank_) - 2);
        elements_.push_back(kernel_.operand(element, all_labels(rank_ - 2)));
      }
    }
  }

  View value() {
    std::vector<int> columns = all_labels(rows_);
    const int32_t root = minor(0, columns);
    return kernel_.result(all_labels(rank_ - 2), root, type_);
  }

 private:
  /// Of the rows from `row` on and of these columns, as many.
  int32_t minor(int row, const std::vector<int>& columns) {
    int32_t sum = -1;
    for (size_t c = 0; c < columns.size(); ++c) {
      int32_t term = kernel_.use(elements_[static_cast<size_t>(row * rows_ + columns[c])]);
      if (columns.size() > 1) {
        std::vector<int> others = columns;
        others.erase(others.begin() + static_cast<std::ptrdiff_t>(c));
        term = kernel_.apply(Op::mul, {term, minor(row + 1, others)});
      }
      sum = sum < 0 ? term : kernel_.apply(c % 2 == 0 ? Op::add : Op::sub, {sum, term});
    }
    return sum;
  }

  int rows_;
  int rank_;
  ElementType type_;
  Kernel kernel_;
  std::vector<int> elements_;  ///< operands of the kernel, row by row
};

void determinant(NodeImport& node) {
  const View& x = node.input(0);
  const int rank = x.rank();
  if (rank < 2 || x.extent(rank - 2) != x.extent(rank - 1)) node.reject("expected square matrices");
  const int64_t rows = x.extent(rank - 1);
  if (rows < 1 || rows > kMostRows) {
    node.reject(fmt::format(
        "matrices of {} rows, expected 1 to {}: a larger determinant is an elimination, which "
        "depends on values",
        rows, kMostRows));
  }
  node.define(0, Determinant(node, x).value());
}

constexpr OperatorRow kDeterminantRows[] = {
    {"Det", determinant, "matrices of more than 4 rows"},
};

}  // namespace

std::span<const OperatorRow> determinant_operators() {
  return kDeterminantRows;
}

}  // namespace fuseflow
