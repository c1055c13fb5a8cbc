#include "lower/density_notes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "ir/data_facts.h"
#include "ir/missing_facts.h"
#include "ir/named_reduction.h"
#include "ir/names.h"
#include "ir/print.h"
#include "ir/sparsity.h"
#include "lower/flops.h"
#include "lower/lower.h"
#include "tensor/survey.h"

namespace fuseflow {

namespace {

/// What a region does, as expected from its inputs' entries.
struct Work {
  double flops = 0;
  double elements = 0;  ///< of all streams
};

Work work_of(const Program& program, const Graph& graph) {
  const std::vector<double> flops = estimated_flops(program, graph);
  const std::vector<double> elements = estimated_elements(program, graph);
  return {std::accumulate(flops.begin(), flops.end(), 0.0),
          std::accumulate(elements.begin(), elements.end(), 0.0)};
}

/// What a sum within a statement would have to be.
constexpr Facts kNotZero = {.finite = true, .no_nan = true, .nonzero = true, .below_inf = true};

/// Each note lowers its region twice: the rest is only counted.
constexpr size_t kMostStatements = 50;

class Notes {
 public:
  explicit Notes(const Program& program)
      : p_(program), counted_(without_graphs(program)), reader_(source_reader(program)) {}

  std::vector<std::string> run(const std::vector<LostSparsity>& all) {
    const size_t looked_at = std::min(all.size(), kMostStatements);
    for (size_t first = 0; first < looked_at;) {
      Losses region;
      for (; first < looked_at && (region.empty() || all[first].region == region[0]->region);
           ++first) {
        region.push_back(&all[first]);
      }
      note_region(region);
    }
    if (all.size() > kMostStatements)
      lines_.push_back(fmt::format("{} more statements lack a fact", all.size() - kMostStatements));
    return std::move(lines_);
  }

 private:
  static Program without_graphs(const Program& program) {
    Program result;
    result.name = program.name;
    result.tensors = program.tensors;
    for (const Region& region : program.regions) {
      Region& copy = result.regions.emplace_back();
      copy.name = region.name;
      copy.statements = region.statements;
      copy.schedule = region.schedule;
    }
    return result;
  }

  const Tensor& tensor(TensorId t) const { return p_.tensors[static_cast<size_t>(t)]; }
  std::string name(TensorId t) const { return "%" + quote_if_needed(tensor(t).name); }

  /// Statements of one region that lack something.
  using Losses = std::vector<const LostSparsity*>;

  /// Each by itself; and all together, where that spares more than any of them: a fact that is
  /// missing of what follows may hide what another one would spare. Nothing, where all together
  /// spare nothing.
  void note_region(const Losses& losses) {
    const size_t r = losses.front()->region;
    const Region& region = p_.regions[r];
    if (region.statements.empty() || (region.graph && region.graph->tiles)) return;
    for (const LostSparsity* lost : losses) {
      for (const TensorId t : lost->visited_too) count_entries(t);
    }
    try {
      const Work now = work_of(counted_, region.graph ? *region.graph : lower_region(counted_, r));
      const Work best = work_of(counted_, granted(losses));
      if (!difference(now, best)) return;
      if (losses.size() == 1) return note(losses, now, best);
      Work least = now;
      for (const LostSparsity* lost : losses) {
        const Work then = work_of(counted_, granted({lost}));
        note({lost}, now, then);
        least = {std::min(least.flops, then.flops), std::min(least.elements, then.elements)};
      }
      if (difference(least, best)) note(losses, now, best);
    } catch (const Error&) {  // lowering reports a schedule that cannot be met
    }
  }

