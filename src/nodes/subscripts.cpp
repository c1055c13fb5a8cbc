#include "nodes/subscripts.h"

#include <algorithm>
#include <cmath>

namespace fuseflow {

namespace {

constexpr double kFarthest = 1e18;  ///< that a subscript may reach, in elements

}  // namespace

std::vector<int> dims_of_digits(const Graph& graph) {
  std::vector<int> dims;
  for (size_t d = 0; d < graph.indices.size(); ++d) {
    dims.insert(dims.end(), graph.indices[d].tiling.digits.size(), static_cast<int>(d));
  }
  return dims;
}

int64_t digit_extent(const Graph& graph, size_t digit) {
  for (const GraphIndex& index : graph.indices) {
    if (digit < index.tiling.digits.size()) return index.tiling.digits[digit].extent;
    digit -= index.tiling.digits.size();
  }
  return 1;
}

std::string wrong_subscripts(const Graph& graph, const Node& node, const std::vector<int>& dims) {
  const std::vector<int> dim_of = dims_of_digits(graph);
  for (const TileSubscript& subscript : node.tile.subscripts) {
    auto reach = std::abs(static_cast<double>(subscript.offset));
    for (const auto& [digit, factor] : subscript.terms) {
      const auto d = static_cast<size_t>(digit);
      if (digit < 0 || d >= dim_of.size() ||
          std::find(dims.begin(), dims.end(), dim_of[d]) == dims.end()) {
        return "has a subscript of a dimension that its tiles do not have";
      }
      reach += std::abs(static_cast<double>(factor)) * static_cast<double>(digit_extent(graph, d));
    }
    if (reach > kFarthest) return "has a subscript beyond any tensor";
  }
  return {};
}

std::optional<std::vector<int>> plain_digits(const Node& store, size_t digits) {
  std::vector<int> seen(digits, 0);
  for (const TileSubscript& subscript : store.tile.subscripts) {
    const bool plain = subscript.terms.size() == 1 && subscript.terms[0].second == 1;
    if (subscript.offset != 0 || (!subscript.terms.empty() && !plain)) return std::nullopt;
    if (plain) ++seen[subscript.terms[0].first];
  }
  return seen;
}

}  // namespace fuseflow
