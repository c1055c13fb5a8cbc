#include "passes/region_requests.h"

#include <fmt/format.h>

#include <utility>

#include "ir/names.h"
#include "passes/dependences.h"
#include "passes/option_names.h"
#include "support/suggest.h"

namespace fuseflow {

namespace {

/// `name: s1, s2`: splits at the first colon after the (possibly quoted) name, then at commas.
struct RegionRequest {
  std::string name;
  std::vector<std::string> members;
};

Error malformed(const std::string& text) {
  return Error(ExitCode::usage,
               fmt::format("--region '{}' is malformed, expected a name, a colon and "
                           "values or regions, e.g. --region 'layer1: t0, t1'",
                           text));
}

RegionRequest parse_region_request(const std::string& text) {
  RegionRequest request;
  const size_t colon = find_separator(text, ':');
  if (colon == std::string::npos) throw malformed(text);
  request.name = name_in_option(text.substr(0, colon), '@');
  if (request.name.empty()) throw malformed(text);
  for (const std::string& part : parts_of_option(text.substr(colon + 1), ',')) {
    const bool region = name_in_option(part, '%').starts_with('@');
    const std::string name = name_in_option(part, region ? '@' : '%');
    if (name.empty()) throw malformed(text);
    request.members.push_back(region ? "@" + name : name);
  }
  return request;
}

/// The statements that a member names: the one that defines it, or those of a region.
std::vector<int> find_members(const Program& program, const Dependences& d,
                              const std::string& given) {
  const bool only_region = given.front() == '@';
  const std::string name = given.substr(only_region ? 1 : 0);
  std::vector<int> found;
  std::vector<std::string> known;
  for (size_t s = 0; s < d.nodes.size(); ++s) {
    const std::string& value = program.tensors[d.nodes[s].statement->result].name;
    if (value == name && !only_region) found.push_back(static_cast<int>(s));
    known.push_back(value);
  }
  for (size_t s = 0; found.empty() && s < d.nodes.size(); ++s)
    known.push_back(program.regions[d.nodes[s].region].name);
  if (!found.empty()) return found;
  for (size_t s = 0; s < d.nodes.size(); ++s) {
    if (program.regions[d.nodes[s].region].name == name) found.push_back(static_cast<int>(s));
  }
  if (!found.empty()) return found;
  const std::string near = meant_name(name, known);
  throw Error(
      ExitCode::rejected,
      fmt::format("no statement and no region is called {}{}; expected names as `fuseflow-fuse -v` "
                  "prints them",
                  quote_if_needed(name),
                  near.empty() ? "" : "; did you mean " + quote_if_needed(near) + "?"));
}

}  // namespace

void check_region_request(const std::string& text) {
  static_cast<void>(parse_region_request(text));
}

std::vector<Group> requested_groups(const Program& program, const std::vector<std::string>& texts) {
  const Dependences d = dependences(program);
  std::vector<Group> groups;
  std::vector<int> taken(d.nodes.size(), -1);
  for (const std::string& text : texts) {
    const RegionRequest request = parse_region_request(text);
    Group group{request.name, {}};
    for (const std::string& member : request.members) {
      for (const int s : find_members(program, d, member)) {
        if (taken[s] >= 0 && taken[s] != static_cast<int>(groups.size())) {
          throw Error(
              ExitCode::rejected,
              fmt::format("%{} is named in two regions, @{} and @{}; expected one",
                          quote_if_needed(program.tensors[d.nodes[s].statement->result].name),
                          quote_if_needed(groups[taken[s]].name), quote_if_needed(request.name)));
        }
        if (taken[s] < 0) group.statements.push_back(s);
        taken[s] = static_cast<int>(groups.size());
      }
    }
    groups.push_back(std::move(group));
  }
  for (Group& present : present_groups(program)) {
    std::erase_if(present.statements, [&](int s) { return taken[s] >= 0; });
    if (!present.statements.empty()) groups.push_back(std::move(present));
  }
  return groups;
}

}  // namespace fuseflow
