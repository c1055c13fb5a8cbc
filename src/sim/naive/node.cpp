#include "sim/naive/node.h"

#include <fmt/format.h>

#include <algorithm>

#include "nodes/rule.h"

namespace fuseflow::naive {

NodeRun::NodeRun(const Context& context, NodeId id)
    : context_(context),
      id_(id),
      node_(context.graph.nodes[id]),
      interval_(context.timings[id].interval_cycles) {
  wait_.node = id;
}

bool NodeRun::backlogged(int64_t limit) const {
  for (const Channel* channel : outputs_) {
    if (channel != nullptr && channel->connected() && channel->held() >= limit) return true;
  }
  return false;
}

void NodeRun::begin() {
  arrivals_ = 0;
  credit_ = 0;
  side_ = 0;
  takes_.clear();
  given_.clear();
}

const Token* NodeRun::need(size_t input, int64_t ahead) {
  const ChannelReader& tap = inputs_[input];
  const Token* token = tap.channel->peek(tap.reader, ahead);
  if (token == nullptr) {
    const int64_t held = tap.channel->given() - tap.channel->readers[tap.reader].taken();
    wait_ = {id_, tap.channel->id, false, tap.channel->producer, held, tap.channel->depth};
    return nullptr;
  }
  arrivals_ = std::max(arrivals_, token->time + tap.channel->latency);
  return token;
}

void NodeRun::give(size_t output, const Token& token) {
  if (connected(output)) given_.push_back({output, token});
}

int64_t NodeRun::credits() {
  int64_t latest = 0;
  for (size_t g = 0; g < given_.size(); ++g) {
    const Channel& channel = *outputs_[given_[g].output];
    if (channel.depth == 0) continue;
    int64_t before = 0;  // tokens of this step that go to the same stream first
    for (size_t h = 0; h < g; ++h) before += given_[h].output == given_[g].output ? 1 : 0;
    const int64_t credit = channel.credit(before);
    if (credit < 0) {
      wait_ = {id_, channel.id, true, -1, channel.held(), channel.depth};
      for (const Reader& reader : channel.readers) {
        if (channel.given() + before - channel.depth >= reader.taken()) wait_.other = reader.node();
      }
      return -1;
    }
    latest = std::max(latest, credit);
  }
  return latest;
}

bool NodeRun::commit(int64_t cost) {
  const int64_t credit = credits();
  if (credit < 0) return false;
  const int64_t ready = std::max(free_at_[side_], arrivals_);
  const int64_t time = std::max({ready, credit, credit_});
  charge_credits(ready, time);
  for (const size_t input : takes_) inputs_[input].channel->take(inputs_[input].reader, time);
  for (GivenToken& given : given_) {
    given.token.time = time;
    outputs_[given.output]->give(given.token);
  }
  stats_.tokens_in += static_cast<int64_t>(takes_.size());
  stats_.tokens_out += static_cast<int64_t>(given_.size());
  stats_.last_step = std::max(stats_.last_step, time);
  if (side_ == 0) count_step(ready, time, cost);
  last_time_ = time;
  free_at_[side_] = time + cost;
  return true;
}

void NodeRun::charge_credits(int64_t ready, int64_t time) {
  for (size_t g = 0; g < given_.size(); ++g) {
    int64_t before = 0;  // tokens of this step that go to the same stream first
    bool last = true;    // of those: their room came no later
    for (size_t h = 0; h < given_.size(); ++h) {
      if (given_[h].output != given_[g].output) continue;
      before += h < g ? 1 : 0;
      last = last && h <= g;
    }
    if (last) outputs_[given_[g].output]->charge(before, ready, time);
  }
}

void NodeRun::count_step(int64_t ready, int64_t time, int64_t cost) {
  stats_.blocked += time - ready;
  if (stalls != nullptr && time > ready) stalls->add(ready, time - 1);
  stats_.busy += cost;
  if (stats_.steps++ == 0) stats_.first_step = time;
  if (activity != nullptr && cost > 0) activity->add(time, time + cost - 1);
}

bool NodeRun::commit_last(int64_t cost) {
  if (!commit(cost)) return false;
  ended_ = true;
  return true;
}

bool NodeRun::along_payload(size_t input, int loops, const Token& inner, const Token** payload,
                            int64_t* taken) {
  const bool has_payload =
      inner.is_payload() || (inner.is_stop() && inner.closes(loops - 1) && inner.stop >= loops - 1);
  if (!has_payload) return true;
  const Token* token = need(input);
  if (token == nullptr) return false;
  if (!token->is_payload()) disagree("an outer input has no element where the inner stream has");
  if (payload != nullptr) *payload = token;
  if (inner.is_payload()) return true;
  take(input);
  *taken = 1;
  return true;
}

bool NodeRun::along_stop(size_t input, int loops, const Token& inner, int64_t taken) {
  const bool done = inner.is_done();
  if (inner.is_payload() || (!done && inner.stop < loops)) return true;
  const Token* token = need(input, taken);
  if (token == nullptr) return false;
  const bool fits = done ? token->is_done() : token->is_stop() && token->stop == inner.stop - loops;
  if (!fits) disagree("an outer input ends elsewhere than the inner stream");
  take(input);
  return true;
}

bool NodeRun::take_like(size_t first, size_t count, const Token& like) {
  for (size_t input = first; input < first + count; ++input) {
    const Token* token = need(input);
    if (token == nullptr) return false;
    if (token->stop != like.stop || token->bits != like.bits) {
      disagree("two inputs of one space differ in structure");
    }
    take(input);
  }
  return true;
}

bool NodeRun::take_with(size_t input, size_t inner, const Token& like, const Token** payload) {
  const int loops = depth(inner) - depth(input);
  if (loops > 0) return along(input, loops, like, payload);
  *payload = need(input);
  return take_like(input, 1, like);
}

/// The writers that a load of the reference waits for: all, but of parts of the values those that
/// have its row, if any has.
std::vector<const RowTimes*> NodeRun::awaited(const std::vector<RowTimes>& writers,
                                              int64_t reference) const {
  const Tensor& tensor = context_.program.tensors[node_.tensor];
  const bool parts = writers.size() > 1;
  int64_t row = 1;
  for (size_t l = 1; parts && l < tensor.format.levels.size(); ++l) row *= tensor.level_extent(l);
  const int64_t end = row > 0 ? (reference / row + 1) * row : 0;
  std::vector<const RowTimes*> all;
  std::vector<const RowTimes*> with_row;
  for (const RowTimes& rows : writers) {
    if (context_.graph.nodes[rows.writer].phase >= node_.phase) continue;
    all.push_back(&rows);
    if (parts && std::binary_search(rows.all.begin(), rows.all.end(), end))
      with_row.push_back(&rows);
  }
  return with_row.empty() ? all : with_row;
}

bool NodeRun::need_row(int64_t reference) {
  if (context_.rows == nullptr) return true;
  const int level = node_.kind == NodeKind::array ? -1 : node_.level;
  const auto found = context_.rows->find({node_.tensor, level});
  if (found == context_.rows->end()) return true;
  for (const RowTimes* rows : awaited(found->second, reference)) {
    const auto at = std::upper_bound(rows->complete.begin(), rows->complete.end(), reference);
    if (at == rows->complete.end()) {
      wait_ = {id_, node_.inputs[0].stream, false, rows->writer, 0, 0};
      return false;
    }
    arrivals_ = std::max(arrivals_, rows->times[at - rows->complete.begin()]);
  }
  return true;
}

std::unique_ptr<NodeRun> make_node(const Context& context, NodeId id) {
  const Node& node = context.graph.nodes[id];
  switch (node.kind) {
#define FUSEFLOW_CASE(kind) \
  case NodeKind::kind:      \
    return run_##kind(context, id);
    FUSEFLOW_STREAM_KINDS(FUSEFLOW_CASE)
#undef FUSEFLOW_CASE
    default:
      break;
  }
  throw Error(ExitCode::rejected,
              fmt::format("a {} node does not run on streams", node_kind_name(node.kind)));
}

}  // namespace fuseflow::naive
