// The pass `place`: where inputs and intermediates live.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "ir/names.h"
#include "ir/residency.h"
#include "lower/completed_region.h"
#include "lower/lower.h"
#include "lower/placements.h"
#include "passes/by_estimate.h"
#include "passes/choose.h"
#include "passes/complete_schedule.h"
#include "passes/dependences.h"
#include "passes/option_names.h"
#include "passes/pass_list.h"
#include "passes/pass_on_chip.h"
#include "passes/place_auto.h"
#include "support/suggest.h"
#include "support/unless_refused.h"

namespace fuseflow {

namespace {

std::string tensor_text(const Program& program, TensorId tensor) {
  return "%" + quote_if_needed(program.tensors[tensor].name);
}

struct PlaceRequest {
  TensorId tensor = -1;
  TensorId consumer = -1;
  Placement placement = Placement::memory;
};

TensorId find_or_refuse(const Program& program, const std::string& text) {
  const std::string name = name_in_option(text, '%');
  const TensorId tensor = find_tensor(program, name);
  if (tensor >= 0) return tensor;
  std::vector<std::string> known;
  for (const Tensor& t : program.tensors) known.push_back(t.name);
  const std::string near = meant_name(name, known);
  throw Error(
      ExitCode::rejected,
      fmt::format("no tensor is called {}{}; expected a name as `fuseflow-fuse -v` prints it",
                  quote_if_needed(name),
                  near.empty() ? "" : "; did you mean " + quote_if_needed(near) + "?"));
}

/// What is before the last '=', and the placement after it.
std::pair<std::string, Placement> split_request(const std::string& text) {
  const size_t equals = find_last_separator(text, '=');
  if (equals == std::string::npos || equals == 0) {
    throw Error(
        ExitCode::usage,
        fmt::format("--place '{}' is malformed, expected a tensor and a placement, e.g. --place "
                    "t0=scratchpad or --place t0@y=recompute",
                    text));
  }
  const std::string placement = text.substr(equals + 1);
  const auto known = find_placement(placement);
  if (!known) {
    throw Error(ExitCode::usage,
                fmt::format("unknown placement '{}'{}; expected stream, recompute, "
                            "scratchpad or memory",
                            placement,
                            did_you_mean(placement, {"stream", "recompute", "scratchpad", "memory"},
                                         {}, ", did you mean '")));
  }
  return {text.substr(0, equals), *known};
}

/// `t=scratchpad` or `t@consumer=recompute`. Names may hold both signs: the last ones count, unless
/// the whole left side is a tensor.
PlaceRequest parse_place_request(const Program& program, const std::string& text) {
  PlaceRequest request;
  const auto [left, placement] = split_request(text);
  request.placement = placement;
  const size_t at = find_last_separator(left, '@');
  if (at == std::string::npos || find_tensor(program, name_in_option(left, '%')) >= 0) {
    request.tensor = find_or_refuse(program, left);
  } else {
    request.tensor = find_or_refuse(program, left.substr(0, at));
    request.consumer = find_or_refuse(program, left.substr(at + 1));
  }
  return request;
}

class Placer {
 public:
  Placer(Program program, const Machine& machine, PassLog& log)
      : p_(std::move(program)), machine_(machine), log_(log), d_(dependences(p_)) {}

