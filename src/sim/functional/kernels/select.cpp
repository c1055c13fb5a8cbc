// Engine: filter, drop and parallelize, each output of which gives some of the tokens only.
#include <algorithm>
#include <bit>

#include "graph/blocks.h"
#include "sim/functional/kernels/make_node.h"
#include "sim/functional/node.h"
#include "sim/functional/outer_input.h"
#include "sim/functional/payload_loops.h"

namespace fuseflow::engine {

namespace {

/// Tokens picked out of a batch: structure, and where each comes from, which is also the step that
/// gives it.
struct SelectedTokens {
  explicit SelectedTokens(Lane& lane) : at(lane.list().at) {}
  std::shared_ptr<Structure> structure = new_structure();
  Places& at;

  void payload(uint32_t step) { at.push_back(step); }
  void stop(uint16_t level, uint32_t bits, uint32_t step) {
    structure->stops.push_back({static_cast<uint32_t>(at.size()), level, bits});
    at.push_back(step);
  }
  /// When all are picked.
  const std::shared_ptr<Structure>& counted() const {
    structure->count = static_cast<uint32_t>(at.size());
    return structure;
  }
  Payload gather(const uint32_t* words) const {
    if (words == nullptr) return {};
    const size_t n = at.size();
    auto out = allocate_payload(n);
    for (size_t k = 0; k < n; ++k) out[k] = words[at[k]];
    for (const Stop& stop : structure->stops) out[stop.at] = 0;
    return {out, out.get()};
  }
};

/// Inputs: values, then the streams that are filtered by them. Outputs: the latter.
class FilterNode final : public EngineNode {
 public:
  FilterNode(const Context& context, NodeId id)
      : EngineNode(context, id),
        volume_(block_volume(context.graph, context.graph.streams[node_.inputs[0].stream].block)) {}
  bool reads(size_t input) const override { return input == 0 || reads_output(input - 1); }

 protected:
  bool compute() override {
    const uint32_t n = ready(0, ports.size());
    if (n == 0 || ended_) return false;
    std::vector<Batch> batches;
    read_batches(0, ports.size(), n, batches);
    add_steps(n);
    ended_ = !batches[0].stops.empty() && batches[0].stops.back().done();
    if (keeps_all(batches[0], n)) {
      pass_on(batches, n);
    } else {
      give_some(batches, n);
    }
    return true;
  }

 private:
  /// Most batches have nothing to drop where values are only seldom the one.
  bool keeps_all(const Batch& batch, uint32_t n) const {
    if (ports[0]->blocks) return false;
    const float* values = batch.payload.values();
    const auto at_stops = std::count_if(
        batch.stops.begin(), batch.stops.end(),
        [&](const Stop& stop) { return same_value(values[batch.at(stop)], node_.init); });
    return loops::count_same(values, node_.init, n) == at_stops;
  }

  void pass_on(const std::vector<Batch>& batches, uint32_t n) {
    for (size_t i = 1; i < ports.size(); ++i) {
      const Payload payload =
          reads_output(i - 1) ? keeping(batches[i].payload, *ports[i], n) : Payload{};
      give_like(i - 1, batches[0], n, payload);
    }
  }

  void give_some(const std::vector<Batch>& batches, uint32_t n) {
    const SelectedTokens picked = pick(batches[0], n);
    if (picked.at.empty()) return;
    const StructureRef structure = picked.counted();
    for (size_t i = 1; i < ports.size(); ++i) {
      const uint32_t* words = reads_output(i - 1) ? batches[i].payload.words() : nullptr;
      give(i - 1, structure, keeping(picked.gather(words), *ports[i], n));
    }
  }

  /// A block is dropped if all of its elements are the value.
  bool differs(const float* value) const {
    if (!ports[0]->blocks) return !same_value(*value, node_.init);
    const float* elements = context_.blocks->block(std::bit_cast<uint32_t>(*value), volume_);
    return std::any_of(elements, elements + volume_,
                       [&](float element) { return !same_value(element, node_.init); });
  }

  SelectedTokens pick(const Batch& batch, uint32_t n) {
    SelectedTokens picked(out_lane(0));
    const float* values = batch.payload.values();
    for_each_token(
        batch, n,
        [&](uint32_t k) {
          if (differs(values + k)) picked.payload(k);
        },
        [&](uint32_t k, const Stop& stop) { picked.stop(stop.level, stop.bits, k); });
    return picked;
  }

  const int64_t volume_;  // of the values filtered by
};

/// Inputs: outer streams (groups[0] of them), then inner ones; outputs likewise.
class DropNode final : public EngineNode {
 public:
  DropNode(const Context& context, NodeId id)
      : EngineNode(context, id), outer_(static_cast<size_t>(node_.groups.at(0))) {
    // Lanes: the outer streams one each, all inner ones the next.
    StepSource& source = sides.back();
    source.own_lanes(outer_ + 1, 2);
    source.in_lane.resize(node_.inputs.size(), static_cast<int>(outer_));
    source.out_lane.assign(outer_, 0);
    source.out_lane.resize(node_.inputs.size(), 1);
  }
  bool reads(size_t input) const override { return reads_output(input); }

