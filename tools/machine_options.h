// The options that say which machine a tool works for, the same in every tool that needs one.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "machine/load.h"
#include "resources/idle_keys.h"
#include "resources/resources.h"
#include "resources/shallower_buffers.h"
#include "shell/command_line.h"
#include "support/error.h"

namespace fuseflow {

struct MachineOptions {
  std::string name = "ideal";         ///< preset or TOML file
  std::vector<std::string> settings;  ///< KEY=VALUE, later ones win

  /// Throws what load_machine() throws.
  Machine load() const { return load_machine(name, settings); }
  /// load() with more settings. `description`: of `name`, read once.
  Machine load_with(const MachineDescription& description,
                    const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all = settings;
    all.insert(all.end(), more.begin(), more.end());
    return set_up_machine(description, all);
  }
};

/// `used_by`: the option that the machine is for, with a colon, where it is not for the whole tool.
/// `otherwise`: what is taken where none is given, if not the default of `o`.
inline void add_machine_options(CommandLine& app, MachineOptions& o,
                                const std::string& used_by = "",
                                const std::string& otherwise = "") {
  const std::string article = used_by.empty() ? "Preset" : used_by + " preset";
  app.add_option("--machine", o.name,
                 article + " or TOML file, - is standard input (default: " +
                     (otherwise.empty() ? o.name : otherwise) + ")")
      .option_text("NAME|FILE");
  app.add_option("--machine-set", o.settings, "Set a constant of the machine (repeatable)")
      .option_text("KEY=VALUE")
      .one_a_use();  // else it would take the input file, too
}

/// On a machine of cores alone, streams run as if they cost nothing (ir-spec/machines.md).
inline void warn_of_streams(const Program& program, const Machine& machine) {
  const std::string warning = lacking_streams(program, machine);
  if (!warning.empty()) report(Severity::warning, warning);
}

/// Keys that the user set and that change nothing: settings in this program, keys of a file in any.
inline void warn_of_idle_keys(const Program& program, const Machine& machine,
                              const MachineDescription& description,
                              const std::vector<std::string>& settings) {
  std::vector<std::string> keys;
  for (const std::string& setting : settings) keys.push_back(setting.substr(0, setting.find('=')));
  std::erase(keys, "dram.preset");
  const auto warn = [](const std::vector<IdleKey>& idle) {
    for (const IdleKey& one : idle) {
      report(Severity::warning, "`" + one.key + "` changes nothing here: " + one.why);
    }
  };
  warn(idle_keys(program, machine, description.machine, keys));
  std::vector<std::string> of_file = description.keys;
  std::erase_if(of_file, [&](const std::string& key) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  });
  warn(contradicted_keys(machine, of_file));
}

/// Which regions that are lowered run with buffers less deep than they were lowered with.
inline void note_shallower_buffers(const Program& program, const Machine& machine) {
  for (const Region& region : program.regions) {
    const std::string note = shallower_buffers_note(program, region, machine);
    if (!note.empty()) report(Severity::note, note);
  }
}

}  // namespace fuseflow
