#include "sim/tiles/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>

#include "sim/tiles/conservation.h"
#include "sim/tiles/multicast.h"
#include "sim/tiles/send_order.h"
#include "sim/tiles/successors.h"
#include "support/ceil_div.h"
#include "support/defect.h"
#include "support/error.h"
#include "support/latest.h"
#include "support/stop.h"

namespace fuseflow {
namespace {

constexpr int64_t kEventsBetweenChecks = 1 << 14;
constexpr int32_t kStagesOfANode = 5;  ///< read from afar, links, own core, write afar, count

struct Event {
  int64_t time;
  int32_t cluster;
  int32_t node;
  int32_t stage;
  bool waited = false;  ///< for a resource: it is one of WaitingForResource
  bool operator>(const Event& other) const {
    return std::tie(time, cluster, node, stage) >
           std::tie(other.time, other.cluster, other.node, other.stage);
  }
};

/// The stages of operations that found a resource taken, which get it in program order. Only the
/// first of them comes back as an event when the resource is free: if all did, those that wait
/// would take the square of their number.
class WaitingForResource {
 public:
  void add(const Event& event) { waiting_.push(key_of(event)); }
  bool empty() const { return waiting_.empty(); }
  /// Whether the event, which has waited, is that of the first. If not, it was served before, or
  /// came before one that is ahead of it: there is another event of the first.
  bool is_first(const Event& event) const {
    return !waiting_.empty() && waiting_.top() == key_of(event);
  }
  void take_first() { waiting_.pop(); }
  /// The event of the first, of the time at which the resource is free; none if there is one.
  std::optional<Event> call_first(int64_t free) {
    if (waiting_.empty() || called_ == std::pair(free, waiting_.top())) return std::nullopt;
    called_ = {free, waiting_.top()};
    const auto& [cluster, node, stage] = waiting_.top();
    return Event{free, cluster, node, stage, true};
  }

 private:
  using Key = std::tuple<int32_t, int32_t, int32_t>;  // cluster, node, stage
  static Key key_of(const Event& event) { return {event.cluster, event.node, event.stage}; }

  std::priority_queue<Key, std::vector<Key>, std::greater<>> waiting_;
  std::pair<int64_t, Key> called_{-1, {}};
};

/// What an operation holds alone for a stage. What other resources are asked they queue in the
/// order of time.
struct Resource {
  int64_t free = 0;  ///< from when on
  WaitingForResource waiting;
};

/// When each serving resource of a core is free next. Resources may be asked far ahead of the
/// events, which end with kLatest, so these times are capped.
struct CoreClock {
  Resource matrix, vector, port;
  int64_t scratchpad = 0, link = 0;
  WorkDone done;
};

/// Where clusters add to a tile of the result: a tile of sums, which is not the result's.
TileKey sums_of(TileKey tile) {
  tile.tensor = -2 - tile.tensor;
  return tile;
}

/// Loads of several cores for which memory is asked once.
struct SharedLoad {
  int32_t missing = 0;  ///< cores that have no room yet
  int64_t time = 0;     ///< when the last of them said that it has
  bool asked = false;
  TileAnswer answer;
};

/// When a send could begin, and when the one that its core sends before it has; -1: not yet.
struct Turn {
  int64_t ready = -1, come = -1;
};

class Launch {
 public:
  Launch(const Machine& machine, const std::vector<const TileOps*>& graphs,
         const std::vector<int32_t>& which, const LaunchOptions& options)
      : machine_(machine),
        graphs_(graphs),
        which_(which),
        options_(options),
        matrix_rate_(machine.matrix_rate(options.element_bytes)),
        memory_(machine) {
    for (const auto& [tile, bytes] : options.held) memory_.hold(tile, bytes);
    for (const TileOps* graph : graphs) {
      successors_.emplace_back(*graph);
      shared_.push_back(
          shared_loads(*graph, machine.links.multicast ? Sharers::of_multicast : Sharers::nobody));
      sends_.emplace_back(*graph, successors_.back(), shared_.back());
    }
    const int cores = graphs.front()->cores;
    const auto clusters = static_cast<int64_t>(which.size());
    slots_ = static_cast<int32_t>(machine.core.count == 0
                                      ? clusters
                                      : std::min(machine.concurrent_clusters(cores), clusters));
    if (slots_ < 1) refuse_cluster(cores, machine);
    cores_per_cluster_ = cores;
    cores_.resize(static_cast<size_t>(slots_) * static_cast<size_t>(cores));
    waits_.resize(static_cast<size_t>(slots_));
    begun_.resize(static_cast<size_t>(slots_));
    left_.resize(static_cast<size_t>(slots_));
    told_.resize(static_cast<size_t>(slots_));
    together_.resize(static_cast<size_t>(slots_));
    turns_.resize(static_cast<size_t>(slots_));
    last_added_.resize(static_cast<size_t>(slots_));
    near_ = (machine.has_l2() ? machine.l2.latency_cycles : machine.global.latency_cycles) * kTicks;
    signal_ = cores > 1 ? machine.link_barrier(cores) * kTicks : 0;
    link_rate_ = machine.link_bytes_per_cycle(cores);
    link_latency_ = machine.link_latency(cores) * kTicks;
  }

