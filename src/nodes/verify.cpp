#include "nodes/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "graph/tile_kernel.h"
#include "graph/tile_rows.h"
#include "graph/tiles.h"
#include "nodes/blocks.h"
#include "nodes/chain_check.h"
#include "nodes/kernel_check.h"
#include "nodes/rows_check.h"
#include "nodes/rule.h"
#include "nodes/spaces.h"
#include "nodes/subscripts.h"
#include "nodes/writes.h"

namespace fuseflow {

namespace {

class Verifier {
 public:
  Verifier(const Graph& graph, std::span<const GraphTensor> tensors, const GraphError& error)
      : g_(graph), tensors_(tensors), error_(error) {}

  /// `run` gives streams with untyped[stream] their types.
  void infer(Graph& graph, const std::vector<bool>& untyped) {
    inferred_ = &graph;
    untyped_ = &untyped;
  }

  void run() {
    check_names();
    check_producers();
    int phase = 0;
    for (NodeId n = 0; n < static_cast<NodeId>(g_.nodes.size()); ++n) {
      check_fields(n);
      check_inputs(n);
      const int next = g_.nodes[n].phase;
      if (next != phase && next != phase + 1) {
        fail(n, fmt::format("is in phase {} after a node of phase {}, expected phases 0, 1, 2.. in "
                            "order",
                            next, phase));
      }
      phase = std::max(phase, next);
    }
    check_row_phases();
    const auto tile_node = [](const Node& node) { return is_tile_node(node.kind); };
    if (!g_.tiles && std::any_of(g_.nodes.begin(), g_.nodes.end(), tile_node)) {
      fail(-1, "tile nodes need a line of tiles, e.g. `tiles [m, l, k] bytes=2`");
    }
    if (!sound_) return;
    if (g_.tiles) return check_tiles();
    const GraphError report = [this](NodeId n, std::string message) {
      sound_ = false;
      error_(n, std::move(message));
    };
    const Spaces spaces = inferred_ == nullptr
                              ? compute_spaces(g_, tensors_, report)
                              : infer_types(*inferred_, tensors_, *untyped_, report);
    const GraphError wrong = [this](NodeId n, const std::string& message) { fail(n, message); };
    if (sound_) check_writes(g_, tensors_, spaces, wrong);
    if (sound_) check_blocks(g_, tensors_, report);
  }

 private:
  void fail(NodeId n, const std::string& message) {
    sound_ = false;
    error_(n, n < 0 ? message : fmt::format("{}: {}", node_text(g_, tensors_, n), message));
  }

  void check_tiles() {
    for (size_t s = 0; inferred_ != nullptr && s < untyped_->size(); ++s) {
      if (!(*untyped_)[s]) continue;
      fail(g_.streams[s].producer,
           fmt::format("${} has no type, which streams of tiles need", g_.streams[s].name));
    }
    for (NodeId n = 0; n < static_cast<NodeId>(g_.nodes.size()); ++n) {
      const Node& node = g_.nodes[n];
      if (!node_rule(node.kind).fields->subscripts || node.tensor < 0) continue;
      const Format& format = tensors_[node.tensor].format;
      if (static_cast<int>(node.tile.subscripts.size()) != format.rank() || !format.all_dense()) {
        fail(n, fmt::format("expected a subscript for each of the {} dimensions of a dense tensor",
                            format.rank()));
      }
      const int64_t bytes = tensors_[node.tensor].element_bytes;
      if (node.tile.element_bytes != 0 && node.tile.element_bytes != bytes) {
        fail(n,
             fmt::format("has elements of {} bytes, expected bytes={}, as its tensor is declared",
                         node.tile.element_bytes, bytes));
      }
    }
    if (!sound_) return;
    const auto report = [this](NodeId n, std::string message) {
      sound_ = false;
      error_(n, std::move(message));
    };
    switch (tile_form(g_)) {
      case TileForm::chain:
        return verify_chain(g_, report);
      case TileForm::kernel:
        verify_kernel(g_, report);
        return sound_ && gathered_step(g_) > 0 ? check_gathered() : void();
      case TileForm::rows:
        return verify_rows(g_, report);
    }
  }