  void place(const PlaceRequest& request) {
    if (request.consumer >= 0) return place_use(request);
    if (p_.tensors[request.tensor].given()) return place_input(request);
    if (d_.definer[request.tensor] < 0) {
      refuse(request, "no statement defines it", "a graph's tensors are placed before lowering");
    }
    complete_region_of(request.tensor);
    const int definer = d_.definer[request.tensor];
    const size_t region = d_.nodes[definer].region;
    std::vector<size_t> outside;
    bool inside = false;
    for (const int user : d_.nodes[definer].consumers) {
      if (d_.nodes[user].region == region)
        inside = true;
      else
        outside.push_back(d_.nodes[user].region);
    }
    if (!outside.empty() && request.placement == Placement::scratchpad)
      return stay(request, region, inside);
    for (const Resident& resident : residents(p_)) {
      if (resident.tensor == request.tensor) return_to_memory(p_, resident);
    }
    if (!inside && request.placement != Placement::memory) {
      const std::string users = outside.empty()
                                    ? p_.tensors[request.tensor].role == Role::temporary
                                          ? "nothing reads it"
                                          : "it is a result and has no use in its region"
                                    : fmt::format("its uses are in another region (@{})",
                                                  quote_if_needed(p_.regions[outside[0]].name));
      refuse(request, users,
             outside.empty() ? "memory, where it is written anyway"
                             : fmt::format("memory or scratchpad, or to fuse @{} and @{} first",
                                           quote_if_needed(p_.regions[region].name),
                                           quote_if_needed(p_.regions[outside[0]].name)));
    }
    if (request.placement == Placement::scratchpad) refuse_written(request, region);
    std::vector<UsePlacement>& list = p_.regions[region].schedule.placements;
    std::erase_if(list, [&](const UsePlacement& use) { return use.tensor == request.tensor; });
    list.push_back({request.tensor, -1, request.placement});
    check(region, request);
  }

  /// Bytes that the region keeps on chip must fit the machine.
  void check_capacity() const {
    if (machine_.scratchpad.bytes == 0) return;
    for (size_t r = 0; r < p_.regions.size(); ++r) {
      double bytes = 0;
      std::vector<std::string> parts;
      const auto add = [&](const Program& program, const std::vector<TensorId>& on_chip) {
        for (const TensorId tensor : on_chip) {
          const double size = estimated_bytes(program.tensors[tensor]);
          bytes += size;
          parts.push_back(fmt::format("{} {:.0f}", tensor_text(program, tensor), size));
        }
      };
      if (!p_.regions[r].statements.empty()) {
        const CompletedRegion lowered(p_, r);  // maybe with copies of tensors
        add(lowered.program(), lowered.graph().scratchpad);
      } else if (p_.regions[r].graph) {
        add(p_, p_.regions[r].graph->scratchpad);
      }
      if (bytes > static_cast<double>(machine_.scratchpad.bytes)) {
        throw Error(
            ExitCode::rejected,
            fmt::format("region @{} keeps about {:.0f} bytes in the scratchpad ({}), but machine "
                        "{} has {}; expected some of them in memory",
                        quote_if_needed(p_.regions[r].name), bytes, fmt::join(parts, ", "),
                        machine_.name, machine_.scratchpad.bytes));
      }
    }
  }

  Program take() { return std::move(p_); }

 private:
  std::string prefix(size_t region) const {
    return fmt::format("@{}: ", quote_if_needed(p_.regions[region].name));
  }

  /// What is written to memory, for its region is not the only one that needs it, is read from
  /// there: a line that says otherwise would have no effect.
  void refuse_written(const PlaceRequest& request, size_t region) const {
    if (stays(p_.tensors[request.tensor]) || is_internal(p_, region, request.tensor)) return;
    if (p_.tensors[request.tensor].role != Role::temporary)
      refuse(request, "it is a result, which is written", "memory, stream or recompute");
    refuse(request, "other regions read it, too",
           fmt::format("memory, stream or recompute, or --place {}=scratchpad for all uses",
                       quote_if_needed(p_.tensors[request.tensor].name)));
  }

  /// From its region to the last one that reads it. `inside`: its own region reads it, too, and
  /// then from the scratchpad, as is asked for all uses.
  void stay(const PlaceRequest& request, size_t region, bool inside) {
    const std::vector<Resident> passed = passed_on(p_);
    const auto found = std::find_if(passed.begin(), passed.end(), [&](const Resident& resident) {
      return resident.tensor == request.tensor;
    });
    if (found == passed.end()) {
      refuse(request, "it is a result, which is written",
             inside ? "memory, stream or recompute" : "memory");
    }
    make_resident(p_, *found);
    if (inside) {
      p_.regions[region].schedule.placements.push_back({request.tensor, -1, request.placement});
      if (const std::string why = failure(region); !why.empty()) refuse(request, why, "memory");
    }
    log_.note(fmt::format("{} stays in the scratchpad from region @{} to @{}",
                          tensor_text(p_, request.tensor),
                          quote_if_needed(p_.regions[found->written].name),
                          quote_if_needed(p_.regions[found->last].name)));
  }

