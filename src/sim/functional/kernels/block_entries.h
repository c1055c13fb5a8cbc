// The entries of an accumulator whose values are blocks: each is summed up where it will be given
// from.
#pragma once

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "sim/functional/block_loops.h"
#include "sim/functional/node.h"

namespace fuseflow::engine {

class BlockEntries {
 public:
  BlockEntries(const Context& context, const Node& node, float start)
      : fold_(context.graph, node), pool_(context.blocks), start_(start) {}

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
    std::vector<uint64_t> keys;
    keys.reserve(entries_.size());
    for (const auto& entry : entries_) keys.push_back(entry.first);
    std::sort(keys.begin(), keys.end());
    for (const uint64_t key : keys) {
      const Entry& entry = entries_.at(key);
      float payload = 0;
      if (entry.sums != nullptr && !fold_.out_blocked()) payload = *entry.sums;
      if (entry.sums != nullptr && fold_.out_blocked()) {
        std::memcpy(&payload, &entry.name, sizeof(payload));
      }
      visit(key, &payload, static_cast<const int64_t*>(nullptr), uint32_t{1});
    }
    keepers_.insert(keepers_.end(), slabs_.begin(), slabs_.end());
    if (!slabs_.empty()) slabs_.erase(slabs_.begin(), slabs_.end() - 1);
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
    const int64_t volume = fold_.out_volume();
    if (slabs_.empty() || used_ == slabs_.back()->count()) {
      slabs_.push_back(pool_->make(BlockPool::blocks_of(volume), volume));
      used_ = 0;
    }
    const Entry entry{slabs_.back()->name(used_), slabs_.back()->block(used_)};
    ++used_;
    std::fill_n(entry.sums, volume, start_);
    return entry;
  }

  const BlockFold fold_;
  BlockPool* pool_;
  const float start_;
  std::unordered_map<uint64_t, Entry> entries_;
  std::vector<std::shared_ptr<BlockSlab>> slabs_;  ///< of the entries; the last has room left
  uint32_t used_ = 0;                              ///< blocks of the last
  std::vector<std::shared_ptr<const void>> keepers_;
};

}  // namespace fuseflow::engine
