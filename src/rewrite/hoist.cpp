// Parts of an expression that do not depend on all loops around them, as statements of their own.
#include <algorithm>

#include "rewrite/site.h"

namespace fuseflow {

namespace {

class HoistFinder {
 public:
  HoistFinder(const Site& site, const Statement& statement, std::vector<Rewrite>& found)
      : site_(site), statement_(statement), found_(found) {
    const std::vector<IndexId> places = add_indices(site.program, statement, scope_);
    root_ = term_at(statement, static_cast<int32_t>(statement.nodes.size()) - 1, places);
    for (const IndexId index : statement.result_indices) loops_.push_back(index);
  }

  void run() {
    for (Term& child : root_.children) visit_in(root_, child);
  }

 private:
  void visit_in(const Term& parent, Term& at) {
    const size_t outer = loops_.size();
    loops_.insert(loops_.end(), parent.expr.over.begin(), parent.expr.over.end());
    visit(at);
    loops_.resize(outer);
  }

  /// `loops_`: those around the term. The largest terms only: what is in a hoisted one moves along.
  void visit(Term& at) {
    if (computes(at) && free_indices(at).size() < loops_.size()) return hoist(at);
    for (Term& child : at.children) visit_in(at, child);
  }

  void hoist(Term& at) {
    const Term value = at;
    const std::vector<IndexId> indices = free_indices(value);
    if (value.expr.kind == Expr::Kind::apply && is_constant(value)) return;
    Rewrite rewrite;
    rewrite.kind = RewriteKind::hoist;
    rewrite.before = statement_.result;
    KnownTensors known(site_);
    const std::optional<Term> read =
        add_intermediate(scope_, indices, value, statement_, {}, known, rewrite);
    if (!read) return;
    at = *read;
    Statement replaced = statement_of(scope_, statement_.result, statement_.result_indices, root_);
    at = value;
    replaced.from = statement_.from;
    replaced.where = statement_.where;
    rewrite.replaced.push_back(std::move(replaced));
    found_.push_back(std::move(rewrite));
  }

  static bool is_constant(const Term& term) {
    if (!computes(term)) return term.expr.kind == Expr::Kind::constant;
    return std::all_of(term.children.begin(), term.children.end(), is_constant);
  }

  const Site& site_;
  const Statement& statement_;
  std::vector<Rewrite>& found_;
  Scope scope_;
  Term root_;
  std::vector<IndexId> loops_;
};

}  // namespace

void find_hoists(const Site& site, const Statement& statement, std::vector<Rewrite>& found) {
  HoistFinder(site, statement, found).run();
}

}  // namespace fuseflow
