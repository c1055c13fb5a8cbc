// Engine: nodes that do one step a token and keep the structure: map, array, coordinate, buffer,
// repeat.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/common/level_view.h"
#include "sim/functional/outer_input.h"
#include "sim/functional/payload_loops.h"
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
  void count(const std::vector<Batch>&, int64_t elements) override {
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
      const Words words = words_of(inputs[next++], s, first, last, scratch_[i]);
      operands[i] = reinterpret_cast<const float*>(words.first);
      strides[i] = static_cast<int>(words.step);
    }
    const size_t count = node_.inputs.size();
    evaluate_many(node_.op, {operands.data(), count}, {strides.data(), count},
                  reinterpret_cast<float*>(out) + first, last - first);
  }

  std::array<std::vector<uint32_t>, 3> scratch_;
};

class ArrayNode final : public TokenNode {
 public:
  ArrayNode(const Context& context, NodeId id)
      : TokenNode(context, id),
        tensor_(context.program.tensors[static_cast<size_t>(node_.tensor)]),
        storage_(context.storage(node_.tensor)) {
    if (storage_ == nullptr) missing_data(tensor_.name);
    if (!timed_memory()) return;
    batched_memory() ? make_batched(1) : make_sides(2);
    start_ = context.addresses->values(node_.tensor);
    bytes_ = static_cast<uint64_t>(element_bytes(tensor_.type));
  }
  // Steps that wait for rows look at each reference.
  bool takes_run_length(size_t) const override { return !gates.any() && !batched; }

 protected:
  /// Values of run-length references stay where they are, if all of them are there.
  Payload make_payload(const std::vector<Batch>& inputs, uint32_t n) override {
    const Batch& references = inputs[0];
    if (references.payload.run_length == nullptr) return TokenNode::make_payload(inputs, n);
    look_at(references);
    if (found_.absent > 0 || found_.beyond > storage_->values.size()) {
      return TokenNode::make_payload({with_words(references, refs_)}, n);
    }
    auto values = make_pooled<RunLengthPayload>(*references.payload.run_length);
    values->memory = reinterpret_cast<const uint32_t*>(storage_->values.data());
    return {nullptr, nullptr, std::move(values)};
  }
  void fill(const std::vector<Batch>& inputs, uint32_t* out, uint32_t n) override {
    found_ = {};
    uint32_t from = 0;  // not loaded yet
    uint32_t k = 0;
    for (const Stop& stop : inputs[0].stops) {
      const uint32_t at = inputs[0].at(stop);
      if (at - k >= kLongFiber) {  // by itself: its references may follow one another
        load(inputs[0], from, k, out);
        load(inputs[0], k, at, out);
        from = at;
      }
      k = at + 1;
    }
    load(inputs[0], from, n, out);
  }
  void count(const std::vector<Batch>& inputs, int64_t elements) override {
    const auto size = storage_->values.size();
    if (!reads_output(0)) look_at(inputs[0]);
    const kernels::References& found = found_;
    // Stops are references 0, which an empty tensor has not either.
    const bool none = size == 0 && found.absent < elements;
    if (none || found.beyond > std::max<size_t>(size, 1)) {
      refuse(fmt::format("reference {} is outside of %{}", found.beyond - 1, tensor_.name));
    }
    stats_.read_bytes += (elements - found.absent) * element_bytes(tensor_.type);
  }

  void log_bursts(const std::vector<Batch>& inputs, uint32_t n) override {
    if (batched) return log_batches(inputs[0], n);
    uint32_t k = 0;
    for_fibers(inputs[0], [&](size_t s, uint32_t first, uint32_t last) {
      quiet_ += first - k;  // stops
      log_fiber(inputs[0], s, first, last);
      k = last;
    });
    quiet_ += n - k;
    log_quiet();
  }

 private:
  static constexpr uint32_t kLongFiber = 32;

  /// Memory that is asked in batches: an address a reference.
  void log_batches(const Batch& references, uint32_t n) {
    batched->begin();
    const uint32_t* refs = references.payload.words();
    for_each_token(
        references, n,
        [&](uint32_t k) {
          const bool present = refs[k] != kAbsent;
          if (present) bursts[0].push_back(start_ + bytes_ * refs[k]);
          batched_load_.token(*batched, present, interval_);
        },
        [&](uint32_t) { batched_load_.token(*batched, false, interval_); });
  }

