#include "ir/sparsity.h"

#include <algorithm>
#include <cmath>

#include "ir/inside.h"
#include "ir/reads.h"
#include "ir/value_numbers.h"
#include "ops/range.h"
#include "ops/sign.h"

namespace fuseflow {

namespace {

using Kind = Presence::Kind;

bool same(float a, float b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

/// Joins formulas by `kind` (intersection or union_), flattening, deduplicating and simplifying.
Presence join(Kind kind, std::vector<Presence> parts) {
  const Kind neutral = kind == Kind::intersection ? Kind::all : Kind::never;
  const Kind absorbing = kind == Kind::intersection ? Kind::never : Kind::all;
  Presence result{kind, -1, {}};
  auto add = [&](Presence&& part) {
    if (std::find(result.children.begin(), result.children.end(), part) == result.children.end()) {
      result.children.push_back(std::move(part));
    }
  };
  for (Presence& part : parts) {
    if (part.kind == absorbing) return Presence{absorbing, -1, {}};
    if (part.kind == neutral) continue;
    if (part.kind == kind) {
      for (Presence& child : part.children) add(std::move(child));
    } else {
      add(std::move(part));
    }
  }
  if (result.children.empty()) return Presence{neutral, -1, {}};
  if (result.children.size() == 1) return std::move(result.children.front());
  return result;
}

/// Analysis of one statement, nodes in order (children first).
class Analysis {
 public:
  Analysis(const Program& program, const Statement& statement, const AbsentAlong& absent,
           const ReductionBound& bound)
      : program_(program),
        statement_(statement),
        absent_(absent),
        bound_(bound),
        numbers_(value_numbers(statement)) {}

  std::vector<NodeSparsity> run() {
    for (const Expr& node : statement_.nodes) done_.push_back(visit(node));
    return std::move(done_);
  }

 private:
  NodeSparsity visit(const Expr& node) {
    switch (node.kind) {
      case Expr::Kind::access:
        return access(node);
      case Expr::Kind::constant:
        return {node.constant, facts_of_constant(node.constant), {Kind::never, -1, {}}};
      case Expr::Kind::coordinate:
        return {std::nullopt, coordinate_facts(node.index), {Kind::all, -1, {}}};
      case Expr::Kind::apply:
        return apply(node);
      case Expr::Kind::reduce:
        return reduce(node);
    }
    return {};
  }

  Facts coordinate_facts(IndexId index) const {
    Facts facts{true, true, true, false, true};
    const int64_t extent = statement_.indices[index].extent;
    if (extent > 0) facts.largest = static_cast<float>(extent);
    return closed(facts);
  }

  NodeSparsity access(const Expr& node) {
    const Tensor& tensor = program_.tensors[node.tensor];
    Facts facts = admitted_facts(tensor);
    bool padded = false;
    bool sparse = false;
    for (size_t dim = 0; dim < node.subscripts.size(); ++dim) {
      padded = padded || !is_plain_inside(statement_, node.subscripts[dim], tensor.shape[dim]);
      sparse = sparse || absent_(node, static_cast<int>(dim));
    }
    if (padded || sparse) facts = both(facts, facts_of_constant(tensor.fill));
    if (!sparse) return {std::nullopt, facts, {Kind::all, -1, {}}};
    return {tensor.fill, facts, {Kind::access, position(node), {}}};
  }

  int number_of(int32_t node) const {
    return numbers_.empty() ? node : numbers_[static_cast<size_t>(node)];
  }

  int32_t position(const Expr& node) const {
    return static_cast<int32_t>(&node - statement_.nodes.data());
  }

  /// The result for a pattern: bit c of `present` says that child c may have any value.
  std::optional<float> constant_for(const Expr& node, unsigned present) const {
    std::vector<Operand> operands;
    for (size_t c = 0; c < node.children.size(); ++c) {
      const NodeSparsity& child = done_[node.children[c]];
      const bool any = ((present >> c) & 1U) != 0;
      operands.push_back({any ? std::nullopt : child.fill, child.facts});
    }
    return constant_result(node.op, operands);
  }

  /// The union, over the minimal patterns of present operands that do not give the fill, of the
  /// intersection of their presences. The patterns are upward closed, because facts admit the fill.
  NodeSparsity apply(const Expr& node) {
    const unsigned patterns = 1U << node.children.size();
    unsigned always = 0;
    std::vector<Operand> operands;
    std::vector<int> values;
    for (size_t c = 0; c < node.children.size(); ++c) {
      const NodeSparsity& child = done_[node.children[c]];
      values.push_back(number_of(node.children[c]));
      if (child.presence.kind == Kind::all) always |= 1U << c;
      const bool constant = child.presence.kind == Kind::never;
      operands.push_back({constant ? child.fill : std::nullopt, child.facts});
    }
    NodeSparsity result;
    result.facts = signed_.apply(node.op, number_of(position(node)), values, operands);
    result.fill = constant_for(node, always);
    if (!result.fill) return result;

    std::vector<unsigned> minimal;
    std::vector<Presence> parts;
    for (unsigned pattern = 0; pattern < patterns; ++pattern) {
      if ((pattern & always) != always) continue;
      const auto covered = [&](unsigned set) { return (set & pattern) == set; };
      if (std::any_of(minimal.begin(), minimal.end(), covered)) continue;
      const auto value = constant_for(node, pattern);
      if (value && same(*value, *result.fill)) continue;
      minimal.push_back(pattern);
      std::vector<Presence> members;
      for (size_t c = 0; c < node.children.size(); ++c) {
        if (((pattern >> c) & 1U) != 0) members.push_back(done_[node.children[c]].presence);
      }
      parts.push_back(join(Kind::intersection, std::move(members)));
    }
    // Patterns are tried in numeric order; one of two members may precede a smaller one, so that a
    // part may be redundant but never missing.
    result.presence = join(Kind::union_, std::move(parts));
    return result;
  }

  NodeSparsity reduce(const Expr& node) {
    const NodeSparsity& body = done_[node.children[0]];
    NodeSparsity result;
    double count = 1;
    bool known = true;
    for (const IndexId index : node.over) {
      const int64_t extent = statement_.indices[index].extent;
      known = known && extent >= 0;
      count *= static_cast<double>(std::max<int64_t>(extent, 0));
    }
    result.facts = reduced_facts(node.reduction, body.facts, known ? count : -1);
    if (bound_) {
      Facts more;
      more.least = bound_(statement_, node, done_);
      result.facts = within(result.facts, more);
    }
    if (!body.fill) return result;
    const float fill = reduced_fill(node.reduction, *body.fill, count);
    if (bound_ && !satisfies(fill, result.facts)) return result;  // it never occurs
    result.presence = body.presence;
    result.fill = fill;
    return result;
  }

  const Program& program_;
  const Statement& statement_;
  const AbsentAlong& absent_;
  const ReductionBound& bound_;
  const std::vector<int> numbers_;  ///< of the statement's nodes; empty: all different
  SignedFacts signed_;
  std::vector<NodeSparsity> done_;
};

AbsentAlong from_format(const Program& program) {
  return [&program](const Expr& access, int dim) {
    return format_allows_absence(program.tensors[access.tensor], dim);
  };
}

bool constrains(const Expr& access, IndexId index, const AbsentAlong& absent) {
  for (size_t dim = 0; dim < access.subscripts.size(); ++dim) {
    const auto& terms = access.subscripts[dim].terms;
    const bool has = std::any_of(terms.begin(), terms.end(),
                                 [&](const auto& term) { return term.first == index; });
    if (has && absent(access, static_cast<int>(dim))) return true;
  }
  return false;
}

Presence along_impl(const Presence& presence, const Statement& statement, IndexId index,
                    const AbsentAlong& absent) {
  if (presence.kind == Kind::access) {
    const bool here = constrains(statement.nodes[presence.node], index, absent);
    return here ? presence : Presence{Kind::all, -1, {}};
  }
  if (presence.children.empty()) return presence;
  std::vector<Presence> parts;
  for (const Presence& child : presence.children) {
    parts.push_back(along_impl(child, statement, index, absent));
  }
  return join(presence.kind, std::move(parts));
}

}  // namespace

float reduced_fill(Reduction reduction, float fill, double count) {
  if (count == 0) {
    return reduction == Reduction::mean ? std::nanf("") : identity(reduction);
  }
  switch (reduction) {
    case Reduction::sum:
      return fill == 0 ? 0.0F : static_cast<float>(count * fill);
    case Reduction::prod:
      return static_cast<float>(std::pow(static_cast<double>(fill), count));
    default:
      return fill;
  }
}

Facts reduced_facts(Reduction reduction, const Facts& x, double count) {
  Facts facts;
  switch (reduction) {
    case Reduction::prod:
      break;
    case Reduction::max:  // of nothing: -inf
      facts = {false, x.no_nan, false, false, x.below_inf};
      break;
    case Reduction::min:
      facts = {false, x.no_nan, x.nonnegative, false, false};
      break;
    case Reduction::sum:
      facts = {false, x.finite, x.nonnegative, false, false};
      break;
    case Reduction::mean:  // of nothing: NaN
      facts.no_nan = (x.finite || x.nonnegative) && count > 0;
      break;
  }
  return within(facts, reduced_range(reduction, x, count));
}

bool may_leave_out(Reduction reduction, float fill, const Facts& body) {
  if (reduction == Reduction::max && fill == 0 && body.nonnegative) return true;
  return fill == identity(reduction);
}

bool format_allows_absence(const Tensor& tensor, int dim) {
  for (size_t level = 0; level < tensor.format.levels.size(); ++level) {
    if (tensor.format.mode_order[level] == dim) {
      return tensor.format.levels[level] != LevelKind::dense;
    }
  }
  return false;
}

Facts admitted_facts(const Tensor& tensor) {
  return joined(tensor.facts, tensor.assumed);
}

std::vector<NodeSparsity> analyse(const Program& program, const Statement& statement,
                                  const AbsentAlong& absent, const ReductionBound& bound) {
  const AbsentAlong by_format = absent ? absent : from_format(program);
  return Analysis(program, statement, by_format, bound).run();
}

namespace {

/// Which nodes are operands of an operator, which reads them wherever it has a value itself.
std::vector<bool> operands(const Statement& statement) {
  std::vector<bool> are(statement.nodes.size(), false);
  for (const Expr& node : statement.nodes) {
    if (node.kind != Expr::Kind::apply) continue;
    for (const int32_t child : node.children) are[static_cast<size_t>(child)] = true;
  }
  return are;
}

bool absence_saves_work(const Program& program, const Statement& statement, TensorId tensor) {
  const AbsentAlong by_format = from_format(program);
  const std::vector<NodeSparsity> sparse = analyse(program, statement, by_format);
  const std::vector<NodeSparsity> dense =
      analyse(program, statement, [&](const Expr& access, int dim) {
        return access.tensor != tensor && by_format(access, dim);
      });
  const std::vector<bool> is_operand = operands(statement);
  for (size_t n = 0; n < statement.nodes.size(); ++n) {
    const bool only_read = statement.nodes[n].kind == Expr::Kind::access && is_operand[n];
    if (!only_read && !(sparse[n].presence == dense[n].presence)) return true;
  }
  return false;
}

}  // namespace

bool absence_saves_work(const Program& program, TensorId tensor) {
  for (const Region& region : program.regions) {
    for (const Statement& statement : region.statements) {
      if (reads(statement, tensor) && absence_saves_work(program, statement, tensor)) return true;
    }
  }
  return false;
}

Presence along(const Presence& presence, const Program& program, const Statement& statement,
               IndexId index, const AbsentAlong& absent) {
  return along_impl(presence, statement, index, absent ? absent : from_format(program));
}

ResultSparsity infer_result(const Program& program, const Statement& statement,
                            const AbsentAlong& absent, const ReductionBound& bound) {
  const NodeSparsity root = analyse(program, statement, absent, bound).back();
  ResultSparsity result{root.fill, root.facts, {}};
  for (const IndexId index : statement.result_indices) {
    const Presence here = along(root.presence, program, statement, index, absent);
    result.absent_along.push_back(root.fill.has_value() && here.kind != Kind::all);
  }
  return result;
}

}  // namespace fuseflow
