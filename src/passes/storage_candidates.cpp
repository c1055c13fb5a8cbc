#include "passes/storage_candidates.h"

#include <map>
#include <memory>
#include <set>

#include "ir/data_facts.h"
#include "ir/elements.h"
#include "passes/storage_forms.h"

namespace fuseflow {

namespace {

/// Entries of a tensor whose values are looked at.
constexpr double kMostRead = 1 << 24;

/// Entries that a source says it has, of a tensor with absent ones.
std::optional<double> listed_entries(const Tensor& tensor) {
  if (tensor.format.all_dense() || !tensor.source.nnz) return std::nullopt;
  return static_cast<double>(*tensor.source.nnz);
}

}  // namespace

double entries_read(const Program& program) {
  double entries = 0;
  for (const TensorId id : stored_tensors_read(program)) {
    const Tensor& tensor = program.tensors[static_cast<size_t>(id)];
    entries += listed_entries(tensor).value_or(elements_of(tensor));
  }
  return entries;
}

std::optional<double> density_of(const Program& program, TensorId id) {
  const Tensor& tensor = program.tensors[static_cast<size_t>(id)];
  const double elements = elements_of(tensor);
  if (elements <= 0) return std::nullopt;
  const std::optional<double> listed = listed_entries(tensor);
  const bool known = tensor.format.all_dense() || listed;
  if (known && listed.value_or(elements) > kMostRead) return std::nullopt;
  const std::shared_ptr<const Storage> storage = source_reader(program)(id);
  if (storage == nullptr) return std::nullopt;
  int64_t present = 0;
  for (const float value : storage->values) present += same_value(value, tensor.fill) ? 0 : 1;
  return static_cast<double>(present) / elements;
}

std::vector<TensorId> passed_intermediates(const Program& program) {
  std::map<TensorId, size_t> writer;
  std::set<TensorId> passed;
  std::set<TensorId> kept;  // by a graph
  for (size_t r = 0; r < program.regions.size(); ++r) {
    const Region& region = program.regions[r];
    if (region.graph) {
      for (const Node& node : region.graph->nodes) {
        for_tensors(node, [&](TensorId tensor) { kept.insert(tensor); });
      }
    }
    for (const Statement& s : region.statements) {
      for (const Expr& e : s.nodes) {
        if (e.kind != Expr::Kind::access) continue;
        const auto found = writer.find(e.tensor);
        if (found != writer.end() && found->second != r) passed.insert(e.tensor);
      }
      writer.emplace(s.result, r);
    }
  }
  std::erase_if(passed, [&](TensorId tensor) {
    return kept.contains(tensor) ||
           program.tensors[static_cast<size_t>(tensor)].role != Role::temporary;
  });
  return {passed.begin(), passed.end()};
}

bool may_have_absent(const Tensor& tensor) {
  return satisfies(tensor.fill, joined(tensor.facts, tensor.assumed)) &&
         holds(tensor.type, tensor.fill);
}

std::vector<Format> forms_of(const Program& program, TensorId id) {
  const Tensor& tensor = program.tensors[static_cast<size_t>(id)];
  if (tensor.format.rank() < 2) return {};
  std::vector<Format> forms;
  if (tensor.role == Role::temporary) {
    forms = intermediate_forms(tensor);
  } else if (const std::optional<double> density = density_of(program, id)) {
    forms = storage_forms(tensor, *density);
  }
  if (!may_have_absent(tensor))
    std::erase_if(forms, [](const Format& form) { return !form.all_dense(); });
  return forms;
}

}  // namespace fuseflow
