#include "sim/fast_executor.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "graph/blocks.h"
#include "nodes/rule.h"
#include "sim/common/run_conversion.h"
#include "sim/common/written_tensors.h"
#include "sim/functional/kernels/make_node.h"
#include "sim/functional/node.h"
#include "sim/naive/interpret.h"
#include "sim/threads/schedule.h"
#include "sim/timing/solver.h"
#include "support/ceil_div.h"
#include "support/defect.h"
#include "support/latest.h"
#include "support/stop.h"

namespace fuseflow {
namespace engine {
namespace {

// A node that is this many tokens ahead of a consumer is set aside until nothing else can go on.
constexpr int64_t kMostBacklogChunks = 4;
constexpr int64_t kValuesOfWeight = 16;  // a block of so many is worth a plain token
constexpr int64_t kBytesOfValue = 4;     // or of a coordinate, in results
constexpr int kCountedShare = 16;        // counting memory takes a share of so much of the time
constexpr std::chrono::milliseconds kLongestUncounted(100);

using Clock = std::chrono::steady_clock;

bool has_blocks(const Graph& graph) {
  return std::any_of(graph.streams.begin(), graph.streams.end(),
                     [](const Stream& stream) { return !stream.block.empty(); });
}

Finish finish_of(const Stopped& stopped) {
  switch (stopped.why()) {
    case Stopped::Why::interrupted:
      return Finish::cancelled;
    case Stopped::Why::seconds:
      return Finish::max_seconds;
    case Stopped::Why::bytes:
      return Finish::max_memory;
  }
  return Finish::cancelled;
}

class Run {
 public:
  Run(const Program& program, const Graph& graph, const TensorData& data, const Machine& machine,
      const RunOptions& options, const EngineTuning& tuning)
      : program_(program),
        graph_(graph),
        machine_(machine),
        options_(options),
        data_(data),
        pool_(has_blocks(graph) ? new BlockPool : nullptr),
        tuning_(tuning),
        started_(Clock::now()) {
    data_.storage.resize(program.tensors.size());
    result_.nodes.resize(graph.nodes.size());
    result_.streams.resize(graph.streams.size());
    if (options.record_streams) result_.recorded.resize(graph.streams.size());
    if (!options.trace) return;
    result_.activity.resize(graph.nodes.size());
    result_.stalls.resize(graph.nodes.size());
    result_.waits.resize(graph.nodes.size());
  }

  RunResult run() {
    connect();
    if (Memory* memory = solver_->memory()) start_memory(*memory);
    int last = -1;
    for (int first = 0; first < graph_.phases() && result_.finish == Finish::done;
         first = last + 1) {
      last = graph_.last_started_with(first);
      run_together(first, last);
    }
    summarize();
    return std::move(result_);
  }

 private:
  /// Notes why the work could not go on, if it could not: even a single batch may take too long.
  template <typename Work>
  void until_stopped(const Work& work) {
    try {
      work();
    } catch (const TimeOverflow&) {
      result_.finish = Finish::max_cycles;
      now_ = kLatest;
    } catch (const Stopped& stopped) {
      result_.finish = finish_of(stopped);
    }
  }

  void start_memory(Memory& memory) {
    addresses_ =
        std::make_unique<Addresses>(program_, graph_, data_.storage, machine_.dram.burst_bytes);
    context_.addresses = addresses_.get();
    if (options_.accessed) {
      memory.watch([this](const MemoryRequest& request) {
        options_.accessed(request.time, request.write, request.address);
      });
    }
    until_stopped([&] { now_ = solver_->load(bursts_to_load()); });
  }
  /// Bursts of the scratchpad tensors that are loaded when the graph starts.
  int64_t bursts_to_load() const {
    const std::vector<bool> load = loaded_at_start(graph_, program_.tensors.size());
    int64_t bursts = 0;
    for (size_t t = 0; t < load.size(); ++t) {
      if (!load[t] || data_.storage[t] == nullptr) continue;
      const int64_t bytes = storage_bytes(program_, static_cast<TensorId>(t), *data_.storage[t]);
      bursts += ceil_div(bytes, machine_.dram.burst_bytes);
    }
    return bursts;
  }

  void connect();
  static bool is_stored(const Node& node, size_t input);
  void set_blocks(size_t stream, const Node& producer);
  void run_together(int first, int last);
  void run_in_turn(int first, int last);
  void keep_rows();
  void find_rows(int first, int last);
  void make_nodes(int first, int last);
  void find_demand();
  void run_phases(int first, int last);
  void work_until_ended();
  void finish_phase();
  int64_t most_waiting() const { return kMostBacklogChunks * tuning_.chunk; }
  void check_ended();
  bool check_limits();
  void count_memory();
  void end_phase();
  void summarize();

