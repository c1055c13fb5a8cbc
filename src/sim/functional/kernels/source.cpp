// Engine: root and scan, which open spaces.
#include <algorithm>
#include <cstring>

#include "sim/common/level_view.h"
#include "sim/functional/node.h"
#include "sim/functional/run_length.h"
#include "sim/memory/level_reader.h"

namespace fuseflow::engine {
namespace {

class RootNode final : public EngineNode {
 public:
  using EngineNode::EngineNode;
  bool reads(size_t) const override { return false; }

 protected:
  bool compute() override {
    if (ended_) return false;
    auto structure = new_structure();
    structure->count = 2;
    structure->stops.push_back({1, kDoneLevel, 0});
    auto zeros = allocate_payload(2);
    zeros[0] = zeros[1] = 0;
    step(2);
    give(0, structure, {zeros, zeros.get()});
    ended_ = true;
    return true;
  }
};

int64_t loop_extent(const Graph& graph, const Node& scan) {
  const Stream& opened = graph.streams[static_cast<size_t>(scan.outputs.front())];
  return graph.indices[static_cast<size_t>(opened.indices.back())].extent;
}

class ScanNode final : public EngineNode {
 public:
  ScanNode(const Context& context, NodeId id)
      : EngineNode(context, id),
        view_(node_.tensor < 0 ? LevelView::counter(loop_extent(context.graph, node_))
                               : LevelView(context.program, node_.tensor, node_.level,
                                           context.storage(node_.tensor))),
        extent_(loop_extent(context.graph, node_)),
        chunk_(context.chunk) {
    const Storage* storage = context.storage(node_.tensor);
    if (storage == nullptr || node_.level < 0) return;
    const Level& level = storage->levels[static_cast<size_t>(node_.level)];
    if (level.kind == LevelKind::compressed) level_ = &level;
    whole_ = node_.offset == 0 && level.extent <= extent_;
    if (timed_memory() && level.kind != LevelKind::dense) {
      batched_memory() ? make_batched(2) : make_sides(3);
      reader_.emplace(*context.addresses, node_.tensor, node_.level, level);
    }
  }

  bool reads(size_t) const override { return true; }

 protected:
  bool compute() override {
    if (ended_) return false;
    start_chunk();
    PortCursor in(*ports[0]);
    while (count_ < chunk_ && advance(in)) {
    }
    if (count_ == 0) return false;
    finish_chunk();
    return true;
  }

 private:
  bool memory() const { return sides.size() > 1; }
  void start_chunk() {
    structure_ = new_structure();
    structure_->stops.reserve(std::min<size_t>(chunk_, last_stops_ + last_stops_ / 4 + 8));
    count_ = 0;
    if (batched) batched->begin();
    lane_ = &(memory() ? sides[1].now.in : steps().in).front().list();
    const bool runs = worth_run_length(last_count_, last_stops_);
    const bool dense = view_.kind() == LevelKind::dense;
    crd_runs_ = runs && reads_output(0) && dense ? new_runs() : nullptr;
    ref_runs_ = runs && reads_output(1) && (dense || level_ != nullptr) ? new_runs() : nullptr;
    crd_ = reads_output(0) && !crd_runs_ ? allocate_payload(chunk_) : nullptr;
    ref_ = reads_output(1) && !ref_runs_ ? allocate_payload(chunk_) : nullptr;
  }

  /// One fiber, or as much of it as there is room for. False: the next input token is not here.
  bool advance(PortCursor& in) {
    if (open_) {
      if (at_ < end_) give_elements();
      if (at_ < end_) return true;  // the chunk is full
      return count_ < chunk_ ? end_fiber(in) : true;
    }
    if (!in.here()) return false;
    if (!in.is_payload()) {
      pass_stop(in);
      return !ended_;
    }
    enter(in.word());
    if (at_ == end_) {
      // The reference of an empty fiber is taken with the stop, which needs the next token too.
      PortCursor ahead = in;
      ahead.advance();
      if (!ahead.here()) return false;
      in = ahead;
      count_reads();
      wait_for_fiber();
      give_stop(in, true);
      return true;
    }
    in.advance();
    open_ = true;
    count_reads();
    wait_for_fiber();
    if (!memory() && !batched) take(1);
    give_elements();
    return true;
  }

  /// The step of the fiber's first token waits until the fiber is stored.
  void wait_for_fiber() {
    if (gate.writer() >= 0 && reference_ != kAbsent) wait_for_row(count_, reference_);
  }

