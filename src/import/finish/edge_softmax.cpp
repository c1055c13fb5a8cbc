#include "import/finish/edge_softmax.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace fuseflow {

namespace {

class SoftmaxJoiner {
 public:
  explicit SoftmaxJoiner(DraftProgram& draft) : draft_(draft) {
    for (size_t s = 0; s < draft.statements.size(); ++s) {
      for (const Expr& node : draft.statements[s].statement.nodes) {
        if (node.kind == Expr::Kind::access) readers_[node.tensor].insert(s);
      }
    }
  }

  void run() {
    for (size_t s = 0; s < draft_.statements.size(); ++s) {
      if (reduces(s, Reduction::max)) join(s);
    }
  }

 private:
  const Statement& statement(size_t s) const { return draft_.statements[s].statement; }

  bool is_edges(TensorId tensor) const {
    return draft_.tensors[static_cast<size_t>(tensor)].edges >= 0;
  }

  /// Whether an edge has one element.
  bool is_single(TensorId tensor) const {
    const Draft& value = draft_.tensors[static_cast<size_t>(tensor)];
    return std::any_of(draft_.tensors.begin(), draft_.tensors.end(), [&](const Draft& d) {
      return d.edge_matrix && d.edges == value.edges && d.shape.size() == value.shape.size();
    });
  }

  /// Whether the statement reduces values of edges to nodes.
  bool reduces(size_t s, Reduction how) const {
    const Statement& of = statement(s);
    if (is_edges(of.result)) return false;
    const bool reads = std::any_of(of.nodes.begin(), of.nodes.end(), [&](const Expr& node) {
      return node.kind == Expr::Kind::access && is_edges(node.tensor);
    });
    return reads && std::any_of(of.nodes.begin(), of.nodes.end(), [&](const Expr& node) {
             return node.kind == Expr::Kind::reduce && node.reduction == how;
           });
  }

  /// The statement whose value is `op`, perhaps masked, of what statement `s` makes (by itself), if
  /// only that reads it and whatever is in `also`.
  std::optional<size_t> only_reader(size_t s, Op op, const std::set<size_t>& also) const {
    const auto found = readers_.find(statement(s).result);
    if (found == readers_.end()) return std::nullopt;
    std::optional<size_t> reader;
    for (const size_t r : found->second) {
      if (also.contains(r)) continue;
      if (reader) return std::nullopt;
      reader = r;
    }
    if (!reader || !is(*reader, op)) return std::nullopt;
    return reader;
  }

  bool is(size_t s, Op op) const {
    const Statement& of = statement(s);
    const Expr* root = &of.root();
    const bool masked =
        root->kind == Expr::Kind::apply && root->op == Op::where &&
        of.nodes[static_cast<size_t>(root->children[0])].kind == Expr::Kind::access &&
        is_edges(of.nodes[static_cast<size_t>(root->children[0])].tensor);
    if (masked) root = &of.nodes[static_cast<size_t>(root->children[1])];
    return root->kind == Expr::Kind::apply && root->op == op;
  }

  void join(size_t maximum) {
    const auto difference = only_reader(maximum, Op::sub, {});
    if (!difference || !is_edges(statement(*difference).result)) return;
    const auto exponential = only_reader(*difference, Op::exp, {});
    if (!exponential) return;
    // The sum reads the exponentials, and so does the quotient.
    const auto found = readers_.find(statement(*exponential).result);
    if (found == readers_.end() || found->second.size() != 2) return;
    const size_t sum = *found->second.begin();
    const size_t quotient = *found->second.rbegin();
    if (!reduces(sum, Reduction::sum) || !is(quotient, Op::div)) return;
    std::set<size_t> members = {*difference, *exponential, sum};
    // With heads inside of an edge, a loop over edges would find the maximum again for each of
    // them.
    const bool whole = is_single(statement(*exponential).result);
    if (whole) members.insert({maximum, quotient});
    const auto& of_sum = readers_[statement(sum).result];
    if (of_sum.size() != 1) return;
    if (*of_sum.begin() != quotient) {
      const size_t guarded = *of_sum.begin();  // the sum and a small number
      if (!is(guarded, Op::add) || readers_[statement(guarded).result] != std::set{quotient})
        return;
      members.insert(guarded);
    } else {
      draft_.tensors[static_cast<size_t>(statement(sum).result)].nonzero_if =
          statement(maximum).result;
    }
    const size_t last = *members.rbegin();
    const bool inner = std::all_of(members.begin(), members.end(), [&](size_t s) {
      const Role role = draft_.tensors[static_cast<size_t>(statement(s).result)].tensor.role;
      return s == last || role == Role::temporary;
    });
    if (!inner) return;
    for (const size_t s : members) draft_.statements[s].group = draft_.statements[last].group;
  }

  DraftProgram& draft_;
  std::map<TensorId, std::set<size_t>> readers_;
};

}  // namespace

void join_edge_softmax(DraftProgram& draft) {
  SoftmaxJoiner(draft).run();
}

}  // namespace fuseflow
