#include "lower/results.h"

#include <fmt/format.h>

#include "ir/names.h"

namespace fuseflow {

namespace {

class ResultWriter {
 public:
  ResultWriter(const Tensor& tensor, TensorId id, const std::vector<int>& map, StreamTensor value,
               Emitter& emitter, GraphBuilder& builder)
      : tensor_(tensor),
        id_(id),
        emitter_(emitter),
        builder_(builder),
        crds_(std::move(value.crds)) {
    value.crds = crds_;
    value_ = emitter.as_stream(value);
    for (int level = 0; level < tensor.format.rank(); ++level) {
      const int index = map[tensor.format.mode_order[level]];
      size_t position = 0;
      while (value.indices[position] != index) ++position;
      position_.push_back(position);
    }
  }

  void run() {
    check_format();
    if (!tensor_.format.all_dense() && !crds_.empty()) {
      filter_values();
      drop_empty_fibers();
    }
    for (int level = 0; level < tensor_.format.rank(); ++level) {
      if (tensor_.format.levels[level] != LevelKind::dense) write_level(level);
    }
    Node node;
    node.kind = NodeKind::write_values;
    node.tensor = id_;
    node.inputs = streams_in(dense_above(tensor_.format.rank()));
    node.inputs.push_back({value_, 0});
    builder_.add_sink(std::move(node));
  }

 private:
  void check_format() const {
    for (const LevelKind level : tensor_.format.levels) {
      if (level == LevelKind::dense || level == LevelKind::compressed) continue;
      Format nearest = tensor_.format;
      for (LevelKind& other : nearest.levels) {
        if (other != LevelKind::dense) other = LevelKind::compressed;
      }
      throw Error(
          ExitCode::rejected, tensor_.where,
          fmt::format("result %{} has a {} level, which can be read, not written; expected "
                      "dense or compressed ones, e.g. {}",
                      quote_if_needed(tensor_.name), level_name(level), to_string(nearest)));
    }
  }

  bool compressed(size_t position) const {
    for (int level = 0; level < tensor_.format.rank(); ++level) {
      if (position_[level] == position) {
        return tensor_.format.levels[level] != LevelKind::dense;
      }
    }
    return false;
  }

  /// Entries equal to the fill are absent where the innermost loop's level lets them be.
  void filter_values() {
    if (!compressed(crds_.size() - 1)) return;
    Node filter;
    filter.kind = NodeKind::filter;
    filter.init = tensor_.fill;
    filter.inputs = streams_in({value_, crds_.back(), value_});
    const std::vector<int> loops = builder_.stream(value_).indices;
    const std::vector<StreamId> made =
        builder_.add(std::move(filter), {{StreamKind::crd, loops}, {StreamKind::val, loops}});
    crds_.back() = made[0];
    value_ = made[1];
  }

  /// Elements of compressed levels with nothing below them, innermost first.
  void drop_empty_fibers() {
    for (size_t p = crds_.size() - 1; p-- > 0;) {
      if (compressed(p)) drop(p);
    }
  }

  void drop(size_t p) {
    Node node;
    node.kind = NodeKind::drop;
    const bool direct = p + 2 == crds_.size();
    node.inputs = streams_in({crds_[p], crds_[p + 1]});
    if (direct) node.inputs.push_back({value_, 0});
    node.groups = {1, static_cast<int>(node.inputs.size()) - 1};
    std::vector<OutputSpec> outputs;
    for (const Input& input : node.inputs) {
      const Stream& stream = builder_.stream(input.stream);
      outputs.push_back({stream.kind, stream.indices});
    }
    const std::vector<StreamId> made = builder_.add(std::move(node), outputs);
    if (direct) {
      crds_[p + 1] = made[1];
      value_ = made[2];
    } else {  // streams of several depths: all are moved alike
      for (size_t q = p + 1; q < crds_.size(); ++q) {
        crds_[q] = emitter_.align(made[0], crds_[p], crds_[q]);
      }
      value_ = emitter_.align(made[0], crds_[p], value_);
    }
    crds_[p] = made[0];
  }

  /// Coordinates of the dense levels directly above `level`, outermost first.
  std::vector<StreamId> dense_above(int level) const {
    std::vector<StreamId> result;
    while (level > 0 && tensor_.format.levels[level - 1] == LevelKind::dense) {
      result.insert(result.begin(), crds_[position_[--level]]);
    }
    return result;
  }

  bool is_dense(int level) const { return tensor_.format.levels[level] == LevelKind::dense; }

  /// The coordinate of loop `from` for each element just outside loop `to`: also where a fiber of
  /// `to` is empty, the writer then knows which one it is.
  StreamId repeated(size_t from, size_t to) const {
    StreamId crd = crds_[from];
    for (size_t p = from + 1; p < to; ++p) {
      Node repeat;
      repeat.kind = NodeKind::repeat;
      repeat.inputs = streams_in({crd, crds_[p]});
      crd =
          builder_.add_one(std::move(repeat), {StreamKind::crd, builder_.stream(crds_[p]).indices});
    }
    return crd;
  }

  void write_level(int level) {
    Node node;
    node.kind = NodeKind::write_level;
    node.tensor = id_;
    node.level = level;
    for (int above = level; above > 0 && is_dense(above - 1); --above) {
      const StreamId crd = repeated(position_[above - 1], position_[level]);
      node.inputs.insert(node.inputs.begin(), {crd, 0});
    }
    node.inputs.push_back({crds_[position_[level]], 0});
    builder_.add_sink(std::move(node));
  }

  const Tensor& tensor_;
  const TensorId id_;
  Emitter& emitter_;
  GraphBuilder& builder_;
  std::vector<StreamId> crds_;  // by loop
  StreamId value_ = -1;
  std::vector<size_t> position_;  // by level: its loop
};

}  // namespace

void write_result(const Program& program, TensorId tensor, const std::vector<int>& map,
                  StreamTensor value, Emitter& emitter, GraphBuilder& builder) {
  ResultWriter(program.tensors[tensor], tensor, map, std::move(value), emitter, builder).run();
}

}  // namespace fuseflow
