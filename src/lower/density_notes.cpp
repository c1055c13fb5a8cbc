#include "lower/density_notes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "ir/data_facts.h"
#include "ir/missing_facts.h"
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

/// Each note lowers its region twice: the rest is only counted.
constexpr size_t kMostStatements = 50;

class Notes {
 public:
  explicit Notes(const Program& program)
      : p_(program), counted_(without_graphs(program)), reader_(source_reader(program)) {}

  std::vector<std::string> run(const std::vector<LostSparsity>& all) {
    for (size_t i = 0; i < std::min(all.size(), kMostStatements); ++i) note(all[i]);
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
      result.regions.push_back({region.name, region.statements, region.schedule, {}, {}, {}});
    }
    return result;
  }

  const Tensor& tensor(TensorId t) const { return p_.tensors[static_cast<size_t>(t)]; }
  std::string name(TensorId t) const { return "%" + quote_if_needed(tensor(t).name); }

  void note(const LostSparsity& lost) {
    const Region& region = p_.regions[lost.region];
    if (region.statements.empty() || (region.graph && region.graph->tiles)) return;
    const auto difference = difference_of(lost);
    if (!difference) return;
    std::vector<std::string> reasons;
    for (const MissingFact& missing : lost.missing) reasons.push_back(reason(missing));
    std::vector<std::string> sparse;
    for (const TensorId t : lost.visited_too) sparse.push_back(name(t));
    lines_.push_back(fmt::format(
        "@{}: {}, so {} computed where {} has no entry, too: {}", quote_if_needed(region.name),
        fmt::join(reasons, " and "), name(region.statements[lost.statement].result) + " is",
        sparse.empty() ? "an operand" : fmt::format("{}", fmt::join(sparse, ", ")), *difference));
  }

  /// "about 18496 FLOPs instead of 2496"; nothing if it makes no difference.
  std::optional<std::string> difference_of(const LostSparsity& lost) {
    for (const TensorId t : lost.visited_too) count_entries(t);
    try {
      const Region& region = p_.regions[lost.region];
      const Work now = work_of(counted_, region.graph ? *region.graph : lowered(lost.region, {}));
      const Work then = work_of(counted_, lowered(lost.region, lost.missing));
      constexpr double kWorthSaying = 0.99;
      if (then.flops < kWorthSaying * now.flops)
        return fmt::format("about {:.0f} FLOPs instead of {:.0f}", now.flops, then.flops);
      if (then.elements < kWorthSaying * now.elements)
        return fmt::format("about {:.0f} stream elements instead of {:.0f}", now.elements,
                           then.elements);
    } catch (const Error&) {  // lowering reports a schedule that cannot be met
    }
    return std::nullopt;
  }

  /// The region's graph if these facts were known, too.
  Graph lowered(size_t region, const std::vector<MissingFact>& known) {
    std::vector<Facts> before;
    for (const MissingFact& fact : known) {
      Facts& assumed = counted_.tensors[static_cast<size_t>(fact.tensor)].assumed;
      before.push_back(assumed);
      assumed = joined(assumed, fact.facts);
    }
    const auto restore = [&] {
      for (size_t i = 0; i < known.size(); ++i)
        counted_.tensors[static_cast<size_t>(known[i].tensor)].assumed = before[i];
    };
    try {
      Graph graph = lower_region(counted_, region);
      restore();
      return graph;
    } catch (const Error&) {
      restore();
      throw;
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
    if (t.role != Role::input && t.role != Role::constant) {
      if (is_bounded(missing.facts)) return unbounded(missing, unknown);
      return fmt::format("{} (assume({}), if so, is verified by --check)", unknown, facts);
    }
    const auto data = reader_(missing.tensor);
    if (data == nullptr) {
      return fmt::format("{} (its data cannot be read; facts({}), if so, says it)", unknown, facts);
    }
    const auto wrong = find_contradiction(*data, named(missing));
    if (!wrong) return fmt::format("{} (its data are: add it to its facts)", unknown);
    if (wrong->is_fill)
      return fmt::format("the fill of {} is {}", name(missing.tensor), float_text(wrong->value));
    return fmt::format("{} holds {} at [{}]", name(missing.tensor), float_text(wrong->value),
                       fmt::join(wrong->coords, ", "));
  }

  /// Of an intermediate, about the size of whose values nothing (or not enough) is known.
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
    return fmt::format("{} (assume({}range(..)) with two numbers, if so, is verified by --check)",
                       what, unknown.empty() ? "" : wanted(missing) + ", ");
  }

  /// Missing facts without the ends of a range, which stand for any that is small enough.
  static Facts named(const MissingFact& missing) {
    Facts facts = missing.facts;
    facts.least = -std::numeric_limits<float>::infinity();
    facts.largest = std::numeric_limits<float>::infinity();
    return closed(facts);
  }

  /// What is missing but for a range, and not known already.
  std::string wanted(const MissingFact& missing) const {
    Facts facts = named(missing);
    const Facts known = admitted_facts(tensor(missing.tensor));
    facts.finite = facts.finite && !known.finite;
    facts.below_inf = facts.below_inf && !known.below_inf;
    facts.no_nan = facts.no_nan && !known.no_nan;
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
