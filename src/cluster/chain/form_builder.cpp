#include "cluster/chain/form_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <numeric>
#include <utility>

namespace fuseflow::cluster {
namespace {

bool is_plain(const TileSubscript& subscript) {
  return subscript.offset == 0 && (subscript.terms.empty() ||
                                   (subscript.terms.size() == 1 && subscript.terms[0].second == 1));
}

bool same_read(const KernelTerm& x, const KernelTerm& y) {
  return x.tensor == y.tensor && x.subscripts == y.subscripts;
}

/// Reads E first, down to its product; then, as the product's operands say, C.
class FormBuilder : private TermReader {
 public:
  FormBuilder(const Program& program, const ChainStatementOf& statement_of)
      : TermReader(program), statement_of_(statement_of) {}

  BuiltForm build(const Statement& e, const std::vector<const Statement*>& tail) {
    const Statement& last = tail.empty() ? e : *tail.back();
    tail_.insert(e.result);
    for (const Statement* s : tail) tail_.insert(s->result);
    form_.store.tensor = last.result;
    built_.members.insert(last.result);
    term(last, bind_result(last, form_.store.subscripts));
    if (!second_) refuse_kernel("");
    form_.last = std::exchange(made_.terms, {});
    second_product();
    form_.first = std::move(made_.terms);
    form_.digits = std::move(made_.digits);
    form_.tensors = std::move(made_.tensors);
    settle_last_loads();
    settle_element_bytes();
    return std::move(built_);
  }

 private:
  /// A sum of products of two tensors.
  struct Product {
    const Statement* statement = nullptr;
    std::array<int32_t, 2> operands{};
    std::vector<IndexId> over;
    Binding binding;

    const Expr& operand(bool second) const {
      return statement->nodes[static_cast<size_t>(operands[second ? 1 : 0])];
    }
  };

  // --- what is read ------------------------------------------------------------------------

  /// Parts that are equal stay apart, as the statements have them.
  int32_t add(KernelTerm term) override { return append(std::move(term)); }

  int32_t coordinate(const TileSubscript& /*of*/) override { refuse_kernel(""); }

  int32_t reduction(const Statement& s, const Expr& node, Binding binding) override {
    const auto operands = summed_product(s, node);
    if (reads_c_) {
      if (!operands) {
        refuse_kernel(name_of(s.result) +
                      ", between the two products, is a reduction (as of a softmax) and no "
                      "product of tensors");
      }
      first_product({&s, *operands, node.over, std::move(binding)});
    } else {
      if (!operands || second_) refuse_kernel("");
      second_ = Product{&s, *operands, node.over, std::move(binding)};
    }
    KernelTerm made;
    made.kind = KernelTerm::Kind::reduce;
    return add(std::move(made));
  }

  /// What comes from the products, or a load: after the second product of any tensor, between the
  /// two of a vector over N.
  const Statement* inside(const KernelTerm& read) override {
    require_dense(read.tensor);
    if (reads_c_) return inside_c(read);
    const Statement* producer =
        tail_.count(read.tensor) != 0 ? statement_of_(read.tensor) : nullptr;
    if (producer == nullptr) return nullptr;
    built_.last_read_again = built_.last_read_again || is_inside(read.tensor);
    return member(*producer, read.subscripts);
  }

  const Statement* inside_c(const KernelTerm& read) {
    const Statement* producer = statement_of_(read.tensor);
    const std::set<int> digits = digits_of(read);
    const bool vector = !digits.empty() && only(digits, {kKernelN});
    const bool one_row = chain_extent(made_.digits, Dim::m) == 1;
    if (vector && (producer == nullptr || !one_row)) {
      ++built_.first_loads;
      return nullptr;
    }
    if (producer == nullptr) {
      refuse_kernel(fmt::format("{}, between the two products, {}", name_of(read.tensor),
                                why_not_inner(read.tensor)));
    }
    return member(*producer, read.subscripts);
  }

  bool is_inside(TensorId tensor) const {
    return std::any_of(inside_.begin(), inside_.end(),
                       [&](const InlinedStatement& known) { return known.tensor == tensor; });
  }

