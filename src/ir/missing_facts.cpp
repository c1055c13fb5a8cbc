#include "ir/missing_facts.h"

#include <algorithm>
#include <set>

#include "ir/sparsity.h"

namespace fuseflow {

namespace {

Facts facts_with(bool finite, bool nonnegative, bool nonzero) {
  Facts facts;
  facts.finite = finite;
  facts.nonnegative = nonnegative;
  facts.nonzero = nonzero;
  return closed(facts);
}

Facts facts_between(float least, float largest, bool nonzero = false) {
  Facts facts = facts_with(true, false, nonzero);
  facts.least = least;
  facts.largest = largest;
  return closed(facts);
}

/// Everything that could be known of a value, except which it is: the fill is added by the
/// analysis.
Facts every_fact() {
  return facts_between(0x1p-10F, 1);
}

/// What may be missing, the usual first. A range stands for any that keeps results from
/// overflowing.
std::vector<Facts> missing_candidates() {
  Facts no_nan;
  no_nan.no_nan = true;
  Facts below_inf;
  below_inf.below_inf = true;
  return {closed(no_nan),
          closed(below_inf),
          facts_with(true, false, false),
          facts_with(false, true, false),
          facts_with(false, false, true),
          facts_with(true, true, false),
          facts_with(true, false, true),
          facts_with(false, true, true),
          facts_with(true, true, true),
          facts_between(-1, 1),
          facts_between(0, 1),
          facts_between(-1, 1, true),
          every_fact()};
}

/// What decides which coordinates a statement visits: where its nodes have values, and which
/// reductions may leave out absent entries.
struct Structure {
  std::vector<NodeSparsity> nodes;
  std::vector<bool> leaves_out;

  bool operator==(const Structure& other) const {
    if (leaves_out != other.leaves_out) return false;
    for (size_t n = 0; n < nodes.size(); ++n) {
      if (nodes[n].fill.has_value() != other.nodes[n].fill.has_value()) return false;
      if (!(nodes[n].presence == other.nodes[n].presence)) return false;
    }
    return true;
  }
};

Structure structure_of(const Program& program, const Statement& statement) {
  Structure result{analyse(program, statement), {}};
  for (const Expr& node : statement.nodes) {
    if (node.kind != Expr::Kind::reduce) continue;
    const NodeSparsity& body = result.nodes[static_cast<size_t>(node.children[0])];
    result.leaves_out.push_back(!body.fill ||
                                may_leave_out(node.reduction, *body.fill, body.facts));
  }
  return result;
}

void collect_accesses(const Presence& presence, std::set<int32_t>& nodes) {
  if (presence.kind == Presence::Kind::access) nodes.insert(presence.node);
  for (const Presence& child : presence.children) collect_accesses(child, nodes);
}

/// The search for what one statement lacks. The program is a copy whose facts may be changed.
class Search {
 public:
  Search(Program& program, const Statement& statement) : p_(program), s_(statement) {
    for (const Expr& node : s_.nodes) {
      if (node.kind != Expr::Kind::access) continue;
      const bool known =
          std::find(operands_.begin(), operands_.end(), node.tensor) != operands_.end();
      if (!known) operands_.push_back(node.tensor);
    }
  }

  /// Fills `lost` and returns true if the statement lacks a fact.
  bool run(LostSparsity& lost) {
    const Structure now = structure_of(p_, s_);
    std::vector<Facts> own;
    for (const TensorId t : operands_) own.push_back(assumed(t));
    for (const TensorId t : operands_) assumed(t) = every_fact();
    goal_ = structure_of(p_, s_);
    const bool differs = !(goal_ == now);
    if (differs) {
      for (size_t i = 0; i < operands_.size(); ++i) weaken(operands_[i], own[i]);
      for (size_t i = 0; i < operands_.size(); ++i) {
        const Facts& needed = assumed(operands_[i]);
        if (!(needed == own[i])) lost.missing.push_back({operands_[i], needed});
      }
      visited_too(now, lost);
    }
    for (size_t i = 0; i < operands_.size(); ++i) assumed(operands_[i]) = own[i];
    return differs;
  }

