#include "exchange/read_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "exchange/node_reader.h"
#include "exchange/result_writers.h"
#include "ir/verify.h"
#include "support/dependency_order.h"
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
std::vector<size_t> sorted(const Operations& operations) {
  std::vector<Ports> ports;
  const std::map<PortKey, int> producers = find_producers(operations, ports);
  std::vector<std::vector<size_t>> needs(ports.size());
  for (size_t i = 0; i < ports.size(); ++i) {
    for (const auto* keys : {&ports[i].inputs, &ports[i].looked_at}) {
      for (const PortKey& key : *keys) {
        const auto found = producers.find(key);
        if (found == producers.end()) {
          reject(operations[static_cast<int>(i)],
                 fmt::format("takes stream {}, which nothing gives", key.id));
        }
        needs[i].push_back(static_cast<size_t>(found->second));
      }
    }
  }
  std::vector<size_t> order = dependency_order(needs);
  const size_t waits = first_left_out(order, needs.size());
  if (waits < needs.size()) reject(operations[static_cast<int>(waits)], "waits for what it gives");
  return order;
}

/// A level is looked up below the one that is around it.
TensorTable::LevelOrders level_orders(const Operations& operations,
                                      const std::vector<size_t>& order) {
  TensorTable::LevelOrders orders;
  for (const size_t i : order) {
    const comal::Operation& operation = operations[static_cast<int>(i)];
    if (!operation.has_fiber_lookup()) continue;
    const auto dimension =
        static_cast<int>(std::min<uint64_t>(operation.fiber_lookup().mode(), 64));
    std::vector<int>& known = orders[operation.fiber_lookup().tensor()];
    if (std::find(known.begin(), known.end(), dimension) == known.end()) known.push_back(dimension);
  }
  return orders;
}

std::string free_name(const Program& program, const std::string& wanted) {
  const auto taken = [&](const std::string& name) {
    return std::any_of(program.regions.begin(), program.regions.end(),
                       [&](const Region& region) { return region.name == name; });
  };
  return unused_name(wanted.empty() ? "graph" : wanted, "_", 2, taken);
}

Region read_region(const comal::ComalGraph& graph, TensorTable& tensors, const Program& program) {
  GraphAssembler builder;
  for (const comal::Loop& loop : graph.loops()) builder.fix_extent(loop.name(), loop.extent());
  NodeReader reader(builder, tensors, graph.loops().empty());
  const Operations& operations = graph.graph().operators();
  if (operations.empty()) throw Error(ExitCode::rejected, "a graph without operations");
  const std::vector<size_t> order = sorted(operations);
  tensors.begin_graph(graph, level_orders(operations, order));
  for (const size_t i : order) reader.read(operations[static_cast<int>(i)]);
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