  /// A statement of the chain is read at plain loops, all of it, at one place.
  const Statement* member(const Statement& s, const std::vector<TileSubscript>& at) {
    for (size_t d = 0; d < at.size(); ++d) {
      if (!is_plain(at[d])) {
        refuse_kernel(fmt::format("{} is not read at plain loops", name_of(s.result)));
      }
      if (at[d].terms.empty()) continue;
      const auto digit = static_cast<size_t>(at[d].terms[0].first);
      if (made_.digits[digit].extent != tensor(s.result).shape[d].value) {
        refuse_kernel(fmt::format("only a part of {} is read", name_of(s.result)));
      }
    }
    for (const InlinedStatement& known : inside_) {
      if (known.tensor != s.result || known.at == at) continue;
      refuse_kernel(fmt::format("{} is read at two places", name_of(s.result)));
    }
    built_.members.insert(s.result);
    return &s;
  }

  /// Why a chain cannot keep a tensor on chip.
  std::string why_not_inner(TensorId t) const {
    if (tensor(t).given()) return "is an input or a constant, and no row of C";
    return tensor(t).role == Role::result
               ? "is a result, which must be stored"
               : "is part of another chain: a third product, and a chain has two";
  }

  /// A dense operand of a product.
  KernelTerm operand(const Expr& access, const Binding& binding) {
    require_dense(access.tensor);
    return load_of(access, binding);
  }

  /// The loops of a sum that have more than one step; where there are none, the first: a sum of one
  /// product is a product all the same.
  std::vector<size_t> loops_of_sum(const Product& product) const {
    std::vector<size_t> loops;
    for (size_t i = 0; i < product.over.size(); ++i) {
      if (extent_of(*product.statement, product.over[i]) != 1) loops.push_back(i);
    }
    return loops.empty() ? std::vector<size_t>{0} : loops;
  }

  int add_summed(const Statement& s, IndexId index, KernelDim dim) {
    const int digit = add_digit(s, index, true);
    made_.digits.back().dim = dim;
    return digit;
  }

  bool only(const std::set<int>& digits, std::initializer_list<KernelDim> dims) const {
    return std::all_of(digits.begin(), digits.end(), [&](int digit) {
      const KernelDim dim = made_.digits[static_cast<size_t>(digit)].dim;
      return std::find(dims.begin(), dims.end(), dim) != dims.end();
    });
  }

  // --- the second product ------------------------------------------------------------------

  /// Either operand may be C.
  void second_product() {
    const std::vector<size_t> loops = loops_of_sum(*second_);
    for (const IndexId index : second_->over) second_->binding[index] = {};
    for (const size_t i : loops) {
      const IndexId index = second_->over[i];
      const int digit = add_summed(*second_->statement, index, kKernelN);
      n_digits_.insert(digit);
      second_->binding[index] = {{{digit, 1}}, 0};
    }
    reads_c_ = true;
    const BuiltForm before = built_;
    const KernelTerms terms = made_;
    std::string why;
    for (const bool swapped : {false, true}) {
      inside_.clear();
      try {
        if (try_second(second_->operand(swapped), second_->operand(!swapped))) return;
      } catch (const NoKernel& refused) {
        if (!refused.why.empty()) why = refused.why;
      }
      built_ = before;
      made_ = terms;
      k_digits_.clear();
    }
    refuse_kernel(why);
  }

  bool try_second(const Expr& c, const Expr& d) {
    const Statement* producer = statement_of_(c.tensor);
    if (producer == nullptr) {
      const bool given = tensor(c.tensor).given();
      refuse_kernel(given ? "" : fmt::format("{} {}", name_of(c.tensor), why_not_inner(c.tensor)));
    }
    const KernelTerm read = operand(c, second_->binding);
    form_.c = c.tensor;
    form_.d = operand(d, second_->binding);
    settle_rows_and_columns(digits_of(read), digits_of(form_.d));
    const int32_t root =
        term(*member(*producer, read.subscripts), bound_results(*producer, read.subscripts));
    if (form_.b.empty()) return false;
    if (form_.b.size() > 2) refuse_kernel("more than two products make C");
    check_loaded();
    // The root is the last term, so that maps end with it.
    return root + 1 == static_cast<int32_t>(made_.terms.size());
  }