  /// What is gathered for one k is consecutive in memory: k is no dimension of the innermost level.
  void check_gathered() {
    const std::vector<int> dim_of = dims_of_digits(g_);
    for (NodeId n = 0; n < static_cast<NodeId>(g_.nodes.size()); ++n) {
      const Node& node = g_.nodes[n];
      const bool gathered = node.kind == NodeKind::tile_load && varies_along(g_, node)[kKernelK];
      if (!gathered || node.tile.subscripts.empty()) continue;
      const Format& format = tensors_[node.tensor].format;
      const TileSubscript& inner = node.tile.subscripts[format.mode_order.back()];
      const bool along_k = std::any_of(
          inner.terms.begin(), inner.terms.end(),
          [&](const auto& term) { return term.second != 0 && dim_of[term.first] == kKernelK; });
      if (!along_k) continue;
      fail(n, fmt::format("%{} is gathered by a dimension that its innermost level stores ({}), "
                          "expected another order of its levels",
                          tensors_[node.tensor].name, to_string(format)));
    }
  }

  bool valid_stream(StreamId s) const {
    return s >= 0 && static_cast<size_t>(s) < g_.streams.size();
  }

  void check_names() {
    std::set<std::string> names;
    for (const Stream& stream : g_.streams) {
      if (!names.insert(stream.name).second) {
        fail(stream.producer, fmt::format("stream ${} is defined twice", stream.name));
      }
      for (const int index : stream.indices) {
        if (index < 0 || static_cast<size_t>(index) >= g_.indices.size()) {
          fail(stream.producer,
               fmt::format("stream ${} is nested in an unknown loop", stream.name));
        }
      }
    }
    std::set<std::string> indices;
    for (const GraphIndex& index : g_.indices) {
      if (!indices.insert(index.name).second) {
        fail(-1, fmt::format("graph index {} is defined twice", index.name));
      }
      if (!g_.tiles && !index.tiling.digits.empty()) {
        fail(-1, fmt::format("graph index {} has digits, which need a line of tiles", index.name));
      }
      if (index.extent < 0)
        fail(-1, fmt::format("graph index {} has a negative extent", index.name));
    }
  }

  void check_producers() {
    std::vector<int> produced(g_.streams.size(), 0);
    for (NodeId n = 0; n < static_cast<NodeId>(g_.nodes.size()); ++n) {
      for (size_t port = 0; port < g_.nodes[n].outputs.size(); ++port) {
        const StreamId s = g_.nodes[n].outputs[port];
        if (!valid_stream(s)) {
          fail(n, "gives a stream that does not exist");
          continue;
        }
        ++produced[s];
        if (g_.streams[s].producer != n || g_.streams[s].port != static_cast<int>(port)) {
          fail(n, fmt::format("stream ${} names another producer", g_.streams[s].name));
        }
      }
    }
    for (size_t s = 0; s < produced.size(); ++s) {
      if (produced[s] != 1) {
        fail(-1, fmt::format("stream ${} has {} producers, expected one", g_.streams[s].name,
                             produced[s]));
      }
    }
  }

  void check_row_phases() {
    for (const int phase : g_.row_phases) {
      if (phase > 0 && phase < g_.phases()) continue;
      fail(-1, fmt::format("phase {} starts by rows, expected phases 1 to {} to do so", phase,
                           g_.phases() - 1));
    }
  }

