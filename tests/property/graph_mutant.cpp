#include "graph_mutant.h"

#include <fmt/format.h>

#include <functional>
#include <utility>
#include <vector>

#include "nodes/rule.h"
#include "tensor/random.h"

namespace fuseflow::testing {
namespace {

class Mutation {
 public:
  Mutation(Program& program, Graph& graph, size_t node, Random& random)
      : program_(program),
        graph_(graph),
        node_(graph.nodes[node]),
        number_(node),
        random_(random) {}

  /// One of the changes that the node has; empty: it has none.
  std::string apply() {
    collect();
    if (changes_.empty()) return "";
    return changes_[random_.below(changes_.size())]();
  }

 private:
  using Change = std::function<std::string()>;
  void add(Change change) { changes_.push_back(std::move(change)); }

  void collect() {
    const NodeFields& fields = node_rule(node_.kind).fields;
    if (fields.op) add([this] { return other_operator(); });
    if (fields.reduction) {
      add([this] { return other_reduction(); });
      add([this] { return other_number(node_.init, "init"); });
    }
    if (node_.kind == NodeKind::filter) add([this] { return other_number(node_.init, "init"); });
    if (node_.level >= 0) add([this] { return other_level(); });
    if (node_.tensor >= 0) add([this] { return other_tensor(); });
    if (node_.kind == NodeKind::locate) {
      add([this] { return fmt::format("offset {}", node_.offset += random_.below(2) ? 1 : -1); });
    }
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      if (node_.inputs[i].is_immediate()) {
        add([this, i] { return other_number(node_.inputs[i].immediate, "operand"); });
      } else {
        add([this, i] { return other_stream(i); });
      }
    }
    if (node_.inputs.size() >= 2) add([this] { return swapped_inputs(); });
  }

  std::string other_operator() {
    std::vector<Op> alike;
    for (int op = 0; op < static_cast<int>(Op::count_); ++op) {
      const auto other = static_cast<Op>(op);
      if (other != node_.op && op_info(other).arity == op_info(node_.op).arity) {
        alike.push_back(other);
      }
    }
    if (alike.empty()) return "";
    const Op before = std::exchange(node_.op, alike[random_.below(alike.size())]);
    return fmt::format("{} is {}", op_info(before).name, op_info(node_.op).name);
  }

  std::string other_reduction() {
    const Reduction before = node_.reduction;
    while (node_.reduction == before) node_.reduction = static_cast<Reduction>(random_.below(5));
    if (random_.below(2) == 0) node_.init = identity(node_.reduction);
    return fmt::format("{} is {}, init {}", reduction_name(before), reduction_name(node_.reduction),
                       node_.init);
  }

  std::string other_number(float& number, const char* what) {
    const float before = number;
    const float others[] = {before + 1, before - 1, -before, before * 2, 0, 1};
    for (int attempt = 0; attempt < 8 && number == before; ++attempt) {
      number = others[random_.below(std::size(others))];
    }
    return number == before ? "" : fmt::format("{} {} is {}", what, before, number);
  }

  std::string other_level() {
    const int levels = program_.tensors[static_cast<size_t>(node_.tensor)].format.rank();
    if (levels < 2) return "";
    const int before = node_.level;
    while (node_.level == before) {
      node_.level = static_cast<int>(random_.below(static_cast<uint64_t>(levels)));
    }
    return fmt::format("level {} is {}", before, node_.level);
  }

  std::string other_tensor() {
    const Tensor& now = program_.tensors[static_cast<size_t>(node_.tensor)];
    std::vector<TensorId> alike;
    for (size_t t = 0; t < program_.tensors.size(); ++t) {
      const Tensor& other = program_.tensors[t];
      if (&other != &now && other.shape.size() == now.shape.size()) {
        alike.push_back(static_cast<TensorId>(t));
      }
    }
    if (alike.empty()) return "";
    node_.tensor = alike[random_.below(alike.size())];
    return fmt::format("%{} is %{}", now.name,
                       program_.tensors[static_cast<size_t>(node_.tensor)].name);
  }

  /// Replaces an input by another stream of the same kind and loops, from an earlier node; says
  /// what it did.
  std::string other_stream(size_t input) {
    const StreamId now = node_.inputs[input].stream;
    const Stream& before = graph_.streams[static_cast<size_t>(now)];
    std::vector<StreamId> alike;
    for (size_t s = 0; s < graph_.streams.size(); ++s) {
      const Stream& other = graph_.streams[s];
      const bool earlier = other.producer >= 0 && other.producer < static_cast<NodeId>(number_);
      if (static_cast<StreamId>(s) != now && earlier && other.kind == before.kind &&
          other.indices == before.indices) {
        alike.push_back(static_cast<StreamId>(s));
      }
    }
    if (alike.empty()) return "";
    node_.inputs[input].stream = alike[random_.below(alike.size())];
    return fmt::format("${} is ${}", before.name,
                       graph_.streams[static_cast<size_t>(node_.inputs[input].stream)].name);
  }

  std::string swapped_inputs() {
    const size_t i = random_.below(node_.inputs.size());
    const size_t j = random_.below(node_.inputs.size());
    if (i == j) return "";
    std::swap(node_.inputs[i], node_.inputs[j]);
    return fmt::format("inputs {} and {} are swapped", i, j);
  }

  Program& program_;
  Graph& graph_;
  Node& node_;
  size_t number_;
  Random& random_;
  std::vector<Change> changes_;
};

}  // namespace

std::string make_mutant(Program& program, uint64_t seed) {
  Random random(seed, 173);
  for (int attempt = 0; attempt < 100; ++attempt) {
    Region& region = program.regions[random.below(program.regions.size())];
    if (!region.graph || region.graph->nodes.empty() || region.graph->tiles) continue;
    const size_t node = random.below(region.graph->nodes.size());
    const std::string what = Mutation(program, *region.graph, node, random).apply();
    if (what.empty()) continue;
    return fmt::format("@{}, node {} ({}): {}", region.name, node,
                       node_kind_name(region.graph->nodes[node].kind), what);
  }
  return "";
}

}  // namespace fuseflow::testing
