// What a node kind is: everything that passes, verifier and estimate may know of it. Each kind has
// a rule in src/nodes/KIND.cpp, or the file of its family, and a row in graph/node_kinds.h. Code
// that needs to know what a kind does asks its rule instead of listing kinds. Meaning and timing:
// ir-spec/nodes.md, ir-spec/timing.md.
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "graph/node_fields.h"
#include "machine/unit_class.h"
#include "nodes/numbers.h"

namespace fuseflow {

class BlockCheck;
class BlockRules;
class FiberOrigins;
class ShapingInputs;
class Typing;

/// A part that every rule must state: it has no default, so a rule without it does not compile.
template <typename T>
class Required {
 public:
  template <typename U>
  requires std::convertible_to<U, T>
  constexpr Required(U&& value) : value_(std::forward<U>(value)) {}  // NOLINT: reads as the part
  constexpr operator const T&() const { return value_; }             // NOLINT
  constexpr const T& operator*() const { return value_; }
  constexpr const T* operator->() const { return &value_; }

 private:
  T value_;
};

/// Where an input's space lies, seen from that of another input. Executors go through the inputs of
/// a node in step and rely on it, so the verifier checks it for every input of every node.
struct InputPlace {
  enum class Relation : uint8_t {
    anywhere,        ///< nothing is expected: it is what others are measured against
    same,            ///< the same space
    directly_below,  ///< one loop more, over the elements of the other
    below,           ///< one or more loops more
    around,          ///< the same space, or one around it
    beside,          ///< the same loop below the same space, opened by any node
    copy,            ///< `order` loops inside another copy of one split, the one of its position
  };
  Relation is = Relation::anywhere;
  size_t of = 0;  ///< the other input
};

/// What a kind is for. Pictures have a colour for each.
enum class NodeFamily : uint8_t {
  root,
  read,     ///< reads a stored tensor
  move,     ///< gives on the tokens that it takes
  join,     ///< merges coordinates of several groups
  compute,  ///< makes values
  reduce,   ///< ends a loop
  drop,     ///< leaves elements out
  write,    ///< stores a tensor
  split,    ///< deals out to parallel copies, or collects from them
  convert,  ///< stores a tensor in another format
  // The others are for graphs of tiles (graph/tiles.h).
  tile_load,
  tile_store,
  tile_product,
  tile_link,
};

/// What distinguishes joins: which of the coordinates that they meet they keep.
struct JoinRule {
  /// Whether a coordinate is kept that `having` of the groups have; `first`: the first group does.
  Required<bool (*)(size_t having, size_t groups, bool first)> keeps;
  /// The probability that a coordinate is kept, from that of each group having it.
  Required<double (*)(std::span<const double> groups)> chance;
  /// The first group whose payloads may be absent; kNeverAbsent: none's.
  Required<size_t> absent_from;
  /// The coordinates stay those of the first group, in its space.
  Required<bool> in_first_space;
  /// The join goes through the words of bitvector levels instead of comparing coordinates.
  Required<bool> by_words;
};
inline constexpr size_t kNeverAbsent = SIZE_MAX;

/// What the outputs of a node wait for beside the tokens that they are made of. Where paths meet
/// again this decides which streams need buffers (lower/stream_waits.h).
struct NodeWaits {
  /// A fiber of which the node keeps nothing gives no token before its end.
  Required<bool> selects;
  /// The end of an empty fiber needs the next token of the outer stream, below which it is.
  Required<bool> looks_ahead;
  /// Whether input `a` may be taken while input `b` is silent: they need not move in step.
  Required<bool (*)(const Node& node, size_t a, size_t b)> apart;
};

/// What a node keeps itself, as many as its capacity: memory that is priced and limited.
enum class KeptState : uint8_t {
  nothing,
  tokens,   ///< as they come
  entries,  ///< a value and the coordinates of its `order` loops
};

/// What a node becomes in a file of Comal or SAM (src/exchange).
struct ExchangeForm {
  bool extension = false;       ///< where no operation of theirs says what a node does
  bool stays_in_space = false;  ///< gives streams of the space of its first (`repeat`: last) input
  std::string_view refused = {};  ///< why it has no form; empty: it has one
};

/// Where the inputs of a node may lie is its `place`. Three parts describe what flows through it;
/// of a filter (value, crd, payloads..), say:
/// - carried: the input whose payloads an output has; output `port` has those of input port + 1.
/// - origins: where the fibers of an output come from; the filter computes new ones.
/// - shaping: the inputs that decide about fibers further down; a carried input does if its output
///   does, and the values do not, since they cannot be counted (`by_values`).
/// Two parts expect how long fibers are: `elements` for a quick count from extents and numbers of
/// entries (lower, passes), `fiber` where statistics of each loop are known (estimate).
struct NodeRule {
  Required<std::string_view> name;  ///< in the text
  Required<NodeFields> fields;
  Required<NodeFamily> family;
  Required<std::optional<UnitClass>> unit;  ///< none: it runs on cores, not on units
  /// Checks number and kinds of the inputs and gives each output its space (typing.h).
  Required<void (*)(Typing&)> typing;
  /// The input whose payloads output `port` carries on; -1: it makes new ones.
  Required<int (*)(const Node& node, size_t port)> carried;
  /// The loops that the values of a val output extend over (blocks.h).
  Required<std::vector<int> (*)(const BlockRules&, const Node& node, size_t port)> block;
  /// What else blocks must be.
  Required<void (*)(const BlockCheck&)> check_block;
  Required<const JoinRule*> join;  ///< null: not a join
  Required<NodeWaits> waits;
  /// Which elements its outputs have depends on values, not on coordinates alone.
  Required<bool> by_values;
  Required<KeptState> holds;

