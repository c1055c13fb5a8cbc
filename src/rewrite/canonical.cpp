#include "rewrite/canonical.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>

#include "ops/op_class.h"
#include "support/fnv1a.h"

namespace fuseflow {

namespace {

using Terms = std::vector<std::pair<IndexId, int64_t>>;

class Writer {
 public:
  explicit Writer(const Scope& scope) : scope_(scope) {}

  Canonical run(const Term& term) {
    bind_all(term);
    find_shapes(term);
    Canonical result;
    result.text = write(term);
    for (const IndexId index : order_) {
      if (!bound_.contains(index)) result.free.push_back(index);
    }
    return result;
  }

 private:
  void bind_all(const Term& term) {
    bound_.insert(term.expr.over.begin(), term.expr.over.end());
    for (const Term& child : term.children) bind_all(child);
  }

  /// A number for what the term is but for its indices: what the operands of commutative operators
  /// are ordered by. Found once a term, from the leaves up.
  uint64_t find_shapes(const Term& term) {
    const Expr& e = term.expr;
    std::string own = fmt::format("{} {} {:x} {} {} {}", static_cast<int>(e.kind), e.tensor,
                                  std::bit_cast<uint32_t>(e.constant), op_info(e.op).name,
                                  reduction_name(e.reduction), e.over.size());
    for (const Subscript& s : e.subscripts) {
      own += fmt::format(",{} {}", s.offset, s.terms.size());
      for (const auto& [index, factor] : s.terms) own += fmt::format(" {}", factor);
    }
    std::vector<uint64_t> parts;
    for (const Term& child : term.children) parts.push_back(find_shapes(child));
    if (e.kind == Expr::Kind::apply && is_commutative(e.op)) std::sort(parts.begin(), parts.end());
    for (const uint64_t part : parts) own += fmt::format(" {:x}", part);
    return shape_[&term] = fnv1a(own);
  }

  /// The number of an index, by first use.
  std::string name(IndexId index) {
    const char* const kind = bound_.contains(index) ? "b" : "f";
    const int64_t extent = scope_.indices[static_cast<size_t>(index)].extent;
    const auto [found, is_new] = number_.try_emplace(index, order_.size());
    if (is_new) order_.push_back(index);
    const int64_t block = scope_.blocks[static_cast<size_t>(index)];
    return fmt::format("{}{}_{}x{}", kind, found->second, extent, block);
  }

  std::string subscript(const Subscript& given) {
    Terms terms = given.terms;
    std::stable_sort(terms.begin(), terms.end(),
                     [](const auto& a, const auto& b) { return a.second < b.second; });
    std::string text;
    for (const auto& [index, factor] : terms) text += fmt::format("{}*{}+", factor, name(index));
    return text + std::to_string(given.offset);
  }

  std::string write(const Term& term) {
    const Expr& e = term.expr;
    switch (e.kind) {
      case Expr::Kind::access: {
        std::string text = fmt::format("%{}[", e.tensor);
        for (const Subscript& s : e.subscripts) text += subscript(s) + ",";
        return text + "]";
      }
      case Expr::Kind::constant:
        return std::isnan(e.constant) ? "nan"
                                      : fmt::format("#{:x}", std::bit_cast<uint32_t>(e.constant));
      case Expr::Kind::coordinate:
        return "coordinate " + name(e.index);
      case Expr::Kind::apply:
        return fmt::format("({} {})", op_info(e.op).name, operands(term));
      case Expr::Kind::reduce:
        return reduction(term);
    }
    return "";
  }

  std::string operands(const Term& term) {
    std::vector<const Term*> children;
    for (const Term& child : term.children) children.push_back(&child);
    if (is_commutative(term.expr.op) && shape_.at(children[1]) < shape_.at(children[0])) {
      std::swap(children[0], children[1]);
    }
    std::string text;
    for (const Term* child : children) text += write(*child) + " ";
    return text;
  }

  /// The body first: it numbers the indices, whose order in `over` means nothing.
  std::string reduction(const Term& term) {
    const std::string body = write(term.children[0]);
    std::vector<std::string> over;
    for (const IndexId index : term.expr.over) over.push_back(name(index));
    std::sort(over.begin(), over.end());
    std::string text = fmt::format("({}", reduction_name(term.expr.reduction));
    for (const std::string& index : over) text += " " + index;
    return text + " : " + body + ")";
  }

  const Scope& scope_;
  std::set<IndexId> bound_;
  std::map<IndexId, size_t> number_;
  std::vector<IndexId> order_;
  std::map<const Term*, uint64_t> shape_;
};

}  // namespace

Canonical canonical(const Scope& scope, const Term& term) {
  return Writer(scope).run(term);
}

}  // namespace fuseflow
