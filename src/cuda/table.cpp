#include "cuda/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "cuda/files.h"
#include "cuda/print.h"
#include "cuda/table_rows.h"
#include "ir/names.h"
#include "support/error.h"

namespace fuseflow::cuda {
namespace {

/// A table is called with any number of rows, by kernels alone.
void require_all(const TableEntry& entry) {
  for (size_t r = 0; r < entry.program.regions.size(); ++r) {
    const Region& region = entry.program.regions[r];
    const auto made = std::find_if(entry.kernels.begin(), entry.kernels.end(),
                                   [&](const Generated& g) { return g.region == r; });
    if (made != entry.kernels.end() && made->refused.empty()) continue;
    throw Error(
        ExitCode::rejected, region.where,
        fmt::format("@{} has no kernel for up to {} rows: {}; expected one for every "
                    "region of a table",
                    quote_if_needed(region.name), entry.rows.most,
                    made == entry.kernels.end() ? "it is no graph of tiles" : made->refused));
  }
}

/// Names of kernels: one for each text.
class SharedNames {
 public:
  void name(const Program& program, Generated& g) {
    std::string& name = names_[g.schedule + kernel_file(program, g)];
    if (name.empty()) {
      name = g.name;
      for (int i = 2; !taken_.insert(name).second; ++i) name = fmt::format("{}_{}", g.name, i);
    }
    if (name == g.name) return;
    g.name = g.kernel.name = name;
    g.schedule = kernel_text(program, g.kernel);
  }

 private:
  std::map<std::string, std::string> names_;  ///< by text
  std::set<std::string> taken_;
};

}  // namespace

std::vector<TableEntry> make_table(std::vector<Program> programs, const Machine& machine) {
  std::vector<TableRows> rows = table_rows(programs);
  std::vector<TableEntry> table;
  for (size_t i = 0; i < programs.size(); ++i)
    table.push_back({std::move(programs[i]), std::move(rows[i]), {}});
  std::sort(table.begin(), table.end(),
            [](const TableEntry& a, const TableEntry& b) { return a.rows.most < b.rows.most; });
  SharedNames names;
  for (TableEntry& entry : table) {
    entry.kernels = generate(entry.program, machine, &entry.rows);
    require_all(entry);
    for (Generated& g : entry.kernels) names.name(entry.program, g);
  }
  return table;
}

}  // namespace fuseflow::cuda
