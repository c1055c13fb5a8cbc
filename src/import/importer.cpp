// Binding of inputs, conversion of nodes, and the making of statements.
#include "import/importer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "import/finish/finalize.h"
#include "import/finish/fully_masked_rows.h"
#include "import/onnx/signature.h"
#include "import/operators/registry.h"
#include "import/operators/small_types.h"
#include "import/patterns/kernel_patterns.h"
#include "import/values/constant_stats.h"
#include "import/values/indices.h"
#include "ir/inside.h"
#include "support/defect.h"
#include "support/diagnostics.h"
#include "support/error.h"
#include "support/stop.h"
#include "support/suggest.h"
#include "support/text.h"
#include "tensor/extents.h"

namespace fuseflow {

namespace {

/// What loops and recurrences may expand to, and the work of making room for it.
constexpr int64_t kMaxInsertedNodes = int64_t{1} << 16;
constexpr int64_t kMaxMovedNodes = int64_t{1} << 27;

/// A node without a name of its own goes by its first output, which has the path of its module.
ModelNode origin_of(const OnnxNode& node) {
  const std::string first = node.outputs.empty() ? "" : node.outputs[0];
  const bool unnamed = node.name == fmt::format("{}({})", node.op, first);
  return {node.op, unnamed ? first : node.name};
}

/// Whether an access, over atoms of these extents, reads elements of the constant alone.
bool reads_inside(const Expr& access, const ConstantTensor& data,
                  const std::vector<int64_t>& atoms) {
  if (access.subscripts.size() != data.shape.size()) return false;
  const auto extent_of = [&](IndexId atom) { return atoms[static_cast<size_t>(atom)]; };
  for (size_t d = 0; d < data.shape.size(); ++d) {
    if (!stays_inside(access.subscripts[d], data.shape[d], extent_of)) return false;
  }
  return true;
}

/// The number that all elements of a constant equal: a mask's constant, spelt out as a matrix.
std::optional<float> uniform_value(const Expr& node, const ConstantLookup& constants,
                                   const std::vector<int64_t>& atoms) {
  if (node.kind != Expr::Kind::access) return std::nullopt;
  const ConstantTensor* data = constants(node.tensor);
  if (data == nullptr || data->size() == 0 || data->sparse()) return std::nullopt;
  if (!reads_inside(node, *data, atoms)) return std::nullopt;
  const float first = data->as_float(0);
  for (int64_t i = 1; i < data->size(); ++i) {
    if (!same_value(data->as_float(i), first)) return std::nullopt;
  }
  return first;
}

/// Copies the tree below `node` to `out` in postorder: shared children become copies, constants of
/// one element become literals, and operators on literals are evaluated. `atoms`: their extents.
int32_t linearise(const std::vector<Expr>& nodes, int32_t node, const ConstantLookup& constants,
                  const std::vector<int64_t>& atoms, std::vector<Expr>& out) {
  Expr copy = nodes[static_cast<size_t>(node)];
  if (copy.kind == Expr::Kind::access) {
    const ConstantTensor* data = constants(copy.tensor);
    if (data != nullptr && data->size() == 1 && reads_inside(copy, *data, atoms)) {
      Expr literal;
      literal.constant = data->as_float(0);
      copy = literal;
    }
  }
  const size_t first = out.size();
  const bool select = copy.kind == Expr::Kind::apply && copy.op == Op::where;
  for (size_t c = 0; c < copy.children.size(); ++c) {
    int32_t& child = copy.children[c];
    const auto uniform = select && c > 0
                             ? uniform_value(nodes[static_cast<size_t>(child)], constants, atoms)
                             : std::nullopt;
    if (!uniform) {
      child = linearise(nodes, child, constants, atoms, out);
      continue;
    }
    Expr literal;
    literal.constant = *uniform;
    out.push_back(literal);
    child = static_cast<int32_t>(out.size()) - 1;
  }
  bool literal = copy.kind == Expr::Kind::apply;
  std::vector<float> operands;
  for (const int32_t child : copy.children) {
    literal = literal && out[static_cast<size_t>(child)].kind == Expr::Kind::constant;
    operands.push_back(out[static_cast<size_t>(child)].constant);
  }
  if (literal) {
    out.resize(first);
    Expr value;
    value.constant = evaluate(copy.op, operands);
    copy = value;
  }
  out.push_back(std::move(copy));
  return static_cast<int32_t>(out.size()) - 1;
}

}  // namespace

Importer::Importer(OnnxModel model, const ImportOptions& options, Steps steps)
    : model_(std::move(model)),
      options_(options),
      steps_(std::move(steps)),
      symbols_(options.dims) {}

void Importer::declare_format(const View& value, const std::optional<Format>& format) {
  const Expr* access = value.plain_access();
  if (access == nullptr) throw Defect("a format of what is no tensor");
  Draft& draft = draft_.tensors[static_cast<size_t>(access->tensor)];
  draft.declared = format.value_or(dense_format(static_cast<int>(draft.shape.size())));
  draft.pinned = format.has_value();
}

int Importer::last_group() const {
  if (!steps_) return static_cast<int>(model_.nodes.size());
  int group = 0;
  for (const DraftStatement& made : draft_.statements) group = std::max(group, made.group + 1);
  return group;
}

const View& Importer::value(const std::string& name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) throw Defect("value '" + shown(name) + "' is not there yet");
  return found->second;
}

