// WorkerPool: which thread owns which nodes, and the moves that this takes.
#include "sim/threads/worker_pool.h"

namespace fuseflow::engine {

namespace {

// Nanoseconds for what passes between threads: a token's copy, and its first reading; the same for
// a chunk. As measured, between the slowest and the fastest that the project's machine has shown.
constexpr double kGiveToken = 0.2;
constexpr double kTakeToken = 0.2;
constexpr double kToEncode = 0.3;  // of that, where short fibers are runs
constexpr double kAsRuns = 0.05;   // the same, where they come as run lengths
constexpr double kPassChunk = 300;

/// What of an output's tokens crosses between threads.
double passed(const Node& node, size_t o, const Output& output) {
  if (output.gives_run_length) return kAsRuns;
  const bool runs = node.kind == NodeKind::repeat || (node.kind == NodeKind::scan && o == 1);
  return runs ? kToEncode : 1;
}

}  // namespace

std::vector<int> WorkerPool::scattered(int parts) {
  ++divisions_;
  std::vector<int> part(group_count_);
  for (size_t i = 0; i < part.size(); ++i) {
    part[i] = static_cast<int>((i + divisions_) % static_cast<size_t>(parts));
  }
  return part;
}

/// What was measured since the last division; forgets half of it.
Workload WorkerPool::workload() {
  Workload workload;
  workload.node.assign(group_count_, 0);
  double known = 0;
  for (size_t i = 0; i < nodes_.size(); ++i) known += states_[i].work;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    workload.node[static_cast<size_t>(group_[i])] += known > 0 ? states_[i].work : 1;
    states_[i].work /= 2;
    for (size_t o = 0; o < nodes_[i]->outputs.size(); ++o) {
      const Output* output = nodes_[i]->outputs[o];
      if (output == nullptr) continue;
      Workload::Net net{group_[i], {}, 0, 0};
      for (const Port* port : output->ports) {
        const int place = position_[static_cast<size_t>(port->consumer)];
        if (place >= 0) net.to.push_back(group_[static_cast<size_t>(place)]);
      }
      const auto tokens = static_cast<double>(output->tokens.load() - given_[i][o]);
      given_[i][o] += static_cast<int64_t>(tokens / 2);
      const double chunks = tokens / chunk_;
      const double crosses = tokens * passed(nodes_[i]->node(), o, *output);
      net.giving = kGiveToken * crosses + kPassChunk * chunks;
      net.taking = kTakeToken * crosses + kPassChunk * chunks;
      workload.nets.push_back(std::move(net));
    }
  }
  return workload;
}

/// `part_of`: the thread of each group.
void WorkerPool::assign(const std::vector<int>& part_of) {
  std::vector<int> part;  // by place
  for (const int group : group_) part.push_back(part_of[static_cast<size_t>(group)]);
  find_feeders(part);
  for (const auto& worker : workers_) worker->nodes.clear();
  for (size_t i = 0; i < part.size(); ++i) {
    states_[i].owner = part[i];
    states_[i].stuck = false;
    Worker& owner = *workers_[static_cast<size_t>(part[i])];
    coalesce_ports(*nodes_[i], few_, &owner.coalescer);
    owner.nodes.push_back(static_cast<int>(i));
  }
  for (size_t i = 0; i < part.size(); ++i) {
    for (Output* output : nodes_[i]->outputs) {
      if (output == nullptr) continue;
      output->copier = nullptr;
      for (Port* port : output->ports) {
        const int place = position_[static_cast<size_t>(port->consumer)];
        port->import();
        port->elsewhere = place >= 0 && part[static_cast<size_t>(place)] != part[i];
        if (port->elsewhere) output->copier = &workers_[static_cast<size_t>(part[i])]->copier;
      }
    }
  }
}

void WorkerPool::find_feeders(const std::vector<int>& part) {
  for (size_t i = 0; i < part.size(); ++i) states_[i].feeds = false;
  for (bool found = true; found;) {
    found = false;
    for (size_t i = part.size(); i-- > 0;) {
      if (states_[i].feeds || !feeds(i, part)) continue;
      states_[i].feeds = found = true;
    }
  }
}

/// Whether its tokens go to another thread's node, or to one that feeds another thread.
bool WorkerPool::feeds(size_t place, const std::vector<int>& part) const {
  const auto goes = [&](int neighbour) {
    const int to = position_[static_cast<size_t>(neighbour)];
    if (to < 0) return false;
    return part[static_cast<size_t>(to)] != part[place] || states_[static_cast<size_t>(to)].feeds;
  };
  for (const Output* output : nodes_[place]->outputs) {
    if (output == nullptr) continue;
    for (const Port* port : output->ports) {
      if (goes(port->consumer)) return true;
    }
  }
  return false;
}

}  // namespace fuseflow::engine
