// Statements as operations: a reduction is one of its own, the rest of a statement another.
#include "linalg/write.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "linalg/write_data.h"
#include "linalg/write_text.h"
#include "support/defect.h"
#include "support/diagnostics.h"
#include "support/error.h"

namespace fuseflow {

namespace {

/// A tensor in the text: its SSA name, shape and encoding.
struct TextTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::string encoding;
  std::string type() const { return mlir_type(shape, encoding); }
};

/// A reduction that was computed by itself, and the indices of its dimensions.
struct SeparateReduction {
  TextTensor tensor;
  std::vector<IndexId> indices;
};

/// Encodings by text, named in order.
class Encodings {
 public:
  std::string name(const std::string& text) {
    const auto [at, fresh] = names_.emplace(text, fmt::format("#enc{}", names_.size()));
    if (fresh) lines_ += fmt::format("{} = {}\n", at->second, text);
    return at->second;
  }
  const std::string& lines() const { return lines_; }

 private:
  std::map<std::string, std::string> names_;
  std::string lines_;
};

class FunctionText {
 public:
  FunctionText(const Program& program, const LinalgWriteOptions& options)
      : program_(program), options_(options) {}
  std::string text();

 private:
  /// One operation: `root` of a statement over the indices `kept`, reduced over `over`; its
  /// elements are rounded to `type`.
  TextTensor operation(const Statement& s, int32_t root, const std::vector<IndexId>& kept,
                       const std::vector<IndexId>& over, Reduction reduction,
                       const std::string& encoding, ElementType type);
  void statement(const Statement& s);
  void compute_reductions(const Statement& s, int32_t node);
  std::vector<IndexId> free_indices(const Statement& s, int32_t node) const;
  TextTensor held(TensorId tensor);
  std::string encoding_of(const Tensor& tensor);
  /// The tensor so that every subscript stays inside and plain ones walk over all of it.
  TextTensor fitted(const Statement& s, const Expr& access, std::vector<Subscript>& map);
  std::string fresh() { return fmt::format("%{}", next_++); }
  void line(const std::string& text) { body_ += "    " + text + "\n"; }

