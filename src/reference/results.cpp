#include "reference/results.h"

#include <algorithm>

namespace fuseflow::reference {

Results::Results(const Statement& statement, std::vector<int64_t> shape, Watch& watch)
    : order_(statement.result_indices),
      loops_(order_),
      shape_(std::move(shape)),
      watch_(watch),
      strides_(statement.indices.size(), 0),
      coords_(shape_.size()) {
  std::sort(loops_.begin(), loops_.end());
  int64_t stride = 1;
  for (size_t d = shape_.size(); d-- > 0;) {
    strides_[order_[d]] = stride;
    stride *= shape_[d];
  }
}

Value Results::whole(const Table& table, const Loops& loops, const Domain& domain) {
  const Table settled = settle(table, loops, domain, watch_);
  fixed_ = settled.fixed;
  if (settled.present != nullptr) {
    add_entries(settled, domain);
    return sparse_value();
  }
  if (!watch_.spells_out(element_count(shape_))) throw ArrayTooLarge{};
  const bool as_it_is = settled.strides == strides_ && settled.base == 0 &&
                        static_cast<int64_t>(settled.values->size()) == element_count(shape_);
  if (as_it_is) return {shape_, settled.values, nullptr, settled.bounds, 0, 0, fixed_};
  add_dense(settled, loops, domain);
  return dense_value();
}

bool Results::add(const Table& table, const Loops& loops, const Domain& domain) {
  fixed_ = fixed_ && table.fixed;
  if (watch_.spells_out(element_count(shape_))) {
    add_dense(table, loops, domain);
    return true;
  }
  if (table.present == nullptr || (fill_ && !same_value(*fill_, table.fill))) return false;
  add_entries(table, domain);
  return true;
}

Value Results::value() {
  return dense_ != nullptr ? dense_value() : sparse_value();
}

void Results::add_dense(const Table& table, const Loops& loops, const Domain& domain) {
  const int64_t size = element_count(shape_);
  if (dense_ == nullptr) dense_ = watch_.tensor(size);
  const Table all = spell_out(table, loops, domain, watch_);
  if (all.bounds && dense_bounds_ == nullptr) dense_bounds_ = watch_.tensor(size);
  View to{nullptr, 0, strides_};
  for (const IndexId loop : order_) to.base += strides_[loop] * domain.first[loop];
  const View from = all.view();
  for_each_point(order_, domain, {&to, &from}, [&](const std::vector<int64_t>& at) {
    (*dense_)[at[0]] = (*all.values)[at[1]];
    if (all.bounds) (*dense_bounds_)[at[0]] = (*all.bounds)[at[1]];
  });
}

void Results::add_entries(const Table& table, const Domain& domain) {
  fill_ = table.fill;
  fill_bound_ = std::max(fill_bound_, table.fill_bound);
  const Loops dense = without(loops_, table.present->loops);
  watch_.require(static_cast<int64_t>(entries_.size()) +
                 table.present->size() * domain.size(dense));
  inexact_ = inexact_ || table.bounds != nullptr;
  std::vector<int64_t> at(domain.extent.size(), 0);
  const auto visit = [&](auto&& self, size_t depth, int64_t offset) -> void {
    if (depth < dense.size()) {
      const IndexId loop = dense[depth];
      for (at[loop] = 0; at[loop] < domain.extent[loop]; ++at[loop]) {
        self(self, depth + 1, offset + at[loop] * table.strides[loop]);
      }
      return;
    }
    for (size_t d = 0; d < order_.size(); ++d) {
      coords_[d].push_back(static_cast<uint32_t>(domain.first[order_[d]] + at[order_[d]]));
    }
    entries_.push_back((*table.values)[offset]);
    entry_bounds_.push_back(table.bounds ? (*table.bounds)[offset] : 0.0F);
  };
  for (int64_t p = 0; p < table.present->size(); ++p) {
    table.present->locate(table.present->points[p], at);
    visit(visit, 0, table.base + p * table.row);
    watch_.tick(table.row);
  }
}

Value Results::dense_value() {
  return {shape_, dense_, nullptr, dense_bounds_, 0, 0, fixed_};
}

Value Results::sparse_value() {
  const Format format = sparse_format(static_cast<int>(shape_.size()));
  const float fill = fill_.value_or(0);
  Value value{shape_, nullptr, nullptr};
  value.fill_bound = fill_bound_;
  value.fixed = fixed_;
  if (inexact_) {  // as a storage of the same entries, so that they come in the same order
    const Storage bounds = from_coo(shape_, coords_, entry_bounds_, format, fill_bound_);
    value.bounds = std::make_shared<const std::vector<float>>(bounds.values.to_vector());
  }
  value.sparse = std::make_shared<const Storage>(
      from_coo(shape_, std::move(coords_), std::move(entries_), format, fill));
  return value;
}

}  // namespace fuseflow::reference
