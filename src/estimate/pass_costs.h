// The estimate as the cost model of passes (passes/cost_model.h): from the data where it is there
// and can be followed, else from statistics.
#pragma once

#include <map>
#include <string>

#include "estimate/counted_regions.h"
#include "estimate/estimate.h"
#include "estimate/phase_counts.h"
#include "machine/machine.h"
#include "passes/cost_model.h"

namespace fuseflow {

/// Patterns of inputs, each read once for all programs.
class PatternCache {
 public:
  /// The stored form of an input with levels that are listed; null for all others. Throws what
  /// load_tensors() throws, and Error(rejected) for data that is too large to be read.
  std::shared_ptr<const Storage> of(const Program& program, TensorId tensor);

 private:
  std::map<std::string, std::shared_ptr<const Storage>> known_;  ///< by source and form
};

/// Statistics of patterns, each worked out once.
class StatisticsCache {
 public:
  const estimate::TensorStatistics& of(const std::shared_ptr<const Storage>& pattern);

 private:
  std::map<std::shared_ptr<const Storage>, estimate::TensorStatistics> known_;
};

class LoweredRegions;

class EstimatedCosts final : public CostModel {
 public:
  explicit EstimatedCosts(const Machine& machine) : machine_(machine) {}

  std::optional<Cost> learn(const Program& given) override;
  /// Knows what another one has learned, of the same machine.
  void take_over(const EstimatedCosts& other);
  std::optional<Cost> of_regions(const Program& program,
                                 const std::vector<size_t>& regions) override;
  std::optional<Cost> of_slice(const Program& slice, const std::vector<TensorId>& tensors,
                               const std::vector<size_t>& regions) override;
  std::optional<Cost> guess_of_regions(const Program& program,
                                       const std::vector<size_t>& regions) override;
  std::optional<Cost> of_program(const Program& program) override;
  std::string why_unknown() const override { return without_data_; }
  std::optional<double> simulated(const Program& program) override;
  double pause() const override { return static_cast<double>(machine_.reconfiguration_cycles); }
  double margin() const override;
  double effort() const override { return effort_; }
  void spend(double effort) override { effort_ += effort; }

 private:
  /// What is known of the tensors of a program: their patterns, or statistics of them.
  struct TensorContents {
    KnownPatterns patterns;
    std::vector<estimate::TensorStatistics> statistics;
  };

  void resize(TensorContents& known, size_t tensors) const;
  void add_inputs(const Program& program, const std::vector<TensorId>& touched,
                  TensorContents& known);
  std::optional<Cost> of_regions(const Program& program, const std::vector<size_t>& regions,
                                 TensorContents known);
  std::optional<Cost> run(const Program& program, TensorContents& known);
  std::optional<Cost> run_regions(const Program& program, TensorContents& known);
  const Region* lower_in(LoweredRegions& lowered, size_t region);
  Cost estimate_into(const Program& program, const Region& region, TensorContents& known);
  Cost copies_before(const LoweredRegions& lowered, size_t region, TensorContents& known);
  Cost counted(const Program& program, const Region& region, KnownPatterns& known);
  CountedRegion count(const Program& program, const Region& region, const KnownPatterns& known);
  size_t most_rows(const KnownPatterns& known) const;
  Cost estimate_alone(const Program& program, const Region& region, TensorContents& known);
  Cost from_statistics(const Program& program, const Region& region, TensorContents& known);
  std::optional<double> simulate(const Program& program);
  Cost guess(const Program& program, const Region& region,
             std::vector<estimate::TensorStatistics>& known);

  Machine machine_;
  PatternCache patterns_;
  StatisticsCache statistics_;
  CountedRegions counted_;
  estimate::PhaseCounts phase_counts_;
  std::map<std::string, std::optional<double>> simulated_;  ///< by text
  /// Why statistics are used, or, where those cannot be either, why nothing is known; empty:
  /// patterns are used.
  std::string without_data_;
  TensorContents learned_;
  double effort_ = 0;
  /// Rows that counting the first program took, which is the one that was given; then others are
  /// bounded by it.
  size_t first_rows_ = 0;
  bool has_first_ = false;
};

/// Hands estimates to passes.
inline CostModelMaker estimated_costs() {
  return [](const Machine& machine) { return std::make_unique<EstimatedCosts>(machine); };
}

}  // namespace fuseflow