  Measured run() {
    for (int32_t cluster = 0; cluster < slots_; ++cluster) {
      start(cluster, 0);
    }
    const int64_t latest =
        options_.most_cycles > 0 ? capped_product(options_.most_cycles, kTicks) : kLatest;
    for (int64_t served = 1; !events_.empty(); ++served) {
      if (served % kEventsBetweenChecks == 0) stop_if_asked();
      const Event event = events_.top();
      const bool late = event.time > latest;
      if (late || (served % kEventsBetweenChecks == 0 && options_.go_on &&
                   !options_.go_on(event.time / kTicks))) {
        result_.finished = false;
        end_ = std::max(end_, event.time);
        break;
      }
      events_.pop();
      advance(event);
    }
    result_.cycles = ceil_div(end_, kTicks);
    result_.matrix_busy_cycles = matrix_busy_ / kTicks;
    if (result_.finished) check_done();
    if (result_.finished) check_rates();
    return result_;
  }

 private:
  const TileOps& graph_of(int32_t cluster) const { return *graphs_[which_[cluster]]; }
  const Successors& successors_of(int32_t cluster) const { return successors_[which_[cluster]]; }
  size_t slot_of(int32_t cluster) const { return static_cast<size_t>(cluster % slots_); }

  void start(int32_t cluster, int64_t time) {
    const size_t slot = slot_of(cluster);
    waits_[slot] = successors_of(cluster).waits;
    if (options_.nodes != nullptr) begun_[slot].assign(waits_[slot].size(), -1);
    start_together(cluster);
    start_turns(cluster, time);
    last_added_[slot].assign(waits_[slot].size(), false);
    left_[slot] = static_cast<int64_t>(waits_[slot].size());
    if (signal_ > 0) told_[slot].assign(waits_[slot].size(), 0);
    for (size_t node = 0; node < waits_[slot].size(); ++node) {
      if (waits_[slot][node] == 0) {
        ready(cluster, static_cast<int32_t>(node), time);
      }
    }
    if (left_[slot] == 0) {
      ended(cluster, time);
    }
  }

  const SharedLoads& shared_of(int32_t cluster) const { return shared_[which_[cluster]]; }

  /// Those that an operation shares its tile with; null: none.
  SharedLoad* together_of(int32_t cluster, int32_t node) {
    const std::vector<int32_t>& group = shared_of(cluster).group;
    const int32_t at = group.empty() ? -1 : group[node];
    return at < 0 ? nullptr : &together_[slot_of(cluster)][at];
  }

  void start_together(int32_t cluster) {
    std::vector<SharedLoad>& groups = together_[slot_of(cluster)];
    groups.clear();
    for (const std::vector<int32_t>& members : shared_of(cluster).members) {
      groups.push_back({static_cast<int32_t>(members.size()), 0, false, {}});
    }
  }