  const Program& program_;
  LinalgWriteOptions options_;
  Encodings encodings_;
  std::map<TensorId, TextTensor> tensors_;
  std::map<int32_t, SeparateReduction>
      computed_;  ///< by node of the statement that is being written
  std::string region_;
  std::string body_;
  int next_ = 0;
};

std::string FunctionText::encoding_of(const Tensor& tensor) {
  if (!options_.encodings || tensor.format.all_dense() || tensor.shape.empty()) return {};
  if (options_.inputs_only && !tensor.given()) return {};
  if (tensor.fill != 0) {
    report(Severity::note, fmt::format("mlir: %{} is written dense: what it lacks is {}, in an "
                                       "encoding 0",
                                       tensor.name, tensor.fill));
    return {};
  }
  return encodings_.name(mlir_encoding(tensor.format, tensor.name));
}

TextTensor FunctionText::held(TensorId tensor) {
  const auto found = tensors_.find(tensor);
  if (found == tensors_.end()) throw Defect("a tensor that nothing defines");
  return found->second;
}

std::vector<IndexId> FunctionText::free_indices(const Statement& s, int32_t node) const {
  const Expr& e = s.nodes[static_cast<size_t>(node)];
  std::vector<IndexId> found;
  const auto add = [&](IndexId index) {
    if (std::find(found.begin(), found.end(), index) == found.end()) found.push_back(index);
  };
  for (const Subscript& subscript : e.subscripts) {
    for (const auto& term : subscript.terms) add(term.first);
  }
  if (e.kind == Expr::Kind::coordinate) add(e.index);
  for (const int32_t child : e.children) {
    for (const IndexId index : free_indices(s, child)) add(index);
  }
  std::erase_if(found, [&](IndexId index) {
    return std::find(e.over.begin(), e.over.end(), index) != e.over.end();
  });
  return found;
}

TextTensor FunctionText::fitted(const Statement& s, const Expr& access,
                                std::vector<Subscript>& map) {
  TextTensor tensor = held(access.tensor);
  map = access.subscripts;
  std::vector<int64_t> low(map.size(), 0);
  std::vector<int64_t> high(map.size(), 0);
  std::vector<int64_t> size = tensor.shape;
  bool pads = false;
  bool cuts = false;
  for (size_t d = 0; d < map.size(); ++d) {
    int64_t from = map[d].offset;
    int64_t to = map[d].offset;
    for (const auto& [index, c] : map[d].terms)
      (c > 0 ? to : from) += c * (s.indices[static_cast<size_t>(index)].extent - 1);
    low[d] = std::max<int64_t>(0, -from);
    high[d] = std::max<int64_t>(0, to + 1 - tensor.shape[d]);
    pads = pads || low[d] > 0 || high[d] > 0;
    map[d].offset += low[d];
    size[d] += low[d] + high[d];
    if (map[d].is_plain()) {
      const int64_t extent = s.indices[static_cast<size_t>(map[d].plain())].extent;
      cuts = cuts || extent != size[d];
    }
  }
  if (!pads && !cuts) return tensor;
  if (!tensor.encoding.empty()) {  // parts of sparse tensors are not taken
    const TextTensor dense{fresh(), tensor.shape, ""};
    line(fmt::format("{} = sparse_tensor.convert {} : {} to {}", dense.name, tensor.name,
                     tensor.type(), dense.type()));
    tensor = dense;
  }
  if (pads) {
    const TextTensor padded{fresh(), size, ""};
    std::vector<std::string> arguments;
    for (size_t d = 0; d < map.size(); ++d) arguments.push_back(fmt::format("%p{}: index", d));
    const float fill = program_.tensors[static_cast<size_t>(access.tensor)].fill;
    line(fmt::format("{} = tensor.pad {} low[{}] high[{}] {{", padded.name, tensor.name,
                     fmt::join(low, ", "), fmt::join(high, ", ")));
    line(fmt::format("^bb0({}):", fmt::join(arguments, ", ")));
    line(fmt::format("  %fill = arith.constant {} : f32", mlir_number(fill)));
    line("  tensor.yield %fill : f32");
    line(fmt::format("}} : {} to {}", tensor.type(), padded.type()));
    tensor = padded;
  }
  if (!cuts) return tensor;
  TextTensor cut{fresh(), size, ""};
  for (size_t d = 0; d < map.size(); ++d) {
    if (map[d].is_plain()) cut.shape[d] = s.indices[static_cast<size_t>(map[d].plain())].extent;
  }
  const std::vector<int64_t> zeros(map.size(), 0);
  const std::vector<int64_t> ones(map.size(), 1);
  line(fmt::format("{} = tensor.extract_slice {}[{}] [{}] [{}] : {} to {}", cut.name, tensor.name,
                   fmt::join(zeros, ", "), fmt::join(cut.shape, ", "), fmt::join(ones, ", "),
                   tensor.type(), cut.type()));
  return cut;
}

/// The operands of one operation, and its body.
struct Parts {
  std::vector<TextTensor> operands;
  std::vector<std::vector<Subscript>> maps;
  std::map<int32_t, size_t> of_node;  ///< access or computed reduction: its operand
  MlirBody body;
};

std::string expression(const Statement& s, int32_t node, const std::map<IndexId, size_t>& loops,
                       const std::map<int32_t, SeparateReduction>& computed, Parts& parts) {
  const Expr& e = s.nodes[static_cast<size_t>(node)];
  const auto operand = parts.of_node.find(node);
  if (operand != parts.of_node.end()) {
    const std::string value = fmt::format("%in{}", operand->second);
    if (e.kind != Expr::Kind::reduce || e.reduction != Reduction::mean) return value;
    int64_t count = 1;
    for (const IndexId index : e.over) count *= s.indices[static_cast<size_t>(index)].extent;
    return parts.body.apply(Op::div, {value, parts.body.constant(static_cast<float>(count))});
  }
  if (e.kind == Expr::Kind::constant) return parts.body.constant(e.constant);
  if (e.kind == Expr::Kind::coordinate) return parts.body.index(loops.at(e.index));
  std::vector<std::string> x;
  for (const int32_t child : e.children) x.push_back(expression(s, child, loops, computed, parts));
  return parts.body.apply(e.op, x);
}

TextTensor FunctionText::operation(const Statement& s, int32_t root,
                                   const std::vector<IndexId>& kept,
                                   const std::vector<IndexId>& over, Reduction reduction,
                                   const std::string& encoding, ElementType type) {
  std::map<IndexId, size_t> loops;
  std::vector<int64_t> extents;
  for (const auto* group : {&kept, &over}) {
    for (const IndexId index : *group) {
      loops.emplace(index, extents.size());
      extents.push_back(s.indices[static_cast<size_t>(index)].extent);
    }
  }
  const auto over_loops = [&](std::vector<Subscript> map) {
    for (Subscript& subscript : map) {
      for (auto& term : subscript.terms) term.first = static_cast<IndexId>(loops.at(term.first));
    }
    return map;
  };
  Parts parts;
  const auto collect = [&](const auto& self, int32_t node) -> void {
    const Expr& e = s.nodes[static_cast<size_t>(node)];
    const auto ready = computed_.find(node);
    std::vector<Subscript> map;
    if (ready != computed_.end()) {
      for (const IndexId index : ready->second.indices) map.push_back(Subscript{{{index, 1}}, 0});
      parts.operands.push_back(ready->second.tensor);
    } else if (e.kind == Expr::Kind::access) {
      parts.operands.push_back(fitted(s, e, map));
    } else {
      for (const int32_t child : e.children) self(self, child);
      return;
    }
    parts.of_node[node] = parts.operands.size() - 1;
    parts.maps.push_back(over_loops(std::move(map)));
  };
  collect(collect, root);

  TextTensor result{"", {}, encoding};
  std::vector<Subscript> out_map;
  for (const IndexId index : kept) {
    result.shape.push_back(s.indices[static_cast<size_t>(index)].extent);
    out_map.push_back(Subscript{{{static_cast<IndexId>(loops.at(index)), 1}}, 0});
  }
  // Every loop is some tensor's dimension, from which MLIR takes its extent.
  for (size_t l = 0; l < extents.size(); ++l) {
    const Subscript plain{{{static_cast<IndexId>(l), 1}}, 0};
    const auto has = [&](const auto& map) {
      return std::find(map.begin(), map.end(), plain) != map.end();
    };
    if (has(out_map) || std::any_of(parts.maps.begin(), parts.maps.end(), has)) continue;
    const TextTensor extent{fresh(), {extents[l]}, ""};
    line(fmt::format("{} = tensor.empty() : {}", extent.name, extent.type()));
    parts.operands.push_back(extent);
    parts.maps.push_back({plain});
  }
  std::string start = fresh();
  line(fmt::format("{} = tensor.empty() : {}", start, result.type()));
  if (!over.empty()) {
    const std::string neutral = fresh();
    line(fmt::format("{} = arith.constant {} : f32", neutral, mlir_number(identity(reduction))));
    const std::string filled = fresh();
    line(fmt::format("{} = linalg.fill ins({} : f32) outs({} : {}) -> {}", filled, neutral, start,
                     result.type(), result.type()));
    start = filled;
  }
  std::string value = expression(s, root, loops, computed_, parts);
  if (!over.empty()) value = parts.body.reduced(reduction, "%out", value);
  value = parts.body.stored(value, type);
  std::vector<std::string> maps, iterators, names, types, arguments;
  for (const auto& map : parts.maps) maps.push_back(mlir_map(extents.size(), map));
  maps.push_back(mlir_map(extents.size(), out_map));
  for (size_t l = 0; l < extents.size(); ++l)
    iterators.push_back(l < kept.size() ? "\"parallel\"" : "\"reduction\"");
  for (size_t o = 0; o < parts.operands.size(); ++o) {
    names.push_back(parts.operands[o].name);
    types.push_back(parts.operands[o].type());
    arguments.push_back(fmt::format("%in{}: f32", o));
  }
  arguments.push_back("%out: f32");
  result.name = fresh();
  const std::string ins =
      names.empty() ? ""
                    : fmt::format(" ins({} : {})", fmt::join(names, ", "), fmt::join(types, ", "));
  line(
      fmt::format("{} = linalg.generic {{indexing_maps = [{}], iterator_types = [{}]}}{} "
                  "outs({} : {}) attrs = {{fuseflow.region = \"{}\"}} {{",
                  result.name, fmt::join(maps, ", "), fmt::join(iterators, ", "), ins, start,
                  result.type(), region_));
  line(fmt::format("^bb0({}):", fmt::join(arguments, ", ")));
  body_ += parts.body.lines();
  line(fmt::format("  linalg.yield {} : f32", value));
  line(fmt::format("}} -> {}", result.type()));
  return result;
}

void FunctionText::compute_reductions(const Statement& s, int32_t node) {
  const Expr& e = s.nodes[static_cast<size_t>(node)];
  for (const int32_t child : e.children) compute_reductions(s, child);
  if (e.kind != Expr::Kind::reduce) return;
  const std::vector<IndexId> kept = free_indices(s, node);
  computed_[node] = {operation(s, e.children[0], kept, e.over, e.reduction, "", ElementType::f32),
                     kept};
}

void FunctionText::statement(const Statement& s) {
  for (const Index& index : s.indices) {
    if (index.extent < 0)
      throw Error(ExitCode::rejected,
                  fmt::format("the extent of index {} of %{} is not known; bind data first",
                              index.name, program_.tensors[static_cast<size_t>(s.result)].name));
  }
  computed_.clear();
  const auto root = static_cast<int32_t>(s.nodes.size()) - 1;
  const Tensor& made = program_.tensors[static_cast<size_t>(s.result)];
  const std::string encoding = encoding_of(made);
  const Expr& top = s.root();
  // Rounds of a reduction are summed up in f32, and their sum is rounded.
  if (top.kind == Expr::Kind::reduce && top.reduction != Reduction::mean && holds_f32(made.type)) {
    compute_reductions(s, top.children[0]);
    tensors_[s.result] = operation(s, top.children[0], s.result_indices, top.over, top.reduction,
                                   encoding, made.type);
    return;
  }
  compute_reductions(s, root);
  tensors_[s.result] =
      operation(s, root, s.result_indices, {}, Reduction::sum, encoding, made.type);
}

std::string FunctionText::text() {
  std::vector<std::string> arguments, returned, types;
  std::vector<LinalgData> data;
  for (size_t t = 0; t < program_.tensors.size(); ++t) {
    const Tensor& tensor = program_.tensors[t];
    if (!tensor.given()) continue;
    const auto id = static_cast<TensorId>(t);
    TextTensor argument{fmt::format("%arg{}", arguments.size()), known_shape(tensor),
                        encoding_of(tensor)};
    arguments.push_back(fmt::format("{}: {}", argument.name, argument.type()));
    data.push_back({&tensor, argument.encoding});
    tensors_[id] = argument;
  }
  for (const Region& region : program_.regions) {
    region_ = quote_for_mlir(region.name);
    for (const Statement& s : region.statements) statement(s);
  }
  std::vector<LinalgData> results;
  for (size_t t = 0; t < program_.tensors.size(); ++t) {
    const Tensor& tensor = program_.tensors[t];
    if (tensor.role != Role::result) continue;
    const TextTensor value = held(static_cast<TensorId>(t));
    returned.push_back(value.name);
    types.push_back(value.type());
    results.push_back({&tensor, value.encoding});
  }
  const std::string name = function_name(program_.name);
  std::string text = "// " + printable_comment(program_.name) + ", written by fuseflow-mlir\n";
  for (size_t a = 0; a < data.size(); ++a)
    text += fmt::format("// %arg{}: {} {}\n", a, role_name(data[a].tensor->role),
                        printable_comment(data[a].tensor->name));
  for (size_t r = 0; r < results.size(); ++r)
    text += fmt::format("// result {}: {}\n", r, printable_comment(results[r].tensor->name));
  text += encodings_.lines() + "module {\n";
  text += fmt::format("  func.func @{}({}) -> ({}) {{\n", name, fmt::join(arguments, ", "),
                      fmt::join(types, ", "));
  text += body_;
  text += returned.empty() ? "    return\n"
                           : fmt::format("    return {} : {}\n", fmt::join(returned, ", "),
                                         fmt::join(types, ", "));
  text += "  }\n";
  if (options_.main) text += main_function(name, data, results);
  return text + "}\n";
}

}  // namespace

std::string write_linalg(const Program& program, const LinalgWriteOptions& options) {
  return FunctionText(program, options).text();
}

}  // namespace fuseflow
