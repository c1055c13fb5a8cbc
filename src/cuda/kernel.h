// A kernel for linked cores as data: what its two roles do, in loops over the steps in time of a
// core, on matrices, sums and exchanges that are numbered. Nothing of C++ or PTX, of which print.h
// makes text. Meaning: ir-spec/cuda.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chip/copies.h"
#include "chip/fit.h"
#include "cuda/launch_rows.h"
#include "graph/graph.h"
#include "graph/tile_kernel.h"

namespace fuseflow::cuda {

// Of a kernel; as in ff::Params (cuda/gpu/primitives.h), which has to fit in 4 KiB.
inline constexpr int kMostTensors = 64, kMostViews = 16;

/// A number that a core knows: offset + sum of factor * variable. Variables are those of
/// Kernel::variables, loops and `distance` of a shuffle.
struct Coordinate {
  std::vector<std::pair<std::string, int64_t>> terms;
  int64_t offset = 0;
};

inline constexpr int64_t kChunkBytes = 16;

/// A matrix of elements of one or two bytes in the scratchpad: consecutive along its rows or its
/// columns, in panels of so many bytes (16: written by threads; 32, 64, 128: by the copy engine,
/// with a swizzle).
struct MatrixForm {
  int64_t rows = 0, columns = 0;
  bool by_rows = true;
  ElementType element = ElementType::f16;
  int64_t panel_bytes = kChunkBytes;
  int64_t size() const { return element_bytes(element); }
  int64_t panel() const { return panel_bytes / size(); }  ///< elements
  int64_t bytes() const { return rows * columns * size(); }
  int64_t inner() const { return by_rows ? columns : rows; }
  int64_t outer() const { return by_rows ? rows : columns; }
};

/// Cores of a cluster: first, first + stride, .. (count of them), of which this core is number
/// `mine`.
struct CoreGroup {
  Coordinate first;
  int64_t stride = 1;
  int64_t count = 1;
  Coordinate mine;
};

/// One dimension of the graph at an element of a tile: where the tile begins, and which coordinate
/// of the tile goes on from there.
struct DimensionAt {
  enum class TileAxis { nothing, row, column };
  int dim = 0;
  Coordinate begin;
  TileAxis within = TileAxis::nothing;
  int64_t block = 0;  ///< elements of the tile along it; the matrix may have more
};

/// The element of a tensor at an element of a tile.
struct ElementAt {
  TensorId tensor = -1;
  std::vector<TileSubscript> subscripts;
  std::vector<DimensionAt> dims;
};

/// Tiles that arrive in a ring.
struct Load {
  std::string name;
  NodeId node = -1;
  MatrixForm matrix;
  chip::Side side = chip::Side::left;  ///< of its products
  int ring = 0;                        ///< number of its ring, which loads that take turns share
  CoreGroup peers;
  std::optional<chip::TensorView> view;  ///< none: the producer's threads gather element by element
  std::string why_gathered;
  bool outer_rows = false, batch_rows = false;  ///< of the view: those of the launch (LaunchRows)
  Coordinate row, column, batch;
  ElementAt element;
  /// What the second core loads, in a chain whose branches are on two cores.
  std::optional<ElementAt> second_branch;
  NodeId second_node = -1;
  std::string branch;  ///< the variable that says which
};

/// Steps of k that follow each other, and which cores of the group take them: bit c is core c.
struct StepRange {
  int64_t begin = 0, end = 0;
  uint32_t cores = 1;
};

/// The steps of k where some tiles leave steps out: a list for each group of tiles of rows and each
/// part of k; for each element of the batch, too, where lists differ.
struct StepLists {
  std::vector<std::vector<StepRange>> lists;
  Coordinate list;             ///< the number of the cluster's
  Coordinate core;             ///< which core of the group this one is
  bool differ = false;         ///< some step is not taken by all cores of its group
  bool may_have_none = false;  ///< some core has no step
};

/// Accumulators in f32.
struct SumsForm {
  std::string name;
  int64_t rows = 0, columns = 0;
};

/// Partial sums of which each core of a group gets a share.
struct Scatter {
  std::string name;
  int64_t rows = 0, columns = 0;
  CoreGroup peers;
  int64_t unit = chip::kShareUnit;  ///< columns of a share are multiples
};

/// Finished shares of a matrix, which go to every core of the group.
struct ShareBroadcast {
  std::string name;
  int held = 0;  ///< number of the matrix
  CoreGroup peers;
};

/// Tiles of a matrix, or parts of a room, of which each core of a group has some and gets the
/// others.
struct TileBroadcast {
  std::string name;
  int held = -1, room = -1;  ///< number of one of them
  int64_t bytes = 0;         ///< of what a core sends at a time; of a matrix set when it is fitted
  int64_t times = 1;         ///< that it sends
  CoreGroup peers;
};

/// Matrices that go round a group of cores.
struct RingPass {
  std::string name;
  int held = 0;
  CoreGroup peers;
  int64_t slots = 2;
  std::string stay_over;  ///< the loop over whose steps they stay, from the first on; empty: none
};

/// Room for matrices that threads write.
struct ScratchpadMatrix {
  std::string name;
  MatrixForm matrix;
  int64_t tiles = 1;
};

/// Elementwise work on sums: nodes of the graph, in order, from the streams of the sums.
struct Work {
  std::vector<NodeId> nodes;
  std::vector<StreamId> from;  ///< one, or the two of a gate
  StreamId result = -1;
  std::vector<DimensionAt> dims;  ///< of its rows and columns
  /// Streams that have a text of their own.
  std::vector<std::pair<StreamId, std::string>> named = {};
};

enum class StepKind : uint8_t {
  loop,               ///< body, for each step of `variable`
  walk,               ///< body, for each step of `variable` that Kernel::steps has
  taken,              ///< .. which the core takes
  passed,             ///< .. which others take
  when,               ///< body, where all of `zero` are 0
  count,              ///< the number `variable` grows by one
  load,               ///< producer: the next tile of load `a`, for those who take the step
  wait,               ///< multipliers: the next tile of load `a` is there
  release,            ///< .. has been read
  clear,              ///< sums `a`
  multiply,           ///< sums `a` += left * right
  multiply_wait,      ///< .. is done, and left and right have been read
  work,               ///< sums `a` (and `b`) by work `work`; on a share where `scatter` >= 0
  stage,              ///< sums `a` to the scratchpad, as f32, for scatter `scatter`
  await_room,         ///< scatter: those who read the last ones have
  scatter,            ///< scatter: exchange
  add_shares,         ///< scatter: what came, added to sums `a`; `first`: into cleared sums
  scatter_release,    ///< scatter: the slots have been read
  put,                ///< sums `a` to held matrix `b` (a share of it where `scatter` >= 0)
  fence,              ///< what threads wrote is for copies and products
  meet,               ///< all multiplying threads
  spread,             ///< spread `a`
  send_round,         ///< round `a`: the core's own matrix to the one at the next distance
  receive_round,      ///< round `a`: the matrix from this distance
  release_round,      ///< .. has been read
  end_round,          ///< all others have the core's own
  distances,          ///< body, for each distance of round `a`
  elements,           ///< every element of the tile: work `work`, stored
  rows,               ///< every row of the tile: reduced, stored
  put_scores,         ///< sums `a` to room `b`, as f32, for work on rows
  step_rows,          ///< rows of a step of reductions that walk k together
  rescale,            ///< sums `a` by each row\'s factor, but in the first step
  reduced_rows,       ///< what the last step left of each row, for all threads
  row_program,        ///< every row of the tile: the loops of a kernel of rows
  row_loop,           ///< .. a tile of its loop number `a`
  row_values,         ///< what of each row is exchanged: number `a`
  broadcast_room,     ///< broadcast `a`: the others have read what the turn before sent
  broadcast,          ///< .. what the core has made
  broadcast_wait,     ///< .. what the others have made is there
  broadcast_release,  ///< .. has been read by all threads, which have met
  store,              ///< sums `a` to result `b`, in its type (a share where `scatter` >= 0)
  add,                ///< sums `a` to the sums in memory; the last adder finishes
};

/// What a product multiplies: the tile of a load, a held matrix, or what is there of a round.
struct FactorOf {
  enum class Kind { load, held, round } kind = Kind::load;
  int number = 0;
  Coordinate at = {};  ///< which of the held tiles, or of those of a load that are there
};

struct Step {
  StepKind what = StepKind::loop;
  int a = -1, b = -1, work = -1, scatter = -1;
  FactorOf left, right;
  std::string variable;  ///< of a loop, of a count; of an exchange: its turn (empty: the only one)
  int64_t extent = 0;
  bool over_rows = false;  ///< a loop over the steps of LaunchRows
  /// Where several cores or clusters share the loop: this one has the steps part * extent / parts
  /// up to (part + 1) * extent / parts.
  Coordinate part;
  int64_t parts = 1;
  std::vector<std::string> zero;
  Coordinate at;  ///< which of the held tiles, or of those of a load
  std::vector<Step> body;
};

/// Where results go, and how they are finished.
struct Finish {
  int64_t adders = 1;  ///< clusters that add to a tile in memory; the last one finishes
  Coordinate tile;     ///< number of the tile of sums
  Coordinate counter;  ///< number of the counter of the core's share
  int64_t tiles = 0, counters = 0;
  int64_t tile_elements = 0;
};

/// Rows of a kernel without products: values, what they are reduced to, and the work on that.
struct RowsReduction {
  Work value, last;
  StreamId reduced = -1;
  Reduction reduction = Reduction::sum;
  float start = 0;
  int64_t rows = 0, columns = 0;
};

/// Rows of a step of reductions that walk k together: scores, what is reduced of them, the left
/// factor of a product, and what its sums are multiplied by before (-1: by nothing).
struct StepRows {
  int64_t rows = 0;
  StreamId scores = -1, factor = -1, rescale = -1;
  std::vector<NodeId> reductions;
  DimensionAt k;
  bool may_have_none = false;  ///< of steps, on some core
};

/// Room in the scratchpad for what threads share.
struct SharedBuffer {
  std::string name;
  int64_t bytes = 0;
};

struct Variable {
  std::string name;
  std::string from;  ///< "cluster", "rank", or a loop, in which it is named
  int64_t divisor = 1;
  int64_t extent = 0;  ///< from / divisor % extent; 0: no remainder
  /// The divisor is times the steps of LaunchRows; the extent, where it is not 0, is these.
  bool divided_by_rows = false, of_rows = false;
};

struct Kernel {
  std::string name;
  const Graph* graph = nullptr;
  const TableRows* table = nullptr;  ///< null: rows are those of the program
  LaunchRows rows;
  /// Of matrices that threads write, which products take.
  ElementType element = ElementType::f16;
  int64_t clusters = 1, cores = 1;
  std::vector<Variable> variables;
  /// Other names: coordinates of variables before them.
  std::vector<std::pair<std::string, Coordinate>> named;
  std::vector<Load> loads;
  std::vector<SumsForm> sums;
  std::vector<ScratchpadMatrix> held;
  std::vector<Scatter> scatters;
  std::vector<ShareBroadcast> spreads;
  std::vector<RingPass> rounds;
  std::vector<TileBroadcast> broadcasts;
  std::vector<Work> work;
  std::optional<RowsReduction> reduction;
  std::optional<StepRows> step_rows;
  std::optional<StepLists> steps;  ///< none: all of them
  std::vector<SharedBuffer> rooms;
  std::vector<DimensionAt> row_dims;     ///< of `row_program`, `row_loop`, `row_values`
  std::vector<StreamId> exchanged_rows;  ///< of `row_values`
  /// Streams of rows that have a text of their own, for all work.
  std::vector<std::pair<StreamId, std::string>> row_names;
  int64_t tile_rows = 0, tile_columns = 0;  ///< of `elements`, of rows
  /// Rows of sums that a tile has, where a product has more: those alone are sent and stored. 0:
  /// all.
  int64_t rows_there = 0;
  std::vector<ElementAt> results;
  Finish finish;
  std::vector<Step> produce, multiply;
  int groups = 1;  ///< of 128 threads that multiply

  /// Rows of which a number each goes to other cores.
  int64_t rows_sent() const { return numbers_sent(rows_there); }

  // What the fit decided (fit.h).
  chip::Needs needs;                 ///< rings with the copies that there are
  std::vector<std::string> repairs;  ///< what differs from the plan
  std::vector<std::string> choices;  ///< how matrices lie
  std::vector<int64_t> ring_at, room_at, held_at, staged_at, slots_at,
      round_at;        ///< bytes, of each
  int64_t add_at = 0;  ///< room for sums on their way to memory
  int64_t barriers_at = 0;
  std::vector<int> ring_barrier, scatter_barrier, spread_barrier, round_barrier, broadcast_barrier;
  int barriers = 0;
  int64_t scratchpad = 0;  ///< bytes
  int64_t registers = 0;   ///< of a thread, for sums
};

}  // namespace fuseflow::cuda
