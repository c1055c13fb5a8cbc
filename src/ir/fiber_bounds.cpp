// Each rule gives a number B such that, whatever the indices outside of `over` are, there are
// values of those in `over` where the node is no less than B, or NaN. Rounding keeps the order of
// values, so that rules compute in f32.
#include "ir/fiber_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/element_type.h"

namespace fuseflow {

namespace {

constexpr float kNoBound = -std::numeric_limits<float>::infinity();

/// The larger of two bounds; NaN is none.
float better(float a, float b) {
  return b > a ? b : a;
}

/// What a type makes of the bound of a value.
float stored(float bound, ElementType type) {
  if (type == ElementType::boolean) return bound > 0 ? 1.0F : kNoBound;
  if (is_integer(type)) return kNoBound;  // of NaN it makes 0
  return rounded(bound, type);
}

}  // namespace

float FiberBounds::operator()(const Statement& statement, const Expr& reduction,
                              const std::vector<NodeSparsity>& below) {
  constexpr int kMostSteps = 1000;  // definitions that share what they read are walked repeatedly
  steps_ = kMostSteps;
  return reduce({statement, below}, reduction, Over(statement.indices.size(), false));
}

float FiberBounds::reduce(const Frame& frame, const Expr& node, Over over) {
  const auto body = node.children[0];
  const bool sum =
      node.reduction == Reduction::sum && frame.nodes[static_cast<size_t>(body)].facts.least >= 0;
  if (!sum && node.reduction != Reduction::max) return kNoBound;
  for (const IndexId index : node.over) {
    if (frame.statement.indices[static_cast<size_t>(index)].extent <= 0) return kNoBound;
    over[static_cast<size_t>(index)] = true;
  }
  return at(frame, body, over);
}

float FiberBounds::at(const Frame& frame, int32_t node, const Over& over) {
  const Expr& e = frame.statement.nodes[static_cast<size_t>(node)];
  const float least = frame.nodes[static_cast<size_t>(node)].facts.least;
  if (--steps_ < 0) return least;
  switch (e.kind) {
    case Expr::Kind::access:
      return better(least, access(frame, e, over));
    case Expr::Kind::apply:
      return better(least, apply(frame, e, over));
    case Expr::Kind::reduce:
      return better(least, reduce(frame, e, over));
    default:
      return least;
  }
}

float FiberBounds::apply(const Frame& frame, const Expr& node, const Over& over) {
  const auto facts = [&](size_t c) -> const Facts& {
    return frame.nodes[static_cast<size_t>(node.children[c])].facts;
  };
  const auto bound = [&](size_t c) { return at(frame, node.children[c], over); };
  /// One operand where it is large, the other anywhere.
  const auto one_of_two = [&](auto&& f) {
    return better(f(bound(0), facts(1).least), f(facts(0).least, bound(1)));
  };
  switch (node.op) {
    case Op::add:
      return one_of_two([](float x, float y) { return x + y; });
    case Op::sub:
      if (reaches_maximum(frame, node, over)) return 0;
      return bound(0) - facts(1).largest;
    case Op::mul:
      if (!(facts(0).least >= 0 && facts(1).least >= 0)) return kNoBound;
      return one_of_two([](float x, float y) { return x * y; });
    case Op::div:
      if (!(facts(0).least >= 0 && facts(1).least > 0)) return kNoBound;
      return bound(0) / facts(1).largest;
    case Op::max:
      return better(bound(0), bound(1));
    case Op::min:
      return one_of_two([](float x, float y) { return std::min(x, y); });
    case Op::relu:
    case Op::abs:
      return bound(0);
    case Op::f16:
    case Op::bf16: {
      const float most = bound(0);
      return evaluate(node.op, {&most, 1});
    }
    case Op::sqrt:
      return std::sqrt(std::max(bound(0), 0.0F));
    case Op::exp:  // of the library, which may be wrong by a few units in the last place
      return std::exp(bound(0)) * (1 - 1e-6F);
    case Op::where:  // NaN is not 0 and chooses the same
      return bound(0) > 0 ? facts(1).least : kNoBound;
    case Op::gt:  // NaN is larger than nothing
      if (!facts(0).no_nan || !facts(1).no_nan) return kNoBound;
      return bound(0) > facts(1).largest ? 1.0F : kNoBound;
    default:
      return kNoBound;
  }
}

float FiberBounds::access(const Frame& frame, const Expr& node, const Over& over) {
  const Tensor& tensor = p_.tensors[static_cast<size_t>(node.tensor)];
  std::vector<bool> along;
  std::vector<bool> seen(over.size(), false);
  for (size_t d = 0; d < node.subscripts.size(); ++d) {
    if (!node.subscripts[d].is_plain()) return kNoBound;
    const auto index = static_cast<size_t>(node.subscripts[d].plain());
    const int64_t extent = frame.statement.indices[index].extent;
    if (seen[index] || extent < 0 || extent != tensor.shape[d].value) return kNoBound;
    seen[index] = true;
    along.push_back(over[index]);
  }
  if (std::find(along.begin(), along.end(), true) == along.end()) return kNoBound;
  if (tensor.given()) return data_(node.tensor, along).value_or(kNoBound);
  return stored(computed(node.tensor, along), tensor.type);
}

/// Whether it is what some of the fiber are less than their maximum: x[i, j] - m[i], where m[i] is
/// max(j) x[i, j]. One of them is 0 less (or NaN).
bool FiberBounds::reaches_maximum(const Frame& frame, const Expr& difference,
                                  const Over& over) const {
  const Expr& x = frame.statement.nodes[static_cast<size_t>(difference.children[0])];
  const Expr& m = frame.statement.nodes[static_cast<size_t>(difference.children[1])];
  if (x.kind != Expr::Kind::access || m.kind != Expr::Kind::access) return false;
  for (const TensorId t : {x.tensor, m.tensor}) {
    if (!holds_f32(p_.tensors[static_cast<size_t>(t)].type)) return false;
  }
  const Statement* definition = definition_(m.tensor);
  if (definition == nullptr || definition->root().kind != Expr::Kind::reduce) return false;
  const Expr& root = definition->root();
  const Expr& body = definition->nodes[static_cast<size_t>(root.children[0])];
  if (root.reduction != Reduction::max || body.kind != Expr::Kind::access) return false;
  if (body.tensor != x.tensor) return false;
  /// The statement's index for each of the definition's.
  std::vector<IndexId> counterpart(definition->indices.size(), -1);
  for (size_t d = 0; d < m.subscripts.size(); ++d) {
    if (!m.subscripts[d].is_plain()) return false;
    counterpart[static_cast<size_t>(definition->result_indices[d])] = m.subscripts[d].plain();
  }
  for (size_t d = 0; d < x.subscripts.size(); ++d) {
    if (!x.subscripts[d].is_plain() || !body.subscripts[d].is_plain()) return false;
    const IndexId here = x.subscripts[d].plain();
    const auto there = static_cast<size_t>(body.subscripts[d].plain());
    IndexId& same = counterpart[there];
    const bool free = same < 0 && over[static_cast<size_t>(here)] &&
                      std::find(counterpart.begin(), counterpart.end(), here) == counterpart.end();
    if (free) same = here;
    if (same != here) return false;
    if (frame.statement.indices[static_cast<size_t>(here)].extent !=
        definition->indices[there].extent)
      return false;
  }
  return true;
}

float FiberBounds::computed(TensorId tensor, const std::vector<bool>& along) {
  const Statement* definition = definition_(tensor);
  if (definition == nullptr) return kNoBound;
  const auto [found, fresh] = analysed_.try_emplace(tensor);
  if (fresh) found->second = analyse(p_, *definition);
  Over over(definition->indices.size(), false);
  for (size_t d = 0; d < along.size(); ++d) {
    over[static_cast<size_t>(definition->result_indices[d])] = along[d];
  }
  const Frame frame{*definition, found->second};
  return at(frame, static_cast<int32_t>(definition->nodes.size()) - 1, over);
}

}  // namespace fuseflow
