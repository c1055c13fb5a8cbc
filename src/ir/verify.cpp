#include "ir/verify.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "ir/copies.h"
#include "ir/names.h"
#include "ir/reference_order.h"
#include "ir/residency.h"
#include "ir/statement_rules.h"
#include "ir/stored.h"
#include "nodes/verify.h"
#include "support/diagnostics.h"

namespace fuseflow {

namespace {

class Verifier {
 public:
  explicit Verifier(const Program& program) : p_(program) {}

  void run() {
    check_tensors();
    if (!errors_.empty()) finish();  // the rest would only repeat them
    check_regions();
    check_reference();
    check_defined();
    if (errors_.empty()) check_stored();
    if (errors_.empty()) {
      check_residents(p_, [this](size_t region, std::string message) {
        error(p_.regions[region].where, std::move(message));
      });
    }
    finish();
  }

 private:
  void finish() {
    if (!errors_.empty()) throw Error(ExitCode::rejected, std::move(errors_));
  }

  void error(const Location& where, std::string message) {
    if (errors_.size() < kMaxErrors) {
      errors_.push_back({Severity::error, where, std::move(message), {}});
    }
  }

  std::string name(TensorId tensor) const { return "%" + quote_if_needed(p_.tensors[tensor].name); }

  bool valid(TensorId tensor) const {
    return tensor >= 0 && static_cast<size_t>(tensor) < p_.tensors.size();
  }

  // --- tensors

  void check_tensors() {
    std::set<std::string> names;
    std::map<std::string, int64_t> symbols;
    for (const Tensor& t : p_.tensors) {
      if (t.name.empty()) error(t.where, "a tensor has no name");
      if (!names.insert(t.name).second) {
        error(t.where,
              fmt::format("%{} is declared twice, expected another name", quote_if_needed(t.name)));
      }
      check_shape(t, symbols);
      check_attributes(t);
    }
  }

  void check_shape(const Tensor& t, std::map<std::string, int64_t>& symbols) {
    for (const Extent& extent : t.shape) {
      if (extent.symbol.empty()) {
        if (!extent.known())
          error(t.where,
                fmt::format("%{} has an extent without value and name", quote_if_needed(t.name)));
        continue;
      }
      const int64_t value = std::max<int64_t>(extent.value, -1);
      const auto [known, inserted] = symbols.emplace(extent.symbol, value);
      if (!inserted && known->second != value) {
        error(t.where, fmt::format("%{} takes dimension {} as {}, but it was {} before",
                                   quote_if_needed(t.name), extent.symbol, extent_text(extent),
                                   extent_text({known->second, extent.symbol})));
      }
    }
    try {
      check_format(t.format, static_cast<int>(t.shape.size()));
    } catch (const Error& wrong) {
      error(t.where, fmt::format("%{}: {}", quote_if_needed(t.name), wrong.what()));
    }
  }

  void check_attributes(const Tensor& t) {
    const bool given = t.given();
    if (!given && t.source.kind != Source::Kind::none) {
      error(t.where, fmt::format("%{} is computed and cannot have a source, expected `input` or "
                                 "`const`",
                                 quote_if_needed(t.name)));
    }
    if (t.role == Role::constant && t.source.kind == Source::Kind::none) {
      error(t.where,
            fmt::format("constant %{} has no source, expected one, e.g. `= file(\"w.npy\")`",
                        quote_if_needed(t.name)));
    }
    const bool may_stay = t.placement == Placement::scratchpad && t.role != Role::result;
    if (t.placement != Placement::memory && !may_stay) {
      error(t.where, fmt::format("%{} cannot have the placement {}, expected {}",
                                 quote_if_needed(t.name), placement_name(t.placement),
                                 t.role == Role::result ? "memory, where results are written"
                                                        : "memory or scratchpad"));
    }
    check_model_shape(t);
    if (!t.copy_of.empty()) {
      if (const auto wrong = wrong_copy(p_, t)) error(t.where, *wrong);
    }
    // A tensor without absent entries has its fill only outside its extents: readers add it there,
    // and nothing takes in the padding of blocks.
    const bool absent = std::any_of(t.format.levels.begin(), t.format.levels.end(),
                                    [](LevelKind kind) { return kind != LevelKind::dense; });
    if (absent && !holds(t.type, t.fill)) {
      error(t.where,
            fmt::format("the fill {} of %{} is not a value of {}, expected one, or another type",
                        float_text(t.fill), quote_if_needed(t.name), element_name(t.type)));
    }
    if (absent && !satisfies(t.fill, joined(t.facts, t.assumed))) {
      error(t.where,
            fmt::format("the fill {} of %{} contradicts its facts, expected facts that hold of "
                        "the fill, too",
                        float_text(t.fill), quote_if_needed(t.name)));
    }
  }

