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

LevelRoom stored_room(const Level& level, LevelKind kind) {
  switch (kind) {
    case LevelKind::dense:
      return {};
    case LevelKind::compressed:
      return {4 * level.pos.size(), 4 * level.crd.size()};
    case LevelKind::singleton:
      return {0, 4 * level.crd.size()};
    case LevelKind::bitvector:
      return {4 * level.pos.size(), 8 * level.words.size()};
  }
  return {};
}

/// The most that `parents` fibers of a level can need.
LevelRoom most_room(LevelKind kind, uint64_t extent, uint64_t parents) {
  const uint64_t children = saturating_product(parents, extent);
  const uint64_t words = saturating_product(parents, ceil_div(extent, uint64_t{kLevelWordBits}));
  switch (kind) {
    case LevelKind::dense:
      return {};
    case LevelKind::compressed:
      return {saturating_product(4, parents + 1), saturating_product(4, children)};
    case LevelKind::singleton:
      return {0, saturating_product(4, parents)};
    case LevelKind::bitvector:
      return {saturating_product(4, parents + 1), saturating_product(8, words)};
  }
  return {};
}

uint64_t most_of(LevelKind kind, uint64_t extent, uint64_t parents) {
  return kind == LevelKind::singleton ? parents : saturating_product(parents, extent);
}

std::vector<uint64_t> stored_room_of(const Tensor& tensor, const Storage& stored) {
  std::vector<uint64_t> bytes;
  for (size_t l = 0; l < tensor.format.levels.size(); ++l) {
    const LevelRoom room = stored_room(stored.levels[l], tensor.format.levels[l]);
    bytes.push_back(room.positions);
    bytes.push_back(room.coordinates);
  }
  const auto element = static_cast<uint64_t>(element_bytes(tensor.type));
  bytes.push_back(saturating_product(element, stored.values.size()));
  return bytes;
}

}  // namespace

std::vector<uint64_t> most_room_of(const Tensor& tensor) {
  std::vector<uint64_t> bytes;
  uint64_t parents = 1;
  for (size_t l = 0; l < tensor.format.levels.size(); ++l) {
    const auto extent = static_cast<uint64_t>(std::max<int64_t>(0, tensor.level_extent(l)));
    const LevelKind kind = tensor.format.levels[l];
    const LevelRoom room = most_room(kind, extent, parents);
    bytes.push_back(room.positions);
    bytes.push_back(room.coordinates);
    parents = most_of(kind, extent, parents);
  }
  const auto element = static_cast<uint64_t>(element_bytes(tensor.type));
  const auto volume = static_cast<uint64_t>(tensor.format.block_volume());
  bytes.push_back(saturating_product(element, saturating_product(volume, parents)));
  return bytes;
}

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
    for (const uint64_t bytes : stored ? stored_room_of(tensor, *stored) : most_room_of(tensor)) {
      starts.push_back(place(bytes));
    }
    starts_.push_back(std::move(starts));
  }
}

}  // namespace fuseflow::engine
