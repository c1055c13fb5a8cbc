#include "exchange/read_graph.h"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <queue>

#include "exchange/node_reader.h"
#include "exchange/result_writers.h"
#include "ir/verify.h"
#include "support/error.h"
#include "support/text.h"

namespace fuseflow {

namespace {

using Operations = google::protobuf::RepeatedPtrField<comal::Operation>;

[[noreturn]] void reject(const comal::Operation& operation, const std::string& message) {
  throw Error(ExitCode::rejected, fmt::format("{}: {}", text_of(operation), message));
}

/// The operation that gives each stream; a stream has one, and one that takes it.
std::map<PortKey, int> find_producers(const Operations& operations, std::vector<Ports>& ports) {
  std::map<PortKey, int> producers;
  std::map<PortKey, int> consumers;
  for (int i = 0; i < operations.size(); ++i) {
    ports.push_back(ports_of(operations[i]));
    for (const PortKey& key : ports.back().outputs) {
      if (producers.emplace(key, i).second) continue;
      reject(operations[i], fmt::format("gives stream {}, which {} gives too", key.id,
                                        text_of(operations[producers[key]])));
    }
    for (const PortKey& key : ports.back().inputs) {
      if (consumers.emplace(key, i).second) continue;
      reject(operations[i], fmt::format("takes stream {}, which {} takes too, expected a broadcast",
                                        key.id, text_of(operations[consumers[key]])));
    }
  }
  return producers;
}

/// Producers before consumers, else as they stand.
std::vector<int> sorted(const Operations& operations) {
  std::vector<Ports> ports;
  const std::map<PortKey, int> producers = find_producers(operations, ports);
  std::vector<int> missing(ports.size(), 0);
  std::vector<std::vector<int>> consumers(ports.size());
  const auto wait_for = [&](int operation, const PortKey& key) {
    const auto found = producers.find(key);
    if (found == producers.end()) {
      reject(operations[operation], fmt::format("takes stream {}, which nothing gives", key.id));
    }
    ++missing[static_cast<size_t>(operation)];
    consumers[static_cast<size_t>(found->second)].push_back(operation);
  };
  for (int i = 0; i < operations.size(); ++i) {
    for (const PortKey& key : ports[static_cast<size_t>(i)].inputs) wait_for(i, key);
    for (const PortKey& key : ports[static_cast<size_t>(i)].looked_at) wait_for(i, key);
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < operations.size(); ++i) {
    if (missing[static_cast<size_t>(i)] == 0) ready.push(i);
  }
  std::vector<int> order;
  for (; !ready.empty();) {
    order.push_back(ready.top());
    ready.pop();
    for (const int consumer : consumers[static_cast<size_t>(order.back())]) {
      if (--missing[static_cast<size_t>(consumer)] == 0) ready.push(consumer);
    }
  }
  if (order.size() == ports.size()) return order;
  int waits = 0;
  while (missing[static_cast<size_t>(waits)] == 0) ++waits;
  reject(operations[waits], "waits for what it gives");
}

std::string free_name(const Program& program, const std::string& wanted) {
  const auto taken = [&](const std::string& name) {
    for (const Region& region : program.regions) {
      if (region.name == name) return true;
    }
    return false;
  };
  const std::string base = wanted.empty() ? "graph" : wanted;
  std::string name = base;
  for (int n = 2; taken(name); ++n) name = fmt::format("{}_{}", base, n);
  return name;
}

Region read_region(const comal::ComalGraph& graph, TensorTable& tensors, const Program& program) {
  tensors.begin_graph(graph);
  GraphBuilder builder;
  for (const comal::Loop& loop : graph.loops()) builder.fix_extent(loop.name(), loop.extent());
  NodeReader reader(builder, tensors);
  const Operations& operations = graph.graph().operators();
  if (operations.empty()) throw Error(ExitCode::rejected, "a graph without operations");
  for (const int i : sorted(operations)) reader.read(operations[i]);
  add_results(builder, tensors, reader.writes());
  Region region;
  region.name = free_name(program, graph.graph().name());
  region.graph = builder.finish();
  return region;
}

/// Errors without a place are about the file.
[[noreturn]] void rethrow_at(const std::string& path, const Error& error) {
  std::vector<Diagnostic> diagnostics = error.diagnostics();
  for (Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.where.file.empty()) diagnostic.where = Location{path};
  }
  throw Error(error.code(), std::move(diagnostics));
}

}  // namespace

Program read_graphs(const std::vector<NamedGraph>& graphs, const std::string& data) {
  Program program;
  TensorTable tensors(program, data);
  for (const NamedGraph& named : graphs) {
    if (program.name.empty()) program.name = named.graph.name();
    try {
      program.regions.push_back(read_region(named.graph, tensors, program));
      verify(program);
    } catch (const Error& error) {
      rethrow_at(named.path, error);
    }
  }
  return program;
}

}  // namespace fuseflow