  void check_model_shape(const Tensor& t) {
    if (!t.model_shape) return;
    if (t.role != Role::result) {
      error(t.where, fmt::format("%{} is not a result, expected `shape(..)` of results only: it is "
                                 "the shape of their files",
                                 quote_if_needed(t.name)));
    }
    const bool known = std::all_of(t.shape.begin(), t.shape.end(),
                                   [](const Extent& extent) { return extent.known(); });
    if (!known) return;
    const int64_t own = element_count(known_shape(t)), files = element_count(*t.model_shape);
    if (own == files) return;
    error(t.where, fmt::format("shape({}) of %{} has {} elements, expected {} as [{}] has",
                               fmt::join(*t.model_shape, ", "), quote_if_needed(t.name), files, own,
                               fmt::join(known_shape(t), ", ")));
  }

  // --- regions

  void check_regions() {
    definer_.assign(p_.tensors.size(), -1);
    for (size_t r = 0; r < p_.regions.size(); ++r) {
      for (const Statement& s : p_.regions[r].statements) {
        if (valid(s.result) && definer_[s.result] < 0) definer_[s.result] = static_cast<int>(r);
      }
    }
    defined_.assign(p_.tensors.size(), false);
    std::set<std::string> names;
    for (size_t r = 0; r < p_.regions.size(); ++r) {
      const Region& region = p_.regions[r];
      if (region.name.empty()) error(region.where, "a region has no name");
      if (!names.insert(region.name).second) {
        error(region.where, fmt::format("region @{} is defined twice, expected another name",
                                        quote_if_needed(region.name)));
      }
      if (region.statements.empty() && !region.graph) {
        error(region.where, fmt::format("region @{} is empty, expected a statement",
                                        quote_if_needed(region.name)));
      }
      const size_t before = errors_.size();
      for (const Statement& s : region.statements) check_statement_in(s);
      if (errors_.size() == before) check_schedule(region, static_cast<int>(r));
      if (region.graph) check_graph(region);
      if (errors_.size() > before) continue;
      if (const auto wrong = wrong_copy_region(p_, region)) error(region.where, *wrong);
    }
  }

  void check_statement_in(const Statement& s) {
    const size_t before = errors_.size();
    check_statement(p_, s, [&](int, std::string message) { error(s.where, std::move(message)); });
    if (errors_.size() != before) return;
    if (defined_[s.result]) {
      error(s.where,
            fmt::format("{} is defined twice, expected one statement a tensor", name(s.result)));
    }
    for (const Expr& e : s.nodes) {
      if (e.kind == Expr::Kind::access) check_use(s, e.tensor);
    }
    check_plain_extents(s);
    defined_[s.result] = true;
  }

  void check_use(const Statement& s, TensorId tensor) {
    const Role role = p_.tensors[tensor].role;
    const bool given = is_given(role);
    if (defined_[tensor] || (given && definer_[tensor] < 0)) return;
    if (definer_[tensor] < 0) {
      error(s.where,
            fmt::format("{} uses {}, which no statement {}defines; expected a statement above, "
                        "or `input` instead of `{}`",
                        name(s.result), name(tensor), in_reference(tensor) ? "of a region " : "",
                        role_name(role)));
    } else {
      error(s.where,
            fmt::format("{} uses {} before it is defined (in region @{}), expected producers "
                        "before consumers",
                        name(s.result), name(tensor),
                        quote_if_needed(p_.regions[definer_[tensor]].name)));
    }
  }

  /// Extents agree with the accesses (unless stated), also in programs that no parser has made.
  void check_plain_extents(const Statement& s) {
    Statement copy = s;
    infer_extents(p_, copy, [&](int, std::string message) { error(s.where, std::move(message)); });
    for (size_t i = 0; i < s.indices.size(); ++i) {
      if (copy.indices[i].extent != s.indices[i].extent) {
        error(s.where, fmt::format("index {} of {} has extent {}, but its accesses say {}",
                                   s.indices[i].name, name(s.result), s.indices[i].extent,
                                   copy.indices[i].extent));
      }
    }
  }

