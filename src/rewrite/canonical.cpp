#include "rewrite/canonical.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "ops/op_class.h"
#include "support/fnv1a.h"

namespace fuseflow {

namespace {

using Terms = std::vector<std::pair<IndexId, int64_t>>;

class Writer {
 public:
  Writer(const Scope& scope, const std::function<bool(TensorId)>& reads_stream,
         const std::map<const Term*, uint64_t>& shapes)
      : scope_(scope), reads_stream_(reads_stream), shapes_(shapes) {}

  Canonical run(const Term& term) {
    bind_all(term);
    write(term);
    Canonical result{std::move(text_), {}};
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

  /// The number of an index, by first use.
  std::string name(IndexId index) {
    const char* const kind = bound_.contains(index) ? "b" : "f";
    const int64_t extent = scope_.indices[static_cast<size_t>(index)].extent;
    const auto [found, is_new] = number_.try_emplace(index, order_.size());
    if (is_new) order_.push_back(index);
    const int64_t block = scope_.blocks[static_cast<size_t>(index)];
    return fmt::format("{}{}_{}x{}", kind, found->second, extent, block);
  }

  void subscript(const Subscript& given) {
    Terms terms = given.terms;
    std::stable_sort(terms.begin(), terms.end(),
                     [](const auto& a, const auto& b) { return a.second < b.second; });
    for (const auto& [index, factor] : terms) text_ += fmt::format("{}*{}+", factor, name(index));
    text_ += std::to_string(given.offset);
  }

  void write(const Term& term) {
    const Expr& e = term.expr;
    switch (e.kind) {
      case Expr::Kind::access:
        text_ +=
            fmt::format("%{}{}[", e.tensor, reads_stream_ && reads_stream_(e.tensor) ? "'" : "");
        for (const Subscript& s : e.subscripts) {
          subscript(s);
          text_ += ",";
        }
        text_ += "]";
        return;
      case Expr::Kind::constant:
        text_ += std::isnan(e.constant) ? "nan"
                                        : fmt::format("#{:x}", std::bit_cast<uint32_t>(e.constant));
        return;
      case Expr::Kind::coordinate:
        text_ += "coordinate " + name(e.index);
        return;
      case Expr::Kind::apply:
        text_ += fmt::format("({} ", op_info(e.op).name);
        operands(term);
        text_ += ")";
        return;
      case Expr::Kind::reduce:
        return reduction(term);
    }
  }

  void operands(const Term& term) {
    std::vector<const Term*> children;
    for (const Term& child : term.children) children.push_back(&child);
    if (is_commutative(term.expr.op) && shapes_.at(children[1]) < shapes_.at(children[0])) {
      std::swap(children[0], children[1]);
    }
    for (const Term* child : children) {
      write(*child);
      text_ += " ";
    }
  }

  /// The body first: it numbers the indices, whose order in `over` means nothing.
  void reduction(const Term& term) {
    text_ += fmt::format("({} ", reduction_name(term.expr.reduction));
    write(term.children[0]);
    std::vector<std::string> over;
    for (const IndexId index : term.expr.over) over.push_back(name(index));
    std::sort(over.begin(), over.end());
    text_ += fmt::format(" : {})", fmt::join(over, " "));
  }

  const Scope& scope_;
  const std::function<bool(TensorId)>& reads_stream_;
  const std::map<const Term*, uint64_t>& shapes_;
  std::string text_;
  std::set<IndexId> bound_;
  std::map<IndexId, size_t> number_;
  std::vector<IndexId> order_;
};

}  // namespace

CanonicalTexts::CanonicalTexts(const Scope& scope, const Term& root,
                               std::function<bool(TensorId)> reads_stream)
    : scope_(scope), reads_stream_(std::move(reads_stream)) {
  find_shapes(root);
}

Canonical CanonicalTexts::of(const Term& term) const {
  return Writer(scope_, reads_stream_, shapes_).run(term);
}

uint64_t CanonicalTexts::find_shapes(const Term& term) {
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
  return shapes_[&term] = fnv1a(own);
}

}  // namespace fuseflow
