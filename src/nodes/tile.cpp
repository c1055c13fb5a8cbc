// The nodes of graphs of tiles. They run on cores. Which of them may be where is checked for the
// graph as a whole (chain_check.h, kernel_check.h, rows_check.h).
#include "nodes/rules.h"

namespace fuseflow {

namespace {

/// Streams of tiles are in no space.
void type_tiles(Typing& /*t*/) {}

constexpr NodeRule tile_rule(std::string_view name, const NodeFields& fields, NodeFamily family) {
  return {
      .name = name,
      .fields = fields,
      .family = family,
      .unit = std::nullopt,
      .typing = type_tiles,
      .carried = carried::none,
      .block = blocks::none,
      .check_block = blocks::no_check,
      .join = nullptr,
      .waits = waits::kInStep,
      .by_values = false,
      .holds = KeptState::nothing,
      .origins = origins::new_payloads,
      .shaping = shaping::none,
      .fiber = fiber::not_made,
      .elements = elements::of_first,
      .steps = steps::none,
      .flops = flops::none,
      .bytes = bytes::none,
      .place = place::anywhere,
      .exchange = ExchangeForm{.refused = "tiles have no form"},
  };
}

}  // namespace

constinit const NodeRule tile_load_rule = tile_rule("tile_load",
                                                    {.tensor = true,
                                                     .capacity = true,
                                                     .subscripts = true,
                                                     .branch = true,
                                                     .element_bytes = true,
                                                     .by_threads = true},
                                                    NodeFamily::tile_load);
constinit const NodeRule tile_multiply_rule = tile_rule(
    "tile_multiply", {.capacity = true, .branch = true, .held = true}, NodeFamily::tile_product);
constinit const NodeRule exchange_rule = tile_rule("exchange", {}, NodeFamily::tile_link);
constinit const NodeRule gather_rule = tile_rule("gather", {}, NodeFamily::tile_link);
constinit const NodeRule tile_hold_rule =
    tile_rule("tile_hold", {.held = true}, NodeFamily::tile_link);
constinit const NodeRule shuffle_rule =
    tile_rule("shuffle", {.capacity = true}, NodeFamily::tile_link);
constinit const NodeRule reduce_scatter_rule =
    tile_rule("reduce_scatter", {}, NodeFamily::tile_link);
constinit const NodeRule all_reduce_rule =
    tile_rule("all_reduce", {.reduction = true}, NodeFamily::tile_link);
constinit const NodeRule tile_store_rule = tile_rule(
    "tile_store", {.tensor = true, .capacity = true, .subscripts = true, .element_bytes = true},
    NodeFamily::tile_store);
constinit const NodeRule tile_coordinate_rule =
    tile_rule("tile_coordinate", {.subscripts = true}, NodeFamily::compute);

}  // namespace fuseflow