bool Importer::is_constant(const View& value) const {
  const auto known = [&](const Expr& node) {
    return node.kind != Expr::Kind::access || constant(node.tensor) != nullptr;
  };
  return std::all_of(value.nodes.begin(), value.nodes.end(), known) || value.size() == 0;
}

/// Whether a value is constant, and its values take few steps.
bool Importer::is_foldable(const View& value) const {
  if (value.size() == 0) return true;
  if (!is_constant(value) || value.size() > kMaxFoldedElements) return false;
  const bool sparse = std::any_of(value.nodes.begin(), value.nodes.end(), [&](const Expr& node) {
    return node.kind == Expr::Kind::access && constant(node.tensor)->sparse();
  });
  return evaluation_steps(value) <= (sparse ? kMaxSparseSteps : kMaxFoldedSteps);
}

bool Importer::folds(const View& value) const {
  if (value.size() == 0) return true;
  return !is_activation(value) && folded_elements_ + value.size() <= kMaxFoldedTotal &&
         is_foldable(value) && evaluation_steps(value) <= kMaxFoldedSteps - folded_steps_;
}

ConstantPtr Importer::constant_of(const View& value) const {
  if (value.size() == 0) return constant_values({}, value.shape(), value.type);
  if (!is_foldable(value)) return nullptr;
  const Expr* access = value.plain_access();
  if (access != nullptr) {  // the whole of a constant as it stands
    const Draft& draft = draft_.tensors[static_cast<size_t>(access->tensor)];
    const View whole = whole_tensor(access->tensor, value.type, draft.shape);
    // (The front part of a constant differs in its shape alone.)
    if (whole.nodes == value.nodes && whole.dims == value.dims && whole.shape() == value.shape() &&
        draft.data->type == value.type && !draft.data->sparse())
      return draft.data;
  }
  return evaluate_value(value, [this](TensorId id) { return constant(id); });
}

ConstantPtr Importer::bound_values(const View& value) {
  if (ConstantPtr data = constant_of(value)) return data;
  const auto values_of = [this](TensorId id) {
    const Draft& draft = draft_.tensors[static_cast<size_t>(id)];
    return draft.data ? draft.data.get() : draft.values.get();
  };
  std::vector<TensorId> read;
  for (const Expr& node : value.nodes) {
    if (node.kind != Expr::Kind::access) continue;
    const ConstantTensor* data = values_of(node.tensor);
    if (data == nullptr) return nullptr;
    if (data->sparse() && evaluation_steps(value) > kMaxSparseSteps) return nullptr;
    read.push_back(node.tensor);
  }
  if (value.size() > kMaxFoldedElements || evaluation_steps(value) > kMaxFoldedSteps)
    return nullptr;
  for (const TensorId id : read) {
    for (InputUse& input : draft_.inputs)
      input.constant |= input.name == draft_.tensors[static_cast<size_t>(id)].tensor.name;
  }
  return evaluate_value(value, values_of);
}

std::string Importer::fresh_name(const std::string& wanted) {
  std::string name = wanted.empty() ? "t" : wanted;
  while (names_.contains(name)) name = fmt::format("{}.{}", wanted, ++names_[wanted]);
  names_[name] = 0;
  return name;
}