  void note(const Losses& losses, const Work& now, const Work& then) {
    const auto spared = difference(now, then);
    if (!spared) return;
    const Region& region = p_.regions[losses.front()->region];
    std::vector<std::string> reasons;
    std::vector<std::string> results;
    std::vector<std::string> sparse;
    for (const LostSparsity* lost : losses) {
      const TensorId result = region.statements[lost->statement].result;
      add_reasons(*lost, result, reasons);
      results.push_back(name(result));
      for (const TensorId t : lost->visited_too) {
        if (std::find(sparse.begin(), sparse.end(), name(t)) == sparse.end())
          sparse.push_back(name(t));
      }
    }
    if (sparse.empty()) sparse.emplace_back("an operand");
    lines_.push_back(fmt::format(
        "@{}: {}, so {} {} computed where {} {} no entry, too: {}", quote_if_needed(region.name),
        fmt::join(reasons, " and "), fmt::join(results, ", "), results.size() == 1 ? "is" : "are",
        fmt::join(sparse, ", "), sparse.size() == 1 ? "has" : "have", *spared));
  }

  void add_reasons(const LostSparsity& lost, TensorId result, std::vector<std::string>& reasons) {
    for (const MissingFact& missing : lost.missing) reasons.push_back(reason(missing));
    if (lost.reduction)
      reasons.push_back(fmt::format(
          "nothing can say that the sum within the statement of {} is nonzero (as a tensor of its "
          "own it may have facts)",
          name(result)));
    if (lost.fill)
      reasons.push_back(fmt::format("{} is declared with fill({}) instead of fill({})",
                                    name(result), float_text(tensor(result).fill),
                                    float_text(*lost.fill)));
  }

  /// "about 18496 FLOPs instead of 2496"; nothing if it makes no difference.
  static std::optional<std::string> difference(const Work& now, const Work& then) {
    constexpr double kWorthSaying = 0.99;
    if (then.flops < kWorthSaying * now.flops)
      return fmt::format("about {:.0f} FLOPs instead of {:.0f}", now.flops, then.flops);
    if (then.elements < kWorthSaying * now.elements)
      return fmt::format("about {:.0f} stream elements instead of {:.0f}", now.elements,
                         then.elements);
    return std::nullopt;
  }

  /// The region's graph if what these lack were known.
  Graph granted(const Losses& losses) const {
    Program program = counted_;
    const size_t region = losses.front()->region;
    size_t added = 0;  // statements before those that follow
    for (const LostSparsity* lost : losses) {
      bool other_fill = lost->fill || lost->reduction;
      for (const MissingFact& missing : lost->missing) {
        Tensor& known = program.tensors[static_cast<size_t>(missing.tensor)];
        known.assumed = joined(known.assumed, missing.facts);
        if (missing.complete) known.format = dense_format(known.format.rank());
        other_fill = other_fill || missing.complete;
      }
      if (lost->reduction) {
        const TensorId sum =
            name_reduction(program, region, lost->statement + added++, *lost->reduction);
        program.tensors[static_cast<size_t>(sum)].assumed = kNotZero;
      }
      if (other_fill)
        declare_result(program, program.regions[region].statements[lost->statement + added]);
    }
    return lower_region(program, region);
  }

  /// A sparse result whose declared fill is that of the statement as it is: as it would be.
  static void declare_result(Program& program, const Statement& statement) {
    Tensor& result = program.tensors[static_cast<size_t>(statement.result)];
    const ResultSparsity inferred = infer_result(program, statement);
    if (result.format.all_dense() || !inferred.fill) return;
    result.fill = *inferred.fill;
    result.facts = both(inferred.facts, facts_of_constant(result.fill));
    result.assumed = {};
    for (size_t d = 0; d < inferred.absent_along.size(); ++d) {
      if (inferred.absent_along[d]) continue;
      for (size_t level = 0; level < result.format.levels.size(); ++level) {
        if (result.format.mode_order[level] == static_cast<int>(d))
          result.format.levels[level] = LevelKind::dense;
      }
    }
  }

  /// Sources without `nnz` are counted, so that the estimate knows how sparse they are.
  void count_entries(TensorId t) {
    Tensor& counted = counted_.tensors[static_cast<size_t>(t)];
    if (counted.source.kind == Source::Kind::none || counted.source.nnz) return;
    const auto data = reader_(t);
    if (data != nullptr) counted.source.nnz = data->stored();
  }

