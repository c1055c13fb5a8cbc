// Engine: reduce. One result a fiber, summed strictly in stream order.
#include <algorithm>
#include <array>
#include <bit>

#include "sim/functional/block_loops.h"
#include "sim/functional/node.h"
#include "sim/functional/outer_input.h"
#include "sim/functional/payload_loops.h"

namespace fuseflow::engine {

namespace {

float fold(Reduction reduction, float value, const float* in, uint32_t n) {
  if (reduction == Reduction::sum || reduction == Reduction::mean) {
    for (uint32_t k = 0; k < n; ++k) value += in[k];
    return value;
  }
  for (uint32_t k = 0; k < n; ++k) value = combine(reduction, value, in[k]);
  return value;
}

class ReduceNode final : public EngineNode {
 public:
  ReduceNode(const Context& context, NodeId id)
      : EngineNode(context, id),
        value_(node_.inputs.size() - 1),
        blocks_(context.graph, node_),
        results_(context.blocks, blocks_.out_volume()) {
    sides.back().own_lanes(node_.inputs.size(), 1);
    running_ = start_value();
    sums_.assign(static_cast<size_t>(blocks_.out_volume()), running_);
  }
  bool reads(size_t input) const override { return input == value_ && reads_output(0); }

 protected:
  bool compute() override {
    const uint32_t ready = ports[value_]->ready();
    if (ready == 0 || ended_) return false;
    const Batch batch = ports[value_]->batch(ready);
    uint32_t n = ready;
    if (value_ > 0) n = OuterInput(*ports[0], 1, in_lane(0)).walk(batch);
    if (n == 0) return false;
    add_steps(n);
    given_at_ = &out_lane(0).list().at;
    reduce(batch, n);
    if (structure_->count == 0) return true;
    Payload payload{payload_, payload_.get()};
    if (!results_.slabs().empty()) payload = keeping(payload, results_.slabs());
    give(0, StructureRef(std::move(structure_)), payload);
    return true;
  }

 private:
  void reduce(const Batch& batch, uint32_t n) {
    structure_ = new_structure();
    results_.forget();
    payload_ = reads_output(0) ? allocate_payload(2 * batch.stops.size() + 1) : nullptr;
    const float* values = batch.payload.values();
    uint32_t k = 0;
    for (size_t s = 0; s < batch.stops.size(); ++s) {
      const Stop& stop = batch.stops[s];
      const uint32_t at = batch.at(stop);
      if (at >= n) break;
      if (const uint32_t fibers = equal_fibers(batch, n, k, s); fibers > 1) {
        reduce_equal(batch, values, k, s, fibers);
        s += fibers - 1;
        k = batch.at(batch.stops[s]) + 1;
        continue;
      }
      add(values, k, at);
      end_fiber(stop, at);
      k = at + 1;
    }
    if (k < n) add(values, k, n);
  }

  static constexpr uint32_t kMostTogether = 64;

  /// How many fibers from k on, the stop of the first being s, are whole and equally long. 1 where
  /// adding them side by side does not pay.
  uint32_t equal_fibers(const Batch& batch, uint32_t n, uint32_t k, size_t s) const {
    const bool sum = node_.reduction == Reduction::sum || node_.reduction == Reduction::mean;
    const uint32_t length = batch.at(batch.stops[s]) - k;
    if (!sum || blocks_.blocked() || number_ != 0 || length < 4 || batch.payload.data == nullptr)
      return 1;
    uint32_t fibers = 1;
    uint32_t at = k + length;
    while (fibers < kMostTogether && s + fibers < batch.stops.size()) {
      const uint32_t next = batch.at(batch.stops[s + fibers]);
      if (next >= n || next - at != length + 1) break;
      at = next;
      ++fibers;
    }
    return fibers < 8 ? 1 : fibers;
  }

  void reduce_equal(const Batch& batch, const float* values, uint32_t k, size_t s,
                    uint32_t fibers) {
    const uint32_t length = batch.at(batch.stops[s]) - k;
    std::array<float, kMostTogether> sums;
    sums.fill(start_value());
    loops::sum_fibers(values + k, fibers, length, length + 1, sums.data());
    for (uint32_t f = 0; f < fibers; ++f) {
      running_ = sums[f];
      number_ = length;
      stats_.flops += length;
      end_fiber(batch.stops[s + f], batch.at(batch.stops[s + f]));
    }
  }

  void add(const float* values, uint32_t first, uint32_t last) {
    if (first == last) return;
    if (blocks_.blocked()) return add_blocks(values, first, last);
    if (values != nullptr) running_ = fold(node_.reduction, running_, values + first, last - first);
    number_ += last - first;
    stats_.flops += last - first;
  }

  void add_blocks(const float* values, uint32_t first, uint32_t last) {
    const auto* names = reinterpret_cast<const uint32_t*>(values);
    for (uint32_t k = first; names != nullptr && k < last; ++k) {
      blocks_.add(sums_.data(), context_.blocks->block(names[k], blocks_.in_volume()));
    }
    stats_.flops += (last - first) * blocks_.in_volume();
  }

  /// The payload of a fiber's result over blocks: a number or a block's name.
  uint32_t block_result() {
    uint32_t word = 0;
    if (!blocks_.out_blocked()) {
      word = std::bit_cast<uint32_t>(sums_.front());
    } else {
      const BlockSlabs::Block block = results_.next();
      std::copy(sums_.begin(), sums_.end(), block.values);
      word = block.name;
    }
    std::fill(sums_.begin(), sums_.end(), start_value());
    return word;
  }

  void end_fiber(const Stop& stop, uint32_t at) {
    if (stop.done()) {
      ended_ = true;
      return give_stop(kDoneLevel, 0, at);
    }
    const bool closes = stop.closes();
    if (closes && blocks_.blocked()) {
      give_token(payload_ ? block_result() : 0, at);
    } else if (closes) {
      float result = number_ == 0 ? node_.init : running_;
      if (node_.reduction == Reduction::mean && number_ > 0) result /= static_cast<float>(number_);
      give_token(std::bit_cast<uint32_t>(result), at);
    }
    if (node_.reduction == Reduction::mean && number_ > 0) ++stats_.flops;
    if (stop.level >= 1) {
      give_stop(static_cast<uint16_t>(stop.level - 1), stop.bits >> 1, at);
    }
    running_ = start_value();
    number_ = 0;
  }

  void give_stop(uint16_t level, uint32_t bits, uint32_t at) {
    structure_->stops.push_back({structure_->count, level, bits});
    give_token(0, at);
  }
  void give_token(uint32_t word, uint32_t at) {
    if (payload_) payload_[structure_->count] = word;
    ++structure_->count;
    given_at_->push_back(at);
  }

  const size_t value_;  // the input of values; an input before it is the parent
  float running_ = 0;
  int64_t number_ = 0;  // values in the current fiber
  const BlockFold blocks_;
  std::vector<float> sums_;  // over blocks: what running_ is for numbers
  BlockSlabs results_;       // those of the batch at hand
  std::shared_ptr<Structure> structure_;
  std::shared_ptr<uint32_t[]> payload_;
  Places* given_at_ = nullptr;  // by output token: the step that gives it
};

}  // namespace

std::unique_ptr<EngineNode> make_reduce_node(const Context& context, NodeId id) {
  const bool here = context.graph.nodes[static_cast<size_t>(id)].kind == NodeKind::reduce;
  return here ? std::make_unique<ReduceNode>(context, id) : nullptr;
}

}  // namespace fuseflow::engine