View Importer::add_constant(const std::string& name, ConstantPtr data,
                            const std::string& initializer) {
  if (initializer.empty() && !data->sparse()) folded_elements_ += data->size();
  if (folded_elements_ > kMaxFoldedTotal) {
    throw Error(
        ExitCode::rejected, Location{model_.path},
        fmt::format("value '{}': the constants that the model computes have more than {} elements",
                    shown(name), kMaxFoldedTotal));
  }
  Draft draft;
  draft.tensor.name = fresh_name(name);
  draft.tensor.type = data->type;
  draft.tensor.role = Role::constant;
  draft.shape = data->shape;
  draft.initializer = initializer;
  draft.data = std::move(data);
  draft_.tensors.push_back(std::move(draft));
  const auto id = static_cast<TensorId>(draft_.tensors.size()) - 1;
  const Draft& made = draft_.tensors.back();
  View view = whole_tensor(id, made.tensor.type, made.shape);
  view.code = made.data->code;
  return view;
}

bool Importer::from_input(const View& view) const {
  return std::any_of(view.nodes.begin(), view.nodes.end(), [&](const Expr& node) {
    return node.kind == Expr::Kind::access &&
           draft_.tensors[static_cast<size_t>(node.tensor)].from_input;
  });
}

bool Importer::is_activation(const View& view) const {
  return std::any_of(view.nodes.begin(), view.nodes.end(), [&](const Expr& node) {
    return node.kind == Expr::Kind::access &&
           draft_.tensors[static_cast<size_t>(node.tensor)].activation;
  });
}

void Importer::mark_activation(const View& view) {
  for (const Expr& node : view.nodes) {
    if (node.kind == Expr::Kind::access)
      draft_.tensors[static_cast<size_t>(node.tensor)].activation = true;
  }
}

void Importer::set_value(const std::string& name, View value) {
  if (value.size() != 0) {
    values_[name] = std::move(value);
    return;
  }
  const Expr* access = value.plain_access();
  const bool whole = access != nullptr && constant(access->tensor) != nullptr &&
                     constant(access->tensor)->shape == value.shape() &&
                     constant(access->tensor)->type == value.type;
  values_[name] = whole ? std::move(value) : add_constant(name, constant_of(value));
}

View Importer::define(const std::string& name, View value, int group) {
  if (value.size() == 0) return add_constant(name, constant_of(value));
  coalesce(value);
  if (!folds(value)) return append(name, std::move(value), group);
  folded_steps_ += evaluation_steps(value);
  const bool bound = from_input(value);
  View result = add_constant(name, constant_of(value));
  draft_.tensors.back().from_input = bound;
  return result;
}

View Importer::append(const std::string& name, View value, int group) {
  Draft draft;
  draft.tensor.name = fresh_name(name);
  draft.tensor.type = value.type;
  DraftStatement made;
  made.group = group;
  made.statement.from = current_;
  linearise(
      value.nodes, static_cast<int32_t>(value.nodes.size()) - 1,
      [this](TensorId id) { return constant(id); }, value.atoms, made.statement.nodes);
  number_indices(made.statement, value);
  made.statement.result = static_cast<TensorId>(draft_.tensors.size());
  View result;
  result.type = value.type;
  result.dims = value.dims;
  result.atoms = value.atoms;
  Expr access;
  access.kind = Expr::Kind::access;
  access.tensor = made.statement.result;
  for (const auto& dim : value.dims) {
    for (const IndexId atom : dim) {
      access.subscripts.push_back(Subscript{{{atom, 1}}, 0});
      draft.shape.push_back(value.atoms[static_cast<size_t>(atom)]);
    }
  }
  element_count(draft.shape);  // refuses what cannot be counted
  result.nodes.push_back(std::move(access));
  draft_.tensors.push_back(std::move(draft));
  draft_.statements.push_back(std::move(made));
  return result;
}

void Importer::mark_nonzero_if_finite(const View& sum, const View& maximum) {
  const Expr* a = sum.plain_access();
  const Expr* b = maximum.plain_access();
  if (a != nullptr && b != nullptr)
    draft_.tensors[static_cast<size_t>(a->tensor)].nonzero_if = b->tensor;
}

void Importer::mark_thinned(const View& view) {
  const Expr* access = view.plain_access();
  if (access != nullptr) draft_.tensors[static_cast<size_t>(access->tensor)].thinned = true;
}

void Importer::mark_unsigned(const View& view) {
  const Expr* access = view.plain_access();
  if (access != nullptr) draft_.tensors[static_cast<size_t>(access->tensor)].unsigned_word = true;
}

void Importer::mark_selects(const View& view) {
  const Expr* access = view.plain_access();
  if (access != nullptr) draft_.tensors[static_cast<size_t>(access->tensor)].selects = true;
}