  void settle_rows_and_columns(const std::set<int>& rows, const std::set<int>& columns) {
    for (int id = 0; id < static_cast<int>(made_.digits.size()); ++id) {
      KernelDigit& digit = made_.digits[static_cast<size_t>(id)];
      const bool in_c = rows.count(id) != 0, in_d = columns.count(id) != 0;
      if (n_digits_.count(id) != 0) {
        if (in_c && in_d) continue;
        refuse_kernel("the second product sums over a loop that one operand lacks");
      }
      if (in_c && in_d) {
        refuse_kernel(
            fmt::format("both operands of the second product have the loop {} (batches, heads or "
                        "experts)",
                        digit.name));
      }
      if (!in_c && !in_d) refuse_kernel("a loop of the result is in neither operand");
      digit.dim = in_c ? kKernelM : kKernelL;
    }
  }

  /// What stays on chip cannot be loaded, too, as a residual that is C or an A that one row adds to
  /// C.
  void check_loaded() const {
    std::vector<TensorId> loaded{form_.a.tensor, form_.d.tensor};
    for (const KernelTerm& b : form_.b) loaded.push_back(b.tensor);
    for (const KernelTerm& term : made_.terms) loaded.push_back(term.tensor);  // -1: no load
    for (const KernelTerm& term : form_.last) loaded.push_back(term.tensor);
    for (const TensorId tensor : loaded) {
      if (built_.members.count(tensor) == 0) continue;
      refuse_kernel(name_of(tensor) + " would be kept on chip, and is an operand, too");
    }
  }

  // --- the first product, or both ----------------------------------------------------------

  void first_product(const Product& product) {
    if (form_.b.size() == 2) refuse_kernel("more than two products make C");
    std::vector<size_t> order = loops_of_sum(product);
    if (order.size() > 4) refuse_kernel("the first product sums over more than four loops");
    do {
      for (const bool swapped : {false, true}) {
        if (try_first(product, swapped, order)) return;
      }
    } while (!k_digits_.empty() && std::next_permutation(order.begin(), order.end()));
    refuse_kernel(fmt::format(
        "the product in {} is not one of rows by columns (batches, heads or experts), or "
        "its operands are themselves products: a third one",
        name_of(product.statement->result)));
  }

  /// The second branch's loops must be the first one's in some order, so that both read the same A.
  bool try_first(const Product& product, bool swapped, const std::vector<size_t>& order) {
    const Statement& s = *product.statement;
    const bool again = !form_.b.empty();
    if (again && order.size() != k_digits_.size()) return false;
    const std::vector<KernelDigit> digits = made_.digits;
    Binding binding = product.binding;
    for (const IndexId index : product.over) binding[index] = {};
    std::vector<int> loops;
    for (size_t i = 0; i < order.size(); ++i) {
      const IndexId index = product.over[order[i]];
      loops.push_back(again ? k_digits_[i] : add_summed(s, index, kKernelK));
      if (made_.digits[static_cast<size_t>(loops[i])].extent != extent_of(s, index)) return false;
      binding[index] = {{{loops[i], 1}}, 0};
    }
    const KernelTerm a = operand(product.operand(swapped), binding);
    const KernelTerm b = operand(product.operand(!swapped), binding);
    if (!is_rows_by_columns(a, b) || (again && !same_read(a, form_.a))) {
      made_.digits = digits;
      return false;
    }
    if (!again) {
      k_digits_ = loops;
      form_.a = a;
      built_.windows = !std::all_of(a.subscripts.begin(), a.subscripts.end(), is_plain);
    }
    form_.b.push_back(b);
    return true;
  }

