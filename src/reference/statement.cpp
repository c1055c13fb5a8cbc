#include "reference/statement.h"

#include <algorithm>
#include <cmath>

#include "ir/sparsity.h"
#include "reference/results.h"
#include "reference/rounding.h"
#include "reference/selection.h"
#include "reference/walk.h"
#include "support/defect.h"

namespace fuseflow::reference {

StatementEvaluator::StatementEvaluator(EvaluationState& shared, const Statement& statement)
    : shared_(shared),
      program_(shared.program),
      statement_(statement),
      options_(shared.options),
      watch_(shared.watch),
      accesses_(shared, statement, domain_) {
  for (const Index& index : statement.indices) {
    domain_.first.push_back(0);
    domain_.extent.push_back(index.extent);
  }
}

Value StatementEvaluator::run() {
  Results results(statement_, known_shape(program_.tensors[statement_.result]), watch_);
  watch_.limited = true;
  const int32_t root = static_cast<int32_t>(statement_.nodes.size()) - 1;
  try {
    return results.whole(eval(root), free_indices(root), domain_);
  } catch (const ArrayTooLarge&) {
    accesses_.forget();
  }
  block(results);
  return results.value();
}

/// Halves the outermost result loop that can be until what must be spelled out fits.
void StatementEvaluator::block(Results& results) {
  const int32_t root = static_cast<int32_t>(statement_.nodes.size()) - 1;
  const auto evaluate_block = [&] {
    accesses_.forget();
    if (results.add(eval(root), free_indices(root), domain_)) return;
    too_large(program_, statement_, "no sparse operands cover it");
  };
  try {
    return evaluate_block();
  } catch (const ArrayTooLarge&) {
    accesses_.forget();
  }
  const auto& loops = statement_.result_indices;
  const auto loop =
      std::find_if(loops.begin(), loops.end(), [&](IndexId l) { return domain_.extent[l] > 1; });
  if (loop == loops.end()) {  // one element: it takes what it takes
    watch_.limited = false;
    evaluate_block();
    watch_.limited = true;
    return;
  }
  const int64_t first = domain_.first[*loop], extent = domain_.extent[*loop];
  domain_.extent[*loop] = extent / 2;
  block(results);
  domain_.first[*loop] = first + extent / 2;
  domain_.extent[*loop] = extent - extent / 2;
  block(results);
  domain_.first[*loop] = first;
  domain_.extent[*loop] = extent;
}

/// The factors of a product, of any depth.
void StatementEvaluator::split_product(int32_t position, std::vector<int32_t>& factors) const {
  const Expr& node = statement_.nodes[position];
  if (node.kind == Expr::Kind::apply && node.op == Op::mul) {
    for (const int32_t child : node.children) split_product(child, factors);
  } else {
    factors.push_back(position);
  }
}

Loops StatementEvaluator::free_indices(int32_t position) const {
  std::vector<bool> free(statement_.indices.size(), false);
  mark_free(position, free);
  Loops loops;
  for (size_t i = 0; i < free.size(); ++i) {
    if (free[i]) loops.push_back(static_cast<IndexId>(i));
  }
  return loops;
}

void StatementEvaluator::mark_free(int32_t position, std::vector<bool>& free) const {
  const Expr& node = statement_.nodes[position];
  if (node.kind == Expr::Kind::coordinate) free[node.index] = true;
  for (const Subscript& subscript : node.subscripts) {
    for (const auto& term : subscript.terms) free[term.first] = true;
  }
  for (const int32_t child : node.children) mark_free(child, free);
  for (const IndexId index : node.over) free[index] = false;
}

double StatementEvaluator::count(const Loops& over) const {
  double count = 1;
  for (const IndexId index : over) count *= static_cast<double>(domain_.extent[index]);
  return count;
}

Facts StatementEvaluator::facts(const Table& table) {
  Facts facts;
  if (table.tensor < 0) {
    facts = facts_of(*table.values);
  } else {
    auto& known = shared_.facts[table.tensor];
    if (!known) known = facts_of(*table.values);
    facts = *known;
  }
  return table.present == nullptr ? facts : both(facts, facts_of_constant(table.fill));
}

Grid StatementEvaluator::grid(const Table& table) {
  Grid known;
  if (table.tensor < 0) {
    known = grid_of(*table.values);
  } else {
    auto& kept = shared_.grids[table.tensor];
    if (!kept) kept = grid_of(*table.values);
    known = *kept;
  }
  if (table.present == nullptr || table.fill == 0) return known;
  const Grid fill = grid_of({&table.fill, 1});
  if (known.largest == 0) return fill;
  return {std::min(known.step, fill.step), std::max(known.largest, fill.largest)};
}

bool StatementEvaluator::fixed(const std::vector<Table>& factors, double terms) {
  if (!std::all_of(factors.begin(), factors.end(), [](const Table& t) { return t.fixed; })) {
    return false;
  }
  std::vector<Grid> grids;
  grids.reserve(factors.size());
  for (const Table& factor : factors) grids.push_back(grid(factor));
  return order_is_free(grids, terms);
}

bool StatementEvaluator::fixed(const Table& body, const Fold& of) {
  switch (of.reduction) {
    case Reduction::min:
    case Reduction::max:
      return body.fixed;
    case Reduction::prod: {
      constexpr double kMost = 64;  // factors of 1 alone hold more
      const Grid factor = grid(body);
      const double terms = std::min(count(of.over), kMost);
      const std::vector<Grid> factors(static_cast<size_t>(terms), factor);
      const bool ones = factor.step >= 0 && factor.largest <= 1;
      return body.fixed && order_is_free(factors, 1) && (ones || terms < kMost);
    }
    default:
      return fixed(std::vector<Table>{body}, count(of.over));
  }
}

Table StatementEvaluator::eval(int32_t position) {
  const Expr& node = statement_.nodes[position];
  switch (node.kind) {
    case Expr::Kind::access:
      return accesses_.read(position);
    case Expr::Kind::constant: {
      Table one = dense_table(domain_, {}, watch_.array(1, node.constant));
      one.fixed = true;
      return one;
    }
    case Expr::Kind::coordinate:
      return coordinate(node.index);
    case Expr::Kind::apply:
      return apply(position);
    case Expr::Kind::reduce:
      return reduce(position);
  }
  throw Defect("reference: unknown expression");
}

Table StatementEvaluator::coordinate(IndexId index) {
  const auto values = watch_.array(domain_.extent[index]);
  int64_t at = domain_.first[index];  // counted in integers: a float stands still at 2^24
  for (float& value : *values) value = static_cast<float>(at++);
  Table table = dense_table(domain_, {index}, values);
  table.fixed = true;
  return table;
}

// ---- operators

namespace {

bool fixed_result(Op op, const std::vector<Table>& operands) {
  const auto fixed = [](const Table& table) { return table.fixed; };
  return rounds_correctly(op) && std::all_of(operands.begin(), operands.end(), fixed);
}

/// Two operands lie `apart` in an array where a row begins, and come closer by `closing` with each
/// element.
void find_as_one(int64_t apart, int64_t closing, OperatorRow& row) {
  row.all_as_one = apart == 0 && closing == 0;
  if (closing != 0 && apart % closing == 0 && apart / closing >= 0) row.as_one = apart / closing;
}

}  // namespace

/// What a selection takes where its condition is absent is not its first choice, which is asked for
/// at present points only.
std::vector<Table> StatementEvaluator::operands_of(const Expr& node) {
  std::vector<Table> operands;
  for (const int32_t child : node.children) {
    const Table* const condition =
        node.op == Op::where && operands.size() == 1 ? operands.data() : nullptr;
    const bool selects = condition != nullptr && condition->present != nullptr &&
                         condition->fill == 0 && condition->fill_bound == 0;
    operands.push_back(selects ? eval_at(child, condition->present) : eval(child));
  }
  return operands;
}

/// The expression at points of the pattern; elsewhere it is any value (NaN, if it was left out).
Table StatementEvaluator::eval_at(int32_t position, const PatternPtr& pattern) {
  const Expr& node = statement_.nodes[position];
  const Loops loops = free_indices(position);
  const int64_t row = domain_.size(without(loops, pattern->loops));
  const bool covered =
      std::includes(loops.begin(), loops.end(), pattern->loops.begin(), pattern->loops.end());
  if (node.kind != Expr::Kind::apply || !covered ||
      !watch_.pays(pattern->size() * row, domain_.size(loops))) {
    return eval(position);
  }
  std::vector<Table> operands;
  for (const int32_t child : node.children) operands.push_back(eval_at(child, pattern));
  return apply_present(node.op, operands, pattern, std::nanf(""), loops);
}

Table StatementEvaluator::apply(int32_t position) {
  const Expr& node = statement_.nodes[position];
  std::vector<Table> operands = operands_of(node);
  const Loops loops = free_indices(position);
  const auto facts_of_table = [&](const Table& table) { return facts(table); };
  if (const auto walk = choose_walk(node.op, operands, facts_of_table, loops, domain_)) {
    const int64_t row = domain_.size(without(loops, walk->pattern->loops));
    const int64_t all = domain_.size(loops);
    if (watch_.pays(walk->pattern->size() * row, all)) {
      return apply_present(node.op, operands, walk->pattern, walk->fill, loops);
    }
  }
  for (size_t c = 0; c < operands.size(); ++c) {
    operands[c] = spell_out(operands[c], free_indices(node.children[c]), domain_, watch_);
  }
  return apply_everywhere(node, operands, loops);
}

void StatementEvaluator::bound_results(Op op, const OperatorRow& row, float* to) {
  const size_t operands = row.operands.size();
  float x[3] = {}, r[3] = {};
  for (int64_t i = 0; i < row.n; ++i) {
    for (size_t c = 0; c < operands; ++c) {
      x[c] = row.operands[c][i];
      r[c] = row.bounds[c][i];
    }
    to[i] = moved(op, {x, operands}, {r, operands}, row.results[i], row.is_one(i));
    if (to[i] >= 1 && has_steps(op)) ++undecided_;
  }
}

Table StatementEvaluator::apply_present(Op op, const std::vector<Table>& operands,
                                        const PatternPtr& pattern, float fill, const Loops& loops) {
  const Loops dense = without(loops, pattern->loops);
  const int64_t row = domain_.size(dense);
  const auto values = watch_.array(pattern->size() * row);
  const bool exact =
      std::all_of(operands.begin(), operands.end(), [](const Table& t) { return t.exact(); });
  const auto bounds = exact ? nullptr : watch_.array(pattern->size() * row);
  const int64_t chunk = std::max<int64_t>(1, 4096 / std::max<int64_t>(row, 1));
  std::vector<std::vector<float>> read(operands.size(), std::vector<float>(chunk * row));
  std::vector<std::vector<float>> read_bounds(exact ? 0 : operands.size(),
                                              std::vector<float>(chunk * row));
  std::vector<Gather> gathers;
  gathers.reserve(operands.size());
  for (const Table& operand : operands) gathers.emplace_back(operand, *pattern, dense, domain_);
  const float* rows[3] = {};
  const int strides[3] = {1, 1, 1};
  for (int64_t first = 0; first < pattern->size() && row > 0; first += chunk) {
    const int64_t last = std::min(first + chunk, pattern->size());
    const int64_t n = (last - first) * row;
    for (size_t c = 0; c < operands.size(); ++c) {
      gathers[c].read(first, last, read[c].data(), exact ? nullptr : read_bounds[c].data());
      rows[c] = read[c].data();
    }
    float* const to = values->data() + first * row;
    evaluate_many(op, {rows, operands.size()}, {strides, operands.size()}, to, n);
    if (!exact) bound_results(op, {read, read_bounds, to, n}, bounds->data() + first * row);
    watch_.tick(n);
  }
  Table table = sparse_table(domain_, pattern, dense, values, fill);
  table.fixed = fixed_result(op, operands);
  table.bounds = unless_zero(bounds);
  return table;
}

Table StatementEvaluator::apply_everywhere(const Expr& node, const std::vector<Table>& operands,
                                           const Loops& loops) {
  const Op op = node.op;
  const auto values = watch_.array(domain_.size(loops));
  const bool exact =
      std::all_of(operands.begin(), operands.end(), [](const Table& t) { return t.exact(); });
  const auto bounds = exact ? nullptr : watch_.array(domain_.size(loops));
  Table table = dense_table(domain_, loops, values, bounds);
  table.fixed = fixed_result(op, operands);
  if (values->empty()) return table;
  const IndexId inner = loops.empty() ? -1 : loops.back();
  const int64_t row = inner < 0 ? 1 : domain_.extent[inner];
  const Loops outer = without(loops, {inner});
  std::vector<std::vector<float>> copies(operands.size(), std::vector<float>(row));
  std::vector<std::vector<float>> copied_bounds(exact ? 0 : operands.size(),
                                                std::vector<float>(row));
  std::vector<View> views;
  views.reserve(operands.size());
  for (const Table& operand : operands) views.push_back(operand.view());
  std::vector<const View*> pointers;
  pointers.reserve(views.size());
  for (const View& view : views) pointers.push_back(&view);
  float* to = values->data();
  // Where two operands are read of one array, they may be one element of it.
  const auto stride_of = [&](size_t c) { return inner < 0 ? 0 : operands[c].strides[inner]; };
  const bool one_array = operands.size() == 2 && operands[0].values == operands[1].values;
  Selected chosen = exact ? Selected{} : selected_of(statement_, node.children, shared_.values);
  if (operands[chosen.operand].tensor < 0) chosen = {};  // it does not lie as the tensor does
  for_each_point(outer, domain_, pointers, [&](const std::vector<int64_t>& at) {
    const float* rows[3] = {};
    int strides[3] = {};
    for (size_t c = 0; c < operands.size(); ++c) {
      const int64_t stride = stride_of(c);
      rows[c] = views[c].data + at[c];
      strides[c] = stride == 0 ? 0 : 1;
      for (int64_t i = 0; i < row && !exact; ++i) {
        copied_bounds[c][i] = operands[c].bounds ? (*operands[c].bounds)[at[c] + i * stride] : 0.0F;
      }
      if (exact && (stride == 0 || stride == 1)) continue;
      for (int64_t i = 0; i < row; ++i) copies[c][i] = rows[c][i * stride];
      rows[c] = copies[c].data();
      strides[c] = 1;
    }
    evaluate_many(op, {rows, operands.size()}, {strides, operands.size()}, to, row);
    if (!exact) {
      OperatorRow results{copies, copied_bounds, to, row};
      if (chosen.selection != nullptr) {
        results.selected = chosen.selection->certain.data() + at[chosen.operand];
        results.selected_stride = stride_of(chosen.operand);
      }
      if (one_array) find_as_one(at[1] - at[0], stride_of(0) - stride_of(1), results);
      bound_results(op, results, bounds->data() + (to - values->data()));
    }
    to += row;
    watch_.tick(row);
  });
  table.bounds = unless_zero(bounds);
  return table;
}

// ---- reductions

Table StatementEvaluator::reduce(int32_t position) {
  const Expr& node = statement_.nodes[position];
  if (node.reduction == Reduction::sum) return contraction(position);
  if (node.reduction == Reduction::mean) return mean(position);
  const Table body = eval(node.children[0]);
  return fold(body, {node.reduction, node.over, free_indices(position)});
}

/// The sum, divided by the number of terms: of none 0 / 0. Where the sum does not round, neither
/// does it matter in which order it was added, and its quotient is the one that f32 has.
Table StatementEvaluator::mean(int32_t position) {
  const Table sum = contraction(position);
  const auto terms = static_cast<float>(count(statement_.nodes[position].over));
  Table result = mapped(sum, watch_, [=](float v, float) { return v / terms; });
  if (sum.exact()) return result;
  const Table bounds = mapped(sum, watch_, [=](float v, float r) {
    const float x[2] = {v, terms};
    const float bound[2] = {r, 0};
    return moved(Op::div, x, bound, v / terms);
  });
  result.bounds = unless_zero(bounds.values);
  result.fill_bound = bounds.fill;
  return result;
}

/// A sum. One factor with fill 0 may drive it if every other factor is finite, which is looked up
/// in the data, not in the program's facts.
Table StatementEvaluator::contraction(int32_t position) {
  const Expr& node = statement_.nodes[position];
  std::vector<int32_t> positions;
  split_product(node.children[0], positions);
  std::vector<Table> factors;
  factors.reserve(positions.size());
  for (const int32_t factor : positions) factors.push_back(eval(factor));
  const Loops free = free_indices(position);
  Loops all = free;
  all.insert(all.end(), node.over.begin(), node.over.end());
  const int driver = count(node.over) > 0 ? choose_driver(factors, all) : -1;
  if (driver < 0 && factors.size() == 1 && factors[0].present && count(node.over) > 0) {
    return fold(factors[0], {Reduction::sum, node.over, free});
  }
  for (size_t f = 0; f < factors.size(); ++f) {
    if (static_cast<int>(f) == driver) continue;
    factors[f] = spell_out(factors[f], free_indices(positions[f]), domain_, watch_);
  }
  const auto sum_of = [&](const std::vector<Table>& of) {
    std::vector<View> others;
    for (size_t f = 0; f < of.size(); ++f) {
      if (static_cast<int>(f) != driver) others.push_back(of[f].view());
    }
    const Contraction sum{domain_, free, node.over, options_.threads};
    return driver < 0 ? contract(sum, others, watch_)
                      : contract_present(sum, of[driver], others, watch_);
  };
  Table result = sum_of(factors);
  result.fixed = fixed(factors, count(node.over));
  if (options_.bounds && !result.fixed) {
    result.bounds = unless_zero(sum_bounds(result, factors, watch_, sum_of).values);
  }
  return settle(std::move(result), free, domain_, watch_);
}

/// The factor that takes the least work: the points at which it is present times the loops that it
/// does not bind.
int StatementEvaluator::choose_driver(const std::vector<Table>& factors, const Loops& loops) {
  int best = -1;
  std::pair<bool, double> least;
  for (size_t f = 0; f < factors.size(); ++f) {
    const Table& table = factors[f];
    if (table.present == nullptr || table.fill != 0 || table.fill_bound != 0) continue;
    const Loops rest = without(loops, table.present->loops);
    // One that is too large to spell out comes first.
    const bool small = domain_.size(table.present->loops) <= watch_.largest();
    const double work =
        static_cast<double>(table.present->size()) * static_cast<double>(domain_.size(rest));
    if (best >= 0 && std::pair(small, work) >= least) continue;
    best = static_cast<int>(f);
    least = {small, work};
  }
  for (size_t f = 0; f < factors.size() && best >= 0; ++f) {
    if (static_cast<int>(f) != best && !facts(factors[f]).finite) best = -1;
  }
  return best;
}

/// A reduction of what is not a product, with bounds if they are wanted.
Table StatementEvaluator::fold(const Table& body, const Fold& of) {
  Table result = fold_values(body, of);
  result.fixed = fixed(body, of);
  if (!options_.bounds || result.fixed) return settle(std::move(result), of.free, domain_, watch_);
  Table bounds;
  if (of.reduction == Reduction::sum) {
    const auto sum_of = [&](const std::vector<Table>& tables) {
      return fold_values(tables.front(), of);
    };
    bounds = sum_bounds(result, {body}, watch_, sum_of);
  } else {
    const auto fold_of = [&](const Table& table) { return fold_values(table, of); };
    bounds = fold_bounds(of.reduction, result, body, count(of.over), watch_, fold_of);
  }
  result.bounds = unless_zero(bounds.values);
  result.fill_bound = bounds.fill;
  return settle(std::move(result), of.free, domain_, watch_);
}

/// Present points one by one, absent ones at once.
Table StatementEvaluator::fold_values(const Table& body, const Fold& of) {
  const bool sums = of.reduction == Reduction::sum;
  const double terms = count(of.over);
  const Pattern nothing{{}, {}, {0}};
  const Pattern& walk = body.present ? *body.present : nothing;
  const Projection seen = project(domain_, walk, without(walk.loops, of.over));
  const Loops dense = without(of.free, walk.loops);
  const Loops over = without(of.over, walk.loops);
  const double visits = count(over);
  const bool everywhere = seen.pattern->loops.empty();
  const int64_t row = domain_.size(dense);
  const int64_t rows = everywhere ? 1 : seen.pattern->size();
  const auto values = watch_.array(rows * row);
  std::vector<double> results(values->size(), identity(of.reduction));
  std::vector<double> visited(static_cast<size_t>(rows), 0);
  const auto add = [&](double& result, float value) {
    result = sums ? result + value : combine(of.reduction, static_cast<float>(result), value);
  };
  View to{nullptr, 0, domain_.row_major(dense)};
  std::vector<int64_t> at(domain_.extent.size(), 0);
  for (int64_t p = 0; p < walk.size(); ++p) {
    View from = body.view();
    walk.locate(walk.points[p], at);
    for (const IndexId loop : walk.loops) from.base += from.strides[loop] * at[loop];
    from.base += p * body.row;
    const int64_t group = everywhere ? 0 : seen.position[p];
    to.base = group * row;
    visited[group] += visits;
    for_each_point(dense, domain_, {&from, &to}, [&](const std::vector<int64_t>& offsets) {
      View here = from;
      here.base = offsets[0];
      for_each_point(over, domain_, {&here}, [&](const std::vector<int64_t>& point) {
        add(results[offsets[1]], here.data[point[0]]);
      });
      watch_.tick(1 + static_cast<int64_t>(visits));
    });
  }
  for (int64_t i = 0; i < rows * row; ++i) {
    const double absent = body.present ? terms - visited[i / row] : 0;
    if (absent > 0 && sums) results[i] += body.fill * absent;
    if (absent > 0 && !sums) add(results[i], reduced_fill(of.reduction, body.fill, absent));
    (*values)[i] = static_cast<float>(results[i]);
  }
  if (everywhere) return dense_table(domain_, of.free, values);
  double fill = identity(of.reduction);
  if (terms > 0) fill = sums ? body.fill * terms : reduced_fill(of.reduction, body.fill, terms);
  return sparse_table(domain_, seen.pattern, dense, values, static_cast<float>(fill));
}

}  // namespace fuseflow::reference
