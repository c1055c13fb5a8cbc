// Collects the operator families into one sorted table.
#include "import/operators/registry.h"

#include <algorithm>

namespace fuseflow {

const std::vector<OperatorRow>& operator_table() {
  static const std::vector<OperatorRow> table = [] {
    std::vector<OperatorRow> rows;
    for (const auto family : {attention_operators(),      bits_operators(),
                              cast_operators(),           concat_operators(),
                              constant_operators(),       contraction_operators(),
                              control_operators(),        conv_transpose_operators(),
                              determinant_operators(),    elementary_operators(),
                              elementwise_operators(),    extremes_operators(),
                              gather_operators(),         grid_operators(),
                              loop_operators(),           loss_operators(),
                              microsoft_operators(),      movement_operators(),
                              ngrams_operators(),         normalization_kin_operators(),
                              normalization_operators(),  one_hot_operators(),
                              padding_operators(),        pool_operators(),
                              quantisation_operators(),   ranking_operators(),
                              recurrent_operators(),      reduction_operators(),
                              resize_operators(),         roi_align_operators(),
                              scatter_operators(),        sequence_operators(),
                              spectrum_operators(),       state_operators(),
                              tensor_scatter_operators(), unpooling_operators(),
                              value_shapes_operators(),   window_operators()}) {
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
