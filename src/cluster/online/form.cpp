#include "cluster/online/form.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/names.h"
#include "tensor/rounding.h"

namespace fuseflow::cluster {

namespace {

using Binding = TermBuilder::Binding;

/// A node of a statement whose loops are bound.
struct Place {
  const Statement* statement = nullptr;
  int32_t node = -1;
  Binding binding;

  const Expr& expr() const { return statement->nodes[static_cast<size_t>(node)]; }
  Place child(size_t number) const { return {statement, expr().children[number], binding}; }
  bool applies(Op op) const { return expr().kind == Expr::Kind::apply && expr().op == op; }
  bool reduces(Reduction reduction) const {
    return expr().kind == Expr::Kind::reduce && expr().reduction == reduction;
  }
  bool accesses() const { return expr().kind == Expr::Kind::access; }
  bool rounds() const { return applies(Op::f16) || applies(Op::bf16); }
};

bool same_place(const std::vector<TileSubscript>& x, const std::vector<TileSubscript>& y) {
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [](const TileSubscript& a, const TileSubscript& b) {
                      return a.offset == b.offset && a.terms == b.terms;
                    });
}

class OnlineBuilder {
 public:
  explicit OnlineBuilder(const StatementTable& statements)
      : statements_(statements),
        builder_(
            statements.program(), [this](TensorId tensor) { return inner(tensor); },
            [this](const Statement& s, const Expr& node, const Binding& binding) {
              return score_product(s, node, binding);
            }) {}

  /// Is the statement a product with what looks like a softmax? Then `build` says the rest.
  bool begin(const Statement& last) {
    const Place root = sum_of(last);
    if (!root.reduces(Reduction::sum)) return false;
    last_ = &last;
    const Place body = root.child(0);
    if (!body.applies(Op::mul)) return false;
    for (size_t side = 0; side < 2; ++side) {
      if (divides_by_sum(body.child(side))) {
        softmax_side_ = side;
        return true;
      }
    }
    return false;
  }

  OnlineForm build() {
    bind_result();
    const Place body = root_.child(0);
    const Place values = body.child(1 - softmax_side_);
    if (!values.accesses()) {
      refuse_kernel(fmt::format("its values are {}, expected one tensor", made_of(values)));
    }
    const auto [top, bottom] = quotient(body.child(softmax_side_));
    read_sum(top, bottom);
    read_exponential(look(top));
    find_storable();
    if (scores_.accesses()) form_.scores_tensor = scores_.expr().tensor;
    form_.scores = builder_.term(*scores_.statement, scores_.node, scores_.binding);
    form_.values.kind = KernelTerm::Kind::load;
    form_.values.tensor = values.expr().tensor;
    form_.values.subscripts = TermBuilder::bound(values.expr(), values.binding);
    builder_.require_dense(form_.values.tensor);
    static_cast<KernelTerms&>(form_) = std::move(builder_.made());
    form_.one_tile_l = form_.product >= 0;
    settle();
    check_extents(form_.digits);
    check_as_dense();
    check_kept();
    form_.unread = statements_.unread_beside(form_.members);
    for (const TensorId t : form_.members) form_.unread.erase(t);
    return std::move(form_);
  }

 private:
  /// What the statement stores, without a rounding that storing does as well.
  Place sum_of(const Statement& last) const {
    const Place root{&last, static_cast<int32_t>(last.nodes.size()) - 1, {}};
    const ElementType type = statements_.program().tensors[static_cast<size_t>(last.result)].type;
    const bool stored =
        root.expr().kind == Expr::Kind::apply && root.expr().op == rounding_operator(type);
    return stored ? root.child(0) : root;
  }

  std::string name_of(TensorId tensor) const {
    return "%" + quote_if_needed(statements_.program().tensors[static_cast<size_t>(tensor)].name);
  }

  // --- what is read ------------------------------------------------------------------------

