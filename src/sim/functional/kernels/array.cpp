// Engine: array, which loads values, or blocks of them.
#include <fmt/format.h>

#include <algorithm>

#include "sim/common/level_view.h"
#include "sim/functional/kernels/make_node.h"
#include "sim/functional/payload_loops.h"
#include "sim/functional/run_length.h"
#include "sim/functional/token_node.h"

namespace fuseflow::engine {
namespace {

/// Loads the elements (numbers, or blocks of them) of a tensor's values that references name.
class LoadNode : public TokenNode {
 public:
  LoadNode(const Context& context, NodeId id)
      : TokenNode(context, id),
        tensor_(context.program.tensors[node_.tensor]),
        storage_(context.storage(node_.tensor)),
        volume_(tensor_.format.block_volume()),
        bytes_(static_cast<uint64_t>(element_bytes(tensor_.type) * volume_)) {
    if (storage_ == nullptr) missing_data(tensor_.name);
    stored_ = storage_->values.size() / static_cast<size_t>(volume_);
    if (!timed_memory()) return;
    memory_wants_batches() ? ask_in_own_steps(1) : make_sides({1});
    start_ = context.addresses->values(node_.tensor);
  }

 protected:
  /// `found`: in a batch with so many references. Refuses those that are outside of the tensor.
  void account_found(const loops::References& found, int64_t references) {
    // Stops are references 0, which an empty tensor has not either.
    const bool none = stored_ == 0 && found.absent < references;
    if (none || found.beyond > std::max<size_t>(stored_, 1)) {
      refuse(fmt::format("reference {} is outside of %{}", found.beyond - 1, tensor_.name));
    }
    stats_.read_bytes += (references - found.absent) * static_cast<int64_t>(bytes_);
  }

  /// Memory that is asked in batches: an address a reference.
  void log_batches(const Batch& references, uint32_t n) {
    asking->begin();
    const uint32_t* refs = references.payload.words();
    for_each_token(
        references, n,
        [&](uint32_t k) {
          const bool present = refs[k] != kAbsent;
          if (present) bursts[0].push_back(start_ + bytes_ * refs[k]);
          batched_load_.token(*asking, present, interval_);
        },
        [&](uint32_t, const Stop&) { batched_load_.token(*asking, false, interval_); });
  }

  const Tensor& tensor_;
  const Storage* storage_;
  const int64_t volume_;  ///< of an element
  const uint64_t bytes_;  ///< of an element
  size_t stored_ = 0;     ///< elements
  uint64_t start_ = 0;    ///< where memory takes time: of the values

 private:
  BatchedLoad batched_load_;
};

class ArrayNode final : public LoadNode {
 public:
  using LoadNode::LoadNode;
  // Steps that wait for rows look at each reference.
  bool takes_run_length(size_t) const override { return !row_gates.any() && !asking; }

