#include "sim/memory/addresses.h"

#include <algorithm>

#include "support/ceil_div.h"
#include "tensor/limits.h"

namespace fuseflow::engine {

namespace {

struct LevelRoom {
  uint64_t positions = 0;
  uint64_t coordinates = 0;
};

/// Bytes of a level: as stored, or the most that `parents` fibers of a result can need.
LevelRoom room_of(const Level* stored, LevelKind kind, uint64_t extent, uint64_t parents) {
  const uint64_t children = saturating_product(parents, extent);
  const uint64_t words = saturating_product(parents, ceil_div(extent, uint64_t{kLevelWordBits}));
  switch (kind) {
    case LevelKind::dense:
      return {};
    case LevelKind::compressed:
      if (stored != nullptr) return {4 * stored->pos.size(), 4 * stored->crd.size()};
      return {saturating_product(4, parents + 1), saturating_product(4, children)};
    case LevelKind::singleton:
      if (stored != nullptr) return {0, 4 * stored->crd.size()};
      return {0, saturating_product(4, parents)};
    case LevelKind::bitvector:
      if (stored != nullptr) return {4 * stored->pos.size(), 8 * stored->words.size()};
      return {saturating_product(4, parents + 1), saturating_product(8, words)};
  }
  return {};
}

uint64_t most_of(LevelKind kind, uint64_t extent, uint64_t parents) {
  return kind == LevelKind::singleton ? parents : saturating_product(parents, extent);
}

}  // namespace

Addresses::Addresses(const Program& program, const Graph& graph,
                     const std::vector<std::shared_ptr<const Storage>>& data, int64_t burst_bytes)
    : burst_bytes_(static_cast<uint64_t>(burst_bytes)) {
  memory_.assign(program.tensors.size(), true);
  for (const TensorId tensor : graph.scratchpad) memory_[tensor] = false;
  // Only what the region touches has a place: so its time does not depend on the other regions.
  std::vector<bool> used(program.tensors.size(), false);
  for (const Node& node : graph.nodes) {
    for_tensors(node, [&](TensorId tensor) { used[tensor] = true; });
  }
  uint64_t next = 0;
  const auto place = [&](uint64_t bytes) {
    const uint64_t start = next;
    // Beyond 2^48 a bound says nothing: results are then told apart by their starts alone.
    bytes = std::min(bytes, uint64_t{1} << 40);
    next = ceil_div(next + bytes, kAlignment) * kAlignment;
    return start;
  };
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    if (!used[t]) {
      starts_.emplace_back();
      continue;
    }
    const Tensor& tensor = program.tensors[t];
    const Storage* stored = t < data.size() ? data[t].get() : nullptr;
    std::vector<uint64_t> starts;
    uint64_t parents = 1;
    for (size_t l = 0; l < tensor.format.levels.size(); ++l) {
      const auto extent = static_cast<uint64_t>(std::max<int64_t>(0, tensor.level_extent(l)));
      const LevelKind kind = tensor.format.levels[l];
      const LevelRoom room =
          room_of(stored == nullptr ? nullptr : &stored->levels[l], kind, extent, parents);
      starts.push_back(place(room.positions));
      starts.push_back(place(room.coordinates));
      parents = most_of(kind, extent, parents);
    }
    const auto element = static_cast<uint64_t>(element_bytes(tensor.type));
    const auto volume = static_cast<uint64_t>(tensor.format.block_volume());
    const uint64_t count =
        stored != nullptr ? stored->values.size() : saturating_product(volume, parents);
    starts.push_back(place(saturating_product(element, count)));
    starts_.push_back(std::move(starts));
  }
}

}  // namespace fuseflow::engine
