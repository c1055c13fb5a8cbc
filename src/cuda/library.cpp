#include "cuda/library.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace fuseflow::cuda {
namespace {

/// A tensor as a statement reads or writes it: elements from one step of an index to the next.
struct Strides {
  TensorId tensor = -1;
  std::map<IndexId, int64_t> of;  ///< of indices of several steps that it has
};

/// Loops that are one: so many steps, and elements from one to the next in each tensor.
struct OneLoop {
  int64_t extent = 1;
  bool rows = false;  ///< those of the launch are one of them
  std::array<int64_t, 3> stride{0, 0, 0};
};

class ProductReader {
 public:
  ProductReader(const Program& program, const Statement& statement, const TableRows* table)
      : program_(program), s_(statement), table_(table) {
    if (table != nullptr && table->rows(s_.result)) rows_ = s_.result_indices[0];
  }

  std::optional<std::string> read(const std::map<TensorId, int>& numbers) {
    const Expr& root = s_.nodes.back();
    if (root.kind != Expr::Kind::reduce || root.reduction != Reduction::sum) return std::nullopt;
    const Expr& body = node(root.children[0]);
    if (body.kind != Expr::Kind::apply || body.op != Op::mul) return std::nullopt;
    for (size_t i = 0; i < 2; ++i) {
      const Expr& access = node(body.children[i]);
      if (access.kind != Expr::Kind::access || !strides(access.tensor, access.subscripts, i))
        return std::nullopt;
    }
    std::vector<Subscript> result(s_.result_indices.size());
    for (size_t d = 0; d < result.size(); ++d) result[d].terms = {{s_.result_indices[d], 1}};
    if (!strides(s_.result, result, 2)) return std::nullopt;
    if (!sort_loops()) return std::nullopt;
    return text(numbers);
  }

 private:
  const Expr& node(int32_t n) const { return s_.nodes[static_cast<size_t>(n)]; }
  int64_t extent(IndexId i) const { return s_.indices[static_cast<size_t>(i)].extent; }

  bool strides(TensorId id, const std::vector<Subscript>& subscripts, size_t at) {
    const Tensor& tensor = program_.tensors[static_cast<size_t>(id)];
    std::vector<int> order(tensor.format.mode_order.size());
    std::iota(order.begin(), order.end(), 0);
    tensors_[at].tensor = id;
    const ElementType multiplied = program_.tensors[static_cast<size_t>(tensors_[0].tensor)].type;
    const bool known = multiplied == ElementType::f16 || multiplied == ElementType::bf16;
    const bool fits = tensor.type == multiplied || (at == 2 && tensor.type == ElementType::f32);
    if (!known || !fits || !tensor.format.all_dense() || tensor.format.mode_order != order)
      return false;
    Strides& made = tensors_[at];
    const std::vector<int64_t> shape = known_shape(tensor);
    int64_t pitch = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      int walked = 0;
      for (const auto& [index, factor] : subscripts[d].terms) {
        if (extent(index) == 1) continue;
        if (factor < 1 || ++walked > 1 || made.of.count(index) != 0) return false;
        if (factor * (extent(index) - 1) >= shape[d]) return false;
        made.of[index] = factor * pitch;
      }
      if (subscripts[d].offset != 0) return false;
      pitch *= shape[d];
    }
    return true;
  }

  /// Into the batch, rows, columns and what is summed.
  bool sort_loops() {
    std::array<std::vector<IndexId>, 4> loops;
    for (size_t i = 0; i < s_.indices.size(); ++i) {
      const auto index = static_cast<IndexId>(i);
      if (extent(index) == 1) continue;
      const bool a = has(0, index), b = has(1, index), c = has(2, index);
      const int kind = a && b && c ? 0 : a && c ? 1 : b && c ? 2 : a && b ? 3 : -1;
      if (kind < 0) return false;
      loops[static_cast<size_t>(kind)].push_back(index);
    }
    for (size_t kind = 0; kind < 4; ++kind) {
      // The slowest first, as the result or the first tensor has them.
      const size_t by = kind == 3 ? 0 : 2;
      std::sort(loops[kind].begin(), loops[kind].end(), [&](IndexId x, IndexId y) {
        return tensors_[by].of.at(x) > tensors_[by].of.at(y);
      });
      if (!join(loops[kind], loops_[kind])) return false;
    }
    return true;
  }
  bool has(size_t tensor, IndexId index) const { return tensors_[tensor].of.count(index) != 0; }

  /// Loops that follow each other in memory in every tensor that has them.
  bool join(const std::vector<IndexId>& indices, OneLoop& one) const {
    for (size_t i = indices.size(); i-- > 0;) {
      for (size_t t = 0; t < 3; ++t) {
        if (!has(t, indices[i])) continue;
        const int64_t stride = tensors_[t].of.at(indices[i]);
        if (one.extent == 1) {
          one.stride[t] = stride;
        } else if (stride != one.stride[t] * one.extent) {
          return false;
        }
      }
      one.extent *= extent(indices[i]);
      one.rows = one.rows || indices[i] == rows_;
    }
    return true;
  }

  /// One dimension of a matrix is consecutive; the other one has the distance.
  std::optional<std::string> matrix(size_t t, const OneLoop& rows, const OneLoop& columns,
                                    const std::map<TensorId, int>& numbers) const {
    const auto consecutive = [&](const OneLoop& loop) {
      return loop.extent == 1 || loop.stride[t] == 1;
    };
    const bool by_rows = consecutive(columns);
    if (!by_rows && (t == 2 || !consecutive(rows))) return std::nullopt;
    const OneLoop& inner = by_rows ? columns : rows;
    const OneLoop& outer = by_rows ? rows : columns;
    const int64_t pitch = outer.extent == 1 ? inner.extent : outer.stride[t];
    if (pitch < inner.extent) return std::nullopt;
    return fmt::format("{{{}, {}, {}, {}}}", numbers.at(tensors_[t].tensor),
                       by_rows ? "false" : "true", pitch, loops_[0].stride[t]);
  }

  std::optional<std::string> text(const std::map<TensorId, int>& numbers) const {
    const auto a = matrix(0, loops_[1], loops_[3], numbers);
    const auto b = matrix(1, loops_[3], loops_[2], numbers);
    const auto c = matrix(2, loops_[1], loops_[2], numbers);
    if (!a || !b || !c) return std::nullopt;
    return fmt::format("{{{}, {}, {}, {}, {}, {}, {}}}", size(loops_[0]), size(loops_[1]),
                       size(loops_[2]), size(loops_[3]), *a, *b, *c);
  }
  std::string size(const OneLoop& loop) const {
    return loop.rows ? times_rows("t.rows", loop.extent / table_->most)
                     : std::to_string(loop.extent);
  }

  const Program& program_;
  const Statement& s_;
  const TableRows* table_;
  IndexId rows_ = -1;
  std::array<Strides, 3> tensors_;  ///< the factors, the result
  std::array<OneLoop, 4> loops_;    ///< batch, rows, columns, what is summed
};

}  // namespace

std::optional<std::string> library_product(const Program& program, const Statement& statement,
                                           const std::map<TensorId, int>& numbers,
                                           const TableRows* table) {
  return ProductReader(program, statement, table).read(numbers);
}

}  // namespace fuseflow::cuda
