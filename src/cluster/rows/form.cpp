#include "cluster/rows/form.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cluster/common/not_dense.h"
#include "cluster/kernels/terms.h"
#include "ir/names.h"
#include "tensor/storage.h"

namespace fuseflow::cluster {
namespace {

class Builder {
 public:
  Builder(const StatementTable& all, const std::vector<const Statement*>& statements)
      : program_(all.program()), all_(all), statements_(statements), loops_(program_, statements) {
    form_.loops = loops_.loops();
  }

  RowsForm build() {
    for (const Statement* s : statements_) {
      require_dense(s->result);
      terms_of_[s->result] = term(*s, static_cast<int32_t>(s->nodes.size()) - 1);
      form_.members.insert(s->result);
    }
    find_results();
    if (form_.results.empty()) refuse_kernel("nothing reads what it computes");
    for (const RowsForm::Result& result : form_.results) {
      const RowsTerm& from = at(result.term);
      const bool computes = from.kind != RowsTerm::Kind::load &&
                            from.kind != RowsTerm::Kind::constant && from.of_rows;
      if (!computes) refuse_kernel("a result of it is only moved");
    }
    return std::move(form_);
  }

 private:
  const RowsTerm& at(int32_t t) const { return form_.terms[static_cast<size_t>(t)]; }
  const Tensor& tensor(TensorId t) const { return program_.tensors[static_cast<size_t>(t)]; }

  void require_dense(TensorId t) {
    const Tensor& of = tensor(t);
    if (std::string why = why_not_dense(of); !why.empty()) refuse_kernel(std::move(why));
    form_.element_bytes[t] = fuseflow::element_bytes(of.type);
  }

  int32_t add(RowsTerm term) {
    form_.terms.push_back(std::move(term));
    return static_cast<int32_t>(form_.terms.size()) - 1;
  }

  int32_t term(const Statement& s, int32_t node) {
    const Expr& expr = s.nodes[static_cast<size_t>(node)];
    RowsTerm made;
    switch (expr.kind) {
      case Expr::Kind::access:
        return access(s, expr);
      case Expr::Kind::constant:
        made.constant = expr.constant;
        return add(std::move(made));
      case Expr::Kind::apply:
        made.kind = RowsTerm::Kind::map;
        made.op = expr.op;
        for (const int32_t child : expr.children) made.children.push_back(term(s, child));
        return map(std::move(made));
      case Expr::Kind::reduce:
        return reduce(s, node);
      case Expr::Kind::coordinate:
        break;
    }
    refuse_kernel("it reads a loop's index as a number, which tiles have not");
  }

  /// Operands of a map are as wide as its result, or not wide at all.
  int32_t map(RowsTerm made) {
    made.of_rows = true;
    for (const int32_t child : made.children) {
      const RowsTerm& of = at(child);
      if (of.width < 0) continue;
      if (made.width >= 0 && made.width != of.width) {
        refuse_kernel("an elementwise operator takes tiles of two widths");
      }
      made.width = of.width;
    }
    return add(std::move(made));
  }

  int32_t reduce(const Statement& s, int32_t node) {
    const Expr& expr = s.nodes[static_cast<size_t>(node)];
    const RowsProduct* product = loops_.product(s, node);
    if (product != nullptr) return multiply(s, *product, expr);
    RowsTerm made;
    made.kind = RowsTerm::Kind::reduce;
    made.reduction = expr.reduction;
    made.of_rows = true;
    made.children = {term(s, expr.children[0])};
    const RowsTerm& body = at(made.children[0]);
    if (!body.of_rows) refuse_kernel("a reduction is not of rows");
    require_whole(s, expr, body.width);
    ++form_.reductions;
    return add(std::move(made));
  }

  /// What is reduced is all of a width.
  void require_whole(const Statement& s, const Expr& reduce, int width) {
    std::set<int> summed;
    for (const IndexId index : reduce.over) {
      if (const int loop = loops_.loop(s, index); loop >= 0) summed.insert(loop);
    }
    if (width < 0) refuse_kernel("a reduction is of nothing but rows");
    const std::vector<int>& all = form_.widths[static_cast<size_t>(width)];
    if (summed != std::set<int>(all.begin(), all.end())) {
      refuse_kernel("a reduction is of a part of its width");
    }
  }

