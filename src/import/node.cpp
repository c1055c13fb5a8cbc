// What operators ask of a node: attributes and constants with the right complaints.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "import/importer.h"
#include "import/onnx/definitions.h"
#include "import/onnx/tensor_proto.h"
#include "support/defect.h"
#include "support/error.h"
#include "support/text.h"

namespace fuseflow {

namespace {
constexpr size_t kMaxViewNodes = 128;
constexpr size_t kMaxSequence = 4096;  ///< tensors
}  // namespace

std::string NodeImport::what() const {
  return node_.op;
}

void NodeImport::reject(const std::string& message) const {
  throw Error(ExitCode::rejected, message);
}

bool NodeImport::has_input(int i) const {
  asked_inputs_.insert(i);
  return i < input_count() && !node_.inputs[static_cast<size_t>(i)].empty();
}

bool NodeImport::has_output(int i) const {
  return i < output_count() && !node_.outputs[static_cast<size_t>(i)].empty();
}

const std::string& NodeImport::output_name(int i) const {
  if (i < output_count()) return node_.outputs[static_cast<size_t>(i)];
  reject(fmt::format("has {} outputs, expected at least {}", output_count(), i + 1));
}

const View& NodeImport::any_input(int i) const {
  if (!has_input(i)) reject(fmt::format("input {} is missing", i));
  return importer_.value(node_.inputs[static_cast<size_t>(i)]);
}

const View& NodeImport::input(int i) const {
  const View& view = any_input(i);
  if (view.sequence) reject(fmt::format("input {} is a sequence, expected a tensor", i));
  return view;
}

const std::vector<View>& NodeImport::sequence_input(int i) const {
  const View& view = any_input(i);
  if (!view.sequence) reject(fmt::format("input {} is a tensor, expected a sequence", i));
  return *view.sequence;
}

ConstantPtr NodeImport::try_constant(int i) const {
  return importer_.constant_of(input(i));
}

ConstantPtr NodeImport::constant_input(int i, const char* role) const {
  ConstantPtr data = try_constant(i);
  if (!data) {
    reject(fmt::format(
        "{} (input {}) must be constant; it depends on an input of the model: bind that input "
        "as an integer tensor, or export with constants folded",
        role, i));
  }
  return data;
}

ConstantPtr NodeImport::deciding_input(int i, const char* role, const char* decided) const {
  ConstantPtr data = importer_.bound_values(input(i));
  if (!data) {
    reject(fmt::format(
        "{} depends on {} (input {}), which the program computes; expected a constant, or an input "
        "of the model, whose values are known",
        decided, role, i));
  }
  return data;
}

std::vector<int64_t> NodeImport::ints_input(int i, const char* role) const {
  const ConstantPtr data = constant_input(i, role);
  for (int64_t e = 0; !data->integral() && e < data->size(); ++e) {
    const float v = data->as_float(e);
    if (static_cast<float>(integer_of(v)) == v) continue;
    reject(fmt::format("{} (input {}) must be integers, but element {} is {}", role, i, e, v));
  }
  return data->as_ints();
}

const OnnxAttribute* NodeImport::attribute(const std::string& name) const {
  asked_.insert(name);
  const auto found = node_.attributes.find(name);
  return found == node_.attributes.end() ? nullptr : &found->second;
}

std::string NodeImport::unread() const {
  for (const auto& [name, attribute] : node_.attributes) {
    if (!asked_.contains(name) && name != "consumed_inputs")  // of opsets below 6, about memory
      return fmt::format("attribute '{}' is not supported", shown(name));
  }
  for (int i = 0; i < input_count(); ++i) {
    if (node_.inputs[static_cast<size_t>(i)].empty() || asked_inputs_.contains(i)) continue;
    const OperatorDefinition* definition = definition_at(node_.full_name(), node_.opset);
    const auto at = static_cast<size_t>(i);
    const bool named = definition != nullptr && at < definition->inputs.size();
    return fmt::format("input {}{} is not supported", i,
                       named ? fmt::format(" ('{}')", definition->inputs[at].name) : "");
  }
  return {};
}

int64_t NodeImport::integer(const std::string& name, int64_t otherwise) const {
  const OnnxAttribute* a = attribute(name);
  if (a == nullptr) return otherwise;
  if (a->kind != OnnxAttribute::Kind::integer)
    reject(fmt::format("attribute '{}' is not an integer", name));
  return a->i;
}

float NodeImport::real(const std::string& name, float otherwise) const {
  const OnnxAttribute* a = attribute(name);
  if (a == nullptr) return otherwise;
  if (a->kind != OnnxAttribute::Kind::real)
    reject(fmt::format("attribute '{}' is not a number", name));
  return a->f;
}

std::string NodeImport::text(const std::string& name, const std::string& otherwise) const {
  const OnnxAttribute* a = attribute(name);
  if (a == nullptr) return otherwise;
  if (a->kind != OnnxAttribute::Kind::string)
    reject(fmt::format("attribute '{}' is not a string", name));
  return a->s;
}

std::vector<int64_t> NodeImport::integers(const std::string& name) const {
  const OnnxAttribute* a = attribute(name);
  if (a == nullptr) return {};
  if (a->kind != OnnxAttribute::Kind::integers)
    reject(fmt::format("attribute '{}' is not a list of integers", name));
  return a->ints;
}

std::optional<std::vector<int64_t>> NodeImport::ints(int i, const std::string& name,
                                                     const char* role) const {
  if (has_input(i)) return ints_input(i, role);
  if (has_attribute(name)) return integers(name);
  return std::nullopt;
}

int NodeImport::axis(int64_t axis, int rank) const {
  if (axis < -rank || axis >= rank)
    reject(fmt::format("axis {} is outside a tensor of rank {}", axis, rank));
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

void NodeImport::output_sequence(int i, std::vector<View> tensors, ElementType type) {
  if (tensors.size() > kMaxSequence) {
    reject(
        fmt::format("a sequence of {} tensors, expected at most {}", tensors.size(), kMaxSequence));
  }
  View value = scalar_view(0, type);
  value.sequence = std::make_shared<const std::vector<View>>(std::move(tensors));
  importer_.set_value(output_name(i), std::move(value));
}

void NodeImport::output(int i, View value) {
  value.selection = nullptr;
  value.parts = nullptr;
  value.ranking = nullptr;
  // A view that has grown (Concat of Concat of ...) becomes a statement, or it would grow for ever.
  if (value.nodes.size() > kMaxViewNodes) return define(i, std::move(value));
  importer_.set_value(output_name(i), std::move(value));
}

void NodeImport::select_output(int i, Selection selection) {
  const std::string& name = output_name(i);
  View view = importer_.value(name);
  view.selection = std::make_shared<const Selection>(std::move(selection));
  importer_.set_value(name, std::move(view));
}

void NodeImport::join_output(int i, Parts parts) {
  const std::string& name = output_name(i);
  View view = importer_.value(name);
  view.parts = std::make_shared<const Parts>(std::move(parts));
  importer_.set_value(name, std::move(view));
}

void NodeImport::move_parts(const View& from, int dim,
                            const std::function<View(const View&)>& move) {
  if (!from.parts) return;
  Parts moved{dim, {}};
  for (const auto& part : from.parts->views) {
    moved.views.push_back(std::make_shared<const View>(move(*part)));
  }
  join_output(0, std::move(moved));
}

void NodeImport::rank_output(int i, Ranking ranking) {
  const std::string& name = output_name(i);
  View view = importer_.value(name);
  view.ranking = std::make_shared<const Ranking>(std::move(ranking));
  importer_.set_value(name, std::move(view));
}

void NodeImport::mark_code(int i, int code) {
  const std::string& name = output_name(i);
  View view = importer_.value(name);
  view.code = code;
  importer_.set_value(name, std::move(view));
}

View NodeImport::single_axis(const View& view, int dim) {
  View result = view;
  coalesce(result);
  if (result.dims[static_cast<size_t>(dim)].size() <= 1) return result;
  return simple(view, "whole");
}

void NodeImport::weight_selection(const View& source, const View& weights) {
  const ConstantPtr data = importer_.constant_of(weights);
  if (!data || importer_.is_constant(source)) return;
  Selection selection = *source.selection;
  // One weight for each selected row: of shape [E, 1, ...], or a single number.
  const auto rows = static_cast<int64_t>(selection.rows.size());
  const int rank = source.rank();
  const bool single = data->size() == 1;
  const bool each = weights.rank() == rank && data->size() == rows && weights.extent(0) == rows;
  if (weights.rank() > rank || (!single && !each)) return;
  for (size_t e = 0; e < selection.weights.size(); ++e) {
    selection.weights[e] *= data->as_float(single ? 0 : static_cast<int64_t>(e));
  }
  select_output(0, std::move(selection));
}

View NodeImport::whole(const View& view, const std::string& suffix) {
  View single = simple(view, suffix);
  const Expr* access = single.plain_access();
  bool is_whole = access != nullptr;
  for (size_t d = 0; is_whole && d < access->subscripts.size(); ++d) {
    const Subscript& s = access->subscripts[d];
    const int64_t extent = importer_.tensor_extent(access->tensor, d);
    const bool one = s.terms.empty() && extent == 1;
    is_whole = one || (s.is_plain() && single.atoms[static_cast<size_t>(s.plain())] == extent);
  }
  if (is_whole) return single;
  std::vector<int> labels(static_cast<size_t>(view.rank()));
  std::iota(labels.begin(), labels.end(), 0);
  Kernel k = kernel();
  const int x = k.operand(single, labels);
  const int32_t value = k.use(x);
  return helper(suffix, k.result(labels, value, view.type));
}

void NodeImport::output_constant(int i, ConstantPtr data) {
  const std::string& name = output_name(i);
  importer_.set_value(name, importer_.add_constant(name, std::move(data)));
}

void NodeImport::output_initializer(int i, ConstantPtr data) {
  const std::string& name = output_name(i);
  importer_.set_value(name, importer_.add_constant(name, std::move(data), name));
}

void NodeImport::define(int i, View value) {
  const std::string& name = output_name(i);
  importer_.set_value(name, importer_.define(name, std::move(value), group_));
}

void NodeImport::define_reshaped(int i, View value, const std::vector<int64_t>& shape) {
  const std::string& name = output_name(i);
  importer_.set_value(name, reshaped(importer_.define(name, std::move(value), group_), shape));
}

View NodeImport::helper(const std::string& suffix, View value) {
  return importer_.define(output_name(0) + "." + suffix, std::move(value), group_);
}

namespace {

/// The 0/1 matrix, over `to` and the atoms of `value`, of a row-major regrouping.
ConstantPtr regrouping(const std::vector<int64_t>& to, const std::vector<int64_t>& from) {
  std::vector<int64_t> shape = to;
  shape.insert(shape.end(), from.begin(), from.end());
  const int64_t size = element_count(to);
  if (size > kMaxFoldedElements) return nullptr;
  element_count(shape);
  std::vector<std::pair<int64_t, float>> entries;
  stop_unless_room<std::pair<int64_t, float>>(size);
  for (int64_t i = 0; i < size; ++i) entries.emplace_back(i * size + i, 1.0F);
  return constant_sparse(std::move(entries), std::move(shape), ElementType::boolean);
}

}  // namespace

View NodeImport::simple(View value, const std::string& suffix) {
  coalesce(value);
  const bool single = std::all_of(value.dims.begin(), value.dims.end(),
                                  [](const auto& dim) { return dim.size() <= 1; });
  if (single) return value;
  return regrouped(value, value.shape(), suffix);
}

View NodeImport::reshaped(const View& value, const std::vector<int64_t>& shape) {
  View view = value;
  if (value.size() != element_count(shape)) {
    reject(fmt::format("an operand has shape [{}], expected one of as many elements as [{}]",
                       fmt::join(value.shape(), ","), fmt::join(shape, ",")));
  }
  if (value.size() != 0 && reshape(view, shape)) return view;
  if (const ConstantPtr data = importer_.constant_of(value))
    return importer_.add_constant(output_name(0), data->reshaped(shape));
  return regrouped(value, shape, "regrouped");
}

View NodeImport::sliced(const View& view, int dim, int64_t start, int64_t step, int64_t count) {
  if (count == 0 || view.size() == 0) {
    std::vector<int64_t> shape = view.shape();
    shape[static_cast<size_t>(dim)] = count;
    return importer_.add_constant(output_name(0), constant_values({}, shape, view.type));
  }
  View result = view;
  if (slice(result, dim, start, step, count)) return result;
  result = simple(view, "whole");
  if (!slice(result, dim, start, step, count)) throw Defect("a slice of single atoms failed");
  return result;
}

ElementType NodeImport::onnx_type(int64_t code) const {
  if (code < 0 || code > 1000) reject("an element type that is not one");
  return element_type_of(static_cast<int>(code), "the result");
}

View NodeImport::regrouped(const View& value, const std::vector<int64_t>& shape,
                           const std::string& suffix) {
  // The regrouping is no affine index map, so a product with a 0/1 matrix has to move the data.
  std::vector<int64_t> to;
  for (const int64_t e : shape) {
    if (e > 1) to.push_back(e);
  }
  std::vector<int64_t> from;
  View flat = value;
  std::vector<std::vector<IndexId>> dims;
  for (const auto& dim : value.dims) {
    for (const IndexId atom : dim) {
      dims.push_back({atom});
      from.push_back(value.atoms[static_cast<size_t>(atom)]);
    }
  }
  flat.dims = dims;
  const ConstantPtr matrix = regrouping(to, from);
  if (!matrix)
    reject("this reshape is not an affine index map, and the tensor is too large for a 0/1 matrix");
  const View selection = importer_.add_constant(output_name(0) + "." + suffix + ".map", matrix);
  Kernel k = kernel();
  std::vector<int> all(to.size() + from.size());
  std::iota(all.begin(), all.end(), 0);
  const std::vector<int> reduced(all.begin() + static_cast<std::ptrdiff_t>(to.size()), all.end());
  const int p = k.operand(selection, all);
  const int x = k.operand(flat, reduced);
  const int32_t chosen = k.use(p);
  const int32_t data = k.use(x);
  const int32_t picked = k.apply(Op::where, {chosen, data, k.constant(0)});
  const int32_t sum = k.reduce(Reduction::sum, reduced, picked);
  std::vector<int> labels;
  int next = 0;
  labels.reserve(shape.size());
  for (const int64_t e : shape) labels.push_back(e > 1 ? next++ : -1);
  return helper(suffix, k.result(labels, sum, value.type));
}

}  // namespace fuseflow
