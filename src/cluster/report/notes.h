// What becomes of the parts of a program that is planned, as notes on standard error.
#pragma once

#include <vector>

#include "cluster/plan.h"
#include "machine/machine.h"

namespace fuseflow::cluster {

/// What is said beside what was planned, and why something was not.
struct ReportDetails {
  PlanStrategy strategy = PlanStrategy::chains;
  bool all_refused = false;  ///< pairs of products that are no chain; else the first of them...
  bool refused = false;      ///< ... or none, unless nothing was found
  bool plans = false;        ///< every plan of a chain that is taken
};

class PlanReporter : public PlanListener {
 public:
  PlanReporter(const Machine& machine, const ReportDetails& options)
      : machine_(machine), options_(options) {}

  void on(const Program& program, const std::vector<OnlineOutcome>& softmaxes) override;
  void on(const Program& program, const std::vector<FoundChain>& chains,
          const std::vector<RefusedChain>& refused) override;
  void on(const Program& program, const FoundChain& found, const ChainOutcome& outcome) override;
  void on(const Program& program, const DroppedChain& dropped) override;
  void on(const Program& program, const std::vector<DividedStatement>& divided) override;
  void on(const Program& program, const RemainingKernels& rest) override;

  /// Whether neither chains nor attentions were found.
  bool nothing_found() const { return looked_for_chains_ && softmaxes_.empty() && no_chain_; }

 private:
  const Machine& machine_;
  const ReportDetails options_;
  std::vector<TensorId> softmaxes_;
  bool looked_for_chains_ = false, no_chain_ = true;
};

void report_rows(const Program& program, const std::vector<RowsOutcome>& outcomes);

/// That products of f32 run at the rate of another type, where a plan has such products.
void report_matrix_type(const Program& program, const Machine& machine);

}  // namespace fuseflow::cluster
