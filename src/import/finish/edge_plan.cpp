#include "import/finish/edge_plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "ir/sparsity.h"

namespace fuseflow {

namespace {

constexpr float kNoBound = std::numeric_limits<float>::infinity();

/// Facts of what is not known yet. A plan that relies on one that turns out wrong keeps its mask.
const Facts kHopes = closed(Facts{true, true, false, true, true});

/// Copies `part` to the place of node `at` of `whole`. Indices of its result become those that the
/// access has; the position of another node of `whole` (-1: none) follows.
void inline_statement(Statement& whole, int32_t at, const Statement& part, int32_t& follows) {
  std::vector<IndexId> renamed(part.indices.size(), -1);
  const Expr access = whole.nodes[static_cast<size_t>(at)];
  for (size_t d = 0; d < part.result_indices.size(); ++d)
    renamed[static_cast<size_t>(part.result_indices[d])] = access.subscripts[d].plain();
  for (size_t i = 0; i < renamed.size(); ++i) {
    if (renamed[i] >= 0) continue;
    renamed[i] = static_cast<IndexId>(whole.indices.size());
    whole.indices.push_back(part.indices[i]);
  }
  std::vector<Expr> nodes;
  std::vector<int32_t> moved;
  for (size_t n = 0; n < whole.nodes.size(); ++n) {
    if (static_cast<int32_t>(n) != at) {
      Expr copy = whole.nodes[n];
      for (int32_t& c : copy.children) c = moved[static_cast<size_t>(c)];
      nodes.push_back(std::move(copy));
    } else {
      const auto base = static_cast<int32_t>(nodes.size());
      for (Expr copy : part.nodes) {
        for (int32_t& c : copy.children) c += base;
        for (Subscript& s : copy.subscripts) {
          for (auto& term : s.terms) term.first = renamed[static_cast<size_t>(term.first)];
        }
        for (IndexId& i : copy.over) i = renamed[static_cast<size_t>(i)];
        if (copy.kind == Expr::Kind::coordinate)
          copy.index = renamed[static_cast<size_t>(copy.index)];
        nodes.push_back(std::move(copy));
      }
    }
    moved.push_back(static_cast<int32_t>(nodes.size()) - 1);
  }
  whole.nodes = std::move(nodes);
  if (follows >= 0) follows = moved[static_cast<size_t>(follows)];
}

struct Reader {
  size_t statement = 0;
  int32_t node = -1;  ///< the access
};

class Planner {
 public:
  Planner(DraftProgram& draft, EdgeClass& edges) : draft_(draft), edges_(edges) {}

  AbsentValues run() {
    std::vector<size_t> order;
    for (const auto& [s, made] : edges_.statements) order.push_back(s);
    for (const size_t s : order) {
      const EdgeStatement made = edges_.statements.at(s);
      const TensorId result = statement(s).result;
      if (made.kind != EdgeStatement::Kind::edgewise || edges_.values.at(result).by_node())
        continue;
      const auto natural = absent_at(s, made, plan_);
      if (move_into_reader(s, natural.has_value())) continue;
      plan_[result] = natural ? AbsentValue{*natural, false} : AbsentValue{chosen(s), true};
    }
    return plan_;
  }

 private:
  const Statement& statement(size_t s) const { return draft_.statements[s].statement; }

  /// The value where there is no edge: of an edgewise statement its result, else what it reduces.
  std::optional<float> absent_at(size_t s, const EdgeStatement& made,
                                 const AbsentValues& known) const {
    const Statement& of = statement(s);
    int32_t top = static_cast<int32_t>(of.nodes.size()) - 1;
    if (made.kind == EdgeStatement::Kind::whole) {
      top = of.nodes[static_cast<size_t>(made.reduction)].children[0];
    } else if (made.kind == EdgeStatement::Kind::scatter) {
      const Expr& reduction = of.nodes[static_cast<size_t>(made.reduction)];
      top = of.nodes[static_cast<size_t>(reduction.children[0])].children[1];
    }
    const std::vector<EdgeReads> reads = edge_reads(of, edges_, made.edge);
    std::vector<Operand> values(of.nodes.size());
    for (int32_t n = 0; n <= top; ++n)
      values[static_cast<size_t>(n)] = {absent(of, reads, n, values, known), kHopes};
    const auto value = values[static_cast<size_t>(top)].constant;
    return value && std::isnan(*value) ? std::nullopt : value;
  }

  std::optional<float> absent(const Statement& of, const std::vector<EdgeReads>& reads, int32_t n,
                              const std::vector<Operand>& values, const AbsentValues& known) const {
    const Expr& node = of.nodes[static_cast<size_t>(n)];
    if (reads[static_cast<size_t>(n)] == EdgeReads::edge_data) return 0;
    switch (node.kind) {
      case Expr::Kind::constant:
        return node.constant;
      case Expr::Kind::access: {
        const auto found = known.find(node.tensor);
        if (found == known.end()) return std::nullopt;
        return found->second.value;
      }
      case Expr::Kind::apply: {
        std::vector<Operand> operands;
        for (const int32_t c : node.children) operands.push_back(values[static_cast<size_t>(c)]);
        return constant_result(node.op, operands);
      }
      case Expr::Kind::reduce: {
        const auto body = values[static_cast<size_t>(node.children[0])].constant;
        double count = 1;
        for (const IndexId i : node.over)
          count *= static_cast<double>(of.indices[static_cast<size_t>(i)].extent);
        if (!body) return std::nullopt;
        return reduced_fill(node.reduction, *body, count);
      }
      default:
        return std::nullopt;
    }
  }

