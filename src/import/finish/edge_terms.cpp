#include "import/finish/edge_terms.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "import/finish/edge_class.h"
#include "support/text.h"

namespace fuseflow {

namespace {

/// What an expression of an edgewise statement depends on.
struct Depends {
  uint32_t lists = 0;  ///< bits: the ends
  bool data = false;   ///< what only edges have
  bool sums = false;   ///< it has a reduction: more work than reading its value
};

class TermSplitter {
 public:
  TermSplitter(DraftProgram& draft, const EdgeClass& edges) : draft_(draft), edges_(edges) {}

  /// False if there are no such terms.
  bool run() {
    for (const auto& [s, made] : edges_.statements) {
      if (made.kind == EdgeStatement::Kind::edgewise) split(s, made.edge);
    }
    std::vector<DraftStatement> all;
    for (size_t s = 0; s < draft_.statements.size(); ++s) {
      const auto found = before_.find(s);
      if (found != before_.end())
        std::move(found->second.begin(), found->second.end(), std::back_inserter(all));
      all.push_back(std::move(draft_.statements[s]));
    }
    draft_.statements = std::move(all);
    return !before_.empty();
  }

 private:
  std::vector<Depends> depends(const Statement& statement, IndexId edge) const {
    std::vector<Depends> result(statement.nodes.size());
    for (size_t n = 0; n < result.size(); ++n) {
      const Expr& node = statement.nodes[n];
      Depends& d = result[n];
      if (node.kind == Expr::Kind::access) {
        const auto value = edges_.values.find(node.tensor);
        if (value == edges_.values.end()) {
          d.data = has_index(node, edge);
        } else {
          d.lists = value->second.lists;
          d.data = value->second.data;
        }
      }
      d.sums = node.kind == Expr::Kind::reduce;
      for (const int32_t c : node.children) {
        const Depends& child = result[static_cast<size_t>(c)];
        d.lists |= child.lists;
        d.data |= child.data;
        d.sums |= child.sums;
      }
    }
    return result;
  }

  /// One end decides it, it is worth a statement, and there are fewer such ends than edges.
  bool is_term(const Depends& d) const {
    if (d.data || !d.sums || d.lists == 0 || (d.lists & (d.lists - 1)) != 0) return false;
    return edges_.lists[static_cast<size_t>(__builtin_ctz(d.lists))].extent < edges_.edges;
  }

  void split(size_t s, IndexId edge) {
    const std::vector<Depends> depends = this->depends(draft_.statements[s].statement, edge);
    if (is_term(depends.back())) return;  // it is one already
    std::vector<int32_t> terms;
    std::vector<int32_t> open{static_cast<int32_t>(depends.size()) - 1};
    std::set<int32_t> seen;
    while (!open.empty()) {
      const int32_t n = open.back();
      open.pop_back();
      if (!seen.insert(n).second) continue;
      const Expr& node = draft_.statements[s].statement.nodes[static_cast<size_t>(n)];
      if (is_term(depends[static_cast<size_t>(n)])) {
        terms.push_back(n);
      } else if (node.kind != Expr::Kind::reduce) {  // what is inside has loops of its own
        open.insert(open.end(), node.children.begin(), node.children.end());
      }
    }
    std::sort(terms.begin(), terms.end());
    for (const int32_t term : terms) outline(s, term, edge);
    if (!terms.empty()) drop_unreached(draft_.statements[s].statement);
  }

  /// The nodes below `root`, with it, ascending.
  static std::set<int32_t> below(const Statement& statement, int32_t root) {
    std::set<int32_t> found;
    std::vector<int32_t> open{root};
    while (!open.empty()) {
      const int32_t n = open.back();
      open.pop_back();
      if (!found.insert(n).second) continue;
      const auto& children = statement.nodes[static_cast<size_t>(n)].children;
      open.insert(open.end(), children.begin(), children.end());
    }
    return found;
  }

  /// Node `root` of statement `s` becomes a read of what a new statement computes.
  void outline(size_t s, int32_t root, IndexId edge) {
    Statement& whole = draft_.statements[s].statement;
    const std::set<int32_t> inside = below(whole, root);
    std::set<IndexId> used{edge};
    std::set<IndexId> summed;
    for (const int32_t n : inside) {
      const Expr& node = whole.nodes[static_cast<size_t>(n)];
      summed.insert(node.over.begin(), node.over.end());
      if (node.kind == Expr::Kind::coordinate) used.insert(node.index);
      for (const Subscript& subscript : node.subscripts) {
        for (const auto& [index, c] : subscript.terms) used.insert(index);
      }
    }
    Statement term;
    term.indices = whole.indices;  // those that it has no use for are dropped later
    term.from = whole.from;
    Expr read;
    read.kind = Expr::Kind::access;
    const Tensor& of = draft_.tensors[static_cast<size_t>(whole.result)].tensor;
    Draft made;
    made.tensor.type = of.type;
    made.tensor.name = unused_name(of.name, ".end", 1, [&](const std::string& name) {
      return std::any_of(draft_.tensors.begin(), draft_.tensors.end(),
                         [&](const Draft& d) { return d.tensor.name == name; });
    });
    for (const IndexId index : used) {
      if (summed.contains(index)) continue;
      term.result_indices.push_back(index);
      made.shape.push_back(whole.indices[static_cast<size_t>(index)].extent);
      read.subscripts.push_back(Subscript{{{index, 1}}, 0});
    }
    std::map<int32_t, int32_t> moved;
    for (const int32_t n : inside) {
      Expr node = whole.nodes[static_cast<size_t>(n)];
      for (int32_t& c : node.children) c = moved.at(c);
      moved[n] = static_cast<int32_t>(term.nodes.size());
      term.nodes.push_back(std::move(node));
    }
    term.result = static_cast<TensorId>(draft_.tensors.size());
    draft_.tensors.push_back(std::move(made));
    read.tensor = term.result;
    whole.nodes[static_cast<size_t>(root)] = std::move(read);
    before_[s].push_back({std::move(term), draft_.statements[s].group});
  }

  static void drop_unreached(Statement& statement) {
    const std::set<int32_t> kept =
        below(statement, static_cast<int32_t>(statement.nodes.size()) - 1);
    std::vector<Expr> nodes;
    std::map<int32_t, int32_t> moved;
    for (const int32_t n : kept) {
      Expr node = std::move(statement.nodes[static_cast<size_t>(n)]);
      for (int32_t& c : node.children) c = moved.at(c);
      moved[n] = static_cast<int32_t>(nodes.size());
      nodes.push_back(std::move(node));
    }
    statement.nodes = std::move(nodes);
  }

  DraftProgram& draft_;
  const EdgeClass& edges_;
  std::map<size_t, std::vector<DraftStatement>> before_;  ///< statements to put in front of others
};

}  // namespace

void split_edge_terms(DraftProgram& draft) {
  for (size_t k = 0;; ++k) {
    const std::vector<EdgeClass> classes = edge_classes(draft);
    if (k >= classes.size()) return;
    DraftProgram split = draft;
    if (!TermSplitter(split, classes[k]).run()) continue;
    const std::vector<EdgeClass> after = edge_classes(split);
    if (k < after.size() && pays(split, after[k])) draft = std::move(split);
  }
}

}  // namespace fuseflow