  const Program& program_;
  const Graph& graph_;
  const Machine& machine_;
  const RunOptions& options_;
  TensorData data_;
  std::unique_ptr<BlockPool> pool_;  // before all that keeps blocks
  const EngineTuning tuning_;
  const std::vector<UnitTiming> timings_{node_timings(program_, machine_, graph_)};  // by node
  Context context_{.program = program_,
                   .graph = graph_,
                   .machine = machine_,
                   .timings = timings_,
                   .data = data_,
                   .blocks = pool_.get(),
                   .max_memory_bytes = options_.max_memory_bytes,
                   .chunk = tuning_.chunk,
                   .run_length_from = tuning_.run_length_from};
  std::vector<Output> outputs_;                     // by stream
  NodePorts ports_;                                 // by node and input
  std::vector<std::unique_ptr<EngineNode>> nodes_;  // of the current phase, in graph order
  std::vector<int> position_;                       // by node: in nodes_, or -1
  std::vector<int64_t> stored_bytes_;               // by stream: of what a token of it adds
  Rows rows_;
  std::unique_ptr<Addresses> addresses_;
  std::unique_ptr<Solver> solver_;
  std::unique_ptr<Schedule> schedule_;
  const std::thread::id caller_ = std::this_thread::get_id();
  RunResult result_;
  bool data_only_ = false;  // a run that finds rows: times are not asked for
  int64_t start_ = 0;       // of the current phase
  int64_t now_ = 0;         // largest step time so far + 1
  Clock::time_point started_;
  Clock::time_point next_count_;  // of memory
};

/// Streams of blocks: their names are looked up in the pool, and those that a node makes weigh
/// more.
void Run::set_blocks(size_t stream, const Node& producer) {
  const std::vector<int>& block = graph_.streams[stream].block;
  if (block.empty()) return;
  Output& output = outputs_[stream];
  output.pool = pool_.get();
  output.volume = block_volume(graph_, block);
  if (makes_values(producer.kind))
    output.weight = std::max<int64_t>(1, output.volume / kValuesOfWeight);
}

/// Whether a writer keeps the tokens of an input, coordinates or values, as a part of a result.
bool Run::is_stored(const Node& node, size_t input) {
  const bool writes = node.kind == NodeKind::write_values || node.kind == NodeKind::write_level;
  return writes && input + 1 == node.inputs.size();
}

void Run::connect() {
  outputs_ = std::vector<Output>(graph_.streams.size());
  stored_bytes_.assign(graph_.streams.size(), 0);
  for (size_t s = 0; s < outputs_.size(); ++s) {
    const auto producer = static_cast<size_t>(graph_.streams[s].producer);
    outputs_[s].stream = static_cast<StreamId>(s);
    outputs_[s].latency = timings_[producer].latency_cycles;
    set_blocks(s, graph_.nodes[producer]);
    if (options_.record_streams) outputs_[s].record = &result_.recorded[s];
  }
  ports_.resize(graph_.nodes.size());
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    for (const Input& input : graph_.nodes[n].inputs) {
      ports_[n].push_back(nullptr);
      if (input.is_immediate()) continue;
      ports_[n].back() = std::make_unique<Port>();
      Port& port = *ports_[n].back();
      Output& output = outputs_[input.stream];
      port.latency = output.latency;
      port.blocks = output.pool != nullptr;
      port.producer = graph_.streams[input.stream].producer;
      port.consumer = static_cast<int>(n);
      output.ports.push_back(&port);
      const size_t i = ports_[n].size() - 1;
      if (is_stored(graph_.nodes[n], i))
        stored_bytes_[input.stream] = kBytesOfValue * std::max<int64_t>(output.volume, 1);
    }
  }
  solver_ = std::make_unique<Solver>(graph_, machine_, timings_, ports_);
}

/// Phases that start together. Where they share a memory they hold each other up.
void Run::run_together(int first, int last) {
  start_ = now_;
  context_.rows = nullptr;
  if (solver_->memory() == nullptr) return run_in_turn(first, last);
  if (last > first) find_rows(first, last);
  run_phases(first, last);
}

/// One phase after the other, though they start together: nothing holds a phase up but the rows of
/// earlier ones, whose times are known by then.
void Run::run_in_turn(int first, int last) {
  rows_.clear();
  if (last > first) context_.rows = &rows_;
  context_.collects_rows = last > first;
  const auto before = static_cast<std::ptrdiff_t>(result_.results.size());
  for (int phase = first; phase <= last && result_.finish == Finish::done; ++phase) {
    run_phases(phase, phase);
    keep_rows();
  }
  context_.collects_rows = false;
  // Results are sorted by tensor, as where phases end together.
  std::sort(result_.results.begin() + before, result_.results.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
}

/// Keeps the rows of the scratchpad tensors that the phase has written.
void Run::keep_rows() {
  for (const auto& node : nodes_) {
    const TensorId tensor = node->node().tensor;
    if (node->written() == nullptr || !graph_.on_chip(tensor)) continue;
    const int level = node->node().kind == NodeKind::write_level ? node->node().level : -1;
    node->written_rows.writer = node->id();
    rows_[{tensor, level}].writers.push_back(std::move(node->written_rows));
  }
  for (auto& [of, rows] : rows_) {
    const Tensor& tensor = program_.tensors[of.first];
    int64_t row = 1;
    for (size_t l = 1; l < tensor.format.levels.size(); ++l) row *= tensor.level_extent(l);
    rows.find_ends(row);
  }
}

/// What phases that start together write, one after the other: data does not depend on time.
void Run::find_rows(int first, int last) {
  const Machine unbounded;
  RunOptions options;
  options.threads = options_.threads;
  options.cancel = options_.cancel;
  options.max_memory_bytes = options_.max_memory_bytes;
  Run data(program_, graph_, data_, unbounded, options, tuning_);
  data.data_only_ = true;
  data.connect();
  data.run_in_turn(first, last);
  rows_ = std::move(data.rows_);
  result_.finish = data.result_.finish;
  data_ = std::move(data.data_);
  context_.rows = &rows_;
}

void Run::make_nodes(int first, int last) {
  schedule_.reset();
  nodes_.clear();
  SharedArrays shared(program_, graph_);
  position_.assign(graph_.nodes.size(), -1);
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    const Node& node = graph_.nodes[n];
    if (node.phase < first || node.phase > last) continue;
    auto made = make_node(context_, static_cast<NodeId>(n));
    for (const auto& port : ports_[n]) made->ports.push_back(port.get());
    for (const StreamId stream : node.outputs) {
      made->outputs.push_back(stream < 0 ? nullptr : &outputs_[stream]);
    }
    if (made->written() != nullptr) shared.share(node, *made->written());
    position_[n] = static_cast<int>(nodes_.size());
    nodes_.push_back(std::move(made));
  }
  schedule_ = std::make_unique<Schedule>(nodes_, position_, most_waiting(), tuning_.few);
}

/// Which payloads are read, and by whom as run lengths: from the last consumer back, as a node may
/// read for its outputs only.
void Run::find_demand() {
  for (const auto& node : nodes_) {
    for (Output* output : node->outputs) {
      if (output != nullptr) output->payload_read = options_.record_streams;
    }
  }
  for (size_t n = nodes_.size(); n-- > 0;) {
    const EngineNode& node = *nodes_[n];
    for (size_t i = 0; i < node.ports.size(); ++i) {
      if (node.ports[i] == nullptr) continue;
      const bool reads = node.reads(i);
      node.ports[i]->takes_run_length = !reads || node.takes_run_length(i);
      if (!reads) continue;
      outputs_[node.node().inputs[i].stream].payload_read = true;
    }
  }
}

void Run::run_phases(int first, int last) {
  if (result_.finish != Finish::done) return;
  make_nodes(first, last);
  find_demand();
  if (data_only_) {
    solver_->start_untimed(nodes_);
  } else {
    solver_->start_phase(nodes_, start_);
  }
  if (options_.trace) solver_->note_activity(result_);
  if (options_.full_streams) solver_->charge_streams();
  until_stopped([&] { work_until_ended(); });
  now_ = std::max(now_, solver_->reached());
  finish_phase();
}

void Run::work_until_ended() {
  do {
    schedule_->run(options_.threads, tuning_, [this](int64_t last_step) {
      now_ = std::max(now_, last_step + 1);
      return check_limits();
    });
    schedule_->look_again();
  } while (result_.finish == Finish::done && solver_->give_parts());
}

void Run::finish_phase() {
  // A writer that had no room for more has left out the rest.
  const bool left_out = std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& node) {
    return options_.max_memory_bytes > 0 && node->gap_bytes > options_.max_memory_bytes;
  });
  if (left_out) result_.finish = Finish::max_memory;
  if (result_.finish == Finish::done) check_ended();
  if (options_.max_cycles > 0 && now_ > options_.max_cycles) result_.finish = Finish::max_cycles;
  end_phase();
}

