#include "rewrite/product.h"

#include <algorithm>
#include <bit>

#include "rewrite/stored_types.h"

namespace fuseflow {

namespace {

class Flattener {
 public:
  Flattener(const Program& program, const Definitions& definitions, TensorId reader, Scope& scope,
            const std::vector<TensorId>& left_out)
      : program_(program), definitions_(definitions), reader_(reader), scope_(scope) {
    product_.left_out = left_out;
  }

  std::optional<Product> run(const Term& term) {
    add(term);
    product_.too_many = too_many();
    if (product_.given.empty()) return std::nullopt;
    if (product_.too_many) return std::move(product_);
    for (const FactorSet sum : own_sums_) {
      const int all = static_cast<int>(product_.factors.size());
      product_.has_inner_sum = product_.has_inner_sum || std::popcount(sum) < all;
    }
    for (const SumStep& step : product_.given) {
      for (const IndexId index : step.over) {
        if (!is_used(index)) return std::nullopt;
      }
    }
    return std::move(product_);
  }

  /// Where a product has too many factors, the intermediate that is best not taken in: what holds
  /// no sum first, since taking it in only divides a factor, then those furthest from the
  /// statement. None where the factors are all of the statement itself.
  TensorId worst() const {
    for (const bool sums : {false, true}) {
      for (const InlinedIntermediate& one : inlined_) {
        if (one.sums == sums && one.divides) return one.tensor;
      }
    }
    return -1;
  }

 private:
  /// An intermediate whose statement is part of the product; those inside of it come before it.
  struct InlinedIntermediate {
    TensorId tensor = -1;
    bool sums = false;
    bool divides = false;  ///< into more than one factor that counts
  };

  /// Adds what the term is made of; gives its factors.
  FactorSet add(const Term& term) {
    const Expr& e = term.expr;
    if (e.kind == Expr::Kind::apply && e.op == Op::mul) {
      const FactorSet left = add(term.children[0]);
      return left | add(term.children[1]);
    }
    if (e.kind == Expr::Kind::apply && e.op == Op::div) {
      const FactorSet left = add(term.children[0]);
      return left | add_factor(term.children[1], true);
    }
    if (e.kind == Expr::Kind::reduce && e.reduction == Reduction::sum) {
      const FactorSet body = add(term.children[0]);
      add_step({body, {e.over.begin(), e.over.end()}});
      if (inside_ == 0) own_sums_.push_back(body);
      return body;
    }
    if (const FactorSet inlined = add_definition(term)) return inlined;
    return add_factor(term, false);
  }

  /// Sums of the same factors one around the other are one.
  void add_step(SumStep step) {
    for (SumStep& known : product_.given) {
      if (known.factors == step.factors) return known.over.merge(step.over);
    }
    product_.given.push_back(std::move(step));
  }

  FactorSet add_factor(const Term& term, bool inverse) {
    const size_t place = product_.factors.size();
    product_.factors.push_back({term, inverse, free_indices(term)});
    return place < kMostBits ? FactorSet{1} << place : 0;
  }

  /// How many of the factors from `first` on have indices. Numbers go outside of all sums: they add
  /// no order.
  size_t with_indices(size_t first) const {
    const auto& all = product_.factors;
    return static_cast<size_t>(std::count_if(all.begin() + static_cast<std::ptrdiff_t>(first),
                                             all.end(),
                                             [](const Factor& f) { return !f.free.empty(); }));
  }

  bool too_many() const {
    return with_indices(0) > kMostFactors || product_.factors.size() > kMostBits;
  }

  /// Takes in the statement of an intermediate; 0: the term stays a factor.
  FactorSet add_definition(const Term& term) {
    if (term.expr.kind != Expr::Kind::access) return 0;
    const std::vector<TensorId>& left = product_.left_out;
    if (std::find(left.begin(), left.end(), term.expr.tensor) != left.end()) return 0;
    const Statement* definition = definitions_.inlinable(term.expr.tensor, reader_);
    if (definition == nullptr) return 0;
    const Expr& root = definition->root();
    const bool is_sum = root.kind == Expr::Kind::reduce && root.reduction == Reduction::sum;
    const bool is_product =
        root.kind == Expr::Kind::apply && (root.op == Op::mul || root.op == Op::div);
    if (!is_sum && !is_product) return 0;
    if (inside_ == kDeepest) {
      product_.left_out.push_back(term.expr.tensor);
      return 0;
    }
    const std::optional<Term> body = substituted(program_, term, *definition, scope_);
    if (!body) return 0;
    const size_t factors_before = product_.factors.size();
    const size_t sums_before = product_.given.size();
    product_.inlined.push_back(term.expr.tensor);
    ++inside_;
    const FactorSet factors = add(*body);
    --inside_;
    const size_t more = product_.factors.size() > kMostBits
                            ? product_.factors.size() - factors_before
                            : with_indices(factors_before);
    inlined_.push_back({term.expr.tensor, is_sum || product_.given.size() > sums_before, more > 1});
    return factors;
  }

