// Blocks of values with 32-bit names, so that nodes which only pass values on pass names,
// whatever a block holds. Names are good as long as the slab is kept; kernels are in
// block_loops.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace fuseflow::engine {

class BlockPool;

/// Some blocks of equal volume. Made by BlockPool; gives its names back when the last owner is
/// gone.
class BlockSlab {
 public:
  BlockSlab(BlockPool& pool, uint32_t id, uint32_t count, int64_t volume);
  ~BlockSlab();
  BlockSlab(const BlockSlab&) = delete;
  BlockSlab& operator=(const BlockSlab&) = delete;

  uint32_t name(uint32_t k) const;
  float* block(uint32_t k) { return values_.get() + static_cast<int64_t>(k) * volume_; }
  uint32_t count() const { return count_; }

 private:
  friend class BlockPool;
  BlockPool& pool_;
  const uint32_t id_;
  const uint32_t count_;
  const int64_t volume_;
  std::unique_ptr<float[]> values_;
};

/// All blocks of a run. Threads may share it; a name travels between threads with the tokens.
class BlockPool {
 public:
  static constexpr uint32_t kShift = 10;
  static constexpr uint32_t kMostBlocks = 1U << kShift;  ///< in a slab
  static constexpr int64_t kSlabValues = int64_t{1} << 18;

  BlockPool() : starts_(new const float*[kMostSlabs]) {}

  /// How many blocks of a volume a slab should have.
  static uint32_t blocks_of(int64_t volume) {
    const int64_t fit = kSlabValues / volume;
    return static_cast<uint32_t>(fit < 1 ? 1 : fit < kMostBlocks ? fit : kMostBlocks);
  }
  /// Room for `count` <= kMostBlocks blocks; values are undefined.
  std::shared_ptr<BlockSlab> make(uint32_t count, int64_t volume);
  /// Names for blocks that live elsewhere, as long as the run: the first; the others follow it.
  uint32_t name(const float* values, uint64_t count, int64_t volume);

  const float* block(uint32_t name, int64_t volume) const {
    return starts_[name >> kShift] + static_cast<int64_t>(name & (kMostBlocks - 1)) * volume;
  }
  /// Bytes of all slabs that are kept.
  int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  friend class BlockSlab;
  static constexpr uint32_t kMostSlabs = 1U << (32 - kShift);
  uint32_t take_ids(uint64_t count);

  std::mutex mutex_;
  std::unique_ptr<const float*[]> starts_;  // by slab; pages are touched as slabs are named
  std::vector<uint32_t> free_;              // guarded by mutex_
  uint32_t next_ = 0;                       // guarded by mutex_
  std::atomic<int64_t> bytes_ = 0;
};

/// Blocks of one volume made one by one, a slab after the other.
class BlockSlabs {
 public:
  struct Block {
    uint32_t name;
    float* values;  ///< undefined
  };
  BlockSlabs(BlockPool* pool, int64_t volume) : pool_(pool), volume_(volume) {}

  Block next() {
    if (slab_ == nullptr || used_ == slab_->count()) {
      slab_ = pool_->make(BlockPool::blocks_of(volume_), volume_);
      used_ = 0;
    }
    if (slabs_.empty() || slabs_.back() != slab_) slabs_.push_back(slab_);
    const Block block{slab_->name(used_), slab_->block(used_)};
    ++used_;
    return block;
  }
  /// What keeps the blocks made since forget().
  const std::vector<std::shared_ptr<const void>>& slabs() const { return slabs_; }
  void forget() { slabs_.clear(); }

 private:
  BlockPool* pool_;
  int64_t volume_;
  std::shared_ptr<BlockSlab> slab_;  // the last
  uint32_t used_ = 0;                // blocks of it
  std::vector<std::shared_ptr<const void>> slabs_;
};

}  // namespace fuseflow::engine
