#include "sim/timing/bounded.h"

#include <algorithm>

#include "support/ceil_div.h"

namespace fuseflow::engine {

namespace {
// Logged steps (bytes of them) of a node that wait for their times, before it is set aside.
constexpr size_t kMostLogged = 1U << 17;
// What a token that waits takes of the host's memory, beside what a logged step does.
constexpr size_t kBytesOfToken = 16;
}  // namespace

Bounded::Bounded(const Graph& graph, const Machine& machine, const std::vector<UnitTiming>& timings,
                 const std::vector<Output>& outputs,
                 const std::vector<std::vector<std::unique_ptr<Port>>>& ports)
    : graph_(graph),
      machine_(machine),
      timings_(timings),
      outputs_(outputs),
      memory_(make_memory(machine)) {
  connect_streams(ports);
  if (memory_) horizon_ = memory_->least_latency();
}

void Bounded::start_phase(const std::vector<std::unique_ptr<EngineNode>>& nodes, int64_t start) {
  sides_.clear();
  writers_.clear();
  for (const auto& node : nodes) add_sides(*node, start);
  told_.clear(sides_.size());
  due_.assign(sides_.size(), kNever);
  gives_from_.assign(sides_.size(), 0);
  settled_ = 0;
  find_neighbours();
  find_free();
  if (memory_) horizon_ = std::max(horizon_, start + memory_->least_latency());
}

void Bounded::note_activity(std::vector<Activity>& activity, std::vector<Activity>& stalls) {
  for (Side& side : sides_) {
    if (side.replay && side.counted) {
      const auto node = static_cast<size_t>(side.node->id());
      side.replay->activity = &activity[node];
      side.replay->stalls = &stalls[node];
    }
  }
}

int64_t Bounded::load(const std::vector<int64_t>& bytes) {
  if (!memory_) return 0;
  const int64_t size = machine_.dram.burst_bytes;
  uint64_t address = uint64_t{1} << 62;  // beside all other tensors
  int64_t ready = 0;
  for (const int64_t total : bytes) {
    Fifo* fifo = add_memory_fifo(false);
    NodeReplay request(0);
    NodeReplay store(0);
    request.outputs = {fifo->source};
    store.inputs = {fifo};
    StepSource requests;
    StepSource stores;
    requests.one_lane(0, 1);
    stores.one_lane(1, 0);
    const auto count = static_cast<uint32_t>(ceil_div(total, size));
    for (uint32_t k = 0; k < count; ++k, address += static_cast<uint64_t>(size)) {
      fifo->source->memory->addresses.push_back(address);
    }
    for (StepSource* source : {&requests, &stores}) {
      source->now.add(count, 1);
      source->keep();
    }
    request.fetch(requests);
    store.fetch(stores);
    while (!store.idle()) {
      bool any = true;
      while (any) {
        any = request.advance(solver_, horizon_);
        any = store.advance(solver_, horizon_) || any;
      }
      if (!store.idle()) next_window(0);
    }
    ready = std::max(ready, store.last_step() + 1);
  }
  return ready;
}

// --- the run ---

/// What has been logged since the last time.
void Bounded::fetch(size_t s) {
  Side& side = sides_[s];
  if (side.bursts != nullptr && !side.bursts->empty()) {
    auto& to = side.port->addresses;
    to.insert(to.end(), side.bursts->begin(), side.bursts->end());
    side.bursts->clear();
  }
  if (!side.replay) return;
  side.replay->fetch(*side.steps);
  if (!side.replay->idle() && side.replay->state() == NodeReplay::State::idle) told_.add(s);
  if (side.replay->idle()) note(s);
}

void Bounded::note(size_t s) {
  const NodeReplay& replay = *sides_[s].replay;
  switch (replay.state()) {
    case NodeReplay::State::beyond:
      due_[s] = replay.wake();
      break;
    case NodeReplay::State::waits:
      due_[s] = kNever;
      break;
    case NodeReplay::State::idle:
      due_[s] = sides_[s].node->ended() ? kNever : replay.free_at();
      break;
  }
}

/// Every side that may be able to go on does; whether any has.
bool Bounded::sweep() {
  bool any = false;
  for (size_t s = told_.take(0); s != SideSet::kEnd; s = told_.take(s + 1)) {
    Side& side = sides_[s];
    const bool advanced = side.replay->advance(solver_, horizon_of(side));
    note(s);
    if (!advanced) continue;
    any = true;
    for (const size_t other : side.tells) tell(other);
  }
  return any;
}

Bounded::State Bounded::advance(const std::function<bool()>& go_on) {
  for (size_t s = 0; s < sides_.size(); ++s) fetch(s);
  for (;;) {
    if (sweep()) {
      if (!go_on()) return State::stopped;
      continue;
    }
    const int64_t due = first_due();
    if (due < horizon_) return State::wants_steps;
    // Every step before the horizon is done: the window can end, if anything waits for that.
    bool waits = false;
    for (size_t s = 0; s < due_.size(); ++s) {
      waits = waits || (due_[s] != kNever && !sides_[s].replay->idle());
    }
    if (!waits && !unanswered()) {
      return due == kNever ? State::still : State::wants_steps;
    }
    if (!next_window(due)) return State::still;
    if (!go_on()) return State::stopped;
  }
}

EngineNode* Bounded::next_to_log(const std::function<bool(const EngineNode&)>& stuck,
                                 int64_t most_waiting) const {
  EngineNode* least = nullptr;
  size_t least_backlog = SIZE_MAX;
  for (size_t s = sides_.size(); s-- > 0;) {
    const Side& side = sides_[s];
    if (!side.replay || !side.counted || side.node->ended() || stuck(*side.node)) continue;
    size_t backlog = side.replay->backlog();
    if (side.node->backlog() >= most_waiting) {
      backlog += kMostLogged + kBytesOfToken * static_cast<size_t>(side.node->backlog());
    }
    if (backlog < kMostLogged) return side.node;
    if (backlog < least_backlog) {
      least_backlog = backlog;
      least = side.node;
    }
  }
  return least;
}

bool Bounded::finished() const {
  return std::all_of(sides_.begin(), sides_.end(), [](const Side& side) {
    return !side.replay || (side.replay->idle() && side.node->ended());
  });
}

int64_t Bounded::bytes() const {
  int64_t sum = 0;
  for (const Gives& gives : gives_) sum += gives.times.bytes();
  for (const Fifo& fifo : fifos_) sum += fifo.takes.bytes();
  return sum;
}

int64_t Bounded::reached() const {
  int64_t last = last_answer_;
  for (const Side& side : sides_) {
    if (side.replay) last = std::max(last, side.replay->last_step());
  }
  return last + 1;
}

void Bounded::fill(NodeId node, NodeStats& stats) const {
  int64_t last = -1;
  for (const Side& side : sides_) {
    if (!side.replay || side.node->id() != node) continue;
    if (side.counted) side.replay->fill(stats);
    if (side.node->batched) stats.steps = side.node->batched->own();
    last = std::max(last, side.replay->last_step());
  }
  stats.last_step = std::max(stats.last_step, last);
}

void Bounded::fill_peaks(std::vector<StreamStats>& streams) {
  for (size_t s = 0; s < streams.size(); ++s) {
    for (Fifo* fifo : consumers_[s]) {
      streams[s].peak = std::max(streams[s].peak, fifo->peak());
    }
  }
}

}  // namespace fuseflow::engine
