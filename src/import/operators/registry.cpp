// Collects the operator families into one sorted table.
#include "import/operators/registry.h"

#include <algorithm>

namespace fuseflow {

const std::vector<OperatorRow>& operator_table() {
  static const std::vector<OperatorRow> table = [] {
    std::vector<OperatorRow> rows;
    for (const auto family :
         {elementwise_operators(), contraction_operators(), movement_operators(), cast_operators(),
          constant_operators(), reduction_operators(), normalization_operators(),
          concat_operators(), gather_operators(), scatter_operators(), window_operators(),
          quantisation_operators(), ranking_operators(), control_operators(),
          bits_operators(), extremes_operators(), loop_operators(), ngrams_operators(),
          one_hot_operators(), places_operators(), recurrent_operators(),
          roi_align_operators(), sequence_operators(), spectrum_operators(),
          value_shapes_operators()}) {
      rows.insert(rows.end(), family.begin(), family.end());
    }
    std::sort(rows.begin(), rows.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    return rows;
  }();
  return table;
}

const OperatorRow* find_operator(std::string_view name) {
  const auto& table = operator_table();
  const auto found =
      std::lower_bound(table.begin(), table.end(), name,
                       [](const OperatorRow& row, std::string_view n) { return row.name < n; });
  return found != table.end() && found->name == name ? &*found : nullptr;
}

}  // namespace fuseflow
