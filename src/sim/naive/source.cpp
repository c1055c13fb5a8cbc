// Naive executor: the nodes that read stored tensors (scan, locate, array) and the root.
#include <fmt/format.h>

#include <bit>

#include "sim/common/level_view.h"
#include "sim/naive/block.h"
#include "sim/naive/node.h"

namespace fuseflow::naive {
namespace {

class RootNode final : public NodeRun {
 public:
  using NodeRun::NodeRun;
  bool step() override {
    begin();
    if (given_) {
      give(0, done_token());
      return commit_last();
    }
    give(0, payload_token(0));
    given_ = commit();
    return given_;
  }

 private:
  bool given_ = false;
};

int64_t loop_extent(const Graph& graph, const Node& scan) {
  const Stream& opened = graph.streams[scan.outputs.front()];
  return graph.indices[opened.indices.back()].extent;
}

class ScanNode final : public NodeRun {
 public:
  ScanNode(const Context& context, NodeId id)
      : NodeRun(context, id),
        level_(node_.tensor < 0 ? LevelView::counter(loop_extent(context.graph, node_))
                                : LevelView(context.program, node_.tensor, node_.level,
                                            context.storage(node_.tensor))) {
    extent_ = loop_extent(context.graph, node_);
  }

  bool step() override {
    begin();
    const Token* head = nullptr;
    if (!in_fiber_) {
      head = need(0);
      if (head == nullptr) return false;
      if (!head->is_payload()) return pass(*head);
      open(head->payload);
      if (head->payload != kAbsent && !need_row(head->payload)) return false;
      take(0);
    }
    return at_ < fiber_.size() ? give_element() : give_stop();
  }

 private:
  bool pass(const Token& head) {
    const Token out = head.is_done() ? head : stop_token(head.stop + 1, head.bits << 1);
    take(0);
    give_all(out);
    return commit_like(out);
  }

  /// Sets the fiber below `reference`; repeated calls for the same head (after a wait) do no harm.
  void open(uint32_t reference) {
    reference_ = reference;
    fiber_ = level_.fiber(reference, node_.offset, extent_);
    at_ = 0;
  }

  void enter() {
    if (in_fiber_) return;
    in_fiber_ = true;
    if (reference_ == kAbsent) return;
    count_read(level_.position_bytes(reference_, last_) + level_.word_bytes());
    last_ = reference_;
  }

  bool give_element() {
    const LevelView::Element element = level_.element(fiber_, at_);
    if (connected(1) && element.position > int64_t{kAbsent} - 1) {
      throw Error(ExitCode::rejected,
                  fmt::format("a level of {} has more than 2^32-2 positions", level_.name()));
    }
    give(0, payload_token(static_cast<uint32_t>(element.coordinate + node_.offset)));
    give(1, payload_token(static_cast<uint32_t>(element.position)));
    if (!commit()) return false;
    enter();
    count_read(level_.element_bytes());
    ++at_;
    return true;
  }

  bool give_stop() {
    const Token* next = need(0, in_fiber_ ? 0 : 1);
    if (next == nullptr) return false;
    Token out = stop_token(0, 1);
    if (next->is_stop()) {
      out = stop_token(next->stop + 1, (next->bits << 1) | 1U);
      take(0);
    }
    give_all(out);
    if (!commit()) return false;
    enter();
    in_fiber_ = false;
    return true;
  }

  LevelView level_;
  int64_t extent_ = 0;
  LevelView::Fiber fiber_;
  int64_t at_ = 0;
  bool in_fiber_ = false;  ///< the fiber's reference has been taken
  uint32_t reference_ = kAbsent;
  uint32_t last_ = kAbsent;  ///< the reference read before
};

class LocateNode final : public NodeRun {
 public:
  LocateNode(const Context& context, NodeId id)
      : NodeRun(context, id),
        level_(context.program, node_.tensor, node_.level, context.storage(node_.tensor)) {}

  bool step() override {
    begin();
    const Token* reference = need(0);
    if (reference == nullptr) return false;
    for (size_t i = 1; i < input_count(); ++i) {
      if (need(i) == nullptr) return false;
    }
    Token out = *reference;
    const uint32_t parent = reference->payload;
    const int64_t coordinate = subscript();
    const bool looked = out.is_payload() && parent != kAbsent && level_.in_range(coordinate);
    if (looked && !need_row(parent)) return false;
    if (looked && probed_ + 1 < level_.look_up_steps(parent)) return probe();
    if (!take_like(1, input_count() - 1, *reference)) return false;
    take(0);
    if (out.is_payload()) out.payload = level_.find(parent, coordinate);
    give(0, out);
    if (!commit_like(out)) return false;
    probed_ = 0;
    if (looked) {
      count_read(level_.position_bytes(parent, last_) + level_.probe_bytes(parent));
      last_ = parent;
    }
    return true;
  }

 private:
  /// A step of a binary search that is not its last: takes nothing.
  bool probe() {
    if (!commit()) return false;
    ++probed_;
    return true;
  }

  /// offset + stride * c0 + strides[0] * c1 + ..; meaningless when the heads are not payloads.
  int64_t subscript() {
    if (input_count() == 1) return node_.offset;
    int64_t coordinate = node_.offset + node_.stride * need(1)->payload;
    for (size_t i = 2; i < input_count(); ++i) {
      coordinate += node_.strides.at(i - 2) * need(i)->payload;
    }
    return coordinate;
  }

  LevelView level_;
  uint32_t last_ = kAbsent;
  int64_t probed_ = 0;  ///< steps of the search at hand so far
};

class ArrayNode final : public NodeRun {
 public:
  ArrayNode(const Context& context, NodeId id)
      : NodeRun(context, id),
        tensor_(context.program.tensors[node_.tensor]),
        storage_(context.storage(node_.tensor)),
        shape_(block_shape(context.graph, node_.outputs[0])) {
    if (storage_ == nullptr) missing_data(tensor_.name);
  }

  bool step() override {
    begin();
    const Token* reference = need(0);
    if (reference == nullptr) return false;
    take(0);
    Token out = *reference;
    bool read = false;
    if (out.is_payload()) {
      read = out.payload != kAbsent;
      if (read && !need_row(out.payload)) return false;
      const auto volume = static_cast<size_t>(shape_.volume);
      if (read && (out.payload + size_t{1}) * volume > storage_->values.size()) {
        refuse(fmt::format("reference {} is outside of %{}", out.payload, tensor_.name));
      }
      out = read ? load(out.payload * volume, volume) : constant_token(shape_, tensor_.fill);
    }
    give(0, out);
    if (!commit_like(out)) return false;
    if (read) count_read(element_bytes(tensor_.type) * shape_.volume);
    return true;
  }

 private:
  Token load(size_t first, size_t volume) const {
    if (volume == 1) return payload_token(std::bit_cast<uint32_t>(storage_->values[first]));
    const float* values = storage_->values.data() + first;
    return block_token(shape_, std::vector<float>(values, values + volume));
  }

  const Tensor& tensor_;
  const Storage* storage_;
  const BlockShape shape_;
};

}  // namespace

FUSEFLOW_RUN(root, RootNode)
FUSEFLOW_RUN(scan, ScanNode)
FUSEFLOW_RUN(locate, LocateNode)
FUSEFLOW_RUN(array, ArrayNode)

}  // namespace fuseflow::naive
