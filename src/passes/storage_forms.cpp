#include "passes/storage_forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "ir/copies.h"
#include "ir/names.h"

namespace fuseflow {

namespace {

/// A coordinate takes as many bytes as a value: what is fuller than that is read faster dense.
constexpr double kMostListed = 0.5;
/// Emptier tensors are not stored dense.
constexpr double kLeastDense = 0.01;
/// Elements of the dense levels of a candidate.
constexpr double kMostFormElements = 1 << 24;
/// Ranks up to which all mode orders are tried.
constexpr int kAllOrders = 3;

/// Mode orders: all where they are few, else the tensor's own and its neighbours.
std::vector<std::vector<int>> mode_orders(const Format& format) {
  std::vector<int> order = format.mode_order;
  std::vector<std::vector<int>> orders{order};
  if (format.rank() <= kAllOrders) {
    std::sort(order.begin(), order.end());
    do {
      if (order != format.mode_order) orders.push_back(order);
    } while (std::next_permutation(order.begin(), order.end()));
    return orders;
  }
  for (size_t level = 1; level < order.size(); ++level) {
    orders.push_back(format.mode_order);
    std::swap(orders.back()[level - 1], orders.back()[level]);
  }
  return orders;
}

/// Kinds of levels that are tried, beside those that the tensor has.
std::vector<std::vector<LevelKind>> listed_kinds(const Format& format) {
  const auto rank = static_cast<size_t>(format.rank());
  std::vector<std::vector<LevelKind>> kinds;
  std::vector<LevelKind> rows(rank, LevelKind::dense);
  rows.back() = LevelKind::compressed;
  kinds.push_back(rows);
  rows.back() = LevelKind::bitvector;
  kinds.push_back(rows);
  kinds.emplace_back(rank, LevelKind::compressed);
  kinds.push_back(format.levels);
  return kinds;
}

double dense_elements(const Tensor& tensor, const Format& format) {
  double elements = 1;
  for (size_t level = 0; level < format.levels.size(); ++level) {
    if (format.levels[level] == LevelKind::compressed) break;
    const auto dimension = static_cast<size_t>(format.mode_order[level]);
    const auto extent = static_cast<double>(tensor.shape[dimension].value);
    elements *= format.levels[level] == LevelKind::bitvector ? extent / 64 : extent;
  }
  return elements;
}

bool is_known(const Tensor& tensor) {
  return std::all_of(tensor.shape.begin(), tensor.shape.end(),
                     [](const Extent& extent) { return extent.known(); });
}

bool may_be_stored_otherwise(const Tensor& tensor) {
  return tensor.format.rank() > 0 && tensor.format.block.empty() && is_known(tensor);
}

/// Formats of a tensor, without its own and none twice.
class FormList {
 public:
  explicit FormList(const Tensor& tensor) : tensor_(tensor) {}

  void add(Format form) {
    const bool known =
        form == tensor_.format || std::find(forms_.begin(), forms_.end(), form) != forms_.end();
    if (!known && dense_elements(tensor_, form) <= kMostFormElements)
      forms_.push_back(std::move(form));
  }

  void add_listed() {
    const auto is = [](LevelKind wanted) { return [=](LevelKind kind) { return kind == wanted; }; };
    for (const std::vector<int>& order : mode_orders(tensor_.format)) {
      for (const std::vector<LevelKind>& kinds : listed_kinds(tensor_.format)) {
        const bool dense = std::all_of(kinds.begin(), kinds.end(), is(LevelKind::dense));
        const bool singles = std::any_of(kinds.begin(), kinds.end(), is(LevelKind::singleton));
        if (!dense && !singles) add(make_format(kinds, order));
      }
    }
  }

  std::vector<Format> take() { return std::move(forms_); }

 private:
  const Tensor& tensor_;
  std::vector<Format> forms_;
};

}  // namespace

std::vector<StoredUse> uses_of(const Program& program, TensorId original) {
  std::vector<StoredUse> uses;
  for (size_t r = 0; r < program.regions.size(); ++r) {
    const Region& region = program.regions[r];
    if (region.graph) continue;
    for (size_t s = 0; s < region.statements.size(); ++s) {
      const std::vector<Expr>& nodes = region.statements[s].nodes;
      for (size_t n = 0; n < nodes.size(); ++n) {
        if (nodes[n].kind != Expr::Kind::access) continue;
        if (original_of(program, nodes[n].tensor) == original) uses.push_back({r, s, n});
      }
    }
  }
  return uses;
}

std::vector<TensorId> stored_tensors_read(const Program& program) {
  std::set<TensorId> found;
  for (const Region& region : program.regions) {
    if (region.graph) continue;
    for (const Statement& statement : region.statements) {
      for (const Expr& e : statement.nodes) {
        if (e.kind != Expr::Kind::access) continue;
        const TensorId tensor = original_of(program, e.tensor);
        const Tensor& t = program.tensors[static_cast<size_t>(tensor)];
        if (t.source.kind != Source::Kind::none) found.insert(tensor);
      }
    }
  }
  return {found.begin(), found.end()};
}

std::vector<Format> storage_forms(const Tensor& tensor, double density) {
  FormList forms(tensor);
  if (!may_be_stored_otherwise(tensor)) return {};
  if (density >= kLeastDense) forms.add(dense_format(tensor.format.rank()));
  if (density <= kMostListed) forms.add_listed();
  return forms.take();
}

std::vector<Format> intermediate_forms(const Tensor& tensor) {
  FormList forms(tensor);
  if (!may_be_stored_otherwise(tensor)) return {};
  std::vector<LevelKind> rows(tensor.shape.size(), LevelKind::dense);
  rows.back() = LevelKind::compressed;
  const std::vector<std::vector<LevelKind>> written{
      std::vector<LevelKind>(rows.size(), LevelKind::dense), rows,
      std::vector<LevelKind>(rows.size(), LevelKind::compressed)};
  for (const std::vector<int>& order : mode_orders(tensor.format)) {
    for (const std::vector<LevelKind>& kinds : written) forms.add(make_format(kinds, order));
  }
  return forms.take();
}

void store_as(Program& program, TensorId original, const Format& format,
              const std::vector<StoredUse>& uses) {
  const TensorId to = copy_as(program, original, format, ".stored");
  for (const StoredUse& use : uses) {
    Region& region = program.regions[use.region];
    TensorId& read = region.statements[use.statement].nodes[use.node].tensor;
    const TensorId from = read;
    if (from == to) continue;
    read = to;
    region.graph.reset();
    follow_copies(program, use.region);
  }
}

std::string stored_text(const Program& program, TensorId tensor) {
  const Tensor& t = program.tensors[static_cast<size_t>(tensor)];
  const Tensor& original = program.tensors[static_cast<size_t>(original_of(program, tensor))];
  const std::string name = quote_if_needed(original.name);
  if (original.name == t.name) return fmt::format("%{} as {}", name, to_string(t.format));
  return fmt::format("%{} as {} (%{})", name, to_string(t.format), quote_if_needed(t.name));
}

}  // namespace fuseflow
