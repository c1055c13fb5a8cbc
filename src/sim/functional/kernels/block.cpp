// Engine: nodes that work inside of blocks, a token a step: map, array, coordinate, pad.
// (Reductions over blocks are with the others.)
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "sim/common/level_view.h"
#include "sim/functional/block_loops.h"
#include "sim/functional/outer_input.h"
#include "sim/functional/payload_loops.h"
#include "sim/functional/token_node.h"

namespace fuseflow::engine {
namespace {

/// Makes the blocks of a batch, one for each payload.
class BlockWriter {
 public:
  BlockWriter(BlockPool& pool, uint32_t tokens, int64_t volume)
      : words_(allocate_payload(tokens)), slab_(pool.make(tokens, volume)) {}
  float* next(uint32_t k) {
    words_[k] = slab_->name(used_);
    return slab_->block(used_++);
  }
  void stop(uint32_t k) { words_[k] = 0; }
  void word(uint32_t k, uint32_t word) { words_[k] = word; }
  Payload payload() const {
    return {std::make_shared<std::pair<std::shared_ptr<uint32_t[]>, std::shared_ptr<BlockSlab>>>(
                words_, slab_),
            words_.get()};
  }

 private:
  std::shared_ptr<uint32_t[]> words_;
  std::shared_ptr<BlockSlab> slab_;
  uint32_t used_ = 0;
};

class BlockMapNode final : public TokenNode {
 public:
  BlockMapNode(const Context& context, NodeId id)
      : TokenNode(context, id), operator_(context.graph, node_) {
    most_ = BlockPool::blocks_of(operator_.volume());
  }
  bool reads(size_t) const override { return reads_output(0); }

 protected:
  Payload make_payload(const std::vector<Batch>& inputs, uint32_t n) override {
    if (!blocked(node_.outputs[0])) return numbers(inputs, n);
    BlockWriter out(*context_.blocks, n, operator_.volume());
    for_each_token(
        inputs.front(), n, [&](uint32_t k) { evaluate(inputs, k, out.next(k)); },
        [&](uint32_t k) { out.stop(k); });
    return out.payload();
  }
  void count(const std::vector<Batch>&, int64_t elements) override {
    stats_.flops += elements * operator_.flops();
  }

 private:
  /// A product that contracts all loops gives a number.
  Payload numbers(const std::vector<Batch>& inputs, uint32_t n) {
    auto words = allocate_payload(n);
    for_each_token(
        inputs.front(), n,
        [&](uint32_t k) {
          float value = 0;
          evaluate(inputs, k, &value);
          words[k] = std::bit_cast<uint32_t>(value);
        },
        [&](uint32_t k) { words[k] = 0; });
    return {words, words.get()};
  }

  void evaluate(const std::vector<Batch>& inputs, uint32_t k, float* out) {
    std::array<const float*, 3> operands{};
    size_t next = 0;
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      if (node_.inputs[i].is_immediate()) {
        operands[i] = &node_.inputs[i].immediate;
        continue;
      }
      const Payload& payload = inputs[next++].payload;
      operands[i] = operator_.blocked(i)
                        ? context_.blocks->block(payload.words()[k], operator_.volume(i))
                        : payload.values() + k;
    }
    operator_.run({operands.data(), node_.inputs.size()}, out);
  }

  BlockOperator operator_;
};

/// Blocks of a tensor are named where they are stored.
class BlockArrayNode final : public TokenNode {
 public:
  BlockArrayNode(const Context& context, NodeId id)
      : TokenNode(context, id),
        tensor_(context.program.tensors[static_cast<size_t>(node_.tensor)]),
        storage_(context.storage(node_.tensor)),
        volume_(tensor_.format.block_volume()) {
    if (storage_ == nullptr) missing_data(tensor_.name);
    count_ = storage_->values.size() / static_cast<size_t>(volume_);
    first_ = context.blocks->name(storage_->values.data(), count_, volume_);
    fill_ = constant_block(tensor_.fill, volume_);
    if (timed_memory()) batched_memory() ? make_batched(1) : make_sides(2);
  }

 protected:
  void fill(const std::vector<Batch>& inputs, uint32_t* out, uint32_t n) override {
    const uint32_t* refs = inputs[0].payload.words();
    for (uint32_t k = 0; k < n; ++k) out[k] = refs[k] == kAbsent ? fill_ : first_ + refs[k];
  }
  void count(const std::vector<Batch>& inputs, int64_t elements) override {
    const kernels::References found =
        kernels::references(inputs[0].payload.words(), inputs[0].count);
    const bool none = count_ == 0 && found.absent < elements;
    if (none || found.beyond > std::max<size_t>(count_, 1)) {
      refuse(fmt::format("reference {} is outside of %{}", found.beyond - 1, tensor_.name));
    }
    stats_.read_bytes += (elements - found.absent) * bytes();
  }

