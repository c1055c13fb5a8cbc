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

/// Why it is not spread over the cores of a cluster; `simulated`: else only what could be tried.
std::string spread_text(const SpreadTried& tried, const char* what, bool simulated) {
  if (!tried.none.empty()) return tried.none;
  std::string plans = fmt::format("{} plan{} {}", tried.plans, tried.plans == 1 ? "" : "s", what);
  if (!simulated) return plans;
  if (tried.simulated == 0) return fmt::format("none of {} costs less", plans);
  const std::string some =
      tried.simulated < tried.plans ? fmt::format(" ({} simulated)", tried.simulated) : "";
  return fmt::format("none of {} is faster{}", plans, some);
}

std::string spread_text(const OnlineSpread& spread, bool simulated) {
  const std::string rows = spread_text(spread.rows, "that share keys", simulated);
  const std::string keys = spread_text(spread.keys, "with keys in parts", simulated);
  return rows == keys ? rows : rows + ", " + keys;
}

/// ... where it is on single cores.
std::string single_text(const OnlineOutcome& o) {
  if (o.tiles.cores > 1 || o.tiles.parts > 1) return "";
  return "; single cores: " + spread_text(o.spread, true);
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
        report(Severity::note,
               fmt::format("{}: {}{}; left as it is", label, measured_text(o), single_text(o)));
        break;
      case OnlineOutcome::Kind::found:
        report(Severity::note, fmt::format("{}: {} statements; over cores: {}", label,
                                           o.members.size(), spread_text(o.spread, false)));
        break;
      case OnlineOutcome::Kind::taken:
        report(loses ? Severity::warning : Severity::note,
               fmt::format("{}: {}{}{}", label, measured_text(o), single_text(o),
                           loses ? ": fusion loses here" : ""));
        break;
    }
  }
}

}  // namespace fuseflow::cluster
