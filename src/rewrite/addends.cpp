#include "rewrite/addends.h"

#include <algorithm>

namespace fuseflow {

namespace {

bool is_apply(const Term& term, Op op) {
  return term.expr.kind == Expr::Kind::apply && term.expr.op == op;
}

AdditionPart::Kind kind_of(const Term& term) {
  if (is_addition(term)) return AdditionPart::Kind::add;
  if (is_apply(term, Op::mul) || is_apply(term, Op::div)) return AdditionPart::Kind::product;
  const bool sums = term.expr.kind == Expr::Kind::reduce && term.expr.reduction == Reduction::sum;
  return sums ? AdditionPart::Kind::sum : AdditionPart::Kind::factor;
}

AdditionPart factor_part(const Term& term) {
  return {AdditionPart::Kind::factor, term, {}};
}

/// The factors of an addend: what it is divided by, too.
template <typename AnyPart, typename Visit>
void each_factor(AnyPart& part, bool inverse, const Visit& visit) {
  if (part.parts.empty()) return visit(part, inverse);
  for (size_t p = 0; p < part.parts.size(); ++p) {
    const bool divides = p == 1 && is_apply(part.given, Op::div);
    each_factor(part.parts[p], inverse || divides, visit);
  }
}

int with_indices(const AdditionPart& part) {
  int found = 0;
  each_factor(part, false, [&](const AdditionPart& factor, bool) {
    found += !free_indices(factor.given).empty();
  });
  return found;
}

class Reader {
 public:
  Reader(const Program& program, const Definitions& definitions, TensorId reader, Scope& scope)
      : program_(program), definitions_(definitions), reader_(reader), scope_(scope) {}

  AdditionPart addition(const Term& term) {
    AdditionPart part{AdditionPart::Kind::add, term, {}};
    for (const Term& child : term.children) part.parts.push_back(added(child));
    return part;
  }

 private:
  AdditionPart added(const Term& term) {
    if (is_addition(term)) return addition(term);
    const std::optional<Term> definition = definition_of(term);
    if (definition && is_addition(*definition)) {
      return {AdditionPart::Kind::taken_in, term, {addition(*definition)}};
    }
    AdditionPart part = product(term);
    while (take_in(part)) {
    }
    return part;
  }

  AdditionPart product(const Term& term) {
    AdditionPart part{kind_of(term), term, {}};
    if (part.kind == AdditionPart::Kind::add) part.kind = AdditionPart::Kind::factor;
    if (part.kind == AdditionPart::Kind::factor) return part;
    for (const Term& child : term.children) {
      const bool divides = !part.parts.empty() && is_apply(term, Op::div);
      part.parts.push_back(divides ? factor_part(child) : product(child));
    }
    return part;
  }

  /// Takes in one intermediate of an addend, the first that leaves few enough factors.
  bool take_in(AdditionPart& addend) {
    const int before = with_indices(addend);
    bool any = false;
    each_factor(addend, false, [&](AdditionPart& factor, bool inverse) {
      if (any || inverse) return;
      const std::optional<Term> definition = definition_of(factor.given);
      if (!definition || kind_of(*definition) == AdditionPart::Kind::factor ||
          is_addition(*definition)) {
        return;
      }
      AdditionPart body = product(*definition);
      const int more = with_indices(body) - !free_indices(factor.given).empty();
      if (before + more > static_cast<int>(kMostFactors)) return;
      factor = {AdditionPart::Kind::taken_in, factor.given, {std::move(body)}};
      any = true;
    });
    return any;
  }

  std::optional<Term> definition_of(const Term& term) {
    if (term.expr.kind != Expr::Kind::access) return std::nullopt;
    const Statement* definition = definitions_.inlinable(term.expr.tensor, reader_);
    return definition ? substituted(program_, term, *definition, scope_) : std::nullopt;
  }

  const Program& program_;
  const Definitions& definitions_;
  const TensorId reader_;
  Scope& scope_;
};

void find_sums(const AdditionPart& part, std::set<IndexId>& summed) {
  const Expr& e = part.given.expr;
  if (part.kind == AdditionPart::Kind::sum) summed.insert(e.over.begin(), e.over.end());
  for (const AdditionPart& child : part.parts) find_sums(child, summed);
}

/// Whether each index that is summed is in a factor: else the sum multiplies by an extent.
bool sums_factors(const Addend& addend) {
  return std::all_of(addend.summed.begin(), addend.summed.end(), [&](IndexId index) {
    return std::any_of(addend.factors.begin(), addend.factors.end(), [&](const AddendFactor& f) {
      return std::find(f.factor.free.begin(), f.factor.free.end(), index) != f.factor.free.end();
    });
  });
}

void list(const AdditionPart& part, bool negative, std::vector<Addend>& addends) {
  if (part.kind == AdditionPart::Kind::taken_in && part.parts[0].kind == AdditionPart::Kind::add) {
    return list(part.parts[0], negative, addends);
  }
  if (part.kind == AdditionPart::Kind::add) {
    for (size_t p = 0; p < part.parts.size(); ++p) {
      list(part.parts[p], negative != is_subtracted(part, p), addends);
    }
    return;
  }
  Addend addend{&part, negative, {}, {}};
  each_factor(part, false, [&](const AdditionPart& factor, bool inverse) {
    addend.factors.push_back({&factor, {factor.given, inverse, free_indices(factor.given)}});
  });
  find_sums(part, addend.summed);
  const bool few = with_indices(part) <= static_cast<int>(kMostFactors);
  if (few && sums_factors(addend)) addends.push_back(std::move(addend));
}

}  // namespace

bool is_subtracted(const AdditionPart& part, size_t p) {
  const bool any = part.kind == AdditionPart::Kind::add;
  return any && (is_apply(part.given, Op::neg) || (is_apply(part.given, Op::sub) && p == 1));
}

bool is_addition(const Term& term) {
  return is_apply(term, Op::add) || is_apply(term, Op::sub) || is_apply(term, Op::neg);
}

AdditionPart taken_apart(const Program& program, const Definitions& definitions, TensorId reader,
                         const Term& addition, Scope& scope) {
  return Reader(program, definitions, reader, scope).addition(addition);
}

std::vector<Addend> addends_of(const AdditionPart& addition) {
  std::vector<Addend> addends;
  list(addition, false, addends);
  return addends;
}

}  // namespace fuseflow