  [[noreturn]] void refuse(const PlaceRequest& request, const std::string& why,
                           const std::string& instead) const {
    const std::string use = request.consumer < 0 ? "" : " in " + tensor_text(p_, request.consumer);
    throw Error(ExitCode::rejected, p_.tensors[request.tensor].where,
                fmt::format("{}{} cannot have the placement {}: {}; expected {}",
                            tensor_text(p_, request.tensor), use, placement_name(request.placement),
                            why, instead));
  }

  void place_input(const PlaceRequest& request) {
    if (request.placement != Placement::memory && request.placement != Placement::scratchpad) {
      refuse(request, "it is not computed", "memory or scratchpad");
    }
    p_.tensors[request.tensor].placement = request.placement;
    for (size_t r = 0; r < p_.regions.size(); ++r) {
      std::erase_if(p_.regions[r].schedule.placements,
                    [&](const UsePlacement& use) { return use.tensor == request.tensor; });
    }
    drop_graphs(request.tensor);
    log_.note(fmt::format("{} is in {}", tensor_text(p_, request.tensor),
                          placement_name(request.placement)));
  }

  void place_use(const PlaceRequest& request) {
    if (d_.definer[request.consumer] < 0)
      refuse(request, "no statement defines the consumer", "a tensor that is computed");
    complete_region_of(request.consumer);
    const int consumer = d_.definer[request.consumer];
    const Dependences::Node& node = d_.nodes[consumer];
    const std::vector<TensorId> used = uses(*node.statement);
    if (std::find(used.begin(), used.end(), request.tensor) == used.end()) {
      std::vector<std::string> names;
      names.reserve(used.size());
      for (const TensorId tensor : used) names.push_back(tensor_text(p_, tensor));
      refuse(request, "that statement does not use it",
             fmt::format("one of the tensors that it uses: {}", fmt::join(names, ", ")));
    }
    if (stays(p_.tensors[request.tensor]) && request.placement != Placement::scratchpad) {
      refuse(request, "it stays in the scratchpad from region to region",
             fmt::format("scratchpad, or --place {}=memory before it",
                         quote_if_needed(p_.tensors[request.tensor].name)));
    }
    const int definer = d_.definer[request.tensor];
    const bool internal = definer >= 0 && d_.nodes[definer].region == node.region;
    if (!internal && request.placement != Placement::memory &&
        request.placement != Placement::scratchpad) {
      refuse(request, "it comes from outside of the region",
             definer < 0 ? "memory or scratchpad"
                         : fmt::format("memory or scratchpad, or to fuse @{} and @{} first",
                                       quote_if_needed(p_.regions[d_.nodes[definer].region].name),
                                       quote_if_needed(p_.regions[node.region].name)));
    }
    if (internal && request.placement == Placement::scratchpad)
      refuse_written(request, node.region);
    std::vector<UsePlacement>& list = p_.regions[node.region].schedule.placements;
    std::erase_if(list, [&](const UsePlacement& use) {
      return use.tensor == request.tensor && use.consumer == request.consumer;
    });
    list.push_back({request.tensor, request.consumer, request.placement});
    check(node.region, request);
  }

  /// What is asked for is asked of the region as lowering would complete it.
  void complete_region_of(TensorId result) {
    complete_schedule(p_, d_.nodes[d_.definer[result]].region, log_);
    d_ = dependences(p_);
  }

  void drop_graphs(TensorId tensor) {
    for (const Dependences::Node& node : d_.nodes) {
      const std::vector<TensorId> used = uses(*node.statement);
      if (std::find(used.begin(), used.end(), tensor) != used.end()) {
        p_.regions[node.region].graph.reset();
      }
    }
  }

