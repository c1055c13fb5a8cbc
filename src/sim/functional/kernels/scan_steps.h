// The fiber that a scan reads, and its steps: what they take and give, and, where memory takes
// time, the bursts that they request and use. Of source.cpp only, which says what a scan gives:
// beside it for the compiler's sake, which makes one loop of both.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/common/level_view.h"
#include "sim/functional/memory_node.h"
#include "sim/memory/level_reader.h"

namespace fuseflow::engine {

class ScanSteps : public MemoryNode {
 protected:
  ScanSteps(const Context& context, NodeId id);

  /// The fiber of a reference is at hand from here on.
  void enter(uint32_t reference);

  void start_steps();
  /// The batch has count_ tokens.
  void end_steps();
  /// What is read to find the fiber at hand, and what its first step waits for.
  void log_fiber();
  /// The first element, or what stands for it, takes the reference.
  void log_reference() {
    if (!memory() && !asking) take(1);
  }
  /// The next n elements, from at_ on.
  void log_elements(uint32_t n) {
    if (asking) return ask_for_elements(n);
    if (memory()) request_elements(n);
  }
  /// Uses the positions of an empty fiber before its stop.
  void use_positions_first(PortCursor& next);
  /// The step of a stop needs one input token more than those that it takes, or takes that too
  /// (`stop_taken`: it is a stop or done).
  void log_stop(uint32_t taken, bool stop_taken);

  LevelView view_;
  const int64_t extent_;          // of the loop
  const Level* level_ = nullptr;  // compressed levels only
  // the fiber at hand
  LevelView::Fiber fiber_;
  int64_t at_ = 0;  // the next element: position (compressed) or number
  int64_t end_ = 0;
  uint32_t count_ = 0;  // tokens of the batch

 private:
  bool memory() const { return sides.size() > 1; }
  void take(uint32_t tokens);
  void request_fiber();
  BurstCounts enter_fiber(uint32_t reference);
  void request_elements(uint32_t n);
  void request_viewed(uint32_t n);
  void log_fetched(uint32_t fetched);
  void log_quiet(uint32_t count);
  struct References {
    uint32_t needed = 0;
    uint32_t taken = 0;
  };
  void log_middle(References references, uint32_t requests, uint32_t count = 1);
  // memory that is asked in batches
  void ask_for_fiber();
  void ask_for_elements(uint32_t n);
  void give_collected();
  void log_stop_after_batches(bool stop_taken);

