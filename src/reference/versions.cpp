#include "reference/versions.h"

#include <algorithm>
#include <cmath>

#include "reference/rounding.h"

namespace fuseflow {
namespace {

/// What a statement of the reference section reads of another region was stored, though no
/// statement may read it there now.
void find_read(const Statement& s, std::vector<Stored>& stored) {
  const int region = stored[static_cast<size_t>(s.result)].region;
  for (const Expr& e : s.nodes) {
    if (e.kind != Expr::Kind::access) continue;
    Stored& read = stored[static_cast<size_t>(e.tensor)];
    read.written = read.written || (read.region >= 0 && read.region != region);
  }
}

}  // namespace

std::vector<Stored> stored_for_reference(const Program& program) {
  std::vector<Stored> stored = stored_tensors(program);
  for (const Statement& s : program.reference.statements) find_read(s, stored);
  return stored;
}

namespace reference {

Versions::Versions(const Program& program, const ReferenceOptions& options, Watch& watch)
    : program_(program),
      bounds_(options.bounds),
      watch_(watch),
      stored_(options.stored.empty() ? stored_for_reference(program) : options.stored),
      maybe_stored_(program.tensors.size(), false),
      kept_(program.tensors.size()) {
  for (const TensorId t : options.maybe_stored) maybe_stored_[static_cast<size_t>(t)] = true;
}

namespace {

std::span<const float> values_of(const Value& value) {
  return value.dense ? std::span<const float>(*value.dense) : value.sparse->values.span();
}

/// Equal to the fill, but another zero.
bool is_other_zero(float value, float fill) {
  return value == fill && std::signbit(value) != std::signbit(fill);
}

/// Whether storing the value makes -0 the fill: where entries may be absent, what is equal to the
/// fill is.
bool loses_a_zero(const Value& value, const Tensor& tensor) {
  if (tensor.format.all_dense() || tensor.fill != 0) return false;
  const auto lost = [&](float v) { return is_other_zero(v, tensor.fill); };
  const std::span<const float> values = values_of(value);
  return (value.sparse && lost(value.sparse->fill)) ||
         std::any_of(values.begin(), values.end(), lost);
}

/// An element as a tensor holds it.
float held(float value, const Tensor& tensor) {
  const float result = rounded(value, tensor.type);
  return !tensor.format.all_dense() && result == tensor.fill ? tensor.fill : result;
}

}  // namespace

Value Versions::define(TensorId tensor, Value computed) {
  const auto t = static_cast<size_t>(tensor);
  const Tensor& type = program_.tensors[t];
  const bool maybe = maybe_stored_[t];
  if (!stored_[t].written && !(maybe && stored_[t].region < 0)) return computed;
  if (holds_f32(type.type) && !loses_a_zero(computed, type)) return computed;
  Kept& kept = kept_[t];
  kept.two = true;
  kept.stored = as_stored(computed, type, maybe);
  // Which of the region's statements read what is stored, its graph says of nodes, not of
  // statements: their operand is rounded, with bounds that reach to what is not.
  kept.own = stored_[t].read_back ? as_stored(computed, type, true) : std::move(computed);
  return kept.stored;
}

Versions::Version Versions::seen_by(const Statement& s, TensorId tensor) const {
  const int region = stored_[static_cast<size_t>(s.result)].region;
  if (region < 0) return Version::either;
  return stored_[static_cast<size_t>(tensor)].region == region ? Version::own : Version::stored;
}

Value Versions::version(TensorId tensor, Version version) const {
  const Kept& kept = kept_[static_cast<size_t>(tensor)];
  if (version == Version::stored) return kept.stored;
  if (version == Version::own) return kept.own;
  return as_stored(kept.own, program_.tensors[static_cast<size_t>(tensor)], true);
}

std::vector<TensorId> Versions::select(const Statement& s, std::vector<Value>& values) {
  std::vector<TensorId> changed;
  for (const Expr& node : s.nodes) {
    if (node.kind != Expr::Kind::access) continue;
    const auto t = static_cast<size_t>(node.tensor);
    Kept& kept = kept_[t];
    const Version seen = seen_by(s, node.tensor);
    if (!kept.two || kept.seen == seen) continue;
    values[t] = version(node.tensor, seen);
    kept.seen = seen;
    changed.push_back(node.tensor);
  }
  return changed;
}

void Versions::restore(std::vector<Value>& values) {
  for (size_t t = 0; t < kept_.size(); ++t) {
    if (kept_[t].two && kept_[t].seen != Version::stored) values[t] = kept_[t].stored;
  }
}

Value Versions::as_stored(const Value& value, const Tensor& tensor, bool either) const {
  const std::span<const float> given = values_of(value);
  const size_t size = given.size();
  const ElementType type = tensor.type;
  const auto values = watch_.tensor(static_cast<int64_t>(size));
  std::transform(given.begin(), given.end(), values->begin(),
                 [&](float v) { return held(v, tensor); });
  Value result = value;
  result.selection = nullptr;  // rounded, two may be one
  result.type = type;
  // Where the value may also be as it was computed, only what storing does not change is known.
  if (either) result.fixed = value.fixed && std::equal(given.begin(), given.end(), values->begin());
  const bool rounds = bounds_ && !holds_f32(type);
  if (rounds && (value.bounds || either)) {
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
  storage->fill = held(value.sparse->fill, tensor);
  if (rounds) {
    result.fill_bound = stored_bound(value.sparse->fill, value.fill_bound, type, either);
  }
  result.sparse = storage;
  return result;
}

}  // namespace reference
}  // namespace fuseflow
