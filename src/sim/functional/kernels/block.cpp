// Engine: nodes that work inside of blocks, a token a step: map, coordinate, pad. (Loads,
// reductions and accumulators of blocks are with those of numbers.)
#include <algorithm>
#include <array>
#include <bit>

#include "sim/functional/block_loops.h"
#include "sim/functional/kernels/make_node.h"
#include "sim/functional/outer_input.h"
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
        [&](uint32_t k, const Stop&) { out.stop(k); });
    return out.payload();
  }
  void account(const std::vector<Batch>&, int64_t elements) override {
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
        [&](uint32_t k, const Stop&) { words[k] = 0; });
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

/// The numbers of the elements of a block of coordinates.
class BlockCoordinateNode final : public TokenNode {
 public:
  BlockCoordinateNode(const Context& context, NodeId id)
      : TokenNode(context, id),
        volume_(BlockExtents(context.graph, context.graph.streams[node_.outputs[0]].block).volume) {
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
        [&](uint32_t k, const Stop&) { out.stop(k); });
    return out.payload();
  }
  void account(const std::vector<Batch>&, int64_t) override {}

 private:
  const int64_t volume_;
};

/// Inputs: a value, coordinates of its loop or of loops around it.
class PadNode final : public EngineNode {
 public:
  PadNode(const Context& context, NodeId id) : EngineNode(context, id), pad_(context.graph, node_) {
    sides.back().own_lanes(node_.inputs.size(), node_.outputs.size());
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      loops_.push_back(i == 0 ? SIZE_MAX : loop_of(i));
    }
    coordinates_.resize(node_.inputs.size());
  }
  bool reads(size_t) const override { return reads_output(0); }

 protected:
  bool compute() override {
    if (ended_) return false;
    if (!load()) return false;
    const Payload payload = reads_output(0) ? padded() : Payload{};
    add_steps(batch_.count);
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

  bool load() {
    const auto repeat = [this](size_t i, OuterInput& outer, const Batch& whole) {
      coordinates_[i].assign(whole.count, 0);
      return outer.walk(whole, [&](uint32_t first, uint32_t last, uint32_t word) {
        std::fill(coordinates_[i].begin() + first, coordinates_[i].begin() + last, word);
      });
    };
    if (!read_beside(0, BlockPool::blocks_of(pad_.out().volume), batch_, repeat)) return false;
    for (size_t i = 1; i < ports.size(); ++i) {
      if (depth(i) != depth(0)) continue;
      const Batch batch = ports[i]->batch(batch_.count);
      check_like(batch_, batch);
      const uint32_t* words = batch.payload.words();
      if (words != nullptr) coordinates_[i].assign(words, words + batch_.count);
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
        [&](uint32_t k, const Stop&) { out.stop(k); });
    return any ? keeping(out.payload(), {batch_.payload.keep}) : out.payload();
  }

  void valid_at(uint32_t k, std::vector<int64_t>& valid) const {
    valid = pad_.out().extents;
    for (size_t i = 1; i < node_.inputs.size(); ++i) {
      const size_t d = loops_[i];
      if (d == SIZE_MAX) continue;
      const GraphIndex& index = context_.graph.indices[pad_.out().loops[d]];
      const int64_t at = static_cast<int64_t>(coordinates_[i][k]) * index.block;
      valid[d] = std::clamp<int64_t>(index.elements() - at, 0, index.block);
    }
  }

  const BlockPad pad_;
  std::vector<size_t> loops_;  // by input: the loop of the result that it counts
  // the batch at hand
  Batch batch_;
  std::vector<std::vector<uint32_t>> coordinates_;  // by input
};

bool any_blocks(const Context& context, const Node& node) {
  const auto blocked = [&](StreamId s) {
    return s >= 0 && !context.graph.streams[s].block.empty();
  };
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](const Input& in) { return !in.is_immediate() && blocked(in.stream); }) ||
         std::any_of(node.outputs.begin(), node.outputs.end(), blocked);
}

}  // namespace

FUSEFLOW_RUN(pad, PadNode)

std::unique_ptr<EngineNode> run_over_blocks(const Context& context, NodeId id) {
  const Node& node = context.graph.nodes[id];
  if (!any_blocks(context, node)) return nullptr;
  if (node.kind == NodeKind::map) return std::make_unique<BlockMapNode>(context, id);
  if (node.kind == NodeKind::coordinate) return std::make_unique<BlockCoordinateNode>(context, id);
  return nullptr;
}

}  // namespace fuseflow::engine
