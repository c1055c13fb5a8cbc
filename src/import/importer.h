// The state of one import: the model's values as views, and the program's tensors and statements
// as they come into being. Operators (operators/*.cpp) see it through NodeImport, one node at a
// time.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "import/import.h"
#include "import/onnx/model.h"
#include "import/values/draft.h"
#include "import/values/evaluate.h"
#include "import/values/kernel.h"

namespace fuseflow {

class NodeImport;

class Importer {
 public:
  /// Defines the outputs of a model that has no nodes: another way to say what is computed.
  using Steps = std::function<void(Importer&)>;

  Importer(OnnxModel model, const ImportOptions& options, Steps steps = {});

  /// Converts all nodes and finalizes the program (see finalize.h).
  Program run();
  /// All but what is known of values: the constants of the program (see sources.cpp).
  DraftProgram draft();

  /// After run(): the share of entries of an input or constant unlike `fill`.
  std::optional<double> density(const std::string& name, float fill) const;

  // --- for operators ---
  bool has_value(const std::string& name) const { return values_.contains(name); }
  const View& value(const std::string& name) const;
  /// A value without elements becomes a constant: no statement is made of it (but to be a result),
  /// and no view of it has extents to divide by.
  void set_value(const std::string& name, View value);
  const ConstantTensor* constant(TensorId id) const {
    return draft_.tensors[static_cast<size_t>(id)].data.get();
  }
  bool is_constant(const View& value) const;
  /// The values of a constant view; null if it is not constant (or too large to fold).
  ConstantPtr constant_of(const View& value) const;
  /// Whether define() folds the value. What folds is computed in its own type: integers divide,
  /// take powers and wrap as such. Everything else is computed in f32, where that takes operators.
  bool folds(const View& value) const;
  /// The values of a view, computed from those of bound inputs, too; null where a statement comes
  /// between. These inputs become constants: the program holds for their data only.
  ConstantPtr bound_values(const View& value);
  /// A constant tensor as a view. `initializer`: the name of the ONNX initializer with these
  /// values.
  View add_constant(const std::string& name, ConstantPtr data, const std::string& initializer = {});
  /// Whether the value reads a constant that was computed from a bound integer input.
  bool from_input(const View& view) const;
  bool is_activation(const View& view) const;
  /// The nodes of `graph`, a branch of the node that is being converted, come next; its results are
  /// `outputs`. `one_kernel`: all of them are one kernel.
  void go_on_with(const OnnxGraph& graph, const std::vector<std::string>& outputs,
                  bool one_kernel = false);
  /// The nodes of `graph`, the body of `node`, come next; its inputs have values (set_value). Then
  /// `then` goes on with the conversion of `node`: it gives the node's results, or calls this
  /// again.
  void go_on_with(const OnnxGraph& graph, const OnnxNode& node,
                  std::function<void(NodeImport&)> then);
  /// Statements that are made from now on come from this node.
  void come_from(ModelNode node) { current_ = std::move(node); }
  /// The format of the tensor that `value`, which was just defined, accesses. Without one it is
  /// dense.
  void declare_format(const View& value, const std::optional<Format>& format);
  /// The name of a group's region.
  void name_region(int group, const std::string& name) { draft_.region_names[group] = name; }
  /// Marks the (new) constant that `view` accesses as data: what is computed from it is not folded,
  /// or a bound token sequence would fold the whole model away.
  void mark_activation(const View& view);
  /// Gives the expression a tensor of its own: folds constants, else appends a statement.
  View define(const std::string& name, View value, int group);
  /// Appends a statement without folding.
  View append(const std::string& name, View value, int group);
  /// A tensor of the draft, as far as it is known by now.
  const Tensor& tensor(TensorId id) const { return draft_.tensors[static_cast<size_t>(id)].tensor; }
  int64_t tensor_extent(TensorId tensor, size_t dim) const {
    return draft_.tensors[static_cast<size_t>(tensor)].shape[dim];
  }
  /// The tensor that `sum` accesses is never 0 if the one that `maximum` accesses is finite.
  void mark_nonzero_if_finite(const View& sum, const View& maximum);
  /// Most elements of the tensor that `view` accesses are 0 by their values: it is declared
  /// compressed.
  void mark_thinned(const View& view);
  /// The tensor that `view` accesses is of ONNX's uint32 or uint64.
  void mark_unsigned(const View& view);
  /// The tensor that `view` accesses has weights of what is read, and 0 for what is not: there an
  /// infinity adds nothing.
  void mark_selects(const View& view);
  const OnnxModel& model() const { return model_; }
  const ImportOptions& options() const { return options_; }

