// How far the reference evaluation is, whether it may go on, and how much memory its arrays take.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "reference/reference.h"

namespace fuseflow::reference {

/// An array of one statement would be larger than max_elements: smaller blocks may do.
struct ArrayTooLarge {};

class Watch {
 public:
  Watch(const ReferenceOptions& options, size_t statements)
      : options_(options), bytes_(std::make_shared<std::atomic<int64_t>>(0)) {
    progress_.statements = statements;
  }

  /// Throws ReferenceStopped when `stop` says so: many small statements make few points.
  void next_statement() {
    ++progress_.statement;
    look(points_.load(std::memory_order_relaxed));
  }

  /// Counts points that were visited. Any thread; throws ReferenceStopped when `stop` says so.
  void tick(int64_t points) {
    const int64_t before = points_.fetch_add(points, std::memory_order_relaxed);
    if ((before >> kShift) != ((before + points) >> kShift)) look(before + points);
  }

  /// Throws ArrayTooLarge for more than max_elements, unless `limited` is false.
  void require(int64_t elements) const {
    if (limited && elements > largest()) throw ArrayTooLarge{};
  }

  /// Whether to visit `present` points of `all`, where the rest is a fill.
  bool pays(int64_t present, int64_t all) const {
    if (options_.visit != Visit::fewer) return options_.visit == Visit::present;
    return all > largest() || 2 * present < all;
  }

  /// Elements that one array may have.
  int64_t largest() const;

  /// n values. Throws ArrayTooLarge, or ReferenceStopped at the limit of memory.
  std::shared_ptr<std::vector<float>> array(int64_t n, float value = 0);

  /// n values for the whole of a tensor, which smaller blocks would not make smaller: does not
  /// throw ArrayTooLarge.
  std::shared_ptr<std::vector<float>> tensor(int64_t n, float value = 0);
  bool spells_out(int64_t n) const { return n <= options_.max_elements; }

  bool limited = true;

 private:
  static constexpr int kShift = 18;
  void look(int64_t points);

  const ReferenceOptions& options_;
  std::atomic<int64_t> points_ = 0;
  std::shared_ptr<std::atomic<int64_t>> bytes_;  // arrays may outlive the watch
  std::mutex mutex_;
  ReferenceProgress progress_;
};

}  // namespace fuseflow::reference
