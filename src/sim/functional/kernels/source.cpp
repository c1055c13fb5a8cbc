// Engine: root and scan, which open spaces.
#include <algorithm>
#include <cstring>

#include "sim/functional/kernels/make_node.h"
#include "sim/functional/kernels/scan_steps.h"
#include "sim/functional/run_length.h"

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
    add_steps(2);
    give(0, structure, {zeros, zeros.get()});
    ended_ = true;
    return true;
  }
};

/// What a scan gives; its steps are in scan_steps.h.
class ScanNode final : public ScanSteps {
 public:
  ScanNode(const Context& context, NodeId id) : ScanSteps(context, id), chunk_(context.chunk) {}

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
  void start_chunk() {
    structure_ = new_structure();
    structure_->stops.reserve(std::min<size_t>(chunk_, last_stops_ + last_stops_ / 4 + 8));
    start_steps();
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
      log_fiber();
      give_stop(in, true);
      return true;
    }
    in.advance();
    open_ = true;
    log_fiber();
    log_reference();
    give_elements();
    return true;
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
    log_elements(n);
    at_ += n;
    count_ += n;
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

  /// The stop at the end of a fiber; `in` is at the token after the fiber's reference.
  void give_stop(PortCursor& in, bool empty = false) {
    open_ = false;
    const uint32_t reference = empty ? 1 : 0;
    if (empty) use_positions_first(in);
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
    end_steps();
    const StructureRef structure = std::move(structure_);
    give(0, structure, payload(crd_, std::move(crd_runs_)));
    give(1, structure, payload(ref_, std::move(ref_runs_)));
    crd_.reset();
    ref_.reset();
  }

  const uint32_t chunk_;
  bool open_ = false;  // in a fiber whose reference has been taken
  // the chunk being made
  std::shared_ptr<Structure> structure_;
  size_t last_stops_ = 0;  // of the chunk before
  size_t last_count_ = 0;  // tokens of the chunk before
  std::shared_ptr<uint32_t[]> crd_;
  std::shared_ptr<uint32_t[]> ref_;
  // Into runs instead, the last of which is the current fiber's:
  std::shared_ptr<Runs> crd_runs_;
  std::shared_ptr<Runs> ref_runs_;
};

}  // namespace

FUSEFLOW_RUN(root, RootNode)
FUSEFLOW_RUN(scan, ScanNode)

}  // namespace fuseflow::engine
