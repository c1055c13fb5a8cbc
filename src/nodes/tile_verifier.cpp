#include "nodes/tile_verifier.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/cluster_shape.h"
#include "nodes/rule.h"
#include "nodes/subscripts.h"

namespace fuseflow {

void TileVerifier::fail(NodeId n, std::string message) {
  sound_ = false;
  error_(n,
         n < 0 ? std::move(message) : fmt::format("{}: {}", node_kind_name(node(n).kind), message));
}

bool TileVerifier::holds(const Dims& dims, int dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

void TileVerifier::expect_name(const GraphIndex& index, std::string_view name) {
  if (index.name != name) fail(-1, fmt::format("index {} expected {}", index.name, name));
}

bool TileVerifier::digits_fit(const GraphIndex& index) {
  int64_t size = 1;
  for (const TileDigit& digit : index.tiling.digits) {
    if (digit.extent < 1 || __builtin_mul_overflow(size, digit.extent, &size) ||
        size > kMostElements) {
      return false;
    }
  }
  return size == index.size;
}

void TileVerifier::check_cores(int cores) {
  if (power_of_two(cores) && cores <= kLargestCluster) return;
  fail(-1, fmt::format("a cluster of {} cores, expected a power of two up to {}", cores,
                       kLargestCluster));
}

bool TileVerifier::of_tiles(const Stream& stream, size_t most_dims, int batch) const {
  const Dims& dims = stream.block;
  if (stream.kind != StreamKind::val || stream.indices != dims || dims.size() > most_dims) {
    return false;
  }
  int64_t elements = 1;
  for (const int dim : dims) {
    if (dim < 0 || dim == batch || static_cast<size_t>(dim) >= g_.indices.size() ||
        std::count(dims.begin(), dims.end(), dim) != 1 ||
        __builtin_mul_overflow(elements, index(dim).block, &elements)) {
      return false;
    }
  }
  return elements <= kMostTileElements;
}

void TileVerifier::expect_inputs(NodeId n, size_t count) {
  if (node(n).inputs.size() == count) return;
  fail(n, fmt::format("takes {} inputs, expected {}", node(n).inputs.size(), count));
}

void TileVerifier::expect_outputs(NodeId n, size_t count) {
  if (node(n).outputs.size() == count) return;
  fail(n, fmt::format("gives {} streams, expected {}", node(n).outputs.size(), count));
}

void TileVerifier::check_load(NodeId n, int64_t most_copies) {
  expect_ports(n, 0, 1);
  const Node& at = node(n);
  if (at.capacity >= 1 && at.capacity <= most_copies && at.tile.branch < 0) return;
  fail(n, fmt::format("expected a capacity of 1 to {} tiles and no branch", most_copies));
}

void TileVerifier::check_stores_once(NodeId n) {
  if (node(n).capacity == 0) return;
  fail(n, "has a capacity, expected none: it stores each element once");
}

int64_t TileVerifier::taken_of(NodeId n, const std::vector<StreamId>& streams) const {
  const std::vector<Input>& inputs = node(n).inputs;
  return std::count_if(inputs.begin(), inputs.end(), [&](const Input& input) {
    return !input.is_immediate() && holds(streams, input.stream);
  });
}

void TileVerifier::check_covers(NodeId n) {
  const Dims& dims = dims_of(node(n).outputs[0]);
  for (const Input& input : node(n).inputs) {
    if (input.is_immediate()) continue;
    for (const int dim : dims_of(input.stream)) {
      if (!holds(dims, dim)) return fail(n, "gives tiles that lack a dimension of an operand");
    }
  }
}

void TileVerifier::check_elements_once(NodeId n, const Dims& dims) {
  const std::vector<int> dim_of = dims_of_digits(g_);
  const auto seen = plain_digits(node(n), dim_of.size());
  bool right = seen.has_value();
  for (size_t d = 0; right && d < dim_of.size(); ++d) {
    const bool needed = holds(dims, dim_of[d]) && digit_extent(g_, d) > 1;
    right = (*seen)[d] == 1 || ((*seen)[d] == 0 && !needed);
  }
  if (!right) fail(n, kPlainDigits);
}

void TileVerifier::check_subscripts(NodeId n, const Dims& dims) {
  std::string wrong = wrong_subscripts(g_, node(n), dims);
  if (!wrong.empty()) fail(n, std::move(wrong));
}

}  // namespace fuseflow
