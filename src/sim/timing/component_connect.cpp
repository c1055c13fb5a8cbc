// Component: what is connected to what, before times are.
#include <algorithm>
#include <utility>

#include "sim/timing/aliased_streams.h"
#include "sim/timing/component.h"
#include "sim/timing/holding.h"

namespace fuseflow::engine {

// --- streams ---

/// What a member gives to a stream; null if none does.
OutputTimes* Component::gives_of(StreamId stream) const {
  const auto found = outputs_of_.find(stream);
  return found == outputs_of_.end() ? nullptr : found->second;
}

Fifo& Component::add_fifo(OutputTimes& gives, int64_t depth, int64_t latency) {
  Fifo& fifo = fifos_.emplace_back(gives, depth);
  fifo.latency = latency;
  return fifo;
}

/// Between two sides of a node.
Fifo& Component::add_own_fifo(int64_t depth) {
  Fifo& fifo = add_fifo(gives_.emplace_back(), depth, 0);
  fifo.peak_wanted = false;
  return fifo;
}

/// Requests in batches are never more than the port may have.
Fifo* Component::add_memory_fifo(bool write, bool in_batches) {
  const auto id = static_cast<uint32_t>(memory_ports_.size());
  MemoryPort& port = memory_ports_.emplace_back();
  port = {memory_->memory.get(), id, write, {}, in_batches};
  OutputTimes& gives = gives_.emplace_back();
  gives.memory = &port;
  burst_fifos_.push_back(&add_fifo(gives, in_batches ? 0 : machine_.dram.outstanding, 0));
  waiters_.push_back(kNobody);
  return burst_fifos_.back();
}

/// Outputs of a node that are given in the same steps have the same times.
void Component::share_gives(const EngineNode& node) {
  OutputTimes* shared = nullptr;
  for (size_t o = 0; o < node.outputs.size(); ++o) {
    if (node.outputs[o] == nullptr || !node.outputs[o]->connected()) continue;
    if (shared == nullptr || !gives_together(node.node().kind)) shared = &gives_.emplace_back();
    outputs_of_[node.node().outputs[o]] = shared;
  }
}

/// The FIFOs that a node takes from, by input; null: immediate, or like another one.
std::vector<Fifo*> Component::connect_inputs(const EngineNode& node, const Ports& ports) {
  const std::vector<size_t> aliased = aliased_inputs(graph_, node.node());
  std::vector<Fifo*> fifos(ports.size());
  std::vector<Fifo*> own(ports.size());
  for (size_t i = 0; i < ports.size(); ++i) {
    if (ports[i] == nullptr) continue;
    const Input& input = node.node().inputs[i];
    if (aliased[i] == i) {
      own[i] = fifos[i] = &connect_input(input, *ports[i]);
    } else {
      fifos[i] = fifos[aliased[i]];
    }
    ports[i]->untimed = gives_of(input.stream) != nullptr;
    consumers_[input.stream].push_back(fifos[i]);
  }
  return own;
}

/// An input takes what a member gives, or what comes from outside.
Fifo& Component::connect_input(const Input& input, Port& port) {
  if (OutputTimes* inside = gives_of(input.stream)) {
    return add_fifo(*inside, depth_of(graph_, machine_, input.stream), port.latency);
  }
  Fifo& fifo = add_fifo(gives_.emplace_back(), 0, port.latency);
  fifo.fed = std::make_unique<FedPeak>();
  port.observer = &arrival_feeds_.emplace_back(*fifo.source, *fifo.fed, port.latency);
  return fifo;
}

/// What others take of a member.
void Component::hold_tokens(Member& member) {
  EngineNode& node = *member.node;
  std::vector<OutputTimes*> gives;
  for (const StreamId stream : node.node().outputs) gives.push_back(gives_of(stream));
  auto held = std::make_unique<HeldTokens>(node, std::move(gives));
  if (held->any()) member.held = std::move(held);
  if (node.collects_rows()) {
    member.events = writers_.at(node.id())->outputs.front();
    member.events->kept_from = 0;
  }
  if (member.held || member.events != nullptr) givers_.push_back(node.clock_slot);
}

// --- sides ---

void Component::add_sides(Member& member, const Ports& ports, int64_t start) {
  EngineNode& node = *member.node;
  member.first_side = sides_.size();
  std::vector<Fifo*> inputs = connect_inputs(node, ports);  // of the next side
  const int64_t latest = memory_ == nullptr ? kLatest : memory_->memory->latest();
  for (size_t s = 0; s < node.sides.size(); ++s) {
    const bool last = s + 1 == node.sides.size();
    const bool counted = node.two_stores() ? s == 0 : last;
    sides_.push_back({&node, &node.sides[s], counted, NodeReplay(start, latest)});
    NodeReplay& replay = sides_.back().replay;
    replay.counting = &counting_.emplace_back(StepCounting{counted});
    replay.inputs = std::exchange(inputs, {});
    if (last) {
      connect_last(member, replay);
    } else if (node.two_stores()) {
      inputs = between_stores(replay);
    } else {
      inputs = between_memory_sides(member, s, replay);
    }
  }
  member.end_side = sides_.size();
}

/// A store is handed over when the other one is drained.
std::vector<Fifo*> Component::between_stores(NodeReplay& replay) {
  Fifo& stores = add_own_fifo(1);
  replay.outputs = {stores.source};
  return {&stores};
}

/// The FIFOs between two sides of a node that reads memory: as deep as the tokens of the
/// outstanding bursts; a scan needs two.
std::vector<Fifo*> Component::between_memory_sides(Member& member, size_t side,
                                                   NodeReplay& replay) {
  const int64_t tokens_of_burst = std::max<int64_t>(1, machine_.dram.burst_bytes / 4);
  Fifo& tokens = add_own_fifo(std::max<int64_t>(2, machine_.dram.outstanding * tokens_of_burst));
  replay.outputs = {tokens.source};
  std::vector<Fifo*> inputs = {&tokens};
  const size_t arrays = member.node->sides[side].out_lane.size() - StepSource::kBursts;
  for (size_t a = 0; a < arrays; ++a) {
    Fifo* bursts = add_memory_fifo(false);
    replay.outputs.push_back(bursts->source);
    inputs.push_back(bursts);
    std::vector<uint64_t>& of_array = member.node->bursts[member.feeds.size()];
    member.feeds.push_back({&of_array, bursts->source->memory});
  }
  return inputs;
}

/// The side that gives what the node gives.
void Component::connect_last(Member& member, NodeReplay& replay) {
  EngineNode& node = *member.node;
  const bool writer = node.written() != nullptr;
  if (!writer) {
    connect_outputs(node, replay);
  } else if (node.bursts.empty()) {  // the scratchpad: its rows may be waited for
    replay.outputs.push_back(&gives_.emplace_back());
    writers_[node.id()] = &replay;
  }
  for (const RowGate& gate : node.row_gates) add_row_fifo(member, gate.writer(), replay);
  if (writer || node.asking) add_feeds(member, replay);
}

/// Connects the outputs; of several that share their times one is given.
void Component::connect_outputs(const EngineNode& node, NodeReplay& replay) {
  for (const StreamId stream : node.node().outputs) {
    OutputTimes* gives = gives_of(stream);
    const bool given =
        std::find(replay.outputs.begin(), replay.outputs.end(), gives) != replay.outputs.end();
    replay.outputs.push_back(given ? nullptr : gives);
  }
}

/// One token an event of the writer, a member or of an earlier phase; a load may wait for many.
void Component::add_row_fifo(Member& member, NodeId writer, NodeReplay& replay) {
  const auto found = writers_.find(writer);
  const bool inside = found != writers_.end();
  OutputTimes& gives = inside ? *found->second->outputs.front() : gives_.emplace_back();
  Fifo& rows = add_fifo(gives, 0, inside ? timings_[writer].latency_cycles : 0);
  member.rows.push_back(inside ? nullptr : &gives);
  rows.peak_wanted = false;
  replay.inputs.push_back(&rows);
}

/// Bursts of a writer, or of a node that asks in batches.
void Component::add_feeds(Member& member, NodeReplay& replay) {
  EngineNode& node = *member.node;
  for (std::vector<uint64_t>& bursts : node.bursts) {
    Fifo* fifo = add_memory_fifo(node.written() != nullptr, node.asking.has_value());
    replay.outputs.push_back(fifo->source);
    if (node.asking) replay.inputs.push_back(fifo);
    member.feeds.push_back({&bursts, fifo->source->memory});
  }
}

// --- who wakes whom ---

/// Which sides may go on when a side has: the takers of what it gives, the givers of what it takes.
void Component::find_neighbours() {
  for (size_t s = 0; s < sides_.size(); ++s) {
    for (OutputTimes* gives : sides_[s].replay.outputs) {
      if (gives == nullptr) continue;
      gives->giver = s;
      sides_[s].asks = sides_[s].asks || gives->memory != nullptr;
    }
    for (Fifo* fifo : sides_[s].replay.inputs) {
      if (fifo != nullptr) fifo->taker = s;
    }
  }
  for (size_t s = 0; s < sides_.size(); ++s) {
    const auto add_neighbour = [&](size_t other) {
      auto& wakes = sides_[s].wakes;
      if (std::find(wakes.begin(), wakes.end(), other) == wakes.end()) wakes.push_back(other);
    };
    for (const OutputTimes* gives : sides_[s].replay.outputs) {
      if (gives == nullptr) continue;
      if (gives->memory != nullptr && gives->memory->write) waiters_[gives->memory->id] = s;
      for (const Fifo* fifo : gives->readers) {
        if (fifo->taker != kNobody) add_neighbour(fifo->taker);
      }
    }
    for (const Fifo* fifo : sides_[s].replay.inputs) {
      if (fifo == nullptr) continue;
      const OutputTimes* gives = fifo->source;
      if (gives->memory != nullptr) waiters_[gives->memory->id] = s;
      if (fifo->depth > 0 && gives->giver != kNobody) add_neighbour(gives->giver);
    }
  }
}

/// No member gives a token before a time up to which all steps are done.
void Component::settle_gives() {
  for (const Side& side : sides_) {
    for (OutputTimes* gives : side.replay.outputs) {
      if (gives != nullptr) gives->settled = &settled_;
    }
  }
}

}  // namespace fuseflow::engine
