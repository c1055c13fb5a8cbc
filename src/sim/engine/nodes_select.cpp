// Engine: filter and drop, which give some of their tokens only.
#include <algorithm>
#include <cstring>

#include "graph/blocks.h"
#include "sim/engine/along.h"
#include "sim/engine/kernels.h"
#include "sim/engine/node.h"

namespace fuseflow::engine {

std::unique_ptr<EngineNode> make_align_node(const Context& context, NodeId id);

namespace {

/// Tokens picked out of a batch: structure, and where each comes from, which is also the step that
/// gives it.
struct Picked {
  std::shared_ptr<Structure> structure = new_structure();
  std::vector<uint32_t> at;

  void payload(uint32_t step) {
    at.push_back(step);
    ++structure->count;
  }
  void stop(uint16_t level, uint32_t bits, uint32_t step) {
    structure->stops.push_back({structure->count, level, bits});
    payload(step);
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
        volume_(block_volume(
            context.graph,
            context.graph.streams[static_cast<size_t>(node_.inputs[0].stream)].block)) {}
  bool reads(size_t input) const override { return input == 0 || reads_output(input - 1); }

  bool work() override {
    const uint32_t n = ready(0, ports.size());
    if (n == 0 || ended_) return false;
    std::vector<Batch> batches;
    std::vector<TimeRef> arrivals;
    for (const auto& port : ports) {
      batches.push_back(port->batch(n));
      arrivals.push_back(batches.back().arrivals);
      check_like(batches.front(), batches.back());
    }
    const TimeRef steps = step_times(pace_, arrivals, n);
    count_steps(n, steps);
    ended_ = !batches[0].stops.empty() && batches[0].stops.back().done();
    if (keeps_all(batches[0], n)) {
      pass_on(batches, n, steps);
    } else {
      give_some(batches, n, steps);
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
    return kernels::count_same(values, node_.init, n) == at_stops;
  }

  void pass_on(const std::vector<Batch>& batches, uint32_t n, const TimeRef& steps) {
    if (log.wanted) log_step(true, n);
    std::vector<Payload> given;
    for (size_t i = 1; i < ports.size(); ++i) {
      const Payload& payload = batches[i].payload;
      given.push_back(reads_output(i - 1) ? keeping(payload, *ports[i], n) : Payload{});
    }
    take(0, ports.size(), n, steps);
    for (size_t i = 1; i < ports.size(); ++i) {
      give_like(i - 1, batches[0], n, given[i - 1], steps);
    }
  }

  void give_some(const std::vector<Batch>& batches, uint32_t n, const TimeRef& steps) {
    const Picked picked = pick(batches[0], n);
    if (log.wanted) log_steps(picked, n);
    std::vector<Payload> given;
    for (size_t i = 1; i < ports.size(); ++i) {
      const uint32_t* words = reads_output(i - 1) ? batches[i].payload.words() : nullptr;
      given.push_back(keeping(picked.gather(words), *ports[i], n));
    }
    take(0, ports.size(), n, steps);
    if (picked.structure->count == 0) return;
    const TimeRef times = sample(steps, picked.at, n, pace_.interval);
    for (size_t i = 1; i < ports.size(); ++i) give(i - 1, picked.structure, given[i - 1], times);
  }

  void log_step(bool keep, uint32_t count) {
    log.add(keep ? 1 : 0, count, [&](StepType& type) {
      for (size_t i = 0; i < ports.size(); ++i) type.need(i, 1, 1);
      for (size_t o = 0; keep && o < outputs.size(); ++o) type.give(o);
      type.cost = pace_.interval;
    });
  }

  void log_steps(const Picked& picked, uint32_t n) {
    uint32_t k = 0;
    for (const uint32_t at : picked.at) {
      log_step(false, at - k);
      log_step(true, 1);
      k = at + 1;
    }
    log_step(false, n - k);
  }

  /// A block is dropped if all of its elements are the value.
  bool differs(const float* value) const {
    if (!ports[0]->blocks) return !same_value(*value, node_.init);
    uint32_t name = 0;
    std::memcpy(&name, value, sizeof(name));
    const float* elements = context_.blocks->block(name, volume_);
    return std::any_of(elements, elements + volume_,
                       [&](float element) { return !same_value(element, node_.init); });
  }

  Picked pick(const Batch& batch, uint32_t n) {
    Picked picked;
    const float* values = batch.payload.values();
    uint32_t k = 0;
    const auto elements = [&](uint32_t last) {
      for (; k < last; ++k) {
        if (differs(values + k)) picked.payload(k);
      }
    };
    for (const Stop& stop : batch.stops) {
      elements(batch.at(stop));
      picked.stop(stop.level, stop.bits, k++);
    }
    elements(n);
    return picked;
  }

  const int64_t volume_;  // of the values filtered by
};

/// Inputs: outer streams (groups[0] of them), then inner ones; outputs likewise.
class DropNode final : public EngineNode {
 public:
  DropNode(const Context& context, NodeId id)
      : EngineNode(context, id), outer_(static_cast<size_t>(node_.groups.at(0))) {}
  bool reads(size_t input) const override { return reads_output(input); }

  bool work() override {
    uint32_t n = ready(outer_, ports.size() - outer_);
    if (n == 0 || ended_) return false;
    const Batch whole = ports[outer_]->batch(n);
    std::vector<Along> along;
    std::vector<std::vector<uint32_t>> words(outer_);  // by inner token: the outer payload
    for (size_t i = 0; i < outer_; ++i) {
      along.emplace_back(*ports[i], 1);
      words[i].assign(whole.count, 0);
      try {
        n = std::min(n, along[i].walk(whole, [&](uint32_t first, uint32_t, uint32_t word) {
          words[i][first] = word;
        }));
      } catch (const Disagreement& problem) {
        disagree(problem.what);
      }
    }
    if (n == 0) return false;
    std::vector<Batch> batches;
    std::vector<TimeRef> arrivals;
    for (size_t i = outer_; i < ports.size(); ++i) {
      batches.push_back(ports[i]->batch(n));
      arrivals.push_back(batches.back().arrivals);
      check_like(batches.front(), batches.back());
    }
    for (const Along& a : along) a.add_arrivals(n, pace_.next(), arrivals);
    Picked outer;
    Picked inner;
    along_ = along;
    pick(batches[0], n, outer, inner);
    const TimeRef steps = step_times(pace_, arrivals, n);
    count_steps(n, steps);
    const std::vector<Payload> given = gather(outer, inner, batches, words, along, n);
    for (Along& a : along) a.take(steps, n);
    take(outer_, ports.size() - outer_, n, steps);
    give_all(outer, inner, given, steps, n);
    return true;
  }

 private:
  void log_steps(uint32_t code, uint32_t count, uint32_t inner, uint32_t outer) {
    if (!log.wanted) return;
    code |= (inner | (outer << 2)) << StepCodes::kOwnShift;
    log.add(code, count, [&](StepType& type) {
      std::vector<size_t> like;
      std::vector<size_t> along;
      for (size_t i = 0; i < ports.size(); ++i) (i < outer_ ? along : like).push_back(i);
      for (const size_t o : along) type.give(o, static_cast<int>(outer));
      for (const size_t o : like) type.give(o, static_cast<int>(inner));
      StepCodes(like, along).needs(code, type);
      type.cost = pace_.interval;
    });
  }

  void pick(const Batch& batch, uint32_t n, Picked& outer, Picked& inner) {
    uint32_t k = 0;
    for (size_t s = 0; s < batch.stops.size(); ++s) {
      const Stop& stop = batch.stops[s];
      elements(k, batch.at(stop), outer, inner);
      k = batch.at(stop);
      const uint32_t given = stop.done() || stop.level >= 1 ? 1 : 0;
      log_steps(StepCodes::stop(along_, s), 1, given, given);
      end_fiber(stop, k++, outer, inner);
    }
    elements(k, n, outer, inner);
  }

  void elements(uint32_t first, uint32_t last, Picked& outer, Picked& inner) {
    if (first == last) return;
    const uint32_t opened = in_fiber_ ? 0 : 1;
    if (opened != 0) log_steps(StepCodes::elements(), 1, held_ ? 2 : 1, 1);
    log_steps(StepCodes::elements(), last - first - opened, 1, 0);
    if (!in_fiber_) {
      if (held_) inner.stop(0, 1, first);
      outer.payload(first);
      held_ = false;
      in_fiber_ = true;
    }
    for (uint32_t k = first; k < last; ++k) inner.payload(k);
  }

  void end_fiber(const Stop& stop, uint32_t k, Picked& outer, Picked& inner) {
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

  std::vector<Payload> gather(const Picked& outer, const Picked& inner,
                              const std::vector<Batch>& batches,
                              const std::vector<std::vector<uint32_t>>& words,
                              const std::vector<Along>& along, uint32_t n) const {
    std::vector<Payload> given;
    for (size_t i = 0; i < ports.size(); ++i) {
      const bool is_outer = i < outer_;
      const uint32_t* in = is_outer ? words[i].data() : batches[i - outer_].payload.words();
      if (!reads_output(i)) in = nullptr;
      given.push_back(keeping((is_outer ? outer : inner).gather(in), *ports[i],
                              is_outer ? along[i].tokens() : n));
    }
    return given;
  }

  void give_all(const Picked& outer, const Picked& inner, const std::vector<Payload>& given,
                const TimeRef& steps, uint32_t n) {
    for (const Picked* picked : {&outer, &inner}) {
      if (picked->structure->count == 0) continue;
      const TimeRef times = sample(steps, picked->at, n, pace_.interval);
      const size_t first = picked == &outer ? 0 : outer_;
      const size_t last = picked == &outer ? outer_ : ports.size();
      for (size_t i = first; i < last; ++i) give(i, picked->structure, given[i], times);
    }
  }

  const size_t outer_;
  std::vector<Along> along_;  // of the batch at hand
  bool in_fiber_ = false;     // the current inner fiber has an element
  bool held_ = false;         // a stop S0 of an earlier inner fiber has still to be given
};

}  // namespace

std::unique_ptr<EngineNode> make_select_node(const Context& context, NodeId id) {
  switch (context.graph.nodes[static_cast<size_t>(id)].kind) {
    case NodeKind::filter:
      return std::make_unique<FilterNode>(context, id);
    case NodeKind::drop:
      return std::make_unique<DropNode>(context, id);
    case NodeKind::align:
      return make_align_node(context, id);
    default:
      return nullptr;
  }
}

}  // namespace fuseflow::engine
