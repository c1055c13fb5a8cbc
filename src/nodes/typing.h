// What a typing rule may ask and do: the node at hand, the types of its inputs, and the spaces that
// it gives its outputs. A check that fails reports it in words and returns false; a rule that stops
// there leaves its outputs untyped.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "graph/spaces.h"
#include "nodes/rule.h"

namespace fuseflow {

class Typing {
 public:
  Typing(const Graph& graph, std::span<const GraphTensor> tensors, const GraphError& error);
  /// Streams of the same graph with untyped[stream] get the type that their node gives them.
  void infer(Graph& graph, const std::vector<bool>& untyped);
  /// Applies the rule of every node.
  Spaces run();

  // --- the node at hand

  const Node& node() const { return *node_; }
  size_t inputs() const { return node_->inputs.size(); }
  size_t outputs() const { return node_->outputs.size(); }
  StreamId in(size_t i) const { return node_->inputs[i].stream; }
  const Stream& stream(StreamId s) const { return g_.streams[s]; }
  const GraphTensor& tensor() const { return tensors_[node_->tensor]; }
  const GraphTensor& tensor(TensorId id) const { return tensors_[id]; }
  /// The node that opened the space of an input.
  const Node& opener(size_t input) const { return g_.nodes[out_.spaces[space(input)].opener]; }
  int64_t extent(int index) const { return g_.indices[index].extent; }
  const Spaces& spaces() const { return out_; }
  bool may_be_absent(size_t input) const { return out_.may_be_absent[in(input)]; }
  /// The loop whose coordinates a crd input holds (of a repeated one an outer loop).
  int loop_of_coordinates(size_t input) const;
  /// "$c_j (crd<i,j>)".
  std::string type(StreamId s) const;

  // --- spaces

  int space(size_t input) const { return out_.of_stream[in(input)]; }
  int parent(int space) const { return out_.spaces[space].parent; }
  int index(int space) const { return out_.spaces[space].index; }
  /// `outer` is `inner` or around it.
  bool around(int outer, int inner) const;

  // --- checks

  bool fail(const std::string& message);
  bool counts(size_t inputs, size_t outputs);
  bool output_count(size_t outputs);
  bool is_kind(size_t input, StreamKind kind);
  /// Every input lies where the kind's rule says (NodeRule::place). Checked for every node, before
  /// it gives an output or, if it gives none, after its rule; a rule that goes by the spaces of its
  /// inputs asks earlier, once their number is known to be right.
  bool placed();
  /// The input is a reference to the positions of `level` of the node's tensor (-1: the root).
  bool refers_to(size_t input, int level) { return refers_to(input, node_->tensor, level); }
  bool refers_to(size_t input, TensorId tensor, int level);
  /// The loop that the outputs say they open: the innermost index of the first that has a type; -1
  /// (reported) if it is in no loop, or none has a type.
  int declared_index();

  // --- opening spaces. `index` is the loop. The same arguments give the same space.

  /// Only this node opens it. `way` tells apart several that it opens below one space.
  int open(int under, int index, int way = 0);
  /// All coordinates 0 .. extent - 1.
  int open_counted(int under, int index, int64_t extent);
  /// The fibers of `inner`, which is below `outer`, moved below `kept`; -1 if it is not below. An
  /// aligned space is the same for all nodes that align, else it is this node's.
  int move_below(int inner, int outer, int kept, bool aligned);
  using Split = Spaces::Split;
  int open_copy(const Split& split);
  const Split* split_of(int space) const;
  /// The spaces of the copies of one loop inside a split one, as one loop below `under`.
  int open_merged(int under, const std::vector<int>& copies);

  // --- giving. What an output declares must be what it is given; one without a type gets it.

  void give(size_t port, StreamKind kind, int space);
  /// The output carries what stream `from` carries.
  void give_like(size_t port, StreamId from, int space, bool absent = false);
  /// References to the positions of the node's level.
  void give_ref(size_t port, int space, bool absent) {
    give_ref(port, node_->tensor, node_->level, space, absent);
  }
  void give_ref(size_t port, TensorId tensor, int level, int space, bool absent);
  /// References that a counter gives: to nothing stored.
  void give_counted_ref(size_t port, int space);

 private:
  /// Whether the input lies there; reported where it does not.
  bool lies(size_t input, InputPlace place);
  bool same_space(size_t i, size_t j);
  bool directly_below(size_t inner, size_t outer);
  bool nested_below(size_t inner, size_t outer);
  /// Whether both inputs are fibers of one loop below one space.
  bool same_loop(size_t i, size_t j);
  bool in_or_around(size_t outer, size_t inner);
  /// `input` is that copy of the split loop of which input `first` is the first.
  bool is_copy(size_t input, size_t first);
  /// The space `loops` loops around another; -1 beyond the root.
  int outwards(int space, int loops) const;
  /// What distinguishes spaces of one loop below one parent. All but `node` may be opened alike by
  /// several nodes.
  struct Opener {
    enum class Kind : uint8_t {
      node,     ///< node `which`; `way` tells apart several that it opens
      counted,  ///< every coordinate 0 .. which - 1
      aligned,  ///< the fibers of space `which` under other coordinates
      copy,     ///< of space `which`: `copy` of as many as `way` says, dealt out as it says
      merged,   ///< the which-th set of copies
    } by;
    int64_t which = 0;
    int64_t way = 0;
    int64_t copy = 0;
    auto operator<=>(const Opener&) const = default;
  };
  using Key = std::tuple<int, int, Opener>;
  int open_keyed(int under, int index, const Opener& opener);
  bool inputs_typed() const;
  bool untyped(StreamId s) const { return inferred_ != nullptr && (*untyped_)[s]; }
  bool same_positions(TensorId a, TensorId b, int level) const;
  std::string index_list(const std::vector<int>& indices) const;
  std::string position_text(TensorId tensor, int level) const;
  std::vector<int> path(int space) const;

  const Graph& g_;
  std::span<const GraphTensor> tensors_;
  const GraphError& error_;
  Spaces out_;
  std::map<Key, int> by_key_;
  std::map<std::vector<int>, int64_t> merges_;
  Graph* inferred_ = nullptr;  ///< null: every stream has a type
  const std::vector<bool>* untyped_ = nullptr;
  NodeId id_ = -1;
  const Node* node_ = nullptr;
  std::optional<bool> placed_;  ///< of the node at hand; empty: not asked yet
  bool failed_ = false;         ///< the node at hand
};

}  // namespace fuseflow
