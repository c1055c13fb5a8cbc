#include "passes/storage_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/copies.h"
#include "ir/names.h"
#include "passes/storage_candidates.h"
#include "passes/storage_forms.h"

namespace fuseflow {

namespace {

std::string region_name(const Program& program, const StoredUse& use) {
  return "@" + quote_if_needed(program.regions[use.region].name);
}

/// Which regions read the tensor, or a copy of it, in which format.
void list_readers(const Program& program, TensorId tensor, PassLog& log) {
  std::map<TensorId, std::set<std::string>> readers;  // by what is read
  for (const StoredUse& use : uses_of(program, tensor)) {
    const Statement& statement = program.regions[use.region].statements[use.statement];
    readers[statement.nodes[use.node].tensor].insert(region_name(program, use));
  }
  for (const auto& [read, regions] : readers) {
    log.note(fmt::format("{} read{} {}", fmt::join(regions, ", "), regions.size() == 1 ? "s" : "",
                         stored_text(program, read)));
  }
}

void list_forms(const Program& program, TensorId tensor, std::string_view known, PassLog& log) {
  const Tensor& t = program.tensors[static_cast<size_t>(tensor)];
  std::vector<std::string> forms;
  for (const Format& form : forms_of(program, tensor)) forms.push_back(to_string(form));
  log.note(fmt::format("%{}: {}{}; other formats: {}", quote_if_needed(t.name), role_name(t.role),
                       known, forms.empty() ? "none" : fmt::format("{}", fmt::join(forms, " "))));
}

}  // namespace

void list_storage(const Program& program, PassLog& log) {
  for (const TensorId tensor : stored_tensors_read(program)) {
    const std::optional<double> density = density_of(program, tensor);
    list_readers(program, tensor, log);
    list_forms(program, tensor, density ? fmt::format(", density {:.4g}", *density) : "", log);
  }
  for (const TensorId tensor : passed_intermediates(program)) {
    list_readers(program, tensor, log);
    list_forms(program, tensor, "", log);
  }
}

}  // namespace fuseflow