  /// Memory: a block is requested and taken burst by burst, a step each (ir-spec/memory.md).
  void log_bursts(const std::vector<Batch>& inputs, uint32_t n) override {
    const uint32_t* refs = inputs[0].payload.words();
    const uint64_t start = context_.addresses->values(node_.tensor);
    const auto size = static_cast<uint64_t>(bytes());
    if (batched) return log_batches(inputs[0], n);
    for_each_token(
        inputs[0], n,
        [&](uint32_t k) {
          log_block(refs[k] == kAbsent ? 0 : fetch(0, start + size * refs[k], size));
        },
        [&](uint32_t) { log_block(0); });
  }

 private:
  int64_t bytes() const { return element_bytes(tensor_.type) * volume_; }

  /// Memory that is asked in batches: an address a block.
  void log_batches(const Batch& references, uint32_t n) {
    batched->begin();
    const uint32_t* refs = references.payload.words();
    const uint64_t start = context_.addresses->values(node_.tensor);
    for_each_token(
        references, n,
        [&](uint32_t k) {
          const bool present = refs[k] != kAbsent;
          if (present) bursts[0].push_back(start + static_cast<uint64_t>(bytes()) * refs[k]);
          batched_load_.token(*batched, present, interval_);
        },
        [&](uint32_t) { batched_load_.token(*batched, false, interval_); });
  }

  void log_block(uint32_t burst_count) {
    if (burst_count <= 1) {
      log_side(0, 1, 0, burst_count);
      log_side(1, 1, burst_count, 0);
      return;
    }
    const int64_t last = std::max<int64_t>(1, interval_ - (burst_count - 1));
    for (uint32_t side = 0; side < 2; ++side) {
      for (uint32_t k = 0; k < burst_count; ++k) log_burst(side, k, burst_count, last);
    }
  }

  /// The k-th step of a block: it requests (side 0) or takes a burst. The first takes the
  /// reference; the last passes the token on.
  void log_burst(uint32_t side, uint32_t k, uint32_t count, int64_t last_cost) {
    Steps& target = sides[side].now;
    const uint32_t step = target.count;
    const bool last = k + 1 == count;
    add_part(side, side, 1 - side, last ? last_cost : 1);
    if (side == 0 ? k == 0 : last) target.in.front().add_range(step, 1);
    if (last) target.out.front().add_range(step, 1);
  }

  const Tensor& tensor_;
  const Storage* storage_;
  const int64_t volume_;
  size_t count_ = 0;
  uint32_t first_ = 0;  // name of block 0
  uint32_t fill_ = 0;   // name of the block that an absent reference gives
  BatchedLoad batched_load_;
};

/// The numbers of the elements of a block of coordinates.
class BlockCoordinateNode final : public TokenNode {
 public:
  BlockCoordinateNode(const Context& context, NodeId id)
      : TokenNode(context, id),
        volume_(BlockExtents(context.graph,
                             context.graph.streams[static_cast<size_t>(node_.outputs[0])].block)
                    .volume) {
    most_ = BlockPool::blocks_of(volume_);
  }
  bool reads(size_t) const override { return reads_output(0); }

 protected:
  Payload make_payload(const std::vector<Batch>& inputs, uint32_t n) override {
    const uint32_t* in = inputs[0].payload.words();
    BlockWriter out(*context_.blocks, n, volume_);
    for_each_token(
        inputs[0], n,
        [&](uint32_t k) {
          float* to = out.next(k);
          for (int64_t e = 0; e < volume_; ++e) to[e] = static_cast<float>(in[k] * volume_ + e);
        },
        [&](uint32_t k) { out.stop(k); });
    return out.payload();
  }
  void count(const std::vector<Batch>&, int64_t) override {}

 private:
  const int64_t volume_;
};

/// Inputs: a value, coordinates of its loop or of loops around it.
class PadNode final : public EngineNode {
 public:
  PadNode(const Context& context, NodeId id) : EngineNode(context, id), pad_(context.graph, node_) {
    sides.back().own_lanes(node_.inputs.size(), 1);
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      (i == 0 || depth(i) == depth(0) ? like_ : outer_).push_back(i);
      loops_.push_back(i == 0 ? SIZE_MAX : loop_of(i));
    }
    coordinates_.resize(node_.inputs.size());
  }
  bool reads(size_t) const override { return reads_output(0); }

