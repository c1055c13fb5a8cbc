#include "passes/by_estimate.h"

#include <fmt/format.h>

#include <charconv>
#include <memory>

#include "machine/load.h"
#include "passes/choose.h"

namespace fuseflow {

Machine machine_of(const PassArguments& arguments) {
  if (arguments.machine) return *arguments.machine;
  return load_machine(arguments.get("machine", "ideal"), arguments.all("machine-set"));
}

Program by_estimate(const Program& given, const PassArguments& arguments, PassLog& log,
                    const std::function<Program(CostModel& costs)>& choose) {
  if (!arguments.costs) return given;
  const Machine machine = machine_of(arguments);
  const std::unique_ptr<CostModel> costs = arguments.costs(machine);
  return not_slower(choose(*costs), given, *costs, log);
}

int64_t parse_copies(std::string_view option, const std::string& text) {
  int64_t copies = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), copies);
  if (code != std::errc() || end != text.data() + text.size() || copies < 1 || copies > 65536) {
    throw Error(ExitCode::usage,
                fmt::format("--{} '{}': expected a number from 1 to 65536", option, text));
  }
  return copies;
}

}  // namespace fuseflow