  // What shapes fibers (fibers.h).
  Required<void (*)(const Node& node, FiberOrigins&)> origins;
  Required<void (*)(const Node& node, ShapingInputs&)> shaping;

  // What follows from structural numbers (numbers.h).
  /// The average fiber that the node makes (FiberOrigins::computed) of its `loop`-th loop.
  Required<Fiber (*)(const Node& node, FiberNumbers&, int loop)> fiber;
  /// Expected elements of each output.
  Required<void (*)(const Node& node, const ElementNumbers&, std::span<Elements> outputs)> elements;
  Required<StepCounts (*)(const NodeNumbers&)> steps;
  /// FLOPs for `taken` payloads of the last input, which give `given` of the last output.
  Required<double (*)(const Graph& graph, const Node& node, double taken, double given)> flops;
  Required<ByteCounts (*)(const NodeNumbers&)> bytes;

  // What executors rely on, and the verifier checks.
  /// Where an input's space lies. Asked once the number of inputs is known to be right; of streams.
  Required<InputPlace (*)(const Node& node, size_t input)> place;

  Required<ExchangeForm> exchange;
};

const NodeRule& node_rule(NodeKind kind);
const char* node_kind_name(NodeKind kind);
std::optional<NodeKind> find_node_kind(std::string_view name);
std::vector<std::string> node_kind_names();

/// Null: not a join.
inline const JoinRule* join_rule(NodeKind kind) {
  return node_rule(kind).join;
}
inline bool reads_tensor(NodeKind kind) {
  return *node_rule(kind).family == NodeFamily::read;
}
inline bool writes_tensor(NodeKind kind) {
  return *node_rule(kind).family == NodeFamily::write;
}
/// Whether a node reads a tensor's data, through streams or as a whole.
inline bool loads_data(NodeKind kind) {
  const NodeFamily family = node_rule(kind).family;
  return family == NodeFamily::read || family == NodeFamily::tile_load ||
         family == NodeFamily::convert;
}
inline bool stores_result(NodeKind kind) {
  const NodeFamily family = node_rule(kind).family;
  return family == NodeFamily::write || family == NodeFamily::tile_store ||
         family == NodeFamily::convert;
}
/// A node of graphs of tiles alone.
inline bool is_tile_node(NodeKind kind) {
  return !node_rule(kind).unit->has_value();
}
inline bool joins(NodeKind kind) {
  return *node_rule(kind).family == NodeFamily::join;
}
/// A left join: it stays in the space of its first group.
inline bool joins_in_first_space(NodeKind kind) {
  const JoinRule* join = join_rule(kind);
  return join != nullptr && join->in_first_space;
}
inline bool reduces(NodeKind kind) {
  return *node_rule(kind).family == NodeFamily::reduce;
}
/// Gives values that it works out itself.
inline bool makes_values(NodeKind kind) {
  return *node_rule(kind).family == NodeFamily::compute || reduces(kind);
}

}  // namespace fuseflow