  Lane* lane_ = nullptr;  // of the input (memory: of the second side)
  bool whole_ = false;    // no element is outside of the loop
  uint32_t reference_ = kAbsent;
  uint32_t last_ = kAbsent;  // the reference read before
  // where memory takes time
  std::optional<LevelReader> reader_;
  BurstCounts entered_ = {};  // bursts requested for the current fiber's positions and words
  bool fresh_ = false;        // no step has needed them yet
  uint32_t collected_ = 0;    // elements whose addresses are not sent yet
};

inline int64_t loop_extent(const Graph& graph, const Node& scan) {
  const Stream& opened = graph.streams[scan.outputs.front()];
  return graph.indices[opened.indices.back()].extent;
}

inline ScanSteps::ScanSteps(const Context& context, NodeId id)
    : MemoryNode(context, id),
      view_(node_.tensor < 0 ? LevelView::counter(loop_extent(context.graph, node_))
                             : LevelView(context.program, node_.tensor, node_.level,
                                         context.storage(node_.tensor))),
      extent_(loop_extent(context.graph, node_)) {
  const Storage* storage = context.storage(node_.tensor);
  if (storage == nullptr || node_.level < 0) return;
  const Level& level = storage->levels[node_.level];
  if (level.kind == LevelKind::compressed) level_ = &level;
  whole_ = node_.offset == 0 && level.extent <= extent_;
  if (timed_memory() && level.kind != LevelKind::dense) {
    const bool words = level.kind == LevelKind::bitvector;  // asked for along with the positions
    if (memory_wants_batches()) {
      ask_in_own_steps(2);
    } else if (words) {
      make_sides({2, 0});
    } else {
      make_sides({1, 1});
    }
    reader_.emplace(*context.addresses, node_.tensor, node_.level, level);
  }
}

inline void ScanSteps::enter(uint32_t reference) {
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

inline void ScanSteps::start_steps() {
  count_ = 0;
  if (asking) asking->begin();
  lane_ = &(memory() ? sides[1].now.in : steps().in).front().list();
}

inline void ScanSteps::end_steps() {
  if (asking) {
    asking->count_own(count_);
  } else if (!memory()) {
    add_steps(count_);
  }
}

inline void ScanSteps::log_fiber() {
  if (asking) {
    ask_for_fiber();
  } else if (memory()) {
    request_fiber();
  }
  if (reference_ == kAbsent) return;
  stats_.read_bytes += view_.position_bytes(reference_, last_) + view_.word_bytes() +
                       (end_ - at_) * view_.element_bytes();
  last_ = reference_;
  // The step of the fiber's first token waits until the fiber is stored.
  if (row_gates.any()) wait_for_row(count_, reference_);
}

/// The step at hand takes input tokens.
inline void ScanSteps::take(uint32_t tokens) {
  for (uint32_t k = 0; k < tokens; ++k) lane_->take(count_);
}

inline void ScanSteps::log_stop(uint32_t taken, bool stop_taken) {
  const uint32_t needed = taken + (stop_taken ? 0 : 1);
  if (asking) return log_stop_after_batches(stop_taken);
  if (!memory()) {
    take(taken);
    if (!stop_taken) lane_->needs(count_);
    return;
  }
  if (stop_taken) log_side(0, {});
  log_middle({.needed = needed, .taken = taken}, 0);
  log_side(2, {});
}

// --- memory: the first side takes references and requests positions, the second uses these and
// requests elements, the third uses these and gives ---

inline void ScanSteps::request_fiber() {
  entered_ = {};
  if (reference_ != kAbsent) entered_ = enter_fiber(reference_);
  log_side(0, {.requests = entered_});
  fresh_ = true;
}

/// Requests what must be known of a fiber before its elements are; returns how many bursts.
inline ScanSteps::BurstCounts ScanSteps::enter_fiber(uint32_t reference) {
  BurstCounts counts{};
  reader_->enter(reference, true, [&](size_t array, uint64_t address, uint64_t bytes) {
    return counts[array] = fetch(array, address, bytes);
  });
  return counts;
}

inline void ScanSteps::request_elements(uint32_t n) {
  if (level_ == nullptr) return request_viewed(n);
  fetch_each(
      1, reader_->address_of(at_), 4, n, [this](uint32_t fetched) { log_fetched(fetched); },
      [this](uint32_t count) { log_quiet(count); });
}

inline void ScanSteps::request_viewed(uint32_t n) {
  for (uint32_t k = 0; k < n; ++k) {
    const uint32_t fetched =
        reader_->element(view_.element(fiber_, at_ + k).position,
                         [this](size_t array, uint64_t address, uint64_t bytes) {
                           return fetch(array, address, bytes);
                         });
    fetched == 0 ? log_quiet(1) : log_fetched(fetched);
  }
}

/// An element that requests bursts. The first of a fiber takes its reference and positions.
inline void ScanSteps::log_fetched(uint32_t fetched) {
  const uint32_t first = fresh_ ? 1 : 0;
  log_middle({.needed = first, .taken = first}, fetched);
  log_side(2, {.uses = {fetched}});
}

/// Elements that request nothing.
inline void ScanSteps::log_quiet(uint32_t count) {
  log_side(2, {.count = count});
  if (fresh_) {
    log_middle({.needed = 1, .taken = 1}, 0);
    --count;
  }
  log_middle({}, 0, count);
}

/// A step of the second side that needs and takes so many tokens of the first, and uses the fiber's
/// positions if it is the first of a fiber. Or `count` of them.
inline void ScanSteps::log_middle(References references, uint32_t requests, uint32_t count) {
  if (count == 0) return;
  const SideSteps step{
      .count = count, .uses = fresh_ ? entered_ : BurstCounts{}, .requests = {requests}};
  fresh_ = false;
  uint32_t number = sides[1].now.count;
  if (too_many_bursts(step)) {
    number = log_parts(1, step);
  } else {
    log_side(1, step);
  }
  for (uint32_t k = 0; k < references.needed; ++k) lane_->needs(number, k);
  lane_->at.insert(lane_->at.end(), references.taken, number);
}

/// The step of an empty fiber uses its positions and needs the next token, which comes with those
/// of the next fiber: where all of them can't be outstanding, a step before uses the former.
inline void ScanSteps::use_positions_first(PortCursor& next) {
  const bool used = !fresh_ || entered_ == BurstCounts{};
  if (used || !next.is_payload() || next.word() == kAbsent) return;
  BurstCounts more{};
  reader_->enter(next.word(), true, [&](size_t array, uint64_t address, uint64_t bytes) {
    return more[array] = fetched_by(array, address, bytes);
  });
  if (fit_together(entered_, more)) return;
  log_uses(1, entered_);
  entered_ = {};
}

// --- memory that is asked in batches ---

/// The step that takes a reference, and what must be known of its fiber before its elements are.
inline void ScanSteps::ask_for_fiber() {
  uint32_t asked = 0;
  if (reference_ != kAbsent) {
    asked = reader_->enter(reference_, true, [this](size_t, uint64_t address, uint64_t bytes) {
      return request(0, address, bytes);  // a batch of all arrays
    });
  }
  lane_->take(asking->step(0));
  asking->ask(0, asked, 0);
}

/// The steps that give n elements from `at_` on. Those of a batch are given when all are answered.
inline void ScanSteps::ask_for_elements(uint32_t n) {
  const auto note = [this](size_t array, uint64_t address, uint64_t bytes) {
    return request(array, address, bytes);
  };
  for (uint32_t k = 0; k < n; ++k) {
    const int64_t position = level_ != nullptr ? at_ + k : view_.element(fiber_, at_ + k).position;
    if (reader_->element(position, note) == 0) {  // the words of its fiber have been read
      asking->step(interval_);
      asking->give(1);
    } else if (++collected_ == asking->batch()) {
      give_collected();
    }
  }
}

inline void ScanSteps::give_collected() {
  if (collected_ == 0) return;
  asking->ask(1, collected_, 0);
  asking->give(collected_);
  collected_ = 0;
}

/// The fiber's reference has been taken, empty or not.
inline void ScanSteps::log_stop_after_batches(bool stop_taken) {
  give_collected();
  const uint32_t step = asking->step(interval_);
  lane_->needs(step);
  if (stop_taken) lane_->at.push_back(step);
  asking->give(1);
}

}  // namespace fuseflow::engine
