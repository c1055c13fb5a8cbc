// Naive executor: the joiners (intersect, unite, leftjoin): one comparison of all groups' heads a
// step.
#include <algorithm>

#include "sim/naive/block.h"
#include "sim/naive/node.h"

namespace fuseflow::naive {
namespace {

class JoinNode final : public NodeRun {
 public:
  JoinNode(const Context& context, NodeId id) : NodeRun(context, id) {
    size_t first = 0;
    for (const int size : node_.groups) {
      groups_.push_back({first, static_cast<size_t>(size), false});
      first += static_cast<size_t>(size);
    }
  }

  bool step() override {
    begin();
    const Token* least = nullptr;
    const Token* end = nullptr;
    for (Group& group : groups_) {
      const Token* head = need_head(group);
      if (head == nullptr) return false;
      if (!head->is_payload()) {
        end = head;
      } else if (least == nullptr || head->payload < least->payload) {
        least = head;
      }
    }
    return least == nullptr ? end_fiber(*end) : join(least->payload);
  }

 private:
  struct Group {
    size_t first;  ///< input of the coordinates; payloads follow
    size_t size;
    bool taken;
  };

  /// The group's coordinate token, after all its streams' heads have arrived.
  const Token* need_head(const Group& group) {
    const Token* head = need(group.first);
    if (head == nullptr) return nullptr;
    for (size_t i = 1; i < group.size; ++i) {
      const Token* payload = need(group.first + i);
      if (payload == nullptr) return nullptr;
      if (payload->stop != head->stop || payload->bits != head->bits) {
        disagree("a payload differs in structure from its coordinates");
      }
    }
    return head;
  }

  bool end_fiber(const Token& end) {
    const Token out = end;
    for (const Group& group : groups_) {
      if (!take_like(group.first, group.size, out)) return false;
    }
    for (size_t output = 0; output < output_count(); ++output) give(output, out);
    return out.is_done() ? commit_last() : commit();
  }

  bool join(uint32_t coordinate) {
    size_t have = 0;
    for (Group& group : groups_) {
      const Token* head = need(group.first);
      group.taken = head->is_payload() && head->payload == coordinate;
      if (group.taken) ++have;
    }
    const bool keep = node_.kind == NodeKind::unite ||
                      (node_.kind == NodeKind::intersect && have == groups_.size()) ||
                      (node_.kind == NodeKind::leftjoin && groups_.front().taken);
    if (keep) give(0, payload_token(coordinate));
    size_t output = 1;
    for (const Group& group : groups_) {
      for (size_t i = 1; i < group.size; ++i, ++output) {
        if (keep) give(output, payload(group, group.first + i));
      }
      for (size_t i = 0; group.taken && i < group.size; ++i) take(group.first + i);
    }
    return commit();
  }

  /// What a payload stream gives for the coordinate at hand: its head, N, or the pad value.
  Token payload(const Group& group, size_t input) {
    if (group.taken) {
      Token token = *need(input);
      token.bits = 0;
      return token;
    }
    const StreamId stream = node_.inputs[input].stream;
    const bool value = context_.graph.streams[static_cast<size_t>(stream)].kind == StreamKind::val;
    if (!value) return payload_token(kAbsent);
    return constant_token(block_shape(context_.graph, stream), node_.init);
  }

  std::vector<Group> groups_;
};

}  // namespace

std::unique_ptr<NodeRun> make_join_node(const Context& context, NodeId id) {
  switch (context.graph.nodes[static_cast<size_t>(id)].kind) {
    case NodeKind::intersect:
    case NodeKind::unite:
    case NodeKind::leftjoin:
      return std::make_unique<JoinNode>(context, id);
    default:
      return nullptr;
  }
}

}  // namespace fuseflow::naive