  const SendOrder& sends_of(int32_t cluster) const { return sends_[which_[cluster]]; }

  void start_turns(int32_t cluster, int64_t time) {
    const SendOrder& order = sends_of(cluster);
    std::vector<Turn>& turns = turns_[slot_of(cluster)];
    turns.assign(order.sends.size(), {});
    for (size_t at = 0; at < turns.size(); ++at) {
      if (order.first[at]) turns[at].come = time;
    }
  }

  /// A send has its link: the core's next one may begin.
  void sent(int32_t cluster, int32_t place, int64_t time) {
    const int32_t next = sends_of(cluster).next(place);
    if (next == kNone) return;
    turns_[slot_of(cluster)][static_cast<size_t>(next)].come = time;
    begins_in_turn(cluster, next);
  }

  void begins_in_turn(int32_t cluster, int32_t place) {
    const Turn& turn = turns_[slot_of(cluster)][static_cast<size_t>(place)];
    if (turn.ready < 0 || turn.come < 0) return;
    const int32_t send = sends_of(cluster).sends[static_cast<size_t>(place)];
    events_.push({std::max(turn.ready, turn.come), cluster, send, 0});
  }

  /// All that an operation waits for is there. A send waits for its turn, too; a shared load begins
  /// when all of its cores have room and know it of each other.
  void ready(int32_t cluster, int32_t node, int64_t time) {
    const int32_t place = sends_of(cluster).place[static_cast<size_t>(node)];
    if (place != kNone) {
      turns_[slot_of(cluster)][static_cast<size_t>(place)].ready =
          time + drained(graph_of(cluster).nodes[node]);
      return begins_in_turn(cluster, place);
    }
    SharedLoad* together = together_of(cluster, node);
    if (together == nullptr) return begins(cluster, node, time);
    together->time = std::max(together->time, time + signal_);
    if (--together->missing > 0) return;
    const SharedLoads& shared = shared_of(cluster);
    const auto group = static_cast<size_t>(shared.group[node]);
    for (const int32_t member : shared.members[group]) begins(cluster, member, together->time);
  }

  void begins(int32_t cluster, int32_t node, int64_t time) {
    const TileOp& op = graph_of(cluster).nodes[node];
    if (op.kind == TileOpKind::settle && !last_added_[slot_of(cluster)][store_before(cluster, op)])
      return done(cluster, node, time);
    events_.push({time + drained(op), cluster, node, 0});
  }

  /// What an operation waits for the matrix unit's pipeline.
  int64_t drained(const TileOp& op) const {
    return op.late ? machine_.core.matrix_latency_cycles * kTicks : 0;
  }

  /// The store whose sums an operation settles.
  size_t store_before(int32_t cluster, const TileOp& settle) const {
    return op_before(graph_of(cluster), settle, 0);
  }

  /// Serves a node's stages in order; each that takes time comes back as an event at its end, so
  /// that every resource is asked in the order of time.
  void advance(const Event& event) {
    const TileOp& node = graph_of(event.cluster).nodes[event.node];
    CoreClock& core = core_of(event.cluster, node);
    int64_t time = event.time;
    int32_t stage = event.stage;
    if (event.waited && !ends_waiting(event, *held(node, core, stage))) return;
    while (stage < kStagesOfANode && time == event.time) {
      Resource* resource = held(node, core, stage);
      if (resource != nullptr && resource->free > time) {
        resource->waiting.add({time, event.cluster, event.node, stage});
        call_first(*resource, time);
        return;
      }
      begin(event, time);
      time = serve(node, core, stage, time, event);
      if (resource != nullptr) call_first(*resource, event.time);
      ++stage;
    }
    const int32_t place = sends_of(event.cluster).place[static_cast<size_t>(event.node)];
    if (event.stage == 0 && place != kNone) sent(event.cluster, place, event.time);
    if (time == event.time) {
      finished(event.cluster, event.node, time);
    } else {
      events_.push({time, event.cluster, event.node, stage});
    }
  }

