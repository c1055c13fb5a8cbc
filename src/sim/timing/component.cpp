#include "sim/timing/component.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "nodes/rule.h"

namespace fuseflow::engine {

namespace {
// Waiting tokens that a byte of steps counts as. So a member whose kept steps take more than
// most_waiting / 4 bytes (16 KiB with chunks of 16384 tokens) is set aside.
constexpr size_t kTokensOfByte = 4;
constexpr uint64_t kBatchesBetweenCounts = 64;  // of the host's memory
}  // namespace

Component::Component(const Graph& graph, const Machine& machine,
                     const std::vector<UnitTiming>& timings, SharedMemory* memory,
                     const std::vector<EngineNode*>& members, const std::vector<Ports>& ports,
                     int64_t start)
    : graph_(graph), machine_(machine), timings_(timings), memory_(memory) {
  size_t sides = 0;
  for (EngineNode* node : members) {
    node->clock = this;
    node->clock_slot = members_.size();
    members_.emplace_back().node = node;
    sides += node->sides.size();
    share_gives(*node);
  }
  sides_.reserve(sides);
  for (Member& member : members_) {
    add_sides(member, ports[member.node->id()], start);
  }
  for (Member& member : members_) hold_tokens(member);
  woken_.assign(sides_.size(), 0);
  due_.assign(sides_.size(), kNever);
  steps_from_.assign(sides_.size(), 0);
  find_neighbours();
  settle_gives();
  for (size_t s = 0; s < sides_.size(); ++s) set_due(s);
  if (memory_ != nullptr) {
    horizon_ = std::max(memory_->horizon, start) + memory_->memory->least_latency();
  }
}

namespace {

/// A writer gives nothing but bursts: what it waits for room for is memory.
bool blocked_by_memory(const EngineNode& node) {
  return writes_tensor(node.node().kind);
}

}  // namespace

void Component::note_activity(RunResult& result) {
  for (size_t s = 0; s < sides_.size(); ++s) {
    if (!sides_[s].counted) continue;
    const auto node = static_cast<size_t>(sides_[s].node->id());
    counting_[s].busy = &result.activity[node];
    counting_[s].memory = &result.waits[node];
    counting_[s].blocked =
        blocked_by_memory(*sides_[s].node) ? counting_[s].memory : &result.stalls[node];
  }
}

void Component::charge_streams() {
  for (StepCounting& side : counting_) side.charged = true;
}

int64_t Component::load(int64_t bursts) {
  if (bursts == 0) return 0;
  Fifo* fifo = add_memory_fifo(false);
  const uint64_t beside = uint64_t{1} << 62;  // all other tensors
  for (int64_t k = 0; k < bursts; ++k) {
    fifo->source->memory->addresses.push_back(beside +
                                              static_cast<uint64_t>(k * machine_.dram.burst_bytes));
  }
  NodeReplay request(0);
  NodeReplay store(0);
  const StepCounting nothing{false};
  request.counting = store.counting = &nothing;
  request.outputs = {fifo->source};
  store.inputs = {fifo};
  StepSource requests;
  StepSource stores;
  requests.one_lane(0, 1);
  stores.one_lane(1, 0);
  for (StepSource* source : {&requests, &stores}) {
    source->now.add(static_cast<uint32_t>(bursts), 1);
  }
  request.fetch(requests);
  store.fetch(stores);
  while (!store.idle()) {
    bool any = true;
    while (any) {
      any = request.advance(solver_);
      any = store.advance(solver_) || any;
    }
    const OutputTimes& asked = *fifo->source;
    if (!store.idle()) next_window(asked.requested_at(asked.known()));
  }
  return store.last_step() + 1;
}

// --- the run ---

/// Function goes on whatever the times are.
void Component::take_tokens(EngineNode& node) {
  const StepSource& first = node.sides.front();
  for (size_t i = 0; i < node.ports.size(); ++i) {
    if (node.ports[i] == nullptr || first.in_lane[i] < 0) continue;
    const Lane& lane = first.now.in[first.in_lane[i]];
    const uint32_t n = lane.tokens(first.now.count);
    if (n > 0) node.ports[i]->take(n, long_ago());
  }
}

/// When the rows come that the batch's loads wait for.
void Component::give_rows(Member& member) {
  EngineNode& node = *member.node;
  for (size_t g = 0; g < member.rows.size(); ++g) {
    if (member.rows[g] == nullptr) continue;
    const size_t events = node.sides.back().now.in[node.first_row_lane + g].at.size();
    for (size_t j = 0; j < events; ++j) member.rows[g]->give(node.row_gates[g].next_arrival());
  }
}

/// Hands on the addresses of the batch.
void Component::request_bursts(Member& member) {
  for (const auto& [bursts, port] : member.feeds) {
    port->addresses.insert(port->addresses.end(), bursts->begin(), bursts->end());
    bursts->clear();
  }
}

void Component::time_batch(EngineNode& node) {
  Member& member = members_[node.clock_slot];
  take_tokens(node);
  for (const EngineNode::OutputSegment& given : node.given()) {
    node.outputs[given.output]->give_untimed(given.segment);
  }
  if (member.held) member.held->hold(node.given());
  give_rows(member);
  request_bursts(member);
  for (size_t s = member.first_side; s < member.end_side; ++s) fetch(s);
  advance();
  for (size_t s = member.first_side; s < member.end_side; ++s) {
    node.reach(sides_[s].replay.last_step());
  }
  give_held();
  if (solved_++ % kBatchesBetweenCounts == 0) count_bytes();
}

/// What members gave, as far as its times are known by now.
void Component::give_held() {
  gave_.clear();
  for (const size_t m : givers_) {
    Member& member = members_[m];
    if (member.held && member.held->give()) gave_.push_back(member.node);
    if (member.events == nullptr) continue;
    auto& arrives = member.node->written_rows.arrives;
    while (static_cast<int64_t>(arrives.size()) < member.events->given) {
      const auto event = static_cast<int64_t>(arrives.size());
      arrives.push_back(member.events->times.at(event, {}) + member.node->latency());
    }
    member.events->kept_from = member.events->given;
  }
}

bool Component::give_parts() {
  bool any = false;
  for (const size_t m : givers_) {
    if (members_[m].held) any = members_[m].held->give_parts() || any;
  }
  return any;
}

int64_t Component::untimed(const EngineNode& node) const {
  const Member& member = members_[node.clock_slot];
  size_t bytes = 0;
  for (size_t s = member.first_side; s < member.end_side; ++s) {
    bytes += sides_[s].replay.backlog();
  }
  return static_cast<int64_t>(bytes * kTokensOfByte);
}

/// The steps of the batch.
void Component::fetch(size_t s) {
  NodeReplay& replay = sides_[s].replay;
  replay.fetch(*sides_[s].steps);
  if (replay.idle()) {
    set_due(s);
  } else if (replay.state() == StepEnd::none) {
    woken_[s] = 1;
  }
}

void Component::set_due(size_t s) {
  const NodeReplay& replay = sides_[s].replay;
  switch (replay.state()) {
    case StepEnd::beyond:
      due_[s] = replay.wake();
      break;
    case StepEnd::waits:
      due_[s] = kNever;
      break;
    case StepEnd::none:
      due_[s] = sides_[s].node->ended() ? kNever : replay.free_at();
      break;
  }
}

/// The first side from `s` on that has been woken; the number of sides if there is none.
size_t Component::next_woken(size_t s) const {
  const char* const all = woken_.data();
  const void* const found = std::memchr(all + s, 1, woken_.size() - s);
  return found == nullptr ? woken_.size()
                          : static_cast<size_t>(static_cast<const char*>(found) - all);
}

/// Every side that may be able to go on does; whether any has.
bool Component::sweep() {
  bool any = false;
  for (size_t s = next_woken(0); s < woken_.size(); s = next_woken(s + 1)) {
    woken_[s] = 0;
    Side& side = sides_[s];
    const bool advanced = side.replay.advance(solver_, farthest());
    set_due(s);
    if (!advanced) continue;
    any = true;
    for (const size_t other : side.wakes) wake(other);
  }
  return any;
}

/// Advances all nodes as far as the known steps allow.
void Component::advance() {
  for (;;) {
    while (sweep()) {
    }
    const int64_t due = first_due();
    if (due < horizon_) return;
    // Every step before the horizon is done: the window can end, if anything waits for that.
    bool waits = false;
    for (size_t s = 0; s < due_.size(); ++s) {
      waits = waits || (due_[s] != kNever && !sides_[s].replay.idle());
    }
    if (!waits && !unanswered()) return;
    if (!next_window(due)) return;
  }
}

bool Component::finished() const {
  return std::all_of(sides_.begin(), sides_.end(),
                     [](const Side& side) { return side.replay.idle() && side.node->ended(); });
}

void Component::count_bytes() {
  int64_t sum = 0;
  for (const OutputTimes& gives : gives_) sum += gives.times.bytes();
  for (const Fifo& fifo : fifos_) sum += fifo.takes.bytes();
  bytes_.store(sum, std::memory_order_relaxed);
}

int64_t Component::reached() const {
  int64_t last = memory_ == nullptr ? -1 : memory_->last_answer;
  for (const Side& side : sides_) last = std::max(last, side.replay.last_step());
  return last + 1;
}

void Component::fill(const EngineNode& node, NodeStats& stats) const {
  const Member& member = members_[node.clock_slot];
  int64_t last = -1;
  for (size_t s = member.first_side; s < member.end_side; ++s) {
    const Side& side = sides_[s];
    if (side.counted) side.replay.fill(stats);
    if (node.asking) stats.steps = node.asking->own();
    last = std::max(last, side.replay.last_step());
  }
  if (blocked_by_memory(node)) stats.memory += std::exchange(stats.blocked, 0);
  stats.last_step = std::max(stats.last_step, last);
}

void Component::fill_streams(std::vector<StreamStats>& streams) {
  for (const auto& [stream, fifos] : consumers_) {
    StreamStats& stats = streams[stream];
    for (Fifo* fifo : fifos) {
      stats.peak = std::max(stats.peak, fifo->peak());
      stats.blocked = std::max(stats.blocked, fifo->blocked);
    }
  }
}

}  // namespace fuseflow::engine
