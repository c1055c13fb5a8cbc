// Sequences of tensors, whose lengths are always known: lists of values. Optionals that hold a
// value are that value.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "import/importer.h"
#include "import/operators/common.h"
#include "import/operators/registry.h"

namespace fuseflow {

namespace {

/// A place in a list of `count`, given as input i; negative ones count from the end. `after`: the
/// place after the last one is one, too.
size_t place_input(const NodeImport& node, int i, size_t count, bool after = false) {
  const auto given = node.ints_input(i, "the place");
  if (given.size() != 1) node.reject("expected one place");
  const auto length = static_cast<int64_t>(count);
  const int64_t place = given[0] < 0 ? given[0] + length : given[0];
  if (place < 0 || place >= length + (after ? 1 : 0))
    node.reject(fmt::format("place {} is outside a sequence of {} places", given[0], length));
  return static_cast<size_t>(place);
}

void sequence_construct(NodeImport& node) {
  std::vector<View> tensors;
  for (int i = 0; i < node.input_count(); ++i) tensors.push_back(node.input(i));
  node.output_sequence(0, tensors, tensors[0].type);
}

void sequence_empty(NodeImport& node) {
  node.output_sequence(0, {}, node.onnx_type(node.integer("dtype", 1)));
}

void sequence_insert(NodeImport& node) {
  std::vector<View> tensors = node.sequence_input(0);
  size_t place = tensors.size();
  if (node.has_input(2)) place = place_input(node, 2, tensors.size(), true);
  const View& tensor = node.input(1);
  tensors.insert(tensors.begin() + static_cast<std::ptrdiff_t>(place), tensor);
  node.output_sequence(0, std::move(tensors), tensor.type);
}

void sequence_erase(NodeImport& node) {
  std::vector<View> tensors = node.sequence_input(0);
  if (tensors.empty()) node.reject("the sequence has no tensors");
  size_t place = tensors.size() - 1;
  if (node.has_input(1)) place = place_input(node, 1, tensors.size());
  tensors.erase(tensors.begin() + static_cast<std::ptrdiff_t>(place));
  node.output_sequence(0, std::move(tensors), node.any_input(0).type);
}

void sequence_at(NodeImport& node) {
  const std::vector<View>& tensors = node.sequence_input(0);
  node.output(0, tensors[place_input(node, 1, tensors.size())]);
}

void sequence_length(NodeImport& node) {
  const auto length = static_cast<int64_t>(node.sequence_input(0).size());
  node.output_constant(0, constant_ints({length}, {}));
}

void concat_from_sequence(NodeImport& node) {
  std::vector<View> tensors = node.sequence_input(0);
  if (tensors.empty()) node.reject("the sequence has no tensors");
  const bool stacked = node.integer("new_axis", 0) != 0;
  const int axis = node.axis(node.integer("axis", 0), tensors[0].rank() + (stacked ? 1 : 0));
  for (View& tensor : tensors) {
    if (!stacked) continue;
    if (tensor.rank() < axis) node.reject("the tensors differ in rank");
    tensor.dims.insert(tensor.dims.begin() + axis, std::vector<IndexId>{});
  }
  concatenate(node, 0, tensors, axis);
}

/// The extents of the parts that SplitToSequence makes of `extent`.
std::vector<int64_t> part_extents(const NodeImport& node, int64_t extent) {
  constexpr int64_t kMostParts = 4096;
  const auto check_count = [&](int64_t count) {
    if (count > kMostParts)
      node.reject(fmt::format("{} parts, expected at most {}", count, kMostParts));
  };
  if (!node.has_input(1)) {
    check_count(extent);
    return std::vector<int64_t>(static_cast<size_t>(extent), 1);
  }
  const ConstantPtr split = node.constant_input(1, "the extents of the parts");
  std::vector<int64_t> given = node.ints_input(1, "the extents of the parts");
  if (split->shape.empty()) {  // one extent for all; the last part may be shorter
    const int64_t each = given[0];
    if (each < 1) node.reject(fmt::format("parts of {} elements, expected at least 1", each));
    check_count((extent - 1) / each + 1);
    given.clear();
    for (int64_t at = 0; at < extent; at += each) given.push_back(std::min(each, extent - at));
  }
  check_parts(node, given, extent);
  return given;
}

void split_to_sequence(NodeImport& node) {
  const View& x = node.input(0);
  const int axis = node.axis(node.integer("axis", 0), x.rank());
  const bool keep = node.integer("keepdims", 1) != 0 || node.has_input(1);
  std::vector<View> tensors;
  int64_t at = 0;
  for (const int64_t extent : part_extents(node, x.extent(axis))) {
    View part = node.sliced(x, axis, at, 1, extent);
    std::vector<int64_t> shape = part.shape();
    if (!keep) shape.erase(shape.begin() + axis);
    tensors.push_back(keep ? std::move(part) : node.reshaped(part, shape));
    at += extent;
  }
  node.output_sequence(0, std::move(tensors), x.type);
}

void pass_on(NodeImport& node) {
  const View& value = node.any_input(0);
  if (value.sequence) return node.output_sequence(0, *value.sequence, value.type);
  node.output(0, value);
}

void optional(NodeImport& node) {
  node.ignore({"type"});
  if (!node.has_input(0)) node.reject("an optional without a value");
  pass_on(node);
}

void optional_has_element(NodeImport& node) {
  const bool given = node.has_input(0);
  node.output_constant(0, constant_ints({given ? 1 : 0}, {}, ElementType::boolean));
}

constexpr OperatorRow kSequenceRows[] = {
    {"ConcatFromSequence", concat_from_sequence},
    {"Optional", optional, "one without a value"},
    {"OptionalGetElement", pass_on},
    {"OptionalHasElement", optional_has_element},
    {"SequenceAt", sequence_at, "a place that is not constant"},
    {"SequenceConstruct", sequence_construct},
    {"SequenceEmpty", sequence_empty},
    {"SequenceErase", sequence_erase, "a place that is not constant"},
    {"SequenceInsert", sequence_insert, "a place that is not constant"},
    {"SequenceLength", sequence_length},
    {"SplitToSequence", split_to_sequence, "extents of parts that are not constant"},
};

}  // namespace

std::span<const OperatorRow> sequence_operators() {
  return kSequenceRows;
}

}  // namespace fuseflow
