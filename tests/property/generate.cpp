// Random programs: directed acyclic graphs of einsums, maps, reductions, masks and broadcasts over
// random formats, mode orders and densities, cut into random regions with random placements.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "ir/sparsity.h"
#include "lower/region_indices.h"
#include "recipe.h"
#include "tensor/random.h"

namespace fuseflow::testing {

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

/// An expression's node and what keeps its arithmetic exact: |value| <= magnitude, a multiple of
/// 2^-scale.
struct Piece {
  int32_t node = -1;
  double magnitude = 1;
  int scale = 0;
  bool exact() const { return std::ldexp(magnitude, scale) <= (1 << 23); }
};

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed, 77) {}

  Recipe run() {
    const int classes = 1 + below(4);
    for (int c = 0; c < classes; ++c) recipe_.extents.push_back(pick({1, 2, 2, 3, 4, 4, 5, 7}));
    recipe_.program.name = "random";
    const int inputs = 1 + below(4);
    for (int t = 0; t < inputs; ++t) add_input(t);
    const int statements = 1 + below(chance(0.3) ? 7 : 4);
    for (int s = 0; s < statements; ++s) add_statement(s);
    choose_results();
    cut_regions();
    return std::move(recipe_);
  }

 private:
  int below(int bound) { return static_cast<int>(random_.below(static_cast<uint64_t>(bound))); }
  bool chance(double p) { return random_.uniform() < p; }
  template <typename T>
  T pick(std::initializer_list<T> list) {
    return *(list.begin() + below(static_cast<int>(list.size())));
  }

  Format random_format(int rank) {
    Format format = dense_format(rank);
    const bool dense = chance(0.3);
    for (LevelKind& level : format.levels) {
      if (!dense && chance(0.6)) level = LevelKind::compressed;
    }
    if (chance(0.4)) {
      for (int i = rank - 1; i > 0; --i)
        std::swap(format.mode_order[i], format.mode_order[below(i + 1)]);
    }
    return format;
  }

  Tensor tensor(const std::string& name, const std::vector<int>& classes) {
    Tensor result;
    result.name = name;
    for (const int c : classes) result.shape.push_back({recipe_.extents[c], ""});
    result.format = random_format(static_cast<int>(classes.size()));
    return result;
  }

  std::vector<int> random_classes() {
    const int rank = pick({0, 1, 1, 2, 2, 2, 2, 3});
    std::vector<int> classes;
    classes.reserve(static_cast<size_t>(rank));
    for (int d = 0; d < rank; ++d)
      classes.push_back(below(static_cast<int>(recipe_.extents.size())));
    return classes;
  }

  void add_input(int number) {
    const std::vector<int> classes = random_classes();
    Tensor t = tensor("a" + std::to_string(number), classes);
    t.role = chance(0.3) ? Role::constant : Role::input;
    t.fill = chance(0.75) ? 0.0F : pick({1.0F, -kInf, 2.0F, kInf});
    const double density = pick({0.0, 0.1, 0.3, 0.3, 0.6, 1.0});
    const bool infinities = chance(0.01);
    const bool positive = chance(0.3);
    int64_t size = 1;
    for (const int c : classes) size *= recipe_.extents[c];
    bool finite = std::isfinite(t.fill);
    t.source.kind = Source::Kind::inline_values;
    bool nonnegative = t.fill >= 0;
    bool nonzero = t.fill != 0;
    for (int64_t i = 0; i < size; ++i) {
      float value = t.fill;
      if (chance(density)) value = static_cast<float>(positive ? 1 + below(3) : below(7) - 3);
      if (infinities && chance(0.2)) value = chance(0.5) ? kInf : -kInf;
      finite = finite && std::isfinite(value);
      nonnegative = nonnegative && value >= 0;
      nonzero = nonzero && value != 0;
      t.source.values.push_back(value);
    }
    t.facts.finite = finite && chance(0.8);
    t.facts.no_nan = true;
    t.facts.nonnegative = nonnegative && chance(0.5);
    t.facts.nonzero = nonzero && chance(0.5);
    t.facts.below_inf = t.facts.finite;
    recipe_.program.tensors.push_back(std::move(t));
    recipe_.tensor_classes.push_back(classes);
    magnitudes_.push_back({0, 3, 0});
  }

  void add_statement(int number) {
    for (int attempt = 0; attempt < 50; ++attempt) {
      statement_ = {};
      classes_ = random_classes();
      const std::vector<int> result_classes = classes_;
      for (size_t i = 0; i < classes_.size(); ++i) {
        statement_.result_indices.push_back(static_cast<IndexId>(i));
        scope_.push_back(static_cast<IndexId>(i));
      }
      const Piece root = expression(1 + below(3));
      scope_.clear();
      if (root.node < 0 || !root.exact() || statement_.nodes.size() > 14) continue;
      if (statement_.nodes.back().kind == Expr::Kind::constant && chance(0.9)) continue;
      finish_statement(number, result_classes, root);
      return;
    }
    scope_.clear();
  }

  void finish_statement(int number, const std::vector<int>& result_classes, const Piece& root) {
    for (size_t i = 0; i < classes_.size(); ++i) {
      statement_.indices.push_back({"i" + std::to_string(i), recipe_.extents[classes_[i]], true});
    }
    statement_.result = static_cast<TensorId>(recipe_.program.tensors.size());
    Tensor t = tensor("t" + std::to_string(number), result_classes);
    recipe_.program.tensors.push_back(t);
    tidy(statement_, classes_);
    const ResultSparsity known = infer_result(recipe_.program, statement_);
    Tensor& made = recipe_.program.tensors.back();
    if (known.fill && chance(0.85)) {
      made.fill = *known.fill;
    } else if (chance(0.2)) {
      made.fill = 1;
    }
    if (chance(0.6)) made.facts = both(known.facts, facts_of_constant(made.fill));
    recipe_.tensor_classes.push_back(result_classes);
    recipe_.index_classes.push_back(classes_);
    magnitudes_.push_back({0, root.magnitude, root.scale});
    statements_.push_back(statement_);
  }

  Piece add(Expr node, double magnitude, int scale) {
    statement_.nodes.push_back(std::move(node));
    return {static_cast<int32_t>(statement_.nodes.size()) - 1, magnitude, scale};
  }

  Piece expression(int depth) {
    const double kind = random_.uniform();
    if (depth == 0 || kind < 0.1) return leaf();
    if (kind < 0.25) return unary(depth);
    if (kind < 0.30) return select(depth);
    if (kind < 0.60) return reduction(depth);
    return binary(depth);
  }

  Piece leaf() {
    if (chance(0.08)) {
      Expr node;
      node.constant = static_cast<float>(below(5) - 2);
      return add(node, 2, 0);
    }
    if (chance(0.04) && !scope_.empty()) {
      Expr node;
      node.kind = Expr::Kind::coordinate;
      node.index = scope_[below(static_cast<int>(scope_.size()))];
      return add(node, 8, 0);
    }
    return access();
  }

  /// An access whose dimensions find indices of their classes; shifted or constant now and then.
  Piece access() {
    const int count = static_cast<int>(recipe_.program.tensors.size());
    for (int attempt = 0; attempt < 8; ++attempt) {
      const int t = chance(0.4) ? count - 1 - below(std::min(count, 2)) : below(count);
      Expr node;
      node.kind = Expr::Kind::access;
      node.tensor = t;
      bool fits = true;
      for (const int wanted : recipe_.tensor_classes[t]) {
        const auto subscript = find_subscript(wanted);
        fits = fits && subscript;
        if (subscript) node.subscripts.push_back(*subscript);
      }
      if (fits) return add(node, magnitudes_[t].magnitude, magnitudes_[t].scale);
    }
    Expr node;
    node.constant = 2;
    return add(node, 2, 0);
  }

  std::optional<Subscript> find_subscript(int wanted) {
    std::vector<IndexId> fitting;
    for (const IndexId index : scope_) {
      if (classes_[index] == wanted) fitting.push_back(index);
    }
    Subscript subscript;
    if (chance(0.02)) {
      subscript.offset = below(static_cast<int>(recipe_.extents[wanted]));
      return subscript;
    }
    if (fitting.empty()) return std::nullopt;
    // The newest index more often: reductions then reduce something.
    const size_t at = chance(0.4) ? fitting.size() - 1
                                  : static_cast<size_t>(below(static_cast<int>(fitting.size())));
    subscript.terms = {{fitting[at], 1}};
    if (chance(0.04)) subscript.offset = below(3) - 1;
    return subscript;
  }

  Piece unary(int depth) {
    const Piece a = expression(depth - 1);
    if (a.node < 0) return a;
    Expr node;
    node.kind = Expr::Kind::apply;
    node.op = pick({Op::neg, Op::abs, Op::relu, Op::relu, Op::sign, Op::logical_not});
    node.children = {a.node};
    const bool small = node.op == Op::sign || node.op == Op::logical_not;
    return small ? add(node, 1, 0) : add(node, a.magnitude, a.scale);
  }

  Piece binary(int depth) {
    const Piece a = expression(depth - 1);
    if (a.node < 0) return a;
    const Piece b = expression(depth - 1);
    if (b.node < 0) return b;
    Expr node;
    node.kind = Expr::Kind::apply;
    node.op = pick({Op::mul, Op::mul, Op::mul, Op::mul, Op::add, Op::add, Op::add, Op::sub, Op::max,
                    Op::min, Op::lt, Op::eq, Op::logical_and});
    node.children = {a.node, b.node};
    const int scale = std::max(a.scale, b.scale);
    switch (node.op) {
      case Op::mul:
        return add(node, a.magnitude * b.magnitude, a.scale + b.scale);
      case Op::add:
      case Op::sub:
        return add(node, a.magnitude + b.magnitude, scale);
      case Op::max:
      case Op::min:
        return add(node, std::max(a.magnitude, b.magnitude), scale);
      default:
        return add(node, 1, 0);
    }
  }

  Piece select(int depth) {
    Expr node;
    node.kind = Expr::Kind::apply;
    node.op = Op::where;
    double magnitude = 0;
    int scale = 0;
    for (int c = 0; c < 3; ++c) {
      Piece piece;
      if (c == 2 && chance(0.5)) {
        Expr constant;
        constant.constant = pick({0.0F, -kInf, 1.0F});
        piece = add(constant, 1, 0);
      } else {
        piece = expression(depth - 1);
      }
      if (piece.node < 0) return piece;
      node.children.push_back(piece.node);
      if (c > 0) magnitude = std::max(magnitude, piece.magnitude);
      if (c > 0) scale = std::max(scale, piece.scale);
    }
    return add(node, magnitude, scale);
  }

  Piece reduction(int depth) {
    Expr node;
    node.kind = Expr::Kind::reduce;
    const int count = chance(0.2) ? 2 : 1;
    double entries = 1;
    for (int i = 0; i < count; ++i) {
      const int c = below(static_cast<int>(recipe_.extents.size()));
      classes_.push_back(c);
      node.over.push_back(static_cast<IndexId>(classes_.size()) - 1);
      entries *= static_cast<double>(recipe_.extents[c]);
      scope_.push_back(node.over.back());
    }
    const Piece body = expression(chance(0.6) ? std::max(depth, 1) : depth - 1);
    scope_.resize(scope_.size() - node.over.size());
    if (body.node < 0) return body;
    node.reduction = pick({Reduction::sum, Reduction::sum, Reduction::sum, Reduction::max,
                           Reduction::min, Reduction::mean});
    const bool power = std::has_single_bit(static_cast<uint64_t>(entries));
    if (node.reduction == Reduction::mean && !power) node.reduction = Reduction::sum;
    node.children = {body.node};
    if (node.reduction == Reduction::sum) return add(node, body.magnitude * entries, body.scale);
    const int bits = node.reduction == Reduction::mean ? static_cast<int>(std::log2(entries)) : 0;
    return add(node, body.magnitude * (bits > 0 ? entries : 1), body.scale + bits);
  }

  /// Intermediates that nobody uses are results; of the others a few.
  void choose_results() {
    for (size_t s = 0; s < statements_.size(); ++s) {
      bool used = false;
      for (const Statement& other : statements_) {
        for (const Expr& node : other.nodes) {
          used = used || (node.kind == Expr::Kind::access && node.tensor == statements_[s].result);
        }
      }
      if (!used || chance(0.25)) recipe_.program.tensors[statements_[s].result].role = Role::result;
    }
  }

  void cut_regions() {
    const double cut = pick({0.0, 0.0, 0.3, 1.0});
    for (size_t s = 0; s < statements_.size(); ++s) {
      if (s == 0 || chance(cut)) {
        recipe_.program.regions.emplace_back();
        recipe_.program.regions.back().name = "r" + std::to_string(recipe_.program.regions.size());
      }
      recipe_.program.regions.back().statements.push_back(statements_[s]);
    }
    for (size_t r = 0; r < recipe_.program.regions.size(); ++r) place(recipe_.program.regions[r]);
  }

  void place(Region& region) {
    for (const Statement& producer : region.statements) {
      bool used = false;
      for (const Statement& consumer : region.statements) {
        for (const Expr& node : consumer.nodes) {
          used = used || (node.kind == Expr::Kind::access && node.tensor == producer.result);
        }
      }
      if (!used || chance(0.6)) continue;
      const Placement placement =
          pick({Placement::scratchpad, Placement::memory, Placement::recompute, Placement::stream});
      region.schedule.placements.push_back({producer.result, -1, placement});
    }
  }

  Random random_;
  Recipe recipe_;
  std::vector<Piece> magnitudes_;  // by tensor
  std::vector<Statement> statements_;
  Statement statement_;       // under construction
  std::vector<int> classes_;  // of its indices
  std::vector<IndexId> scope_;
};

}  // namespace

