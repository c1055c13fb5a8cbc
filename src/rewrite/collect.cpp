// Terms with a common factor as one product: `a * x + a * z` as `a * (x + z)`.
#include <algorithm>

#include "rewrite/common_factors.h"
#include "rewrite/emit.h"

namespace fuseflow {

namespace {

/// Most addends that are looked at; those after them are left alone.
constexpr size_t kMostAddends = 16;

Term number(float value) {
  Term term;
  term.expr.constant = value;
  return term;
}

/// What is left of an addition when some of its addends become one product.
class CollectedAddition {
 public:
  /// The addends point into the addition.
  CollectedAddition(const AdditionPart& addition, const std::vector<Addend>& addends,
                    const CommonFactors& sharers)
      : addition_(addition), addends_(addends), sharers_(sharers) {
    for (const SharingAddend& sharer : sharers) {
      const Addend& addend = addends[sharer.addend];
      members_.insert(addend.part);
      for (const size_t f : sharer.factors) common_.insert(addend.factors[f].part);
    }
    for (const AddendFactor& f : first().factors) {
      if (common_.contains(f.part)) own_.insert(f.factor.free.begin(), f.factor.free.end());
    }
    std::erase_if(own_, [&](IndexId index) { return !first().summed.contains(index); });
  }

  /// Indices of common factors that are summed, those of the first member.
  const std::set<IndexId>& summed() const { return own_; }

  /// Whether all members are within one intermediate, whose own statement is the place for this.
  bool is_elsewhere(const AdditionPart& part) const {
    const bool around = part.kind == AdditionPart::Kind::taken_in &&
                        members_in(part) == members_.size() && !members_.contains(&part);
    return around || std::any_of(part.parts.begin(), part.parts.end(),
                                 [&](const AdditionPart& child) { return is_elsewhere(child); });
  }
  bool is_elsewhere() const { return is_elsewhere(addition_); }

  /// The sum of what the common factors multiply; nothing where that is 1 in every member.
  std::optional<Term> rest(const Scope& scope, std::vector<TensorId>& removed) const {
    std::optional<Term> sum;
    bool any = false;
    for (const SharingAddend& sharer : sharers_) {
      const Addend& addend = addends_[sharer.addend];
      std::set<IndexId> outside = own_;
      for (const auto& [from, to] : sharer.renamed) outside.insert(from);
      const std::optional<Term> left = without(*addend.part, outside, removed);
      any = any || left;
      std::vector<IndexId> places;
      for (size_t i = 0; i < scope.indices.size(); ++i) places.push_back(static_cast<IndexId>(i));
      for (const auto& [from, to] : sharer.renamed) places[static_cast<size_t>(from)] = to;
      Term term = renamed(left.value_or(number(1)), places);
      const Op op = addend.negative == first().negative ? Op::add : Op::sub;
      sum = sum ? apply_term(op, {*sum, std::move(term)}) : std::move(term);
    }
    return any ? sum : std::nullopt;
  }

  /// Where the others of the first member are, among its common factors: the first with an index.
  size_t place_of_rest() const {
    size_t place = 0;
    for (const bool any : {false, true}) {
      place = 0;
      for (const AddendFactor& f : first().factors) {
        const bool common = common_.contains(f.part);
        if (!common && (any || !f.factor.free.empty())) return place;
        if (common) ++place;
      }
    }
    return place;
  }

  /// The common factors of the first member and, where its others were, `rest`.
  Product product(const Term& rest) const {
    Product product;
    for (const AddendFactor& f : first().factors) {
      if (common_.contains(f.part)) product.factors.push_back(f.factor);
    }
    product.factors.insert(product.factors.begin() + static_cast<std::ptrdiff_t>(place_of_rest()),
                           {rest, false, free_indices(rest)});
    const FactorSet all = (FactorSet{1} << product.factors.size()) - 1;
    if (!own_.empty()) product.given.push_back({all, own_});
    return product;
  }

  /// The addition with the product instead of its first member, and without the others.
  Term with(const Term& product, std::vector<TensorId>& removed) const {
    std::vector<Signed> terms;
    add_terms(addition_, false, product, terms, removed);
    Term sum = terms[0].negative ? apply_term(Op::neg, {terms[0].term}) : terms[0].term;
    for (size_t t = 1; t < terms.size(); ++t) {
      sum = apply_term(terms[t].negative ? Op::sub : Op::add, {sum, terms[t].term});
    }
    return sum;
  }

  /// All factors of the members.
  std::vector<Factor> factors() const {
    std::vector<Factor> all;
    for (const SharingAddend& sharer : sharers_) {
      for (const AddendFactor& f : addends_[sharer.addend].factors) all.push_back(f.factor);
    }
    return all;
  }

 private:
  const Addend& first() const { return addends_[sharers_[0].addend]; }

  size_t members_in(const AdditionPart& part) const {
    size_t found = members_.contains(&part) ? 1 : 0;
    for (const AdditionPart& child : part.parts) found += members_in(child);
    return found;
  }

  bool has_common(const AdditionPart& part) const {
    return common_.contains(&part) ||
           std::any_of(part.parts.begin(), part.parts.end(),
                       [&](const AdditionPart& p) { return has_common(p); });
  }

