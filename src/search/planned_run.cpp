#include "search/planned_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/copies.h"
#include "ir/names.h"
#include "support/defect.h"
#include "support/error.h"
#include "support/text.h"

namespace fuseflow {
namespace {

template <typename T>
void add_once(std::vector<T>& list, const T& element) {
  if (std::find(list.begin(), list.end(), element) == list.end()) list.push_back(element);
}

/// Notes the tensors of the graph that it has dense and `kernels` store otherwise.
void take_formats(const Program& kernels, const Program& program, const Region& region,
                  PlannedRegion& planned) {
  const std::vector<int> readers = last_readers(kernels);
  for (const Node& node : region.graph->nodes) {
    if (node.tensor < 0) continue;
    const auto t = static_cast<size_t>(node.tensor);
    const Tensor& tensor = program.tensors[t];
    const bool known = t < kernels.tensors.size() && kernels.tensors[t].name == tensor.name;
    if (known && kernels.tensors[t].format == tensor.format) continue;
    const bool dense = known && tensor.format.all_dense();
    if (dense && kernels.tensors[t].source.kind != Source::Kind::none) {
      add_once(planned.copies, {node.tensor, tensor.format});
    } else if (dense && !tensor.given() && readers[t] < 0) {
      add_once(planned.dense, node.tensor);
    } else {
      throw Error(ExitCode::rejected, region.where,
                  fmt::format("region @{} of the seed is planned for %{} as {}, which the program "
                              "that is searched stores otherwise or declares elsewhere",
                              quote_if_needed(region.name), quote_if_needed(tensor.name),
                              to_string(tensor.format)));
    }
  }
}

std::vector<TensorId> results_of(const Region& region) {
  std::vector<TensorId> results;
  for (const Statement& s : region.statements) results.push_back(s.result);
  return results;
}

Error part_of_kernel(const Region& region) {
  return Error(ExitCode::rejected, region.where,
               fmt::format("region @{} of the seed is a part of a kernel; expected whole kernels, "
                           "or all of their parts planned for cores",
                           quote_if_needed(region.name)));
}

/// The region of `planned`, with its statements of `whole` and the dense copies that it reads.
Region put_part(Program& program, const Region& whole, const PlannedRegion& planned) {
  Region part;
  part.where = whole.where;
  part.graph = planned.graph;
  part.plan = planned.plan;
  for (const TensorId result : planned.results) {
    part.statements.push_back(
        *std::find_if(whole.statements.begin(), whole.statements.end(),
                      [&](const Statement& s) { return s.result == result; }));
  }
  for (const auto& [original, format] : planned.copies) {
    read_copy(part, original, copy_as(program, original, format, ".dense"));
  }
  for (const TensorId result : planned.dense) {
    Tensor& tensor = program.tensors[static_cast<size_t>(result)];
    tensor.format = dense_format(tensor.format.rank());
  }
  return part;
}

}  // namespace

std::shared_ptr<const PlannedRun> planned_run(const Program& kernels, const Program& program,
                                              const std::vector<size_t>& regions, Interval run) {
  size_t lacking = 0;
  for (size_t k = run.first; k <= run.last; ++k) lacking += kernels.regions[k].statements.size();
  auto planned = std::make_shared<PlannedRun>();
  for (const size_t r : regions) {
    const Region& region = program.regions[r];
    if (!region.graph || !region.graph->tiles) throw part_of_kernel(region);
    lacking -= region.statements.size();
    planned->push_back({region.name, results_of(region), *region.graph, region.plan, {}, {}});
    take_formats(kernels, program, region, planned->back());
  }
  if (lacking != 0) throw part_of_kernel(program.regions[regions.front()]);
  return planned;
}

PlannedRun in_slice(PlannedRun planned, const RegionSlice& slice) {
  const auto rename = [&](TensorId& tensor) {
    if (tensor < 0) return;
    const auto at = std::lower_bound(slice.tensors.begin(), slice.tensors.end(), tensor);
    if (at == slice.tensors.end() || *at != tensor) throw Defect("a plan reads beside its kernels");
    tensor = static_cast<TensorId>(at - slice.tensors.begin());
  };
  for (PlannedRegion& region : planned) {
    std::for_each(region.results.begin(), region.results.end(), rename);
    each_tensor(region.graph, rename);
    for (auto& [original, format] : region.copies) rename(original);
    std::for_each(region.dense.begin(), region.dense.end(), rename);
  }
  return planned;
}

Program put_planned(Program program, size_t region, const PlannedRun& planned) {
  const Region whole = std::move(program.regions[region]);
  program.regions.erase(program.regions.begin() + static_cast<std::ptrdiff_t>(region));
  const auto taken = [&](const std::string& name) {
    return std::any_of(program.regions.begin(), program.regions.end(),
                       [&](const Region& other) { return other.name == name; });
  };
  for (size_t i = 0; i < planned.size(); ++i) {
    Region part = put_part(program, whole, planned[i]);
    part.name = unused_name(planned.size() == 1 ? whole.name : planned[i].name, ".", 1, taken);
    program.regions.insert(program.regions.begin() + static_cast<std::ptrdiff_t>(region + i),
                           std::move(part));
  }
  return program;
}

}  // namespace fuseflow