  int32_t multiply(const Statement& s, const RowsProduct& product, const Expr& reduce) {
    RowsTerm made;
    made.kind = RowsTerm::Kind::product;
    made.of_rows = true;
    const int32_t rows = term(s, product.rows);
    if (!at(rows).of_rows) refuse_kernel("a product is not of rows and weights");
    require_whole(s, reduce, at(rows).width);
    const Expr& weights = s.nodes[static_cast<size_t>(product.weights)];
    std::vector<int> given;
    for (const IndexId index : s.result_indices) {
      const int loop = loops_.loop(s, index);
      if (loop >= 0 && form_.loops[static_cast<size_t>(loop)].role == LoopRole::width) {
        given.push_back(loop);
      }
    }
    if (given.empty()) refuse_kernel("a product gives one column");
    made.width = width_of(given);
    if (made.width == at(rows).width) refuse_kernel("a product gives the loop that it sums");
    RowsTerm load = load_of(s, weights);
    if (load.of_rows) refuse_kernel("the weights of a product have rows");
    check_weights(load, made.width, at(rows).width);
    load.width = made.width;
    load.summed = at(rows).width;
    made.children = {rows, add(std::move(load))};
    ++form_.products;
    return add(std::move(made));
  }

  /// Weights have the loops of both widths, and perhaps of the batch.
  void check_weights(const RowsTerm& load, int given, int summed) const {
    std::set<int> wanted, found;
    for (const int w : {given, summed}) {
      const std::vector<int>& loops = form_.widths[static_cast<size_t>(w)];
      wanted.insert(loops.begin(), loops.end());
    }
    for (const TileSubscript& subscript : load.subscripts) {
      for (const auto& [loop, factor] : subscript.terms) {
        if (form_.loops[static_cast<size_t>(loop)].role == LoopRole::width) found.insert(loop);
      }
    }
    if (found != wanted) refuse_kernel("the weights of a product lack a loop of its columns");
  }

  /// Loops that several tensors have in other orders are one width.
  int width_of(const std::vector<int>& loops) {
    const std::set<int> wanted(loops.begin(), loops.end());
    for (size_t w = 0; w < form_.widths.size(); ++w) {
      const std::set<int> known(form_.widths[w].begin(), form_.widths[w].end());
      if (known == wanted) return static_cast<int>(w);
      const bool apart = std::none_of(known.begin(), known.end(),
                                      [&](int loop) { return wanted.count(loop) != 0; });
      if (!apart) refuse_kernel("its widths overlap");
    }
    form_.widths.push_back(loops);
    return static_cast<int>(form_.widths.size()) - 1;
  }

  int32_t access(const Statement& s, const Expr& expr) {
    if (const auto known = terms_of_.find(expr.tensor); known != terms_of_.end()) {
      return known->second;
    }
    RowsTerm load = load_of(s, expr);
    std::vector<int> wide;
    for (const TileSubscript& subscript : load.subscripts) {
      for (const auto& [loop, factor] : subscript.terms) {
        const bool width = form_.loops[static_cast<size_t>(loop)].role == LoopRole::width;
        if (width && std::count(wide.begin(), wide.end(), loop) == 0) wide.push_back(loop);
      }
    }
    if (!wide.empty()) load.width = width_around(s, wide);
    return add_load(std::move(load));
  }

  /// A load may have a part of the loops of a width, as a bias for each head has.
  int width_around(const Statement& s, const std::vector<int>& part) {
    for (size_t w = 0; w < form_.widths.size(); ++w) {
      const std::vector<int>& loops = form_.widths[w];
      const bool inside = std::all_of(part.begin(), part.end(), [&](int loop) {
        return std::count(loops.begin(), loops.end(), loop) != 0;
      });
      if (inside) return static_cast<int>(w);
    }
    std::vector<int> all;  // of the statement's result, else of what it reduces
    for (const IndexId index : s.result_indices) add_width_loop(s, index, all);
    const bool of_result = std::all_of(part.begin(), part.end(), [&](int loop) {
      return std::count(all.begin(), all.end(), loop) != 0;
    });
    return width_of(of_result ? all : part);
  }

