#include "cluster/rows/form.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace fuseflow::cluster {
namespace {

class Builder : private TermReader {
 public:
  Builder(const StatementTable& all, const std::vector<const Statement*>& statements)
      : TermReader(all.program()),
        all_(all),
        statements_(statements),
        loops_(program_, statements) {
    form_.loops = loops_.loops();
    for (const SharedLoop& loop : form_.loops) made_.digits.push_back({loop.name, loop.extent});
  }

  RowsForm build() {
    for (const Statement* s : statements_) {
      require_dense(s->result);
      statement_ = s;
      const Binding at = binding_of(*s);
      const int32_t result = term(*s, at);
      inside_.push_back({s->result, stored_at(*s, at), result});
      form_.members.insert(s->result);
    }
    form_.tensors = std::move(made_.tensors);
    find_results();
    if (form_.results.empty()) refuse_kernel("nothing reads what it computes");
    for (const RowsForm::Result& result : form_.results) {
      const RowsTerm& from = row_term(result.term);
      const bool computes = from.kind != RowsTerm::Kind::load &&
                            from.kind != RowsTerm::Kind::constant && from.of_rows;
      if (!computes) refuse_kernel("a result of it is only moved");
      if (widths_of(result.subscripts) != width_loops(from.width))
        refuse_kernel("a result has a part of the columns that are computed for it");
    }
    return std::move(form_);
  }

 private:
  const RowsTerm& row_term(int32_t t) const { return form_.terms[static_cast<size_t>(t)]; }
  bool has_role(int loop, LoopRole role) const {
    return form_.loops[static_cast<size_t>(loop)].role == role;
  }

  Binding binding_of(const Statement& s) const {
    Binding binding;
    for (IndexId i = 0; i < static_cast<IndexId>(s.indices.size()); ++i) {
      TileSubscript& at = binding[i];
      if (const int loop = loops_.loop(s, i); loop >= 0) at.terms.emplace_back(loop, 1);
    }
    return binding;
  }

  static std::vector<TileSubscript> stored_at(const Statement& s, const Binding& binding) {
    std::vector<TileSubscript> at;
    for (const IndexId index : s.result_indices) at.push_back(binding.at(index));
    return at;
  }

  // --- terms -------------------------------------------------------------------------------

  /// Statements before this one, whose terms are there.
  const Statement* inside(const KernelTerm& read) override {
    if (!loops_.computed(read.tensor)) return nullptr;
    const auto known = std::find_if(statements_.begin(), statements_.end(),
                                    [&](const Statement* s) { return s->result == read.tensor; });
    if (form_.members.count(read.tensor) != 0) return *known;
    refuse_kernel("it reads a result before it is computed");
  }

  int32_t coordinate(const TileSubscript& /*of*/) override {
    refuse_kernel("it reads a loop's index as a number, which tiles have not");
  }

  int32_t add(KernelTerm term) override {
    RowsTerm made{std::move(term)};
    if (made.kind == RowsTerm::Kind::map) settle_map(made);
    return made.kind == RowsTerm::Kind::load ? add_load(std::move(made)) : put(std::move(made));
  }

  int32_t put(RowsTerm term) {
    form_.terms.push_back(std::move(term));
    return static_cast<int32_t>(form_.terms.size()) - 1;
  }

  /// Operands of a map are as wide as its result, or not wide at all.
  void settle_map(RowsTerm& map) const {
    map.of_rows = true;
    for (const int32_t child : map.children) {
      const RowsTerm& of = row_term(child);
      if (of.width < 0) continue;
      if (map.width >= 0 && map.width != of.width) {
        refuse_kernel("an elementwise operator takes tiles of two widths");
      }
      map.width = of.width;
    }
  }

  int32_t reduction(const Statement& s, const Expr& node, Binding binding) override {
    require_own_loops(s, node);
    const RowsProduct* product = loops_.product(s, static_cast<int32_t>(&node - s.nodes.data()));
    if (product != nullptr) return multiply(*product, node, binding);
    RowsTerm made;
    made.kind = RowsTerm::Kind::reduce;
    made.reduction = node.reduction;
    made.of_rows = true;
    made.children = {term(s, node.children[0], binding)};
    const RowsTerm& body = row_term(made.children[0]);
    if (!body.of_rows) refuse_kernel("a reduction is not of rows");
    require_whole(node, body.width);
    ++form_.reductions;
    return put(std::move(made));
  }

  /// Inside of a reduction each index goes along a loop of its own: of x[i, p] and x[i, j] with p
  /// and j one loop, a tile has the elements where p is j alone.
  void require_own_loops(const Statement& s, const Expr& reduce) const {
    std::set<int> seen;
    for (const IndexId index : free_indices(s, reduce.children[0])) {
      const int loop = loops_.loop(s, index);
      if (loop >= 0 && !seen.insert(loop).second) {
        refuse_kernel("a reduction reads one row at two of its places");
      }
    }
  }

  /// Indices that what is below a node takes from outside of it.
  static std::set<IndexId> free_indices(const Statement& s, int32_t node) {
    const Expr& expr = s.nodes[static_cast<size_t>(node)];
    std::set<IndexId> free = indices_of(expr);
    if (expr.kind == Expr::Kind::coordinate) free.insert(expr.index);
    for (const int32_t child : expr.children) free.merge(free_indices(s, child));
    for (const IndexId index : expr.over) free.erase(index);
    return free;
  }