std::vector<int64_t> Importer::agreed_shape(const OnnxPort& port,
                                            const std::vector<int64_t>& shape) {
  if (!port.shape) return shape;
  const auto fail = [&](const std::string& why) {
    throw Error(ExitCode::rejected, Location{model_.path},
                fmt::format("--bind {}: the data has shape [{}], {}", shown(port.name),
                            fmt::join(shape, ","), why));
  };
  if (port.shape->size() != shape.size())
    fail(fmt::format("but the model expects {} dimensions", port.shape->size()));
  for (size_t d = 0; d < shape.size(); ++d) {
    const OnnxDim& dim = (*port.shape)[d];
    if (dim.value >= 0 && dim.value != shape[d]) {
      fail(fmt::format("but the model expects extent {} in dimension {}", dim.value, d));
    }
    if (dim.value >= 0 || dim.symbol.empty()) continue;
    const auto [at, fresh] = symbols_.emplace(dim.symbol, shape[d]);
    if (!fresh && at->second != shape[d]) {
      fail(
          fmt::format("but dimension {} ('{}') is {} elsewhere", d, shown(dim.symbol), at->second));
    }
  }
  return shape;
}

namespace {

/// The entries of a sparse input as a constant tensor.
ConstantPtr host_entries(const Coo& entries) {
  std::vector<std::pair<int64_t, float>> pairs;
  for (size_t e = 0; e < entries.values.size(); ++e) {
    int64_t position = 0;
    for (size_t d = 0; d < entries.shape.size(); ++d) {
      position = position * entries.shape[d] + entries.coords[d][e];
    }
    pairs.emplace_back(position, entries.values[e]);
  }
  return constant_sparse(std::move(pairs), entries.shape, ElementType::f32);
}

}  // namespace

void Importer::refuse_open(const OnnxPort& port, const OnnxDim& dim) const {
  const std::string symbol = dim.symbol.empty() ? "" : fmt::format(" '{}'", shown(dim.symbol));
  const std::string given =
      dim.symbol.empty() ? "" : fmt::format("--dim {}=N or ", shown(dim.symbol));
  throw Error(
      ExitCode::rejected, Location{model_.path},
      fmt::format("--bind {}: the model leaves an extent{} open, which a generator does not "
                  "say; expected {}shape=[...] in the generator",
                  shown(port.name), symbol, given));
}

RawTensor Importer::read_input(const OnnxPort& port, const Source& source) const {
  const bool open_generator =
      source.kind == Source::Kind::generator &&
      std::none_of(source.params.begin(), source.params.end(),
                   [](const auto& param) { return param.first == "shape"; });
  std::optional<std::vector<int64_t>> expected;
  if (port.shape && !says_extents(source)) {  // others are compared by agreed_shape
    expected.emplace();
    for (const OnnxDim& dim : *port.shape) {
      const auto symbol = symbols_.find(dim.symbol);
      const bool bound = dim.value < 0 && !dim.symbol.empty() && symbol != symbols_.end();
      expected->push_back(dim.value >= 0 ? dim.value : bound ? symbol->second : -1);
      if (expected->back() < 0 && open_generator) refuse_open(port, dim);
    }
  }
  LoadOptions load;
  load.base_dir = options_.base_dir;
  try {
    return read_raw(source, expected, load);
  } catch (const Error& error) {  // of a file it says which
    if (!error.diagnostics()[0].where.file.empty()) throw;
    throw Error(error.code(), Location{model_.path},
                fmt::format("--bind {}: {}", shown(port.name), error.diagnostics()[0].message));
  }
}

namespace {

/// The type that the model says: i64 holds its unsigned words.
std::string_view type_name(const OnnxPort& port) {
  if (!is_unsigned_word(port.code)) return element_name(port.type);
  return port.code == kOnnxUint64 ? "u64" : "u32";
}

}  // namespace

void Importer::check_integers(const OnnxPort& port, const RawTensor& raw) const {
  const auto refuse = [&](const std::string& value, const std::string& expected) {
    throw Error(ExitCode::rejected, Location{model_.path},
                fmt::format("--bind {}: the model expects integers ({}), but the data has the "
                            "value {}; expected {}",
                            shown(port.name), type_name(port), value, expected));
  };
  const auto check = [&](int64_t v) {
    const bool held = is_unsigned_word(port.code)
                          ? v >= 0 && (port.code == kOnnxUint64 || v >> 32 == 0)
                          : narrowed(v, port.type) == v;
    if (!held) refuse(std::to_string(v), "values that the model's type has");
  };
  for (const int64_t v : raw.integers) check(v);
  if (!raw.integers.empty()) return;
  const std::span<const float> values = raw.sparse() ? std::span(std::get<Coo>(raw.data).values)
                                                     : std::get<Buffer<float>>(raw.data).span();
  for (const float v : values) {
    const int64_t whole = integer_of(v);
    if (static_cast<float>(whole) != v)
      refuse(fmt::format("{}", v), "whole numbers, e.g. values=int(0,9) of a generator");
    check(whole);
  }
}

