// Naive executor: the writers. Where a fiber or value goes follows from the coordinates of the
// dense levels, which are inputs, and from the number of elements seen of the level above them.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sim/naive/block.h"
#include "sim/naive/node.h"

namespace fuseflow::naive {
namespace {

class WriteNode final : public NodeRun {
 public:
  WriteNode(const Context& context, NodeId id)
      : NodeRun(context, id),
        tensor_(context.program.tensors[node_.tensor]),
        level_(node_.kind == NodeKind::write_level),
        main_(node_.inputs.size() - 1) {
    const size_t below = level_ ? static_cast<size_t>(node_.level) : tensor_.format.levels.size();
    for (size_t l = below - std::min(below, main_); l < below; ++l) {
      extents_.push_back(tensor_.level_extent(l));
      if (tensor_.format.levels[l] != LevelKind::dense) disagree("a coordinate too many");
    }
    first_dense_ = below - std::min(below, main_);
    coordinates_.resize(main_);
    if (level_) written_.pos.push_back(0);
  }

  Written* written() override { return &written_; }

  bool step() override {
    begin();
    const Token* head = need(main_);
    if (head == nullptr) return false;
    const Token token = *head;
    if (!read_coordinates(token)) return false;
    take(main_);
    if (token.is_done()) {
      if (!commit_last(stop_cost())) return false;
      rows_complete(INT64_MAX);
      return true;
    }
    if (!commit(token.is_payload() ? interval_ : stop_cost())) return false;
    if (token.is_payload()) store(token);
    if (token.is_stop()) end_fiber(token);
    rows_complete(complete(token));
    return true;
  }

 private:
  int64_t stop_cost() const { return context_.machine.write_stops_take_steps ? interval_ : 0; }

  bool read_coordinates(const Token& token) {
    for (size_t i = 0; i < main_; ++i) {
      const Token* coordinate = nullptr;
      if (!take_with(i, main_, token, &coordinate)) return false;
      if (coordinate != nullptr && coordinate->is_payload()) coordinates_[i] = coordinate->payload;
    }
    return true;
  }

  /// The place that the coordinates say, below the current element of the level above them.
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

  void store(const Token& token) {
    if (level_) {
      written_.crd.push_back(token.payload);
      return;
    }
    const auto volume = static_cast<size_t>(tensor_.format.block_volume());
    std::vector<float>& array = written_.array();
    const size_t position = main_ == 0 ? array.size() : static_cast<size_t>(place()) * volume;
    if (position + volume > array.size()) array.resize(position + volume, tensor_.fill);
    std::copy_n(block_values(token), volume, array.begin() + static_cast<int64_t>(position));
    ++written_.given;
  }

  /// Levels count a fiber for each stop that closes one; both count the elements of the level above
  /// the dense ones.
  void end_fiber(const Token& stop) {
    if (level_ && stop.closes()) {
      const auto fiber =
          static_cast<size_t>(main_ == 0 ? static_cast<int64_t>(written_.pos.size()) - 1 : place());
      if (fiber + 1 < written_.pos.size()) refuse("fibers come in another order than stored");
      const auto end = static_cast<uint32_t>(written_.crd.size());
      written_.pos.resize(fiber + 1, written_.pos.back());
      written_.pos.push_back(end);
    }
    if (first_dense_ == 0 || main_ == 0) return;
    const int boundary = static_cast<int>(main_) - (level_ ? 0 : 1);
    if (stop.stop >= boundary && stop.closes(boundary)) ++above_;
  }

  /// Fibers (of a level) or values, from the first on, to which nothing is added any more: see
  /// ir-spec/timing.md, rows.
  int64_t complete(const Token& token) const {
    const int loops = depth(main_);
    if (level_) return static_cast<int64_t>(written_.pos.size()) - 1;
    if (loops > 1 && token.is_payload()) return 0;
    if (main_ == 0) {
      return static_cast<int64_t>(written_.values.size()) / tensor_.format.block_volume();
    }
    int64_t row = 1;  // places below an element of the outermost of the dense levels
    for (size_t i = first_dense_ == 0 ? 1 : 0; i < main_; ++i) row *= extents_[i];
    if (first_dense_ > 0) return above_ * row;
    const bool ended =
        token.is_payload() || (loops > 1 && token.stop >= loops - 2 && token.closes(loops - 2));
    return depth(0) == 1 && ended ? (coordinates_[0] + 1) * row : 0;
  }

  void rows_complete(int64_t count) {
    if (context_.rows == nullptr) return;
    const auto rows = context_.rows->find({node_.tensor, level_ ? node_.level : -1});
    if (rows == context_.rows->end()) return;
    const auto own = [this](const RowTimes& r) { return r.writer == id_; };
    RowTimes& r = *std::find_if(rows->second.begin(), rows->second.end(), own);
    if (count <= (r.complete.empty() ? 0 : r.complete.back())) return;
    r.complete.push_back(count);
    r.times.push_back(stats().last_step + context_.timings[id_].latency_cycles);
  }

  const Tensor& tensor_;
  const bool level_;
  const size_t main_;  ///< the input written; those before it are coordinates
  size_t first_dense_ = 0;
  std::vector<int64_t> extents_;  ///< of the dense levels whose coordinates are given
  std::vector<int64_t> coordinates_;
  int64_t above_ = 0;  ///< elements of the level above the dense ones that have ended
  Written written_;
};

}  // namespace

FUSEFLOW_RUN(write_level, WriteNode)
FUSEFLOW_RUN(write_values, WriteNode)

}  // namespace fuseflow::naive
