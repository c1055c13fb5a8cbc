#include "ir/residency.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "ir/names.h"
#include "nodes/rule.h"

namespace fuseflow {

namespace {

bool has(const std::vector<TensorId>& list, TensorId tensor) {
  return std::find(list.begin(), list.end(), tensor) != list.end();
}

void add(std::vector<TensorId>& list, TensorId tensor) {
  if (!has(list, tensor)) list.push_back(tensor);
}

constexpr size_t kNone = SIZE_MAX;

/// Reads one tensor and writes another, neither of which is passed on.
bool converts(const Node& node) {
  return stores_result(node.kind) && loads_data(node.kind);
}

/// Of streams or tiles.
bool writes(const Node& node) {
  return stores_result(node.kind) && !converts(node);
}

bool runs_on_cores(const Node& node) {
  return is_tile_node(node.kind) && !converts(node);
}

/// The regions that a tensor passes are to be lowered again.
void drop_graphs(Program& program, const Resident& passed) {
  for (size_t r = passed.written; r <= passed.last; ++r) {
    if (!program.regions[r].statements.empty()) program.regions[r].graph.reset();
  }
}

/// The region that computes each tensor, and the last that reads it; kNone.
struct Lives {
  std::vector<size_t> written, last;

  explicit Lives(const Program& program)
      : written(program.tensors.size(), kNone), last(program.tensors.size(), kNone) {
    for (size_t r = 0; r < program.regions.size(); ++r) note(program.regions[r], r);
  }

 private:
  void note(const Region& region, size_t r) {
    for (const Statement& statement : region.statements) {
      written[static_cast<size_t>(statement.result)] = r;
      for (const Expr& e : statement.nodes) {
        if (e.kind == Expr::Kind::access) last[static_cast<size_t>(e.tensor)] = r;
      }
    }
    if (!region.graph) return;
    for (const Node& node : region.graph->nodes) {
      auto& where = writes(node) ? written : last;
      for_tensors(node, [&](TensorId tensor) { where[static_cast<size_t>(tensor)] = r; });
    }
  }
};

class Check {
 public:
  using Wrong = std::function<void(size_t, std::string)>;

  Check(const Program& program, const Wrong& wrong) : p_(program), wrong_(wrong) {}

  void run() {
    check_declared();
    std::vector<bool> left(p_.tensors.size(), false);  // in the scratchpad, and nowhere else
    for (size_t r = 0; r < p_.regions.size(); ++r) {
      if (p_.regions[r].graph) {
        check_graph(*p_.regions[r].graph, r, left);
      } else {
        for (const Statement& s : p_.regions[r].statements) {
          left[static_cast<size_t>(s.result)] = stays(p_.tensors[static_cast<size_t>(s.result)]);
        }
      }
    }
  }

 private:
  std::string name(TensorId tensor) const {
    return "%" + quote_if_needed(p_.tensors[static_cast<size_t>(tensor)].name);
  }

  void check_declared() const {
    const auto declared = std::find_if(p_.tensors.begin(), p_.tensors.end(), stays);
    if (declared == p_.tensors.end()) return;
    const Lives lives(p_);
    for (size_t t = 0; t < p_.tensors.size(); ++t) {
      const size_t written = lives.written[t];
      if (!stays(p_.tensors[t]) || written == kNone) continue;
      if (lives.last[t] == kNone || lives.last[t] <= written) {
        wrong_(written, fmt::format("{} stays in the scratchpad, but no later region reads it; "
                                    "expected a `place` line in region @{}",
                                    name(static_cast<TensorId>(t)),
                                    quote_if_needed(p_.regions[written].name)));
      }
      for (size_t r = written; r < p_.regions.size() && r <= lives.last[t]; ++r) {
        check_placements(r, static_cast<TensorId>(t));
      }
    }
  }

  void check_placements(size_t r, TensorId tensor) const {
    for (const UsePlacement& use : p_.regions[r].schedule.placements) {
      if (use.tensor != tensor || use.placement == Placement::scratchpad) continue;
      wrong_(r,
             fmt::format("region @{} places {} as {}, but it stays in the scratchpad from region "
                         "to region; expected one of the two",
                         quote_if_needed(p_.regions[r].name), name(tensor),
                         placement_name(use.placement)));
    }
  }

  std::string not_on_cores(size_t r, TensorId tensor) const {
    return fmt::format(
        "region @{} runs on cores, for which {} is in memory, but it is declared to "
        "stay in the scratchpad; expected it without `place(scratchpad)`",
        quote_if_needed(p_.regions[r].name), name(tensor));
  }

