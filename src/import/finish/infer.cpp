// Facts: proved by ops/' calculus, or assumed up to overflow. Formats from fills.
#include "import/finish/infer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "import/finish/finite_masks.h"
#include "import/finish/mask_use.h"
#include "import/finish/masks.h"
#include "import/finish/round_results.h"
#include "import/values/constant_stats.h"
#include "ir/fiber_bounds.h"
#include "ir/inside.h"
#include "ir/sparsity.h"
#include "ir/value_numbers.h"
#include "ops/sign.h"
#include "support/error.h"
#include "support/suggest.h"
#include "tensor/rounding.h"

namespace fuseflow {

namespace {

/// The values of an input or constant, or null where they are not kept.
const ConstantTensor* known_values(const Draft& given) {
  return given.data ? given.data.get() : given.values.get();
}

/// Bounds of sums from the values that the importer has. For one statement: inference adds others.
/// Of a softmax's maximum and sum, it knows by their roles (masks.h).
ReductionBound sum_bounds(const Program& program, const DraftProgram& draft,
                          const Statement& statement) {
  if (draft.tensors[static_cast<size_t>(statement.result)].nonzero_if >= 0) return {};
  const auto definition = [&draft](TensorId tensor) -> const Statement* {
    const auto defines = [&](const DraftStatement& s) { return s.statement.result == tensor; };
    const auto found = std::find_if(draft.statements.begin(), draft.statements.end(), defines);
    return found == draft.statements.end() ? nullptr : &found->statement;
  };
  const auto data = [&draft](TensorId tensor,
                             const std::vector<bool>& along) -> std::optional<float> {
    const Draft& given = draft.tensors[static_cast<size_t>(tensor)];
    const ConstantTensor* values = known_values(given);
    if (values == nullptr) return std::nullopt;
    return least_fiber_maximum(*values, along);
  };
  return [bounds = FiberBounds(program, definition, data)](
             const Statement& s, const Expr& reduction,
             const std::vector<NodeSparsity>& below) mutable {
    return reduction.reduction == Reduction::sum ? bounds(s, reduction, below) : Facts{}.least;
  };
}

/// Operators whose result is finite for finite operands, except by overflow.
bool finite_up_to_overflow(Op op, const std::vector<Facts>& x) {
  switch (op) {
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::exp:
    case Op::softplus:
    case Op::elu:
    case Op::leaky_relu:
    case Op::f16:
    case Op::bf16:
      return true;
    case Op::div:
      return x[1].nonzero;
    case Op::reciprocal:
    case Op::rsqrt:
      return x[0].nonzero;
    case Op::log:
      return x[0].nonzero && x[0].nonnegative;
    default:
      return false;
  }
}

/// Whether a power of finite numbers is finite, except by overflow.
bool finite_power(const Statement& s, const Expr& node, const Facts& base) {
  const Expr& exponent = s.nodes[static_cast<size_t>(node.children[1])];
  if (exponent.kind != Expr::Kind::constant) return false;
  const float power = exponent.constant;
  if (power < 0) return base.nonnegative && base.nonzero;
  return base.nonnegative || std::floor(power) == power;
}

/// What operands imply beyond ops/' calculus, up to overflow: powers, masked scores.
void refine_facts(const Statement& s, const Expr& node, const std::vector<Facts>& x, Facts& f) {
  // Masked scores: -inf or finite, which stays so under what stands between a mask and a softmax.
  const bool below = x[0].no_nan && x[0].below_inf;
  const bool other = x.size() > 1 && x[1].no_nan && x[1].below_inf;
  const bool shift =
      (node.op == Op::add && other) || (node.op == Op::sub && x.size() > 1 && x[1].finite);
  if (below && shift) f.no_nan = f.below_inf = true;
  if (below && node.op == Op::exp) f.finite = f.no_nan = f.below_inf = true;
  const bool scale =
      (node.op == Op::mul || node.op == Op::div) && x[1].finite && x[1].nonnegative && x[1].nonzero;
  if (below && scale) f.no_nan = f.below_inf = true;
  if (node.op == Op::pow && x[0].finite && finite_power(s, node, x[0]))
    f.finite = f.no_nan = f.below_inf = true;
  if (f.no_nan && f.least >= 0) f.nonnegative = true;
}

bool all_finite(const std::vector<Facts>& facts) {
  return std::all_of(facts.begin(), facts.end(), [](const Facts& f) { return f.finite; });
}

/// Facts of an access, the fill included where it may be read.
Facts access_facts(const Program& program, const Statement& statement, const Facts& expected,
                   const Expr& access) {
  const Tensor& tensor = program.tensors[static_cast<size_t>(access.tensor)];
  bool present = tensor.format.all_dense();
  for (size_t d = 0; d < access.subscripts.size(); ++d) {
    present = present && is_plain_inside(statement, access.subscripts[d], tensor.shape[d]);
  }
  return present ? expected : both(expected, facts_of_constant(tensor.fill));
}

/// What a test for infinity is of: x in `x == inf` or `isinf(x)`; null: it is none.
const Expr* tested_for_infinity(const std::vector<Expr>& nodes, const Expr& test) {
  if (test.kind != Expr::Kind::apply) return nullptr;
  const auto child = [&](size_t c) { return &nodes[static_cast<size_t>(test.children[c])]; };
  if (test.op == Op::isinf) return child(0);
  if (test.op != Op::eq) return nullptr;
  const Expr& bound = *child(1);
  const bool infinite = bound.kind == Expr::Kind::constant &&
                        bound.constant == std::numeric_limits<float>::infinity();
  return infinite ? child(0) : nullptr;
}

/// Whether `where(test, other, x)` has `other` wherever x is inf: the test is of x, here or in a
/// statement of its own. (So are degrees of nodes without edges left out: deg^-0.5 is inf there.)
bool replaces_infinity(const DraftProgram& draft, const Statement& s, const Expr& where) {
  const Expr& test = s.nodes[static_cast<size_t>(where.children[0])];
  const Expr& x = s.nodes[static_cast<size_t>(where.children[2])];
  if (x.kind != Expr::Kind::access) return false;
  if (const Expr* tested = tested_for_infinity(s.nodes, test)) return *tested == x;
  if (test.kind != Expr::Kind::access || test.subscripts != x.subscripts) return false;
  for (const auto& [made, group] : draft.statements) {
    if (made.result != test.tensor) continue;
    const Expr* tested = tested_for_infinity(made.nodes, made.root());
    if (tested == nullptr || tested->tensor != x.tensor) return false;
    for (size_t d = 0; d < tested->subscripts.size(); ++d) {
      const Subscript& at = tested->subscripts[d];
      if (!at.is_plain() || at.plain() != made.result_indices[d]) return false;
    }
    return tested->kind == Expr::Kind::access;
  }
  return false;
}

/// Facts of a statement's value, taking for granted that finite numbers do not overflow. `some` are
/// operands of which only finite entries matter.
Facts expected_facts(const Program& program, const DraftProgram& draft, const Statement& statement,
                     const std::set<TensorId>& some = {}) {
  const std::vector<Facts>& expected = draft.expected;
  const std::vector<NodeSparsity> proved =
      analyse(program, statement, {}, sum_bounds(program, draft, statement));
  const std::vector<int> numbers = value_numbers(statement);
  const auto number_of = [&](size_t n) {
    return numbers.empty() ? static_cast<int>(n) : numbers[n];
  };
  SignedFacts signs;
  std::vector<Facts> facts;
  for (size_t n = 0; n < statement.nodes.size(); ++n) {
    const Expr& node = statement.nodes[n];
    Facts f = proved[n].facts;
    if (node.kind == Expr::Kind::access) {
      f = access_facts(program, statement, expected[static_cast<size_t>(node.tensor)], node);
      if (some.contains(node.tensor)) f.finite = f.no_nan = f.below_inf = true;
    }
    if (node.kind == Expr::Kind::apply) {
      std::vector<Operand> operands;
      std::vector<Facts> x;
      std::vector<int> values;
      for (const int32_t c : node.children) {
        values.push_back(number_of(static_cast<size_t>(c)));
        const Expr& child = statement.nodes[static_cast<size_t>(c)];
        x.push_back(facts[static_cast<size_t>(c)]);
        operands.push_back({std::nullopt, x.back()});
        if (child.kind == Expr::Kind::constant) operands.back().constant = child.constant;
      }
      f = signs.apply(node.op, number_of(n), values, operands);
      if (all_finite(x) && finite_up_to_overflow(node.op, x))
        f.finite = f.no_nan = f.below_inf = true;
      refine_facts(statement, node, x, f);
      const bool positive = node.op == Op::where && x[1].finite && x[2].nonnegative;
      if (positive && replaces_infinity(draft, statement, node))
        f.finite = f.no_nan = f.below_inf = true;
    }
    if (node.kind == Expr::Kind::reduce) {
      const Facts& body = facts[static_cast<size_t>(node.children[0])];
      const bool averaged = node.reduction == Reduction::sum || node.reduction == Reduction::mean;
      if (body.finite) f.finite = f.no_nan = f.below_inf = true;
      if (averaged && body.nonnegative) f.nonnegative = true;
      const Expr& read = statement.nodes[static_cast<size_t>(node.children[0])];
      if (node.reduction == Reduction::max && read.kind == Expr::Kind::access &&
          draft.tensors[static_cast<size_t>(read.tensor)].rows_finite) {
        f.finite = f.no_nan = f.below_inf = true;
      } else if (node.reduction == Reduction::max && body.no_nan && body.below_inf &&
                 !body.finite) {
        const auto open = finite_where(draft, statement, node.children[0]);
        if (open && every_row_open(draft, statement, node.over, open->all))
          f.finite = f.no_nan = f.below_inf = true;
      }
    }
    facts.push_back(f);
  }
  return facts.back();
}

/// Whether a value with these facts is never `fill`.
bool excluded(float fill, const Facts& facts) {
  return (facts.finite && !std::isfinite(fill)) || (facts.nonzero && fill == 0) ||
         (facts.nonnegative && !(fill >= 0)) || (facts.no_nan && std::isnan(fill)) ||
         (facts.below_inf && fill == std::numeric_limits<float>::infinity());
}

/// Facts of a statement's result: expected_facts(), and what the importer knows of this tensor by
/// its role (a softmax's denominator).
Facts expected_result_facts(const Program& program, const DraftProgram& draft,
                            const Statement& statement) {
  Facts expected = expected_facts(program, draft, statement);
  const Draft& d = draft.tensors[static_cast<size_t>(statement.result)];
  if (d.overflow != MaskOverflow::none) expected.finite = false;
  if (d.values) {  // a sum of masks that is known to be -inf somewhere
    const Facts known = facts_of(*d.values);
    expected.finite = expected.finite && known.finite;
    expected.no_nan = expected.no_nan && known.no_nan;
    expected.below_inf = expected.below_inf && known.below_inf;
  }
  if (d.nonzero_if >= 0 && draft.expected[static_cast<size_t>(d.nonzero_if)].finite)
    expected.nonzero = true;
  return expected;
}

/// Whether a statement between a mask and its softmax leaves a finite entry in every row: it does
/// if it is finite where the masked scores are.
bool keeps_finite_rows(const Program& program, const DraftProgram& draft,
                       const Statement& statement) {
  if (!carries_finite_rows(draft, statement)) return false;
  std::set<TensorId> open;
  for (const Expr& node : statement.nodes) {
    if (node.kind != Expr::Kind::access || !leads_from_mask(draft, node.tensor)) continue;
    if (draft.tensors[static_cast<size_t>(node.tensor)].rows_finite) open.insert(node.tensor);
  }
  return expected_facts(program, draft, statement, open).finite;
}

bool same_analysis(const std::vector<NodeSparsity>& a, const std::vector<NodeSparsity>& b) {
  if (a.back().fill.has_value() != b.back().fill.has_value()) return false;
  for (size_t n = 0; n < a.size(); ++n) {
    if (!(a[n].presence == b[n].presence)) return false;
  }
  return true;
}

}  // namespace

void assume_where_needed(Program& program, const DraftProgram& draft, const Statement& statement) {
  std::vector<std::pair<TensorId, Facts>> tried;
  const std::vector<NodeSparsity> without = analyse(program, statement);
  for (const Expr& node : statement.nodes) {
    if (node.kind != Expr::Kind::access) continue;
    Tensor& tensor = program.tensors[static_cast<size_t>(node.tensor)];
    const Facts expected = draft.expected[static_cast<size_t>(node.tensor)];
    const bool more =
        (expected.finite && !tensor.facts.finite) || (expected.nonzero && !tensor.facts.nonzero);
    const bool open = tensor.role == Role::temporary || tensor.role == Role::result;
    if (!more || !open || tensor.assumed == expected) continue;
    tried.emplace_back(node.tensor, tensor.assumed);
    const bool whole = tensor.format.all_dense();
    tensor.assumed.finite =
        expected.finite && !tensor.facts.finite && (whole || std::isfinite(tensor.fill));
    tensor.assumed.nonzero = expected.nonzero && !tensor.facts.nonzero && whole;
  }
  // Take back, one at a time, what makes no difference.
  const std::vector<NodeSparsity> with = analyse(program, statement);
  if (same_analysis(without, with)) {
    for (auto it = tried.rbegin(); it != tried.rend(); ++it) {
      program.tensors[static_cast<size_t>(it->first)].assumed = it->second;
    }
    return;
  }
  for (auto it = tried.rbegin(); it != tried.rend(); ++it) {
    Tensor& tensor = program.tensors[static_cast<size_t>(it->first)];
    const Facts assumed = tensor.assumed;
    tensor.assumed = it->second;
    if (!same_analysis(analyse(program, statement), with)) tensor.assumed = assumed;
  }
}

namespace {

/// Bytes of a matrix of f32 (of higher rank: its last two dimensions, many times) with so many
/// entries, stored as sparse_format(rank): coordinates and values of 4 bytes, and where rows begin.
double compressed_bytes(const std::vector<int64_t>& shape, int64_t present) {
  double bytes = 8.0 * static_cast<double>(present);
  double fibers = 1;
  for (size_t d = 0; d + 1 < shape.size(); ++d) {
    fibers *= static_cast<double>(shape[d]);
    // A row that is there has a beginning; a compressed level above it a coordinate too.
    const double rows = d == 0 ? fibers : std::min(fibers, static_cast<double>(present));
    bytes += 4 * (rows + 1) + (d == 0 ? 0 : 4 * rows);
  }
  return bytes;
}

/// A bound dense array that is a mask: its absent entries are worth more than its own format. One
/// that is mostly zeros takes fewer bytes without them.
void settle_input(Program& program, const DraftProgram& draft, size_t at) {
  const Draft& d = draft.tensors[at];
  Tensor& tensor = program.tensors[at];
  const auto rank = static_cast<int>(d.shape.size());
  if (d.pinned || d.data || !d.values || d.values->sparse() || rank < 2) return;
  const FillChoice choice =
      choose_fill(*d.values, mask_use(draft, static_cast<TensorId>(at)), kMaskDensity);
  const bool mask = choice.mask && choice.density <= kMaskDensity;
  const double dense = 4.0 * static_cast<double>(d.values->size());
  const double compressed = compressed_bytes(d.shape, choice.present);
  const bool smaller = tensor.source.kind == Source::Kind::file && !choice.mask &&
                       choice.fill == 0 && compressed < dense;
  if (!mask && !smaller) return;
  tensor.format = sparse_format(rank);
  tensor.fill = choice.fill;
  tensor.facts = both(tensor.facts, facts_of_constant(choice.fill));
  if (mask) return;
  tensor.source.nnz = choice.present;
  report(Severity::note,
         fmt::format("import: %{} is stored compressed: {:.3g} % of its entries are not 0 ({:.0f} "
                     "bytes instead of {:.0f}); --format {}={} keeps it dense",
                     tensor.name, 100 * choice.density, compressed, dense, tensor.name,
                     to_string(dense_format(rank))));
}

}  // namespace

void finalize_constant(Program& program, const DraftProgram& draft, size_t at,
                       const OnnxModel& model, const ImportOptions& options) {
  const Draft& d = draft.tensors[at];
  Tensor& tensor = program.tensors[at];
  tensor.facts = facts_of(*d.data);
  const auto rank = static_cast<int>(d.shape.size());
  const FillChoice choice =
      choose_fill(*d.data, mask_use(draft, static_cast<TensorId>(at)), kMaskDensity);
  const bool sparse = rank >= 2 && choice.density <= (choice.mask ? kMaskDensity : kSparseDensity);
  tensor.format = sparse ? sparse_format(rank) : dense_format(rank);
  tensor.fill = sparse ? choice.fill : 0;
  if (sparse) tensor.facts = both(tensor.facts, facts_of_constant(choice.fill));
  if (tensor.source.kind == Source::Kind::none) {
    tensor.source = constant_source(d, tensor.name, draft, model, options);
    if (sparse && choice.fill == 0) tensor.source.nnz = choice.present;
  }
}

void finalize_constants(Program& program, const DraftProgram& draft, const OnnxModel& model,
                        const ImportOptions& options) {
  for (size_t t = 0; t < draft.tensors.size(); ++t) {
    if (draft.tensors[t].data) finalize_constant(program, draft, t, model, options);
    if (draft.tensors[t].tensor.role == Role::input) settle_input(program, draft, t);
  }
}

void apply_formats(Program& program, DraftProgram& draft, const ImportOptions& options) {
  for (const auto& [name, text] : options.formats) {
    const TensorId id = find_tensor(program, name);
    std::vector<std::string> names;
    for (const Tensor& t : program.tensors) names.push_back(t.name);
    if (id < 0) {
      throw Error(ExitCode::rejected, fmt::format("--format {}: the program has no such tensor{}",
                                                  name, did_you_mean(name, names)));
    }
    Tensor& tensor = program.tensors[static_cast<size_t>(id)];
    try {
      tensor.format = parse_format(text);
      check_format(tensor.format, static_cast<int>(tensor.shape.size()));
    } catch (const Error& error) {
      throw Error(ExitCode::rejected, fmt::format("--format {}: {}", name, error.what()));
    }
    const Draft& d = draft.tensors[static_cast<size_t>(id)];
    if (tensor.format.all_dense()) continue;
    if (d.data) {
      tensor.fill = choose_fill(*d.data, mask_use(draft, id), kMaskDensity).fill;
    }
    tensor.facts = both(tensor.facts, facts_of_constant(tensor.fill));
  }
}

void expect_given_facts(const Program& program, DraftProgram& draft) {
  draft.expected.clear();
  for (const Tensor& t : program.tensors) draft.expected.push_back(t.facts);
}

namespace {

/// The format that the model declares; its levels are of no use where dimensions were cut.
std::optional<Format> declared_format(const Draft& draft, int rank) {
  if (!draft.declared || draft.declared->rank() == rank) return draft.declared;
  if (draft.declared->all_dense()) return dense_format(rank);
  return std::nullopt;
}

}  // namespace

void infer_statement(Program& program, DraftProgram& draft, Statement& statement,
                     const ImportOptions& options, bool stored) {
  assume_where_needed(program, draft, statement);
  const auto id = static_cast<size_t>(statement.result);
  Tensor& tensor = program.tensors[id];
  const ResultSparsity inferred =
      infer_result(program, statement, {}, sum_bounds(program, draft, statement));
  const auto rank = static_cast<int>(tensor.shape.size());
  Format format = dense_format(rank);
  bool sparse = false;
  for (size_t d = 0; d < inferred.absent_along.size(); ++d) {
    if (!inferred.absent_along[d]) continue;
    format.levels[d] = LevelKind::compressed;
    sparse = true;
  }
  // Zeros that the structure does not have are dropped by value.
  const bool thinned = !inferred.fill && draft.tensors[id].thinned && rank > 0;
  if (thinned) {
    format.levels.back() = LevelKind::compressed;
    sparse = true;
  }
  std::optional<Format> wanted = declared_format(draft.tensors[id], rank);
  if (options.formats.contains(tensor.name)) wanted = tensor.format;
  if (wanted) {
    format = *wanted;
    sparse = !format.all_dense();
  }
  const float fill = inferred.fill.value_or(0);
  const std::optional<Op> rounds = rounding_operator(tensor.type);
  if (sparse && rounds && !holds(tensor.type, fill) && stored && options.round_results) {
    round_value(statement, *rounds);  // absent entries are rounded as the others are
    return infer_statement(program, draft, statement, options, stored);
  }
  const Facts expected = expected_result_facts(program, draft, statement);
  // The maximum of masked scores, for one, where each row has an open entry.
  const bool never_absent = !wanted && sparse && excluded(fill, joined(expected, tensor.assumed));
  // What is read out of range must read 0 there.
  if (never_absent || (sparse && fill != 0 && draft.tensors[id].read_outside)) {
    sparse = false;
    format = dense_format(rank);
  }
  tensor.format = format;
  tensor.fill = sparse ? fill : 0;
  if (sparse && !holds(tensor.type, tensor.fill)) tensor.type = ElementType::f32;
  const Facts known = held_facts(inferred.facts, tensor.type);
  tensor.facts = sparse ? both(known, facts_of_constant(tensor.fill)) : known;
  draft.expected[id] = expected;
  if (draft.tensors[id].overflow == MaskOverflow::entries &&
      expected_facts(program, draft, statement).finite)
    draft.tensors[id].rows_finite = true;
  if (!expected.finite && draft.tensors[id].overflow != MaskOverflow::rows) {
    if (keeps_finite_rows(program, draft, statement)) draft.tensors[id].rows_finite = true;
    draft.tensors[id].finite_where = result_finite_where(draft, statement);
  }
}

}  // namespace fuseflow
