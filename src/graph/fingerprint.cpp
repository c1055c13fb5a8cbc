#include "graph/fingerprint.h"

#include <bit>
#include <cmath>
#include <limits>

#include "graph/graph_key.h"

namespace fuseflow {

namespace {

class Hash {
 public:
  void number(int64_t value) {
    h_ ^= static_cast<uint64_t>(value);
    h_ *= 0xbf58476d1ce4e5b9ULL;
    h_ ^= h_ >> 31;
  }
  /// Every NaN is one: a text does not tell them apart.
  void real(float value) {
    const float told = std::isnan(value) ? std::numeric_limits<float>::quiet_NaN() : value;
    number(static_cast<int64_t>(std::bit_cast<uint32_t>(told)));
  }
  void tensor(TensorId tensor) { number(tensor); }
  uint64_t value() const { return h_; }

 private:
  uint64_t h_ = 0x9e3779b97f4a7c15ULL;
};

}  // namespace

uint64_t fingerprint(const Graph& graph) {
  Hash h;
  write_graph(graph, h);
  return h.value();
}

}  // namespace fuseflow
