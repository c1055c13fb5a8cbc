// The program: tensors, and regions of statements with their schedule and, once lowered, their
// graph. Pure data with value semantics; every pass is a function from Program to Program.
// Text form: ir/parse.h, ir/print.h. Rules: ir/verify.h. Reference: ir-spec/language.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "graph/spaces.h"
#include "ops/op.h"
#include "support/error.h"
#include "support/value_type.h"
#include "tensor/format.h"
#include "tensor/source.h"

namespace fuseflow {

/// A dimension's size: a number, or a name that is bound later (`value` < 0).
struct Extent {
  int64_t value = -1;
  std::string symbol;  ///< kept for printing when the extent has a name
  bool known() const { return value >= 0; }
  bool operator==(const Extent&) const = default;
};

enum class Role : uint8_t { input, constant, temporary, result };

/// Whether no statement defines such a tensor: its elements are data.
constexpr bool is_given(Role role) {
  return role == Role::input || role == Role::constant;
}

enum class Placement : uint8_t { stream, recompute, scratchpad, memory };

struct Tensor {
  FUSEFLOW_VALUE_TYPE(Tensor);
  std::string name;  ///< as in the ONNX model; any characters
  ElementType type = ElementType::f32;
  std::vector<Extent> shape;
  Format format;
  float fill = 0;  ///< what an absent entry means
  Facts facts;     ///< proved of every entry; of the fill too where entries may be absent
  Facts assumed;   ///< relied on without proof; `--check` verifies them on the data
  Role role = Role::temporary;
  Source source;                            ///< inputs and constants
  Placement placement = Placement::memory;  ///< inputs and constants: memory or scratchpad
  Location where;
  /// A result's shape in its model, where `shape` has dimensions cut apart: the same elements in
  /// row-major order. Files of results have this shape.
  std::optional<std::vector<int64_t>> model_shape = std::nullopt;
  /// The name of the input or constant whose elements it has in another format (ir/copies.h).
  /// Empty: it is no copy.
  std::string copy_of = {};
  bool given() const { return is_given(role); }
  /// Coordinates of a storage level: those of its dimension; negative where that is symbolic.
  int64_t level_extent(size_t level) const {
    const auto dimension = static_cast<size_t>(format.mode_order[level]);
    return format.coordinates(dimension, shape[dimension].value);
  }
};

using IndexId = int32_t;  ///< position in Statement::indices

struct Index {
  std::string name;
  int64_t extent = -1;  ///< -1: symbolic, or a graph index that is not bound yet
  /// The extent is given (`i:5`), not taken from the accesses: plain accesses to longer or shorter
  /// dimensions are meant (slices, concatenation, windows).
  bool stated = false;
};

/// offset + sum of coefficient * index. A plain index is the common case. A subscript outside the
/// tensor's extent reads the tensor's fill (padding, shifted slices, concatenation).
struct Subscript {
  std::vector<std::pair<IndexId, int64_t>> terms;
  int64_t offset = 0;
  bool is_plain() const { return terms.size() == 1 && terms[0].second == 1 && offset == 0; }
  IndexId plain() const { return terms[0].first; }
  bool operator==(const Subscript&) const = default;
};

/// One node of an expression tree. Children are positions in Statement::nodes.
struct Expr {
  FUSEFLOW_VALUE_TYPE(Expr);
  enum class Kind : uint8_t { access, constant, apply, reduce, coordinate } kind = Kind::constant;
  TensorId tensor = -1;                  ///< access
  std::vector<Subscript> subscripts;     ///< access: one per dimension of the tensor
  float constant = 0;                    ///< constant
  Op op = Op::add;                       ///< apply
  Reduction reduction = Reduction::sum;  ///< reduce
  std::vector<IndexId> over;             ///< reduce: the indices that end here
  IndexId index = -1;                    ///< coordinate: the value is the index itself
  std::vector<int32_t> children;         ///< apply: the operands; reduce: the body
  bool operator==(const Expr&) const = default;
};

/// The node of a model that a statement comes from. Both are empty where it comes from none.
struct ModelNode {
  std::string op;    ///< its operator: `MatMul`
  std::string name;  ///< `/layers.0/MatMul`
  bool known() const { return !op.empty(); }
  bool operator==(const ModelNode&) const = default;
};

/// result[indices] = expression. Defines `result`, which no other statement defines; a statement is
/// named by its result. Indices are local to the statement.
struct Statement {
  FUSEFLOW_VALUE_TYPE(Statement);
  TensorId result = -1;
  std::vector<Index> indices;  ///< result indices first, then reduction indices, by first use
  std::vector<IndexId> result_indices;  ///< one per dimension of the result, all different
  std::vector<Expr> nodes;              ///< children before parents; the root is the last
  ModelNode from;                       ///< says where it comes from; changes nothing
  Location where;
  const Expr& root() const { return nodes.back(); }
};

struct UsePlacement {
  TensorId tensor = -1;    ///< an intermediate of the region
  TensorId consumer = -1;  ///< the statement that uses it (its result); -1: every use
  Placement placement = Placement::stream;
  bool operator==(const UsePlacement&) const = default;
};

struct Parallel {
  std::string index;  ///< a region index
  int64_t factor = 1;
  bool contiguous = false;  ///< split by coordinate range instead of round robin
  bool operator==(const Parallel&) const = default;
};

/// How the intersections of stored levels in a loop are found.
enum class JoinForm : uint8_t {
  merge,   ///< all levels are scanned, and compared
  locate,  ///< some are looked up at the coordinates of the others
  words,   ///< bit vectors are compared a word at a time
  gallop   ///< compressed levels are searched in pairs, each for what the other has next
};

struct Join {
  std::string index;  ///< a region index
  JoinForm form = JoinForm::merge;
  std::vector<TensorId> located;  ///< locate: those that are looked up
  bool operator==(const Join&) const = default;
};

struct Schedule {
  FUSEFLOW_VALUE_TYPE(Schedule);
  std::vector<std::string> order;  ///< region indices, outermost first; empty: the default order
  std::vector<UsePlacement> placements;
  std::vector<Parallel> parallel;
  std::vector<Join> joins;  ///< at most one an index; where there is none, levels are merged
  bool barriers = false;    ///< phases wait for the end of those before, also where rows would do
  bool operator==(const Schedule&) const = default;
};

struct Region {
  FUSEFLOW_VALUE_TYPE(Region);
  std::string name;
  std::vector<Statement> statements;  ///< producers before consumers
  Schedule schedule;
  std::optional<Graph> graph;  ///< when lowered
  std::vector<std::pair<std::string, std::string>>
      plan;  ///< fuseflow-cluster's plan, key and value
  Location where;
};

/// What a rewritten program came from: the statements that rewrites removed or replaced, as they
/// were before the first of them. Checks evaluate these (ir/reference_order.h); nothing runs them.
struct Reference {
  std::vector<Statement> statements;  ///< at most one a tensor
  bool reassociated = false;  ///< sums of the regions add in another order than these statements
};

struct Program {
  FUSEFLOW_VALUE_TYPE(Program);
  std::string name;
  std::string strategy;  ///< how its regions were chosen, as fuseflow-fuse says; empty: not said
  std::vector<Tensor> tensors;
  std::vector<Region> regions;  ///< in order of execution
  Reference reference;          ///< without statements: the program was not rewritten
};

TensorId find_tensor(const Program& program, std::string_view name);  ///< -1 if there is none
std::vector<int64_t> known_shape(
    const Tensor& tensor);  ///< throws Error(rejected) on a symbolic extent
/// The shape that files of the tensor have: model_shape, else known_shape.
std::vector<int64_t> file_shape(const Tensor& tensor);
/// True if the tensor is defined in `region` and used there only (never leaves the region).
bool is_internal(const Program& program, size_t region, TensorId tensor);

std::string_view role_name(Role role);  ///< as in the text: "input", "const", "temp", "result"
std::string_view placement_name(Placement placement);
std::optional<Placement> find_placement(std::string_view name);

std::string_view join_form_name(JoinForm form);
std::optional<JoinForm> find_join_form(std::string_view name);
std::vector<std::string> join_form_names();

/// What graph typing (graph/spaces.h) needs to know of the program's tensors, by TensorId.
std::vector<GraphTensor> graph_tensors(const Program& program);

}  // namespace fuseflow
