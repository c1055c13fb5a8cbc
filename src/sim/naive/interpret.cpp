#include "sim/naive/interpret.h"

#include <chrono>
#include <map>

#include "nodes/rule.h"
#include "sim/common/run_conversion.h"
#include "sim/common/wait_cycle.h"
#include "sim/common/written_tensors.h"
#include "sim/naive/node.h"
#include "support/latest.h"

namespace fuseflow {
namespace naive {
namespace {

// Nodes are resumed in turn. A node that runs ahead of its consumers is set aside at this many
// tokens, so that memory stays small; the limit grows when nothing else can go on.
constexpr int64_t kFirstBacklog = int64_t{1} << 12;
constexpr int64_t kStepsBetweenChecks = int64_t{1} << 16;

class Run {
 public:
  Run(const Program& program, const Graph& graph, const TensorData& data, const Machine& machine,
      const RunOptions& options)
      : program_(program), graph_(graph), machine_(machine), options_(options), data_(data) {
    data_.storage.resize(program.tensors.size());
    result_.nodes.resize(graph.nodes.size());
    result_.streams.resize(graph.streams.size());
    if (options.record_streams) result_.recorded.resize(graph.streams.size());
    started_ = std::chrono::steady_clock::now();
    if (!options.trace) return;
    result_.activity.resize(graph.nodes.size());
    result_.stalls.resize(graph.nodes.size());
    result_.waits.resize(graph.nodes.size());
  }

  RunResult run() {
    make_channels();
    for (int phase = 0; phase < graph_.phases() && result_.finish == Finish::done; ++phase) {
      const int last = graph_.last_started_with(phase);
      context_.rows = nullptr;
      if (last > phase) store_before(phase, last);
      run_phases(phase, last);
      phase = last;
    }
    summarize();
    if (result_.finish == Finish::deadlock) {
      result_.deadlock.cycle = shortest_wait_cycle(result_.deadlock.waits);
    }
    return std::move(result_);
  }

 private:
  void make_channels();
  void store_before(int first, int last);
  void find_writers(int first, int last);
  void make_nodes(int first, int last);
  void run_phases(int first, int last);
  bool run_node(NodeRun& node);
  bool check_limits();
  bool may_go_on() const;
  void end_phase();
  void summarize();

  const Program& program_;
  const Graph& graph_;
  const Machine& machine_;
  const RunOptions& options_;
  TensorData data_;
  const std::vector<UnitTiming> timings_{node_timings(program_, machine_, graph_)};  ///< by node
  Context context_{program_, graph_, machine_, timings_, data_};
  std::map<std::pair<TensorId, int>, std::vector<RowTimes>> rows_;
  std::vector<Channel> channels_;
  std::vector<std::unique_ptr<NodeRun>> nodes_;  ///< of the current phase
  RunResult result_;
  int64_t backlog_ = kFirstBacklog;
  int64_t steps_ = 0;
  int64_t now_ = 0;  ///< largest step time so far + 1
  std::chrono::steady_clock::time_point started_;
};

void Run::make_channels() {
  channels_.resize(graph_.streams.size());
  for (size_t s = 0; s < channels_.size(); ++s) {
    Channel& channel = channels_[s];
    const NodeId producer = graph_.streams[s].producer;
    const Node& node = graph_.nodes[producer];
    channel.id = static_cast<StreamId>(s);
    channel.producer = producer;
    channel.latency = timings_[producer].latency_cycles;
    channel.depth = node.kind == NodeKind::buffer ? node.capacity : machine_.fifo_depth;
    if (options_.record_streams) channel.record = &result_.recorded[s];
  }
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    for (const Input& input : graph_.nodes[n].inputs) {
      if (input.is_immediate()) continue;
      channels_[input.stream].readers.emplace_back(static_cast<NodeId>(n));
    }
  }
}

/// What phases that start together write: one after the other here, as data does not depend on
/// time.
void Run::store_before(int first, int last) {
  RunOptions options;
  options.explain_deadlock = false;
  const Machine unbounded;
  Run data(program_, graph_, data_, unbounded, options);
  data.make_channels();
  for (Channel& channel : data.channels_) channel.depth = 0;
  data.find_writers(first, last);
  for (int phase = first; phase <= last; ++phase) data.run_phases(phase, phase);
  data_ = std::move(data.data_);
  rows_ = std::move(data.rows_);
  for (auto& [written, writers] : rows_) {
    for (RowTimes& rows : writers) rows = {rows.writer, std::move(rows.complete), {}, {}};
  }
  context_.rows = &rows_;
}

void Run::find_writers(int first, int last) {
  rows_.clear();
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    const Node& node = graph_.nodes[n];
    if (node.phase < first || node.phase > last) continue;
    const bool level = node.kind == NodeKind::write_level;
    if (!level && node.kind != NodeKind::write_values) continue;
    rows_[{node.tensor, level ? node.level : -1}].push_back({static_cast<NodeId>(n), {}, {}, {}});
  }
  context_.rows = &rows_;
}

void Run::make_nodes(int first, int last) {
  std::vector<size_t> next(channels_.size(), 0);  // readers are in the order of nodes and inputs
  nodes_.clear();
  SharedArrays shared(program_, graph_);
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    const Node& node = graph_.nodes[n];
    std::unique_ptr<NodeRun> run;
    const auto id = static_cast<NodeId>(n);
    if (node.phase >= first && node.phase <= last) run = make_node(context_, id);
    for (const Input& input : node.inputs) {
      Channel* channel = nullptr;
      size_t reader = 0;
      if (!input.is_immediate()) {
        channel = &channels_[input.stream];
        reader = next[input.stream]++;
      }
      if (run) run->connect_input(channel, reader);
    }
    if (!run) continue;
    for (const StreamId output : node.outputs) {
      run->connect_output(output < 0 ? nullptr : &channels_[output]);
    }
    if (run->written() != nullptr) shared.share(node, *run->written());
    run->start_at(now_);
    if (options_.trace) {
      run->activity = &result_.activity[id];
      run->stalls = &result_.stalls[id];
    }
    nodes_.push_back(std::move(run));
  }
}