  /// Whether it is the event's turn: it is the first and the resource is free.
  bool ends_waiting(const Event& event, Resource& resource) {
    if (!resource.waiting.is_first(event)) return false;
    if (resource.free > event.time) {  // one that did not have to wait was ahead of it
      call_first(resource, event.time);
      return false;
    }
    resource.waiting.take_first();
    return true;
  }

  void call_first(Resource& resource, int64_t now) {
    if (auto event = resource.waiting.call_first(std::max(resource.free, now))) {
      events_.push(*event);
    }
  }

  void begin(const Event& event, int64_t time) {
    if (options_.nodes == nullptr) return;
    int64_t& begun = begun_[slot_of(event.cluster)][event.node];
    if (begun < 0) begun = time;
  }

  /// Operations end in the order of time, so stretches merge at the end of the list.
  void account(int32_t cluster, int32_t op, const TileOp& done, int64_t time) {
    if (options_.nodes == nullptr || done.node < 0) return;
    TileNodeTime& node = (*options_.nodes)[done.node];
    const bool passes_on = done.kind == TileOpKind::send && done.turn >= 0;
    node.operations += passes_on ? 0 : 1;  // the core that takes the tile counts it
    node.flops += done.flops + done.other_flops;
    node.bytes += moved_by(cluster, op);
    int64_t first = begun_[slot_of(cluster)][static_cast<size_t>(op)];
    while (!node.busy.empty() && node.busy.back().second >= first) {
      first = std::min(first, node.busy.back().first);
      node.busy.pop_back();
    }
    node.busy.emplace_back(first, time);
  }

  /// What a stage holds alone; null: nothing.
  Resource* held(const TileOp& node, CoreClock& core, int32_t stage) const {
    const bool port =
        (stage == 0 && node.bytes.global_read > 0) || (stage == 3 && node.bytes.global_write > 0);
    if (port) return &core.port;
    if (stage == 2 && node.flops > 0) return &core.matrix;
    return stage == 2 && takes_lanes(node) ? &core.vector : nullptr;
  }

  /// A map is an operation of the lanes however fast they are; elementwise work within another
  /// operation is nothing where it takes no time.
  bool takes_lanes(const TileOp& node) const {
    if (node.lanes == LaneWork{}) return false;
    return node.kind == TileOpKind::map || on_lanes(node) > 0;
  }

  int64_t serve(const TileOp& node, CoreClock& core, int32_t stage, int64_t time,
                const Event& event) {
    switch (stage) {
      case 0:
        return node.bytes.global_read > 0 ? load(node, time, event) : time;
      case 1:
        return node.bytes.link > 0 ? over_link(core, node.bytes.link, time) : time;
      case 2:
        return on_core(node, core, time);
      case 3:
        if (node.kind == TileOpKind::settle) return settle(node, time, event);
        return node.bytes.global_write > 0 ? store(node, time, event) : time;
      default:
        return node.adders > 1 ? count(node, time, event) : time;
    }
  }

  /// One adds to a counter in memory, which answers how many had.
  int64_t count(const TileOp& node, int64_t time, const Event& event) {
    const TileKey tile = key_of(node, event);
    int32_t& added = added_[std::tuple(tile.tensor, tile.row, tile.col)];
    const bool last = ++added == node.adders;
    last_added_[slot_of(event.cluster)][static_cast<size_t>(event.node)] = last;
    return time + near_;
  }

  /// Zeros in the place of sums, and the result.
  int64_t settle(const TileOp& node, int64_t time, const Event& event) {
    const size_t store = store_before(event.cluster, node);
    const int64_t zeros = graph_of(event.cluster).nodes[store].bytes.global_write;
    TileTransfer access = ask(node, zeros, time, event);
    access.tile = sums_of(access.tile);
    const TileAnswer cleared = memory_.store(access);
    access = ask(node, node.bytes.global_write - zeros, access.port_free, event);
    const TileAnswer stored = memory_.store(access);
    count_memory(node, {.global_write = cleared.memory_bytes + stored.memory_bytes});
    return std::max(cleared.end, stored.end);
  }

