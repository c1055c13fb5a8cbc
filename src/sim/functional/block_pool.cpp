#include "sim/functional/block_pool.h"

#include "support/ceil_div.h"
#include "support/error.h"

namespace fuseflow::engine {

BlockSlab::BlockSlab(BlockPool& pool, uint32_t id, uint32_t count, int64_t volume)
    : pool_(pool),
      id_(id),
      count_(count),
      volume_(volume),
      values_(new float[static_cast<size_t>(count) * static_cast<size_t>(volume)]) {
  pool_.bytes_.fetch_add(4 * volume_ * count_, std::memory_order_relaxed);
}

BlockSlab::~BlockSlab() {
  pool_.bytes_.fetch_sub(4 * volume_ * count_, std::memory_order_relaxed);
  const std::lock_guard lock(pool_.mutex_);
  pool_.free_.push_back(id_);
}

uint32_t BlockSlab::name(uint32_t k) const {
  return (id_ << BlockPool::kShift) + k;
}

std::shared_ptr<BlockSlab> BlockPool::make(uint32_t count, int64_t volume) {
  uint32_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      id = take_ids(1);
    } else {
      id = free_.back();
      free_.pop_back();
    }
  }
  auto slab = std::make_shared<BlockSlab>(*this, id, count, volume);
  starts_[id] = slab->values_.get();
  return slab;
}

uint32_t BlockPool::name(const float* values, uint64_t count, int64_t volume) {
  const uint64_t slabs = ceil_div(count, uint64_t{kMostBlocks});
  const std::lock_guard lock(mutex_);
  const uint32_t id = take_ids(slabs);
  for (uint64_t s = 0; s < slabs; ++s) {
    starts_[id + s] = values + s * kMostBlocks * static_cast<uint64_t>(volume);
  }
  return id << kShift;
}

uint32_t BlockPool::take_ids(uint64_t count) {
  if (count > kMostSlabs - next_) {
    throw Error(ExitCode::rejected, "more than 2^32 blocks are under way; use larger blocks");
  }
  const uint32_t id = next_;
  next_ += static_cast<uint32_t>(count);
  return id;
}

}  // namespace fuseflow::engine