namespace {

/// Values as a tensor of the type holds them.
Buffer<float> held_values(const Buffer<float>& values, ElementType type) {
  if (is_integer(type) || holds_f32(type)) return values;
  std::vector<float> rounded = values.to_vector();
  round_all(rounded, type);
  return Buffer<float>(std::move(rounded));
}

}  // namespace

void Importer::bind_input(const OnnxPort& port) {
  Draft draft;
  draft.tensor.name = fresh_name(port.name);
  draft.tensor.type = port.type;
  draft.tensor.role = Role::input;
  const auto only_shape = options_.shapes.find(port.name);
  RawTensor raw;
  if (only_shape != options_.shapes.end()) {
    raw.shape = only_shape->second;
    raw.data = Coo{raw.shape, {}, {}};
  } else {
    draft.tensor.source = options_.bindings.at(port.name);
    raw = read_input(port, draft.tensor.source);
    if (!is_integer(port.type) && !holds_f32(port.type) && raw.sparse())
      round_all(std::get<Coo>(raw.data).values, port.type);
  }
  draft.shape = agreed_shape(port, raw.shape);
  draft.bound_shape = draft.shape;
  draft.pinned = options_.formats.contains(port.name);
  const bool integral = ConstantTensor::is_integral(port.type) && port.type != ElementType::boolean;
  draft.tensor.format = default_format(raw);
  draft.density = raw.density();
  if (integral) check_integers(port, raw);
  if (element_count(draft.shape) == 0) {
    // Nothing is computed from nothing but constants: no statement reads it.
    draft.data = constant_values({}, draft.shape, port.type);
  } else if (raw.sparse()) {
    draft.tensor.source.nnz = raw.present();
    draft.values = host_entries(std::get<Coo>(raw.data));
    if (static_cast<int64_t>(draft.values->entries().positions.size()) < raw.present()) {
      static_cast<void>(to_storage(raw, draft.tensor.format));  // says which coordinate is twice
    }
    draft.tensor.facts = facts_of(*draft.values);
  } else {
    const Buffer<float> floats = held_values(std::get<Buffer<float>>(raw.data), port.type);
    draft.values = constant_floats(floats, draft.shape);
    draft.tensor.facts = facts_of(*draft.values);
    // Integers are indices and shapes; a single number is a parameter. Both are constants. Integers
    // of 8 bits are data: quantised values.
    const bool condition = port.type == ElementType::boolean && draft.shape.empty();
    const bool shapes = integral && element_bytes(port.type) > 1 && !steps_;
    if (condition || shapes || (integral && draft.shape.empty())) {
      draft.data = raw.integers.empty()
                       ? constant_values(floats.to_vector(), draft.shape, port.type)
                       : constant_ints(raw.integers, draft.shape, port.type);
    } else if (draft.shape.empty() && !is_integer(port.type)) {
      draft.data = constant_floats(floats, draft.shape, port.type);
    }
  }
  draft.from_input = draft.data != nullptr;
  draft_.inputs.push_back({port.name, draft.tensor.source, draft.shape, draft.data != nullptr});
  const auto id = static_cast<TensorId>(draft_.tensors.size());
  View& value = values_[port.name];
  value = whole_tensor(id, port.type, draft.shape);
  value.code = port.code;
  draft_.tensors.push_back(std::move(draft));
}

namespace {

/// A name as options take it: in double quotes if it holds a '=' or begins with a quote.
std::string option_name(const std::string& name) {
  if (name.find('=') == std::string::npos && !name.starts_with('"')) return shown(name);
  std::string quoted = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return shown(quoted + "\"");
}

}  // namespace

