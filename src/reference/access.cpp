#include "reference/access.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/names.h"

namespace fuseflow::reference {

void too_large(const Program& program, const Statement& statement, const std::string& why) {
  throw Error(ExitCode::rejected, statement.where,
              fmt::format("the reference evaluation cannot spell out %{}: {}; run without --check, "
                          "or compare with a given result by --expect",
                          quote_if_needed(program.tensors[statement.result].name), why));
}

/// The loops that the subscripts name, ascending.
Loops Accesses::loops_of(const Expr& node) const {
  std::vector<bool> named(domain_.extent.size(), false);
  for (const Subscript& subscript : node.subscripts) {
    for (const auto& term : subscript.terms) named[term.first] = true;
  }
  Loops loops;
  for (size_t i = 0; i < named.size(); ++i) {
    if (named[i]) loops.push_back(static_cast<IndexId>(i));
  }
  return loops;
}

Table Accesses::read(int32_t position) {
  const Expr& node = statement_.nodes[position];
  const Value& value = shared_.values[node.tensor];
  for (const auto& [other, table] : tables_) {
    const Expr& same = statement_.nodes[other];
    if (same.tensor == node.tensor && same.subscripts == node.subscripts) return table;
  }
  std::optional<Table> table;
  if (value.sparse != nullptr && watch_.pays(value.sparse->stored(), value.elements())) {
    table = sparse(node, value);
  }
  if (!table) table = dense(node, value);
  table->fixed = value.fixed;
  return tables_.emplace(position, *table).first->second;
}

bool Accesses::reaches_outside(const Expr& node) const {
  const std::vector<int64_t>& shape = shared_.values[node.tensor].shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    int64_t low = node.subscripts[d].offset, high = low;
    for (const auto& [index, factor] : node.subscripts[d].terms) {
      const int64_t from = factor * domain_.first[index];
      const int64_t to = from + factor * (domain_.extent[index] - 1);
      low += std::min(from, to);
      high += std::max(from, to);
    }
    if (low < 0 || high >= shape[d]) return true;
  }
  return false;
}

/// The entries of a sparse tensor by the loops that read them: each subscript must name at most
/// one.
std::optional<Table> Accesses::sparse(const Expr& node, const Value& value) {
  const Storage& storage = *value.sparse;
  for (const Subscript& subscript : node.subscripts) {
    if (subscript.terms.size() > 1) return std::nullopt;
  }
  if (reaches_outside(node) && !same_value(program_.tensors[node.tensor].fill, storage.fill)) {
    return std::nullopt;  // what lies outside is not what is absent inside
  }
  const Loops loops = loops_of(node);
  if (loops.empty() || domain_.size(loops) == INT64_MAX) return std::nullopt;

  const PatternPtr shape = make_pattern(domain_, loops, {});
  std::vector<std::pair<int64_t, int64_t>> entries;  // point, position of the value
  std::vector<int64_t> at(domain_.extent.size());
  const float* const first = storage.values.data();
  for_each_stored(storage, [&](std::span<const int64_t> coords, const float& entry) {
    for (const IndexId loop : loops) at[loop] = -1;
    for (size_t d = 0; d < coords.size(); ++d) {
      const Subscript& subscript = node.subscripts[d];
      int64_t rest = coords[d] - subscript.offset;
      if (subscript.terms.empty()) {
        if (rest != 0) return;
        continue;
      }
      const auto [loop, factor] = subscript.terms[0];
      if (factor == 0 || rest % factor != 0) return;
      rest = rest / factor - domain_.first[loop];
      if (rest < 0 || rest >= domain_.extent[loop]) return;
      if (at[loop] >= 0 && at[loop] != rest) return;  // off the diagonal
      at[loop] = rest;
    }
    entries.emplace_back(shape->number(at), &entry - first);
  });
  watch_.tick(storage.stored());
  if (!std::is_sorted(entries.begin(), entries.end())) std::sort(entries.begin(), entries.end());

  const auto n = static_cast<int64_t>(entries.size());
  const auto values = watch_.array(n);
  const auto bounds = value.bounds ? watch_.array(n) : nullptr;
  std::vector<int64_t> points(entries.size());
  for (size_t p = 0; p < entries.size(); ++p) {
    points[p] = entries[p].first;
    (*values)[p] = first[entries[p].second];
    if (bounds) (*bounds)[p] = (*value.bounds)[entries[p].second];
  }
  Table table = sparse_table(domain_, make_pattern(domain_, loops, std::move(points)), {}, values,
                             storage.fill);
  table.bounds = bounds;
  table.fill_bound = value.fill_bound;
  return table;
}

