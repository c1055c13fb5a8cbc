#include "whatif/table.h"

#include <fmt/format.h>

#include <optional>

#include "machine/speed_up.h"
#include "resources/idle_keys.h"
#include "sim/common/energy_of_run.h"
#include "sim/program_run.h"
#include "sim/report/summary.h"
#include "support/csv.h"
#include "support/error.h"

namespace fuseflow {
namespace {

struct Row {
  std::string setting;
  std::optional<int64_t> cycles;
  std::string status = "simulated";
  std::string note;
  std::optional<double> seconds;
  std::optional<double> energy_pj;
};

void count(const Program& program, const Machine& machine, const ProgramRun& run, Row& row) {
  row.cycles = total_cycles(run, machine);
  row.seconds = machine.seconds_of(static_cast<double>(*row.cycles));
  if (machine.has_energy) row.energy_pj = energy_of_run(program, machine, run).total_pj;
}

RunTime time_of(const Row& row) {
  if (!row.cycles) return {};
  return {static_cast<double>(*row.cycles), row.seconds};
}

/// Why a setting can change nothing; empty: it may.
std::string why_idle(const Program& program, const Machine& machine, const Machine& without,
                     const std::string& setting) {
  const std::string key = setting.substr(0, setting.find('='));
  if (key == "dram.preset") return "";  // stands for many keys
  const std::vector<IdleKey> idle = idle_keys(program, machine, without, {key});
  return idle.empty() ? "" : "changes nothing here: " + idle[0].why;
}

Row tried(const Program& program, const TensorData& inputs, const Machine& without,
          const MachineWith& machine_with, const std::string& setting, const RunOptions& options) {
  Row row;
  row.setting = setting;
  try {
    const Machine machine = machine_with({setting});
    const ProgramRun run = run_program(program, inputs, machine, options);
    if (run.finish == Finish::done) {
      count(program, machine, run, row);
      row.note = why_idle(program, machine, without, setting);
    } else {
      row.status = "unfinished";
      row.note = describe_finish(program, run);
    }
  } catch (const Error& error) {
    if (error.code() == ExitCode::usage) throw;
    row.status = "refused";
    row.note = error.diagnostics().front().message;
  }
  return row;
}

template <typename Number>
std::string number_or_empty(const std::optional<Number>& number, const char* form) {
  return number ? fmt::format(fmt::runtime(form), *number) : "";
}

std::string row_text(const Program& program, const Machine& machine, const Row& row,
                     const Row& before) {
  const std::optional<double> factor = times_as_fast(time_of(before), time_of(row));
  return fmt::format("{},{},{},{},{},{},{},{},{},{}\n", kCsvSchema, csv_field(program.name),
                     csv_field(machine.name), csv_field(row.setting),
                     number_or_empty(row.cycles, "{}"), number_or_empty(factor, "{:.4g}"),
                     number_or_empty(row.seconds, "{:.6g}"),
                     number_or_empty(row.energy_pj, "{:.3f}"), row.status, csv_message(row.note));
}

}  // namespace

std::vector<std::string> settings_of(const std::string& option) {
  const size_t equals = option.find('=');
  const auto malformed = [&] {
    throw Error(
        ExitCode::usage,
        fmt::format("--what-if: `{}` is not KEY=VALUE[,VALUE], e.g. `fifo_depth=16,64`", option));
  };
  if (equals == std::string::npos || equals == 0) malformed();
  std::vector<std::string> settings;
  for (size_t at = equals + 1; at <= option.size();) {
    const size_t comma = std::min(option.find(',', at), option.size());
    if (comma == at) malformed();
    settings.push_back(option.substr(0, equals + 1) + option.substr(at, comma - at));
    at = comma + 1;
  }
  if (settings.empty() || option.back() == ',') malformed();
  return settings;
}

std::string what_if_csv(const Program& program, const TensorData& inputs, const Machine& machine,
                        const MachineWith& machine_with, const std::vector<std::string>& settings,
                        const ProgramRun& run, const RunOptions& options) {
  std::string text =
      "schema,program,machine,what_if,cycles,times_as_fast,seconds,energy_pj,status,note\n";
  Row now;
  count(program, machine, run, now);
  text += row_text(program, machine, now, now);
  for (const std::string& setting : settings) {
    const Row row = tried(program, inputs, machine, machine_with, setting, options);
    text += row_text(program, machine, row, now);
  }
  return text;
}

}  // namespace fuseflow