void Importer::check_bindings() const {
  std::vector<Diagnostic> wrong;
  const auto complain = [&](std::string message) {
    wrong.push_back({Severity::error, Location{model_.path}, std::move(message), {}});
  };
  std::vector<std::string> known;
  for (const OnnxPort& port : model_.inputs) {
    known.push_back(port.name);
    if (options_.bindings.contains(port.name) || options_.shapes.contains(port.name)) continue;
    std::string shape;
    if (port.shape) {
      std::vector<std::string> extents;
      for (const OnnxDim& d : *port.shape) {
        extents.push_back(d.value >= 0       ? std::to_string(d.value)
                          : d.symbol.empty() ? "?"
                                             : shown(d.symbol));
      }
      shape = fmt::format(" of shape [{}]", fmt::join(extents, ","));
    }
    const std::string given = option_name(port.name);
    const bool quoted = given != shown(port.name);
    const char* quote = quoted ? "'" : "";
    complain(
        fmt::format("input '{}'{} is not bound; give it data: --bind {}{}=FILE{} or --bind "
                    "{}{}=uniform(density=0.1,seed=1){}",
                    shown(port.name), shape, quote, given, quote, quote, given, quote));
  }
  for (const auto& [name, data] : model_.initializers) known.push_back(name);
  for (const auto& [name, source] : options_.bindings) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string near = meant_name(name, known);
    complain(fmt::format("--bind {}: the model has no such input{}", shown(name),
                         near.empty() ? "" : fmt::format("; did you mean '{}'?", shown(near))));
  }
  std::vector<std::string> symbols;
  for (const OnnxPort& port : model_.inputs) {
    if (!port.shape) continue;
    for (const OnnxDim& dim : *port.shape) symbols.push_back(dim.symbol);
  }
  for (const auto& [name, extent] : options_.dims) {
    if (std::find(symbols.begin(), symbols.end(), name) != symbols.end()) continue;
    const std::string near = meant_name(name, symbols);
    complain(fmt::format("--dim {}: no input of the model has such a dimension{}", shown(name),
                         near.empty() ? "" : fmt::format("; did you mean '{}'?", shown(near))));
  }
  if (!wrong.empty()) throw Error(ExitCode::rejected, std::move(wrong));
}

namespace {

bool has_unknown(const std::vector<OnnxDim>& shape, const std::map<std::string, int64_t>& symbols) {
  return std::any_of(shape.begin(), shape.end(), [&](const OnnxDim& dim) {
    return dim.value < 0 && !symbols.contains(dim.symbol);
  });
}

}  // namespace

void Importer::bind_inputs() {
  check_bindings();
  // Data that do not say their extents take them from those that do, whatever the inputs' order.
  bool waits = false;
  for (const OnnxPort& port : model_.inputs) {
    const auto bound = options_.bindings.find(port.name);
    if (bound == options_.bindings.end()) continue;
    const Source& source = bound->second;
    const bool says = says_extents(source);
    if (says && waits) agreed_shape(port, read_input(port, source).shape);
    waits |= !says && port.shape && has_unknown(*port.shape, symbols_);
  }
  for (const OnnxPort& port : model_.inputs) bind_input(port);
  for (const auto& [name, data] : model_.initializers) {
    if (!options_.bindings.contains(name) && !options_.shapes.contains(name)) {
      values_[name] = add_constant(name, data, name);
      continue;
    }
    OnnxPort port{name, data->type, std::vector<OnnxDim>{}, data->code};
    for (const int64_t extent : data->shape) port.shape->push_back({extent, ""});
    bind_input(port);
  }
}

void Importer::check_operators(const std::vector<OnnxNode>& nodes) const {
  std::vector<Diagnostic> wrong;
  for (const OnnxNode& node : nodes) {
    if (find_operator(node.full_name()) != nullptr) continue;
    std::string message = node.domain.empty()
                              ? fmt::format("operator {} (node '{}') is not supported",
                                            shown(node.op), shown(node.name))
                              : fmt::format("operator {}.{} (node '{}') is of a custom domain",
                                            shown(node.domain), shown(node.op), shown(node.name));
    const std::string_view why = refusal_of(node.full_name());
    if (!why.empty()) message += fmt::format(": {}", why);
    message += node.domain.empty() ? "; export the model without it, or rewrite it with the "
                                     "operators of ir-spec/operators.md"
                                   : ", which has no definition here; export it as a model-local "
                                     "function or with standard operators";
    wrong.push_back({Severity::error, Location{model_.path}, std::move(message), {}});
  }
  if (!wrong.empty()) throw Error(ExitCode::rejected, std::move(wrong));
}

void Importer::check_ranks(const char* what, const std::vector<std::string>& names) const {
  for (const std::string& name : names) {
    if (name.empty() || !has_value(name) || value(name).rank() <= kMostDimensions) continue;
    throw Error(ExitCode::rejected,
                fmt::format("{} '{}' has {} dimensions, expected at most {}", what, shown(name),
                            value(name).rank(), kMostDimensions));
  }
}

