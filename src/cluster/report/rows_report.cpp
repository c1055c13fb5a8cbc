#include "cluster/report/rows_report.h"

#include <fmt/format.h>

#include "ir/names.h"
#include "support/diagnostics.h"

namespace fuseflow::cluster {
namespace {

std::string counted(size_t number, const char* what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

std::string measured_text(const RowsOutcome& o) {
  if (o.fused.cycles == 0) {
    return fmt::format("no tiles that fit take fewer than the {} cycles of {}",
                       o.given.total.cycles,
                       counted(static_cast<size_t>(o.given.kernels), "kernel"));
  }
  return fmt::format("{} cycles, apart {} in {}; {} bytes of global memory, apart {}",
                     o.fused.cycles, o.given.total.cycles,
                     counted(static_cast<size_t>(o.given.kernels), "kernel"),
                     o.fused.bytes.global(), o.given.total.bytes.global());
}

}  // namespace

void report_rows(const Program& program, const std::vector<RowsOutcome>& outcomes) {
  for (const RowsOutcome& o : outcomes) {
    const std::string& last = program.tensors[static_cast<size_t>(o.results.back())].name;
    const std::string label = fmt::format("rows up to %{} ({}, {}, {})", quote_if_needed(last),
                                          counted(o.members.size(), "statement"),
                                          counted(static_cast<size_t>(o.products), "product"),
                                          counted(static_cast<size_t>(o.reductions), "reduction"));
    switch (o.kind) {
      case RowsOutcome::Kind::refused:
        report(Severity::note, fmt::format("{}: {}; left as they are", label, o.why));
        break;
      case RowsOutcome::Kind::slower:
        report(Severity::note, fmt::format("{}: {}; left as they are", label, measured_text(o)));
        break;
      case RowsOutcome::Kind::found:
        report(Severity::note, fmt::format("{}: one kernel, if it is faster", label));
        break;
      case RowsOutcome::Kind::taken:
        report(Severity::note, fmt::format("{}: {}", label, measured_text(o)));
        break;
    }
  }
}

}  // namespace fuseflow::cluster