  void enter(uint32_t reference) {
    reference_ = reference;
    if (level_ != nullptr && whole_ && reference != kAbsent && reference + 1 < level_->pos.size()) {
      at_ = level_->pos[reference];
      end_ = level_->pos[reference + 1];
      return;
    }
    fiber_ = view_.fiber(reference, node_.offset, extent_);
    if (level_ != nullptr && reference != kAbsent) {
      at_ = level_->pos[reference] + fiber_.first;
      end_ = level_->pos[reference] + fiber_.end;
    } else {
      at_ = 0;
      end_ = fiber_.size();
    }
  }

  void count_reads() {
    if (batched) {
      ask_for_fiber();
    } else if (memory()) {
      entered_ = 0;
      if (reference_ != kAbsent) entered_ = enter_fiber(reference_);
      log_side(0, 1, 0, entered_);
      fresh_ = true;
    }
    if (reference_ == kAbsent) return;
    stats_.read_bytes += view_.position_bytes(reference_, last_) + view_.word_bytes() +
                         (end_ - at_) * view_.element_bytes();
    last_ = reference_;
  }

  /// Memory that is asked in batches: the step that takes a reference, and what must be known of
  /// its fiber before its elements are.
  void ask_for_fiber() {
    const auto note = [this](uint64_t address, uint64_t bytes) {
      return collect(0, address, bytes);
    };
    const uint32_t asked = reference_ == kAbsent ? 0 : reader_->enter(reference_, true, note);
    const uint32_t step = batched->step(0);
    lane_->needs(step);
    lane_->at.push_back(step);
    batched->ask(0, asked, 0);
  }
  /// The same: n elements from `at_` on. Those of a batch are given when all are answered.
  void ask_for_elements(uint32_t n) {
    const auto note = [this](uint64_t address, uint64_t bytes) {
      return collect(1, address, bytes);
    };
    for (uint32_t k = 0; k < n; ++k) {
      const int64_t position =
          level_ != nullptr ? at_ + k : view_.element(fiber_, at_ + k).position;
      if (reader_->element(position, note) == 0) {  // the words of its fiber have been read
        batched->step(interval_);
        batched->give(1);
      } else if (++collected_ == batched->batch()) {
        give_collected();
      }
    }
  }
  void give_collected() {
    if (collected_ == 0) return;
    batched->ask(1, collected_, 0);
    batched->give(collected_);
    collected_ = 0;
  }

  /// Requests what must be known of a fiber before its elements are; returns how many bursts.
  uint32_t enter_fiber(uint32_t reference) {
    return reader_->enter(reference, true, [this](uint64_t address, uint64_t bytes) {
      return fetch(0, address, bytes);
    });
  }

  void give_elements() {
    const auto n = static_cast<uint32_t>(std::min<int64_t>(chunk_ - count_, end_ - at_));
    if (level_ != nullptr) {
      give_compressed(n);
    } else if (view_.kind() == LevelKind::dense) {
      give_dense(n);
    } else {
      give_viewed(n);
    }
    if (batched) {
      ask_for_elements(n);
    } else if (memory()) {
      log_elements(n);
    }
    at_ += n;
    count_ += n;
  }

  /// Memory: n elements from `at_` on (see there) in the second and third side. The first of a
  /// fiber takes its reference and positions.
  void log_elements(uint32_t n) {
    if (level_ == nullptr) return log_viewed(n);
    fetch_each(
        1, reader_->address_of(at_), 4, n, [this](uint32_t fetched) { log_fetched(fetched); },
        [this](uint32_t count) { log_quiet(count); });
  }
  void log_viewed(uint32_t n) {
    for (uint32_t k = 0; k < n; ++k) {
      const uint32_t fetched = reader_->element(
          view_.element(fiber_, at_ + k).position,
          [this](uint64_t address, uint64_t bytes) { return fetch(1, address, bytes); });
      fetched == 0 ? log_quiet(1) : log_fetched(fetched);
    }
  }
  /// An element that requests bursts.
  void log_fetched(uint32_t fetched) {
    const uint32_t first = fresh_ ? 1 : 0;
    log_middle(first, first, fetched);
    log_side(2, 1, fetched, 0);
  }
  /// Elements that request nothing.
  void log_quiet(uint32_t count) {
    log_side(2, count, 0, 0);
    if (fresh_) {
      log_middle(1, 1, 0);
      --count;
    }
    log_middle(0, 0, 0, count);
  }