 private:
  bool is_foldable(const View& value) const;
  void bind_inputs();
  void bind_input(const OnnxPort& port);
  /// Refuses data for an integer input that its type does not have: fractions, and what is too
  /// large.
  void check_integers(const OnnxPort& port, const RawTensor& raw) const;
  RawTensor read_input(const OnnxPort& port, const Source& source) const;
  [[noreturn]] void refuse_open(const OnnxPort& port, const OnnxDim& dim) const;
  void check_bindings() const;
  void check_operators(const std::vector<OnnxNode>& nodes) const;
  void check_ranks(const char* what, const std::vector<std::string>& names) const;
  void convert_nodes();
  void convert_node(const OnnxNode& node, int group);
  void convert_with(const OnnxNode& node, int group,
                    const std::function<void(NodeImport&)>& convert);
  /// Puts nodes after the one that is being converted. `kernels`: see find_kernels().
  void insert_nodes(std::vector<OnnxNode> nodes, const std::vector<int>& kernels);
  void bind_output(const OnnxPort& port);
  /// After those of all statements.
  int last_group() const;
  std::string fresh_name(const std::string& wanted);
  std::vector<int64_t> agreed_shape(const OnnxPort& port, const std::vector<int64_t>& shape);

  OnnxModel model_;
  ImportOptions options_;
  Steps steps_;
  DraftProgram draft_;
  std::map<std::string, Draft> known_;  ///< inputs and constants of the finished program
  std::map<std::string, View> values_;
  std::map<std::string, int64_t> symbols_;
  std::map<std::string, int> names_;  ///< taken tensor names
  int64_t folded_elements_ = 0;       ///< of all constants but initializers: bounds the memory
  int64_t folded_steps_ = 0;          ///< of all folded values: bounds the time
  std::vector<int> groups_;           ///< by node (patterns/kernel_patterns.h)
  size_t at_ = 0;                     ///< the number of the node that is being converted
  ModelNode current_;                 ///< the node that is being converted

  /// The rest of a node's conversion, which waits for the nodes of its body. It is a node without
  /// an operator, of this name.
  struct DeferredConversion {
    OnnxNode node;
    std::function<void(NodeImport&)> then;
  };
  std::map<std::string, DeferredConversion> later_;
  int64_t inserted_ = 0;  ///< nodes that bodies of nodes have added
  int64_t moved_ = 0;     ///< nodes that made room for them
};

/// One node as an operator sees it.
class NodeImport {
 public:
  NodeImport(Importer& importer, const OnnxNode& node, int group)
      : importer_(importer), node_(node), group_(group) {}

  const OnnxNode& onnx() const { return node_; }
  int opset() const { return node_.opset; }
  int input_count() const { return static_cast<int>(node_.inputs.size()); }
  int output_count() const { return static_cast<int>(node_.outputs.size()); }
  bool has_input(int i) const;
  bool has_output(int i) const;
  /// Rejects a node that has too few.
  const std::string& output_name(int i) const;
  /// Rejects the node if the input is missing or a sequence of tensors.
  const View& input(int i) const;
  /// An input that may be a sequence; rejects the node if it is missing.
  const View& any_input(int i) const;
  /// The tensors of an input; rejects the node if it is no sequence.
  const std::vector<View>& sequence_input(int i) const;
  /// The values of input i; rejects the model when it is not constant.
  ConstantPtr constant_input(int i, const char* role) const;
  ConstantPtr try_constant(int i) const;
  std::vector<int64_t> ints_input(int i, const char* role) const;
  /// The values of input i, which decide what `decided` says: of a constant or of bound data.
  ConstantPtr deciding_input(int i, const char* role,
                             const char* decided = "the shape of the result") const;

