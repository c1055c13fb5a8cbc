#include "cluster/kernels/form.h"

#include <algorithm>
#include <set>

namespace fuseflow::cluster {
namespace {

class Builder : private TermReader {
 public:
  Builder(const Program& program, const std::map<TensorId, const Statement*>& folded,
          const std::set<TensorId>& as_dense)
      : TermReader(program), folded_(folded) {
    as_dense_ = as_dense;
  }

  KernelForm build(const Statement& s) {
    form_.result = s.result;
    const int32_t root = term(s, bind_result(s, form_.stored));
    static_cast<KernelTerms&>(form_) = std::move(made_);
    if (form_.terms[static_cast<size_t>(root)].kind == KernelTerm::Kind::constant) {
      refuse_kernel("it computes a constant, which no tile is loaded for");
    }
    if (root + 1 != static_cast<int32_t>(form_.terms.size())) refuse_kernel("it is computed twice");
    reduced_ >= 0 ? settle_reduction() : settle_elementwise();
    check_extents(form_.digits);
    return std::move(form_);
  }

 private:
  const Statement* inside(const KernelTerm& read) override {
    const auto at = folded_.find(read.tensor);
    return at == folded_.end() ? nullptr : at->second;
  }

  int32_t reduction(const Statement& s, const Expr& node, Binding binding) override {
    if (reduced_ >= 0 || in_reduction_) {
      refuse_kernel("it has two reductions, and a kernel has one");
    }
    in_reduction_ = true;
    for (const IndexId index : node.over) binding[index] = new_digit(s, index, true);
    KernelTerm made;
    made.kind = KernelTerm::Kind::reduce;
    made.reduction = node.reduction;
    made.children = {term(s, node.children[0], binding)};
    in_reduction_ = false;
    return reduced_ = add(std::move(made));
  }

  // --- dimensions --------------------------------------------------------------------------

  void settle_reduction() {
    const KernelTerm& reduce = form_.terms[static_cast<size_t>(reduced_)];
    const KernelTerm& body = form_.terms[static_cast<size_t>(reduce.children[0])];
    if (body.kind == KernelTerm::Kind::constant) refuse_kernel("it sums a constant");
    if (reduce.reduction == Reduction::sum && settle_product(body)) return;
    for (KernelDigit& digit : form_.digits) digit.dim = digit.summed ? kKernelK : kKernelM;
    check_before_and_after();
    settle_batch(true);
  }

  /// a * b with every summed loop in both, every loop of the result in one of them at least.
  bool settle_product(const KernelTerm& body) {
    if (body.kind != KernelTerm::Kind::map || body.op != Op::mul) return false;
    const KernelTerm& a = form_.terms[static_cast<size_t>(body.children[0])];
    const KernelTerm& b = form_.terms[static_cast<size_t>(body.children[1])];
    if (a.kind != KernelTerm::Kind::load || b.kind != KernelTerm::Kind::load) return false;
    const std::set<int> left = digits_of(a), right = digits_of(b);
    std::vector<KernelDim> dims;
    for (int d = 0; d < static_cast<int>(form_.digits.size()); ++d) {
      const bool in_a = left.count(d) > 0, in_b = right.count(d) > 0;
      const bool summed = form_.digits[static_cast<size_t>(d)].summed;
      if ((summed && !(in_a && in_b)) || (!in_a && !in_b)) return false;
      dims.push_back(summed ? kKernelK : in_a && in_b ? kKernelG : in_a ? kKernelM : kKernelN);
    }
    if (!std::count(dims.begin(), dims.end(), kKernelM) &&
        !std::count(dims.begin(), dims.end(), kKernelN)) {
      return false;
    }
    for (size_t d = 0; d < dims.size(); ++d) form_.digits[d].dim = dims[d];
    form_.product = true;
    return true;
  }

  /// What is in tiles of other dimensions outside of the reduction than in it cannot be shared:
  /// maps, and a load that is all of the body and lacks a loop of the sum (sum(p) x[i] - x[i]).
  void check_before_and_after() const {
    std::set<int32_t> before;
    const int32_t body = form_.terms[static_cast<size_t>(reduced_)].children[0];
    std::vector<int32_t> open{body};
    while (!open.empty()) {
      const int32_t at = open.back();
      open.pop_back();
      before.insert(at);
      const KernelTerm& term = form_.terms[static_cast<size_t>(at)];
      open.insert(open.end(), term.children.begin(), term.children.end());
    }
    for (size_t t = 0; t < form_.terms.size(); ++t) {
      const auto at = static_cast<int32_t>(t);
      if (at == reduced_ || before.count(at)) continue;
      for (const int32_t child : form_.terms[t].children) {
        const KernelTerm& term = form_.terms[static_cast<size_t>(child)];
        if (before.count(child) && (term.kind == KernelTerm::Kind::map || child == body)) {
          refuse_kernel("a part of it is used inside and outside of its reduction");
        }
      }
    }
  }