 protected:
  bool compute() override {
    if (ended_) return false;
    std::vector<std::vector<uint32_t>> words(outer_);  // by inner token: the outer payload
    const auto note = [&](size_t i, OuterInput& outer, const Batch& whole) {
      words[i].assign(whole.count, 0);
      return outer.walk(whole,
                        [&](uint32_t first, uint32_t, uint32_t word) { words[i][first] = word; });
    };
    Batch inner_batch;
    if (!read_beside(outer_, UINT32_MAX, inner_batch, note)) return false;
    const uint32_t n = inner_batch.count;
    std::vector<Batch> batches;
    read_batches(outer_, ports.size() - outer_, n, batches);
    add_steps(n);
    SelectedTokens outer(steps().out[0]);
    SelectedTokens inner(steps().out[1]);
    pick(batches[0], n, outer, inner);
    for (size_t i = 0; i < ports.size(); ++i) {
      const bool is_outer = i < outer_;
      const SelectedTokens& picked = is_outer ? outer : inner;
      if (picked.at.empty()) continue;
      const uint32_t* in = is_outer ? words[i].data() : batches[i - outer_].payload.words();
      const uint32_t read = is_outer ? static_cast<uint32_t>(in_lane(i).at.size()) + 1 : n;
      give(i, picked.counted(),
           keeping(picked.gather(reads_output(i) ? in : nullptr), *ports[i], read));
    }
    return true;
  }

 private:
  void pick(const Batch& batch, uint32_t n, SelectedTokens& outer, SelectedTokens& inner) {
    uint32_t k = 0;
    for (const Stop& stop : batch.stops) {
      elements(k, batch.at(stop), outer, inner);
      k = batch.at(stop);
      end_fiber(stop, k++, outer, inner);
    }
    elements(k, n, outer, inner);
  }

  void elements(uint32_t first, uint32_t last, SelectedTokens& outer, SelectedTokens& inner) {
    if (first == last) return;
    if (!in_fiber_) {
      if (held_) inner.stop(0, 1, first);
      outer.payload(first);
      held_ = false;
      in_fiber_ = true;
    }
    for (uint32_t k = first; k < last; ++k) inner.payload(k);
  }

  void end_fiber(const Stop& stop, uint32_t k, SelectedTokens& outer, SelectedTokens& inner) {
    if (stop.done()) {
      inner.stop(kDoneLevel, 0, k);
      outer.stop(kDoneLevel, 0, k);
      ended_ = true;
      return;
    }
    const bool left = in_fiber_ || held_;
    if (stop.level >= 1) {
      inner.stop(stop.level, (stop.bits & ~1U) | (left ? 1U : 0U), k);
      outer.stop(static_cast<uint16_t>(stop.level - 1), stop.bits >> 1, k);
    }
    held_ = stop.level == 0 && left;
    in_fiber_ = false;
  }

  const size_t outer_;
  bool in_fiber_ = false;  // the current inner fiber has an element
  bool held_ = false;      // a stop S0 of an earlier inner fiber has still to be given
};

/// Inputs: the stream, and the coordinates if copies own ranges of them.
class ParallelizeNode final : public EngineNode {
 public:
  ParallelizeNode(const Context& context, NodeId id)
      : EngineNode(context, id), copies_(static_cast<int64_t>(node_.outputs.size())) {
    const Stream& stream = context.graph.streams[node_.inputs[0].stream];
    extent_ = context.graph.indices[stream.indices.back()].extent;
    next_ = first_copy(0, copies_);
    sides.back().own_lanes(node_.inputs.size(), node_.outputs.size());
    std::fill(sides.back().in_lane.begin(), sides.back().in_lane.end(), 0);
  }
  bool reads(size_t input) const override {
    if (input == 1) return true;
    for (size_t o = 0; o < outputs.size(); ++o) {
      if (reads_output(o)) return true;
    }
    return false;
  }

 protected:
  bool compute() override {
    const uint32_t n = ready(0, ports.size());
    if (n == 0 || ended_) return false;
    std::vector<Batch> batches;
    read_batches(0, ports.size(), n, batches);
    add_steps(n);
    std::vector<SelectedTokens> parts;
    for (size_t p = 0; p < node_.outputs.size(); ++p) parts.emplace_back(out_lane(p));
    deal(batches, n, parts);
    for (size_t p = 0; p < parts.size(); ++p) {
      if (parts[p].at.empty() || !connected(p)) continue;
      const uint32_t* words = reads_output(p) ? batches[0].payload.words() : nullptr;
      give(p, parts[p].counted(), keeping(parts[p].gather(words), *ports[0], n));
    }
    return true;
  }

 private:
  void deal(const std::vector<Batch>& batches, uint32_t n, std::vector<SelectedTokens>& parts) {
    const uint32_t* crd = node_.contiguous ? batches[1].payload.words() : nullptr;
    for_each_token(
        batches[0], n,
        [&](uint32_t k) {
          const int64_t copy = crd != nullptr ? owning_copy(crd[k], extent_, copies_) : next_;
          parts[copy].payload(k);
          next_ = next_ + 1 < copies_ ? next_ + 1 : 0;
        },
        [&](uint32_t k, const Stop& stop) {
          for (SelectedTokens& part : parts) part.stop(stop.level, stop.bits, k);
          next_ = first_copy(++fiber_, copies_);
          ended_ = stop.done();
        });
  }

  const int64_t copies_;
  int64_t extent_ = 0;
  int64_t next_ = 0;  // in turn: the copy that gets the next element
  uint64_t fiber_ = 0;
};

}  // namespace

FUSEFLOW_RUN(filter, FilterNode)
FUSEFLOW_RUN(drop, DropNode)
FUSEFLOW_RUN(parallelize, ParallelizeNode)

}  // namespace fuseflow::engine