  void check_graph(const Graph& graph, size_t r, std::vector<bool>& left) const {
    for (const TensorId tensor : graph.resident) {
      if (left[static_cast<size_t>(tensor)] && has(graph.scratchpad, tensor)) continue;
      wrong_(r, fmt::format("graph of region @{} finds {} in the scratchpad, where {}",
                            quote_if_needed(p_.regions[r].name), name(tensor),
                            left[static_cast<size_t>(tensor)]
                                ? "it does not keep it; expected it in its `scratchpad` line"
                                : "no region before it left it"));
    }
    std::vector<bool> told(left.size(), false);
    for (const Node& node : graph.nodes) {
      for_tensors(node, [&](TensorId tensor) {
        const auto t = static_cast<size_t>(tensor);
        if (stays(p_.tensors[t]) && runs_on_cores(node)) {
          if (!told[t]) wrong_(r, not_on_cores(r, tensor));
          told[t] = true;
        } else if (writes(node)) {
          left[t] = has(graph.scratchpad, tensor);
        } else if (left[t] && !has(graph.scratchpad, tensor) && !told[t]) {
          told[t] = true;
          wrong_(r, fmt::format("graph of region @{} reads {} from memory, but the region that "
                                "wrote it left it in the scratchpad; expected `resident {}`",
                                quote_if_needed(p_.regions[r].name), name(tensor), name(tensor)));
        }
      });
    }
  }

  const Program& p_;
  const Wrong& wrong_;
};

}  // namespace

bool stays(const Tensor& tensor) {
  return tensor.role == Role::temporary && tensor.placement == Placement::scratchpad;
}

std::vector<Resident> passed_on(const Program& program) {
  std::vector<Resident> result;
  const Lives lives(program);
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    if (program.tensors[t].role != Role::temporary) continue;
    if (lives.written[t] == kNone || lives.last[t] == kNone) continue;
    if (lives.last[t] <= lives.written[t]) continue;
    result.push_back({static_cast<TensorId>(t), lives.written[t], lives.last[t]});
  }
  return result;
}

std::vector<Resident> residents(const Program& program) {
  if (std::none_of(program.tensors.begin(), program.tensors.end(), stays)) return {};
  std::vector<Resident> result = passed_on(program);
  std::erase_if(result, [&](const Resident& passed) {
    return !stays(program.tensors[static_cast<size_t>(passed.tensor)]);
  });
  return result;
}

void make_resident(Program& program, const Resident& passed) {
  program.tensors[static_cast<size_t>(passed.tensor)].placement = Placement::scratchpad;
  for (size_t r = passed.written; r <= passed.last; ++r) {
    std::erase_if(program.regions[r].schedule.placements,
                  [&](const UsePlacement& use) { return use.tensor == passed.tensor; });
  }
  drop_graphs(program, passed);
}

void return_to_memory(Program& program, const Resident& passed) {
  program.tensors[static_cast<size_t>(passed.tensor)].placement = Placement::memory;
  drop_graphs(program, passed);
}

void keep_residents(const std::vector<Resident>& residents, size_t region, Graph& graph) {
  for (const Resident& resident : residents) {
    if (region < resident.written || region > resident.last) continue;
    add(graph.scratchpad, resident.tensor);
    if (region > resident.written) add(graph.resident, resident.tensor);
  }
}

void check_residents(const Program& program,
                     const std::function<void(size_t region, std::string message)>& wrong) {
  Check(program, wrong).run();
}

namespace {

std::string returned_text(const std::vector<std::string>& names) {
  if (names.empty()) return "";
  return fmt::format(
      "regions are made anew: what stayed in the scratchpad between them is in memory again ({}); "
      "`fuseflow-place` can leave it there",
      fmt::join(names, ", "));
}

std::string name_in_text(const Program& program, const Resident& passed) {
  return "%" + quote_if_needed(program.tensors[static_cast<size_t>(passed.tensor)].name);
}

}  // namespace

std::string drop_residents(Program& program) {
  std::vector<std::string> names;
  for (const Resident& passed : residents(program)) {
    return_to_memory(program, passed);
    names.push_back(name_in_text(program, passed));
  }
  return returned_text(names);
}

std::string note_returned(const Program& before, const Program& after) {
  std::set<std::string> staying;
  for (const Resident& passed : residents(after)) staying.insert(name_in_text(after, passed));
  std::vector<std::string> names;
  for (const Resident& passed : residents(before)) {
    std::string name = name_in_text(before, passed);
    if (!staying.contains(name)) names.push_back(std::move(name));
  }
  return returned_text(names);
}

}  // namespace fuseflow
