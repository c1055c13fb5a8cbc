#include "passes/storage_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/copies.h"
#include "ir/names.h"
#include "passes/storage_candidates.h"
#include "passes/storage_forms.h"
#include "support/csv.h"

namespace fuseflow {

namespace {

std::string name_of(const Tensor& tensor) {
  return "%" + quote_if_needed(tensor.name);
}

std::string region_name(const Program& program, const StoredUse& use) {
  return "@" + quote_if_needed(program.regions[use.region].name);
}

/// Rows of one tensor. `density`: as far as it is known.
void add_rows(const Program& program, TensorId tensor, const std::string& density,
              std::string& text) {
  std::map<TensorId, std::set<std::string>> readers;  // by what is read: the tensor or a copy
  for (const StoredUse& use : uses_of(program, tensor)) {
    const Statement& statement = program.regions[use.region].statements[use.statement];
    readers[statement.nodes[use.node].tensor].insert(region_name(program, use));
  }
  std::vector<std::string> forms;
  for (const Format& form : forms_of(program, tensor)) forms.push_back(to_string(form));
  const Tensor& t = program.tensors[static_cast<size_t>(tensor)];
  for (const auto& [read, regions] : readers) {
    const Tensor& as = program.tensors[static_cast<size_t>(read)];
    text += fmt::format("{},{},{},{},{},{},{}\n", csv_field(name_of(t)), role_name(t.role), density,
                        csv_field(name_of(as)), csv_field(to_string(as.format)),
                        csv_field(fmt::format("{}", fmt::join(regions, " "))),
                        csv_field(fmt::format("{}", fmt::join(forms, " "))));
  }
}

}  // namespace

std::string storage_csv(const Program& program) {
  std::string text = "tensor,role,density,read,format,regions,other_formats\n";
  for (const TensorId tensor : stored_tensors_read(program)) {
    const std::optional<double> density = density_of(program, tensor);
    add_rows(program, tensor, density ? fmt::format("{:.4g}", *density) : "", text);
  }
  for (const TensorId tensor : passed_intermediates(program)) add_rows(program, tensor, "", text);
  return text;
}

}  // namespace fuseflow