  bool is_rows_by_columns(const KernelTerm& a, const KernelTerm& b) const {
    const std::set<int> columns = digits_of(b);
    return only(digits_of(a), {kKernelM, kKernelK}) && only(columns, {kKernelK, kKernelN}) &&
           std::any_of(columns.begin(), columns.end(),
                       [&](int digit) { return n_digits_.count(digit) != 0; }) &&
           built_.members.count(a.tensor) + built_.members.count(b.tensor) == 0;
  }

  // --- what is loaded ----------------------------------------------------------------------

  /// What E takes: vectors over L (or a number), and tensors of its size (or a column, which is
  /// loaded like one). Where it has one row, both look like vectors: then all but the first are
  /// taken as tensors, so that the two may have elements of two sizes.
  void settle_last_loads() {
    const bool one_row = chain_extent(form_.digits, Dim::m) == 1;
    form_.of_size_e.assign(form_.last.size(), false);
    for (size_t t = 0; t < form_.last.size(); ++t) {
      if (form_.last[t].kind != KernelTerm::Kind::load) continue;
      const std::set<int> digits = digits_of(form_.last[t]);
      const bool vector = std::all_of(digits.begin(), digits.end(), [&](int digit) {
        return form_.digits[static_cast<size_t>(digit)].dim == kKernelL;
      });
      form_.of_size_e[t] = !vector || (one_row && built_.last_vectors > 0);
      ++(form_.of_size_e[t] ? built_.last_tensors : built_.last_vectors);
    }
  }

  int64_t bytes_of(TensorId tensor) const { return form_.tensors.at(tensor).element_bytes; }

  void settle_element_bytes() {
    form_.bytes.a = bytes_of(form_.a.tensor);
    form_.bytes.b = bytes_of(form_.b[0].tensor);
    form_.bytes.c = bytes_of(form_.c);
    form_.bytes.d = bytes_of(form_.d.tensor);
    form_.bytes.e = bytes_of(form_.store.tensor);
    for (const KernelTerm& b : form_.b) require_bytes(b.tensor, form_.b[0].tensor);
    settle_load_bytes();
  }

  void require_bytes(TensorId tensor, TensorId as) const {
    if (bytes_of(tensor) == bytes_of(as)) return;
    refuse_kernel(
        fmt::format("{} has elements of another size than {}", name_of(tensor), name_of(as)));
  }

  /// Settles the element sizes of the vectors that C takes, of the vectors that E takes and of the
  /// tensors that E takes: each of the three has one size.
  void settle_load_bytes() {
    TensorId c_vector = -1, e_vector = -1, e_tensor = -1;
    const auto settle = [&](const KernelTerm& load, TensorId& first, int64_t& bytes) {
      if (load.kind != KernelTerm::Kind::load) return;
      if (first < 0) bytes = bytes_of(first = load.tensor);
      require_bytes(load.tensor, first);
    };
    for (const KernelTerm& term : form_.first) settle(term, c_vector, form_.bytes.bias0);
    for (size_t t = 0; t < form_.last.size(); ++t) {
      form_.of_size_e[t] ? settle(form_.last[t], e_tensor, form_.bytes.residual)
                         : settle(form_.last[t], e_vector, form_.bytes.bias1);
    }
  }

  const ChainStatementOf& statement_of_;
  BuiltForm built_;
  ChainForm& form_ = built_.form;
  std::set<TensorId> tail_;  ///< E and what follows it
  bool reads_c_ = false;     ///< E and its product are read
  std::optional<Product> second_;
  std::vector<int> k_digits_;
  std::set<int> n_digits_;
};

}  // namespace

int64_t chain_extent(const std::vector<KernelDigit>& digits, Dim dim) {
  int64_t extent = 1;
  for (const KernelDigit& digit : digits) {
    if (digit.dim != digit_dim(dim)) continue;
    if (__builtin_mul_overflow(extent, digit.extent, &extent)) return -1;
  }
  return extent;
}

std::optional<BuiltForm> build_form(const Program& program, const ChainStatementOf& statement_of,
                                    const Statement& e, const std::vector<const Statement*>& tail,
                                    std::string& why) {
  return form_or_why(why, [&] { return FormBuilder(program, statement_of).build(e, tail); });
}

}  // namespace fuseflow::cluster
