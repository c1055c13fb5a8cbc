// MaxUnpool: values go back to the places that pooling took them from, which are known.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "import/expansion.h"
#include "import/importer.h"
#include "import/operators/registry.h"

namespace fuseflow {

namespace {

/// The shape that pooling had reduced to that of the input.
std::vector<int64_t> unpooled_shape(const NodeImport& node) {
  std::vector<int64_t> shape = node.input(0).shape();
  const auto kernel = node.integers("kernel_shape");
  auto strides = node.integers("strides");
  auto pads = node.integers("pads");
  const size_t rank = kernel.size();
  if (strides.empty()) strides.assign(rank, 1);
  if (pads.empty()) pads.assign(2 * rank, 0);
  if (shape.size() != rank + 2 || strides.size() != rank || pads.size() != 2 * rank)
    node.reject("kernel_shape, strides and pads do not fit the input");
  for (size_t d = 0; d < rank; ++d) {
    int64_t& extent = shape[d + 2];
    extent = (extent - 1) * strides[d] - pads[d] - pads[rank + d] + kernel[d];
    if (extent < 1) node.reject("the result has no elements");
  }
  return shape;
}

/// Zeros after `x`, which has shape `from`, up to the shape that input 2 gives.
Expansion::Value grown(const NodeImport& node, Expansion& body, const Expansion::Value& x,
                       const std::vector<int64_t>& from) {
  const auto to = node.ints_input(2, "the shape of the result");
  std::vector<int64_t> pads(2 * from.size(), 0);
  for (size_t d = 0; d < from.size(); ++d) {
    if (to.size() != from.size() || to[d] < from[d]) {
      node.reject(fmt::format("a result of shape [{}], expected at least [{}]", fmt::join(to, ","),
                              fmt::join(from, ",")));
    }
    pads[from.size() + d] = to[d] - from[d];
  }
  return body.add("Pad", {x, body.integers(pads)});
}

/// Each value at its place in the flattened shape, 0 elsewhere.
void max_unpool(NodeImport& node) {
  const View& x = node.input(0);
  const std::vector<int64_t> shape = unpooled_shape(node);
  const int64_t size = element_count(shape);
  if (size > kMaxFoldedElements || node.input(1).shape() != x.shape())
    node.reject("the places do not fit the values, or the result is too large");
  Expansion body(node);
  const auto zeros = body.constant(constant_values(room_for<float>(size), {size}, x.type));
  const auto places = body.reshape(body.input(1), {x.size()});
  const auto values = body.reshape(body.input(0), {x.size()});
  const auto flat = body.add("ScatterElements", {zeros, places, values});
  const auto whole = body.reshape(flat, shape);
  body.result(0, node.has_input(2) ? grown(node, body, whole, shape) : whole);
  body.finish();
}

constexpr OperatorRow kUnpoolingRows[] = {
    {"MaxUnpool", max_unpool, "", ReadAs::body},
};

}  // namespace

std::span<const OperatorRow> unpooling_operators() {
  return kUnpoolingRows;
}

}  // namespace fuseflow