/// Every node has ended, or else some wait for room that takes leave which wait for them.
void Run::check_ended() {
  const auto ended = [](const auto& node) { return node->ended(); };
  if (!solver_->finished()) {
    result_.finish = Finish::deadlock;
  } else if (!std::all_of(nodes_.begin(), nodes_.end(), ended)) {
    throw Defect("a node of the graph waits for tokens that never come");
  }
}

bool Run::check_limits() {
  const std::chrono::duration<double> elapsed = Clock::now() - started_;
  if (options_.max_seconds > 0 && elapsed.count() > options_.max_seconds) {
    result_.finish = Finish::max_seconds;
  }
  if (options_.cancel != nullptr && *options_.cancel) result_.finish = Finish::cancelled;
  if (options_.max_cycles > 0 && now_ > options_.max_cycles) result_.finish = Finish::max_cycles;
  if (options_.max_memory_bytes > 0 || options_.progress) count_memory();
  return result_.finish == Finish::done;
}

/// Looks at all streams: seldom where they are many.
void Run::count_memory() {
  const Clock::time_point begin = Clock::now();
  if (begin < next_count_) return;
  int64_t tokens = 0;
  int64_t waiting = 0;
  int64_t stored = 0;
  for (const Output& output : outputs_) {
    if (output.ports.empty()) continue;
    const int64_t given = output.tokens.load(std::memory_order_relaxed);
    tokens += given;
    stored += given * stored_bytes_[output.stream];
    for (const Port* port : output.ports) waiting += port->waiting();
  }
  // 12 bytes hold a token's payload and time.
  int64_t bytes = waiting * 12 + stored;
  if (pool_ != nullptr) bytes += pool_->bytes();
  bytes += solver_->bytes();
  for (const auto& node : nodes_) bytes += node->gap_bytes.load(std::memory_order_relaxed);
  if (options_.max_memory_bytes > 0 && bytes > options_.max_memory_bytes) {
    result_.finish = Finish::max_memory;
  }
  if (options_.progress && std::this_thread::get_id() == caller_) options_.progress(now_, tokens);
  const Clock::time_point end = Clock::now();
  next_count_ = end + std::min<Clock::duration>(kCountedShare * (end - begin), kLongestUncounted);
}