 protected:
  /// Values of run-length references stay where they are, if all of them are there.
  Payload make_payload(const std::vector<Batch>& inputs, uint32_t n) override {
    const Batch& references = inputs[0];
    if (references.payload.run_length == nullptr) return TokenNode::make_payload(inputs, n);
    look_at(references);
    if (found_.absent > 0 || found_.beyond > storage_->values.size()) {
      return TokenNode::make_payload({expanded(references, refs_)}, n);
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
  void account(const std::vector<Batch>& inputs, int64_t elements) override {
    if (!reads_output(0)) look_at(inputs[0]);
    account_found(found_, elements);
  }

  void log_bursts(const std::vector<Batch>& inputs, uint32_t n) override {
    if (asking) return log_batches(inputs[0], n);
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
      const Interval burst = last_burst_references();
      const uint32_t inside = loops::find_outside(refs + k, n - k, burst.first, burst.count);
      quiet_ += inside;
      k += inside;
      if (k < n) log_element(refs[k]);
    }
  }
  struct Interval {
    uint32_t first = 0;
    uint32_t count = 0;
  };
  /// The references whose values are in the burst requested last; none if they do not fill it.
  Interval last_burst_references() const {
    const uint64_t size = context_.addresses->burst_bytes();
    const uint64_t offset = last_burst_[0] - start_;  // large if the burst starts before
    const bool none = last_burst_[0] == kNoBurst || size % bytes_ != 0 || offset % bytes_ != 0 ||
                      offset / bytes_ >= kAbsent || size / bytes_ >= kAbsent;
    if (none) return {};
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
    log_side(0, {.requests = {fetched}});
    log_side(1, {.uses = {fetched}});
  }
  void log_quiet() {
    log_side(0, {.count = quiet_});
    log_side(1, {.count = quiet_});
    quiet_ = 0;
  }

  void load(const Batch& input, uint32_t first, uint32_t last, uint32_t* out) {
    if (first == last) return;
    const loops::References found =
        loops::gather(input.payload.words() + first, storage_->values.data(),
                      static_cast<uint32_t>(storage_->values.size()), tensor_.fill,
                      reinterpret_cast<float*>(out) + first, last - first);
    found_.absent += found.absent;
    found_.beyond = std::max(found_.beyond, found.beyond);
  }

  /// What the references are; nothing is loaded.
  void look_at(const Batch& input) {
    if (input.payload.run_length == nullptr) {
      found_ = loops::references(input.payload.words(), input.count);
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

  loops::References found_;     // of the batch at hand
  std::vector<uint32_t> refs_;  // words of run-length references
  uint32_t quiet_ = 0;          // memory: steps not logged yet that request nothing
};

/// Blocks of a tensor are named where they are stored.
class BlockArrayNode final : public LoadNode {
 public:
  BlockArrayNode(const Context& context, NodeId id) : LoadNode(context, id) {
    first_ = context.blocks->name(storage_->values.data(), stored_, volume_);
    fill_ = constant_block(tensor_.fill, volume_);
  }

 protected:
  void fill(const std::vector<Batch>& inputs, uint32_t* out, uint32_t n) override {
    const uint32_t* refs = inputs[0].payload.words();
    for (uint32_t k = 0; k < n; ++k) out[k] = refs[k] == kAbsent ? fill_ : first_ + refs[k];
  }
  void account(const std::vector<Batch>& inputs, int64_t elements) override {
    account_found(loops::references(inputs[0].payload.words(), inputs[0].count), elements);
  }

  /// Memory: a block is requested and taken burst by burst, a step each (ir-spec/memory.md).
  void log_bursts(const std::vector<Batch>& inputs, uint32_t n) override {
    const uint32_t* refs = inputs[0].payload.words();
    if (asking) return log_batches(inputs[0], n);
    for_each_token(
        inputs[0], n,
        [&](uint32_t k) {
          log_block(refs[k] == kAbsent ? 0 : fetch(0, start_ + bytes_ * refs[k], bytes_));
        },
        [&](uint32_t, const Stop&) { log_block(0); });
  }

 private:
  void log_block(uint32_t burst_count) {
    if (burst_count <= 1) {
      log_side(0, {.requests = {burst_count}});
      log_side(1, {.uses = {burst_count}});
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
    add_part(side, {.uses = {side}, .requests = {1 - side}}, last ? last_cost : 1);
    if (side == 0 ? k == 0 : last) target.in.front().add_range(step, 1);
    if (last) target.out.front().add_range(step, 1);
  }

  uint32_t first_ = 0;  // name of block 0
  uint32_t fill_ = 0;   // name of the block that an absent reference gives
};

}  // namespace

std::unique_ptr<EngineNode> run_array(const Context& context, NodeId id) {
  const StreamId out = context.graph.nodes[id].outputs[0];
  if (!context.graph.streams[out].block.empty()) {
    return std::make_unique<BlockArrayNode>(context, id);
  }
  return std::make_unique<ArrayNode>(context, id);
}

}  // namespace fuseflow::engine
