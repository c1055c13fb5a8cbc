#include "sim/timing/unbounded.h"

#include <algorithm>

#include "resources/resources.h"
#include "sim/timing/aliased_streams.h"

namespace fuseflow::engine {

Unbounded::Unbounded(const Graph& graph, const Machine& machine, std::vector<Output>& outputs,
                     NodePorts& ports)
    : graph_(graph),
      machine_(machine),
      outputs_(outputs),
      ports_(ports),
      watches_(graph.nodes.size()),
      buffers_(graph.nodes.size()),
      credits_(graph.nodes.size()),
      clocks_(graph.nodes.size()) {}

void Unbounded::connect(const std::vector<bool>& strict) {
  for (size_t n = 0; n < graph_.nodes.size(); ++n) watch_inputs(n);
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    connect_buffer(n, n < strict.size() && strict[n]);
  }
  for (size_t n = 0; n < watches_.size(); ++n) {
    for (size_t i = 0; i < watches_[n].size(); ++i) {
      PortWatch* watch = watches_[n][i].get();
      if (watch == nullptr || !watch->wanted()) continue;
      ports_[n][i]->observer = watch;
      ports_[n][i]->frees_producer = watch->credits != nullptr;
    }
  }
}

/// Of several streams that hold the same one is measured.
void Unbounded::watch_inputs(size_t n) {
  const std::vector<size_t> aliased = aliased_inputs(graph_, graph_.nodes[n]);
  for (size_t i = 0; i < ports_[n].size(); ++i) {
    watches_[n].push_back(nullptr);
    if (ports_[n][i] == nullptr) continue;
    watches_[n].back() = std::make_unique<PortWatch>();
    if (aliased[i] == i) continue;
    watches_[n][i]->measured = false;
    watches_[n][i]->like = watches_[n][aliased[i]].get();
  }
}

void Unbounded::connect_buffer(size_t n, bool strict) {
  const Node& node = graph_.nodes[n];
  if (node.kind != NodeKind::buffer || node.capacity <= 0 || node.outputs.empty()) return;
  Output& output = outputs_[static_cast<size_t>(node.outputs[0])];
  if (output.ports.empty()) return;
  const Port& input = *ports_[n][0];
  // A buffer before this one has to know when this one really takes.
  strict = strict || graph_.nodes[static_cast<size_t>(input.producer)].kind == NodeKind::buffer;
  if (strict) {
    credits_[n] = std::make_unique<Credits>(node.capacity, output.ports.size());
  } else {
    const UnitTiming& timing = machine_.timing(unit_class(node.kind));
    buffers_[n] =
        std::make_unique<BufferModel>(node.capacity, timing.interval_cycles, timing.latency_cycles,
                                      input.latency, output.ports.size());
    buffers_[n]->record = output.record;
    watches_[n][0]->measured = false;
  }
  for (size_t c = 0; c < output.ports.size(); ++c) {
    const auto consumer = static_cast<size_t>(output.ports[c]->consumer);
    const auto& inputs = ports_[consumer];
    const auto at = std::find_if(inputs.begin(), inputs.end(),
                                 [&](const auto& port) { return port.get() == output.ports[c]; });
    PortWatch& watch = *watches_[consumer][static_cast<size_t>(at - inputs.begin())];
    watch.buffer = buffers_[n].get();
    watch.credits = credits_[n].get();
    watch.consumer = c;
    if (!strict) watch.measured = false;
  }
}

void Unbounded::start_phase(const std::vector<std::unique_ptr<EngineNode>>& nodes, int64_t start) {
  for (auto& clock : clocks_) clock.reset();
  for (const auto& node : nodes) {
    const auto n = static_cast<size_t>(node->id());
    clocks_[n] = std::make_unique<BatchClock>(node->interval(), start);
    clocks_[n]->buffer = buffers_[n].get();
    clocks_[n]->credits = credits_[n].get();
    node->clock = clocks_[n].get();
  }
}

void Unbounded::note_activity(std::vector<Activity>& activity, std::vector<Activity>& stalls) {
  for (size_t n = 0; n < clocks_.size(); ++n) {
    if (clocks_[n] == nullptr) continue;
    // The real steps of a bounded buffer are known later.
    BufferModel* buffer = buffers_[n].get();
    (buffer == nullptr ? clocks_[n]->activity : buffer->activity) = &activity[n];
    (buffer == nullptr ? clocks_[n]->stalls : buffer->stalls) = &stalls[n];
  }
}

bool Unbounded::some_too_late() const {
  return std::any_of(buffers_.begin(), buffers_.end(),
                     [](const auto& buffer) { return buffer != nullptr && buffer->too_late(); });
}

void Unbounded::collect_too_late(std::vector<bool>& strict) const {
  strict.resize(buffers_.size());
  for (size_t n = 0; n < buffers_.size(); ++n) {
    if (buffers_[n] != nullptr && buffers_[n]->too_late()) strict[n] = true;
  }
}

bool Unbounded::any_strict() const {
  return std::any_of(credits_.begin(), credits_.end(),
                     [](const auto& credits) { return credits != nullptr; });
}

void Unbounded::fill(NodeId node, NodeStats& stats) const {
  const auto& buffer = buffers_[static_cast<size_t>(node)];
  if (buffer != nullptr) buffer->fill(stats);
}

void Unbounded::fill_peaks(std::vector<StreamStats>& streams) const {
  for (size_t n = 0; n < watches_.size(); ++n) {
    for (size_t i = 0; i < watches_[n].size(); ++i) {
      if (watches_[n][i] == nullptr) continue;
      StreamStats& stats = streams[static_cast<size_t>(graph_.nodes[n].inputs[i].stream)];
      stats.peak = std::max(stats.peak, watches_[n][i]->peak());
    }
    if (buffers_[n] == nullptr) continue;
    StreamStats& stats = streams[static_cast<size_t>(graph_.nodes[n].inputs[0].stream)];
    stats.peak = std::max(stats.peak, buffers_[n]->input_peak());
  }
}

int64_t Unbounded::operations() const {
  uint64_t count = 0;
  for (size_t n = 0; n < clocks_.size(); ++n) {
    if (clocks_[n] == nullptr) continue;
    count += clocks_[n]->timing_steps();
    if (buffers_[n] != nullptr) count += buffers_[n]->timing_steps();
  }
  return static_cast<int64_t>(count);
}

}  // namespace fuseflow::engine