  /// What is reduced is all of a width.
  void require_whole(const Expr& reduce, int width) {
    std::set<int> summed;
    for (const IndexId index : reduce.over) {
      if (const int loop = loops_.loop(*statement_, index); loop >= 0) summed.insert(loop);
    }
    if (width < 0) refuse_kernel("a reduction is of nothing but rows");
    const std::vector<int>& all = form_.widths[static_cast<size_t>(width)];
    if (summed != std::set<int>(all.begin(), all.end())) {
      refuse_kernel("a reduction is of a part of its width");
    }
  }

  int32_t multiply(const RowsProduct& product, const Expr& reduce, const Binding& binding) {
    RowsTerm made;
    made.kind = RowsTerm::Kind::reduce;
    made.of_rows = true;
    const int32_t rows = term(*statement_, product.rows, binding);
    if (!row_term(rows).of_rows) refuse_kernel("a product is not of rows and weights");
    const int summed = row_term(rows).width;
    require_whole(reduce, summed);
    const std::vector<int> given = result_widths();
    if (given.empty()) refuse_kernel("a product gives one column");
    made.width = width_of(given);
    if (made.width == summed) refuse_kernel("a product gives the loop that it sums");
    const Expr& weights = statement_->nodes[static_cast<size_t>(product.weights)];
    require_dense(weights.tensor);
    RowsTerm load{load_of(weights, binding)};
    if (is_of_rows(load)) refuse_kernel("the weights of a product have rows");
    check_weights(load, made.width, summed);
    load.width = made.width;
    load.summed = summed;
    made.children = {rows, put(std::move(load))};
    ++form_.products;
    return put(std::move(made));
  }

  /// Loops of widths that the result of the statement has.
  std::vector<int> result_widths() const {
    std::vector<int> loops;
    for (const IndexId index : statement_->result_indices) {
      const int loop = loops_.loop(*statement_, index);
      if (loop >= 0 && has_role(loop, LoopRole::width)) loops.push_back(loop);
    }
    return loops;
  }

  /// Weights have the loops of both widths, and perhaps of the batch.
  void check_weights(const RowsTerm& load, int given, int summed) const {
    std::set<int> wanted, found;
    for (const int w : {given, summed}) {
      const std::vector<int>& loops = form_.widths[static_cast<size_t>(w)];
      wanted.insert(loops.begin(), loops.end());
    }
    for (const int loop : digits_of(load)) {
      if (has_role(loop, LoopRole::width)) found.insert(loop);
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

  bool is_of_rows(const KernelTerm& load) const {
    const std::set<int> loops = digits_of(load);
    return std::any_of(loops.begin(), loops.end(),
                       [&](int loop) { return has_role(loop, LoopRole::rows); });
  }

  /// Equal loads are one.
  int32_t add_load(RowsTerm load) {
    load.of_rows = is_of_rows(load);
    std::vector<int> wide;
    for (const TileSubscript& subscript : load.subscripts) {
      for (const auto& [loop, factor] : subscript.terms) {
        const bool is_new = std::count(wide.begin(), wide.end(), loop) == 0;
        if (is_new && has_role(loop, LoopRole::width)) wide.push_back(loop);
      }
    }
    if (!wide.empty()) load.width = width_around(wide);
    for (size_t t = 0; t < form_.terms.size(); ++t) {
      const RowsTerm& other = form_.terms[t];
      const bool same = other.kind == RowsTerm::Kind::load && other.tensor == load.tensor &&
                        other.summed < 0 && other.width == load.width &&
                        other.subscripts == load.subscripts;
      if (same) return static_cast<int32_t>(t);
    }
    return put(std::move(load));
  }

  /// A load may have a part of the loops of a width, as a bias for each head has.
  int width_around(const std::vector<int>& part) {
    const auto is_in = [&](const std::vector<int>& loops) {
      return std::all_of(part.begin(), part.end(), [&](int loop) {
        return std::count(loops.begin(), loops.end(), loop) != 0;
      });
    };
    for (size_t w = 0; w < form_.widths.size(); ++w) {
      if (is_in(form_.widths[w])) return static_cast<int>(w);
    }
    // Of the statement's result, else of what it reduces.
    const std::vector<int> all = result_widths();
    return width_of(is_in(all) ? all : part);
  }

  // --- results -----------------------------------------------------------------------------

  std::set<int> width_loops(int width) const {
    if (width < 0) return {};
    const std::vector<int>& loops = form_.widths[static_cast<size_t>(width)];
    return {loops.begin(), loops.end()};
  }

  std::set<int> widths_of(const std::vector<TileSubscript>& at) const {
    std::set<int> loops;
    for (const TileSubscript& subscript : at) {
      for (const auto& [loop, factor] : subscript.terms) {
        if (has_role(loop, LoopRole::width)) loops.insert(loop);
      }
    }
    return loops;
  }

  void find_results() {
    for (const InlinedStatement& s : inside_) {
      const bool read = all_.read_beside(s.tensor, form_.members);
      if (tensor(s.tensor).role != Role::result && !read) continue;
      form_.results.push_back({s.tensor, s.term, s.at});
    }
  }

  const StatementTable& all_;
  const std::vector<const Statement*>& statements_;
  const RowsLoops loops_;
  const Statement* statement_ = nullptr;  ///< that is read
  RowsForm form_;
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
  return form_or_why(why, [&] {
    RowsForm form = Builder(program, statements).build();
    int64_t elements = form.batch();
    const bool large = __builtin_mul_overflow(elements, form.rows(), &elements);
    if (large || elements >= kMostTileElements / 2) refuse_kernel("it has too many rows");
    for (size_t w = 0; w < form.widths.size(); ++w) {
      if (form.width(static_cast<int>(w)) < kMostTileElements / 2) continue;
      refuse_kernel("a width of it has too many elements");
    }
    return form;
  });
}

}  // namespace fuseflow::cluster