 protected:
  bool compute() override {
    if (ended_) return false;
    uint32_t n = BlockPool::blocks_of(pad_.out().volume);
    for (const size_t i : like_) n = std::min(n, ports[i]->ready());
    if (n == 0 || !load(n)) return false;
    const Payload payload = reads_output(0) ? padded() : Payload{};
    step(batch_.count);
    ended_ = !batch_.stops.empty() && batch_.stops.back().done();
    give_like(0, batch_, batch_.count, payload);
    return true;
  }

 private:
  /// Which loop of the result the coordinates of an input belong to.
  size_t loop_of(size_t input) const {
    const auto stream = static_cast<size_t>(node_.inputs[input].stream);
    const std::vector<int>& loops = pad_.out().loops;
    const auto found =
        std::find(loops.begin(), loops.end(), context_.graph.streams[stream].indices.back());
    return found == loops.end() ? SIZE_MAX : static_cast<size_t>(found - loops.begin());
  }

  /// The next batch: at most n tokens, fewer where outer ones are missing.
  bool load(uint32_t n) {
    const Batch whole = ports[0]->batch(n);
    for (const size_t i : outer_) {
      coordinates_[i].assign(n, 0);
      OuterInput outer(*ports[i], depth(0) - depth(i), in_lane(i));
      n = std::min(n, outer.walk(whole, [&](uint32_t first, uint32_t last, uint32_t word) {
        std::fill(coordinates_[i].begin() + first, coordinates_[i].begin() + last, word);
      }));
    }
    if (n == 0) return false;
    for (const size_t i : outer_) in_lane(i).cut(n);
    batch_ = ports[0]->batch(n);
    for (const size_t i : like_) {
      const Batch batch = ports[i]->batch(n);
      check_like(batch_, batch);
      const uint32_t* words = batch.payload.words();
      if (i > 0 && words != nullptr) coordinates_[i].assign(words, words + n);
    }
    return true;
  }

  Payload padded() {
    const BlockExtents& shape = pad_.out();
    const uint32_t* in = batch_.payload.words();
    const bool blocks_in = !pad_.in().loops.empty();
    if (shape.loops.empty()) return batch_.payload;
    std::vector<int64_t> valid;
    bool any = false;
    BlockWriter out(*context_.blocks, batch_.count, shape.volume);
    for_each_token(
        batch_, batch_.count,
        [&](uint32_t k) {
          valid_at(k, valid);
          if (pad_.same_shape() && valid == shape.extents) {
            any = true;
            return out.word(k, in[k]);
          }
          const float* from = blocks_in ? context_.blocks->block(in[k], pad_.in().volume)
                                        : batch_.payload.values() + k;
          pad_.run(from, valid, out.next(k));
        },
        [&](uint32_t k) { out.stop(k); });
    return any ? keeping(out.payload(), {batch_.payload.keep}) : out.payload();
  }

  void valid_at(uint32_t k, std::vector<int64_t>& valid) const {
    valid = pad_.out().extents;
    for (size_t i = 1; i < node_.inputs.size(); ++i) {
      const size_t d = loops_[i];
      if (d == SIZE_MAX) continue;
      const GraphIndex& index = context_.graph.indices[static_cast<size_t>(pad_.out().loops[d])];
      const int64_t at = static_cast<int64_t>(coordinates_[i][k]) * index.block;
      valid[d] = std::clamp<int64_t>(index.elements() - at, 0, index.block);
    }
  }

  const BlockPad pad_;
  std::vector<size_t> like_;   // inputs of the value's space
  std::vector<size_t> outer_;  // the others
  std::vector<size_t> loops_;  // by input: the loop of the result that it counts
  // the batch at hand
  Batch batch_;
  std::vector<std::vector<uint32_t>> coordinates_;  // by input
};

bool any_blocks(const Context& context, const Node& node) {
  const auto blocked = [&](StreamId s) {
    return s >= 0 && !context.graph.streams[static_cast<size_t>(s)].block.empty();
  };
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](const Input& in) { return !in.is_immediate() && blocked(in.stream); }) ||
         std::any_of(node.outputs.begin(), node.outputs.end(), blocked);
}

}  // namespace

std::unique_ptr<EngineNode> make_block_node(const Context& context, NodeId id) {
  const Node& node = context.graph.nodes[static_cast<size_t>(id)];
  if (node.kind == NodeKind::pad) return std::make_unique<PadNode>(context, id);
  if (!any_blocks(context, node)) return nullptr;
  switch (node.kind) {
    case NodeKind::map:
      return std::make_unique<BlockMapNode>(context, id);
    case NodeKind::array:
      return std::make_unique<BlockArrayNode>(context, id);
    case NodeKind::coordinate:
      return std::make_unique<BlockCoordinateNode>(context, id);
    default:
      return nullptr;
  }
}

}  // namespace fuseflow::engine
