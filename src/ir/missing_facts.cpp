#include "ir/missing_facts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

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
  Facts above_minus_inf;
  above_minus_inf.no_nan = true;
  above_minus_inf.least = std::numeric_limits<float>::lowest();
  return {closed(no_nan),
          closed(below_inf),
          facts_with(true, false, false),
          closed(above_minus_inf),
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

/// Such a fact is asked for last: a tensor with an infinite fill seldom has only finite entries.
bool excludes_infinite_fill(const Tensor& tensor, const Facts& facts) {
  return !tensor.format.all_dense() && std::isinf(tensor.fill) && !satisfies(tensor.fill, facts);
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

/// Whether a fill that is NaN or not known becomes a number.
bool gives_numbers(const Structure& before, const Structure& after) {
  const auto is_number = [](const NodeSparsity& node) {
    return node.fill && !std::isnan(*node.fill);
  };
  for (size_t n = 0; n < before.nodes.size(); ++n) {
    if (!is_number(before.nodes[n]) && is_number(after.nodes[n])) return true;
  }
  return false;
}

Structure structure_of(const Program& program, const Statement& statement,
                       const ReductionBound& bound = {}) {
  Structure result{analyse(program, statement, {}, bound), {}};
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
    std::vector<Format> formats;
    for (const TensorId t : operands_) formats.push_back(tensor(t).format);
    for (const TensorId t : operands_) assumed(t) = every_fact();
    goal_ = structure_of(p_, s_);
    const std::vector<TensorId> complete = find_complete();
    const bool differs = !(goal_ == now);
    if (differs) {
      for (size_t i = 0; i < operands_.size(); ++i) weaken(operands_[i], own[i]);
      for (size_t i = 0; i < operands_.size(); ++i) {
        const TensorId t = operands_[i];
        const bool full = std::find(complete.begin(), complete.end(), t) != complete.end();
        if (full || !(assumed(t) == own[i])) lost.missing.push_back({t, assumed(t), full});
      }
    } else {
      lost.reduction = find_reduction();
    }
    if (differs || lost.reduction) visited_too(now, lost);
    for (size_t i = 0; i < operands_.size(); ++i) {
      assumed(operands_[i]) = own[i];
      tensor(operands_[i]).format = formats[i];
    }
    return differs || lost.reduction;
  }

 private:
  Tensor& tensor(TensorId t) { return p_.tensors[static_cast<size_t>(t)]; }
  Facts& assumed(TensorId t) { return tensor(t).assumed; }

  /// A sum within the statement that, were it never 0, would leave fewer coordinates to visit.
  std::optional<int32_t> find_reduction() {
    for (size_t n = 0; n + 1 < s_.nodes.size(); ++n) {
      const Expr& node = s_.nodes[n];
      if (node.kind != Expr::Kind::reduce || node.reduction != Reduction::sum) continue;
      const auto bound = [&](const Statement&, const Expr& reduction, const auto&) {
        return &reduction == &node ? every_fact().least : Facts{}.least;
      };
      const Structure structure = structure_of(p_, s_, bound);
      const bool other = !(structure.nodes.back().presence == goal_.nodes.back().presence);
      if (!other || !gives_numbers(goal_, structure)) continue;
      goal_ = structure;
      return static_cast<int32_t>(n);
    }
    return std::nullopt;
  }

  /// The fewest sparse operands that, with all their entries, leave a number where absent entries
  /// make NaN or nothing known: divisors that are 0 where they have no entry. They become dense,
  /// and the goal what that makes of it.
  std::vector<TensorId> find_complete() {
    std::vector<TensorId> sparse;
    for (const TensorId t : operands_) {
      if (!tensor(t).format.all_dense()) sparse.push_back(t);
    }
    constexpr size_t kMostOperands = 6;
    if (sparse.size() > kMostOperands) return {};
    for (const unsigned set : sets_by_size(sparse.size())) {
      std::vector<TensorId> chosen;
      for (size_t i = 0; i < sparse.size(); ++i) {
        if ((set >> i & 1U) != 0) chosen.push_back(sparse[i]);
      }
      if (completed(chosen)) return chosen;
    }
    return {};
  }

  static std::vector<unsigned> sets_by_size(size_t elements) {
    std::vector<unsigned> sets;
    for (unsigned set = 1; set < 1U << elements; ++set) sets.push_back(set);
    std::stable_sort(sets.begin(), sets.end(), [](unsigned a, unsigned b) {
      return __builtin_popcount(a) < __builtin_popcount(b);
    });
    return sets;
  }

  /// Makes these operands dense and changes the goal, if that leaves fewer coordinates to visit.
  bool completed(const std::vector<TensorId>& chosen) {
    std::vector<Format> formats;
    for (const TensorId t : chosen) {
      Format& format = tensor(t).format;
      formats.push_back(std::exchange(format, dense_format(format.rank())));
    }
    Structure structure = structure_of(p_, s_);
    const bool other = !(structure.nodes.back().presence == goal_.nodes.back().presence);
    if (other && gives_numbers(goal_, structure)) {
      goal_ = std::move(structure);
      return true;
    }
    for (size_t i = 0; i < chosen.size(); ++i) tensor(chosen[i]).format = formats[i];
    return false;
  }

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
    std::vector<Facts> candidates = missing_candidates();
    std::stable_partition(candidates.begin(), candidates.end(), [&](const Facts& candidate) {
      return !excludes_infinite_fill(tensor(t), candidate);
    });
    for (const Facts& candidate : candidates) {
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

/// Whether coordinates of a dense level may have no entries: where a level below it is compressed,
/// over loops that the result has not. What is summed over an empty row is absent.
bool has_empty_fibers(const Tensor& tensor, const Statement& statement, const Expr& access,
                      int dim) {
  const std::vector<int>& order = tensor.format.mode_order;
  const auto level = std::find(order.begin(), order.end(), dim);
  return std::any_of(level, order.end(), [&](int below) {
    if (!format_allows_absence(tensor, below)) return false;
    const auto& terms = access.subscripts[static_cast<size_t>(below)].terms;
    const auto& kept = statement.result_indices;
    return std::none_of(terms.begin(), terms.end(), [&](const auto& term) {
      return std::find(kept.begin(), kept.end(), term.first) != kept.end();
    });
  });
}

/// The result as sparse as it could be if everything were known of what is stored.
void sparsify_result(Program& program, const Program& granted, const Statement& statement) {
  Tensor& tensor = program.tensors[static_cast<size_t>(statement.result)];
  if (!tensor.format.all_dense() || tensor.format.levels.empty()) return;
  const AbsentAlong absent = [&](const Expr& access, int dim) {
    const Tensor& read = granted.tensors[static_cast<size_t>(access.tensor)];
    return format_allows_absence(read, dim) || has_empty_fibers(read, statement, access, dim);
  };
  ResultSparsity inferred = infer_result(granted, statement, absent);
  // Where that is no 0 (the maximum of a row), the rows that there are matter more.
  if (inferred.fill != 0.0F) inferred = infer_result(granted, statement);
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

/// Whether the result is declared with another fill than absent operands give it: then all its
/// entries that differ from that fill are there.
bool has_other_fill(const Program& program, const Statement& statement, LostSparsity& lost) {
  const Tensor& result = program.tensors[static_cast<size_t>(statement.result)];
  if (result.format.all_dense()) return false;
  const NodeSparsity root = analyse(program, statement).back();
  if (!root.fill || same_value(*root.fill, result.fill)) return false;
  std::set<int32_t> nodes;
  collect_accesses(root.presence, nodes);
  std::set<TensorId> tensors;
  for (const int32_t node : nodes)
    tensors.insert(statement.nodes[static_cast<size_t>(node)].tensor);
  lost.visited_too.assign(tensors.begin(), tensors.end());
  lost.fill = root.fill;
  return true;
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
      LostSparsity lost{r, s, {}, {}, {}};
      const Statement& statement = region.statements[s];
      // What is declared dense may have all its entries: then facts may hold that exclude its fill.
      if (Search(p, statement).run(lost) ||
          (reads_declared_dense(p, declared, statement) && Search(declared, statement).run(lost)) ||
          has_other_fill(declared, statement, lost)) {
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