  /// A step of the second side that needs and takes so many tokens of the first, and if it is the
  /// first of a fiber the fiber's positions; requests `fetched` bursts. Or `count` of them.
  void log_middle(uint32_t need, uint32_t take, uint32_t fetched, uint32_t count = 1) {
    if (count == 0) return;
    const uint32_t entered = fresh_ ? entered_ : 0;
    fresh_ = false;
    uint32_t number = sides[1].now.count;
    if (too_many_bursts(entered, fetched)) {
      number = log_parts(1, entered, fetched);
    } else {
      log_side(1, count, entered, fetched);
    }
    for (uint32_t k = 0; k < need; ++k) lane_->needs(number, k);
    lane_->at.insert(lane_->at.end(), take, number);
  }

  /// The step of an empty fiber uses its positions and needs the next token, which comes with those
  /// of the next fiber: where all of them can't be outstanding, a step before uses the former.
  void use_positions_first(PortCursor& next) {
    if (entered_ == 0 || !next.is_payload() || next.word() == kAbsent) return;
    const uint64_t requested_last = last_burst_[0];
    const size_t requested = bursts[0].size();
    const uint32_t more = enter_fiber(next.word());  // only to count them
    bursts[0].resize(requested);
    last_burst_[0] = requested_last;
    if (fit_together(entered_, more)) return;
    log_uses(1, entered_);
    entered_ = 0;
  }

  /// The step at hand takes input tokens.
  void take(uint32_t tokens) {
    for (uint32_t k = 0; k < tokens; ++k) {
      lane_->needs(count_);
      lane_->at.push_back(count_);
    }
  }
  /// The step of a stop needs one input token more than those that it takes, or takes that too
  /// (`stop_taken`: it is a stop or done).
  void log_stop(uint32_t taken, bool stop_taken) {
    const uint32_t needed = taken + (stop_taken ? 0 : 1);
    if (batched) return log_stop_behind_batches(stop_taken);
    if (!memory()) {
      take(taken);
      if (!stop_taken) lane_->needs(count_);
      return;
    }
    if (stop_taken) log_side(0, 1, 0, 0);
    log_middle(needed, taken, 0);
    log_side(2, 1, 0, 0);
  }

  /// The fiber's reference has been taken, empty or not.
  void log_stop_behind_batches(bool stop_taken) {
    give_collected();
    const uint32_t step = batched->step(interval_);
    lane_->needs(step);
    if (stop_taken) lane_->at.push_back(step);
    batched->give(1);
  }

  void give_compressed(uint32_t n) {
    if (crd_) {
      const uint32_t* crd = level_->crd.data() + at_;
      uint32_t* out = crd_.get() + count_;
      const auto offset = static_cast<uint32_t>(node_.offset);
      if (offset == 0) {
        std::memcpy(out, crd, n * sizeof(uint32_t));
      } else {
        for (uint32_t k = 0; k < n; ++k) out[k] = crd[k] + offset;
      }
    }
    const auto first = static_cast<uint32_t>(at_);
    if (ref_) fill(ref_.get() + count_, first, n);
    if (ref_runs_) ref_runs_->back() = {first, 1};
  }

  void give_dense(uint32_t n) {
    const auto first = view_.element(fiber_, at_);
    if (reads_output(1) && first.position + n > kMaxStored) too_many();
    const auto coordinate = static_cast<uint32_t>(first.coordinate + node_.offset);
    const auto position = static_cast<uint32_t>(first.position);
    if (crd_) fill(crd_.get() + count_, coordinate, n);
    if (ref_) fill(ref_.get() + count_, position, n);
    if (crd_runs_) crd_runs_->back() = {coordinate, 1};
    if (ref_runs_) ref_runs_->back() = {position, 1};
  }

  static void fill(uint32_t* out, uint32_t first, uint32_t n) {
    for (uint32_t k = 0; k < n; ++k) out[k] = first + k;
  }

  void give_viewed(uint32_t n) {
    for (uint32_t k = 0; k < n; ++k) {
      const auto element = view_.element(fiber_, at_ + k);
      if (ref_ && element.position >= kMaxStored) too_many();
      if (crd_) crd_[count_ + k] = static_cast<uint32_t>(element.coordinate + node_.offset);
      if (ref_) ref_[count_ + k] = static_cast<uint32_t>(element.position);
    }
  }

