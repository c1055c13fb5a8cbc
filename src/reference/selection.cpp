#include "reference/selection.h"

#include <algorithm>
#include <limits>

namespace fuseflow::reference {

namespace {

/// Elements that compete to be the largest.
struct Race {
  float best = -std::numeric_limits<float>::infinity();
  float bound = 0;      ///< of the best
  float others = best;  ///< the most that any other may become

  void add(float value, float moves) {
    if (value > best) {
      others = std::max(others, best + bound);
      best = value;
      bound = moves;
    } else {
      others = std::max(others, value + moves);
    }
  }
  bool decided() const { return best - bound > others; }
};

/// The dimensions of the source that the result's are, if the statement is a maximum or minimum of
/// its elements, each index alone in a subscript.
std::optional<std::vector<int>> kept_dimensions(const Statement& statement) {
  const Expr& root = statement.root();
  const bool selects = root.kind == Expr::Kind::reduce &&
                       (root.reduction == Reduction::max || root.reduction == Reduction::min);
  if (!selects) return std::nullopt;
  const Expr& source = statement.nodes[static_cast<size_t>(root.children[0])];
  if (source.kind != Expr::Kind::access) return std::nullopt;
  std::vector<int> of_index(statement.indices.size(), -1);
  for (size_t d = 0; d < source.subscripts.size(); ++d) {
    if (!source.subscripts[d].is_plain()) return std::nullopt;
    int& dimension = of_index[static_cast<size_t>(source.subscripts[d].plain())];
    if (dimension >= 0) return std::nullopt;  // a diagonal
    dimension = static_cast<int>(d);
  }
  std::vector<int> kept;
  for (const IndexId index : statement.result_indices) {
    kept.push_back(of_index[static_cast<size_t>(index)]);
    if (kept.back() < 0) return std::nullopt;  // the same for all values of the index
  }
  return kept;
}

}  // namespace

std::shared_ptr<const SelectedElements> selection_of(const Statement& statement,
                                                     const std::vector<Value>& values,
                                                     const Value& result) {
  const auto kept = kept_dimensions(statement);
  if (!kept) return nullptr;
  const Expr& root = statement.root();
  const TensorId tensor = statement.nodes[static_cast<size_t>(root.children[0])].tensor;
  const Value& source = values[static_cast<size_t>(tensor)];
  if (!source.dense || !source.bounds || !result.dense) return nullptr;
  for (size_t d = 0; d < kept->size(); ++d) {
    const auto from = static_cast<size_t>((*kept)[d]);
    if (result.shape[d] != source.shape[from]) return nullptr;  // a part, or more than all
  }
  std::vector<int64_t> strides(source.shape.size(), 0);  // of the result, by source dimension
  int64_t stride = 1;
  for (size_t d = kept->size(); d-- > 0;) {
    strides[static_cast<size_t>((*kept)[d])] = stride;
    stride *= result.shape[d];
  }
  const float sign = root.reduction == Reduction::max ? 1.0F : -1.0F;
  std::vector<Race> races(result.dense->size());
  for (size_t i = 0; i < source.dense->size(); ++i) {
    auto rest = static_cast<int64_t>(i);
    int64_t at = 0;
    for (size_t d = source.shape.size(); d-- > 0; rest /= source.shape[d]) {
      at += rest % source.shape[d] * strides[d];
    }
    races[static_cast<size_t>(at)].add(sign * (*source.dense)[i], (*source.bounds)[i]);
  }
  SelectedElements selection{tensor, *kept, {}};
  for (const Race& race : races) selection.certain.push_back(race.decided() ? 1 : 0);
  return std::make_shared<const SelectedElements>(std::move(selection));
}

Selected selected_of(const Statement& statement, const std::vector<int32_t>& operands,
                     const std::vector<Value>& values) {
  if (operands.size() != 2) return {};
  for (size_t o = 0; o < 2; ++o) {
    const Expr& one = statement.nodes[static_cast<size_t>(operands[o])];
    const Expr& other = statement.nodes[static_cast<size_t>(operands[1 - o])];
    if (one.kind != Expr::Kind::access || other.kind != Expr::Kind::access) return {};
    const SelectedElements* selection = values[static_cast<size_t>(one.tensor)].selection.get();
    if (selection == nullptr || selection->source != other.tensor) continue;
    bool same = true;
    for (size_t d = 0; d < one.subscripts.size(); ++d) {
      const auto from = static_cast<size_t>(selection->dimensions[d]);
      same = same && one.subscripts[d] == other.subscripts[from];
    }
    if (same) return {selection, o};
  }
  return {};
}

}  // namespace fuseflow::reference
