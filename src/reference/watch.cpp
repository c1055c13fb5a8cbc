#include "reference/watch.h"

namespace fuseflow::reference {

void Watch::look(int64_t points) {
  if (!options_.stop) return;
  const std::lock_guard lock(mutex_);
  progress_.points = points;
  if (const std::string why = options_.stop(progress_); !why.empty()) throw ReferenceStopped(why);
}

int64_t Watch::largest() const {
  // A statement takes a few arrays at a time: operands, the result, sums in f64.
  if (options_.max_bytes <= 0) return options_.max_elements;
  return std::min<int64_t>(options_.max_elements, std::max<int64_t>(options_.max_bytes / 32, 1));
}

std::shared_ptr<std::vector<float>> Watch::array(int64_t n, float value) {
  require(n);
  return tensor(n, value);
}

std::shared_ptr<std::vector<float>> Watch::tensor(int64_t n, float value) {
  const int64_t size = n * static_cast<int64_t>(sizeof(float));
  const auto bytes = bytes_;
  const int64_t now = bytes->fetch_add(size) + size;
  if (options_.max_bytes > 0 && now > options_.max_bytes) {
    bytes->fetch_sub(size);
    throw ReferenceStopped("the limit of --max-memory was reached");
  }
  try {
    auto owned = std::make_unique<std::vector<float>>(static_cast<size_t>(n), value);
    return {owned.release(), [bytes, size](std::vector<float>* values) {
              delete values;
              bytes->fetch_sub(size);
            }};
  } catch (...) {
    bytes->fetch_sub(size);
    throw;
  }
}

}  // namespace fuseflow::reference