  [[noreturn]] void too_many() const {
    throw Error(ExitCode::rejected,
                "a level of " + view_.name() + " has more than 2^32-2 positions");
  }

  bool end_fiber(PortCursor& in) {
    if (!in.here()) return false;
    give_stop(in);
    return true;
  }

  /// The stop at the end of a fiber; `in` is at the token behind the fiber's reference.
  void give_stop(PortCursor& in, bool empty = false) {
    open_ = false;
    const uint32_t reference = empty ? 1 : 0;
    if (empty && fresh_) use_positions_first(in);
    if (in.is_payload() || in.stop().done()) {
      log_stop(reference, false);
      put_stop(0, 1);
      return;
    }
    const Stop stop = in.stop();
    in.advance();
    log_stop(1 + reference, true);
    put_stop(stop.level + 1, (stop.bits << 1) | 1U);
  }

  void pass_stop(PortCursor& in) {
    const Stop stop = in.stop();
    in.advance();
    ended_ = stop.done();
    log_stop(1, true);
    put_stop(stop.done() ? kDoneLevel : stop.level + 1, stop.bits << 1);
  }

  void put_stop(int level, uint32_t bits) {
    structure_->stops.push_back({count_, static_cast<uint16_t>(level), bits});
    if (crd_) crd_[count_] = 0;
    if (ref_) ref_[count_] = 0;
    if (crd_runs_) crd_runs_->emplace_back();
    if (ref_runs_) ref_runs_->emplace_back();
    ++count_;
  }

  std::shared_ptr<Runs> new_runs() const {
    auto runs = make_pooled<Runs>();
    runs->reserve(last_stops_ + 2);
    runs->emplace_back();
    return runs;
  }
  /// The payloads of the chunk, which starts its structure.
  static Payload payload(const std::shared_ptr<uint32_t[]>& words, std::shared_ptr<Runs> runs) {
    if (runs == nullptr) return {words, words.get()};
    return {nullptr, nullptr,
            make_pooled<RunLengthPayload>(RunLengthPayload{0, 0, std::move(runs), nullptr})};
  }

  void finish_chunk() {
    structure_->count = count_;
    last_stops_ = structure_->stops.size();
    last_count_ = count_;
    if (batched) {
      batched->count_own(count_);
    } else if (!memory()) {
      step(count_);
    }
    const StructureRef structure = std::move(structure_);
    give(0, structure, payload(crd_, std::move(crd_runs_)));
    give(1, structure, payload(ref_, std::move(ref_runs_)));
    crd_.reset();
    ref_.reset();
  }

  LevelView view_;
  int64_t extent_;
  const uint32_t chunk_;
  const Level* level_ = nullptr;  // compressed levels only
  bool whole_ = false;            // no element is outside of the loop
  LevelView::Fiber fiber_;
  uint32_t reference_ = kAbsent;
  uint32_t last_ = kAbsent;  // the reference read before
  bool open_ = false;        // in a fiber whose reference has been taken
  int64_t at_ = 0;           // the next element: position (compressed) or number
  int64_t end_ = 0;
  // where memory takes time
  std::optional<LevelReader> reader_;
  uint32_t entered_ = 0;    // bursts requested for the current fiber's positions
  bool fresh_ = false;      // no step has needed them yet
  uint32_t collected_ = 0;  // elements whose addresses are not sent yet
  // the chunk being made
  std::shared_ptr<Structure> structure_;
  uint32_t count_ = 0;
  size_t last_stops_ = 0;  // of the chunk before
  size_t last_count_ = 0;  // the same: its tokens
  std::shared_ptr<uint32_t[]> crd_;
  std::shared_ptr<uint32_t[]> ref_;
  // Into runs instead, the last of which is the current fiber's:
  std::shared_ptr<Runs> crd_runs_;
  std::shared_ptr<Runs> ref_runs_;
  Lane* lane_ = nullptr;  // of the input (memory: of the second side)
};

}  // namespace

std::unique_ptr<EngineNode> make_source_node(const Context& context, NodeId id) {
  switch (context.graph.nodes[static_cast<size_t>(id)].kind) {
    case NodeKind::root:
      return std::make_unique<RootNode>(context, id);
    case NodeKind::scan:
      return std::make_unique<ScanNode>(context, id);
    default:
      return nullptr;
  }
}

}  // namespace fuseflow::engine