/// All elements of a tensor, kept while the statement runs.
std::shared_ptr<const std::vector<float>> Accesses::elements(TensorId tensor) {
  const Value& value = shared_.values[tensor];
  if (value.dense) return value.dense;
  auto& spelled = shared_.spelled[tensor];
  if (spelled) return spelled;
  if (value.elements() > shared_.options.max_elements) {
    too_large(program_, statement_,
              fmt::format("%{} has {} elements", quote_if_needed(program_.tensors[tensor].name),
                          value.elements()));
  }
  const auto all = watch_.tensor(value.elements(), value.sparse->fill);
  for_each_stored(*value.sparse, [&](std::span<const int64_t> coords, float entry) {
    int64_t offset = 0;
    for (size_t d = 0; d < coords.size(); ++d) offset = offset * value.shape[d] + coords[d];
    (*all)[offset] = entry;
  });
  return spelled = all;
}

std::shared_ptr<const std::vector<float>> Accesses::element_bounds(TensorId tensor) {
  const Value& value = shared_.values[tensor];
  if (value.dense || (!value.bounds && value.fill_bound == 0)) return value.bounds;
  const auto all = watch_.tensor(value.elements(), value.fill_bound);
  const float* const first = value.sparse->values.data();
  for_each_stored(*value.sparse, [&](std::span<const int64_t> coords, const float& entry) {
    int64_t offset = 0;
    for (size_t d = 0; d < coords.size(); ++d) offset = offset * value.shape[d] + coords[d];
    (*all)[offset] = value.bounds ? (*value.bounds)[&entry - first] : 0.0F;
  });
  return all;
}

Table Accesses::dense(const Expr& node, const Value& value) {
  if (reaches_outside(node)) return padded(node, value);
  Table table;
  table.values = elements(node.tensor);
  table.bounds = element_bounds(node.tensor);
  table.tensor = node.tensor;
  table.strides.assign(domain_.extent.size(), 0);
  int64_t stride = 1;
  for (size_t d = node.subscripts.size(); d-- > 0;) {
    table.base += node.subscripts[d].offset * stride;
    for (const auto& [index, factor] : node.subscripts[d].terms) {
      table.strides[index] += factor * stride;
      table.base += factor * domain_.first[index] * stride;
    }
    stride *= value.shape[d];
  }
  return table;
}

/// An access of which some points lie outside the tensor: those read the fill.
Table Accesses::padded(const Expr& node, const Value& value) {
  const auto from = elements(node.tensor);
  const auto from_bounds = element_bounds(node.tensor);
  const float fill = program_.tensors[node.tensor].fill;
  const Loops loops = loops_of(node);
  const auto values = watch_.array(domain_.size(loops), fill);
  const auto bounds = from_bounds ? watch_.array(domain_.size(loops)) : nullptr;
  std::vector<int64_t> at(domain_.extent.size(), 0);
  int64_t to = 0;
  const auto visit = [&](auto&& self, size_t depth) -> void {
    if (depth < loops.size()) {
      const IndexId loop = loops[depth];
      for (int64_t i = 0; i < domain_.extent[loop]; ++i) {
        at[loop] = domain_.first[loop] + i;
        self(self, depth + 1);
      }
      return;
    }
    int64_t offset = 0;
    bool inside = true;
    for (size_t d = 0; d < node.subscripts.size(); ++d) {
      int64_t coord = node.subscripts[d].offset;
      for (const auto& [index, factor] : node.subscripts[d].terms) coord += factor * at[index];
      inside = inside && coord >= 0 && coord < value.shape[d];
      offset = offset * value.shape[d] + coord;
    }
    if (inside) (*values)[to] = (*from)[offset];
    if (inside && bounds) (*bounds)[to] = (*from_bounds)[offset];
    ++to;
    watch_.tick(1);
  };
  visit(visit, 0);
  return dense_table(domain_, loops, values, bounds);
}

}  // namespace fuseflow::reference
