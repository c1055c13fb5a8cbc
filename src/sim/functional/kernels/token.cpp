// Engine: nodes that do one step a token and keep the structure: map, coordinate, buffer, repeat.
#include <algorithm>
#include <array>

#include "sim/functional/outer_input.h"
#include "sim/functional/run_length.h"
#include "sim/functional/token_node.h"

namespace fuseflow::engine {
namespace {

class MapNode final : public TokenNode {
 public:
  using TokenNode::TokenNode;
  bool reads(size_t) const override { return reads_output(0); }
  bool takes_run_length(size_t) const override { return true; }

 protected:
  void fill(const std::vector<Batch>& inputs, uint32_t* out, uint32_t n) override {
    const bool runs = std::any_of(inputs.begin(), inputs.end(), [](const Batch& input) {
      return input.payload.run_length != nullptr;
    });
    if (!runs) return evaluate(inputs, 0, 0, n, out);
    for_fibers(inputs.front(), [&](size_t s, uint32_t first, uint32_t last) {
      evaluate(inputs, s, first, last, out);
    });
  }
  void account(const std::vector<Batch>&, int64_t elements) override {
    stats_.flops += elements * op_info(node_.op).flops;
  }

 private:
  /// Tokens first .. last-1; where an input is run lengths, of the fiber up to the s-th stop.
  void evaluate(const std::vector<Batch>& inputs, size_t s, uint32_t first, uint32_t last,
                uint32_t* out) {
    std::array<const float*, 3> operands{};
    std::array<int, 3> strides{};
    size_t next = 0;
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      if (node_.inputs[i].is_immediate()) {
        operands[i] = &node_.inputs[i].immediate;
        continue;
      }
      const Words words = fiber_words(inputs[next++], s, first, last, scratch_[i]);
      operands[i] = reinterpret_cast<const float*>(words.first);
      strides[i] = static_cast<int>(words.step);
    }
    const size_t count = node_.inputs.size();
    evaluate_many(node_.op, {operands.data(), count}, {strides.data(), count},
                  reinterpret_cast<float*>(out) + first, last - first);
  }

  std::array<std::vector<uint32_t>, 3> scratch_;
};

/// coordinate and buffer.
class PassNode final : public TokenNode {
 public:
  using TokenNode::TokenNode;
  bool reads(size_t) const override { return reads_output(0); }
  bool takes_run_length(size_t) const override { return node_.kind == NodeKind::buffer; }

 protected:
  Payload make_payload(const std::vector<Batch>& inputs, uint32_t n) override {
    if (node_.kind == NodeKind::buffer) return inputs[0].payload;
    return TokenNode::make_payload(inputs, n);
  }
  void fill(const std::vector<Batch>& inputs, uint32_t* out, uint32_t n) override {
    const uint32_t* in = inputs[0].payload.words();
    auto* numbers = reinterpret_cast<float*>(out);
    for (uint32_t k = 0; k < n; ++k) numbers[k] = static_cast<float>(in[k]);
  }
  void account(const std::vector<Batch>&, int64_t) override {}
};

class RepeatNode final : public EngineNode {
 public:
  RepeatNode(const Context& context, NodeId id) : EngineNode(context, id) {
    sides.back().own_lanes(node_.inputs.size(), node_.outputs.size());
  }
  bool reads(size_t input) const override { return input == 0 && reads_output(0); }

 protected:
  bool compute() override {
    const uint32_t ready = ports[1]->ready();
    if (ready == 0 || ended_) return false;
    const Batch batch = ports[1]->batch(ready);
    OuterInput outer(*ports[0], 1, in_lane(0));
    Payload payload;
    const uint32_t n = repeat(outer, batch, payload);
    if (n == 0) return false;
    add_steps(n);
    for (const Stop& stop : batch.stops) ended_ = ended_ || (batch.at(stop) < n && stop.done());
    give_like(0, batch, n, keeping(payload, *ports[0], outer.tokens()));
    return true;
  }

 private:
  /// The payloads of as many tokens as the repeated stream serves; how many.
  uint32_t repeat(OuterInput& outer, const Batch& batch, Payload& payload) {
    if (!reads_output(0)) return outer.walk(batch);
    const bool runs = !ports[0]->blocks && worth_run_length(batch.count, batch.stops.size());
    return runs ? repeat_runs(outer, batch, payload) : repeat_words(outer, batch, payload);
  }

  static uint32_t repeat_words(OuterInput& outer, const Batch& batch, Payload& payload) {
    const auto words = allocate_payload(batch.count);
    const uint32_t n = outer.walk(batch, [&](uint32_t first, uint32_t last, uint32_t word) {
      std::fill(words.get() + first, words.get() + last, word);
    });
    for (const Stop& stop : batch.stops) words[batch.at(stop)] = 0;
    payload = {words, words.get()};
    return n;
  }

  static uint32_t repeat_runs(OuterInput& outer, const Batch& batch, Payload& payload) {
    auto runs = make_pooled<Runs>(batch.stops.size() + 1);
    size_t s = 0;  // the stop at the end of the fiber
    const uint32_t n = outer.walk(batch, [&](uint32_t first, uint32_t, uint32_t word) {
      while (s < batch.stops.size() && batch.at(batch.stops[s]) < first) ++s;
      (*runs)[s] = {word, 0};
    });
    payload.run_length = runs_like(batch, std::move(runs));
    return n;
  }
};

}  // namespace

std::unique_ptr<EngineNode> make_token_node(const Context& context, NodeId id) {
  switch (context.graph.nodes[static_cast<size_t>(id)].kind) {
    case NodeKind::map:
      return std::make_unique<MapNode>(context, id);
    case NodeKind::coordinate:
    case NodeKind::buffer:
      return std::make_unique<PassNode>(context, id);
    case NodeKind::repeat:
      return std::make_unique<RepeatNode>(context, id);
    default:
      return nullptr;
  }
}

}  // namespace fuseflow::engine