/// Assigns what the phase's nodes counted and stored.
void Run::end_phase() {
  for (const auto& node : nodes_) {
    NodeStats& stats = result_.nodes[node->id()];
    stats = node->stats();
    node->clock->fill(*node, stats);
    for (const Port* port : node->ports) stats.tokens_in += port == nullptr ? 0 : port->taken();
    for (const Output* output : node->outputs) {
      stats.tokens_out += output != nullptr && output->connected() ? output->tokens.load() : 0;
    }
  }
  solver_->fill_streams(result_.streams);
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
  for (size_t s = 0; s < outputs_.size(); ++s) {
    const Output& output = outputs_[s];
    if (!output.connected()) continue;
    result_.streams[s].tokens = output.tokens;
  }
  if (const Memory* memory = solver_->memory()) {
    result_.dram_bursts = memory->stats().reads + memory->stats().writes;
    result_.memory_row_hits = memory->stats().row_hits;
  }
  finish_counts(program_, graph_, data_.storage, result_);
}

}  // namespace
}  // namespace engine

namespace {

/// Whether a graph deadlocks does not depend on times, and what memory has in flight only adds
/// room: where a run with a memory model deadlocks, one without does so too, and the naive executor
/// explains that.
Deadlock explain_without_memory(const Program& program, const Graph& graph, const TensorData& data,
                                Machine machine, RunOptions options) {
  machine.dram.model = "none";
  options.record_streams = false;
  options.trace = false;
  return interpret_graph(program, graph, data, machine, options).deadlock;
}

}  // namespace

RunResult run_fast(const Program& program, const Graph& graph, const TensorData& data,
                   const Machine& machine, const RunOptions& options, const EngineTuning& tuning) {
  if (is_conversion(graph)) return run_conversion(program, graph, data, machine, options);
  RunResult result = engine::Run(program, graph, data, machine, options, tuning).run();
  if (result.finish != Finish::deadlock) return result;
  if (machine.dram.model == "none") {
    return interpret_graph(program, graph, data, machine, options);  // which explains it
  }
  result.deadlock = explain_without_memory(program, graph, data, machine, options);
  return result;
}

}  // namespace fuseflow
