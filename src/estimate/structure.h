// What of a graph decides how many tokens flow: the spaces, which streams are copies of others, and
// which streams' payloads shape fibers further down. Both counters (exact, statistical) start here.
#pragma once

#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "estimate/table.h"
#include "graph/graph.h"
#include "graph/spaces.h"
#include "ir/program.h"

namespace fuseflow::estimate {

/// What a column holds at an element of a space: the payload of a stream there (or of the element
/// of an outer space that it is below).
struct ColumnInfo {
  enum class Kind : uint8_t {
    stream,
    position,   ///< of the element among all computed fibers of its space
    presence,   ///< 1 if the element has an element it takes fibers from, else 0
    transport,  ///< `base`, of the fibers that were moved
  } kind = Kind::stream;
  int home = -1;  ///< the space in which it is made
  Column base = -1;
  int move = -1;  ///< into Structure::moves
};

/// Fibers of the elements of space `from` moved below those of space `top`: by a drop (which made
/// that space out of `from`) or by an align (which found both there).
struct Move {
  int top = -1;
  int from = -1;
  NodeId align = -1;  ///< the (first) align; -1: a drop
};

/// How the fibers of a space come about.
/// `merged`: what parallel copies gave, in one stream again (loops inside the split one).
enum class Opening : uint8_t { root, counted, scanned, computed, moved, merged };

struct SpaceInfo {
  Opening opening = Opening::root;
  int parent = -1;
  NodeId opener = -1;
  int64_t extent = 0;            ///< of its loop
  int64_t counted = 0;           ///< counted: elements of every fiber
  int order = 0;                 ///< accumulate: which of the output loops, from 0
  int origin = -1;               ///< moved (align, drop): the space whose fibers these are
  int move = -1;                 ///< moved: into Structure::moves
  std::vector<int> copies = {};  ///< merged: the spaces of the copies
  bool elements = false;         ///< coordinates or positions matter, not only how many there are
};

struct Structure {
  const Program* program = nullptr;
  const Graph* graph = nullptr;
  Spaces spaces;
  std::vector<SpaceInfo> space;   ///< by space
  std::vector<Column> canonical;  ///< by stream: the column that holds its payloads
  std::vector<bool> structural;   ///< by stream: shapes fibers or what is written
  std::vector<int> consumers;     ///< by stream

  int space_of(StreamId stream) const { return spaces.of_stream[static_cast<size_t>(stream)]; }
  const SpaceInfo& info(int s) const { return space[static_cast<size_t>(s)]; }
  const Node& node(NodeId n) const { return graph->nodes[static_cast<size_t>(n)]; }
  /// True if `outer` is `inner` or around it.
  bool around(int outer, int inner) const;
  int home(Column column) const { return column_info[static_cast<size_t>(column)].home; }
  const ColumnInfo& column(Column c) const { return column_info[static_cast<size_t>(c)]; }
  /// The column runs through 0, 1, 2, .. in the order of its stream.
  bool sequential(Column column) const;
  Column position_of(int s);
  Column presence_at(int move);
  Column transported(Column base, int move);

  std::vector<ColumnInfo> column_info;  ///< by Column; the streams first
  std::vector<Move> moves;
  const Move& move(int id) const { return moves[static_cast<size_t>(id)]; }
  /// The id of a move, made if new.
  int move_of(int top, int from, NodeId align);
  std::map<std::pair<int, int>, int> moved;              ///< (move, space before) -> space
  std::map<std::tuple<int, int, int>, Column> interned;  ///< (kind, base or space, move)
};

Structure analyse_structure(const Program& program, const Graph& graph);

}  // namespace fuseflow::estimate