  bool is_used(IndexId index) const {
    return std::any_of(product_.factors.begin(), product_.factors.end(), [&](const Factor& f) {
      return std::find(f.free.begin(), f.free.end(), index) != f.free.end();
    });
  }

  static constexpr size_t kMostBits = 31;  ///< of a FactorSet
  /// Statements of intermediates in each other: of a longer chain, all but some would be left out,
  /// one after another, since most add a factor.
  static constexpr int kDeepest = 16;

  const Program& program_;
  const Definitions& definitions_;
  const TensorId reader_;
  Scope& scope_;
  Product product_;
  int inside_ = 0;                   ///< statements of intermediates around
  std::vector<FactorSet> own_sums_;  ///< of the statement itself
  std::vector<InlinedIntermediate> inlined_;
};

/// All binary trees over the factors, by merging pairs until one is left.
class TreeSearch {
 public:
  explicit TreeSearch(const Product& product) : p_(product) {
    for (const SumStep& step : p_.given) summed_.insert(step.over.begin(), step.over.end());
  }

  /// Without those that sum as `known` does.
  std::vector<Tree> run(std::set<std::set<SumStep>> known) {
    known_ = std::move(known);
    std::vector<Tree> leaves;
    for (size_t f = 0; f < p_.factors.size(); ++f) {
      if (!p_.factors[f].free.empty()) leaves.push_back(summed({FactorSet{1} << f, {}, {}}));
    }
    if (!leaves.empty()) merge(leaves);
    return std::move(found_);
  }

 private:
  bool has(FactorSet factors, IndexId index) const {
    for (size_t f = 0; f < p_.factors.size(); ++f) {
      const std::vector<IndexId>& free = p_.factors[f].free;
      if ((factors >> f & 1U) == 0) continue;
      if (std::find(free.begin(), free.end(), index) != free.end()) return true;
    }
    return false;
  }

  bool is_inverse(const Tree& tree) const {
    return tree.children.empty() &&
           p_.factors[static_cast<size_t>(std::countr_zero(tree.factors))].inverse;
  }

  bool was_summed(const Tree& tree, IndexId index) const {
    return std::any_of(tree.children.begin(), tree.children.end(), [&](const Tree& child) {
      return child.over.contains(index) || was_summed(child, index);
    });
  }

  /// Sums whatever no factor outside has; not over what is divided by.
  Tree summed(Tree tree) const {
    if (is_inverse(tree)) return tree;
    FactorSet all = 0;
    for (size_t f = 0; f < p_.factors.size(); ++f) all |= FactorSet{1} << f;
    for (const IndexId index : summed_) {
      if (!has(tree.factors, index) || has(all & ~tree.factors, index)) continue;
      if (!was_summed(tree, index)) tree.over.insert(index);
    }
    return tree;
  }

  /// An index that both still have.
  bool share(const Tree& a, const Tree& b) const {
    for (const Factor& factor : p_.factors) {
      for (const IndexId index : factor.free) {
        if (has(a.factors, index) && has(b.factors, index)) return true;
      }
    }
    return false;
  }

  void merge(const std::vector<Tree>& parts) {
    if (parts.size() == 1) return add(parts[0]);
    bool any_shares = false;
    for (size_t a = 0; a < parts.size(); ++a) {
      for (size_t b = a + 1; b < parts.size(); ++b) any_shares |= share(parts[a], parts[b]);
    }
    for (size_t a = 0; a < parts.size(); ++a) {
      for (size_t b = a + 1; b < parts.size(); ++b) {
        if (is_inverse(parts[a]) && is_inverse(parts[b])) continue;
        if (any_shares && !share(parts[a], parts[b])) continue;
        std::vector<Tree> rest = parts;
        rest[a] = summed({parts[a].factors | parts[b].factors, {}, {parts[a], parts[b]}});
        rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(b));
        merge(rest);
      }
    }
  }

