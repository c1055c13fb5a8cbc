#include "passes/storage_candidates.h"

#include <memory>

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

bool may_have_absent(const Tensor& tensor) {
  return satisfies(tensor.fill, joined(tensor.facts, tensor.assumed)) &&
         holds(tensor.type, tensor.fill);
}

std::vector<Format> forms_of(const Program& program, TensorId id) {
  const Tensor& tensor = program.tensors[static_cast<size_t>(id)];
  if (tensor.format.rank() < 2) return {};
  const std::optional<double> density = density_of(program, id);
  if (!density) return {};
  std::vector<Format> forms = storage_forms(tensor, *density);
  if (!may_have_absent(tensor)) std::erase_if(forms, [](const Format& form) { return !form.all_dense(); });
  return forms;
}

}  // namespace fuseflow