  /// Memory: the references of tokens first .. last-1, before the s-th stop.
  void log_fiber(const Batch& input, size_t s, uint32_t first, uint32_t last) {
    if (input.payload.run_length == nullptr) {
      return log_references(input.payload.words() + first, last - first);
    }
    const Run run = run_of(input, s, first);
    if (run.step == 0) {
      log_element(run.first);
      quiet_ += last - first - 1;
      return;
    }
    fetch_each(
        0, start_ + bytes_ * run.first, bytes_, last - first,
        [this](uint32_t fetched) { log_fetched(fetched); },
        [this](uint32_t count) { quiet_ += count; });
  }
  void log_references(const uint32_t* refs, uint32_t n) {
    for (uint32_t k = 0; k < n; ++k) {
      const Run burst = last_burst_references();
      const uint32_t inside = kernels::find_outside(refs + k, n - k, burst.first, burst.step);
      quiet_ += inside;
      k += inside;
      if (k < n) log_element(refs[k]);
    }
  }
  /// The first of the references whose values are in the burst requested last, and how many (as
  /// step); none if they do not fill the burst.
  Run last_burst_references() const {
    const uint64_t size = context_.addresses->burst_bytes();
    const uint64_t offset = last_burst_[0] - start_;  // large if the burst starts before
    const bool none = last_burst_[0] == kNoBurst || size % bytes_ != 0 || offset % bytes_ != 0 ||
                      offset / bytes_ >= kAbsent || size / bytes_ >= kAbsent;
    if (none) return {0, 0};
    return {static_cast<uint32_t>(offset / bytes_), static_cast<uint32_t>(size / bytes_)};
  }
  void log_element(uint32_t reference) {
    const uint32_t fetched =
        reference == kAbsent ? 0 : fetch(0, start_ + bytes_ * reference, bytes_);
    if (fetched > 0) return log_fetched(fetched);
    ++quiet_;
  }
  void log_fetched(uint32_t fetched) {
    log_quiet();
    log_side(0, 1, 0, fetched);
    log_side(1, 1, fetched, 0);
  }
  void log_quiet() {
    log_side(0, quiet_, 0, 0);
    log_side(1, quiet_, 0, 0);
    quiet_ = 0;
  }

  void load(const Batch& input, uint32_t first, uint32_t last, uint32_t* out) {
    if (first == last) return;
    const kernels::References found =
        kernels::gather(input.payload.words() + first, storage_->values.data(),
                        static_cast<uint32_t>(storage_->values.size()), tensor_.fill,
                        reinterpret_cast<float*>(out) + first, last - first);
    found_.absent += found.absent;
    found_.beyond = std::max(found_.beyond, found.beyond);
  }

  /// What the references are; nothing is loaded.
  void look_at(const Batch& input) {
    if (input.payload.run_length == nullptr) {
      found_ = kernels::references(input.payload.words(), input.count);
      return;
    }
    found_ = {};
    for_fibers(input, [&](size_t s, uint32_t first, uint32_t last) {
      const Run run = run_of(input, s, first);
      const uint64_t n = last - first;
      if (run.first == kAbsent) {
        found_.absent += static_cast<int64_t>(n);
      } else {
        found_.beyond = std::max(found_.beyond, run.first + run.step * (n - 1) + 1);
      }
    });
  }

  const Tensor& tensor_;
  const Storage* storage_;
  kernels::References found_;   // of the batch at hand
  std::vector<uint32_t> refs_;  // words of run-length references
  // where memory takes time
  uint64_t start_ = 0;  // of the values
  uint64_t bytes_ = 0;  // of one
  uint32_t quiet_ = 0;  // steps not logged yet that request nothing
  BatchedLoad batched_load_;
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
  void count(const std::vector<Batch>&, int64_t) override {}
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
    step(n);
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
    payload.run_length = run_length_like(batch, std::move(runs));
    return n;
  }
};

}  // namespace

std::unique_ptr<EngineNode> make_token_node(const Context& context, NodeId id) {
  switch (context.graph.nodes[static_cast<size_t>(id)].kind) {
    case NodeKind::map:
      return std::make_unique<MapNode>(context, id);
    case NodeKind::array:
      return std::make_unique<ArrayNode>(context, id);
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