  static void collect(const Tree& tree, std::set<SumStep>& steps) {
    for (const Tree& child : tree.children) collect(child, steps);
    if (!tree.over.empty()) steps.insert({tree.factors, tree.over});
  }

  void add(const Tree& tree) {
    std::set<SumStep> steps;
    collect(tree, steps);
    size_t over = 0;
    for (const SumStep& step : steps) over += step.over.size();
    if (over != summed_.size()) return;  // an index of nothing but what is divided by
    if (known_.insert(std::move(steps)).second) found_.push_back(tree);
  }

  const Product& p_;
  std::set<IndexId> summed_;
  std::set<std::set<SumStep>> known_;
  std::vector<Tree> found_;
};

}  // namespace

std::vector<IndexId> Product::order() const {
  std::vector<IndexId> indices;
  for (const Factor& factor : factors) {
    for (const IndexId index : factor.free) {
      if (std::find(indices.begin(), indices.end(), index) == indices.end())
        indices.push_back(index);
    }
  }
  return indices;
}

Definitions::Definitions(const Program& program)
    : definition_(program.tensors.size()),
      uses_(program.tensors.size(), 0),
      region_(program.tensors.size(), -1) {
  for (const Tensor& tensor : program.tensors) narrow_.push_back(!holds_f32(tensor.type));
  for (size_t r = 0; r < program.regions.size(); ++r) {
    const Region& region = program.regions[r];
    for (const Statement& s : region.statements) {
      region_[static_cast<size_t>(s.result)] = static_cast<int>(r);
      const Tensor& tensor = program.tensors[static_cast<size_t>(s.result)];
      if (!region.graph && tensor.role == Role::temporary && only_rounds(tensor.type)) {
        definition_[static_cast<size_t>(s.result)] = &s;
      }
      for (const Expr& e : s.nodes) {
        if (e.kind == Expr::Kind::access) ++uses_[static_cast<size_t>(e.tensor)];
      }
    }
  }
}

const Statement* Definitions::inlinable(TensorId tensor, TensorId reader) const {
  const Statement* const definition = definition_[static_cast<size_t>(tensor)];
  if (definition == nullptr || uses(tensor) != 1) return nullptr;
  const bool same =
      std::all_of(definition->nodes.begin(), definition->nodes.end(), [&](const Expr& e) {
        return e.kind != Expr::Kind::access ||
               reads_stream(e.tensor, tensor) == reads_stream(e.tensor, reader);
      });
  return same ? definition : nullptr;
}

bool Definitions::reads_stream(TensorId tensor, TensorId reader) const {
  const auto t = static_cast<size_t>(tensor);
  return narrow_[t] && region_[t] >= 0 && region_[t] == region_[static_cast<size_t>(reader)];
}

std::optional<Term> substituted(const Program& program, const Term& access,
                                const Statement& definition, Scope& scope) {
  const Tensor& tensor = program.tensors[static_cast<size_t>(access.expr.tensor)];
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    const Subscript& s = access.expr.subscripts[d];
    if (!s.is_plain()) return std::nullopt;
    const Index& index = scope.indices[static_cast<size_t>(s.plain())];
    if (index.extent < 0 || index.extent != tensor.shape[d].value) return std::nullopt;
  }
  std::vector<IndexId> places = add_indices(program, definition, scope);
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    places[static_cast<size_t>(definition.result_indices[d])] = access.expr.subscripts[d].plain();
  }
  return term_at(definition, static_cast<int32_t>(definition.nodes.size()) - 1, places);
}

std::optional<Product> flatten(const Program& program, const Definitions& definitions,
                               TensorId reader, const Term& term, Scope& scope) {
  constexpr size_t kMostLeftOut = 32;  // each is a run of its own
  const Scope given = scope;
  std::vector<TensorId> left_out;
  for (;;) {
    scope = given;
    Flattener flattener(program, definitions, reader, scope, left_out);
    std::optional<Product> product = flattener.run(term);
    if (!product || !product->too_many) return product;
    const TensorId next = left_out.size() < kMostLeftOut ? flattener.worst() : -1;
    if (next < 0) return product;
    left_out.push_back(next);
  }
}

std::vector<Tree> all_trees(const Product& product) {
  return TreeSearch(product).run({});
}

std::vector<Tree> other_trees(const Product& product) {
  return TreeSearch(product).run({{product.given.begin(), product.given.end()}});
}

}  // namespace fuseflow