  /// What a core asks of memory at `time`; its port is taken until all of it has passed.
  TileTransfer ask(const TileOp& node, int64_t bytes, int64_t time, const Event& event) {
    CoreClock& core = core_of(event.cluster, node);
    core.port.free = time + std::max(kTicks, ticks_for(static_cast<double>(bytes),
                                                       machine_.core.port_bytes_per_cycle));
    const int64_t channel = int64_t{event.node} * 7 + int64_t{event.cluster} * 13;
    return {key_of(node, event), bytes, channel, time, core.port.free};
  }

  /// The tile in memory that an operation loads or stores.
  TileKey key_of(const TileOp& op, const Event& event) const {
    switch (op.kind) {
      case TileOpKind::load:
      case TileOpKind::store:
      case TileOpKind::settle:
        if (options_.places != nullptr) return options_.places->key(event.cluster, op);
        return private_key(event.cluster, event.node);
      case TileOpKind::fetch:
      case TileOpKind::refill:  // what their first operand put there
        return private_key(event.cluster,
                           graph_of(event.cluster).edges[static_cast<size_t>(op.first_operand)]);
      default:
        return private_key(event.cluster, event.node);
    }
  }

  /// Tiles that are loaded one by one, asked at once: each holds the port for a cycle at least.
  int64_t gather(const TileOp& node, int64_t time, const Event& event) {
    CoreClock& core = core_of(event.cluster, node);
    const std::vector<int32_t>& pieces = graph_of(event.cluster).pieces;
    const int64_t bytes = node.bytes.global_read / node.pieces;
    const int64_t a_piece =
        std::max(kTicks, ticks_for(static_cast<double>(bytes), machine_.core.port_bytes_per_cycle));
    const int64_t channel = int64_t{event.node} * 7 + int64_t{event.cluster} * 13;
    int64_t end = core.port.free = time;
    for (int32_t p = 0; p < node.pieces; ++p) {
      TileOp piece = node;
      piece.row = pieces[static_cast<size_t>(node.first_piece) + static_cast<size_t>(p)];
      core.port.free = capped_sum(core.port.free, a_piece);
      const TileAnswer answer =
          memory_.load({key_of(piece, event), bytes, channel + p, time, core.port.free});
      count_memory(node, {.global_read = answer.memory_bytes});
      end = std::max(end, answer.end);
    }
    return end;
  }

  int64_t load(const TileOp& node, int64_t time, const Event& event) {
    if (node.pieces > 0) return gather(node, time, event);
    TileTransfer access = ask(node, node.bytes.global_read, time, event);
    if (node.kind == TileOpKind::settle) access.tile = sums_of(access.tile);
    SharedLoad* together = together_of(event.cluster, event.node);
    if (together != nullptr && together->asked) {
      return std::max(together->answer.given, access.port_free + together->answer.latency);
    }
    const TileAnswer answer = memory_.load(access);
    if (together != nullptr) together->asked = true;
    if (together != nullptr) together->answer = answer;
    count_memory(node, {.global_read = answer.memory_bytes});
    return answer.end;
  }

  int64_t store(const TileOp& node, int64_t time, const Event& event) {
    TileTransfer access = ask(node, node.bytes.global_write, time, event);
    access.adds = node.adders > 1;
    if (access.adds) access.tile = sums_of(access.tile);
    const TileAnswer answer = memory_.store(access);
    count_memory(node, {.global_read = answer.fetched_bytes, .global_write = answer.memory_bytes});
    return answer.end;
  }

  void count_memory(const TileOp& op, const LevelBytes& moved) {
    result_.bytes += moved;
    if (options_.nodes == nullptr || op.node < 0) return;
    (*options_.nodes)[static_cast<size_t>(op.node)].bytes += moved;
  }

  /// Whether the load counts what memory gives: of those that share a tile only the first does.
  bool stands_for_others(int32_t cluster, int32_t node) const {
    const SharedLoads& shared = shared_of(cluster);
    const int32_t group = shared.group.empty() ? -1 : shared.group[node];
    return group < 0 || shared.members[group].front() == node;
  }

