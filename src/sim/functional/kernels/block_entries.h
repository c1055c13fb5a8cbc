// The entries of an accumulator whose values are blocks: each is summed up where it will be given
// from.
#pragma once

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <vector>

#include "sim/functional/block_loops.h"
#include "sim/functional/kernels/entries.h"
#include "sim/functional/node.h"

namespace fuseflow::engine {

class BlockEntries {
 public:
  BlockEntries(const Context& context, const Node& node, float start)
      : fold_(context.graph, node),
        pool_(context.blocks),
        start_(start),
        slabs_(context.blocks, fold_.out_volume()) {}

  bool blocked() const { return fold_.blocked(); }
  int64_t volume() const { return fold_.in_volume(); }  ///< of the values taken

  void start_batch() { keepers_.clear(); }
  /// Combines the block of this name (null: only the presence counts) with the entry of a key.
  void add(uint64_t key, const uint32_t* name) {
    const auto [entry, fresh] = entries_.try_emplace(key, Entry{});
    if (name == nullptr) return;
    if (fresh) entry->second = make();
    fold_.add(entry->second.sums, pool_->block(*name, fold_.in_volume()));
  }

  /// Calls visit(key, &payload, nullptr, 1) in ascending order of keys, then forgets all entries. A
  /// payload is a number or, as bits, a block's name.
  template <typename Visit>
  void drain(Visit&& visit) {
    for (const uint64_t key : sorted_keys(entries_)) {
      const Entry& entry = entries_.at(key);
      float payload = 0;
      if (entry.sums != nullptr && !fold_.out_blocked()) payload = *entry.sums;
      if (entry.sums != nullptr && fold_.out_blocked()) payload = std::bit_cast<float>(entry.name);
      visit(key, &payload, static_cast<const int64_t*>(nullptr), uint32_t{1});
    }
    keepers_.insert(keepers_.end(), slabs_.slabs().begin(), slabs_.slabs().end());
    slabs_.forget();
    entries_.clear();
  }
  /// What keeps the blocks given in this batch.
  const std::vector<std::shared_ptr<const void>>& keepers() const { return keepers_; }

 private:
  struct Entry {
    uint32_t name = 0;
    float* sums = nullptr;
  };

  Entry make() {
    const BlockSlabs::Block block = slabs_.next();
    std::fill_n(block.values, fold_.out_volume(), start_);
    return {block.name, block.values};
  }

  const BlockFold fold_;
  BlockPool* pool_;
  const float start_;
  std::unordered_map<uint64_t, Entry> entries_;
  BlockSlabs slabs_;  ///< of the entries
  std::vector<std::shared_ptr<const void>> keepers_;
};

}  // namespace fuseflow::engine
