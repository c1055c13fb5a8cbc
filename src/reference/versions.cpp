#include "reference/versions.h"

#include <algorithm>

#include "reference/rounding.h"

namespace fuseflow::reference {

Versions::Versions(const Program& program, bool bounds, Watch& watch)
    : program_(program),
      bounds_(bounds),
      watch_(watch),
      stored_(stored_tensors(program)),
      kept_(program.tensors.size()) {}

Value Versions::define(TensorId tensor, Value computed) {
  const auto t = static_cast<size_t>(tensor);
  const ElementType type = program_.tensors[t].type;
  if (holds_f32(type) || !stored_[t].written) return computed;
  Kept& kept = kept_[t];
  kept.two = true;
  kept.stored = as_stored(computed, type, false);
  // Which of the region's statements read what is stored, its graph says of nodes, not of
  // statements: their operand is rounded, with bounds that reach to what is not.
  kept.own = stored_[t].read_back ? as_stored(computed, type, true) : std::move(computed);
  return kept.stored;
}

std::vector<TensorId> Versions::select(const Statement& s, std::vector<Value>& values) {
  std::vector<TensorId> changed;
  const int region = stored_[static_cast<size_t>(s.result)].region;
  for (const Expr& node : s.nodes) {
    if (node.kind != Expr::Kind::access) continue;
    const auto t = static_cast<size_t>(node.tensor);
    Kept& kept = kept_[t];
    const bool own = stored_[t].region == region;
    if (!kept.two || kept.seen_own == own) continue;
    values[t] = own ? kept.own : kept.stored;
    kept.seen_own = own;
    changed.push_back(node.tensor);
  }
  return changed;
}

void Versions::restore(std::vector<Value>& values) {
  for (size_t t = 0; t < kept_.size(); ++t) {
    if (kept_[t].two && kept_[t].seen_own) values[t] = kept_[t].stored;
  }
}

Value Versions::as_stored(const Value& value, ElementType type, bool either) const {
  const size_t size = value.dense ? value.dense->size() : value.sparse->values.size();
  const float* const given = value.dense ? value.dense->data() : value.sparse->values.data();
  const auto values = watch_.tensor(static_cast<int64_t>(size));
  std::copy_n(given, size, values->begin());
  round_all(*values, type);
  Value result = value;
  if (bounds_ && (value.bounds || either)) {
    const auto bounds = watch_.tensor(static_cast<int64_t>(size));
    for (size_t i = 0; i < size; ++i) {
      const float bound = value.bounds ? (*value.bounds)[i] : 0.0F;
      (*bounds)[i] = stored_bound(given[i], bound, type, either);
    }
    result.bounds = bounds;
  }
  if (value.dense) {
    result.dense = values;
    return result;
  }
  auto storage = std::make_shared<Storage>(*value.sparse);
  storage->values = Buffer<float>(std::span<const float>(*values), values);
  storage->fill = rounded(value.sparse->fill, type);
  if (bounds_) {
    result.fill_bound = stored_bound(value.sparse->fill, value.fill_bound, type, either);
  }
  result.sparse = storage;
  return result;
}

}  // namespace fuseflow::reference
