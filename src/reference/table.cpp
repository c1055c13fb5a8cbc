#include "reference/table.h"

#include <algorithm>
#include <numeric>

namespace fuseflow::reference {

int64_t Pattern::find(int64_t point) const {
  const auto found = std::lower_bound(points.begin(), points.end(), point);
  return found != points.end() && *found == point ? found - points.begin() : -1;
}

int64_t Pattern::number(const std::vector<int64_t>& at) const {
  int64_t point = 0;
  for (size_t l = 0; l < loops.size(); ++l) point = point * extents[l] + at[loops[l]];
  return point;
}

void Pattern::locate(int64_t point, std::vector<int64_t>& at) const {
  for (size_t l = loops.size(); l-- > 0;) {
    at[loops[l]] = point % extents[l];
    point /= extents[l];
  }
}

PatternPtr make_pattern(const Domain& domain, Loops loops, std::vector<int64_t> points) {
  auto pattern = std::make_shared<Pattern>();
  for (const IndexId loop : loops) pattern->extents.push_back(domain.extent[loop]);
  pattern->loops = std::move(loops);
  pattern->points = std::move(points);
  return pattern;
}

Projection project(const Domain& domain, const Pattern& pattern, const Loops& loops) {
  std::vector<int64_t> seen(pattern.points.size());
  std::vector<int64_t> at(domain.extent.size(), 0);
  const PatternPtr shape = make_pattern(domain, loops, {});
  for (size_t p = 0; p < seen.size(); ++p) {
    pattern.locate(pattern.points[p], at);
    seen[p] = shape->number(at);
  }
  std::vector<int64_t> points = seen;
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
  Projection result{make_pattern(domain, loops, std::move(points)), std::move(seen)};
  for (int64_t& point : result.position) point = result.pattern->find(point);
  return result;
}

PatternPtr unite(const Domain& domain, const std::vector<PatternPtr>& patterns) {
  Loops shared = patterns.front()->loops;
  for (const PatternPtr& pattern : patterns)
    shared = without(shared, without(shared, pattern->loops));
  if (shared.empty()) return nullptr;
  std::vector<int64_t> points;
  for (const PatternPtr& pattern : patterns) {
    if (pattern->loops == shared && patterns.size() == 1) return pattern;
    const PatternPtr seen =
        pattern->loops == shared ? pattern : project(domain, *pattern, shared).pattern;
    std::vector<int64_t> both;
    std::set_union(points.begin(), points.end(), seen->points.begin(), seen->points.end(),
                   std::back_inserter(both));
    points = std::move(both);
  }
  return make_pattern(domain, shared, std::move(points));
}

std::shared_ptr<const std::vector<float>> unless_zero(
    const std::shared_ptr<const std::vector<float>>& bounds) {
  if (bounds == nullptr) return nullptr;
  const auto moves = [](float bound) { return bound != 0; };
  return std::any_of(bounds->begin(), bounds->end(), moves) ? bounds : nullptr;
}

Table dense_table(const Domain& domain, const Loops& loops,
                  std::shared_ptr<const std::vector<float>> values,
                  std::shared_ptr<const std::vector<float>> bounds) {
  Table table;
  table.values = std::move(values);
  table.bounds = std::move(bounds);
  table.strides = domain.row_major(loops);
  return table;
}

Table sparse_table(const Domain& domain, PatternPtr pattern, const Loops& dense,
                   std::shared_ptr<const std::vector<float>> values, float fill) {
  Table table = dense_table(domain, dense, std::move(values));
  table.present = std::move(pattern);
  table.row = domain.size(dense);
  table.fill = fill;
  return table;
}

Table spell_out(const Table& table, const Loops& loops, const Domain& domain, Watch& watch) {
  if (table.present == nullptr) return table;
  const auto values = watch.array(domain.size(loops), table.fill);
  const auto bounds = table.exact() ? nullptr : watch.array(domain.size(loops), table.fill_bound);
  const Loops dense = without(loops, table.present->loops);
  const std::vector<int64_t> strides = domain.row_major(loops);
  std::vector<int64_t> at(domain.extent.size(), 0);
  for (int64_t p = 0; p < table.present->size(); ++p) {
    table.present->locate(table.present->points[p], at);
    View to{values->data(), 0, strides};
    for (const IndexId loop : table.present->loops) to.base += strides[loop] * at[loop];
    View from = table.view();
    from.base += p * table.row;
    for_each_point(dense, domain, {&to, &from}, [&](const std::vector<int64_t>& offsets) {
      (*values)[offsets[0]] = (*table.values)[offsets[1]];
      if (bounds) (*bounds)[offsets[0]] = table.bounds ? (*table.bounds)[offsets[1]] : 0.0F;
    });
    watch.tick(table.row);
  }
  Table spelled = dense_table(domain, loops, values, bounds);
  spelled.fixed = table.fixed;
  return spelled;
}

Table settle(Table table, const Loops& loops, const Domain& domain, Watch& watch) {
  if (table.present == nullptr) return table;
  if (watch.pays(table.present->size() * table.row, domain.size(loops))) return table;
  return spell_out(table, loops, domain, watch);
}

Gather::Gather(const Table& table, const Pattern& walk, const Loops& dense, const Domain& domain)
    : table_(table),
      walk_(walk),
      dense_(dense),
      domain_(domain),
      row_(domain.size(dense)),
      same_(table.present != nullptr && table.present->loops == walk.loops &&
            (table.present.get() == &walk || table.present->points == walk.points)),
      row_present_(table.present == nullptr || without(table.present->loops, walk.loops).empty()),
      at_(domain.extent.size(), 0) {}

void Gather::read(int64_t first, int64_t last, float* values, float* bounds) {
  for (int64_t p = first; p < last; ++p) {
    walk_.locate(walk_.points[p], at_);
    int64_t base = table_.base;
    for (const IndexId loop : walk_.loops) base += table_.strides[loop] * at_[loop];
    if (!row_present_) {
      read_points(base, values, bounds);
      continue;
    }
    int64_t position = p;
    if (table_.present == nullptr) {
      position = 0;
    } else if (!same_) {
      position = table_.present->find(table_.present->number(at_));
    }
    if (position < 0) {
      read_fill(values, bounds);
    } else {
      read_row(base + position * table_.row, values, bounds);
    }
  }
}

void Gather::read_row(int64_t base, float*& values, float*& bounds) const {
  const float* from = table_.values->data();
  const float* bound = table_.bounds ? table_.bounds->data() : nullptr;
  const auto put = [&](int64_t offset) {
    *values++ = from[offset];
    if (bounds != nullptr) *bounds++ = bound != nullptr ? bound[offset] : 0.0F;
  };
  if (dense_.size() > 1) {
    const View view{from, base, table_.strides};
    for_each_point(dense_, domain_, {&view}, [&](const auto& offsets) { put(offsets[0]); });
    return;
  }
  const int64_t stride = dense_.empty() ? 0 : table_.strides[dense_[0]];
  for (int64_t i = 0; i < row_; ++i) put(base + i * stride);
}

void Gather::read_fill(float*& values, float*& bounds) const {
  values = std::fill_n(values, row_, table_.fill);
  if (bounds != nullptr) bounds = std::fill_n(bounds, row_, table_.fill_bound);
}

/// The table is present at some points of the row only.
void Gather::read_points(int64_t base, float*& values, float*& bounds) {
  const auto visit = [&](auto&& self, size_t depth, int64_t offset) -> void {
    if (depth < dense_.size()) {
      const IndexId loop = dense_[depth];
      for (int64_t i = 0; i < domain_.extent[loop]; ++i) {
        at_[loop] = i;
        self(self, depth + 1, offset + i * table_.strides[loop]);
      }
      return;
    }
    const int64_t position = table_.present->find(table_.present->number(at_));
    const int64_t from = offset + position * table_.row;
    *values++ = position < 0 ? table_.fill : (*table_.values)[from];
    if (bounds == nullptr) return;
    *bounds++ = position < 0 ? table_.fill_bound : (table_.bounds ? (*table_.bounds)[from] : 0.0F);
  };
  visit(visit, 0, base);
}

}  // namespace fuseflow::reference