  /// "%x holds inf at [3, 4]", or what is not known of it and what to write.
  std::string reason(const MissingFact& missing) {
    const Tensor& t = tensor(missing.tensor);
    const std::string facts = wanted(missing);
    const std::string unknown =
        facts.empty() ? "" : fmt::format("nothing says that {} is {}", name(missing.tensor), facts);
    const bool given = t.given();
    if (missing.complete && !t.format.all_dense() && !given) return incomplete(missing, facts);
    if (!given) {
      if (is_bounded(missing.facts)) return unbounded(missing, unknown);
      return fmt::format("{} (if it is, declare assume({}): --check verifies it)", unknown, facts);
    }
    const auto data = reader_(missing.tensor);
    if (data == nullptr) {
      return fmt::format("{} (its data cannot be read; if it is, declare facts({}))", unknown,
                         facts);
    }
    const auto wrong = find_contradiction(*data, named(missing));
    if (!wrong) {
      const bool sparse = missing.complete && !t.format.all_dense();
      return fmt::format("{} (all of its data are: declare {}facts({}))", unknown,
                         sparse ? "it dense with " : "", facts);
    }
    if (wrong->is_fill)
      return fmt::format("the fill of {} is {}", name(missing.tensor), float_text(wrong->value));
    return fmt::format("{} holds {} at [{}]", name(missing.tensor), float_text(wrong->value),
                       fmt::join(wrong->coords, ", "));
  }

  /// The note on an intermediate that is declared with absent entries, which the facts exclude.
  std::string incomplete(const MissingFact& missing, const std::string& facts) const {
    const Tensor& t = tensor(missing.tensor);
    return fmt::format(
        "%{0} is declared {1}, and {2} where it has no entry (if no entry is absent, declare it "
        "dense with assume({3}): --check verifies it)",
        quote_if_needed(t.name), to_string(t.format), float_text(t.fill), facts);
  }

  /// The note on an intermediate about the size of whose values nothing (or not enough) is known.
  /// `unknown`: what else is not known of it.
  std::string unbounded(const MissingFact& missing, const std::string& unknown) const {
    const Facts known = admitted_facts(tensor(missing.tensor));
    std::string what = unknown + ", nor how large its values are";
    if (is_bounded(known)) {
      what = fmt::format("{}the range of {}, {} to {}, lets products overflow",
                         unknown.empty() ? "" : unknown + ", and ", name(missing.tensor),
                         float_text(known.least), float_text(known.largest));
    } else if (unknown.empty()) {
      what = fmt::format("nothing says how large values of {} are", name(missing.tensor));
    }
    return fmt::format(
        "{} (if a {}range of its values is known, declare assume({}range(a, b)): "
        "--check verifies it)",
        what, is_bounded(known) ? "narrower " : "", unknown.empty() ? "" : wanted(missing) + ", ");
  }

  /// Missing facts without the ends of a range, which stand for any that is small enough; but for
  /// the one that excludes -inf.
  static Facts named(const MissingFact& missing) {
    Facts facts = missing.facts;
    if (!is_above_minus_inf(facts)) facts.least = -std::numeric_limits<float>::infinity();
    facts.largest = std::numeric_limits<float>::infinity();
    return closed(facts);
  }

  /// What is missing but for a range, and not known already.
  std::string wanted(const MissingFact& missing) const {
    Facts facts = named(missing);
    const bool has_range = is_above_minus_inf(facts);  // written with no_nan
    const Facts known = admitted_facts(tensor(missing.tensor));
    facts.finite = facts.finite && !known.finite;
    facts.below_inf = facts.below_inf && !known.below_inf;
    facts.no_nan = facts.no_nan && (has_range || !known.no_nan);
    facts.nonnegative = facts.nonnegative && !known.nonnegative;
    facts.nonzero = facts.nonzero && !known.nonzero;
    return facts_text(facts);
  }

  const Program& p_;
  Program counted_;
  TensorReader reader_;
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> density_notes(const Program& program) {
  const std::vector<LostSparsity> lost = lost_sparsity(program);
  if (lost.empty()) return {};
  return Notes(program).run(lost);
}

}  // namespace fuseflow
