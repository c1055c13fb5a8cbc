// Compares programs by their canonical text, piece by piece: what prints alike is alike.
#include "report/schedule_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ir/names.h"
#include "ir/print.h"

namespace fuseflow {
namespace {

const Region& region_named(const Program& program, const std::string& name) {
  return *std::find_if(program.regions.begin(), program.regions.end(),
                       [&](const Region& region) { return region.name == name; });
}

/// One text a setting of the regions' schedules.
std::vector<std::string> settings(const Program& program, const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const std::string& name : names) {
    const std::vector<std::string> one =
        schedule_lines(program, region_named(program, name).schedule);
    out.insert(out.end(), one.begin(), one.end());
  }
  return out;
}

std::vector<std::string> without(std::vector<std::string> all,
                                 const std::vector<std::string>& known) {
  std::erase_if(all, [&](const std::string& line) {
    return std::find(known.begin(), known.end(), line) != known.end();
  });
  return all;
}

std::string storage(const Tensor& tensor) {
  return fmt::format("{}{}", to_string(tensor.format),
                     tensor.placement == Placement::scratchpad ? " place(scratchpad)" : "");
}

std::map<std::string, std::string> statements(const Program& program) {
  std::map<std::string, std::string> out;
  for (const Region& region : program.regions) {
    for (const Statement& statement : region.statements) {
      out[program.tensors[static_cast<size_t>(statement.result)].name] =
          print_statement(program, statement);
    }
  }
  return out;
}

}  // namespace

std::vector<std::string> schedule_changes(const Program& a, const Program& b,
                                          const std::vector<RegionPair>& pairs) {
  std::vector<std::string> lines;
  for (const RegionPair& pair : pairs) {
    const std::string& name = pair.b.empty() ? pair.a[0] : pair.b[0];
    if (pair.a.size() != pair.b.size()) {
      lines.push_back(fmt::format("{}: {} -> {} regions ({} -> {})", name, pair.a.size(),
                                  pair.b.size(), fmt::join(pair.a, " "), fmt::join(pair.b, " ")));
    }
    const std::vector<std::string> before = settings(a, pair.a);
    const std::vector<std::string> after = settings(b, pair.b);
    for (const std::string& gone : without(before, after))
      lines.push_back(fmt::format("{}: - {}", name, gone));
    for (const std::string& come : without(after, before))
      lines.push_back(fmt::format("{}: + {}", name, come));
  }
  for (const Tensor& tensor : a.tensors) {
    const TensorId other = find_tensor(b, tensor.name);
    if (other < 0) continue;
    const std::string before = storage(tensor);
    const std::string after = storage(b.tensors[static_cast<size_t>(other)]);
    if (before != after) {
      lines.push_back(fmt::format("%{}: {} -> {}", quote_if_needed(tensor.name), before, after));
    }
  }
  return lines;
}

std::vector<std::string> statement_changes(const Program& a, const Program& b) {
  const std::map<std::string, std::string> before = statements(a);
  const std::map<std::string, std::string> after = statements(b);
  std::vector<std::string> lines;
  for (const auto& [name, text] : before) {
    const auto found = after.find(name);
    if (found == after.end()) {
      lines.push_back("- " + text);
    } else if (found->second != text) {
      lines.push_back("- " + text);
      lines.push_back("+ " + found->second);
    }
  }
  for (const auto& [name, text] : after) {
    if (before.count(name) == 0) lines.push_back("+ " + text);
  }
  return lines;
}

}  // namespace fuseflow
