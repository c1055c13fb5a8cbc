#include "whatif/remedy.h"

#include <algorithm>

namespace fuseflow {

std::string shell_word(const std::string& text) {
  const auto plain = [](char c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return letter || std::string("_-./:=,@%+").find(c) != std::string::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string command_of(const Remedy& change) {
  std::string text;
  for (const std::string& setting : change.settings) {
    text += (text.empty() ? "" : " ") + ("--machine-set " + shell_word(setting));
  }
  if (change.pass.empty()) return text;
  text += (text.empty() ? "" : " ") + ("fuseflow-" + change.pass);
  for (const auto& [option, value] : change.arguments) {
    text += " --" + option;
    if (!value.empty()) text += " " + shell_word(value);
  }
  return text;
}

}  // namespace fuseflow
