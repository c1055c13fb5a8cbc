#include "import/finish/selections.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace fuseflow {

namespace {

/// Copies a statement's expression with masks around its products.
class Masking {
 public:
  Masking(const Program& program, const DraftProgram& draft, const Statement& from)
      : program_(program), draft_(draft), from_(from) {}

  std::vector<Expr> nodes;

  int32_t copy(int32_t n) {
    const Expr& node = at(n);
    std::vector<int32_t> selecting;
    bool finite = true;
    if (is_product(node)) look_at_factors(n, selecting, finite);
    int32_t made = finite || selecting.empty() ? plain_copy(n) : product(n);
    if (finite) return made;
    for (const int32_t s : selecting) made = masked(plain_copy(s), made);
    return made;
  }

 private:
  const Expr& at(int32_t n) const { return from_.nodes[static_cast<size_t>(n)]; }
  static bool is_product(const Expr& node) {
    return node.kind == Expr::Kind::apply && node.op == Op::mul;
  }

  /// The factors of a product of products: those that select, and whether the others are finite.
  void look_at_factors(int32_t n, std::vector<int32_t>& selecting, bool& finite) const {
    const Expr& node = at(n);
    if (is_product(node)) {
      for (const int32_t c : node.children) look_at_factors(c, selecting, finite);
    } else if (node.kind == Expr::Kind::access) {
      const auto t = static_cast<size_t>(node.tensor);
      if (draft_.tensors[t].selects) {
        selecting.push_back(n);
      } else {
        finite = finite && (program_.tensors[t].facts.finite || draft_.expected[t].finite);
      }
    } else {
      finite = finite && node.kind == Expr::Kind::constant && std::isfinite(node.constant);
    }
  }

  int32_t add(Expr node) {
    nodes.push_back(std::move(node));
    return static_cast<int32_t>(nodes.size()) - 1;
  }
  int32_t plain_copy(int32_t n) {
    Expr made = at(n);
    for (int32_t& c : made.children) c = copy(c);
    return add(std::move(made));
  }
  /// A product as it stands, the products within it too.
  int32_t product(int32_t n) {
    if (!is_product(at(n))) return copy(n);
    Expr made = at(n);
    for (int32_t& c : made.children) c = product(c);
    return add(std::move(made));
  }
  int32_t masked(int32_t mask, int32_t value) {
    Expr made;
    made.kind = Expr::Kind::apply;
    made.op = Op::where;
    Expr zero;
    zero.kind = Expr::Kind::constant;
    zero.constant = 0;
    made.children = {mask, value, add(std::move(zero))};
    return add(std::move(made));
  }

  const Program& program_;
  const DraftProgram& draft_;
  const Statement& from_;
};

}  // namespace

void mask_selections(const Program& program, const DraftProgram& draft, Statement& statement) {
  const bool selects =
      std::any_of(statement.nodes.begin(), statement.nodes.end(), [&](const Expr& node) {
        return node.kind == Expr::Kind::access &&
               draft.tensors[static_cast<size_t>(node.tensor)].selects;
      });
  if (!selects) return;
  Masking masking(program, draft, statement);
  masking.copy(static_cast<int32_t>(statement.nodes.size()) - 1);
  statement.nodes = std::move(masking.nodes);
}

}  // namespace fuseflow
