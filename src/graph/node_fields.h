// The fields of Node in one list. Their text (ir), fingerprints, keys of equal nodes and what
// copies have in common (graph/graph_key.h) are made from it. A field of Node without a row does
// not compile; one with a row is right in all of them.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "graph/graph.h"

namespace fuseflow {

/// The fields of Node that a kind uses, in the text and in the data.
struct NodeFields {
  bool tensor = false;
  bool tensor_optional = false;  ///< without one the node counts
  bool level = false;
  bool other_level = false;   ///< of another tensor, or the same
  bool other_tensor = false;  ///< another tensor as a whole
  bool op = false;
  bool reduction = false;
  bool order = false;
  bool groups = false;
  bool init = false;
  bool offset = false;
  bool stride = false;  ///< and strides
  bool capacity = false;
  bool least = false;
  bool contract = false;
  bool split = false;       ///< contiguous
  bool inner = false;       ///< order, as an attribute
  bool immediates = false;  ///< numbers as inputs
  bool subscripts = false;
  bool branch = false;
  bool held = false;
  bool element_bytes = false;
  bool by_threads = false;
};

/// What the whole numbers of a field name.
enum class Names : uint8_t { nothing, tensor, stream, loop };

/// What two nodes that differ in a field differ in.
enum class Differ : uint8_t {
  in_nothing,    ///< they are equal
  among_copies,  ///< in what they do, but copies of one node may differ so
  in_work,       ///< in what they do
};

/// Of a field, and of its text where it is an attribute: `name=value` after the inputs, of kinds
/// that use it, where it is not the default.
struct FieldRule {
  std::string_view name;
  Differ differ = Differ::in_work;
  bool NodeFields::*used = nullptr;  ///< null: every kind may have it
  std::string_view what = {};        ///< a value, in messages
  std::string_view example = {};
  int64_t least = std::numeric_limits<int64_t>::min();
  int64_t most = std::numeric_limits<int64_t>::max();
  std::string_view no = {}, yes = {};  ///< the two values of a bool
};

template <Names kNames, bool kAttribute, typename Member>
struct NodeField {
  static constexpr Names names = kNames;
  static constexpr bool is_attribute = kAttribute;
  Member member;  ///< of Node, or of TileFields
  FieldRule rule;

