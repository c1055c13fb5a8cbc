// The table of node kinds: one row a kind, in the order of NodeKind.
#include <array>

#include "graph/tiles.h"
#include "nodes/rules.h"

namespace fuseflow {

namespace {

struct Row {
  NodeKind kind;
  const NodeRule* rule;
};

constexpr size_t kKinds = static_cast<size_t>(NodeKind::barrier_);

constexpr Row kRows[] = {
    {NodeKind::root, &root_rule},
    {NodeKind::scan, &scan_rule},
    {NodeKind::locate, &locate_rule},
    {NodeKind::repeat, &repeat_rule},
    {NodeKind::intersect, &intersect_rule},
    {NodeKind::intersect_words, &intersect_words_rule},
    {NodeKind::gallop, &gallop_rule},
    {NodeKind::unite, &unite_rule},
    {NodeKind::leftjoin, &leftjoin_rule},
    {NodeKind::array, &array_rule},
    {NodeKind::map, &map_rule},
    {NodeKind::coordinate, &coordinate_rule},
    {NodeKind::reduce, &reduce_rule},
    {NodeKind::accumulate, &accumulate_rule},
    {NodeKind::align, &align_rule},
    {NodeKind::drop, &drop_rule},
    {NodeKind::filter, &filter_rule},
    {NodeKind::buffer, &buffer_rule},
    {NodeKind::write_level, &write_level_rule},
    {NodeKind::write_values, &write_values_rule},
    {NodeKind::parallelize, &parallelize_rule},
    {NodeKind::serialize, &serialize_rule},
    {NodeKind::pad, &pad_rule},
    {NodeKind::convert, &convert_rule},
    {NodeKind::tile_load, &tile_load_rule},
    {NodeKind::tile_multiply, &tile_multiply_rule},
    {NodeKind::exchange, &exchange_rule},
    {NodeKind::gather, &gather_rule},
    {NodeKind::tile_hold, &tile_hold_rule},
    {NodeKind::shuffle, &shuffle_rule},
    {NodeKind::reduce_scatter, &reduce_scatter_rule},
    {NodeKind::tile_store, &tile_store_rule},
};

constexpr bool in_order() {
  size_t kind = 0;
  for (const Row& row : kRows) {
    if (static_cast<size_t>(row.kind) != kind++) return false;
  }
  return kind == kKinds;
}
static_assert(in_order(), "every node kind has its row here, in the order of NodeKind");

}  // namespace

const NodeRule& node_rule(NodeKind kind) {
  return *kRows[static_cast<size_t>(kind)].rule;
}

const char* node_kind_name(NodeKind kind) {
  return node_rule(kind).name->data();
}

std::optional<NodeKind> find_node_kind(std::string_view name) {
  for (const Row& row : kRows) {
    if (*row.rule->name == name) return row.kind;
  }
  return std::nullopt;
}

std::vector<std::string> node_kind_names() {
  std::vector<std::string> names;
  names.reserve(kKinds);
  for (const Row& row : kRows) names.emplace_back(*row.rule->name);
  return names;
}

}  // namespace fuseflow
