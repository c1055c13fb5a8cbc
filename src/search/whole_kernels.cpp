#include "search/whole_kernels.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/fingerprint.h"
#include "ir/names.h"
#include "search/stream_kernels.h"
#include "support/error.h"

namespace fuseflow {

namespace {

/// The kernel that defines a value of this name; the number of kernels if none does.
size_t kernel_of(const Program& kernels, const std::string& value) {
  for (size_t k = 0; k < kernels.regions.size(); ++k) {
    for (const Statement& s : kernels.regions[k].statements) {
      if (kernels.tensors[static_cast<size_t>(s.result)].name == value) return k;
    }
  }
  return kernels.regions.size();
}

/// The kernels of which the region has statements, ascending.
std::vector<size_t> kernels_of(const Program& kernels, const Program& program,
                               const Region& region) {
  std::vector<size_t> members;
  for (const Statement& s : region.statements) {
    const std::string& value = program.tensors[static_cast<size_t>(s.result)].name;
    members.push_back(kernel_of(kernels, value));
    if (members.back() == kernels.regions.size()) {
      throw Error(ExitCode::rejected, region.where,
                  fmt::format("%{} is not computed by the program that is searched, expected a "
                              "seed made of the same kernels",
                              quote_if_needed(value)));
    }
  }
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  return members;
}

}  // namespace

std::vector<WholeKernels> wholes_of(const Program& kernels, const Program& program) {
  std::vector<WholeKernels> wholes;
  for (size_t r = 0; r < program.regions.size(); ++r) {
    WholeKernels whole{{r}, kernels_of(kernels, program, program.regions[r])};
    const auto shares = [&](const WholeKernels& other) {
      return std::any_of(other.kernels.begin(), other.kernels.end(), [&](size_t k) {
        return std::binary_search(whole.kernels.begin(), whole.kernels.end(), k);
      });
    };
    auto into = std::stable_partition(wholes.begin(), wholes.end(),
                                      [&](const WholeKernels& other) { return !shares(other); });
    for (auto other = into; other != wholes.end(); ++other) {
      whole.regions.insert(whole.regions.end(), other->regions.begin(), other->regions.end());
      whole.kernels.insert(whole.kernels.end(), other->kernels.begin(), other->kernels.end());
    }
    wholes.erase(into, wholes.end());
    std::sort(whole.regions.begin(), whole.regions.end());
    std::sort(whole.kernels.begin(), whole.kernels.end());
    whole.kernels.erase(std::unique(whole.kernels.begin(), whole.kernels.end()),
                        whole.kernels.end());
    wholes.push_back(std::move(whole));
  }
  std::sort(wholes.begin(), wholes.end(),
            [](const WholeKernels& a, const WholeKernels& b) { return a.regions < b.regions; });
  return wholes;
}

bool PlannedPart::same_as(const PlannedPart& other) const {
  const auto same = [](const PlannedRegion& a, const PlannedRegion& b) {
    return fingerprint(a.graph) == fingerprint(b.graph);
  };
  return kernels == other.kernels && std::equal(planned->begin(), planned->end(),
                                                other.planned->begin(), other.planned->end(), same);
}

std::vector<PlannedPart> planned_parts(const Program& kernels, Program program) {
  std::erase_if(program.regions, [&](const Region& region) {
    return std::any_of(region.statements.begin(), region.statements.end(), [&](const Statement& s) {
      const auto result = static_cast<size_t>(s.result);
      return kernel_of(kernels, program.tensors[result].name) == kernels.regions.size();
    });
  });
  std::vector<PlannedPart> parts;
  for (const WholeKernels& whole : wholes_of(kernels, program)) {
    if (!has_tiles(program.regions[whole.regions.front()]) || !whole.are_a_run()) continue;
    try {
      parts.push_back({whole.run(), planned_run(kernels, program, whole.regions, whole.run())});
    } catch (const Error& error) {  // parts not planned, or tensors stored otherwise
      if (error.code() != ExitCode::rejected) throw;
    }
  }
  return parts;
}

}  // namespace fuseflow