  /// The region must be lowered with the placement; else the first other one that works is named.
  void check(size_t region, const PlaceRequest& request) {
    p_.regions[region].graph.reset();
    const std::string at_first = failure(region);
    std::vector<std::string> left_out;
    const std::string why = failure_without_lines(region, at_first, left_out);
    if (why.empty()) {
      if (!left_out.empty()) {
        log_.note(fmt::format("{}`{}` is left out: {}", prefix(region), fmt::join(left_out, "`, `"),
                              at_first));
      }
      log_.note(fmt::format("{}{}{} is placed: {}", prefix(region), tensor_text(p_, request.tensor),
                            request.consumer < 0 ? "" : " in " + tensor_text(p_, request.consumer),
                            placement_name(request.placement)));
      return;
    }
    UsePlacement& use = p_.regions[region].schedule.placements.back();
    for (const Placement other :
         {Placement::stream, Placement::recompute, Placement::scratchpad, Placement::memory}) {
      if (other == request.placement) continue;
      use.placement = other;
      if (failure_without_lines(region, failure(region), left_out).empty()) {
        refuse(request, why, fmt::format("{} (which is legal)", placement_name(other)));
      }
    }
    refuse(request, why, "other placements or another order");
  }

  /// Why the region cannot be lowered, not even without its order and then its copies; empty if it
  /// can, with the names of the lines that are left out. `why`: with all of them.
  std::string failure_without_lines(size_t region, std::string why,
                                    std::vector<std::string>& left_out) {
    Schedule& schedule = p_.regions[region].schedule;
    const std::vector<std::string> order = schedule.order;
    const std::vector<Parallel> parallel = schedule.parallel;
    left_out.clear();
    const auto leave_out = [&](auto& lines, const char* name) {
      if (why.empty() || lines.empty()) return;
      lines.clear();
      left_out.emplace_back(name);
      why = failure(region);
    };
    leave_out(schedule.order, "order");
    leave_out(schedule.parallel, "parallel");
    if (!why.empty()) {
      schedule.order = order;
      schedule.parallel = parallel;
    }
    return why;
  }

  std::string failure(size_t region) const {
    try {
      lower_region(p_, region);
      return "";
    } catch (const Error& wrong) {
      return wrong.what();
    }
  }

  Program p_;
  const Machine& machine_;
  PassLog& log_;
  Dependences d_;
};

Program run_place(const Program& given, const PassArguments& arguments, PassLog& log) {
  const Machine machine = machine_of(arguments);
  Program start = given;
  if (arguments.has("auto")) {
    const std::unique_ptr<CostModel> costs =
        arguments.costs ? arguments.costs(machine) : std::unique_ptr<CostModel>();
    if (costs != nullptr) costs->learn(given);
    Candidate placed = with_chosen_placements(given, machine, costs.get());
    if (costs == nullptr) {
      start = std::move(placed.program);
    } else {
      std::vector<Candidate> candidates{{given, {}}, std::move(placed)};
      if (const std::optional<Program> originals = without_copies_read(given)) {
        std::optional<Candidate> other = unless_refused([&] {  // their blocks may not fit
          return std::optional(with_chosen_placements(*originals, machine, costs.get()));
        });
        if (other) {
          other->log.note("copies of tensors in other formats are not read");
          candidates.push_back(std::move(*other));
        }
      }
      start = choose(std::move(candidates), 1, "placements", *costs, log);
      start = pass_on_and_reuse(std::move(start), machine, *costs, log);
      start = not_slower(std::move(start), given, *costs, log);
    }
  }
  Placer placer(start, machine, log);
  const std::vector<std::string> requests = arguments.all("place");
  for (const std::string& text : requests) placer.place(parse_place_request(start, text));
  // What is chosen was judged by what a region needs, of which this is an estimate from above.
  if (!requests.empty()) placer.check_capacity();
  return placer.take();
}

void check_place(const PassArguments& arguments) {
  static_cast<void>(machine_of(arguments));
  for (const std::string& text : arguments.all("place")) static_cast<void>(split_request(text));
}

}  // namespace

Pass place_pass() {
  return {"place",
          "Choose where inputs and intermediates live",
          {{"place", "T[@CONSUMER]=PLACEMENT",
            "Place all uses of T, or that in CONSUMER: stream, recompute, scratchpad, memory; "
            "repeatable",
            true},
           {"auto", "", "Choose by estimate"},
           {"machine", "NAME|FILE",
            "Machine that the regions must fit: preset or TOML file (default: ideal)"},
           {"machine-set", "KEY=VALUE", "Set a constant of the machine; repeatable", true}},
          run_place,
          check_place};
}

}  // namespace fuseflow
