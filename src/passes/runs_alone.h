// Runs of kernels as one region of a program of their own (ir/slice_regions.h), and what they cost
// there: what is tried with a run takes time in proportion to the run, however long the program is.
#pragma once

#include <string>
#include <vector>

#include "ir/slice_regions.h"
#include "passes/cost_model.h"
#include "passes/pass.h"

namespace fuseflow {

/// A run with what a search makes of its region.
struct RunAlone {
  RegionSlice slice;
  size_t region = 0;  ///< regions before it read copies that it reads, too
  PassLog log;
};

class RunsAlone {
 public:
  /// Runs of the regions of `kernels`, which must outlive this object.
  explicit RunsAlone(const Program& kernels);

  /// Regions first .. last as one region called `name` (empty: as the last of them).
  RunAlone make(size_t first, size_t last, const std::string& name) const;

 private:
  std::vector<size_t> readers_of_copies_before(size_t first, size_t last) const;

  const Program& kernels_;
  std::vector<int> last_reader_;
  std::vector<std::vector<TensorId>> copies_;  ///< that each region reads
  bool any_copies_ = false;
};

/// The costs of a slice as those of a program, for whatever searches in it.
class SliceCosts final : public CostModel {
 public:
  SliceCosts(CostModel& whole, const std::vector<TensorId>& tensors)
      : whole_(whole), tensors_(tensors) {}

  std::optional<Cost> learn(const Program& given) override;
  std::optional<Cost> of_regions(const Program& program,
                                 const std::vector<size_t>& regions) override {
    return whole_.of_slice(program, tensors_, regions);
  }
  std::optional<Cost> of_slice(const Program& slice, const std::vector<TensorId>& tensors,
                               const std::vector<size_t>& regions) override;
  std::optional<Cost> guess_of_regions(const Program&, const std::vector<size_t>&) override {
    return std::nullopt;
  }
  std::optional<Cost> of_program(const Program&) override { return std::nullopt; }
  double pause() const override { return whole_.pause(); }
  double margin() const override { return whole_.margin(); }
  double effort() const override { return whole_.effort(); }
  void spend(double effort) override { whole_.spend(effort); }
  KnownPhases& phases() override { return whole_.phases(); }

 private:
  CostModel& whole_;
  const std::vector<TensorId>& tensors_;
};

}  // namespace fuseflow
