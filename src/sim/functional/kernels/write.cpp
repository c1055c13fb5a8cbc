// Engine: what the writers of levels and values store.
#include <fmt/format.h>

#include <algorithm>

#include "sim/functional/kernels/make_node.h"
#include "sim/functional/kernels/write_steps.h"
#include "sim/functional/size_predictor.h"

namespace fuseflow::engine {
namespace {

class WriteNode final : public WriterSteps {
 public:
  WriteNode(const Context& context, NodeId id)
      : WriterSteps(context, id),
        tensor_(context.program.tensors[node_.tensor]),
        volume_(static_cast<size_t>(tensor_.format.block_volume())),
        below_(level_ ? static_cast<size_t>(node_.level) : tensor_.format.levels.size()),
        sizes_(tensor_, below_) {
    first_dense_ = below_ - std::min(below_, main_);
    for (size_t l = first_dense_; l < below_; ++l) {
      extents_.push_back(tensor_.level_extent(l));
      if (tensor_.format.levels[l] != LevelKind::dense) disagree("a coordinate too many");
    }
    coordinates_.resize(main_);
    if (level_) written_.pos.push_back(0);
    const auto key = std::pair(node_.tensor, level_ ? node_.level : -1);
    signals_ = context_.rows != nullptr && context_.rows->count(key) > 0;
    if (signals_ || context.collects_rows) give_lists(1);
    if (timed_ && !signals_) request_writes();
  }

  Written* written() override { return &written_; }

 protected:
  bool compute() override {
    if (ended_ || !load()) return false;
    store();
    log_steps();
    return true;
  }

 private:
  // --- what is stored ---

  void store() {
    make_room();
    uint32_t k = 0;
    next_outer_.assign(main_, 0);
    for (const Stop& stop : batch_.stops) {
      const uint32_t at = batch_.at(stop);
      store_elements(k, at);
      put_stop(stop, at);
      k = at + 1;
      if (stop.done()) {
        ended_ = true;
        row_event(at, INT64_MAX);
      } else {
        advance_outer(at);
        end_fiber(stop, at);
        const int inner = depth(main_) - 2;
        row_event(at, complete(inner >= 0 && stop.level >= inner && stop.closes(inner)));
      }
    }
    store_elements(k, n_);
  }

  void make_room() {
    sizes_.add_fibers(batch_.stops.size());  // each has a stop
    const size_t more = n_ - batch_.stops.size();
    if (level_) return sizes_.make_room(written_.crd, written_.crd.size() + more);
    if (main_ == 0) sizes_.make_room(written_.values, written_.values.size() + more * volume_);
  }

  /// The outer coordinates in force at an inner token.
  void advance_outer(uint32_t at) {
    for (size_t i = 0; i < main_; ++i) {
      const auto& outer = outer_[i];
      size_t& next = next_outer_[i];
      while (next < outer.size() && outer[next].first <= at) coordinates_[i] = outer[next++].second;
    }
  }

  void store_elements(uint32_t first, uint32_t last) {
    if (first >= last) return;
    note_elements();
    advance_outer(first);
    if (level_) {
      const uint32_t* crd = batch_.payload.words();
      if (timed_) put_row(coordinates_start() + 4 * written_.crd.size(), 4, first, last);
      written_.crd.insert(written_.crd.end(), crd + first, crd + last);
      for (size_t i = 0; i < main_; ++i) {
        if (words_[i] != nullptr) coordinates_[i] = words_[i][last - 1];
      }
      return;
    }
    written_.given += last - first;
    if (main_ == 0 && !ports[main_]->blocks) {
      const float* values = batch_.payload.values();
      const auto bytes = static_cast<uint64_t>(element_bytes(tensor_.type));
      if (timed_) put_row(values_start() + bytes * written_.values.size(), bytes, first, last);
      const bool single = depth(main_) <= 1;  // each value is a row
      for (uint32_t k = first; single && k < last; ++k) {
        row_event(k, static_cast<int64_t>(written_.values.size()) + k - first + 1);
      }
      written_.values.insert(written_.values.end(), values + first, values + last);
      return;
    }
    place_many(batch_.payload, first, last);
  }

  /// False: the run ends, since that would be more memory than it may have.
  bool fill_up_to(size_t end) {
    const size_t gap = end - volume_ - std::min(end - volume_, written_.values.size());
    if (gap > 0) gap_bytes += static_cast<int64_t>(gap * sizeof(float));
    if (context_.max_memory_bytes > 0 && gap_bytes > context_.max_memory_bytes) return false;
    sizes_.make_room(written_.values, end);
    written_.values.resize(end, tensor_.fill);
    return true;
  }

