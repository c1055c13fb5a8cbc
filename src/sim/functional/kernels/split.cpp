// Engine: parallelize and serialize.
#include <algorithm>

#include "sim/functional/node.h"

namespace fuseflow::engine {
namespace {

/// Inputs: the stream, and the coordinates if copies own ranges of them.
class ParallelizeNode final : public EngineNode {
 public:
  ParallelizeNode(const Context& context, NodeId id)
      : EngineNode(context, id), copies_(static_cast<int64_t>(node_.outputs.size())) {
    const Stream& stream = context.graph.streams[static_cast<size_t>(node_.inputs[0].stream)];
    extent_ = context.graph.indices[static_cast<size_t>(stream.indices.back())].extent;
    next_ = first_copy(0, copies_);
    parts_.resize(static_cast<size_t>(copies_));
    sides.back().own_lanes(node_.inputs.size(), parts_.size());
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
    step(n);
    deal(batches, n);
    for (size_t p = 0; p < parts_.size(); ++p) give_part(p, batches[0], n);
    return true;
  }

 private:
  struct Part {
    Places* at = nullptr;  ///< tokens of the batch
    Stops stops;
  };

  void deal(const std::vector<Batch>& batches, uint32_t n) {
    for (size_t p = 0; p < parts_.size(); ++p) {
      parts_[p].at = &out_lane(p).list().at;
      parts_[p].stops.clear();
    }
    uint32_t k = 0;
    const uint32_t* crd = node_.contiguous ? batches[1].payload.words() : nullptr;
    const auto elements = [&](uint32_t last) {
      for (; k < last; ++k) {
        const int64_t copy = crd != nullptr ? owning_copy(crd[k], extent_, copies_) : next_;
        parts_[static_cast<size_t>(copy)].at->push_back(k);
        next_ = next_ + 1 < copies_ ? next_ + 1 : 0;
      }
    };
    for (const Stop& stop : batches[0].stops) {
      elements(batches[0].at(stop));
      for (Part& part : parts_) {
        part.stops.push_back({static_cast<uint32_t>(part.at->size()), stop.level, stop.bits});
        part.at->push_back(k);
      }
      ++k;
      next_ = first_copy(++fiber_, copies_);
      ended_ = stop.done();
    }
    elements(n);
  }

  void give_part(size_t p, const Batch& batch, uint32_t n) {
    Part& part = parts_[p];
    if (part.at->empty() || !connected(p)) return;
    auto structure = new_structure();
    structure->stops = part.stops;
    structure->count = static_cast<uint32_t>(part.at->size());
    Payload payload;
    if (reads_output(p)) {
      const uint32_t* words = batch.payload.words();
      auto out = allocate_payload(part.at->size());
      for (size_t k = 0; k < part.at->size(); ++k) out[k] = words[(*part.at)[k]];
      for (const Stop& stop : structure->stops) out[stop.at] = 0;
      payload = keeping({out, out.get()}, *ports[0], n);
    }
    give(p, structure, payload);
  }

  const int64_t copies_;
  int64_t extent_ = 0;
  int64_t next_ = 0;  // in turn: the copy that gets the next element
  uint64_t fiber_ = 0;
  std::vector<Part> parts_;
};

/// Inputs: one stream a copy, `order` loops inside the one that was split. A copy that has given
/// its last element of the current fiber of the split loop is over: its stop said so.
class SerializeNode final : public EngineNode {
 public:
  SerializeNode(const Context& context, NodeId id)
      : EngineNode(context, id),
        copies_(node_.inputs.size()),
        inside_(node_.order),
        over_(copies_, false) {
    sides.back().own_lanes(copies_, 1);
    for (Lane& lane : steps().in) lane.always_listed = true;
    begin_fiber();
  }
  bool reads(size_t) const override { return reads_output(0); }

