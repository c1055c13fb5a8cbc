#include "passes/costs_after.h"

#include <utility>

#include "support/unless_refused.h"

namespace fuseflow {

namespace {

/// What a pass that searches spends on a program, in the units of CostModel::effort.
constexpr double kEffortOfPass = 6000;

class CostsAfter final : public CostModel {
 public:
  CostsAfter(const Pass& pass, PassArguments arguments, std::unique_ptr<CostModel> costs)
      : pass_(pass), arguments_(std::move(arguments)), costs_(std::move(costs)) {}

  std::optional<Cost> learn(const Program& given) override { return costs_->learn(given); }

  std::optional<Cost> of_regions(const Program& program,
                                 const std::vector<size_t>& regions) override {
    return costs_->of_regions(program, regions);
  }

  std::optional<Cost> of_slice(const Program& slice, const std::vector<TensorId>& tensors,
                               const std::vector<size_t>& regions) override {
    return costs_->of_slice(slice, tensors, regions);
  }

  std::optional<Cost> guess_of_regions(const Program& program,
                                       const std::vector<size_t>& regions) override {
    return costs_->guess_of_regions(program, regions);
  }

  std::optional<Cost> of_program(const Program& program) override {
    const std::optional<Program> made = after(program);
    return made ? costs_->of_program(*made) : std::nullopt;
  }

  std::optional<double> simulated(const Program& program) override {
    const std::optional<Program> made = after(program);
    return made ? costs_->simulated(*made) : std::nullopt;
  }

  double pause() const override { return costs_->pause(); }
  double margin() const override { return costs_->margin(); }
  double effort() const override { return costs_->effort(); }
  void spend(double effort) override { costs_->spend(effort); }
  KnownPhases& phases() override { return costs_->phases(); }

 private:
  /// What the pass makes of a program; nothing where it refuses.
  std::optional<Program> after(const Program& program) {
    costs_->spend(kEffortOfPass);
    PassLog unused;
    return unless_refused(
        [&] { return std::optional<Program>(pass_.run(program, arguments_, unused)); });
  }

  const Pass& pass_;
  const PassArguments arguments_;
  std::unique_ptr<CostModel> costs_;
};

}  // namespace

std::unique_ptr<CostModel> costs_after(const Pass& pass, PassArguments arguments,
                                       std::unique_ptr<CostModel> costs) {
  return std::make_unique<CostsAfter>(pass, std::move(arguments), std::move(costs));
}

}  // namespace fuseflow