  /// Values, or blocks by name, where their coordinates say; blocks without coordinates at the end.
  void place_many(const Payload& payload, uint32_t first, uint32_t last) {
    std::vector<float>& array = written_.array();
    const bool blocks = ports[main_]->blocks;
    for (uint32_t k = first; k < last; ++k) {
      for (size_t i = 0; i < main_; ++i) {
        if (words_[i] != nullptr) coordinates_[i] = words_[i][k];
      }
      const size_t position = main_ == 0 ? array.size() : static_cast<size_t>(place()) * volume_;
      const size_t end = position + volume_;
      if (end > array.size() && !fill_up_to(end)) return;
      if (blocks) {
        std::copy_n(context_.blocks->block(payload.words()[k], static_cast<int64_t>(volume_)),
                    volume_, array.begin() + static_cast<int64_t>(position));
      } else {
        array[position] = payload.values()[k];
      }
      if (timed_) put_value(position, k);
      if (notes_rows() && depth(main_) <= 1) row_event(k, complete(true));
    }
  }

  uint64_t coordinates_start() const {
    return context_.addresses->level(node_.tensor, node_.level, Addresses::coordinates);
  }
  uint64_t values_start() const { return context_.addresses->values(node_.tensor); }
  void put_value(size_t position, uint32_t at) {
    const auto bytes = static_cast<uint64_t>(element_bytes(tensor_.type));
    put(0, values_start() + bytes * position, bytes * volume_, at);
  }

  int64_t place() const {
    int64_t position = above_;
    for (size_t i = 0; i < main_; ++i) {
      if (coordinates_[i] >= extents_[i]) refuse("a coordinate is outside of the result");
      position = position * extents_[i] + coordinates_[i];
    }
    if (position >= kMaxStored) {
      throw Error(ExitCode::rejected,
                  fmt::format("%{} has more than 2^32-2 positions", tensor_.name));
    }
    return position;
  }

  void end_fiber(const Stop& stop, uint32_t at) {
    if (level_ && stop.closes()) {
      const auto fiber =
          static_cast<size_t>(main_ == 0 ? static_cast<int64_t>(written_.pos.size()) - 1 : place());
      if (fiber + 1 < written_.pos.size()) refuse("fibers come in another order than stored");
      const auto end = static_cast<uint32_t>(written_.crd.size());
      written_.pos.resize(fiber + 1, written_.pos.back());
      written_.pos.push_back(end);
      if (timed_) {
        const uint64_t start =
            context_.addresses->level(node_.tensor, node_.level, Addresses::positions);
        put(1, start + 4 * (fiber + 1), 4, at);
      }
    }
    if (first_dense_ == 0 || main_ == 0) return;
    const int boundary = static_cast<int>(main_) - (level_ ? 0 : 1);
    if (stop.level >= boundary && stop.closes(boundary)) ++above_;
  }

  // --- rows of phases that start together

  /// Fibers (of a level) or values, from the first on, to which nothing is added any more.
  /// `row_ended`: the last token ended a fiber of the loop below the outermost one or, where there
  /// is no such loop, is a value.
  int64_t complete(bool row_ended) const {
    if (level_) return static_cast<int64_t>(written_.pos.size()) - 1;
    if (main_ == 0) return static_cast<int64_t>(written_.values.size() / volume_);
    int64_t row = 1;  // places below an element of the outermost of the dense levels
    for (size_t i = first_dense_ == 0 ? 1 : 0; i < main_; ++i) row *= extents_[i];
    if (first_dense_ > 0) return above_ * row;
    return depth(0) == 1 && row_ended ? (coordinates_[0] + 1) * row : 0;
  }
  bool notes_rows() const { return signals_ || context_.collects_rows; }

  /// In the step of token `at` so many fibers (values) have become complete.
  void row_event(uint32_t at, int64_t count) {
    if (count <= complete_ || !notes_rows()) return;
    complete_ = count;
    steps().out.front().at.push_back(at);
    if (!signals_) written_rows.complete.push_back(count);
  }

  const Tensor& tensor_;
  const size_t volume_;  // of the tensor's blocks
  const size_t below_;   // the levels above what is written
  SizePredictor sizes_;  // of what is written
  size_t first_dense_ = 0;
  std::vector<int64_t> extents_;  // of the dense levels whose coordinates are given
  std::vector<int64_t> coordinates_;
  int64_t above_ = 0;  // elements of the level above the dense ones that have ended
  Written written_;
  std::vector<size_t> next_outer_;  // in the batch at hand
  bool signals_ = false;            // its rows are waited for: output 0 of its steps
  int64_t complete_ = 0;            // as of the last event
};

}  // namespace

FUSEFLOW_RUN(write_level, WriteNode)
FUSEFLOW_RUN(write_values, WriteNode)

}  // namespace fuseflow::engine