 protected:
  bool compute() override {
    if (ended_) return false;
    cursors_.clear();
    for (Port* port : ports) cursors_.emplace_back(*port);
    structure_ = new_structure();
    words_.clear();
    const uint32_t most = context_.chunk;
    while (!ended_ && words_.size() < most && try_step()) {
    }
    if (words_.empty()) return false;
    finish();
    return true;
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;

  /// The next step, or the payloads of a fiber: false if a token is not here yet.
  bool try_step() {
    size_t copy = turn_;
    if (!in_element_) {
      if (!search(turn_, &copy)) return false;
      if (copy == kNone) return end_fiber();
    }
    PortCursor& cursor = cursors_[copy];
    if (!cursor.here()) return false;
    need_head(copy);
    if (cursor.is_payload()) {
      turn_ = copy;
      give_token(cursor.word());
      take_head(turn_);
      in_element_ = inside_ > 0;
      if (in_element_) pass_payloads();
      if (!in_element_) next_turn();
      return true;
    }
    const Stop stop = cursor.stop();
    if (!stop.done() && stop.level >= inside_ - 1) return end_element(copy, stop);
    turn_ = copy;
    give_stop(stop);
    take_head(turn_);
    in_element_ = true;
    return true;
  }

  /// The rest of the payloads of the current innermost fiber, as far as they are here.
  void pass_payloads() {
    PortCursor& cursor = cursors_[turn_];
    while (cursor.here() && cursor.is_payload()) {
      need_head(turn_);
      give_token(cursor.word());
      take_head(turn_);
    }
  }

  bool is_element(PortCursor& cursor) const {
    if (cursor.is_payload()) return true;
    const Stop& stop = cursor.stop();
    if (stop.done() || inside_ == 0) return false;
    return stop.level < inside_ - 1 || stop.closes(inside_ - 1);
  }

  /// The first copy from `from` on that has an element left, kNone if there is none. False: wait.
  bool search(size_t from, size_t* found, size_t skip = kNone) {
    *found = kNone;
    const size_t count = node_.contiguous ? copies_ - from : copies_;
    for (size_t n = 0; n < count; ++n) {
      const size_t copy = from + n < copies_ ? from + n : from + n - copies_;
      if (copy == skip || over_[copy]) continue;
      PortCursor& cursor = cursors_[copy];
      if (!cursor.here()) return false;
      need_head(copy);
      if (!is_element(cursor)) continue;
      *found = copy;
      return true;
    }
    return true;
  }

  /// All copies but one, and but those that are over, must have a stop here.
  bool rest_here(size_t except, const Stop& like) {
    for (size_t copy = 0; copy < copies_; ++copy) {
      if (copy == except || over_[copy]) continue;
      PortCursor& cursor = cursors_[copy];
      if (!cursor.here()) return false;
      need_head(copy);
      if (cursor.is_payload() || cursor.stop().level != like.level ||
          cursor.stop().bits >> inside_ != like.bits >> inside_) {
        disagree("copies end their fibers differently");
      }
    }
    return true;
  }

  void take_rest(size_t except) {
    for (size_t copy = 0; copy < copies_; ++copy) {
      if (copy != except && !over_[copy]) take_head(copy);
    }
  }

  bool end_fiber() {
    if (!cursors_[0].here()) return false;
    const Stop stop = cursors_[0].stop();
    if (!rest_here(kNone, stop)) return false;
    give_stop(stop);
    take_rest(kNone);
    ended_ = stop.done();
    ++fiber_;
    begin_fiber();
    return true;
  }

  /// The stop that ends an element's fiber.
  bool end_element(size_t self, const Stop& stop) {
    if (stop.level < inside_) {  // the copy has a further element
      give_stop(stop);
      take_head(self);
      turn_ = self;
      in_element_ = false;
      next_turn();
      return true;
    }
    size_t next = kNone;
    const size_t from = self + 1 < copies_ ? self + 1 : (node_.contiguous ? self : 0);
    if (!search(from, &next, self) || (next == kNone && !rest_here(self, stop))) return false;
    if (next != kNone) {
      give_stop({0, static_cast<uint16_t>(inside_ - 1), stop.bits & ((1U << inside_) - 1)});
    } else {
      give_stop(stop);
      take_rest(self);
    }
    take_head(self);
    in_element_ = false;
    over_[self] = true;
    if (next != kNone) {
      turn_ = next;
    } else {
      ++fiber_;
      begin_fiber();
    }
    return true;
  }

  void next_turn() {
    if (!node_.contiguous) turn_ = turn_ + 1 < copies_ ? turn_ + 1 : 0;
  }

  void begin_fiber() {
    std::fill(over_.begin(), over_.end(), false);
    turn_ = node_.contiguous
                ? 0
                : static_cast<size_t>(first_copy(fiber_, static_cast<int64_t>(copies_)));
  }

  // --- one step's effects: each gives one token, so that is the number of the step

  void give_token(uint32_t word) { words_.push_back(word); }
  void give_stop(const Stop& stop) {
    structure_->stops.push_back({static_cast<uint32_t>(words_.size()), stop.level, stop.bits});
    give_token(0);
  }
  void need_head(size_t copy) { in_lane(copy).needs(static_cast<uint32_t>(words_.size())); }
  /// In the step that has just given a token.
  void take_head(size_t copy) {
    in_lane(copy).at.push_back(static_cast<uint32_t>(words_.size()) - 1);
    cursors_[copy].advance();
  }

  void finish() {
    const auto n = static_cast<uint32_t>(words_.size());
    for (size_t copy = 0; copy < copies_; ++copy) in_lane(copy).cut(n);
    step(n);
    std::vector<std::shared_ptr<const void>> keepers;
    for (size_t copy = 0; copy < copies_; ++copy) {
      const auto taken = static_cast<uint32_t>(in_lane(copy).at.size());
      if (ports[copy]->blocks) ports[copy]->keepers(taken, keepers);
    }
    structure_->count = n;
    Payload payload;
    if (reads_output(0)) {
      auto out = allocate_payload(n);
      std::copy(words_.begin(), words_.end(), out.get());
      payload = {out, out.get()};
      if (!keepers.empty()) payload = keeping(payload, std::move(keepers));
    }
    give(0, structure_, payload);
  }

  const size_t copies_;
  const int inside_;
  std::vector<bool> over_;
  size_t turn_ = 0;          // the copy that gives the current or next element
  bool in_element_ = false;  // the current element's fiber has begun (inside_ > 0)
  uint64_t fiber_ = 0;
  // the batch at hand
  std::vector<PortCursor> cursors_;
  std::shared_ptr<Structure> structure_;
  std::vector<uint32_t> words_;
};

}  // namespace

std::unique_ptr<EngineNode> make_split_node(const Context& context, NodeId id) {
  switch (context.graph.nodes[static_cast<size_t>(id)].kind) {
    case NodeKind::parallelize:
      return std::make_unique<ParallelizeNode>(context, id);
    case NodeKind::serialize:
      return std::make_unique<SerializeNode>(context, id);
    default:
      return nullptr;
  }
}

}  // namespace fuseflow::engine
