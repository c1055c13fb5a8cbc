#include "machine/load.h"

#include <fmt/format.h>

#include <toml++/toml.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <functional>
#include <optional>
#include <sstream>

#include "machine/check.h"
#include "machine/dotted_keys.h"
#include "machine/keys.h"
#include "machine/presets.h"
#include "machine/shared_hardware.h"
#include "support/diagnostics.h"
#include "support/error.h"
#include "support/input_kind.h"
#include "support/install.h"
#include "support/io.h"
#include "support/source_lines.h"
#include "support/suggest.h"
#include "support/text.h"

namespace fuseflow {
namespace {

/// A value that does not suit its key: what was expected.
std::string expectation(const MachineKey& key) {
  if (!key.choices.empty()) {
    return fmt::format("expected one of {}", fmt::join(key.choices, ", "));
  }
  if (std::holds_alternative<std::string*>(key.field)) return "expected a text";
  if (std::holds_alternative<bool*>(key.field)) return "expected true or false";
  const bool whole = std::holds_alternative<int64_t*>(key.field);
  if (!whole)
    return fmt::format("expected a number from {:g} to {:g}", key.least,
                       static_cast<double>(key.most));
  return fmt::format("expected a whole number from {:g} to {}", key.least, key.most);
}

bool assign(const MachineKey& key, int64_t value) {
  if (static_cast<double>(value) < key.least || value > key.most) return false;
  if (auto* const* field = std::get_if<int64_t*>(&key.field)) {
    **field = value;
  } else if (auto* const* real = std::get_if<double*>(&key.field)) {
    **real = static_cast<double>(value);
  } else {
    return false;
  }
  return true;
}

bool assign(const MachineKey& key, double value) {
  auto* const* field = std::get_if<double*>(&key.field);
  const bool fits = value >= key.least && value <= static_cast<double>(key.most);
  if (field == nullptr || !std::isfinite(value) || !fits) return false;
  **field = value;
  return true;
}

bool assign(const MachineKey& key, bool value) {
  auto* const* field = std::get_if<bool*>(&key.field);
  if (field != nullptr) **field = value;
  return field != nullptr;
}

bool assign(const MachineKey& key, const std::string& value) {
  auto* const* field = std::get_if<std::string*>(&key.field);
  if (field == nullptr) return false;
  const auto& choices = key.choices;
  if (!choices.empty() && std::find(choices.begin(), choices.end(), value) == choices.end()) {
    return false;
  }
  **field = value;
  return true;
}

const MachineKey* find_key(const std::vector<MachineKey>& keys, std::string_view name) {
  for (const MachineKey& key : keys) {
    if (key.name == name) return &key;
  }
  return nullptr;
}

struct MachinePreset {
  std::string_view name;
  std::string_view text;
};

const std::vector<MachinePreset>& machine_presets() {
  static const std::vector<MachinePreset> presets = {
      {"ideal", kPresetIdeal}, {"comal", kPresetComal}, {"rda", kPresetRda}, {"h100", kPresetH100}};
  return presets;
}

/// Kinds of memory: `dram.preset` stands for the keys of section `dram` that its text gives.
constexpr const char* kDramPreset = "dram.preset";

const std::vector<MachinePreset>& dram_presets() {
  static const std::vector<MachinePreset> presets = {
      {"comal", kDramComal}, {"ddr4", kDramDdr4}, {"hbm2e", kDramHbm2e}, {"lpddr5", kDramLpddr5}};
  return presets;
}

const MachinePreset* find_dram_preset(std::string_view name) {
  const auto& presets = dram_presets();
  const auto found = std::find_if(presets.begin(), presets.end(),
                                  [&](const MachinePreset& preset) { return preset.name == name; });
  return found == presets.end() ? nullptr : &*found;
}

std::string dram_preset_names() {
  std::vector<std::string_view> names;
  for (const MachinePreset& preset : dram_presets()) names.push_back(preset.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Keys of files of version 0.1, and what says the same now.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kRenamed = {
    {{"global.bandwidth_gigabytes_per_second", "dram.bandwidth_gigabytes_per_second"},
     {"global.latency_cycles", "dram.latency_cycles"},
     {"global.channels", "dram.channels"},
     {"global.core_port_bytes_per_cycle", "core.port_bytes_per_cycle"}}};

/// What people call keys that have another name.
constexpr std::array<Foreign, 9> kForeignKeys = {
    {{"cores", "core"},
     {"clock_ghz", "clock_gigahertz"},
     {"frequency", "clock_gigahertz"},
     {"frequency_ghz", "clock_gigahertz"},
     {"dram.bandwidth_gbps", "dram.bandwidth_gigabytes_per_second"},
     {"scratchpad.size", "scratchpad.bytes"},
     {"scratchpad.capacity", "scratchpad.bytes"},
     {"scratchpad.bandwidth", "scratchpad.bytes_per_cycle"},
     {"dram.type", "dram.preset"}}};

std::string unknown_key(const std::vector<MachineKey>& keys, const std::string& name) {
  for (const auto& [old, now] : kRenamed) {
    if (name == old) {
      return fmt::format("`{}` is `{}` now: cores and streams have one memory", old, now);
    }
  }
  std::vector<std::string> names = {kDramPreset};
  names.reserve(keys.size() + 1);
  for (const MachineKey& key : keys) names.push_back(key.name);
  return fmt::format("unknown machine key `{}`{}; `fuseflow-sim --print-machine` shows all", name,
                     did_you_mean(name, names, kForeignKeys, ", did you mean `", "`?"));
}

/// Whether a table of this name has keys, or had some that are named when they are refused.
bool is_section(const std::vector<MachineKey>& keys, const std::string& name, bool empty) {
  const auto is_in = [&, prefix = name + "."](std::string_view key) {
    return key.starts_with(prefix);
  };
  return std::any_of(keys.begin(), keys.end(),
                     [&](const MachineKey& key) { return is_in(key.name); }) ||
         (!empty && std::any_of(kRenamed.begin(), kRenamed.end(),
                                [&](const auto& renamed) { return is_in(renamed.first); }));
}

std::string unknown_section(const std::vector<MachineKey>& keys, const std::string& name) {
  std::vector<std::string> sections;
  for (const MachineKey& key : keys) {
    for (size_t dot = key.name.find('.'); dot != std::string::npos;
         dot = key.name.find('.', dot + 1)) {
      sections.push_back(key.name.substr(0, dot));
    }
  }
  return fmt::format(
      "unknown section `{}` of a machine{}; `fuseflow-sim --print-machine` shows all", name,
      did_you_mean(name, sections, kForeignKeys, ", did you mean `", "`?"));
}

/// A section of this name (or a key of it) is given: the machine has what it describes.
void give_part(Machine& machine, std::string_view section) {
  const MachinePart part = part_of(section);
  if (part == MachinePart::streams) machine.has_streams = true;
  if (part == MachinePart::cores) machine.has_cores = true;
  if (part == MachinePart::energy) machine.has_energy = true;
  if (part == MachinePart::area) machine.has_area = true;
}

class Reader {
 public:
  /// `source`: the text that is read, for messages.
  Reader(Machine& machine, SourceText source)
      : machine_(machine), keys_(machine_keys(machine)), source_(std::move(source)) {}

  void read(const toml::table& file) {
    machine_.has_streams = machine_.has_cores = false;
    const auto memory = file["dram"]["preset"].value<std::string>();
    const MachinePreset* preset = memory ? find_dram_preset(*memory) : nullptr;
    if (preset != nullptr) use(*preset);  // other keys of the section change it
    given_.clear();
    read(file, "");
    if (!machine_.has_cores) machine_.has_streams = true;  // of the defaults, those of ideal
  }

  /// Sets the keys that a preset gives; the others stay as they are.
  void use(const MachinePreset& preset) { read(toml::parse(preset.text, preset.name), ""); }

  /// What the file itself sets.
  const std::vector<std::string>& given() const { return given_; }

  void finish() {
    if (errors_.empty()) return;
    std::stable_sort(errors_.begin(), errors_.end(),
                     [](const Wrong& a, const Wrong& b) { return a.where.line < b.where.line; });
    std::vector<Diagnostic> said;
    said.reserve(errors_.size());
    for (const Wrong& wrong : errors_) {
      const bool shown = said.size() < kMaxErrors;
      said.push_back(shown ? error_at(source_, wrong.where, wrong.message())
                           : Diagnostic{Severity::error, wrong.where, "", ""});
    }
    throw Error(ExitCode::rejected, std::move(said));
  }

 private:
  /// What is wrong; said only where it is shown: looking for what was meant takes time.
  struct Wrong {
    Location where;
    std::function<std::string()> message;
  };

  void read(const toml::table& table, const std::string& prefix) {
    for (const auto& [name, value] : table) {
      const std::string key = prefix + std::string(name.str());
      const toml::table* section = value.as_table();
      if (section == nullptr) {
        set(key, value);
      } else if (is_section(keys_, key, section->empty())) {
        give_part(machine_, key);
        read(*section, key + ".");
      } else if (find_key(keys_, key) != nullptr) {
        fail(value, fmt::format("`{}` is no section, expected a value", key));
      } else {
        fail(value, [this, key] { return unknown_section(keys_, key); });
      }
    }
  }

  void set(const std::string& name, const toml::node& value) {
    if (name == kDramPreset) {  // used before all others
      if (find_dram_preset(value.value<std::string>().value_or("")) != nullptr) return;
      return fail(value, fmt::format("`{}` has the unusable value {}, expected one of {}", name,
                                     shown(value), dram_preset_names()));
    }
    const MachineKey* key = find_key(keys_, name);
    if (key == nullptr) return fail(value, [this, name] { return unknown_key(keys_, name); });
    given_.push_back(name);
    bool suits = false;
    if (const auto* number = value.as_integer()) {
      suits = assign(*key, number->get());
    } else if (const auto* real = value.as_floating_point()) {
      suits = assign(*key, real->get());
    } else if (const auto* flag = value.as_boolean()) {
      suits = assign(*key, flag->get());
    } else if (const auto* text = value.as_string()) {
      suits = assign(*key, text->get());
    }
    if (suits) return;
    fail(value,
         fmt::format("`{}` has the unusable value {}, {}", name, shown(value), expectation(*key)));
  }

  /// A value as it is written, shortened.
  static std::string shown(const toml::node& value) {
    if (value.is_array()) return "[..]";
    std::ostringstream text;
    value.visit([&](const auto& each) { text << each; });
    return text.str();
  }

  void fail(const toml::node& value, std::function<std::string()> message) {
    const toml::source_position at = value.source().begin;
    errors_.push_back({{source_.name, static_cast<int>(at.line), static_cast<int>(at.column), 1},
                       std::move(message)});
  }
  void fail(const toml::node& value, std::string message) {
    fail(value, [said = std::move(message)] { return said; });
  }

  Machine& machine_;
  std::vector<MachineKey> keys_;
  SourceText source_;
  std::vector<std::string> given_;
  std::vector<Wrong> errors_;
};

[[noreturn]] void bad_setting(const std::string& message) {
  throw Error(ExitCode::usage, "--machine-set: " + message);
}

bool assign_text(const MachineKey& key, const std::string& text) {
  if (std::holds_alternative<std::string*>(key.field)) return assign(key, text);
  if (std::holds_alternative<bool*>(key.field)) {
    return (text == "true" || text == "false") && assign(key, text == "true");
  }
  const char* end = text.data() + text.size();
  int64_t whole = 0;
  if (const auto [rest, status] = std::from_chars(text.data(), end, whole);
      status == std::errc() && rest == end) {
    return assign(key, whole);
  }
  double real = 0;
  const auto [rest, status] = std::from_chars(text.data(), end, real);
  return status == std::errc() && rest == end && assign(key, real);
}

void apply_setting(Machine& machine, const std::string& setting) {
  const size_t equals = setting.find('=');
  if (equals == std::string::npos || equals == 0) {
    bad_setting(fmt::format("`{}` is not `key=value`, e.g. `fifo_depth=16`", setting));
  }
  const std::string name = setting.substr(0, equals);
  const std::string text = setting.substr(equals + 1);
  if (name == kDramPreset) {
    const MachinePreset* preset = find_dram_preset(text);
    if (preset == nullptr) {
      bad_setting(fmt::format("`{}` has the unusable value `{}`, expected one of {}", name, text,
                              dram_preset_names()));
    }
    return Reader(machine, {std::string(preset->name), ""}).use(*preset);
  }
  const std::vector<MachineKey> keys = machine_keys(machine);
  const MachineKey* key = find_key(keys, name);
  if (key == nullptr) bad_setting(unknown_key(keys, name));
  if (!assign_text(*key, text)) {
    bad_setting(fmt::format("`{}` has the unusable value `{}`, {}", name, text, expectation(*key)));
  }
  give_part(machine, name);
}

/// `keys`: those that it sets, in order; may be null.
Machine parse(const std::string& text, const std::string& file, std::vector<std::string>* keys) {
  Machine machine;
  machine.name = file;
  check_dotted_keys(text, file);
  try {
    const toml::table table = toml::parse(text, file);
    Reader reader(machine, {file, text});
    reader.read(table);
    reader.finish();
    if (keys != nullptr) *keys = reader.given();
  } catch (const toml::parse_error& error) {
    std::string other = why_no_machine(text);  // said instead of where its bytes are no TOML
    if (!other.empty()) throw Error(ExitCode::rejected, Location{file}, std::move(other));
    const toml::source_position at = error.source().begin;
    const Location where{file, static_cast<int>(at.line), static_cast<int>(at.column), 1};
    throw Error(
        ExitCode::rejected,
        {error_at({file, text}, where, fmt::format("this is not TOML: {}", error.description()))});
  }
  return machine;
}

Machine read_machine(const std::string& path, std::vector<std::string>* keys = nullptr) {
  require_regular_or_open(path, "a machine description");
  const SourceText source = read_source(path);
  return parse(source.text, source.name, keys);
}

/// A name says so, or there is no other way to take it.
bool is_machine_file(const std::string& name_or_file) {
  if (name_or_file == "-" || name_or_file.find('/') != std::string::npos) return true;
  constexpr std::array<std::string_view, 9> kEndings = {".toml", ".ff",  ".onnx", ".mtx", ".npy",
                                                        ".npz",  ".csv", ".gz",   ".tns"};
  return std::any_of(kEndings.begin(), kEndings.end(),
                     [&](std::string_view ending) { return name_or_file.ends_with(ending); });
}

/// What lies beside the presets where the tools are installed; not the presets.
std::vector<InstalledFile> installed_machines() {
  std::vector<InstalledFile> found = installed_files("machines", ".toml");
  std::erase_if(found, [](const InstalledFile& file) {
    const auto& presets = machine_presets();
    return std::any_of(presets.begin(), presets.end(),
                       [&](const MachinePreset& preset) { return preset.name == file.name; });
  });
  return found;
}

/// Presets, then what is installed.
std::vector<std::string> machine_names() {
  std::vector<std::string> names;
  for (const MachinePreset& preset : machine_presets()) names.emplace_back(preset.name);
  for (const InstalledFile& installed : installed_machines()) names.push_back(installed.name);
  return names;
}

/// A file of the current folder that was meant by a name which is none of a machine.
std::string file_meant(const std::string& name) {
  std::error_code ignored;
  for (const std::string& file : {name + ".toml", name}) {
    if (!std::filesystem::is_regular_file(file, ignored)) continue;
    return fmt::format("; to take the file of this folder: `{}`",
                       file == name ? "./" + file : file);
  }
  return "";
}

Machine base_machine(const std::string& name_or_file, std::vector<std::string>& keys) {
  if (is_machine_file(name_or_file)) return read_machine(name_or_file, &keys);
  for (const MachinePreset& preset : machine_presets()) {
    if (preset.name == name_or_file) {
      return parse_machine(std::string(preset.text), std::string(preset.name) + ".toml");
    }
  }
  for (const InstalledFile& installed : installed_machines()) {
    if (installed.name == name_or_file) return read_machine(installed.path);
  }
  const std::vector<std::string> names = machine_names();
  const std::string file = file_meant(name_or_file);
  const std::string near =
      file.empty() ? did_you_mean(name_or_file, names, {}, ", did you mean `", "`?") : "";
  throw Error(ExitCode::usage,
              fmt::format("unknown machine `{}`{}; expected one of {}, or a file (*.toml){}",
                          name_or_file, near, fmt::join(names, ", "), file));
}

std::string toml_string(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04X}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string value_text(const MachineKey& key) {
  if (auto* const* field = std::get_if<int64_t*>(&key.field)) return std::to_string(**field);
  if (auto* const* real = std::get_if<double*>(&key.field)) {
    const std::string text = fmt::format("{}", **real);
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
  }
  if (auto* const* flag = std::get_if<bool*>(&key.field)) return **flag ? "true" : "false";
  return toml_string(**std::get_if<std::string*>(&key.field));
}

bool has_part(const Machine& machine, std::string_view section) {
  switch (part_of(section)) {
    case MachinePart::common:
      return true;
    case MachinePart::streams:
      return machine.has_streams;
    case MachinePart::cores:
    case MachinePart::around_cores:
      return machine.has_cores;
    case MachinePart::energy:
      return machine.has_energy;
    case MachinePart::area:
      return machine.has_area;
  }
  return true;
}

std::string key_of(const std::string& setting) {
  return setting.substr(0, setting.find('='));
}

/// The name says what was set, unless that is the name: rows of a sweep are told apart by it, and
/// machine_named() gives the machine back. Of a key that was set again the last value counts.
void name_by_settings(Machine& machine, const std::vector<std::string>& settings) {
  for (size_t s = 0; s < settings.size(); ++s) {
    if (key_of(settings[s]) == "name") return;
  }
  for (size_t s = 0; s < settings.size(); ++s) {
    const std::string key = key_of(settings[s]);
    const bool again =
        std::any_of(settings.begin() + static_cast<std::ptrdiff_t>(s) + 1, settings.end(),
                    [&](const std::string& other) { return key_of(other) == key; });
    if (!again && key != "description") machine.name += " " + settings[s];
  }
}

}  // namespace

Machine parse_machine(const std::string& text, const std::string& file) {
  return parse(text, file, nullptr);
}

MachineDescription describe_machine(const std::string& name_or_file) {
  MachineDescription description;
  description.machine = base_machine(name_or_file, description.keys);
  return description;
}

Machine set_up_machine(const MachineDescription& description,
                       const std::vector<std::string>& settings) {
  Machine machine = description.machine;
  for (const std::string& setting : settings) apply_setting(machine, setting);
  name_by_settings(machine, settings);
  share_hardware(machine);
  check_machine(machine);
  return machine;
}

Machine load_machine(const std::string& name_or_file, const std::vector<std::string>& settings) {
  return set_up_machine(describe_machine(name_or_file), settings);
}

std::string print_machine(const Machine& machine, MachineText form) {
  Machine copy = machine;
  std::string text;
  std::string section;
  for (const MachineKey& key : machine_keys(copy)) {
    const size_t dot = key.name.rfind('.');
    const std::string of = dot == std::string::npos ? "" : key.name.substr(0, dot);
    const char* lacking = has_part(machine, of) ? "" : "# ";
    if (of != section) text += fmt::format("\n{}[{}]\n", lacking, of);
    section = of;
    text += fmt::format("{}{} = {}", lacking, key.name.substr(of.empty() ? 0 : dot + 1),
                        value_text(key));
    text += form == MachineText::explained ? fmt::format("  # {}\n", key.meaning) : "\n";
  }
  return text;
}

std::optional<Machine> machine_named(const std::string& name,
                                     const std::vector<std::string>& settings) {
  std::vector<std::string> words;
  std::istringstream text(name);
  for (std::string word; text >> word;) words.push_back(word);
  const std::vector<std::string> names = machine_names();
  if (words.empty() || std::find(names.begin(), names.end(), words[0]) == names.end()) {
    return std::nullopt;
  }
  std::vector<std::string> all(words.begin() + 1, words.end());
  try {
    static_cast<void>(load_machine(words[0], all));
  } catch (const Error&) {  // a name that only begins like one
    return std::nullopt;
  }
  all.insert(all.end(), settings.begin(), settings.end());
  return load_machine(words[0], all);
}

std::string list_machines() {
  std::string text;
  for (const MachinePreset& preset : machine_presets()) {
    text +=
        fmt::format("{:<8}{}\n", preset.name, load_machine(std::string(preset.name)).description);
  }
  for (const InstalledFile& installed : installed_machines()) {
    text += fmt::format("{:<8}{}\n", installed.name, read_machine(installed.path).description);
  }
  return printable(text, "\n");
}

}  // namespace fuseflow
