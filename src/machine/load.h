// Machines by name or file: TOML to Machine and back, settings of the command line, presets. The
// keys are one table (keys.h), from which reading, printing and messages come. Reference:
// ir-spec/machines.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.h"

namespace fuseflow {

/// A machine by name (a preset, or NAME.toml in share/fuseflow/machines of where the tools are
/// installed) or a file (anything with a `/` or ending like a file; `-`: standard input), with
/// `key=value` settings applied in order; its name says them, `rda fifo_depth=16`, unless they give
/// another one. Throws Error(rejected) for a bad file (with its place, or
/// with what it is), Error(usage) for an unknown name or a bad setting, each with the nearest name;
/// Error(io) for a missing file; Error(rejected) for constants that do not go together (check.h).
Machine load_machine(const std::string& name_or_file,
                     const std::vector<std::string>& settings = {});

/// A machine as it is described, before settings.
struct MachineDescription {
  Machine machine;
  std::vector<std::string> keys;  ///< that a file of the user's sets; none of a machine by name
};

/// load_machine() in two steps: what is described is read once, and set up any number of times,
/// with other settings each time. Both throw what load_machine() throws.
MachineDescription describe_machine(const std::string& name_or_file);
Machine set_up_machine(const MachineDescription& description,
                       const std::vector<std::string>& settings);

/// The machine whose name this is, as load_machine() gives names, with more settings; nothing where
/// there is none. Throws Error(usage) for a bad setting of `settings`.
std::optional<Machine> machine_named(const std::string& name,
                                     const std::vector<std::string>& settings = {});

/// `text` is TOML; `file` names it in diagnostics.
Machine parse_machine(const std::string& text, const std::string& file);

/// explained: what each key means stands after it, as a comment.
enum class MachineText : uint8_t { plain, explained };

/// Canonical TOML of every key; parse_machine(print_machine(m)) gives m. Sections of what the
/// machine lacks are commented out, with their defaults.
std::string print_machine(const Machine& machine, MachineText form = MachineText::plain);

/// One line a machine that has a name: name and description.
std::string list_machines();

}  // namespace fuseflow
