// The common part of all node kinds in the naive executor: one step is built from needs, takes and
// gives, and happens at the least time that ir-spec/timing.md allows. The kinds are in
// KIND.cpp or the file of their family, made by make_node. Private to this folder.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/node_kinds.h"
#include "machine/machine.h"
#include "sim/common/node_access.h"
#include "sim/common/node_timing.h"
#include "sim/common/tensor_data.h"
#include "sim/common/written_tensors.h"
#include "sim/naive/stream.h"

namespace fuseflow::naive {

/// When a writer stored its rows: after each event, how many fibers (values) from the first on are
/// complete as far as it writes them, and when a load may use them.
struct RowTimes {
  NodeId writer = -1;
  std::vector<int64_t> all;       ///< what `complete` will be in the end
  std::vector<int64_t> complete;  ///< ascending
  std::vector<int64_t> times;
};

/// What a node needs of the run around it.
struct Context {
  const Program& program;
  const Graph& graph;
  const Machine& machine;
  const std::vector<UnitTiming>& timings;  ///< by NodeId
  const TensorData& data;
  /// The storage of a tensor that is read, null when there is none.
  const Storage* storage(TensorId tensor) const { return data.find(tensor); }
  /// By tensor and level (-1: values): of the writers of phases that start together. Several store
  /// a part of the values each.
  std::map<std::pair<TensorId, int>, std::vector<RowTimes>>* rows = nullptr;
};

class NodeRun {
 public:
  NodeRun(const Context& context, NodeId id);
  virtual ~NodeRun() = default;
  NodeRun(const NodeRun&) = delete;
  NodeRun& operator=(const NodeRun&) = delete;

  /// Does the next step. False: it has ended, or waits for a token or a credit (see wait()).
  virtual bool step() = 0;
  virtual Written* written() { return nullptr; }

  void connect_input(Channel* channel, size_t reader) { inputs_.push_back({channel, reader}); }
  void connect_output(Channel* channel) { outputs_.push_back(channel); }
  void start_at(int64_t time) { free_at_.fill(time); }

  bool ended() const { return ended_; }
  const Wait& wait() const { return wait_; }
  const NodeStats& stats() const { return stats_; }
  NodeId id() const { return id_; }
  const Node& node() const { return node_; }
  bool backlogged(int64_t limit) const;

  Activity* activity = nullptr;  ///< where to note busy cycles, if anywhere
  Activity* stalls = nullptr;    ///< where to note blocked cycles, if anywhere

 protected:
  struct ChannelReader {
    Channel* channel = nullptr;
    size_t reader = 0;
  };

  size_t input_count() const { return inputs_.size(); }
  size_t output_count() const { return outputs_.size(); }
  bool connected(size_t output) const {
    return output < outputs_.size() && outputs_[output] != nullptr && outputs_[output]->connected();
  }
  /// Loops that `input` is nested in.
  int depth(size_t input) const { return loops_around(context_.graph, node_, input); }

  void begin();
  /// The step is one of the node's other side, which has steps of its own beside those that count.
  void on_other_side() { side_ = 1; }
  /// The step is not before `time`; with `blocked`, as if a credit had been missing until then.
  void not_before(int64_t time, bool blocked = false) {
    int64_t& bound = blocked ? credit_ : arrivals_;
    bound = std::max(bound, time);
  }
  int64_t last_time() const { return last_time_; }  ///< of the step done last
  /// Needs the token `ahead` of the head; null if it has not been given yet.
  const Token* need(size_t input, int64_t ahead = 0);
  void take(size_t input) { takes_.push_back(input); }
  void give(size_t output, const Token& token);
  void give_all(const Token& token) {
    for (size_t output = 0; output < output_count(); ++output) give(output, token);
  }
  /// Ends the step: false if a credit is missing (nothing has happened then), else it happens.
  bool commit(int64_t cost);
  bool commit() { return commit(interval_); }
  /// Ends the step that gives done, after which nothing follows.
  bool commit_last(int64_t cost);
  bool commit_last() { return commit_last(interval_); }
  /// The last step if it gives done.
  bool commit_like(const Token& given) { return given.is_done() ? commit_last() : commit(); }

  /// An outer input goes along with a token of the inner stream, `loops` loops further in. Gives
  /// the payload in force (null when there is none) in *payload. False: wait for a token.
  bool along(size_t input, int loops, const Token& inner, const Token** payload = nullptr) {
    int64_t taken = 0;
    return along_payload(input, loops, inner, payload, &taken) &&
           along_stop(input, loops, inner, taken);
  }
  /// Only the payload; *taken: how many tokens of the input this step takes before its stop.
  bool along_payload(size_t input, int loops, const Token& inner, const Token** payload,
                     int64_t* taken);
  /// Only the stop (or done), after so many tokens that this step takes.
  bool along_stop(size_t input, int loops, const Token& inner, int64_t taken);
  /// Needs and takes one token of each of `inputs`, all of the same structure as `like`.
  bool take_like(size_t first, size_t count, const Token& like);
  /// An input of the space of input `inner`, or of loops around it, goes along with its token
  /// `like`. Gives its payload in force (null when there is none) in *payload. False: wait.
  bool take_with(size_t input, size_t inner, const Token& like, const Token** payload);

  /// A load waits until the fiber (value) `reference` of its tensor is stored. False: it is not
  /// yet.
  bool need_row(int64_t reference);
  std::vector<const RowTimes*> awaited(const std::vector<RowTimes>& writers,
                                       int64_t reference) const;

  void count_read(int64_t bytes) { stats_.read_bytes += bytes; }
  void count_flops(int64_t flops) { stats_.flops += flops; }
  /// A defect of the graph that the typing rules should have excluded.
  [[noreturn]] void disagree(const std::string& what) const {
    blame_graph(context_.program, context_.graph, id_, what);
  }
  /// What a graph written by hand can do with some data: it is rejected.
  [[noreturn]] void refuse(const std::string& what) const {
    blame_data(context_.program, context_.graph, id_, what);
  }

  const Context& context_;
  const NodeId id_;
  const Node& node_;
  const int64_t interval_;

 private:
  struct GivenToken {
    size_t output;
    Token token;
  };
  int64_t credits();
  void charge_credits(int64_t ready, int64_t time);
  void count_step(int64_t ready, int64_t time, int64_t cost);

  std::vector<ChannelReader> inputs_;
  std::vector<Channel*> outputs_;
  std::array<int64_t, 2> free_at_{};  ///< by side: earliest time of the next step
  size_t side_ = 0;                   ///< of the step being built
  int64_t arrivals_ = 0;              ///< latest arrival needed by it
  int64_t credit_ = 0;                ///< what else blocks it
  int64_t last_time_ = 0;
  std::vector<size_t> takes_;
  std::vector<GivenToken> given_;
  Wait wait_;
  NodeStats stats_;
  bool ended_ = false;
};

/// The executor of one node. Throws Error(rejected) for a kind that cannot be simulated.
std::unique_ptr<NodeRun> make_node(const Context& context, NodeId id);

#define FUSEFLOW_DECLARE_RUN(kind) \
  std::unique_ptr<NodeRun> run_##kind(const Context& context, NodeId id);
FUSEFLOW_STREAM_KINDS(FUSEFLOW_DECLARE_RUN)
#undef FUSEFLOW_DECLARE_RUN

/// Says which class runs a kind: each has one such line, or the executor does not link.
#define FUSEFLOW_RUN(kind, Class)                                          \
  std::unique_ptr<NodeRun> run_##kind(const Context& context, NodeId id) { \
    return std::make_unique<Class>(context, id);                           \
  }

}  // namespace fuseflow::naive
