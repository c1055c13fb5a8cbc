// Bounded: what is connected to what, before times are.
#include <algorithm>
#include <unordered_map>

#include "sim/timing/aliased_streams.h"
#include "sim/timing/bounded.h"

namespace fuseflow::engine {

Fifo& Bounded::add_fifo(Gives& gives, int64_t depth, int64_t latency) {
  Fifo& fifo = fifos_.emplace_back(gives, depth);
  fifo.latency = latency;
  return fifo;
}

/// Outputs of a node that are given in the same steps have the same times.
void Bounded::share_gives(const Node& node) {
  Gives* shared = nullptr;
  for (const StreamId stream : node.outputs) {
    if (stream < 0 || !outputs_[static_cast<size_t>(stream)].connected()) continue;
    if (shared == nullptr || !gives_together(node.kind)) shared = &gives_.emplace_back();
    outputs_of_[static_cast<size_t>(stream)] = shared;
    auto* record = outputs_[static_cast<size_t>(stream)].record;
    if (record != nullptr) shared->records.push_back(record);
  }
}

void Bounded::connect_streams(const std::vector<std::vector<std::unique_ptr<Port>>>& ports) {
  outputs_of_.resize(graph_.streams.size());
  inputs_.resize(graph_.nodes.size());
  consumers_.resize(graph_.streams.size());
  for (const Node& node : graph_.nodes) share_gives(node);
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    const std::vector<size_t> aliased = aliased_inputs(graph_, graph_.nodes[n]);
    std::vector<Fifo*> fifos(ports[n].size());
    for (size_t i = 0; i < ports[n].size(); ++i) {
      inputs_[n].push_back(nullptr);
      if (ports[n][i] == nullptr) continue;
      const auto stream = static_cast<size_t>(graph_.nodes[n].inputs[i].stream);
      if (aliased[i] == i) {
        fifos[i] = &add_fifo(*outputs_of_[stream], depth_of(stream), outputs_[stream].latency);
        inputs_[n].back() = fifos[i];
      } else {
        fifos[i] = fifos[aliased[i]];
      }
      consumers_[stream].push_back(fifos[i]);
    }
  }
}

int64_t Bounded::depth_of(size_t stream) const {
  const Node& node = graph_.nodes[static_cast<size_t>(graph_.streams[stream].producer)];
  return node.kind == NodeKind::buffer ? node.capacity : machine_.fifo_depth;
}

/// Requests in batches are never more than the port may have.
Fifo* Bounded::add_memory_fifo(bool write, bool in_batches) {
  MemoryPort& port = memory_ports_.emplace_back();
  port = {memory_.get(), static_cast<uint32_t>(memory_ports_.size() - 1), write, {}, in_batches};
  Gives& gives = gives_.emplace_back();
  gives.memory = &port;
  burst_fifos_.push_back(&add_fifo(gives, in_batches ? 0 : machine_.dram.outstanding, 0));
  return burst_fifos_.back();
}

/// One token an event of the writer; a load may wait for many.
void Bounded::add_row_fifo(const EngineNode& load, NodeReplay& replay) {
  const UnitTiming& writes = timings_[static_cast<size_t>(load.gate.writer())];
  Gives& gives = *writers_.at(load.gate.writer())->outputs[0];
  Fifo& rows = add_fifo(gives, 0, writes.latency_cycles);
  rows.peak_wanted = false;
  replay.inputs.push_back(&rows);
}

/// Of outputs that share their times one is given.
void Bounded::connect_outputs(const EngineNode& node, NodeReplay& replay) {
  for (const StreamId stream : node.node().outputs) {
    Gives* gives = stream < 0 ? nullptr : outputs_of_[static_cast<size_t>(stream)];
    const bool given =
        std::find(replay.outputs.begin(), replay.outputs.end(), gives) != replay.outputs.end();
    replay.outputs.push_back(given ? nullptr : gives);
  }
}

void Bounded::add_sides(EngineNode& node, int64_t start) {
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
    side.replay->inputs = s == 0 ? inputs_[static_cast<size_t>(node.id())] : between;
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
    if (side.last && node.gate.writer() >= 0) add_row_fifo(node, *side.replay);
    sides_.push_back(std::move(side));
  }
  if (writer || node.batched) add_feeds(node);
}

/// Bursts of a writer, or of a node that asks in batches: sides without steps of their own, that
/// only hand the addresses on.
void Bounded::add_feeds(EngineNode& node) {
  NodeReplay& replay = *sides_.back().replay;
  for (std::vector<uint64_t>& bursts : node.bursts) {
    Fifo* fifo = add_memory_fifo(node.written() != nullptr, node.batched.has_value());
    replay.outputs.push_back(fifo->source);
    if (node.batched) replay.inputs.push_back(fifo);
    Side feed;
    feed.bursts = &bursts;
    feed.port = fifo->source->memory;
    sides_.push_back(std::move(feed));
  }
}

/// Who may go on when a side has: those that take what it gives, and those that give what it takes.
void Bounded::find_neighbours() {
  std::unordered_map<const Gives*, size_t> producer;
  for (Fifo& fifo : fifos_) fifo.giver = fifo.taker = kNobody;
  waiters_.assign(memory_ports_.size(), kNobody);
  for (size_t s = 0; s < sides_.size(); ++s) {
    if (!sides_[s].replay) continue;
    for (const Gives* gives : sides_[s].replay->outputs) {
      producer[gives] = s;
      if (gives == nullptr) continue;
      for (Fifo* fifo : gives->readers) fifo->giver = s;
    }
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
      sides_[s].asks = sides_[s].asks || gives->memory != nullptr;
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

/// Sides whose tokens come from such sides only, and that wait for nobody to take what they give:
/// what memory does never reaches them, so they need no windows.
void Bounded::find_free() {
  std::unordered_map<const Gives*, bool> free;
  for (size_t s = 0; s < sides_.size(); ++s) {
    Side& side = sides_[s];
    if (!side.replay) continue;
    side.free = true;
    for (const Fifo* fifo : side.replay->inputs) {
      side.free = side.free && (fifo == nullptr || free[fifo->source]);
    }
    for (const Gives* gives : side.replay->outputs) {
      if (gives == nullptr) continue;
      side.free = side.free && gives->memory == nullptr &&
                  std::all_of(gives->readers.begin(), gives->readers.end(),
                              [](const Fifo* fifo) { return fifo->depth == 0; });
    }
    for (Gives* gives : side.replay->outputs) {
      free[gives] = side.free;
      if (gives != nullptr && !side.free) gives->settled = &settled_;
    }
  }
}

}  // namespace fuseflow::engine