  std::vector<Reader> readers(TensorId tensor) const {
    std::vector<Reader> found;
    for (size_t s = 0; s < draft_.statements.size(); ++s) {
      if (moved_.contains(s)) continue;
      const auto& nodes = statement(s).nodes;
      for (size_t n = 0; n < nodes.size(); ++n) {
        if (nodes[n].kind == Expr::Kind::access && nodes[n].tensor == tensor)
          found.push_back({s, static_cast<int32_t>(n)});
      }
    }
    return found;
  }

  /// Whether the access reads each element once: nothing that moves there is computed twice.
  bool reads_once(const Reader& reader) const {
    const Statement& of = statement(reader.statement);
    std::set<IndexId> scope(of.result_indices.begin(), of.result_indices.end());
    int32_t below = reader.node;
    for (auto n = static_cast<size_t>(reader.node) + 1; n < of.nodes.size(); ++n) {
      const auto& children = of.nodes[n].children;
      if (std::find(children.begin(), children.end(), below) == children.end()) continue;
      scope.insert(of.nodes[n].over.begin(), of.nodes[n].over.end());
      below = static_cast<int32_t>(n);
    }
    scope.erase(edges_.statements.at(reader.statement).node);  // follows from the edge
    const Expr& access = of.nodes[static_cast<size_t>(reader.node)];
    for (const Subscript& s : access.subscripts) {
      if (!s.is_plain() || scope.erase(s.plain()) == 0) return false;
    }
    return scope.empty();
  }

  /// Whether a sum reads just this.
  bool summed(const Reader& reader) const {
    const Statement& of = statement(reader.statement);
    const EdgeStatement& made = edges_.statements.at(reader.statement);
    int32_t read = reader.node;
    if (made.kind == EdgeStatement::Kind::scatter) {
      const Expr& sum = of.nodes[static_cast<size_t>(made.reduction)];
      const int32_t choice = sum.children[0];
      if (of.nodes[static_cast<size_t>(choice)].children[1] == read) read = choice;
    }
    return std::any_of(of.nodes.begin(), of.nodes.end(), [&](const Expr& node) {
      return node.kind == Expr::Kind::reduce && node.reduction == Reduction::sum &&
             node.children[0] == read;
    });
  }

  bool move_into_reader(size_t s, bool absent_by_itself) {
    const TensorId result = statement(s).result;
    const std::vector<Reader> all = readers(result);
    if (all.size() != 1 || !edges_.statements.contains(all[0].statement) || !reads_once(all[0]))
      return false;
    const bool product = statement(s).root().kind == Expr::Kind::apply &&
                         statement(s).root().op == Op::mul && summed(all[0]);
    if (absent_by_itself && !product) return false;
    EdgeStatement& reader = edges_.statements.at(all[0].statement);
    inline_statement(draft_.statements[all[0].statement].statement, all[0].node, statement(s),
                     reader.reduction);
    edges_.statements.erase(s);
    edges_.values.erase(result);
    moved_.insert(s);
    return true;
  }

  /// The value with the fewest masks in what reads it.
  float chosen(size_t s) const {
    float best = 0;
    int fewest = std::numeric_limits<int>::max();
    for (const float tried : std::array{0.0F, -kNoBound, kNoBound}) {
      const int masks = masks_after(s, tried);
      if (masks < fewest) {
        fewest = masks;
        best = tried;
      }
    }
    return best;
  }

  int masks_after(size_t s, float value) const {
    AbsentValues known = plan_;
    known[statement(s).result] = {value, true};
    int masks = 0;
    for (auto at = edges_.statements.upper_bound(s); at != edges_.statements.end(); ++at) {
      const auto& [later, made] = *at;
      const Statement& of = statement(later);
      if (made.kind == EdgeStatement::Kind::gather) continue;
      const auto natural = absent_at(later, made, known);
      if (made.kind == EdgeStatement::Kind::edgewise) {
        if (edges_.values.at(of.result).by_node()) continue;
        masks += natural ? 0 : 1;
        known[of.result] = {natural.value_or(0), !natural};
      } else {
        const Reduction how = of.nodes[static_cast<size_t>(made.reduction)].reduction;
        masks += natural == identity(how) ? 0 : 1;
      }
    }
    return masks;
  }

  DraftProgram& draft_;
  EdgeClass& edges_;
  AbsentValues plan_;
  std::set<size_t> moved_;
};

}  // namespace

AbsentValues plan_edges(DraftProgram& draft, EdgeClass& edges) {
  return Planner(draft, edges).run();
}

}  // namespace fuseflow
