#include "cluster/report/online_report.h"

#include <fmt/format.h>

#include "ir/names.h"
#include "support/diagnostics.h"

namespace fuseflow::cluster {
namespace {

std::string measured_text(const OnlineOutcome& o) {
  return fmt::format("{} cycles, its {} kernels apart {}; {} bytes of global memory, apart {}",
                     o.fused.cycles, o.apart.kernels, o.apart.total.cycles, o.fused.bytes.global(),
                     o.apart.total.bytes.global());
}

}  // namespace

void report_online(const Program& program, const std::vector<OnlineOutcome>& outcomes) {
  for (const OnlineOutcome& o : outcomes) {
    const std::string label = fmt::format(
        "online softmax %{}", quote_if_needed(program.tensors[static_cast<size_t>(o.result)].name));
    const bool loses =
        o.kind == OnlineOutcome::Kind::taken && o.fused.cycles >= o.apart.total.cycles;
    switch (o.kind) {
      case OnlineOutcome::Kind::refused:
        report(Severity::note, fmt::format("{}: {}; left as it is", label, o.why));
        break;
      case OnlineOutcome::Kind::slower:
        report(Severity::note, fmt::format("{}: {}; left as it is", label, measured_text(o)));
        break;
      case OnlineOutcome::Kind::found:
        report(Severity::note, fmt::format("{}: {} statements", label, o.members.size()));
        break;
      case OnlineOutcome::Kind::taken:
        report(
            loses ? Severity::warning : Severity::note,
            fmt::format("{}: {}{}", label, measured_text(o), loses ? ": fusion loses here" : ""));
        break;
    }
  }
}

}  // namespace fuseflow::cluster
