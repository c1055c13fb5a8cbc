#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

#include "explore/points.h"
#include "graph/fingerprint.h"
#include "ir/print.h"
#include "support/fnv1a.h"

namespace fuseflow {

namespace {

std::string text_of(const PlannedRegion& region) {
  std::string text = fmt::format("{} {:x} {};", region.name, fingerprint(region.graph),
                                 fmt::join(region.dense, " "));
  for (const auto& [tensor, format] : region.copies) {
    text += fmt::format(" {} {}", tensor, to_string(format));
  }
  return text + "\n";
}

std::string text_of(const PlacementRecipe& recipe) {
  const PlacementOptions& o = recipe.options;
  std::string text = fmt::format("{} {} {} {};", recipe.name, o.max_recompute, o.recompute_always,
                                 o.scratchpad_bytes);
  for (const UsePlacement& use : recipe.placements) {
    text += fmt::format(" {} {} {}", use.tensor, use.consumer, placement_name(use.placement));
  }
  return text + "\n";
}

std::string text_of(const Point& point) {
  std::string text =
      fmt::format("{} {} {}\n{}", point.first, point.last, point.as_given, text_of(point.recipe));
  text += fmt::format("{}\n", fmt::join(point.order, "\n"));
  for (const Parallel& p : point.parallel) {
    text += fmt::format("{} {} {}\n", p.index, p.factor, p.contiguous);
  }
  for (const Join& join : point.joins) {
    text += fmt::format("{} {} {}\n", join.index, static_cast<int>(join.form),
                        fmt::join(join.located, " "));
  }
  for (const StoredAccess& access : point.stored) {
    text += fmt::format("{} {} {}\n", access.result, access.node, to_string(access.format));
  }
  if (point.planned) {
    for (const PlannedRegion& region : *point.planned) text += text_of(region);
  }
  return text;
}

}  // namespace

uint64_t key_of(const Point& point, int64_t block) {
  return fnv1a(fmt::format("{}\n{}", block, text_of(point)));
}

}  // namespace fuseflow