  // --- schedules

  void check_schedule(const Region& region, int r) {
    const Schedule& schedule = region.schedule;
    std::set<std::string> order;
    for (const std::string& index : schedule.order) {
      if (!order.insert(index).second) {
        error(region.where, fmt::format("the order of region @{} names {} twice",
                                        quote_if_needed(region.name), index));
      }
    }
    std::set<std::pair<TensorId, TensorId>> placed;
    for (const UsePlacement& use : schedule.placements) {
      if (!check_placement(region, r, use)) continue;
      if (!placed.insert({use.tensor, use.consumer}).second) {
        error(region.where, fmt::format("region @{} places {} twice", quote_if_needed(region.name),
                                        name(use.tensor)));
      }
    }
    check_joins(region);
    std::set<std::string> split;
    for (const Parallel& parallel : schedule.parallel) {
      if (!split.insert(parallel.index).second) {
        error(region.where, fmt::format("region @{} parallelizes {} twice",
                                        quote_if_needed(region.name), parallel.index));
      }
      if (parallel.factor < 1) {
        error(region.where,
              fmt::format("region @{} parallelizes {} by {}, expected at least 1",
                          quote_if_needed(region.name), parallel.index, parallel.factor));
      }
    }
  }

  void check_joins(const Region& region) {
    std::set<std::string> joined;
    for (const Join& join : region.schedule.joins) {
      if (!joined.insert(join.index).second) {
        error(region.where,
              fmt::format("region @{} joins {} twice", quote_if_needed(region.name), join.index));
      }
      std::set<TensorId> located;
      for (const TensorId tensor : join.located) {
        if (located.insert(tensor).second) continue;
        error(region.where, fmt::format("region @{} locates {} twice in {}",
                                        quote_if_needed(region.name), name(tensor), join.index));
      }
    }
  }

  bool check_placement(const Region& region, int r, const UsePlacement& use) {
    const auto fail = [&](std::string message) {
      error(region.where, std::move(message));
      return false;
    };
    if (!valid(use.tensor))
      return fail(fmt::format("region @{} places an unknown tensor", quote_if_needed(region.name)));
    const bool internal = definer_[use.tensor] == r;
    bool used = false;
    bool consumer_found = use.consumer < 0;
    for (const Statement& s : region.statements) {
      const bool uses = std::any_of(s.nodes.begin(), s.nodes.end(), [&](const Expr& e) {
        return e.kind == Expr::Kind::access && e.tensor == use.tensor;
      });
      used |= uses;
      consumer_found |= uses && s.result == use.consumer;
    }
    if (!used && !internal) {
      return fail(fmt::format("region @{} places {}, which it neither defines nor uses",
                              quote_if_needed(region.name), name(use.tensor)));
    }
    if (!consumer_found) {
      return fail(
          fmt::format("region @{} places {} for a consumer that does not use it; expected one "
                      "of its statements that reads {}",
                      quote_if_needed(region.name), name(use.tensor), name(use.tensor)));
    }
    if (!internal && use.placement != Placement::memory && use.placement != Placement::scratchpad) {
      return fail(fmt::format(
          "region @{} places {} as {}, expected memory or scratchpad for a tensor "
          "that is not computed in the region",
          quote_if_needed(region.name), name(use.tensor), placement_name(use.placement)));
    }
    return true;
  }

  /// Nodes come from statements of their region.
  void check_origins(const Region& region) {
    std::set<TensorId> results{-1};
    for (const Statement& s : region.statements) results.insert(s.result);
    for (size_t n = 0; n < region.graph->nodes.size(); ++n) {
      const TensorId from = region.graph->nodes[n].statement;
      if (results.contains(from)) continue;
      error(region.where, fmt::format("graph of region @{}: node {} comes from {}, expected a "
                                      "statement of the region",
                                      quote_if_needed(region.name), n,
                                      valid(from) ? name(from) : std::string("an unknown tensor")));
      return;
    }
  }

