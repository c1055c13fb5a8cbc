#include "passes/runs_alone.h"

#include <algorithm>

#include "ir/copies.h"
#include "passes/regroup.h"
#include "support/defect.h"
#include "support/error.h"

namespace fuseflow {

RunsAlone::RunsAlone(const Program& kernels)
    : kernels_(kernels), last_reader_(last_readers(kernels)), copies_(kernels.regions.size()) {
  any_copies_ = std::any_of(kernels.tensors.begin(), kernels.tensors.end(),
                            [](const Tensor& tensor) { return !tensor.copy_of.empty(); });
  for (size_t r = 0; any_copies_ && r < copies_.size(); ++r) {
    copies_[r] = copies_read(kernels, kernels.regions[r]);
  }
}

/// The region pays only for copies that none of these reads.
std::vector<size_t> RunsAlone::readers_of_copies_before(size_t first, size_t last) const {
  if (!any_copies_) return {};
  std::vector<TensorId> wanted;
  for (size_t r = first; r <= last; ++r) {
    wanted.insert(wanted.end(), copies_[r].begin(), copies_[r].end());
  }
  std::vector<size_t> readers;
  for (size_t r = 0; r < first && !wanted.empty(); ++r) {
    const size_t before = wanted.size();
    std::erase_if(wanted, [&](TensorId copy) {
      return std::find(copies_[r].begin(), copies_[r].end(), copy) != copies_[r].end();
    });
    if (wanted.size() < before) readers.push_back(r);
  }
  return readers;
}

RunAlone RunsAlone::make(size_t first, size_t last, const std::string& name) const {
  std::vector<size_t> regions = readers_of_copies_before(first, last);
  const size_t before = regions.size();
  for (size_t r = first; r <= last; ++r) regions.push_back(r);
  const auto read_later = [&](TensorId tensor) {
    return last_reader_[static_cast<size_t>(tensor)] > static_cast<int>(last);
  };
  RunAlone run{slice_regions(kernels_, regions, read_later), before, {}};
  if (first == last) return run;
  std::vector<Group> groups = present_groups(run.slice.program);
  Group merged{name, {}};
  for (size_t g = before; g < groups.size(); ++g) {
    merged.statements.insert(merged.statements.end(), groups[g].statements.begin(),
                             groups[g].statements.end());
  }
  groups.resize(before);
  groups.push_back(std::move(merged));
  run.slice.program = regroup(run.slice.program, std::move(groups), run.log);
  return run;
}

std::optional<Cost> SliceCosts::learn(const Program&) {
  throw Defect("costs of a slice learn nothing");
}

std::optional<Cost> SliceCosts::of_slice(const Program&, const std::vector<TensorId>&,
                                         const std::vector<size_t>&) {
  throw Defect("costs of a slice have no slices");
}

}  // namespace fuseflow