bool Run::run_node(NodeRun& node) {
  bool progress = false;
  while (!node.ended() && !node.backlogged(backlog_) && node.step()) {
    progress = true;
    now_ = std::max(now_, node.stats().last_step + 1);
    if (now_ > kLatest) {
      result_.finish = Finish::max_cycles;
      return false;
    }
    if (++steps_ % kStepsBetweenChecks == 0 && !check_limits()) return false;
  }
  return progress;
}

bool Run::may_go_on() const {
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - started_;
  if (options_.max_seconds > 0 && elapsed.count() > options_.max_seconds) return false;
  return options_.cancel == nullptr || !*options_.cancel;
}

bool Run::check_limits() {
  int64_t bytes = 0;
  int64_t tokens = 0;
  for (const Channel& channel : channels_) {
    bytes += channel.bytes();
    tokens += channel.given();
  }
  if (!may_go_on()) result_.finish = Finish::max_seconds;
  if (options_.cancel != nullptr && *options_.cancel) result_.finish = Finish::cancelled;
  if (options_.max_cycles > 0 && now_ > options_.max_cycles) result_.finish = Finish::max_cycles;
  if (options_.max_memory_bytes > 0 && bytes > options_.max_memory_bytes) {
    result_.finish = Finish::max_memory;
  }
  if (options_.progress) options_.progress(now_, tokens);
  return result_.finish == Finish::done;
}

void Run::run_phases(int first, int last) {
  make_nodes(first, last);
  for (;;) {
    bool progress = false;
    bool running = false;
    bool backlogged = false;
    for (const auto& node : nodes_) {
      progress = run_node(*node) || progress;
      if (result_.finish != Finish::done) return end_phase();
      running = running || !node->ended();
      backlogged = backlogged || (!node->ended() && node->backlogged(backlog_));
    }
    if (!running) break;
    if (progress) continue;
    if (!backlogged) result_.finish = Finish::deadlock;
    backlog_ *= 2;
    if (!backlogged || !check_limits()) return end_phase();
  }
  if (options_.max_cycles > 0 && now_ > options_.max_cycles) result_.finish = Finish::max_cycles;
  end_phase();
}

/// Assigns what the phase's nodes counted and stored.
void Run::end_phase() {
  for (const auto& node : nodes_) {
    result_.nodes[node->id()] = node->stats();
    if (node->ended() || result_.finish != Finish::deadlock) continue;
    result_.deadlock.waits.push_back(node->wait());
  }
  if (result_.finish != Finish::done) return;
  WrittenTensors written;
  for (const auto& node : nodes_) {
    if (node->written() != nullptr)
      written.add(program_, node->id(), node->node(), std::move(*node->written()));
  }
  written.store(program_, data_.storage, result_);
}

void Run::summarize() {
  result_.cycles = now_;
  for (size_t s = 0; s < channels_.size(); ++s) {
    const Channel& channel = channels_[s];
    if (!channel.connected()) continue;
    result_.streams[s].tokens = channel.given();
    for (const Reader& reader : channel.readers) {
      result_.streams[s].peak = std::max(result_.streams[s].peak, reader.peak());
      if (!options_.full_streams) continue;
      result_.streams[s].blocked = std::max(result_.streams[s].blocked, reader.blocked);
    }
  }
  finish_counts(program_, graph_, data_.storage, result_);
}

}  // namespace
}  // namespace naive

RunResult interpret_graph(const Program& program, const Graph& graph, const TensorData& data,
                          const Machine& machine, const RunOptions& options) {
  if (is_conversion(graph)) return run_conversion(program, graph, data, machine, options);
  return naive::Run(program, graph, data, machine, options).run();
}

}  // namespace fuseflow
