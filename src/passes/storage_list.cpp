#include "passes/storage_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

#include "ir/copies.h"
#include "ir/names.h"
#include "passes/storage_candidates.h"
#include "passes/storage_forms.h"

namespace fuseflow {

void list_storage(const Program& program, PassLog& log) {
  for (const TensorId tensor : stored_tensors_read(program)) {
    std::map<TensorId, std::set<std::string>> readers;  // by what is read
    for (const StoredUse& use : uses_of(program, tensor)) {
      const Region& region = program.regions[use.region];
      readers[region.statements[use.statement].nodes[use.node].tensor].insert(
          "@" + quote_if_needed(region.name));
    }
    const std::optional<double> density = density_of(program, tensor);
    std::vector<std::string> forms;
    for (const Format& form : forms_of(program, tensor)) forms.push_back(to_string(form));
    for (const auto& [read, regions] : readers) {
      log.note(fmt::format("{} read{} {}", fmt::join(regions, ", "), regions.size() == 1 ? "s" : "",
                           stored_text(program, read)));
    }
    log.note(fmt::format("%{}: {}{}; other formats: {}",
                         quote_if_needed(program.tensors[static_cast<size_t>(tensor)].name),
                         role_name(program.tensors[static_cast<size_t>(tensor)].role),
                         density ? fmt::format(", density {:.4g}", *density) : "",
                         forms.empty() ? "none" : fmt::format("{}", fmt::join(forms, " "))));
  }
}

}  // namespace fuseflow
