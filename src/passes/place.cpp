#include "passes/place.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/names.h"
#include "lower/flops.h"
#include "lower/placements.h"
#include "machine/load.h"
#include "passes/dependences.h"
#include "passes/place_search.h"

namespace fuseflow {

namespace {

/// Of `--auto`: the FLOPs of a region, over those without recomputation, beyond which it stores.
constexpr double kAutoRecompute = 1.5;
/// Of `--auto`: how often its entries an input must be read to be worth a place on chip.
constexpr double kReuse = 1.5;

std::string tensor_text(const Program& program, TensorId tensor) {
  return "%" + quote_if_needed(program.tensors[tensor].name);
}

bool is_given(const Tensor& tensor) {
  return tensor.role == Role::input || tensor.role == Role::constant;
}

struct Request {
  TensorId tensor = -1;
  TensorId consumer = -1;
  Placement placement = Placement::memory;
};

std::string unquoted(std::string text) {
  if (!text.empty() && text.front() == '%') text.erase(0, 1);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
    text = text.substr(1, text.size() - 2);
  return text;
}

TensorId find_or_refuse(const Program& program, const std::string& text) {
  const std::string name = unquoted(text);
  const TensorId tensor = find_tensor(program, name);
  if (tensor >= 0) return tensor;
  std::vector<std::string> known;
  for (const Tensor& t : program.tensors) known.push_back(t.name);
  const std::string near = nearest_name(name, known);
  throw Error(
      ExitCode::rejected,
      fmt::format("no tensor is called {}{}; expected a name as `fuseflow-fuse -v` prints it",
                  quote_if_needed(name),
                  near.empty() ? "" : "; did you mean " + quote_if_needed(near) + "?"));
}

/// What is before the last '=', and the placement behind it.
std::pair<std::string, Placement> split_request(const std::string& text) {
  const size_t equals = text.rfind('=');
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
    const std::string near =
        nearest_name(placement, {"stream", "recompute", "scratchpad", "memory"});
    throw Error(ExitCode::usage,
                fmt::format("unknown placement '{}'{}; expected stream, recompute, "
                            "scratchpad or memory",
                            placement, near.empty() ? "" : ", did you mean '" + near + "'?"));
  }
  return {text.substr(0, equals), *known};
}

/// `t=scratchpad` or `t@consumer=recompute`. Names may hold both signs: the last ones count, unless
/// the whole left side is a tensor.
Request parse_request(const Program& program, const std::string& text) {
  Request request;
  const auto [left, placement] = split_request(text);
  request.placement = placement;
  const size_t at = left.rfind('@');
  if (at == std::string::npos || find_tensor(program, unquoted(left)) >= 0) {
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

  void place(const Request& request) {
    const int definer = d_.definer[request.tensor];
    if (request.consumer >= 0) return place_use(request);
    if (is_given(p_.tensors[request.tensor])) return place_input(request);
    if (definer < 0) {
      refuse(request, "no statement defines it", "a graph's tensors are placed before lowering");
    }
    const size_t region = d_.nodes[definer].region;
    std::vector<size_t> outside;
    bool inside = false;
    for (const int user : d_.nodes[definer].consumers) {
      if (d_.nodes[user].region == region)
        inside = true;
      else
        outside.push_back(d_.nodes[user].region);
    }
    if (!inside && request.placement != Placement::memory) {
      const std::string users =
          outside.empty()
              ? "it is a result and has no use in its region"
              : fmt::format("its uses are in another region (@{})", p_.regions[outside[0]].name);
      refuse(request, users,
             outside.empty() ? "memory, where it is written anyway"
                             : fmt::format("fuse @{} and @{} first, or memory",
                                           p_.regions[region].name, p_.regions[outside[0]].name));
    }
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
      for (const TensorId tensor : on_chip(r)) {
        const double size = estimated_bytes(p_.tensors[tensor]);
        bytes += size;
        parts.push_back(fmt::format("{} {:.0f}", tensor_text(p_, tensor), size));
      }
      if (bytes > static_cast<double>(machine_.scratchpad.bytes)) {
        throw Error(
            ExitCode::rejected,
            fmt::format("region @{} keeps about {:.0f} bytes in the scratchpad ({}), but machine "
                        "{} has {}; expected some of them in memory",
                        p_.regions[r].name, bytes, fmt::join(parts, ", "), machine_.name,
                        machine_.scratchpad.bytes));
      }
    }
  }

  void place_all() {
    PlacementOptions options;
    options.max_recompute = kAutoRecompute;
    options.scratchpad_bytes = machine_.scratchpad.bytes;
    for (size_t r = 0; r < p_.regions.size(); ++r) {
      if (p_.regions[r].statements.empty()) continue;
      p_.regions[r].graph.reset();
      std::erase_if(p_.regions[r].schedule.placements,
                    [&](const UsePlacement& use) { return !is_given(p_.tensors[use.tensor]); });
      PlacementChoice choice = choose_placements(std::move(p_), r, options);
      p_ = std::move(choice.program);
      for (const std::string& note : choice.notes) log_.note(prefix(r) + note);
      improve_placements(p_, r, machine_, log_);
      place_reused_inputs(r);
      make_fit(p_, r, machine_, log_);
    }
    d_ = dependences(p_);
  }

  Program take() { return std::move(p_); }

 private:
  std::string prefix(size_t region) const {
    return fmt::format("@{}: ", quote_if_needed(p_.regions[region].name));
  }

  [[noreturn]] void refuse(const Request& request, const std::string& why,
                           const std::string& instead) const {
    const std::string use = request.consumer < 0 ? "" : " in " + tensor_text(p_, request.consumer);
    throw Error(ExitCode::rejected,
                fmt::format("{}{} cannot have the placement {}: {}; expected {}",
                            tensor_text(p_, request.tensor), use, placement_name(request.placement),
                            why, instead));
  }

  void place_input(const Request& request) {
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

  void place_use(const Request& request) {
    const int consumer = d_.definer[request.consumer];
    if (consumer < 0)
      refuse(request, "no statement defines the consumer", "a tensor that is computed");
    const Dependences::Node& node = d_.nodes[consumer];
    const std::vector<TensorId> used = uses(*node.statement);
    if (std::find(used.begin(), used.end(), request.tensor) == used.end()) {
      std::vector<std::string> names;
      for (const TensorId tensor : used) names.push_back(tensor_text(p_, tensor));
      refuse(request, "that statement does not use it",
             fmt::format("one of the tensors that it uses: {}", fmt::join(names, ", ")));
    }
    const int definer = d_.definer[request.tensor];
    const bool internal = definer >= 0 && d_.nodes[definer].region == node.region;
    if (!internal && request.placement != Placement::memory &&
        request.placement != Placement::scratchpad) {
      refuse(request, "it comes from outside of the region",
             definer < 0 ? "memory or scratchpad"
                         : fmt::format("memory or scratchpad, or to fuse @{} and @{} first",
                                       p_.regions[d_.nodes[definer].region].name,
                                       p_.regions[node.region].name));
    }
    std::vector<UsePlacement>& list = p_.regions[node.region].schedule.placements;
    std::erase_if(list, [&](const UsePlacement& use) {
      return use.tensor == request.tensor && use.consumer == request.consumer;
    });
    list.push_back({request.tensor, request.consumer, request.placement});
    check(node.region, request);
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
  void check(size_t region, const Request& request) {
    p_.regions[region].graph.reset();
    const std::string why = failure(region);
    if (why.empty()) {
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
      if (failure(region).empty()) {
        refuse(request, why, fmt::format("{} (which is legal)", placement_name(other)));
      }
    }
    refuse(request, why, "other placements or another order");
  }

  std::string failure(size_t region) const {
    try {
      lower_region(p_, region);
      return "";
    } catch (const Error& wrong) {
      return wrong.what();
    }
  }

  /// Tensors that the region's graph keeps in the scratchpad.
  std::vector<TensorId> on_chip(size_t region) const {
    const Region& r = p_.regions[region];
    if (r.statements.empty()) return r.graph ? r.graph->scratchpad : std::vector<TensorId>{};
    return lower_region(p_, region).scratchpad;
  }

  /// Inputs that are read more often than once, the most saving ones first, while they fit.
  void place_reused_inputs(size_t region) {
    const Graph graph = lower_region(p_, region);
    const std::vector<double> elements = estimated_elements(p_, graph);
    std::vector<double> reads(p_.tensors.size(), 0);
    for (const Node& node : graph.nodes) {
      if (node.kind == NodeKind::array) reads[node.tensor] += elements[node.outputs[0]];
    }
    double left = static_cast<double>(machine_.scratchpad.bytes);
    for (const TensorId tensor : graph.scratchpad) left -= estimated_bytes(p_.tensors[tensor]);
    std::vector<std::pair<double, TensorId>> wanted;
    for (size_t t = 0; t < p_.tensors.size(); ++t) {
      const Tensor& tensor = p_.tensors[t];
      const bool kept = std::find(graph.scratchpad.begin(), graph.scratchpad.end(),
                                  static_cast<TensorId>(t)) != graph.scratchpad.end();
      const double entries = estimated_entries(tensor);
      if (!is_given(tensor) || kept || reads[t] <= kReuse * entries) continue;
      wanted.emplace_back(reads[t] - entries, static_cast<TensorId>(t));
    }
    std::stable_sort(wanted.begin(), wanted.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [saved, tensor] : wanted) {
      const double bytes = estimated_bytes(p_.tensors[tensor]);
      if (machine_.scratchpad.bytes != 0 && bytes > left) continue;
      left -= bytes;
      std::vector<UsePlacement>& list = p_.regions[region].schedule.placements;
      std::erase_if(list, [t = tensor](const UsePlacement& use) { return use.tensor == t; });
      list.push_back({tensor, -1, Placement::scratchpad});
      log_.note(
          fmt::format("{}{} is read about {:.1f} times and kept in the scratchpad ({:.0f} bytes)",
                      prefix(region), tensor_text(p_, tensor),
                      reads[tensor] / std::max(1.0, estimated_entries(p_.tensors[tensor])), bytes));
    }
  }

  Program p_;
  const Machine& machine_;
  PassLog& log_;
  Dependences d_;
};

Program run_place(const Program& given, const PassArguments& arguments, PassLog& log) {
  const Machine machine =
      load_machine(arguments.get("machine", "ideal"), arguments.all("machine-set"));
  Placer placer(given, machine, log);
  if (arguments.has("auto")) placer.place_all();
  for (const std::string& text : arguments.all("place")) placer.place(parse_request(given, text));
  placer.check_capacity();
  return placer.take();
}

void check_place(const PassArguments& arguments) {
  static_cast<void>(load_machine(arguments.get("machine", "ideal"), arguments.all("machine-set")));
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
           {"machine", "NAME|FILE", "Whose scratchpad it has to fit (default: ideal)"},
           {"machine-set", "KEY=VALUE", "Set a constant of the machine; repeatable", true}},
          run_place,
          check_place};
}

}  // namespace fuseflow