void Importer::convert_nodes() {
  for (at_ = 0; at_ < model_.nodes.size(); ++at_) {
    stop_if_asked();
    // A copy: the nodes of a branch come in between.
    const OnnxNode node = model_.nodes[at_];
    const size_t before = model_.nodes.size();
    convert_node(node, groups_[at_]);
    if (model_.nodes.size() != before) continue;  // these nodes define its outputs
    for (const std::string& name : node.outputs) {
      if (!name.empty() && !values_.contains(name)) {
        throw Error(ExitCode::rejected, Location{model_.path},
                    fmt::format("node '{}' ({}): output '{}' is not supported", shown(node.name),
                                node.op, shown(name)));
      }
    }
  }
  current_ = {};
}

void Importer::convert_node(const OnnxNode& node, int group) {
  if (node.op.empty()) {
    const DeferredConversion later = std::move(later_.extract(node.name).mapped());
    return convert_with(later.node, group, later.then);
  }
  convert_with(node, group, [&](NodeImport& view) {
    const std::string fault =
        signature_fault(node, [this](const std::string& name) { return value(name).type; });
    if (!fault.empty()) throw Error(ExitCode::rejected, fault);
    check_ranks("input", node.inputs);
    find_operator(node.full_name())->convert(view);
    if (const std::string left = view.unread(); !left.empty())
      throw Error(ExitCode::rejected, left);
    hold_unsigned(view);
  });
}

void Importer::convert_with(const OnnxNode& node, int group,
                            const std::function<void(NodeImport&)>& convert) {
  NodeImport view(*this, node, group);
  current_ = origin_of(node);
  try {
    convert(view);
    check_ranks("output", node.outputs);
  } catch (const Error& error) {
    if (error.code() != ExitCode::rejected || !error.diagnostics()[0].where.file.empty()) throw;
    throw Error(ExitCode::rejected, Location{model_.path},
                fmt::format("node '{}' ({}): {}", shown(node.name), node.op,
                            error.diagnostics()[0].message));
  }
}

void Importer::go_on_with(const OnnxGraph& graph, const std::vector<std::string>& outputs,
                          bool one_kernel) {
  OnnxModel branch;
  branch.path = model_.path;
  branch.nodes = graph.nodes;
  const int opset = model_.nodes[at_].opset;
  for (size_t o = 0; o < outputs.size(); ++o) {
    if (outputs[o].empty()) continue;
    OnnxNode result;
    result.op = "Identity";
    result.name = fmt::format("Identity({})", outputs[o]);
    result.opset = opset;
    result.inputs = {graph.outputs[o]};
    result.outputs = {outputs[o]};
    branch.nodes.push_back(std::move(result));
    branch.outputs.push_back({outputs[o], ElementType::f32, std::nullopt});
  }
  check_operators(branch.nodes);
  std::vector<int> kernels = find_kernels(branch);
  const auto count = static_cast<int>(branch.nodes.size());
  if (one_kernel) std::fill(kernels.begin(), kernels.end(), count - 1);
  insert_nodes(std::move(branch.nodes), kernels);
}

void Importer::go_on_with(const OnnxGraph& graph, const OnnxNode& node,
                          std::function<void(NodeImport&)> then) {
  OnnxModel body;
  body.path = model_.path;
  body.nodes = graph.nodes;
  for (const std::string& output : graph.outputs)
    body.outputs.push_back({output, ElementType::f32, std::nullopt});
  check_operators(body.nodes);
  OnnxNode rest;
  rest.name = fmt::format("{}#{}", node.name, inserted_);
  rest.outputs = node.outputs;
  later_.emplace(rest.name, DeferredConversion{node, std::move(then)});
  std::vector<int> kernels = find_kernels(body);
  kernels.push_back(static_cast<int>(kernels.size()));
  body.nodes.push_back(std::move(rest));
  insert_nodes(std::move(body.nodes), kernels);
}

void Importer::insert_nodes(std::vector<OnnxNode> nodes, const std::vector<int>& kernels) {
  const auto count = static_cast<int>(nodes.size());
  inserted_ += count;
  moved_ += static_cast<int64_t>(model_.nodes.size() - at_);
  if (inserted_ > kMaxInsertedNodes || moved_ > kMaxMovedNodes) {
    throw Error(ExitCode::rejected,
                fmt::format("loops and recurrences stand for too many nodes: {} so far, expected "
                            "at most {}; bind shorter sequences, or run fewer iterations",
                            inserted_, kMaxInsertedNodes));
  }
  const int after = groups_[at_];
  // Groups have the order of their last nodes: those after it make room. What else the node's own
  // group has (a Cast that rounds its result) reads what is inserted, and comes after it.
  for (size_t n = at_ + 1; n < groups_.size(); ++n) groups_[n] += groups_[n] >= after ? count : 0;
  for (DraftStatement& made : draft_.statements) made.group += made.group > after ? count : 0;
  std::vector<int> fresh;
  for (const int kernel : kernels) fresh.push_back(after + 1 + kernel);
  const auto place = static_cast<std::ptrdiff_t>(at_) + 1;
  groups_.insert(groups_.begin() + place, fresh.begin(), fresh.end());
  model_.nodes.insert(model_.nodes.begin() + place, std::make_move_iterator(nodes.begin()),
                      std::make_move_iterator(nodes.end()));
}