void tidy(Statement& statement, std::vector<int>& classes) {
  std::vector<bool> reached(statement.nodes.size(), false);
  reached.back() = true;
  for (size_t n = statement.nodes.size(); n-- > 0;) {
    if (!reached[n]) continue;
    for (const int32_t child : statement.nodes[n].children) reached[child] = true;
  }
  std::vector<int32_t> moved(statement.nodes.size(), -1);
  std::vector<Expr> nodes;
  for (size_t n = 0; n < statement.nodes.size(); ++n) {
    if (!reached[n]) continue;
    moved[n] = static_cast<int32_t>(nodes.size());
    nodes.push_back(statement.nodes[n]);
    for (int32_t& child : nodes.back().children) child = moved[child];
  }
  std::vector<bool> used(statement.indices.size(), false);
  for (const IndexId index : statement.result_indices) used[index] = true;
  for (const Expr& node : nodes) {
    for (const IndexId index : node.over) used[index] = true;
  }
  std::vector<IndexId> place(statement.indices.size(), -1);
  std::vector<Index> indices;
  std::vector<int> kept;
  for (size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) continue;
    place[i] = static_cast<IndexId>(indices.size());
    indices.push_back(statement.indices[i]);
    kept.push_back(classes[i]);
  }
  for (IndexId& index : statement.result_indices) index = place[index];
  for (Expr& node : nodes) {
    for (IndexId& index : node.over) index = place[index];
    for (Subscript& subscript : node.subscripts) {
      for (auto& term : subscript.terms) term.first = place[term.first];
    }
    if (node.index >= 0) node.index = place[node.index];
  }
  statement.nodes = std::move(nodes);
  statement.indices = std::move(indices);
  classes = std::move(kept);
}

Recipe generate_recipe(uint64_t seed) {
  return Generator(seed).run();
}

void shuffle_order(Program& program, size_t region, uint64_t seed) {
  Random random(seed, 78);
  const RegionIndices indices = region_indices(program, region);
  const size_t count = indices.indices.size();
  std::vector<int> waiting(count, 0);
  for (const OrderEdge& edge : indices.edges) {
    if (edge.kind != EdgeKind::preference) ++waiting[edge.after];
  }
  std::vector<std::string> order;
  std::vector<bool> done(count, false);
  while (order.size() < count) {
    std::vector<int> free;
    for (size_t i = 0; i < count; ++i) {
      if (!done[i] && waiting[i] == 0) free.push_back(static_cast<int>(i));
    }
    if (free.empty()) return;
    const int next = free[random.below(free.size())];
    done[next] = true;
    order.push_back(indices.indices[next].name);
    for (const OrderEdge& edge : indices.edges) {
      if (edge.kind != EdgeKind::preference && edge.before == next) --waiting[edge.after];
    }
  }
  program.regions[region].schedule.order = order;
}

}  // namespace fuseflow::testing
