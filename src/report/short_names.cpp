#include "report/short_names.h"

#include <set>

#include "ir/attribution.h"

namespace fuseflow {
namespace {

/// What exporters add to the name of an operator: "MatMul_output_0" is "MatMul".
std::string without_output(std::string name) {
  const size_t at = name.rfind("_output_");
  if (at != std::string::npos &&
      name.find_first_not_of("0123456789", at + 8) == std::string::npos) {
    name.resize(at);
  }
  return name;
}

/// The operator or the parameter that the name ends with; of a numbered module both: "blocks.0".
std::string last_part(const std::string& name) {
  size_t at = name.find_last_of(name.starts_with('/') ? "/" : ".");
  const bool numbered = at != std::string::npos && at > 0 && name[at] == '.' &&
                        name.find_first_not_of("0123456789", at + 1) == std::string::npos;
  if (numbered) at = name.find_last_of('.', at - 1);
  return without_output(at == std::string::npos ? name : name.substr(at + 1));
}

/// The name of a region of a layer, which fuse makes of the layer's path: "encoder/layer.0".
bool is_layer(const std::string& name) {
  return !name.starts_with('/') && name.find('/') != std::string::npos;
}

std::string joined(const ModulePath& path) {
  std::string text;
  for (const std::string& part : path) {
    // Exporters repeat the name of a module in that of its parts: "layers.0/layers.0.lin".
    const size_t overlap = part.find_last_of('.');
    const bool repeats =
        !text.empty() && overlap != std::string::npos && text.ends_with(part.substr(0, overlap));
    text += (text.empty() ? "" : ".") + (repeats ? part.substr(overlap + 1) : part);
  }
  return text;
}

std::string with(const std::string& path, const std::string& last) {
  return path.empty() || last.empty() ? path + last : path + "." + last;
}

/// Gives each name `make(name)` if no other one has it; takes those off the list.
template <typename Make>
void take_unique(std::set<std::string>& open, std::set<std::string>& taken,
                 std::map<std::string, std::string>& result, const Make& make) {
  std::map<std::string, std::vector<std::string>> by_short;
  for (const std::string& name : open) by_short[make(name)].push_back(name);
  for (const auto& [made, names] : by_short) {
    if (names.size() > 1 || made.empty() || taken.contains(made)) continue;
    result[names[0]] = made;
    taken.insert(made);
    open.erase(names[0]);
  }
}

}  // namespace

ShortNames::ShortNames(const std::vector<std::string>& names) {
  std::set<std::string> open(names.begin(), names.end());
  std::set<std::string> taken;
  take_unique(open, taken, short_, [](const std::string& name) {
    if (is_layer(name)) return name.substr(name.rfind('/') + 1);
    const std::string path = joined(module_path(name));
    return path.empty() ? last_part(name) : path;
  });
  take_unique(open, taken, short_, [](const std::string& name) {
    if (is_layer(name)) return name;
    return with(joined(module_path(name)), last_part(name));
  });
}

const std::string& ShortNames::of(const std::string& name) const {
  const auto found = short_.find(name);
  return found == short_.end() ? name : found->second;
}

}  // namespace fuseflow