  void settle_elementwise() {
    for (KernelDigit& digit : form_.digits) digit.dim = kKernelN;
    settle_batch(false);
  }

  /// Cuts the loops of the result into batch, rows and columns so that loads take the fewest
  /// elements; of equal ways the one with the smallest batch, then the fewest rows.
  void settle_batch(bool rows_only) {
    std::vector<size_t> own;
    for (size_t d = 0; d < form_.digits.size(); ++d) {
      if (!form_.digits[d].summed) own.push_back(d);
    }
    double least = -1;
    size_t batch = 0, rows = 0;
    for (size_t g = 0; g <= own.size(); ++g) {
      for (size_t m = rows_only ? own.size() : g; m <= own.size(); ++m) {
        cut(own, g, m);
        const double cost = loaded_elements();
        if (least >= 0 && cost >= least) continue;
        least = cost;
        batch = g;
        rows = m;
      }
    }
    cut(own, batch, rows);
  }

  void cut(const std::vector<size_t>& own, size_t batch, size_t rows) {
    for (size_t i = 0; i < own.size(); ++i) {
      form_.digits[own[i]].dim = i < batch ? kKernelG : i < rows ? kKernelM : kKernelN;
    }
  }

  /// Elements of all loads, by the dimensions along which they differ.
  double loaded_elements() const {
    const KernelSizes sizes = sizes_of(form_);
    double all = 0;
    for (const KernelTerm& term : form_.terms) {
      if (term.kind != KernelTerm::Kind::load) continue;
      std::array<bool, kKernelDims> varies{};
      for (const int digit : digits_of(term)) {
        varies[form_.digits[static_cast<size_t>(digit)].dim] = true;
      }
      double elements = 1;
      for (size_t d = 0; d < varies.size(); ++d) {
        elements *= varies[d] ? static_cast<double>(sizes[d]) : 1;
      }
      all += elements;
    }
    return all;
  }

  const std::map<TensorId, const Statement*>& folded_;
  KernelForm form_;
  int32_t reduced_ = -1;
  bool in_reduction_ = false;
};

}  // namespace

int32_t product_of(const KernelForm& form) {
  const auto sum = std::find_if(form.terms.begin(), form.terms.end(), [](const KernelTerm& term) {
    return term.kind == KernelTerm::Kind::reduce;
  });
  return sum->children[0];
}

const KernelTerm& operand_of(const KernelForm& form, size_t number) {
  const KernelTerm& product = form.terms[static_cast<size_t>(product_of(form))];
  return form.terms[static_cast<size_t>(product.children[number])];
}

const KernelTerm& weights_of_second(const KernelForm& form) {
  const KernelTerm& reduce = form.terms[static_cast<size_t>(form.second_product)];
  const KernelTerm& product = form.terms[static_cast<size_t>(reduce.children[0])];
  return form.terms[static_cast<size_t>(product.children[1])];
}

bool sums_follow(const KernelForm& form) {
  std::vector<bool> of_product(form.terms.size(), false);
  for (size_t t = 0; t < form.terms.size(); ++t) {
    const KernelTerm& term = form.terms[t];
    if (term.kind == KernelTerm::Kind::reduce) of_product[t] = true;
    if (term.kind != KernelTerm::Kind::map) continue;
    const auto taken = std::count_if(term.children.begin(), term.children.end(),
                                     [&](int32_t c) { return of_product[static_cast<size_t>(c)]; });
    if (taken > 1 || (taken == 1 && term.op != Op::add)) return false;
    of_product[t] = taken == 1;
  }
  return true;
}

std::optional<KernelForm> kernel_form(const Program& program, const Statement& statement,
                                      const std::map<TensorId, const Statement*>& folded,
                                      std::string& why, const std::set<TensorId>& as_dense) {
  return form_or_why(why, [&] { return Builder(program, folded, as_dense).build(statement); });
}

}  // namespace fuseflow::cluster
