// TensorScatter: updates of caches, from a known place on in each batch.
#include <fmt/format.h>

#include "import/importer.h"
#include "import/operators/common.h"
#include "import/operators/registry.h"
#include "import/operators/scatter.h"
#include "support/text.h"

namespace fuseflow {

namespace {

/// Updates of a cache: those of batch b go to places from its write index on.
void tensor_scatter(NodeImport& node) {
  const View& past = node.input(0);
  const View& update = node.input(1);
  const int axis = node.axis(node.integer("axis", -2), past.rank());
  const std::string mode = node.text("mode", "linear");
  if (mode != "linear" && mode != "circular")
    node.reject(fmt::format("mode '{}' is unknown, expected linear or circular", shown(mode)));
  std::vector<int64_t> expected = past.shape();
  if (axis == 0 || update.rank() != past.rank() || update.extent(axis) > past.extent(axis))
    node.reject("expected an axis after the batch, and updates that fit along it");
  const int64_t batches = past.extent(0);
  const int64_t places = past.extent(axis);
  const int64_t count = update.extent(axis);
  expected[static_cast<size_t>(axis)] = count;
  if (update.shape() != expected) node.reject("the updates do not fit the cache");
  std::vector<int64_t> first(static_cast<size_t>(batches), 0);
  if (node.has_input(2)) first = node.ints_input(2, "the places to write to");
  if (static_cast<int64_t>(first.size()) != batches)
    node.reject(fmt::format("{} places to write to, expected {}", first.size(), batches));
  if (update.size() == 0) return node.output(0, past);
  Scatter scatter{{}, batches * places, Update::replace};
  for (int64_t b = 0; b < batches; ++b) {
    for (int64_t i = 0; i < count; ++i) {
      int64_t place = first[static_cast<size_t>(b)] + i;
      if (mode == "circular" && place >= places) place %= places;
      if (place < 0 || place >= places)
        node.reject(fmt::format("place {} is outside a cache of {}", place, places));
      scatter.targets.push_back(b * places + place);
    }
  }
  // The batch and the axis in front and as one; then back.
  std::vector<int> order = {0, axis};
  for (int d = 1; d < past.rank(); ++d) {
    if (d != axis) order.push_back(d);
  }
  const auto rows_of = [&](View view) {
    transpose(view, order);
    std::vector<int64_t> shape = view.shape();
    shape[1] *= shape[0];
    shape.erase(shape.begin());
    return node.reshaped(view, shape);
  };
  scatter_rows(node, rows_of(past), 0, scatter, rows_of(update));
  View turned = past;
  transpose(turned, order);
  View result = node.reshaped(node.importer().value(node.output_name(0)), turned.shape());
  std::vector<int> back(order.size());
  for (size_t d = 0; d < order.size(); ++d)
    back[static_cast<size_t>(order[d])] = static_cast<int>(d);
  transpose(result, back);
  node.output(0, std::move(result));
}

constexpr OperatorRow kTensorScatterRows[] = {
    {"TensorScatter", tensor_scatter, "places that are not constant"},
};

}  // namespace

std::span<const OperatorRow> tensor_scatter_operators() {
  return kTensorScatterRows;
}

}  // namespace fuseflow
