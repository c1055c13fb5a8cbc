#include "import/finish/masked_products.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/sparsity.h"

namespace fuseflow {

namespace {

/// The indices that are in scope at each node: the result's, and those of the reductions around it.
std::vector<std::set<IndexId>> scopes(const Statement& s) {
  std::vector<std::set<IndexId>> scope(s.nodes.size());
  scope.back().insert(s.result_indices.begin(), s.result_indices.end());
  for (size_t n = s.nodes.size(); n-- > 0;) {  // parents before children
    for (const int32_t c : s.nodes[n].children) {
      auto& inner = scope[static_cast<size_t>(c)];
      inner = scope[n];
      inner.insert(s.nodes[n].over.begin(), s.nodes[n].over.end());
    }
  }
  return scope;
}

/// Whether each point of the scope reads an element of its own, so that nothing that is computed
/// where it is read is computed twice.
bool reads_once(const Expr& access, std::set<IndexId> scope) {
  for (const Subscript& s : access.subscripts) {
    if (!s.is_plain()) return false;
    scope.erase(s.plain());
  }
  return scope.empty();
}

class Filtered {
 public:
  Filtered(const Program& program, DraftProgram& draft) : program_(program), draft_(draft) {
    for (size_t s = 0; s < draft.statements.size(); ++s) {
      const Statement& statement = draft.statements[s].statement;
      producer_[statement.result] = s;
      for (const Expr& node : statement.nodes) {
        if (node.kind == Expr::Kind::access) readers_[node.tensor].insert(s);
      }
    }
    masked_.assign(draft.statements.size(), false);
  }

  void run() {
    for (size_t s = draft_.statements.size(); s-- > 0;) {  // consumers before producers
      const Statement& statement = draft_.statements[s].statement;
      const auto scope = scopes(statement);
      const Presence presence = analyse(program_, statement).back().presence;
      for (size_t n = 0; n < statement.nodes.size(); ++n) {
        const Expr& node = statement.nodes[n];
        if (node.kind != Expr::Kind::access || !reads_once(node, scope[n])) continue;
        if (masked_[s] || skips(statement, presence, node)) take(node.tensor, s);
      }
    }
  }

 private:
  /// Whether the statement leaves coordinates out along a dimension in which `access` is dense.
  bool skips(const Statement& statement, const Presence& presence, const Expr& access) const {
    const Tensor& tensor = program_.tensors[static_cast<size_t>(access.tensor)];
    for (size_t d = 0; d < access.subscripts.size(); ++d) {
      if (format_allows_absence(tensor, static_cast<int>(d))) continue;
      const IndexId index = access.subscripts[d].plain();
      if (along(presence, program_, statement, index).kind != Presence::Kind::all) return true;
    }
    return false;
  }

  /// Moves the producer of `tensor`, and what is in its region, to the region of statement
  /// `consumer`, if nothing else reads it.
  void take(TensorId tensor, size_t consumer) {
    const auto found = producer_.find(tensor);
    if (found == producer_.end()) return;
    const int from = draft_.statements[found->second].group;
    const int to = draft_.statements[consumer].group;
    for (size_t s = 0; s < draft_.statements.size(); ++s) {
      if (draft_.statements[s].group != from) continue;
      const TensorId made = draft_.statements[s].statement.result;
      if (program_.tensors[static_cast<size_t>(made)].role == Role::result) return;
      for (const size_t reader : readers_[made]) {
        const int group = draft_.statements[reader].group;
        if (group != from && group != to) return;
      }
    }
    if (readers_[tensor].size() == 1) masked_[found->second] = true;
    for (DraftStatement& s : draft_.statements) {
      if (s.group == from) s.group = to;
    }
  }

  const Program& program_;
  DraftProgram& draft_;
  std::map<TensorId, size_t> producer_;
  std::map<TensorId, std::set<size_t>> readers_;
  std::vector<bool> masked_;  ///< by statement: computed only where its consumer is
};

}  // namespace

void join_masked_products(const Program& program, DraftProgram& draft) {
  Filtered(program, draft).run();
}

}  // namespace fuseflow