  void check_graph(const Region& region) {
    if (graph_tensors_.empty()) graph_tensors_ = graph_tensors(p_);
    verify_graph(*region.graph, graph_tensors_, [&](NodeId, std::string message) {
      error(region.where,
            fmt::format("graph of region @{}: {}", quote_if_needed(region.name), message));
    });
    check_origins(region);
    for (const auto* kept : {&region.graph->scratchpad, &region.graph->resident}) {
      if (std::all_of(kept->begin(), kept->end(), [&](TensorId t) { return valid(t); })) continue;
      error(region.where,
            fmt::format("graph of region @{} keeps an unknown tensor in the scratchpad",
                        quote_if_needed(region.name)));
    }
    for (const Node& node : region.graph->nodes) {
      if (node.kind == NodeKind::write_values && valid(node.tensor)) defined_[node.tensor] = true;
    }
  }

  // --- the reference section

  bool in_reference(TensorId tensor) const {
    return std::any_of(p_.reference.statements.begin(), p_.reference.statements.end(),
                       [&](const Statement& s) { return s.result == tensor; });
  }

  void check_reference() {
    const size_t before = errors_.size();
    std::vector<bool> referred(p_.tensors.size(), false);
    for (const Statement& s : p_.reference.statements) {
      const size_t at = errors_.size();
      check_statement(p_, s, [&](int, std::string message) { error(s.where, std::move(message)); });
      if (errors_.size() != at) continue;
      if (referred[s.result]) {
        error(s.where, fmt::format("{} occurs twice in the reference section, expected one "
                                   "statement a tensor",
                                   name(s.result)));
      }
      referred[s.result] = true;
      if (p_.tensors[s.result].role == Role::result && definer_[s.result] < 0) {
        error(s.where, fmt::format("result {} is defined by the reference section alone, expected "
                                   "a statement of a region, too",
                                   name(s.result)));
      }
      check_plain_extents(s);
    }
    if (errors_.size() == before && !p_.reference.statements.empty()) {
      check_reference_order(referred);
    }
  }

  /// Whatever a check evaluates has its operands by then.
  void check_reference_order(const std::vector<bool>& referred) {
    for (const Statement& s : p_.reference.statements) {
      for (const Expr& e : s.nodes) {
        if (e.kind != Expr::Kind::access || referred[e.tensor] || defined_[e.tensor]) continue;
        if (p_.tensors[e.tensor].given()) continue;
        error(s.where, fmt::format("{} uses {}, which no statement defines", name(s.result),
                                   name(e.tensor)));
      }
      defined_[s.result] = true;
    }
    try {
      static_cast<void>(reference_order(p_));
    } catch (const Error& circle) {
      error(circle.diagnostics().front().where, circle.diagnostics().front().message);
    }
  }

  void check_defined() {
    for (size_t t = 0; t < p_.tensors.size(); ++t) {
      const Tensor& tensor = p_.tensors[t];
      const bool given = tensor.given();
      if (!given && !defined_[t] && definer_[t] < 0) {
        error(tensor.where,
              fmt::format("{} %{} is not defined, expected a statement: `%{}[...] = ...`",
                          role_name(tensor.role), quote_if_needed(tensor.name),
                          quote_if_needed(tensor.name)));
      }
    }
  }

  /// A graph stores whatever its region computes for others. Of what is stored, verify_graph checks
  /// that every level is.
  void check_stored() {
    const std::vector<Stored> stored = stored_tensors(p_);
    for (size_t t = 0; t < stored.size(); ++t) {
      const int r = stored[t].region;
      if (r < 0 || stored[t].written) continue;
      const auto tensor = static_cast<TensorId>(t);
      const Region& region = p_.regions[static_cast<size_t>(r)];
      if (!region.graph || is_internal(p_, static_cast<size_t>(r), tensor)) continue;
      const bool result = p_.tensors[t].role == Role::result;
      error(region.where,
            fmt::format("{}{} is written by no node of region @{}{}, expected `write_values {} "
                        "(..)` in its graph; without a graph fuseflow-lower makes one",
                        result ? "result " : "", name(tensor), quote_if_needed(region.name),
                        result ? "" : ", but read by a later one", name(tensor)));
    }
  }

  const Program& p_;
  std::vector<Diagnostic> errors_;
  std::vector<GraphTensor> graph_tensors_;  ///< made when a region has a graph
  std::vector<int> definer_;                ///< region of each tensor's statement, -1: none
  std::vector<bool> defined_;               ///< so far, in program order
};

}  // namespace

void verify(const Program& program) {
  Verifier(program).run();
}

}  // namespace fuseflow