 private:
  Facts& assumed(TensorId t) { return p_.tensors[static_cast<size_t>(t)].assumed; }

  bool suffices(TensorId t, const Facts& facts) {
    const Facts before = assumed(t);
    assumed(t) = facts;
    if (structure_of(p_, s_) == goal_) return true;
    assumed(t) = before;
    return false;
  }

  /// The least of one operand that makes no difference to everything being known of it.
  void weaken(TensorId t, const Facts& own) {
    if (suffices(t, own)) return;
    for (const Facts& candidate : missing_candidates()) {
      if (suffices(t, joined(own, candidate))) return;
    }
  }

  /// Operands that decide where some node has values only once the facts are known.
  void visited_too(const Structure& now, LostSparsity& lost) const {
    std::set<TensorId> tensors;
    for (size_t n = 0; n < s_.nodes.size(); ++n) {
      if (now.nodes[n].presence == goal_.nodes[n].presence && now.leaves_out == goal_.leaves_out)
        continue;
      std::set<int32_t> nodes;
      collect_accesses(goal_.nodes[n].presence, nodes);
      for (const int32_t node : nodes) tensors.insert(s_.nodes[static_cast<size_t>(node)].tensor);
    }
    lost.visited_too.assign(tensors.begin(), tensors.end());
  }

  Program& p_;
  const Statement& s_;
  std::vector<TensorId> operands_;
  Structure goal_;
};

/// The result as sparse as it could be if everything were known of what is stored.
void sparsify_result(Program& program, const Program& granted, const Statement& statement) {
  Tensor& tensor = program.tensors[static_cast<size_t>(statement.result)];
  if (!tensor.format.all_dense() || tensor.format.levels.empty()) return;
  const ResultSparsity inferred = infer_result(granted, statement);
  if (!inferred.fill || !satisfies(*inferred.fill, joined(tensor.facts, tensor.assumed))) return;
  for (size_t d = 0; d < inferred.absent_along.size(); ++d) {
    if (!inferred.absent_along[d]) continue;
    for (size_t level = 0; level < tensor.format.levels.size(); ++level) {
      if (tensor.format.mode_order[level] == static_cast<int>(d))
        tensor.format.levels[level] = LevelKind::compressed;
    }
    tensor.fill = *inferred.fill;
  }
}

/// Whether a statement reads what is declared denser than it could be.
bool reads_declared_dense(const Program& sparse, const Program& declared,
                          const Statement& statement) {
  return std::any_of(statement.nodes.begin(), statement.nodes.end(), [&](const Expr& node) {
    if (node.kind != Expr::Kind::access) return false;
    const auto t = static_cast<size_t>(node.tensor);
    return !(sparse.tensors[t].format == declared.tensors[t].format);
  });
}

}  // namespace

std::vector<LostSparsity> lost_sparsity(const Program& program) {
  std::vector<LostSparsity> found;
  Program p;  // without graphs and statements: only tensors are changed
  p.tensors = program.tensors;
  Program declared;
  declared.tensors = program.tensors;
  Program granted;
  granted.tensors = program.tensors;
  for (Tensor& tensor : granted.tensors) tensor.assumed = every_fact();
  for (size_t r = 0; r < program.regions.size(); ++r) {
    const Region& region = program.regions[r];
    for (size_t s = 0; s < region.statements.size(); ++s) {
      LostSparsity lost{r, s, {}, {}};
      const Statement& statement = region.statements[s];
      // What is declared dense may have all its entries: then facts may hold that exclude its fill.
      if (Search(p, statement).run(lost) ||
          (reads_declared_dense(p, declared, statement) && Search(declared, statement).run(lost))) {
        found.push_back(std::move(lost));
      }
      sparsify_result(p, granted, region.statements[s]);
      const auto result = static_cast<size_t>(region.statements[s].result);
      granted.tensors[result].format = p.tensors[result].format;
      granted.tensors[result].fill = p.tensors[result].fill;
    }
  }
  return found;
}

}  // namespace fuseflow
