#include "cluster/kernels/second_product_form.h"

#include <algorithm>
#include <utility>

namespace fuseflow::cluster {
namespace {

using Digits = std::set<int>;

bool within(const Digits& part, const Digits& whole) {
  return std::includes(whole.begin(), whole.end(), part.begin(), part.end());
}

Digits both(const Digits& a, const Digits& b) {
  Digits all = a;
  all.insert(b.begin(), b.end());
  return all;
}

class SecondProductBuilder : private TermReader {
 public:
  SecondProductBuilder(const StatementTable& statements, const std::set<TensorId>& members)
      : TermReader(statements.program()), statements_(statements), members_(members) {}

  KernelForm build(const Statement& root) {
    form_.result = root.result;
    const int32_t last = term(root, bind_result(root, form_.stored));
    static_cast<KernelTerms&>(form_) = std::move(made_);
    if (first_ < 0 || form_.second_product < 0) refuse_kernel("");
    if (last + 1 != static_cast<int32_t>(form_.terms.size())) refuse_kernel("it is computed twice");
    form_.product = form_.one_tile_l = true;
    settle_second();
    settle_first();
    check_between_and_after();
    set_dim(m_, kKernelM);
    set_dim(n_, kKernelN);
    set_dim(k_, kKernelK);
    set_dim(l_, kKernelL);
    check_extents(form_.digits);
    return std::move(form_);
  }

 private:
  const Statement* inside(const KernelTerm& read) override {
    return members_.count(read.tensor) > 0 ? statements_.of(read.tensor) : nullptr;
  }

  /// The outer one is the second product, the one in it the first, which may be read again.
  int32_t reduction(const Statement& s, const Expr& node, Binding binding) override {
    if (depth_ == 1 && first_ >= 0 && s.result == first_read_.tensor &&
        binding == first_read_.binding) {
      return first_;
    }
    if (depth_ == 1) first_read_ = {s.result, binding};
    if (depth_ == 2 || (depth_ == 0 && form_.second_product >= 0) || (depth_ == 1 && first_ >= 0)) {
      refuse_kernel("it has other reductions than two products, or reads one of them twice");
    }
    if (node.reduction != Reduction::sum) refuse_kernel("a reduction of it is no sum");
    ++depth_;
    for (const IndexId index : node.over) {
      binding[index] = new_digit(s, index, true);
      for (const auto& [digit, factor] : binding[index].terms)
        (depth_ == 1 ? n_ : k_).insert(digit);
    }
    KernelTerm made;
    made.kind = KernelTerm::Kind::reduce;
    made.reduction = node.reduction;
    made.children = {term(s, node.children[0], binding)};
    --depth_;
    return (depth_ == 0 ? form_.second_product : first_) = add(std::move(made));
  }

  KernelTerm& part(int32_t t) { return form_.terms[static_cast<size_t>(t)]; }
  bool is_load(int32_t t) { return part(t).kind == KernelTerm::Kind::load; }
  bool has_subscripts(int32_t t) { return !part(t).subscripts.empty(); }

  /// The factors of a sum.
  std::vector<int32_t>& factors(int32_t sum) {
    KernelTerm& body = part(part(sum).children[0]);
    if (body.kind != KernelTerm::Kind::map || body.op != Op::mul) {
      refuse_kernel("one of its sums is no product of two");
    }
    return body.children;
  }

  /// The loops of all that a term loads, and of coordinates.
  Digits read_by(int32_t t) {
    Digits all = digits_of(part(t));
    for (const int32_t child : part(t).children) all = both(all, read_by(child));
    return all;
  }

  void set_dim(const Digits& digits, KernelDim dim) {
    for (const int d : digits) form_.digits[static_cast<size_t>(d)].dim = dim;
  }

  /// H W: the loops of W are n, all of which are summed, and l. H is put first.
  void settle_second() {
    std::vector<int32_t>& sides = factors(form_.second_product);
    if (is_load(sides[0])) std::swap(sides[0], sides[1]);
    if (is_load(sides[0]) || !is_load(sides[1])) {
      refuse_kernel("its second product is not of the first and a tensor");
    }
    const Digits of_w = digits_of(part(sides[1]));
    if (!within(n_, of_w)) refuse_kernel("its second product sums a loop that its tensor lacks");
    for (int d = 0; d < static_cast<int>(form_.digits.size()); ++d) {
      if (!form_.digits[static_cast<size_t>(d)].summed) (of_w.count(d) > 0 ? l_ : m_).insert(d);
    }
    if (m_.size() != 1) refuse_kernel("its rows are not one loop");
    if (!within(read_by(sides[0]), both(both(m_, n_), k_))) {
      refuse_kernel("what its second product takes has other loops than the first product's");
    }
  }

  /// A X: of A the loops are m and k, of X k and n. A is put first.
  void settle_first() {
    std::vector<int32_t>& sides = factors(first_);
    if (!is_load(sides[0]) || !is_load(sides[1])) {
      refuse_kernel("its first product is not of two tensors");
    }
    if (!within(m_, digits_of(part(sides[0])))) std::swap(sides[0], sides[1]);
    if (digits_of(part(sides[0])) != both(m_, k_) || digits_of(part(sides[1])) != both(k_, n_)) {
      refuse_kernel("its first product has no form (m, k) x (k, n)");
    }
  }

  /// What stands between the products is over (m, n), after the second over (m, l).
  void check_between_and_after() {
    for (int32_t t = 0; t < static_cast<int32_t>(form_.terms.size()); ++t) {
      if (!has_subscripts(t) || is_factor(t)) continue;
      const Digits digits = digits_of(part(t));
      if (!within(digits, both(m_, n_)) && !within(digits, both(m_, l_))) {
        refuse_kernel("a tensor or coordinate beside its products has loops of both");
      }
    }
  }

  bool is_factor(int32_t t) {
    for (const int32_t sum : {first_, form_.second_product}) {
      const std::vector<int32_t>& of = factors(sum);
      if (std::find(of.begin(), of.end(), t) != of.end()) return true;
    }
    return false;
  }

  const StatementTable& statements_;
  const std::set<TensorId>& members_;
  KernelForm form_;
  int32_t first_ = -1;  ///< the term of the first product's sum
  /// The tensor that the first product gives, and where it is read.
  struct Read {
    TensorId tensor = -1;
    Binding binding;
  } first_read_;
  int depth_ = 0;         ///< of sums, while expressions are read
  Digits m_, n_, k_, l_;  ///< loops by dimension
};

}  // namespace

std::optional<KernelForm> second_product_form(const StatementTable& statements,
                                              const Statement& root,
                                              const std::set<TensorId>& members, std::string& why) {
  return form_or_why(why, [&] { return SecondProductBuilder(statements, members).build(root); });
}

}  // namespace fuseflow::cluster
