// What changed from one run to another: regions side by side, metric by metric.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"
#include "report/metric.h"
#include "report/run_table.h"

namespace fuseflow {

/// Regions that are compared with each other: usually one of each run. Where fusion differs, all
/// regions that share statements, directly or through others, so that both sides compute the same.
struct RegionPair {
  std::vector<std::string> a, b;  ///< names in program order; empty: the other run alone has it
  std::vector<std::string> layers = {};  ///< of a pair by layers: those that the regions compute
};

/// Pairs regions of equal names.
std::vector<RegionPair> pair_by_name(const RunTable& a, const RunTable& b);
/// Pairs regions by the statements that they hold.
std::vector<RegionPair> pair_by_statements(const Program& a, const Program& b);
/// Pairs regions by the layers of the model that they compute; regions that share layers, directly
/// or through others, are one pair. Those of no layer are one, the last. Nothing where the programs
/// have no two pairs to tell apart.
std::vector<RegionPair> pair_by_layers(const Program& a, const Program& b);
/// Throws Error(rejected) unless the report has the regions of the program.
void require_regions_of(const RunTable& run, const Program& program);

/// One metric of one pair (or of the totals). A side that lacks the regions or the column is
/// absent.
struct Change {
  const Metric* metric = nullptr;
  std::optional<double> a, b;
  /// b / a - 1; absent where a side is, or where `a` is 0 and b is not. 0 where both are 0.
  std::optional<double> ratio() const;
};

struct PairChanges {
  RegionPair pair;
  std::vector<Change> changes;  ///< as metrics(); those that neither run has are left out
};

struct RunDiff {
  std::vector<PairChanges> pairs;
  std::vector<PairChanges> layers;  ///< the same regions, added up by layers
  std::vector<Change> total;
};

RunDiff diff_runs(const RunTable& a, const RunTable& b, const std::vector<RegionPair>& pairs,
                  const std::vector<RegionPair>& layers = {});

/// For people: the totals, the layers, then the regions, those that changed the cycles most first.
/// `most` limits the regions and layers (0: all).
std::string diff_table(const RunTable& a, const RunTable& b, const RunDiff& diff, size_t most);
/// One row a pair and metric, then those of `total` (ir-spec/csv.md "Differences").
std::string diff_csv(const RunDiff& diff);

}  // namespace fuseflow