  /// What an operation moved but for DRAM, which was counted when it was asked.
  LevelBytes moved_by(int32_t cluster, int32_t node) const {
    const TileOp& op = graph_of(cluster).nodes[node];
    LevelBytes moved = op.bytes;
    if (!stands_for_others(cluster, node)) moved.global_read = 0;
    if (memory_.has_l2()) {
      moved.l2_read = moved.global_read;
      moved.l2_write = moved.global_write;
      moved.l2_add = op.adders > 1 ? moved.global_write : 0;
    }
    moved.global_read = moved.global_write = 0;
    return moved;
  }

  int64_t over_link(CoreClock& core, int64_t bytes, int64_t time) const {
    const int64_t begin = std::max(time, core.link);
    core.link = capped_sum(begin, ticks_for(static_cast<double>(bytes), link_rate_));
    return core.link + link_latency_;
  }

  /// The scratchpad serves reads and writes one after the other; a tile product holds the matrix
  /// unit until its arithmetic, its operands and its accumulator are through.
  int64_t on_core(const TileOp& node, CoreClock& core, int64_t time) {
    const int64_t bytes = node.bytes.scratchpad_read + node.bytes.scratchpad_write;
    int64_t end = time;
    if (bytes > 0) {
      core.scratchpad = capped_sum(
          std::max(time, core.scratchpad),
          ticks_for(static_cast<double>(bytes), machine_.core.scratchpad_bytes_per_cycle));
      end = std::max(end, core.scratchpad);
    }
    if (node.bytes.registers > 0) {
      end = std::max(end, time + ticks_for(static_cast<double>(node.bytes.registers),
                                           machine_.core.register_bytes_per_cycle));
    }
    if (node.flops > 0) {
      const double work =
          machine_.matrix_work(node.rows, node.cols, node.depth, options_.element_bytes);
      end = std::max({end, time + kTicks, time + ticks_for(work, matrix_rate_)});
      core.matrix.free = end;
      matrix_busy_ = capped_sum(matrix_busy_, end - time);  // of all cores together
      return end;
    }
    if (takes_lanes(node)) {
      core.vector.free = end = std::max({end, time + kTicks, time + on_lanes(node)});
      if (node.bytes.scratchpad_write == 0) return end;
    }
    if (bytes == 0) return end;
    return end + (machine_.core.scratchpad_latency_cycles + barrier_after(node)) * kTicks;
  }

  /// What comes from elsewhere is waited for at a barrier.
  int64_t barrier_after(const TileOp& node) const {
    const bool comes = node.kind == TileOpKind::load || node.kind == TileOpKind::send ||
                       node.kind == TileOpKind::fetch;
    return comes ? machine_.core.barrier_cycles : 0;
  }

  /// All kinds of operations are issued one after the other.
  int64_t on_lanes(const TileOp& node) const {
    return ticks_for(in_sums(node.lanes, machine_), machine_.core.vector_operations_per_cycle) +
           ticks_for(static_cast<double>(node.lanes.special),
                     machine_.core.special_operations_per_cycle);
  }

  /// No operation waits for what never comes.
  void check_done() const {
    int64_t all = 0;
    for (const int32_t graph : which_) {
      all += static_cast<int64_t>(graphs_[graph]->nodes.size());
    }
    if (result_.nodes == all) return;
    throw Defect(
        fmt::format("{} of {} operations of tiles were never done", all - result_.nodes, all));
  }

  /// No core did more than its rates allow.
  void check_rates() const {
    for (const CoreClock& core : cores_) {
      const auto broken = exceeded_rate(core.done, result_.cycles, options_.element_bytes,
                                        cores_per_cluster_, machine_);
      if (broken) throw Defect("a core is faster than its peak: " + *broken);
    }
  }

  CoreClock& core_of(int32_t cluster, const TileOp& op) {
    return cores_[slot_of(cluster) * static_cast<size_t>(cores_per_cluster_) + op.core];
  }