  /// An expression by the tensors that it reads.
  std::string made_of(const Place& place) const {
    std::vector<std::string> names;
    std::vector<int32_t> open{place.node};
    while (!open.empty()) {
      const Expr& node = place.statement->nodes[static_cast<size_t>(open.back())];
      open.pop_back();
      open.insert(open.end(), node.children.rbegin(), node.children.rend());
      if (node.kind != Expr::Kind::access) continue;
      std::string name = name_of(node.tensor);
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    if (names.empty()) return "no tensor";
    const std::string of = names.size() > 3 ? fmt::format("{} tensors", names.size())
                                            : fmt::format("{}", fmt::join(names, " and "));
    return "an expression of " + of;
  }

  /// The statement that computes what a place reads, be it a result; it becomes no member.
  Place look_anywhere(Place place) const {
    while (place.accesses()) {
      const Statement* inside = statements_.defining(place.expr().tensor);
      if (inside == nullptr) break;
      place = {inside, static_cast<int32_t>(inside->nodes.size()) - 1, {}};
    }
    return place;
  }

  bool divides_by_sum(const Place& side) const {
    Place at = look_anywhere(side);
    if (at.rounds()) at = look_anywhere(at.child(0));
    if (!at.applies(Op::div) && !at.applies(Op::mul)) return false;
    Place bottom = look_anywhere(at.child(1));
    if (at.applies(Op::mul)) {
      if (!bottom.applies(Op::reciprocal)) return false;
      bottom = look_anywhere(bottom.child(0));
    }
    return bottom.reduces(Reduction::sum) && look_anywhere(at.child(0)).applies(Op::exp);
  }

  /// The statement that computes what a place reads, which becomes a member.
  Place look(Place place) {
    while (place.accesses()) {
      const TensorId tensor = place.expr().tensor;
      const Statement* inside = statements_.defining(tensor);
      if (inside == nullptr) break;
      if (statements_.of(tensor) == nullptr) refuse_kernel(name_of(tensor) + " is a result");
      form_.members.insert(tensor);
      const std::vector<TileSubscript> at = TermBuilder::bound(place.expr(), place.binding);
      builder_.require_inside(tensor, at);
      place = {inside, static_cast<int32_t>(inside->nodes.size()) - 1,
               TermBuilder::bound_results(*inside, at)};
    }
    return place;
  }

  void bind_result() {
    form_.result = last_->result;
    form_.members.insert(last_->result);
    root_ = sum_of(*last_);
    root_.binding = builder_.bind_result(*last_, form_.stored);
    for (const IndexId index : root_.expr().over) {
      steps_ *= builder_.extent_of(*last_, index);
      root_.binding[index] = builder_.new_digit(*last_, index, true);
    }
    for (KernelDigit& digit : builder_.made().digits) {
      if (digit.summed) digit.dim = kKernelK;
    }
  }

  /// Numerator and denominator, as they are accessed.
  std::pair<Place, Place> quotient(const Place& side) {
    Place at = look(side);
    if (at.rounds()) {
      form_.rounded = at.expr().op;
      at = look(at.child(0));
    }
    Place bottom = at.child(1);
    form_.by_reciprocal = at.applies(Op::mul);
    if (form_.by_reciprocal) bottom = look(bottom).child(0);
    return {at.child(0), bottom};
  }

  /// A reduction of the same tensor at the same place, over the loops of k and no other.
  void require_same(const Place& reduced, const Place& read, const char* what) {
    const Expr& reduce = reduced.expr();
    Place body = reduced.child(0);
    if (!read.accesses() || !body.accesses() || body.expr().tensor != read.expr().tensor) {
      refuse_kernel(fmt::format("{} is not of the elements that it normalises", what));
    }
    const std::vector<TileSubscript> wanted = TermBuilder::bound(read.expr(), read.binding);
    int64_t steps = 1;
    for (const IndexId index : reduce.over) {
      steps *= builder_.extent_of(*reduced.statement, index);
      for (size_t d = 0; d < wanted.size(); ++d) {
        const Subscript& at = body.expr().subscripts[d];
        if (at.is_plain() && at.plain() == index) body.binding[index] = wanted[d];
      }
      if (body.binding.count(index) == 0) refuse_kernel(fmt::format("{} skips elements", what));
    }
    if (steps != steps_ || !same_place(TermBuilder::bound(body.expr(), body.binding), wanted)) {
      refuse_kernel(fmt::format("{} is not over the loop that the second product sums", what));
    }
  }

  void read_sum(const Place& top, const Place& bottom) {
    const Place sum = look(bottom);
    if (!sum.reduces(Reduction::sum)) refuse_kernel("its denominator is more than a sum");
    require_same(sum, top, "the sum of its softmax");
  }

  /// exp(X - max X), or exp(X).
  void read_exponential(const Place& at) {
    if (!at.applies(Op::exp)) refuse_kernel("its numerator is more than an exponential");
    scores_ = at.child(0);
    if (!scores_.applies(Op::sub)) return;
    const Place largest = look_anywhere(scores_.child(1));
    if (!largest.reduces(Reduction::max)) return;
    const Place maximum = look(scores_.child(1));
    scores_ = scores_.child(0);
    require_same(maximum, scores_, "the largest of its softmax");
    form_.maximum = true;
  }

  // --- X -----------------------------------------------------------------------------------

  /// Computed on the core: what nothing else reads; of products the first one met, for all who read
  /// it.
  const Statement* inner(TensorId tensor) {
    const Statement* s = statements_.of(tensor);
    if (s == nullptr || form_.members.count(tensor) != 0) return s;
    if (!statements_.read_only_by(tensor, form_.members)) return nullptr;
    if (cluster::reduces(*s) && (form_.product >= 0 || !is_score_product(*s))) return nullptr;
    form_.members.insert(tensor);
    return s;
  }

  static bool is_score_product(const Statement& s) {
    return std::all_of(s.nodes.begin(), s.nodes.end(), [&](const Expr& node) {
      if (node.kind != Expr::Kind::reduce) return true;
      const Expr& body = s.nodes[static_cast<size_t>(node.children[0])];
      return node.reduction == Reduction::sum && body.kind == Expr::Kind::apply &&
             body.op == Op::mul &&
             std::all_of(body.children.begin(), body.children.end(), [&](int32_t child) {
               return s.nodes[static_cast<size_t>(child)].kind == Expr::Kind::access;
             });
    });
  }

  int32_t score_product(const Statement& s, const Expr& node, Binding binding) {
    if (form_.product >= 0) refuse_kernel("its scores have two products, expected at most one");
    if (!is_score_product(s))
      refuse_kernel(
          "its scores have a reduction, expected none but a sum of products of two tensors");
    for (const IndexId index : node.over) {
      const size_t before = builder_.made().digits.size();
      binding[index] = builder_.new_digit(s, index, true);
      if (builder_.made().digits.size() > before) builder_.made().digits.back().dim = kKernelL;
    }
    KernelTerm made;
    made.kind = KernelTerm::Kind::reduce;
    const Expr& body = s.nodes[static_cast<size_t>(node.children[0])];
    for (const int32_t child : body.children) {
      const Expr& access = s.nodes[static_cast<size_t>(child)];
      KernelTerm load;
      load.kind = KernelTerm::Kind::load;
      load.tensor = access.tensor;
      load.subscripts = TermBuilder::bound(access, binding);
      builder_.require_dense(load.tensor);
      made.children.push_back(builder_.add(std::move(load)));
    }
    return form_.product = builder_.add(std::move(made));
  }

  // --- tensors that are not dense ----------------------------------------------------------

  /// Given data that is stored with absent entries may be stored dense, or copied where something
  /// else reads it (which is known when all members are).
  void find_storable() {
    std::set<TensorId> given;
    const std::vector<Tensor>& tensors = statements_.program().tensors;
    for (size_t t = 0; t < tensors.size(); ++t) {
      const bool listed = tensors[t].given() && !tensors[t].format.all_dense();
      if (listed) given.insert(static_cast<TensorId>(t));
    }
    builder_.allow(std::move(given));
  }

  void check_as_dense() {
    std::vector<TensorId> loaded{form_.values.tensor};
    for (const KernelTerm& term : form_.terms) {
      if (term.kind == KernelTerm::Kind::load) loaded.push_back(term.tensor);
    }
    for (const TensorId t : loaded) {
      const Tensor& tensor = statements_.program().tensors[static_cast<size_t>(t)];
      if (tensor.format.all_dense()) continue;
      const bool shared = !statements_.read_only_by(t, form_.members);
      if (shared && tensor.source.kind == Source::Kind::none) {
        refuse_kernel(name_of(t) + " is not dense, and others read it, too; expected --dense");
      }
      (shared ? form_.as_copy : form_.as_dense).insert(t);
    }
  }

  /// Nothing outside may read what stays on the core, nor may the values be it: of P P^T.
  void check_kept() const {
    if (form_.members.count(form_.values.tensor) != 0) {
      refuse_kernel(name_of(form_.values.tensor) +
                    " would be kept on chip, and is its values, too");
    }
    for (const TensorId t : form_.members) {
      if (t == form_.result || statements_.read_only_by(t, form_.members)) continue;
      refuse_kernel(name_of(t) + " would be kept on chip, but others read it, too");
    }
  }

  // --- dimensions --------------------------------------------------------------------------

  void settle() {
    const std::set<int> of_values = digits_of(form_.values);
    std::set<int> of_scores;
    for (const KernelTerm& term : form_.terms) {
      const std::set<int> digits = digits_of(term);
      of_scores.insert(digits.begin(), digits.end());
    }
    for (size_t d = 0; d < form_.digits.size(); ++d) {
      KernelDigit& digit = form_.digits[d];
      const bool in_v = of_values.count(static_cast<int>(d)) != 0;
      const bool in_x = of_scores.count(static_cast<int>(d)) != 0;
      if (digit.summed) {
        if (digit.dim == kKernelK && !(in_v && in_x)) {
          refuse_kernel("scores or values do not have all loops that the second product sums");
        }
        continue;
      }
      if (!in_v && !in_x) refuse_kernel("its result is wider than what it is computed from");
      digit.dim = in_v && in_x ? kKernelG : in_v ? kKernelN : kKernelM;
    }
    settle_product();
    if (form_.terms[static_cast<size_t>(form_.scores)].kind == KernelTerm::Kind::constant) {
      refuse_kernel("its scores are a constant");
    }
  }

  bool has(const KernelTerm& load, KernelDim dim) const {
    const std::set<int> digits = digits_of(load);
    return std::any_of(digits.begin(), digits.end(), [&](int digit) {
      return form_.digits[static_cast<size_t>(digit)].dim == dim;
    });
  }

  /// Its operands are queries (m, l) and keys (k, l), in this order.
  void settle_product() {
    if (form_.product < 0) return;
    std::vector<int32_t>& sides = form_.terms[static_cast<size_t>(form_.product)].children;
    const auto term = [&](size_t side) -> const KernelTerm& {
      return form_.terms[static_cast<size_t>(sides[side])];
    };
    if (has(term(0), kKernelK) || has(term(1), kKernelM)) std::swap(sides[0], sides[1]);
    if (has(term(0), kKernelK) || has(term(1), kKernelM)) {
      refuse_kernel(
          "the product of its scores is not of queries by keys: one operand has loops of both");
    }
    for (size_t d = 0; d < form_.digits.size(); ++d) {
      if (form_.digits[d].dim != kKernelL) continue;
      if (digits_of(term(0)).count(static_cast<int>(d)) == 0 ||
          digits_of(term(1)).count(static_cast<int>(d)) == 0) {
        refuse_kernel("the product of its scores sums a loop that one operand lacks");
      }
    }
  }

  const StatementTable& statements_;
  TermBuilder builder_;
  OnlineForm form_;
  const Statement* last_ = nullptr;
  size_t softmax_side_ = 0;
  int64_t steps_ = 1;
  Place root_, scores_;
};

}  // namespace

std::optional<OnlineForm> online_form(const StatementTable& statements, const Statement& last,
                                      std::string& why) {
  why.clear();
  OnlineBuilder builder(statements);
  if (!builder.begin(last)) return std::nullopt;
  try {
    return builder.build();
  } catch (const NoKernel& refused) {
    why = refused.why;
    return std::nullopt;
  }
}

}  // namespace fuseflow::cluster