  void add_width_loop(const Statement& s, IndexId index, std::vector<int>& loops) const {
    const int loop = loops_.loop(s, index);
    if (loop >= 0 && form_.loops[static_cast<size_t>(loop)].role == LoopRole::width) {
      loops.push_back(loop);
    }
  }

  /// Equal loads are one.
  int32_t add_load(RowsTerm load) {
    for (size_t t = 0; t < form_.terms.size(); ++t) {
      const RowsTerm& other = form_.terms[t];
      const bool same =
          other.kind == RowsTerm::Kind::load && other.tensor == load.tensor && other.summed < 0 &&
          other.width == load.width &&
          std::equal(other.subscripts.begin(), other.subscripts.end(), load.subscripts.begin(),
                     load.subscripts.end(), [](const TileSubscript& a, const TileSubscript& b) {
                       return a.offset == b.offset && a.terms == b.terms;
                     });
      if (same) return static_cast<int32_t>(t);
    }
    return add(std::move(load));
  }

  RowsTerm load_of(const Statement& s, const Expr& expr) {
    require_dense(expr.tensor);
    if (loops_.computed(expr.tensor)) refuse_kernel("it reads a result before it is computed");
    RowsTerm load;
    load.kind = RowsTerm::Kind::load;
    load.tensor = expr.tensor;
    for (const Subscript& subscript : expr.subscripts) {
      load.subscripts.push_back(bound(s, subscript));
      for (const auto& [loop, factor] : load.subscripts.back().terms) {
        load.of_rows =
            load.of_rows || form_.loops[static_cast<size_t>(loop)].role == LoopRole::rows;
      }
    }
    return load;
  }

  TileSubscript bound(const Statement& s, const Subscript& subscript) const {
    TileSubscript made;
    made.offset = subscript.offset;
    for (const auto& [index, factor] : subscript.terms) {
      const int loop = loops_.loop(s, index);
      if (loop >= 0 && factor != 0) made.terms.emplace_back(loop, factor);
    }
    return made;
  }

  // --- results -----------------------------------------------------------------------------

  void find_results() {
    for (const Statement* s : statements_) {
      const bool read = all_.read_beside(s->result, form_.members);
      if (tensor(s->result).role != Role::result && !read) continue;
      RowsForm::Result result{s->result, terms_of_.at(s->result), {}};
      for (const IndexId index : s->result_indices) {
        Subscript plain;
        plain.terms.emplace_back(index, 1);
        result.subscripts.push_back(bound(*s, plain));
      }
      form_.results.push_back(std::move(result));
    }
  }

  const Program& program_;
  const StatementTable& all_;
  const std::vector<const Statement*>& statements_;
  const RowsLoops loops_;
  RowsForm form_;
  std::map<TensorId, int32_t> terms_of_;
};

}  // namespace

int64_t RowsForm::extent_of(LoopRole role) const {
  int64_t extent = 1;
  for (const SharedLoop& loop : loops) {
    if (loop.role != role) continue;
    if (__builtin_mul_overflow(extent, loop.extent, &extent)) return kMostTileElements;
  }
  return extent;
}

int64_t RowsForm::width(int w) const {
  int64_t extent = 1;
  for (const int loop : widths[static_cast<size_t>(w)]) {
    const int64_t steps = loops[static_cast<size_t>(loop)].extent;
    if (__builtin_mul_overflow(extent, steps, &extent)) return kMostTileElements;
  }
  return extent;
}

std::optional<RowsForm> rows_form(const StatementTable& program,
                                  const std::vector<const Statement*>& statements,
                                  std::string& why) {
  try {
    RowsForm form = Builder(program, statements).build();
    int64_t elements = form.batch();
    const bool large = __builtin_mul_overflow(elements, form.rows(), &elements);
    if (large || elements >= kMostTileElements / 2) refuse_kernel("it has too many rows");
    for (size_t w = 0; w < form.widths.size(); ++w) {
      if (form.width(static_cast<int>(w)) < kMostTileElements / 2) continue;
      refuse_kernel("a width of it has too many elements");
    }
    return form;
  } catch (const NoKernel& refused) {
    why = refused.why;
    return std::nullopt;
  }
}

}  // namespace fuseflow::cluster