  void check_fields(NodeId n) {
    const Node& node = g_.nodes[n];
    const NodeFields& fields = node_rule(node.kind).fields;
    const bool counts = fields.tensor_optional && node.tensor < 0;
    if (fields.tensor && !counts) {
      if (node.tensor < 0 || static_cast<size_t>(node.tensor) >= tensors_.size()) {
        return fail(n, "names no tensor");
      }
      const int rank = tensors_[node.tensor].format.rank();
      if (fields.level && (node.level < 0 || node.level >= rank)) {
        fail(n, rank == 0
                    ? fmt::format("%{} is a scalar and has no levels", tensors_[node.tensor].name)
                    : fmt::format("%{} has levels 0 to {}, got level {}",
                                  tensors_[node.tensor].name, rank - 1, node.level));
      }
      if (fields.other_level && !check_other_level(n)) return;
      if (fields.other_tensor) check_conversion(n);
    }
    if (fields.groups) check_groups(n, node);
    if (!node.strides.empty() && !fields.stride) fail(n, "has strides, which only locate has");
    if (node.capacity < 0) fail(n, "has a negative capacity");
    if (node.least < 0 || node.least > node.capacity) {
      fail(n, fmt::format("holds at least {} tokens, expected 0 to its capacity of {}", node.least,
                          node.capacity));
    }
  }

  void check_conversion(NodeId n) {
    const Node& node = g_.nodes[n];
    if (node.other_tensor < 0 || static_cast<size_t>(node.other_tensor) >= tensors_.size()) {
      return fail(n, "names no second tensor");
    }
    if (!is_conversion(g_)) {
      fail(n, "shares its graph with other nodes, expected it alone, without loops");
    }
    if (node.tensor == node.other_tensor) fail(n, "names one tensor twice, expected a copy of it");
  }

  /// The second level that a node reads.
  bool check_other_level(NodeId n) {
    const Node& node = g_.nodes[n];
    if (node.other_tensor < 0 || static_cast<size_t>(node.other_tensor) >= tensors_.size()) {
      fail(n, "names no second tensor");
      return false;
    }
    const GraphTensor& other = tensors_[node.other_tensor];
    const int rank = other.format.rank();
    if (node.other_level >= 0 && node.other_level < rank) return true;
    fail(n, rank == 0 ? fmt::format("%{} is a scalar and has no levels", other.name)
                      : fmt::format("%{} has levels 0 to {}, got level {}", other.name, rank - 1,
                                    node.other_level));
    return false;
  }

  void check_groups(NodeId n, const Node& node) {
    int64_t total = 0;
    for (const int group : node.groups) {
      if (group < 1) fail(n, "has an empty group of inputs");
      total += group;
    }
    if (total != static_cast<int64_t>(node.inputs.size())) {
      fail(n, "has groups that do not cover its inputs");
    }
  }

  void check_inputs(NodeId n) {
    const Node& node = g_.nodes[n];
    for (const Input& input : node.inputs) {
      if (input.is_immediate()) {
        if (!node_rule(node.kind).fields->immediates)
          fail(n, "has a number as input, expected a stream");
        continue;
      }
      if (!valid_stream(input.stream)) {
        fail(n, "takes a stream that does not exist");
        continue;
      }
      const Stream& stream = g_.streams[input.stream];
      if (stream.producer >= n || stream.producer < 0) {
        fail(n,
             fmt::format("takes ${} before it is given, expected its producer above", stream.name));
      } else if (g_.nodes[stream.producer].phase != node.phase) {
        fail(n, fmt::format("takes ${} of phase {} in phase {}, expected streams to stay in their "
                            "phase (phases exchange tensors)",
                            stream.name, g_.nodes[stream.producer].phase, node.phase));
      }
    }
  }

  const Graph& g_;
  std::span<const GraphTensor> tensors_;
  const GraphError& error_;
  Graph* inferred_ = nullptr;  ///< null: every stream has a type
  const std::vector<bool>* untyped_ = nullptr;
  bool sound_ = true;
};

}  // namespace

void verify_graph(const Graph& graph, std::span<const GraphTensor> tensors,
                  const GraphError& error) {
  Verifier(graph, tensors, error).run();
}

void complete_graph(Graph& graph, std::span<const GraphTensor> tensors,
                    const std::vector<bool>& untyped, const GraphError& error) {
  Verifier verifier(graph, tensors, error);
  verifier.infer(graph, untyped);
  verifier.run();
}

}  // namespace fuseflow