  static void add_work(WorkDone& work, const TileOp& op) {
    work.flops += op.flops;
    work.lanes += op.lanes;
    work.port_bytes += op.bytes.global();
    work.scratchpad_bytes += op.bytes.scratchpad_read + op.bytes.scratchpad_write;
    work.link_bytes += op.bytes.link;
  }

  void finished(int32_t cluster, int32_t node, int64_t time) {
    const TileOp& op = graph_of(cluster).nodes[node];
    add_work(core_of(cluster, op).done, op);
    account(cluster, node, op, time);
    result_.bytes += moved_by(cluster, node);
    result_.flops += op.flops;
    done(cluster, node, time);
  }

  /// Those that wait for an operation go on.
  void done(int32_t cluster, int32_t node, int64_t time) {
    ++result_.nodes;
    end_ = std::max(end_, time);
    const Successors& next = successors_of(cluster);
    const size_t slot = slot_of(cluster);
    for (int32_t e = next.first[node]; e < next.first[static_cast<size_t>(node) + 1]; ++e) {
      const int32_t to = next.nodes[e];
      const int64_t known = knows(slot, to, next.signals[e], time);
      if (--waits_[slot][to] == 0) {
        ready(cluster, to, known);
      }
    }
    if (--left_[slot] == 0) {
      ended(cluster, time);
    }
  }

  /// When an operation knows of all that it waits for, of which the last one ended at `time`.
  int64_t knows(size_t slot, int32_t node, bool signals, int64_t time) {
    if (signal_ == 0) return time;
    int64_t& told = told_[slot][node];
    if (signals) told = std::max(told, time + signal_);
    return std::max(told, time);
  }

  void ended(int32_t cluster, int64_t time) {
    const int64_t next = int64_t{cluster} + slots_;
    if (next < static_cast<int64_t>(which_.size())) {
      start(static_cast<int32_t>(next), time);
    }
  }

  const Machine& machine_;
  const std::vector<const TileOps*>& graphs_;
  const std::vector<int32_t>& which_;
  const LaunchOptions& options_;
  const double matrix_rate_;
  std::vector<Successors> successors_;
  std::vector<SharedLoads> shared_;                ///< by graph
  std::vector<std::vector<SharedLoad>> together_;  ///< by slot, by group of its graph
  std::vector<SendOrder> sends_;                   ///< by graph
  std::vector<std::vector<Turn>> turns_;           ///< by slot and send
  TileMemory memory_;
  std::vector<CoreClock> cores_;
  std::vector<std::vector<int32_t>> waits_;
  std::vector<std::vector<int64_t>> begun_;  ///< by slot and operation, for the nodes' times
  std::vector<int64_t> left_;
  std::vector<std::vector<int64_t>> told_;  ///< by slot and operation: when the last signal arrives
  std::vector<std::vector<bool>> last_added_;  ///< by slot and store: it was the last to add
  std::map<std::tuple<int64_t, int64_t, int64_t>, int32_t> added_;  ///< by tile: how many have
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  int32_t slots_ = 0;
  int cores_per_cluster_ = 1;
  double link_rate_ = 1;
  int64_t link_latency_ = 0;
  int64_t signal_ = 0;  ///< ticks from core to core of a cluster
  int64_t near_ = 0;    ///< ... to what all cores share, and back
  int64_t end_ = 0;
  int64_t matrix_busy_ = 0;
  Measured result_;
};

}  // namespace

void refuse_cluster(int cores, const Machine& machine) {
  throw Error(ExitCode::rejected,
              fmt::format("a cluster of {} cores does not fit machine {}", cores, machine.name));
}

Measured& Measured::operator+=(const Measured& next) {
  cycles += next.cycles;
  bytes += next.bytes;
  flops += next.flops;
  nodes += next.nodes;
  matrix_busy_cycles += next.matrix_busy_cycles;
  return *this;
}

Measured time_launch(const Machine& machine, const std::vector<const TileOps*>& graphs,
                     const std::vector<int32_t>& which, const LaunchOptions& options) {
  return Launch(machine, graphs, which, options).run();
}

}  // namespace fuseflow