  /// The part without its common factors, and not summed over `outside`; nothing: it is 1.
  /// Intermediates without any stay as they were given.
  std::optional<Term> without(const AdditionPart& part, const std::set<IndexId>& outside,
                              std::vector<TensorId>& removed) const {
    if (common_.contains(&part)) return std::nullopt;
    if (!has_common(part)) return part.given;
    if (part.kind == AdditionPart::Kind::taken_in) removed.push_back(part.given.expr.tensor);
    const std::optional<Term> left = without(part.parts[0], outside, removed);
    if (part.kind == AdditionPart::Kind::taken_in) return left;
    if (part.kind == AdditionPart::Kind::sum) {
      std::vector<IndexId> over = part.given.expr.over;
      std::erase_if(over, [&](IndexId index) { return outside.contains(index); });
      return left && !over.empty() ? sum_term(over, *left) : left;
    }
    const std::optional<Term> right = without(part.parts[1], outside, removed);
    const Op op = part.given.expr.op;
    if (!right) return left;
    if (!left && op == Op::mul) return right;
    return apply_term(op, {left.value_or(number(1)), *right});
  }

  struct Signed {
    Term term;
    bool negative = false;
  };

  /// Appends what is added instead of the part. What has no member in it stays as it was given.
  void add_terms(const AdditionPart& part, bool negative, const Term& product,
                 std::vector<Signed>& terms, std::vector<TensorId>& removed) const {
    if (&part == first().part) return terms.push_back({product, negative});
    if (members_.contains(&part)) return;
    if (members_in(part) == 0) return terms.push_back({part.given, negative});
    if (part.kind == AdditionPart::Kind::taken_in) removed.push_back(part.given.expr.tensor);
    for (size_t p = 0; p < part.parts.size(); ++p) {
      add_terms(part.parts[p], negative != is_subtracted(part, p), product, terms, removed);
    }
  }

  const AdditionPart& addition_;
  const std::vector<Addend>& addends_;
  const CommonFactors& sharers_;
  std::set<const AdditionPart*> members_, common_;
  std::set<IndexId> own_;
};

/// Finds the largest additions in an expression and collects what their addends share.
class CollectFinder {
 public:
  CollectFinder(const Site& site, const Statement& statement, std::vector<Rewrite>& found)
      : site_(site), statement_(statement), found_(found) {
    const std::vector<IndexId> places = add_indices(site.program, statement, scope_);
    root_ = term_at(statement, static_cast<int32_t>(statement.nodes.size()) - 1, places);
    loops_ = statement.result_indices.size();
  }

  void run() { visit(root_, false); }

 private:
  void visit(Term& at, bool added) {
    if (!added && is_addition(at)) collect_in(at);
    const size_t over = at.expr.over.size();
    loops_ += over;
    reduced_ += over;
    for (Term& child : at.children) visit(child, is_addition(at));
    loops_ -= over;
    reduced_ -= over;
  }

  void collect_in(Term& at) {
    Scope scope = scope_;
    const AdditionPart addition =
        taken_apart(site_.program, site_.definitions, statement_.result, at, scope);
    std::vector<Addend> addends = addends_of(addition);
    if (addends.size() > kMostAddends) addends.resize(kMostAddends);
    for (const CommonFactors& sharers : common_factors(scope, addends)) {
      const CollectedAddition collection(addition, addends, sharers);
      if (!collection.is_elsewhere()) add_rewrites(at, scope, collection);
    }
  }

  /// Whether there are few factors with indices, and one of them is not what is divided by.
  static bool has_trees(const Product& product) {
    size_t with_indices = 0;
    bool multiplies = false;
    for (const Factor& f : product.factors) {
      if (f.free.empty()) continue;
      ++with_indices;
      multiplies = multiplies || !f.inverse;
    }
    return multiplies && with_indices <= kMostFactors;
  }

  /// One for each way to sum the product of the common factors and the rest.
  void add_rewrites(Term& at, const Scope& scope, const CollectedAddition& collection) {
    std::vector<TensorId> removed;
    const std::optional<Term> rest = collection.rest(scope, removed);
    if (!rest) return;
    Product product = collection.product(*rest);
    if (!has_trees(product)) return;
    const std::string refused = why_not(scope, collection.factors(), KnownTensors(site_));
    for (const Tree& tree : all_trees(product)) {
      KnownTensors known(site_);
      Rewrite rewrite;
      rewrite.kind = RewriteKind::collect;
      rewrite.reorders = true;
      rewrite.refused = refused;
      rewrite.before = statement_.result;
      rewrite.removed = removed;
      const std::optional<Term> stored =
          is_stored(*rest, collection.summed()) ? store(scope, *rest, known, rewrite) : rest;
      if (!stored) return;
      product.factors[collection.place_of_rest()].term = *stored;
      const std::optional<Term> term =
          ProductEmitter(statement_, scope, product, known, rewrite).run(tree, reduced_ > 0);
      if (!term) continue;
      const Term given = at;
      at = collection.with(*term, rewrite.removed);
      replace_value(site_, statement_, scope, root_, true, known, rewrite);
      at = given;
      found_.push_back(std::move(rewrite));
    }
  }

  /// Below a sum, what does not depend on all loops is computed once, in a statement of its own.
  bool is_stored(const Term& rest, const std::set<IndexId>& summed) const {
    if (!computes(rest) || reduced_ + summed.size() == 0) return false;
    const size_t free = free_indices(rest).size();
    return free > 0 && free < loops_ + summed.size();
  }

  std::optional<Term> store(const Scope& scope, const Term& rest, KnownTensors& known,
                            Rewrite& rewrite) const {
    Facts needed;
    needed.finite = true;
    return add_intermediate(scope, free_indices(rest), rest, statement_, needed, known, rewrite);
  }

  const Site& site_;
  const Statement& statement_;
  std::vector<Rewrite>& found_;
  Scope scope_;
  Term root_;
  size_t loops_ = 0;    ///< around what is visited
  size_t reduced_ = 0;  ///< those of reductions
};

}  // namespace

void find_collections(const Site& site, const Statement& statement, std::vector<Rewrite>& found) {
  CollectFinder(site, statement, found).run();
}

}  // namespace fuseflow
