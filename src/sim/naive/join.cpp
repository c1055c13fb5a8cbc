// Naive executor: the joiners (intersect, unite, leftjoin): one comparison of all groups' heads a
// step; intersect_words: a word of the levels for its matches, or one step.
#include <algorithm>

#include "sim/naive/block.h"
#include "sim/naive/node.h"
#include "support/ceil_div.h"

namespace fuseflow::naive {
namespace {

class JoinNode : public NodeRun {
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

 protected:
  virtual bool end_fiber(const Token& end) { return give_end(end); }
  virtual bool join(uint32_t coordinate) { return take_least(coordinate, interval_, interval_); }

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

  /// Taking removes the head that `head` is, so that it is copied.
  bool give_end(const Token& head) {
    const Token end = head;  // NOLINT(performance-unnecessary-copy-initialization)
    for (const Group& group : groups_) {
      if (!take_like(group.first, group.size, end)) return false;
    }
    give_all(end);
    return commit_like(end);
  }

  /// A step that takes the heads that have the coordinate. What it costs depends on whether it
  /// gives it.
  bool take_least(uint32_t coordinate, int64_t cost_given, int64_t cost_left_out) {
    size_t have = 0;
    for (Group& group : groups_) {
      const Token* head = need(group.first);
      group.taken = head->is_payload() && head->payload == coordinate;
      if (group.taken) ++have;
    }
    const bool keep = keeps(have);
    kept_ = keep;
    if (keep) give(0, payload_token(coordinate));
    size_t output = 1;
    for (const Group& group : groups_) {
      for (size_t i = 1; i < group.size; ++i, ++output) {
        if (keep) give(output, payload(group, group.first + i));
      }
      for (size_t i = 0; group.taken && i < group.size; ++i) take(group.first + i);
    }
    return commit(keep ? cost_given : cost_left_out);
  }

  bool keeps(size_t have) const {
    if (node_.kind == NodeKind::unite) return true;
    if (node_.kind == NodeKind::leftjoin) return groups_.front().taken;
    return have == groups_.size();
  }

  /// What a payload stream gives for the coordinate at hand: its head, N, or the pad value.
  Token payload(const Group& group, size_t input) {
    if (group.taken) {
      Token token = *need(input);
      token.bits = 0;
      return token;
    }
    const StreamId stream = node_.inputs[input].stream;
    const bool value = context_.graph.streams[stream].kind == StreamKind::val;
    if (!value) return payload_token(kAbsent);
    return constant_token(block_shape(context_.graph, stream), node_.init);
  }

  std::vector<Group> groups_;
  bool kept_ = false;  ///< of the coordinate met last
};

/// intersect_words: every word of the levels costs as many steps as it has coordinates that all
/// groups have, or one. Coordinates that some group lacks are taken in steps that cost nothing.
class WordJoinNode final : public JoinNode {
 public:
  WordJoinNode(const Context& context, NodeId id) : JoinNode(context, id) {
    const auto out = static_cast<size_t>(node_.outputs[0]);
    const auto loop = static_cast<size_t>(context.graph.streams[out].indices.back());
    words_ = ceil_div(context.graph.indices[loop].extent, kWord);
  }

 private:
  static constexpr int64_t kWord = 64;

  bool join(uint32_t coordinate) override {
    if (!at_word(coordinate / kWord)) return end_word();
    if (!take_least(coordinate, interval_, 0)) return false;
    given_ = given_ || kept_;
    return true;
  }

  bool end_fiber(const Token& end) override {
    const bool fiber = !end.is_done() && (end.bits & 1) != 0;
    if (fiber && !at_word(words_)) return end_word();
    if (!give_end(end)) return false;
    word_ = 0;
    given_ = false;
    return true;
  }

  /// Goes on to a word, past words that have had their steps. False: the one at hand has not.
  bool at_word(int64_t wanted) {
    while (word_ < wanted && given_) {
      ++word_;
      given_ = false;
    }
    return word_ >= wanted;
  }

  /// The step of a word that gives nothing.
  bool end_word() {
    if (!commit(interval_)) return false;
    ++word_;
    return true;
  }

  int64_t words_ = 0;   ///< of a fiber
  int64_t word_ = 0;    ///< at hand
  bool given_ = false;  ///< it has given a coordinate
};

}  // namespace

FUSEFLOW_RUN(intersect, JoinNode)
FUSEFLOW_RUN(intersect_words, WordJoinNode)
FUSEFLOW_RUN(unite, JoinNode)
FUSEFLOW_RUN(leftjoin, JoinNode)

}  // namespace fuseflow::naive
