#include "cluster/rows/loops.h"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/common/terms.h"
#include "ir/names.h"

namespace fuseflow::cluster {

std::set<IndexId> indices_of(const Expr& access) {
  std::set<IndexId> indices;
  for (const Subscript& subscript : access.subscripts) {
    for (const auto& [index, factor] : subscript.terms) {
      if (factor != 0) indices.insert(index);
    }
  }
  return indices;
}

RowsLoops::RowsLoops(const Program& program, const std::vector<const Statement*>& statements)
    : program_(program) {
  for (const Statement* s : statements) {
    join_reads(*s);
    results_[s->result] = s;
  }
  for (const Statement* s : statements) join_constants(*s);
  for (const Statement* s : statements) find_products(*s);
  for (const Statement* s : statements) settle(*s);
  name_loops();
  for (const Statement* s : statements) check(*s);
}

/// Loops that read a result are those that computed it, and those that read one dimension of a
/// given tensor are one.
void RowsLoops::join_reads(const Statement& s) {
  for (size_t i = 0; i < s.indices.size(); ++i) {
    const Key own{s.result, static_cast<IndexId>(i)};
    parents_.emplace(own, own);
    readers_[own].insert(s.result);
  }
  for (const Expr& node : s.nodes) {
    if (node.kind != Expr::Kind::access) continue;
    const Tensor& read = program_.tensors[static_cast<size_t>(node.tensor)];
    const auto from = results_.find(node.tensor);
    const bool result = from != results_.end();
    if (!result && read.role == Role::constant) continue;
    for (size_t d = 0; d < node.subscripts.size(); ++d) {
      const Subscript& at = node.subscripts[d];
      if (at.terms.empty() && at.offset == 0 && read.shape[d].value == 1) continue;
      const bool whole = at.is_plain() && extent_of(s, at.plain()) == read.shape[d].value;
      if (whole) {
        const Key given{node.tensor, -1 - static_cast<IndexId>(d)};
        parents_.emplace(given, given);
        join({s.result, at.plain()},
             result ? Key{node.tensor, from->second->result_indices[d]} : given);
      } else if (result) {
        refuse_kernel(fmt::format("a part of %{} is read, or not at plain loops",
                                  quote_if_needed(read.name)));
      }
    }
  }
}

/// Loops that read one dimension of a constant are one, unless two loops of a statement would be: a
/// constant (a weight, a bias) may be read by many.
void RowsLoops::join_constants(const Statement& s) {
  for (const Expr& node : s.nodes) {
    if (node.kind != Expr::Kind::access || computed(node.tensor)) continue;
    const Tensor& read = program_.tensors[static_cast<size_t>(node.tensor)];
    if (read.role != Role::constant) continue;
    for (size_t d = 0; d < node.subscripts.size(); ++d) {
      const Subscript& at = node.subscripts[d];
      if (!at.is_plain() || extent_of(s, at.plain()) != read.shape[d].value) continue;
      const Key given{node.tensor, -1 - static_cast<IndexId>(d)}, own{s.result, at.plain()};
      parents_.emplace(given, given);
      if (may_join(own, given)) join(own, given);
    }
  }
}

/// Are there no two loops of one statement that would become one?
bool RowsLoops::may_join(const Key& a, const Key& b) {
  const Key first = root(a), second = root(b);
  if (first == second) return true;
  const std::set<TensorId>&some = readers_[first], &others = readers_[second];
  return std::none_of(some.begin(), some.end(),
                      [&](TensorId result) { return others.count(result) != 0; });
}

/// Does `weights` have loops of the result that `rows` has not?
bool RowsLoops::weighs(const Statement& s, const Expr& weights, const Expr& rows) const {
  const std::set<IndexId> beside = indices_of(rows);
  const std::set<IndexId> own = indices_of(weights);
  return std::any_of(s.result_indices.begin(), s.result_indices.end(), [&](IndexId index) {
    return own.count(index) != 0 && beside.count(index) == 0 && extent_of(s, index) > 1;
  });
}

void RowsLoops::find_products(const Statement& s) {
  for (size_t n = 0; n < s.nodes.size(); ++n) {
    const auto factors = summed_product(s, s.nodes[n]);
    if (!factors) continue;
    RowsProduct product{(*factors)[0], (*factors)[1]};
    const Expr& left = s.nodes[static_cast<size_t>(product.rows)];
    const Expr& right = s.nodes[static_cast<size_t>(product.weights)];
    if (!weighs(s, left, right) && !weighs(s, right, left)) continue;
    if (computed(left.tensor) && computed(right.tensor)) {
      refuse_kernel("both operands of a product are computed in it");
    }
    // Where both tensors are given, the constant has the weights, else the second.
    const auto constant = [&](const Expr& access) {
      return program_.tensors[static_cast<size_t>(access.tensor)].role == Role::constant;
    };
    const bool first_weighs =
        computed(right.tensor) || (!computed(left.tensor) && constant(left) && !constant(right));
    if (first_weighs) std::swap(product.rows, product.weights);
    products_[{s.result, static_cast<int32_t>(n)}] = product;
  }
}

/// What is reduced or comes of weights is a width; what rows and weights share is the batch.
void RowsLoops::settle(const Statement& s) {
  for (size_t n = 0; n < s.nodes.size(); ++n) {
    const Expr& reduce = s.nodes[n];
    if (reduce.kind != Expr::Kind::reduce) continue;
    for (const IndexId index : reduce.over) widths_.insert(root({s.result, index}));
    const RowsProduct* of = product(s, static_cast<int32_t>(n));
    if (of == nullptr) continue;
    const std::set<IndexId> rows = indices_of(s.nodes[static_cast<size_t>(of->rows)]);
    const std::set<IndexId> weights = indices_of(s.nodes[static_cast<size_t>(of->weights)]);
    for (const IndexId index : s.result_indices) {
      if (weights.count(index) == 0) continue;
      (rows.count(index) != 0 ? batches_ : widths_).insert(root({s.result, index}));
    }
  }
}

void RowsLoops::name_loops() {
  std::set<std::string> names;
  for (const auto& [tensor, s] : results_) {
    for (size_t i = 0; i < s->indices.size(); ++i) {
      const Key key = root({tensor, static_cast<IndexId>(i)});
      const int64_t extent = extent_of(*s, static_cast<IndexId>(i));
      if (extent == 1 || number_.count(key) != 0) continue;
      if (extent < 1) refuse_kernel("a loop has extent 0");
      SharedLoop loop;
      loop.extent = extent;
      const std::string& name = s->indices[i].name;
      loop.name = name;
      for (int next = 1; !names.insert(loop.name).second; ++next) {
        loop.name = fmt::format("{}_{}", name, next);
      }
      const bool width = widths_.count(key) != 0, batch = batches_.count(key) != 0;
      if (width && batch) refuse_kernel("a loop is of the batch and of a width");
      loop.role = width ? LoopRole::width : batch ? LoopRole::batch : LoopRole::rows;
      number_[key] = static_cast<int>(loops_.size());
      loops_.push_back(std::move(loop));
    }
  }
  const bool rows = std::any_of(loops_.begin(), loops_.end(),
                                [](const SharedLoop& loop) { return loop.role == LoopRole::rows; });
  if (!rows) refuse_kernel("it has no rows: no loop that all of its statements have");
}

/// Every result has every loop of the rows and of the batch, each loop once.
void RowsLoops::check(const Statement& s) const {
  std::set<int> seen;
  for (const IndexId index : s.result_indices) {
    const int at = loop(s, index);
    if (at < 0) continue;
    if (!seen.insert(at).second) refuse_kernel("rows and columns of a tensor are one loop");
  }
  for (size_t l = 0; l < loops_.size(); ++l) {
    if (loops_[l].role == LoopRole::width || seen.count(static_cast<int>(l)) != 0) continue;
    refuse_kernel(
        fmt::format("%{} has not all of its rows",
                    quote_if_needed(program_.tensors[static_cast<size_t>(s.result)].name)));
  }
}

int RowsLoops::loop(const Statement& s, IndexId index) const {
  Key key{s.result, index};
  while (parents_.at(key) != key) key = parents_.at(key);
  const auto at = number_.find(key);
  return at == number_.end() ? -1 : at->second;
}

const RowsProduct* RowsLoops::product(const Statement& s, int32_t node) const {
  const auto at = products_.find({s.result, node});
  return at == products_.end() ? nullptr : &at->second;
}

int64_t RowsLoops::extent_of(const Statement& s, IndexId index) const {
  return require_extent(program_, s, index);
}

RowsLoops::Key RowsLoops::root(Key key) {
  while (parents_.at(key) != key) key = parents_.at(key);
  return key;
}

void RowsLoops::join(const Key& a, const Key& b) {
  const auto [first, second] = std::minmax({root(a), root(b)});
  if (first == second) return;
  parents_[second] = first;
  readers_[first].merge(readers_[second]);
}

}  // namespace fuseflow::cluster
