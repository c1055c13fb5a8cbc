// Component: what is connected to what, before times are.
#include <algorithm>
#include <unordered_map>

#include "sim/timing/aliased_streams.h"
#include "sim/timing/component.h"
#include "sim/timing/holding.h"

namespace fuseflow::engine {

Fifo& Component::add_fifo(Gives& gives, int64_t depth, int64_t latency) {
  Fifo& fifo = fifos_.emplace_back(gives, depth);
  fifo.latency = latency;
  return fifo;
}

/// Outputs of a node that are given in the same steps have the same times.
void Component::share_gives(const EngineNode& node) {
  Gives* shared = nullptr;
  for (size_t o = 0; o < node.outputs.size(); ++o) {
    if (node.outputs[o] == nullptr || !node.outputs[o]->connected()) continue;
    if (shared == nullptr || !gives_together(node.node().kind)) shared = &gives_.emplace_back();
    outputs_of_[node.node().outputs[o]] = shared;
  }
}

void Component::connect_streams(const std::vector<EngineNode*>& members,
                                const std::vector<Ports>& ports) {
  for (const EngineNode* node : members) share_gives(*node);
  for (const EngineNode* node : members) {
    connect_inputs(*node, ports[static_cast<size_t>(node->id())]);
  }
}

void Component::connect_inputs(const EngineNode& node, const Ports& ports) {
  const std::vector<size_t> aliased = aliased_inputs(graph_, node.node());
  std::vector<Fifo*> fifos(ports.size());
  std::vector<Fifo*>& own = inputs_[node.id()];
  for (size_t i = 0; i < ports.size(); ++i) {
    own.push_back(nullptr);
    if (ports[i] == nullptr) continue;
    const Input& input = node.node().inputs[i];
    Port& port = *ports[i];
    if (aliased[i] == i) {
      own.back() = fifos[i] = &connect_input(input, port);
    } else {
      fifos[i] = fifos[aliased[i]];
    }
    port.untimed = outputs_of_.count(input.stream) > 0;
    consumers_[input.stream].push_back(fifos[i]);
  }
}

/// An input takes what a member gives, or what comes from outside.
Fifo& Component::connect_input(const Input& input, Port& port) {
  const auto inside = outputs_of_.find(input.stream);
  if (inside != outputs_of_.end()) {
    return add_fifo(*inside->second, depth_of(graph_, machine_, input.stream), port.latency);
  }
  Fifo& fifo = add_fifo(gives_.emplace_back(), 0, port.latency);
  fifo.fed = std::make_unique<FedPeak>();
  port.observer = &feeds_.emplace_back(*fifo.source, *fifo.fed, port.latency);
  return fifo;
}

/// What others take of a member.
void Component::hold_tokens(Member& member) {
  EngineNode& node = *member.node;
  const auto wanted = [](const Output* output) {
    return output != nullptr && output->connected() && output->wants_times();
  };
  if (std::any_of(node.outputs.begin(), node.outputs.end(), wanted)) {
    std::vector<Gives*> gives;
    for (const StreamId stream : node.node().outputs) {
      const auto found = outputs_of_.find(stream);
      gives.push_back(found == outputs_of_.end() ? nullptr : found->second);
    }
    member.held = std::make_unique<HeldTokens>(node, std::move(gives));
  }
  if (node.collects_rows()) {
    member.events = sides_.back().replay->outputs.front();
    member.events->kept_from = 0;
  }
  if (member.held || member.events != nullptr) givers_.push_back(node.clock_slot);
}

/// Requests in batches are never more than the port may have.
Fifo* Component::add_memory_fifo(bool write, bool in_batches) {
  MemoryPort& port = memory_ports_.emplace_back();
  port = {memory_.get(), static_cast<uint32_t>(memory_ports_.size() - 1), write, {}, in_batches};
  Gives& gives = gives_.emplace_back();
  gives.memory = &port;
  burst_fifos_.push_back(&add_fifo(gives, in_batches ? 0 : machine_.dram.outstanding, 0));
  return burst_fifos_.back();
}

/// One token an event of the writer, a member or of an earlier phase; a load may wait for many.
void Component::add_row_fifo(NodeId writer, NodeReplay& replay) {
  const auto member = writers_.find(writer);
  const bool inside = member != writers_.end();
  Gives& gives = inside ? *member->second->outputs[0] : gives_.emplace_back();
  Fifo& rows =
      add_fifo(gives, 0, inside ? timings_[static_cast<size_t>(writer)].latency_cycles : 0);
  members_.back().rows.push_back(inside ? nullptr : &gives);
  rows.peak_wanted = false;
  replay.inputs.push_back(&rows);
}

/// Of outputs that share their times one is given.
void Component::connect_outputs(const EngineNode& node, NodeReplay& replay) {
  for (const StreamId stream : node.node().outputs) {
    const auto found = outputs_of_.find(stream);
    Gives* gives = found == outputs_of_.end() ? nullptr : found->second;
    const bool given =
        std::find(replay.outputs.begin(), replay.outputs.end(), gives) != replay.outputs.end();
    replay.outputs.push_back(given ? nullptr : gives);
  }
}

void Component::add_sides(EngineNode& node, int64_t start) {
  const bool writer = node.written() != nullptr;
  const size_t count = node.sides.size();
  std::vector<Fifo*> between;  // tokens and bursts from the side before
  for (size_t s = 0; s < count; ++s) {
    Side side;
    side.node = &node;
    side.last = s + 1 == count;
    side.counted = node.two_stores() ? s == 0 : side.last;
    side.steps = &node.sides[s];
    side.replay = std::make_unique<NodeReplay>(start);
    side.replay->inputs = s == 0 ? inputs_[node.id()] : between;
    if (!side.last && node.two_stores()) {
      // A store is handed over when the other one is drained.
      between = {&add_fifo(gives_.emplace_back(), 1, 0)};
      between.front()->peak_wanted = false;
      side.replay->outputs = {between.front()->source};
    } else if (!side.last) {
      // As many tokens wait between two sides as the outstanding bursts can hold; a scan needs two.
      const int64_t most = std::max<int64_t>(
          2, machine_.dram.outstanding * std::max<int64_t>(1, machine_.dram.burst_bytes / 4));
      Fifo* tokens = &add_fifo(gives_.emplace_back(), most, 0);
      tokens->peak_wanted = false;
      Fifo* bursts = add_memory_fifo(false);
      between = {tokens, bursts};
      side.replay->outputs = {tokens->source, bursts->source};
      side.bursts = &node.bursts[s];
      side.port = bursts->source->memory;
    } else if (!writer) {
      connect_outputs(node, *side.replay);
    } else if (node.bursts.empty()) {  // the scratchpad: its rows may be waited for
      side.replay->outputs.push_back(&gives_.emplace_back());
      writers_[node.id()] = side.replay.get();
    }
    if (side.last) {
      for (const RowGate& gate : node.row_gates) add_row_fifo(gate.writer(), *side.replay);
    }
    sides_.push_back(std::move(side));
  }
  if (writer || node.asking) add_feeds(node);
}

/// Bursts of a writer, or of a node that asks in batches: sides without steps of their own, that
/// only hand the addresses on.
void Component::add_feeds(EngineNode& node) {
  NodeReplay& replay = *sides_.back().replay;
  for (std::vector<uint64_t>& bursts : node.bursts) {
    Fifo* fifo = add_memory_fifo(node.written() != nullptr, node.asking.has_value());
    replay.outputs.push_back(fifo->source);
    if (node.asking) replay.inputs.push_back(fifo);
    Side feed;
    feed.bursts = &bursts;
    feed.port = fifo->source->memory;
    sides_.push_back(std::move(feed));
  }
}

/// Which sides may go on when a side has: the takers of what it gives, the givers of what it takes.
void Component::find_neighbours() {
  std::unordered_map<const Gives*, size_t> producer;
  for (Fifo& fifo : fifos_) fifo.taker = kNobody;
  waiters_.assign(memory_ports_.size(), kNobody);
  for (size_t s = 0; s < sides_.size(); ++s) {
    if (!sides_[s].replay) continue;
    for (const Gives* gives : sides_[s].replay->outputs) producer[gives] = s;
    for (Fifo* fifo : sides_[s].replay->inputs) {
      if (fifo != nullptr) fifo->taker = s;
    }
  }
  for (size_t s = 0; s < sides_.size(); ++s) {
    if (!sides_[s].replay) continue;
    const auto tell = [&](size_t other) {
      auto& tells = sides_[s].tells;
      if (std::find(tells.begin(), tells.end(), other) == tells.end()) tells.push_back(other);
    };
    for (const Gives* gives : sides_[s].replay->outputs) {
      if (gives == nullptr) continue;
      if (gives->memory != nullptr && gives->memory->write) waiters_[gives->memory->id] = s;
      for (const Fifo* fifo : gives->readers) {
        if (fifo->taker == kNobody) continue;
        tell(fifo->taker);
      }
    }
    for (const Fifo* fifo : sides_[s].replay->inputs) {
      if (fifo == nullptr) continue;
      const Gives* gives = fifo->source;
      if (gives->memory != nullptr) waiters_[gives->memory->id] = s;
      if (const auto at = producer.find(gives); fifo->depth > 0 && at != producer.end()) {
        tell(at->second);
      }
    }
  }
}

/// No member gives a token before a time up to which all steps are done.
void Component::settle_gives() {
  for (const Side& side : sides_) {
    if (!side.replay) continue;
    for (Gives* gives : side.replay->outputs) {
      if (gives != nullptr) gives->settled = &settled_;
    }
  }
}

}  // namespace fuseflow::engine
