#include "lower/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

#include "ir/names.h"
#include "ir/sparsity.h"
#include "ops/sign.h"

namespace fuseflow {

namespace {

using Kind = ExprNode::Kind;

bool same(float a, float b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

/// Whether nodes are one: all else follows.
bool is_same_value(const ExprNode& a, const ExprNode& b) {
  return a.kind == b.kind && a.tensor == b.tensor && a.op == b.op && a.reduction == b.reduction &&
         std::bit_cast<uint32_t>(a.constant) == std::bit_cast<uint32_t>(b.constant) &&
         a.children == b.children && a.subscripts == b.subscripts && a.over == b.over &&
         a.dropped == b.dropped;
}

/// Of what is_same_value() compares.
uint64_t hash_of_value(const ExprNode& node) {
  uint64_t hash = static_cast<uint64_t>(node.kind);
  const auto add = [&](int64_t number) {
    hash = (hash ^ static_cast<uint64_t>(number)) * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= hash >> 32;
  };
  add(node.tensor);
  add(static_cast<int64_t>(node.op));
  add(std::bit_cast<int32_t>(node.constant));
  for (const Affine& affine : node.subscripts) {
    for (const auto& [index, factor] : affine.terms) add(index + (factor << 20));
    add(affine.offset);
  }
  for (const std::vector<int>* list : {&node.children, &node.over, &node.dropped}) {
    for (const int number : *list) add(number);
  }
  return hash;
}

class ExpressionBuilder {
 public:
  ExpressionBuilder(const Program& program, const Region& region, const RegionIndices& indices)
      : program_(program), region_(region), indices_(indices), extents_(indices.extents()) {}

  Expressions run() {
    for (const Instance& instance : indices_.instances) add_instance(instance);
    return std::move(result_);
  }

 private:
  void add_instance(const Instance& instance) {
    const Statement& statement = region_.statements[instance.statement];
    std::vector<int> made;
    for (size_t n = 0; n < statement.nodes.size(); ++n) {
      if (instance.producers[n] >= 0) {
        made.push_back(use_of(instance.producers[n]));
        continue;
      }
      ExprNode node = translate(statement.nodes[n], instance.map, made);
      node.statement = instance.statement;
      made.push_back(intern(std::move(node)));
    }
    admit(result_.nodes[made.back()], program_.tensors[statement.result]);
    result_.of_instance.push_back(made.back());
  }

  /// The value of an intermediate as its consumers see it. Where its type has compressed levels and
  /// the values may be the fill though nothing of the structure says so (after a rectifier),
  /// entries that are the fill do not go on: a stored tensor would not have them either.
  int use_of(int producer) {
    const Instance& instance = indices_.instances[static_cast<size_t>(producer)];
    const Statement& statement = region_.statements[instance.statement];
    const Tensor& tensor = program_.tensors[statement.result];
    const int value = result_.of_instance[static_cast<size_t>(producer)];
    const ExprNode& child = result_.nodes[static_cast<size_t>(value)];
    if (!drops_by_value(child, tensor)) return value;
    ExprNode node;
    node.kind = Kind::filtered;
    node.constant = tensor.fill;
    node.children = {value};
    node.statement = instance.statement;
    std::set<int> dropped;
    for (int level = 0; level < tensor.format.rank(); ++level) {
      if (tensor.format.levels[level] == LevelKind::dense) continue;
      const int dimension = tensor.format.mode_order[level];
      for (const auto& term : instance.map[statement.result_indices[dimension]].terms) {
        dropped.insert(term.first);
      }
    }
    node.dropped.assign(dropped.begin(), dropped.end());
    return node.dropped.empty() ? value : intern(std::move(node));
  }

  /// Whether values of `child` may be the fill where its structure has entries.
  static bool drops_by_value(const ExprNode& child, const Tensor& tensor) {
    const bool known = child.fill && same(*child.fill, tensor.fill);
    const bool rectified = child.kind == Kind::apply && child.op == Op::relu && tensor.fill == 0;
    return (!known || rectified) && satisfies(tensor.fill, child.facts);
  }

  /// What is known of a tensor is known of the values that define it. A fill that it excludes never
  /// occurs (the maximum of a row without entries, where every row has a finite one; the root of a
  /// degree, where no node is isolated): the value is then there at every coordinate.
  static void admit(ExprNode& node, const Tensor& tensor) {
    node.facts = joined(node.facts, admitted_facts(tensor));
    if (node.kind != Kind::reduce && node.kind != Kind::apply) return;
    if (!node.fill || satisfies(*node.fill, node.facts)) return;
    node.fill.reset();
    node.patterns.clear();
  }

  ExprNode translate(const Expr& expr, const std::vector<Affine>& map,
                     const std::vector<int>& made) const {
    ExprNode node;
    node.op = expr.op;
    node.reduction = expr.reduction;
    for (const int32_t child : expr.children) node.children.push_back(made[child]);
    switch (expr.kind) {
      case Expr::Kind::access:
        node.kind = Kind::view;
        node.tensor = expr.tensor;
        for (const Subscript& s : expr.subscripts) node.subscripts.push_back(substitute(s, map));
        break;
      case Expr::Kind::constant:
        node.constant = expr.constant;
        break;
      case Expr::Kind::coordinate:
        node.kind = Kind::coordinate;
        node.subscripts.push_back(map[expr.index]);
        break;
      case Expr::Kind::apply:
        node.kind = Kind::apply;
        break;
      case Expr::Kind::reduce:
        node.kind = Kind::reduce;
        for (const IndexId index : expr.over) node.over.push_back(map[index].plain());
        std::sort(node.over.begin(), node.over.end());
        break;
    }
    if (node.kind != Kind::apply) node.op = Op::add;
    if (node.kind != Kind::reduce) node.reduction = Reduction::sum;
    return node;
  }

  int intern(ExprNode node) {
    const uint64_t hash = hash_of_value(node);
    const auto [first, last] = interned_.equal_range(hash);
    for (auto known = first; known != last; ++known) {
      if (is_same_value(result_.nodes[known->second], node)) return known->second;
    }
    const int number = static_cast<int>(result_.nodes.size());
    interned_.emplace(hash, number);
    analyse_node(node, number);
    result_.nodes.push_back(std::move(node));
    return number;
  }

  const ExprNode& child(const ExprNode& node, size_t c) const {
    return result_.nodes[node.children[c]];
  }

  /// `value`: the node's number; nodes of equal values are one.
  void analyse_node(ExprNode& node, int value) {
    std::vector<int>& free = node.free;
    for (const Affine& affine : node.subscripts) {
      for (const auto& term : affine.terms) free.push_back(term.first);
    }
    for (size_t c = 0; c < node.children.size(); ++c) {
      free.insert(free.end(), child(node, c).free.begin(), child(node, c).free.end());
      node.has_reduce = node.has_reduce || child(node, c).has_reduce;
    }
    std::sort(free.begin(), free.end());
    free.erase(std::unique(free.begin(), free.end()), free.end());
    std::erase_if(free, [&](int index) {
      return std::find(node.over.begin(), node.over.end(), index) != node.over.end();
    });
    switch (node.kind) {
      case Kind::view:
        return analyse_view(node);
      case Kind::constant:
        node.fill = node.constant;
        node.facts = facts_of_constant(node.constant);
        return;
      case Kind::coordinate:
        node.facts = coordinate_facts(node.subscripts[0]);
        return;
      case Kind::apply:
        return analyse_apply(node, value);
      case Kind::reduce:
        return analyse_reduce(node);
      case Kind::filtered:
        node.fill = node.constant;
        node.facts = child(node, 0).facts;
        node.by_structure = child(node, 0).fill && same(*child(node, 0).fill, node.constant);
        return;
    }
  }

  Facts coordinate_facts(const Affine& affine) const {
    const auto [low, high] = range_of(affine, extents_);
    Facts facts{true, true, false, false, true};
    // Wider by more than rounding to a float moves an end.
    const int64_t below = std::abs(low) / (1 << 20);
    const int64_t above = std::abs(high) / (1 << 20);
    facts.least = static_cast<float>(low - below);
    facts.largest = static_cast<float>(high + above);
    return closed(facts);
  }

  void analyse_view(ExprNode& node) const {
    const Tensor& tensor = program_.tensors[node.tensor];
    bool sparse = false;
    bool padded = false;
    for (const LevelKind level : tensor.format.levels) sparse = sparse || level != LevelKind::dense;
    for (size_t d = 0; d < node.subscripts.size(); ++d) {
      const auto [low, high] = range_of(node.subscripts[d], extents_);
      padded = padded || low < 0 || high >= tensor.shape[d].value;
    }
    node.facts = admitted_facts(tensor);
    if (sparse || padded) node.facts = both(node.facts, facts_of_constant(tensor.fill));
    if (sparse) node.fill = tensor.fill;
  }

  std::optional<float> constant_for(const ExprNode& node, unsigned present) const {
    std::vector<Operand> operands;
    for (size_t c = 0; c < node.children.size(); ++c) {
      const bool any = ((present >> c) & 1U) != 0;
      operands.push_back({any ? std::nullopt : child(node, c).fill, child(node, c).facts});
    }
    return constant_result(node.op, operands);
  }

  void analyse_apply(ExprNode& node, int value) {
    unsigned always = 0;
    std::vector<Operand> operands;
    for (size_t c = 0; c < node.children.size(); ++c) {
      const ExprNode& operand = child(node, c);
      if (!operand.fill) always |= 1U << c;
      const bool constant = operand.kind == Kind::constant;
      operands.push_back({constant ? operand.fill : std::nullopt, operand.facts});
    }
    node.facts = signed_.apply(node.op, value, node.children, operands);
    node.fill = constant_for(node, always);
    if (!node.fill) return;
    for (unsigned pattern = 0; pattern < 1U << node.children.size(); ++pattern) {
      if ((pattern & always) != always) continue;
      const auto covers = [&](unsigned set) { return (set & pattern) == set; };
      if (std::any_of(node.patterns.begin(), node.patterns.end(), covers)) continue;
      const auto constant = constant_for(node, pattern);
      if (!constant || !same(*constant, *node.fill)) node.patterns.push_back(pattern);
    }
  }

  void analyse_reduce(ExprNode& node) const {
    node.has_reduce = true;
    for (const int index : node.over) {
      node.count *= static_cast<double>(std::max<int64_t>(extents_[index], 0));
    }
    const ExprNode& body = child(node, 0);
    node.facts = reduced_facts(node.reduction, body.facts, node.count);
    if (body.fill) node.fill = reduced_fill(node.reduction, *body.fill, node.count);
  }

  const Program& program_;
  const Region& region_;
  const RegionIndices& indices_;
  const std::vector<int64_t> extents_;
  std::unordered_multimap<uint64_t, int> interned_;  ///< by hash
  SignedFacts signed_;
  Expressions result_;
};

/// Below an apply node, without entering reductions: the reductions, and the compressed levels'
/// indices of the views.
struct SubscriptReach {
  std::set<int> reductions;
  std::map<int, TensorId> sparse;  // index -> a view with a compressed level there
};

void reach(const Program& program, const Expressions& expressions, int node, SubscriptReach& result,
           std::set<int>& seen) {
  if (!seen.insert(node).second) return;
  const ExprNode& expr = expressions.nodes[node];
  if (expr.kind == Kind::reduce) {
    result.reductions.insert(node);
    return;
  }
  if (expr.kind == Kind::view) {
    const Format& format = program.tensors[expr.tensor].format;
    for (int level = 0; level < format.rank(); ++level) {
      const Affine& affine = expr.subscripts[format.mode_order[level]];
      if (format.levels[level] == LevelKind::dense || !affine.is_shift()) continue;
      result.sparse.emplace(affine.terms[0].first, expr.tensor);
    }
  }
  if (expr.kind == Kind::filtered && !expr.by_structure) {  // it visits more than its views have
    SubscriptReach inside;
    std::set<int> seen_inside;
    reach(program, expressions, expr.children[0], inside, seen_inside);
    result.reductions.insert(inside.reductions.begin(), inside.reductions.end());
    return;
  }
  for (const int child : expr.children) reach(program, expressions, child, result, seen);
}

}  // namespace

Expressions build_expressions(const Program& program, const Region& region,
                              const RegionIndices& indices) {
  return ExpressionBuilder(program, region, indices).run();
}

std::vector<OrderEdge> mask_preferences(const Program& program, const Expressions& expressions) {
  std::vector<OrderEdge> edges;
  int group = 0;
  for (const ExprNode& node : expressions.nodes) {
    if (node.kind != Kind::apply || !node.fill || node.children.size() < 2) continue;
    const auto filters = [&](size_t mask) {  // no value of its own where the mask has none
      return std::all_of(node.patterns.begin(), node.patterns.end(),
                         [&](unsigned p) { return ((p >> mask) & 1U) != 0; });
    };
    // No operand of a sum of many terms filters: what is below each partial sum is not looked for.
    bool any = false;
    for (size_t c = 0; c < node.children.size(); ++c) any = any || filters(c);
    if (!any) continue;
    std::vector<SubscriptReach> reaches;
    for (const int child : node.children) {
      std::set<int> seen;
      reaches.emplace_back();
      reach(program, expressions, child, reaches.back(), seen);
    }
    for (size_t c = 0; c < node.children.size(); ++c) {
      for (size_t mask = 0; mask < node.children.size(); ++mask) {
        if (mask == c || !filters(mask)) continue;
        for (const int reduction : reaches[c].reductions) {
          const ExprNode& expr = expressions.nodes[reduction];
          for (const auto& [index, tensor] : reaches[mask].sparse) {
            if (!std::binary_search(expr.free.begin(), expr.free.end(), index)) continue;
            for (const int over : expr.over) {
              edges.push_back({index, over, EdgeKind::preference, "", tensor, -1, ++group});
            }
          }
        }
      }
    }
  }
  return edges;
}

}  // namespace fuseflow
