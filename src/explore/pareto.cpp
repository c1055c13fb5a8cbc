#include "explore/pareto.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "energy/price.h"
#include "support/csv.h"

namespace fuseflow {
namespace {

/// A program of the first kernels: a point after a shorter one.
struct Step {
  Amounts amounts;
  size_t trial = 0;
  size_t begin = 0;   ///< kernels before the point
  size_t before = 0;  ///< position in that prefix's list
};

/// Leaves those that no other beats, by cycles. Both kinds of programs have `amounts`.
template <typename Some>
void keep_front(std::vector<Some>& all) {
  std::stable_sort(all.begin(), all.end(), [](const Some& a, const Some& b) {
    if (a.amounts.cycles != b.amounts.cycles) return a.amounts.cycles < b.amounts.cycles;
    return a.amounts.energy_pj < b.amounts.energy_pj;
  });
  std::vector<Some> kept;
  for (Some& one : all) {
    const bool better = kept.empty() || one.amounts.energy_pj < kept.back().amounts.energy_pj;
    if (better) kept.push_back(std::move(one));
  }
  all = std::move(kept);
}

void thin_out(std::vector<Step>& steps) {
  if (steps.size() <= kMostOnFront) return;
  std::vector<Step> kept;
  for (size_t i = 0; i < kMostOnFront; ++i) {
    kept.push_back(steps[i * (steps.size() - 1) / (kMostOnFront - 1)]);
  }
  steps = std::move(kept);
}

class ParetoFront {
 public:
  ParetoFront(const std::vector<Trial>& trials, size_t kernels, const Amounts& pause)
      : trials_(trials), pause_(pause), lists_(kernels + 1) {
    lists_[0].push_back({});
    for (size_t end = 1; end <= kernels; ++end) {
      for (size_t t = 0; t < trials.size(); ++t) {
        const Trial& trial = trials[t];
        const bool ends_here = trial.point.last + 1 == end;
        if (ends_here && trial.status == PointStatus::simulated) extend(t, end);
      }
      keep_front(lists_[end]);
      thin_out(lists_[end]);
    }
  }

  std::vector<ParetoProgram> programs() const {
    std::vector<ParetoProgram> result;
    for (const Step& last : lists_.back()) result.push_back(program_of(last));
    return result;
  }

 private:
  void extend(size_t t, size_t end) {
    const size_t begin = trials_[t].point.first;
    for (size_t i = 0; i < lists_[begin].size(); ++i) {
      Step step{lists_[begin][i].amounts, t, begin, i};
      step.amounts += amounts_of(trials_[t].result);
      if (begin > 0) step.amounts += pause_;
      lists_[end].push_back(step);
    }
  }

  ParetoProgram program_of(const Step& last) const {
    ParetoProgram program{last.amounts, {}};
    for (const Step* step = &last;; step = &lists_[step->begin][step->before]) {
      const Point& point = trials_[step->trial].point;
      program.parts.push_back({point.first, point.last, point.id});
      if (step->begin == 0) break;
    }
    std::reverse(program.parts.begin(), program.parts.end());
    return program;
  }

  const std::vector<Trial>& trials_;
  const Amounts pause_;
  std::vector<std::vector<Step>> lists_;  ///< by number of kernels
};

double product(const ParetoProgram& program) {
  return program.amounts.cycles * program.amounts.energy_pj;
}

}  // namespace

std::vector<ParetoProgram> pareto_front(const std::vector<Trial>& trials, size_t kernels,
                                        const Amounts& pause) {
  return kernels == 0 ? std::vector<ParetoProgram>{}
                      : ParetoFront(trials, kernels, pause).programs();
}

std::vector<ParetoProgram> merged(std::vector<ParetoProgram> a,
                                  const std::vector<ParetoProgram>& b) {
  a.insert(a.end(), b.begin(), b.end());
  keep_front(a);
  return a;
}

const ParetoProgram* least_edp(const std::vector<ParetoProgram>& front) {
  const auto least = std::min_element(
      front.begin(), front.end(),
      [](const ParetoProgram& a, const ParetoProgram& b) { return product(a) < product(b); });
  return least == front.end() ? nullptr : &*least;
}

std::string pareto_csv(const Program& kernels, const Machine& machine,
                       const std::vector<ParetoProgram>& front) {
  std::string text = "schema,program,machine,cycles,energy_pj,edp,dram_bytes,regions,points\n";
  for (const ParetoProgram& program : front) {
    std::vector<std::string> regions, points;
    for (const ParetoProgram::Part& part : program.parts) {
      regions.push_back(fmt::format("{}-{}", part.first, part.last));
      points.push_back(fmt::format("{}", part.point));
    }
    text += fmt::format(
        "{},{},{},{:.0f},{:.0f},{:.6g},{:.0f},{},{}\n", kCsvSchema, csv_field(kernels.name),
        csv_field(machine.name), program.amounts.cycles, program.amounts.energy_pj,
        edp(machine, program.amounts.energy_pj, program.amounts.cycles), program.amounts.dram_bytes,
        fmt::join(regions, " "), fmt::join(points, " "));
  }
  return text;
}

}  // namespace fuseflow
