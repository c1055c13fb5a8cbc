// The estimate from the data as the cost model of passes (passes/cost_model.h).
#pragma once

#include "estimate/estimate.h"
#include "machine/machine.h"
#include "passes/cost_model.h"

namespace fuseflow {

class EstimatedCosts final : public CostModel {
 public:
  explicit EstimatedCosts(const Machine& machine) : machine_(machine) {}
  std::optional<double> cycles(const Program& program, size_t region, const Graph& graph) override;

 private:
  bool load(const Program& program);
  void advance(const Program& program, size_t region);

  Machine machine_;
  bool loaded_ = false;
  bool usable_ = false;
  size_t known_ = 0;  ///< regions before this one have their results' patterns in data_
  TensorData data_;
  std::vector<bool> uncertain_;
};

}  // namespace fuseflow