namespace {

/// Warns where a model declares another shape of an output than its nodes give; the nodes are
/// right.
void warn_of_shape(const OnnxPort& port, const std::vector<int64_t>& given) {
  if (!port.shape) return;
  std::vector<std::string> declared;
  bool same = port.shape->size() == given.size();
  for (size_t d = 0; d < port.shape->size(); ++d) {
    const OnnxDim& dim = (*port.shape)[d];
    if (dim.value >= 0 && d < given.size()) same = same && dim.value == given[d];
    declared.push_back(dim.value >= 0       ? std::to_string(dim.value)
                       : dim.symbol.empty() ? "?"
                                            : shown(dim.symbol));
  }
  if (same) return;
  report(Severity::warning,
         fmt::format("output '{}': the model declares the shape [{}], but its nodes give [{}]",
                     shown(port.name), fmt::join(declared, ","), fmt::join(given, ",")));
}

void warn_of_type(const OnnxPort& port, ElementType given) {
  if (!port.typed || port.type == given) return;
  report(Severity::warning,
         fmt::format("output '{}': the model declares the type {}, but its nodes give {}",
                     shown(port.name), element_name(port.type), element_name(given)));
}

}  // namespace

void Importer::bind_output(const OnnxPort& port) {
  if (!has_value(port.name)) {
    throw Error(ExitCode::rejected, Location{model_.path},
                fmt::format("output '{}' of the model, which nothing defines", shown(port.name)));
  }
  View value = values_.at(port.name);
  if (value.sequence) {
    throw Error(ExitCode::rejected, Location{model_.path},
                fmt::format("output '{}' of the model is a sequence, expected a tensor; end the "
                            "model with SequenceAt or ConcatFromSequence",
                            shown(port.name)));
  }
  warn_of_shape(port, value.shape());
  warn_of_type(port, value.type);
  std::vector<View*> others;  // that are named later
  for (const OnnxPort& other : model_.outputs) {
    if (has_value(other.name)) others.push_back(&values_.at(other.name));
  }
  if (!name_result(draft_, value, port.name, others)) {
    names_.erase(port.name);
    rename_tensor(draft_, port.name, fresh_name(port.name + ".source"));
    value = append(port.name, std::move(value), last_group());
    if (!name_result(draft_, value, port.name, others)) throw Defect("a result could not be named");
  }
  // What an operator makes on its way may have had the name before.
  const bool twice = std::any_of(draft_.tensors.begin(), draft_.tensors.end(), [&](const Draft& d) {
    return d.tensor.name == port.name && d.tensor.role != Role::result;
  });
  if (twice) rename_tensor(draft_, port.name, fresh_name(port.name));
}

DraftProgram Importer::draft() {
  check_operators(model_.nodes);
  bind_inputs();
  if (steps_) steps_(*this);
  groups_ = find_kernels(model_);
  convert_nodes();
  for (const OnnxPort& port : model_.outputs) bind_output(port);
  finalize_structure(draft_);
  find_fully_masked_rows(draft_);
  return std::move(draft_);
}

Program Importer::run() {
  DraftProgram finished = draft();
  for (const Draft& d : finished.tensors) {
    if (d.tensor.given()) known_[d.tensor.name] = d;
  }
  return finalize(std::move(finished), model_, options_);
}

std::optional<double> Importer::density(const std::string& name, float fill) const {
  const auto found = known_.find(name);
  if (found == known_.end()) return std::nullopt;
  const ConstantTensor* data = found->second.data.get();
  if (data == nullptr) return found->second.density;
  return density_of(*data, fill);
}

Program import_onnx_bytes(std::string_view bytes, const std::string& path,
                          const ImportOptions& options) {
  return Importer(parse_onnx(bytes, path, options.follow_links), options).run();
}

Program import_onnx(const std::string& path, const ImportOptions& options) {
  return Importer(load_onnx(path, options.follow_links), options).run();
}

}  // namespace fuseflow
