// Col2Im and MaxUnpool: values that go to known places of an image.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>

#include "import/expansion.h"
#include "import/importer.h"
#include "import/operators/common.h"
#include "import/operators/registry.h"

namespace fuseflow {

namespace {

constexpr int kInBlock = 1000;  // labels of a place in a block, and of a block, by dimension
constexpr int kBlock = 2000;

/// One dimension of an image, and the blocks that lie on it.
struct Blocks {
  int64_t image = 0, block = 0, stride = 1, dilation = 1, begin = 0, end = 0;

  int64_t count() const { return (image + begin + end - dilation * (block - 1) - 1) / stride + 1; }
};

std::vector<Blocks> blocks_of(const NodeImport& node) {
  const auto image = node.ints_input(1, "the shape of the image");
  const auto block = node.ints_input(2, "the shape of a block");
  const size_t rank = image.size();
  const auto list = [&](const char* name, size_t count, int64_t otherwise) {
    std::vector<int64_t> given = node.integers(name);
    if (given.empty()) given.assign(count, otherwise);
    if (given.size() != count)
      node.reject(
          fmt::format("attribute '{}' has {} entries, expected {}", name, given.size(), count));
    return given;
  };
  const auto strides = list("strides", rank, 1);
  const auto dilations = list("dilations", rank, 1);
  const auto pads = list("pads", 2 * rank, 0);
  if (rank == 0 || block.size() != rank) {
    node.reject(fmt::format("an image of {} dimensions and blocks of {}", rank, block.size()));
  }
  std::vector<Blocks> result;
  constexpr int64_t kMost = int64_t{1} << 31;
  for (size_t d = 0; d < rank; ++d) {
    const Blocks b{image[d], block[d], strides[d], dilations[d], pads[d], pads[rank + d]};
    for (const int64_t n : {b.image, b.block, b.stride, b.dilation}) {
      if (n < 1 || n > kMost) node.reject("an extent, stride or dilation is out of range");
    }
    if (b.begin < 0 || b.end < 0 || b.begin > kMost || b.end > kMost ||
        b.image + b.begin + b.end < b.dilation * (b.block - 1) + 1) {
      node.reject("the blocks do not fit on the image");
    }
    result.push_back(b);
  }
  return result;
}

/// [place in the image, place in a block, block]: 1 where they are the same.
ConstantPtr same_place(const NodeImport& node, const Blocks& b) {
  const std::vector<int64_t> shape = {b.image, b.block, b.count()};
  if (element_count(std::vector<int64_t>{b.block, b.count()}) > kMaxFoldedElements)
    node.reject("there are too many blocks");
  element_count(shape);
  std::vector<std::pair<int64_t, float>> entries;
  for (int64_t k = 0; k < b.block; ++k) {
    for (int64_t l = 0; l < b.count(); ++l) {
      const int64_t place = l * b.stride + k * b.dilation - b.begin;
      if (place >= 0 && place < b.image)
        entries.emplace_back((place * b.block + k) * b.count() + l, 1.0F);
    }
  }
  return constant_sparse(std::move(entries), shape, ElementType::boolean);
}

/// The sum of what blocks have for each place of the image.
void col2im(NodeImport& node) {
  const View& x = node.input(0);
  const std::vector<Blocks> blocks = blocks_of(node);
  int64_t in_block = 1, count = 1;
  std::vector<int64_t> shape;
  for (const Blocks& b : blocks) {
    in_block *= b.block;
    shape.push_back(b.block);
  }
  for (const Blocks& b : blocks) {
    count *= b.count();
    shape.push_back(b.count());
  }
  if (x.rank() != 3 || x.extent(1) % in_block != 0 || x.extent(2) != count) {
    node.reject(fmt::format("columns of shape [{}], expected 3 dimensions, a multiple of {} and {}",
                            fmt::join(x.shape(), ","), in_block, count));
  }
  shape.insert(shape.begin(), {x.extent(0), x.extent(1) / in_block});
  const View columns = node.reshaped(x, shape);
  const auto rank = static_cast<int>(blocks.size());
  std::vector<int> from = {0, 1};
  std::vector<int> summed;
  for (int d = 0; d < rank; ++d) from.push_back(kInBlock + d);
  for (int d = 0; d < rank; ++d) from.push_back(kBlock + d);
  summed.assign(from.begin() + 2, from.end());
  Kernel k = node.kernel();
  std::vector<int> places;
  for (int d = 0; d < rank; ++d) {
    const View same = derived_constant(node, fmt::format("place{}", d),
                                       same_place(node, blocks[static_cast<size_t>(d)]));
    places.push_back(k.operand(same, {2 + d, kInBlock + d, kBlock + d}));
  }
  const int o = k.operand(columns, from);
  int32_t value = k.use(o);
  for (const int place : places) value = k.apply(Op::where, {k.use(place), value, k.constant(0)});
  node.define(0, k.result(all_labels(2 + rank), k.reduce(Reduction::sum, summed, value), x.type));
}

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

/// Zeros behind `x`, which has shape `from`, up to the shape that input 2 gives.
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
  const auto zeros =
      body.constant(constant_values(std::vector<float>(static_cast<size_t>(size)), {size}, x.type));
  const auto places = body.reshape(body.input(1), {x.size()});
  const auto values = body.reshape(body.input(0), {x.size()});
  const auto flat = body.add("ScatterElements", {zeros, places, values});
  const auto whole = body.reshape(flat, shape);
  body.result(0, node.has_input(2) ? grown(node, body, whole, shape) : whole);
  body.finish();
}

constexpr OperatorRow kPlacesRows[] = {
    {"Col2Im", col2im, "shapes that are not constant"},
    {"MaxUnpool", max_unpool, "places that are not constant"},
};

}  // namespace

std::span<const OperatorRow> places_operators() {
  return kPlacesRows;
}

}  // namespace fuseflow