  bool has_attribute(const std::string& name) const { return attribute(name) != nullptr; }
  int64_t integer(const std::string& name, int64_t otherwise) const;
  float real(const std::string& name, float otherwise) const;
  std::string text(const std::string& name, const std::string& otherwise) const;
  std::vector<int64_t> integers(const std::string& name) const;
  const OnnxAttribute* attribute(const std::string& name) const;
  /// Ints from input `i`, or from attribute `name` in older opsets; empty optional when neither is
  /// given.
  std::optional<std::vector<int64_t>> ints(int i, const std::string& name, const char* role) const;

  /// Inputs and attributes that make no difference here, with the reason beside the call. All
  /// others that a node has must be asked for, or the node is refused: what is not read cannot be
  /// known to be without effect.
  void ignore_input(int i) const { asked_inputs_.insert(i); }
  void ignore(std::initializer_list<const char*> attributes) const {
    asked_.insert(attributes.begin(), attributes.end());
  }
  /// What the node has and nobody asked for, as a complaint; empty if there is nothing.
  std::string unread() const;

  /// A dimension given as axis, negative ones counted from the end; rejected when out of range.
  int axis(int64_t axis, int rank) const;

  void output(int i, View value);
  void output_sequence(int i, std::vector<View> tensors, ElementType type);
  /// After define(): output 0 is the selection of `source` weighted by `weights` (when constant).
  void weight_selection(const View& source, const View& weights);
  void select_output(int i, Selection selection);
  void join_output(int i, Parts parts);
  /// After output 0 was given, which is `from` moved: its parts, if `from` has any, are those of
  /// `from`, each moved by `move`, along dimension `dim`.
  void move_parts(const View& from, int dim, const std::function<View(const View&)>& move);
  void rank_output(int i, Ranking ranking);
  /// `view` with dimension `dim` a single atom.
  View single_axis(const View& view, int dim);
  void output_constant(int i, ConstantPtr data);
  /// Output i is the value of a Constant node, which the program can refer to by its name.
  void output_initializer(int i, ConstantPtr data);
  /// Defines output i by an expression: a statement (or a folded constant).
  void define(int i, View value);
  /// Defines output i by an expression; the result is a reshaped view of it.
  void define_reshaped(int i, View value, const std::vector<int64_t>& shape);
  /// A helper statement of this node; named after output 0 with a suffix.
  View helper(const std::string& suffix, View value);
  /// `value` with every dimension a single atom; copies through a statement when it cannot be a
  /// view.
  View simple(View value, const std::string& suffix);
  /// Reshape that falls back to a copy when the index map is not affine.
  View reshaped(const View& value, const std::vector<int64_t>& shape);

  /// Slice that falls back to a copy when it cuts through the atoms of a dimension.
  View sliced(const View& view, int dim, int64_t start, int64_t step, int64_t count);
  /// `value` as a whole tensor: an input, constant or intermediate read from 0 to its extents.
  View whole(const View& view, const std::string& suffix);
  int64_t tensor_extent(TensorId tensor, size_t dim) const {
    return importer_.tensor_extent(tensor, dim);
  }
  /// After define(): output i is of ONNX's element type `code`, which its own type only stores.
  void mark_code(int i, int code);
  /// The element type of ONNX data type `code`.
  ElementType onnx_type(int64_t code) const;
  /// A row-major regrouping as a product with a 0/1 matrix: the last resort.
  View regrouped(const View& value, const std::vector<int64_t>& shape, const std::string& suffix);

  Kernel kernel() const { return Kernel(what()); }
  std::string what() const;
  [[noreturn]] void reject(const std::string& message) const;
  Importer& importer() const { return importer_; }

 private:
  Importer& importer_;
  const OnnxNode& node_;
  int group_;
  mutable std::set<std::string, std::less<>> asked_;  ///< attributes
  mutable std::set<int> asked_inputs_;
};

}  // namespace fuseflow