  constexpr bool used_by(const NodeFields& kind) const {
    return rule.used == nullptr || kind.*rule.used;
  }
};

/// A field with a place of its own in the text (ir/print.cpp, ir/graph_parser.cpp).
template <Names kNames = Names::nothing, typename Member>
constexpr NodeField<kNames, false, Member> placed(Member member, std::string_view name,
                                                  Differ differ = Differ::in_work) {
  return {member, {.name = name, .differ = differ}};
}
template <Names kNames = Names::nothing, typename Member>
constexpr NodeField<kNames, true, Member> attribute(Member member, FieldRule rule) {
  return {member, rule};
}

/// Attributes stand in the text in this order.
inline constexpr auto kNodeFields = std::make_tuple(
    placed(&Node::kind, "kind"), placed<Names::stream>(&Node::inputs, "inputs"),
    placed<Names::stream>(&Node::outputs, "outputs", Differ::among_copies),
    placed<Names::tensor>(&Node::tensor, "tensor"), placed(&Node::level, "level"),
    placed<Names::tensor>(&Node::other_tensor, "other tensor"),
    placed(&Node::other_level, "other level"), placed(&Node::op, "op"),
    placed(&Node::reduction, "reduction"), placed(&Node::groups, "groups"),
    placed(&Node::phase, "phase"), placed(&TileFields::subscripts, "subscripts"),
    attribute(&Node::init,
              {.name = "init", .used = &NodeFields::init, .what = "a number", .example = "init=0"}),
    attribute(&Node::offset, {.name = "offset",
                              .used = &NodeFields::offset,
                              .what = "an offset",
                              .example = "offset=-1"}),
    attribute(
        &Node::stride,
        {.name = "stride", .used = &NodeFields::stride, .what = "a stride", .example = "stride=2"}),
    attribute(&Node::strides, {.name = "strides",
                               .used = &NodeFields::stride,
                               .what = "a stride",
                               .example = "strides=[2, 1]"}),
    attribute(&Node::capacity, {.name = "capacity",
                                .differ = Differ::among_copies,
                                .used = &NodeFields::capacity,
                                .what = "a capacity",
                                .example = "capacity=16",
                                .least = 0}),
    attribute(&Node::least, {.name = "least",
                             .differ = Differ::among_copies,
                             .used = &NodeFields::least,
                             .what = "tokens",
                             .example = "least=16",
                             .least = 0}),
    attribute<Names::loop>(&Node::contract, {.name = "contract",
                                             .used = &NodeFields::contract,
                                             .what = "an index",
                                             .example = "contract=[k]"}),
    // Of accumulate it stands after the reduction instead.
    attribute(&Node::order, {.name = "inner",
                             .used = &NodeFields::inner,
                             .what = "the loops inside the split one",
                             .example = "inner=1",
                             .least = 0,
                             .most = 64}),
    attribute(&Node::contiguous, {.name = "split",
                                  .used = &NodeFields::split,
                                  .what = "cyclic or contiguous",
                                  .example = "split=contiguous",
                                  .no = "cyclic",
                                  .yes = "contiguous"}),
    attribute(&TileFields::branch, {.name = "branch",
                                    .used = &NodeFields::branch,
                                    .what = "a branch",
                                    .example = "branch=0",
                                    .least = 0,
                                    .most = 1}),
    // In registers, scratchpad, linked scratchpads, global memory.
    attribute(&TileFields::held, {.name = "held",
                                  .used = &NodeFields::held,
                                  .what = "bytes",
                                  .example = "held=[1024, 0, 0, 0]",
                                  .least = 0,
                                  .most = int64_t{1} << 50}),
    attribute(&TileFields::element_bytes, {.name = "bytes",
                                           .used = &NodeFields::element_bytes,
                                           .what = "bytes of an element",
                                           .example = "bytes=4",
                                           .least = 1,
                                           .most = 8}),
    attribute(&TileFields::by_threads, {.name = "by",
                                        .used = &NodeFields::by_threads,
                                        .what = "copies or threads",
                                        .example = "by=threads",
                                        .no = "copies",
                                        .yes = "threads"}),
    attribute<Names::tensor>(
        &Node::statement,
        {.name = "from", .differ = Differ::in_nothing, .what = "a tensor", .example = "from=%y"}));

/// Calls visit(row) for each row of the list, in its order.
template <typename Visit>
constexpr void for_each_field(const Visit& visit) {
  std::apply([&](const auto&... rows) { (visit(rows), ...); }, kNodeFields);
}

template <typename AnyNode, typename T>
auto& value_of(AnyNode& node, T Node::*member) {
  return node.*member;
}
template <typename AnyNode, typename T>
auto& value_of(AnyNode& node, T TileFields::*member) {
  return node.tile.*member;
}

/// A node of which nothing is set.
const Node& default_node();

/// Whether the field of a node is as in `none`, a node of which nothing is set.
template <typename Row>
bool is_default(const Node& node, const Row& row, const Node& none = default_node()) {
  using T = std::remove_cvref_t<decltype(value_of(node, row.member))>;
  const T& value = value_of(node, row.member);
  if constexpr (requires(T list) { list.clear(); }) {
    return value.empty();
  } else if constexpr (std::is_same_v<T, float>) {  // -0 is another one, and NaN is itself
    return std::bit_cast<uint32_t>(value) == std::bit_cast<uint32_t>(value_of(none, row.member));
  } else {
    return value == value_of(none, row.member);
  }
}

namespace node_fields {

/// All of them. One more does not compile here until it is named, and then not before it has a row.
inline auto all(const Node& node) {
  const auto& [kind, inputs, outputs, tensor, level, other_tensor, other_level, op, reduction,
               order, contiguous, groups, init, offset, stride, strides, contract, capacity, least,
               phase, tile, statement] = node;
  const auto& [subscripts, branch, element_bytes, by_threads, held] = tile;
  return std::tie(kind, inputs, outputs, tensor, level, other_tensor, other_level, op, reduction,
                  order, contiguous, groups, init, offset, stride, strides, contract, capacity,
                  least, phase, subscripts, branch, element_bytes, by_threads, held, statement);
}
static_assert(std::tuple_size_v<decltype(all(std::declval<const Node&>()))> ==
                  std::tuple_size_v<decltype(kNodeFields)>,
              "each field of Node has one row in kNodeFields");

}  // namespace node_fields

}  // namespace fuseflow
