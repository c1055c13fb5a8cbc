#include "passes/orders.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <set>

#include "ir/names.h"
#include "lower/flops.h"
#include "lower/lower.h"
#include "passes/by_estimate.h"
#include "passes/choose.h"
#include "passes/complete_schedule.h"
#include "passes/option_names.h"
#include "passes/order_moves.h"
#include "passes/pass_list.h"
#include "support/suggest.h"
#include "support/unless_refused.h"

namespace fuseflow {

namespace {

/// Most orders that `--auto` lowers for a region.
constexpr size_t kMostTried = 200;

/// An order given as `region=i,j,k`.
struct OrderRequest {
  std::string region;
  std::vector<std::string> indices;
};

OrderRequest parse_order_request(const std::string& text) {
  const size_t equals = find_last_separator(text, '=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    throw Error(
        ExitCode::usage,
        fmt::format("--order '{}' is malformed, expected a region and its indices, outermost "
                    "first, e.g. --order layer1=i,j,k",
                    text));
  }
  OrderRequest request;
  request.region = name_in_option(text.substr(0, equals), '@');
  for (const std::string& part : parts_of_option(text.substr(equals + 1), ',')) {
    request.indices.push_back(name_in_option(part, '%'));
    if (request.indices.back().empty()) {
      throw Error(ExitCode::usage, fmt::format("--order '{}' has an empty index name", text));
    }
  }
  return request;
}

/// Sets the order and makes sure that the region can be lowered with it.
void set_order(Program& program, const OrderRequest& request, PassLog& log) {
  const size_t r = find_regions(program, {request.region})[0];
  complete_schedule(program, r, log);
  Region& region = program.regions[r];
  const RegionIndices before = region_indices(program, r);
  before.find(request.indices);  // names the unknown index and the nearest one
  std::set<std::string> seen;
  for (const std::string& index : request.indices) {
    if (!seen.insert(index).second) {
      throw Error(ExitCode::rejected,
                  fmt::format("order of region @{}: index {} occurs twice, expected "
                              "different indices",
                              quote_if_needed(region.name), index));
    }
  }
  region.schedule.order = request.indices;
  region.graph.reset();
  try {
    const RegionIndices indices = region_indices(program, r);
    const std::vector<int> chosen = chosen_order(indices, region.schedule);
    lower_region(program, r);
    log.note(
        fmt::format("@{}: order {}", quote_if_needed(region.name), order_text(indices, chosen)));
  } catch (const Error& wrong) {
    throw Error(ExitCode::rejected, region.where,
                fmt::format("region @{}: {}", quote_if_needed(region.name),
                            wrong.diagnostics()[0].message));
  }
}

/// A gain must be more than rounding, so that equal orders stay as they are.
bool cheaper(const GraphCost& a, const GraphCost& b) {
  if (a.steps < 0.999 * b.steps) return true;
  return a.steps <= 1.001 * b.steps && a.tokens < 0.99 * b.tokens;
}

/// Looks at all orders where they are few, else climbs from the given order over moves of one
/// index. Expected stream lengths tell the most promising ones, the cost model (where there is one)
/// chooses among these. The order that the region has stays unless another is better.
class OrderSearch {
 public:
  OrderSearch(Program& program, size_t region, CostModel* costs)
      : program_(program), region_(region), model_(costs), given_(program.regions[region]) {}

  void run(PassLog& log) {
    const RegionIndices as_given = region_indices(program_, region_);
    const std::vector<int> first = chosen_order(as_given, given_.schedule);
    const double effort = model_ != nullptr ? model_->effort() : 0;
    if (model_ != nullptr) {
      given_cost_ = model_->of_region(program_, region_);
      given_effort_ = model_->effort() - effort;
    }
    schedule().order.clear();
    program_.regions[region_].graph.reset();
    const RegionOrders orders = region_orders(program_, region_, Constraints::scheduled);
    const RegionIndices& indices = orders.indices;
    try_order(indices, first);
    const std::vector<int> usual = default_order(indices);
    if (usual != first) try_order(indices, usual);
    if (!tried_.empty() && !try_all(orders)) climb(indices);
    size_t best = tried_.empty() ? kGiven : choose(indices);
    if (best == kGiven && !tried_.empty() && is_too_large(given_cost_))
      best = find_fitting(indices);
    report(indices, first, best, log);
    if (best == kGiven) {
      program_.regions[region_] = given_;
      return;
    }
    const std::vector<int>& order = tried_[best].order;
    schedule().order = order == usual ? std::vector<std::string>{} : indices.names(order);
  }

 private:
  struct TriedOrder {
    std::vector<int> order;
    GraphCost cost;
    std::optional<Cost> judged;  ///< by the model
  };
  static constexpr size_t kGiven = SIZE_MAX;  ///< the region as it was

  Schedule& schedule() { return program_.regions[region_].schedule; }

  /// Null if it cannot be lowered: not every legal order can with the placements given.
  const GraphCost* try_order(const RegionIndices& indices, const std::vector<int>& order) {
    ++seen_;
    schedule().order = indices.names(order);
    try {
      const GraphCost cost = estimated_cost(program_, lower_region(program_, region_));
      tried_.push_back({order, cost, {}});
      return &tried_.back().cost;
    } catch (const Error&) {
      return nullptr;
    }
  }

  /// Whether there are so few orders that all have been tried.
  bool try_all(const RegionOrders& orders) {
    std::vector<std::vector<int>> all;
    const bool few = for_each_sort(orders.partial, [&](const std::vector<int>& order) {
      all.push_back(order);
      return all.size() <= kMostTried;
    });
    if (!few || all.size() > kMostTried) return false;
    const size_t before = tried_.size();
    for (const std::vector<int>& order : all) {
      const bool known =
          std::any_of(tried_.begin(), tried_.begin() + static_cast<std::ptrdiff_t>(before),
                      [&](const TriedOrder& tried) { return tried.order == order; });
      if (!known && !why_illegal(orders.indices, order)) try_order(orders.indices, order);
    }
    return true;
  }

  void climb(const RegionIndices& indices) {
    const size_t start = fewest_steps();
    std::vector<int> best = tried_[start].order;
    GraphCost cost = tried_[start].cost;
    while (improve(indices, best, cost)) {
    }
  }

  bool improve(const RegionIndices& indices, std::vector<int>& best, GraphCost& cost) {
    for (size_t from = 0; from < best.size(); ++from) {
      for (size_t to = 0; to < best.size(); ++to) {
        if (from == to || seen_ >= kMostTried) continue;
        std::vector<int> moved = best;
        moved.erase(moved.begin() + static_cast<std::ptrdiff_t>(from));
        moved.insert(moved.begin() + static_cast<std::ptrdiff_t>(to), best[from]);
        if (why_illegal(indices, moved)) continue;
        const GraphCost* other = try_order(indices, moved);
        if (other == nullptr || !cheaper(*other, cost)) continue;
        best = moved;
        cost = *other;
        return true;
      }
    }
    return false;
  }

  /// The best of what was tried, by its position; kGiven unless another is better.
  size_t choose(const RegionIndices& indices) {
    if (model_ != nullptr) return choose_by_model(indices);
    const size_t best = fewest_steps();
    return best == 0 ? kGiven : best;
  }

  /// The best of what was tried by expected steps alone, by its position.
  size_t fewest_steps() const {
    const auto best = std::min_element(
        tried_.begin(), tried_.end(),
        [](const TriedOrder& a, const TriedOrder& b) { return cheaper(a.cost, b.cost); });
    return static_cast<size_t>(best - tried_.begin());
  }

  /// Asks for as many of the most promising orders as there is time for; where each takes long,
  /// only for those that are not far from the best by expected steps.
  size_t choose_by_model(const RegionIndices& indices) {
    std::vector<size_t> promising(tried_.size());
    std::iota(promising.begin(), promising.end(), size_t{0});
    std::stable_sort(promising.begin(), promising.end(), [&](size_t a, size_t b) {
      return tried_[a].cost.steps < tried_[b].cost.steps;
    });
    const double least = tried_[promising[0]].cost.steps;
    double tokens = 0;
    size_t asked = 0;
    size_t best = kGiven;
    std::optional<Cost> best_cost = given_cost_;
    for (const size_t t : promising) {
      tokens += tried_[t].cost.tokens;
      const bool far = asked >= kFewestAsked || tried_[t].cost.steps > kFar * least;
      if (far && tokens > kMostTokens) continue;
      ++asked;
      schedule().order = indices.names(tried_[t].order);
      tried_[t].judged = model_->of_region(program_, region_);
      if (!better(tried_[t].judged, best_cost)) continue;
      best = t;
      best_cost = tried_[t].judged;
    }
    return best;
  }

  static bool is_too_large(const std::optional<Cost>& cost) { return cost && cost->beyond > 0; }

  /// Where the machine has no room for any order that was asked for: those that the least lacks
  /// for, move by move. The position of one that fits; kGiven: none was found.
  size_t find_fitting(const RegionIndices& indices) {
    const size_t starts = std::min<size_t>(tried_.size(), 2);  // the given order and the default
    for (size_t start = 0; start < starts; ++start) {
      schedule().order = indices.names(tried_[start].order);
      const auto found = unless_refused([&] {
        return OrderClimb(program_, region_, kFitEffort * (given_effort_ + kLeastEffort), model_,
                          model_->phases())
            .run();
      });
      if (!found) continue;
      schedule().order = *found;
      TriedOrder fitting{indices.find(*found), {}, model_->of_region(program_, region_)};
      if (!fitting.judged || !std::isfinite(fitting.judged->cycles)) continue;
      tried_.push_back(std::move(fitting));
      return tried_.size() - 1;
    }
    return kGiven;
  }

  void report(const RegionIndices& indices, const std::vector<int>& first, size_t best,
              PassLog& log) const {
    const std::string name = quote_if_needed(given_.name);
    if (best == kGiven) {
      const bool by_user = !given_.schedule.order.empty();
      log.note(fmt::format("@{}: the {} order stays: {}", name, by_user ? "given" : "default",
                           order_text(indices, first)));
      return;
    }
    const TriedOrder& chosen = tried_[best];
    const bool by_model = chosen.judged.has_value();
    log.note(fmt::format(
        "@{}: order {} (about {:.0f} {}; as it was {}; {} orders tried)", name,
        order_text(indices, chosen.order), by_model ? chosen.judged->cycles : chosen.cost.steps,
        by_model ? "cycles" : "steps",
        by_model ? cycles_text(given_cost_) : fmt::format("{:.0f}", tried_[0].cost.steps), seen_));
  }

  static constexpr size_t kFewestAsked = 16;
  /// Of a search for an order that fits: times that of judging one, which is small at least so
  /// much.
  static constexpr double kFitEffort = 400;
  static constexpr double kLeastEffort = 1000;
  static constexpr double kFar = 4;  ///< times the steps of the most promising
  static constexpr double kMostTokens =
      2e7;  ///< of all orders that the model is asked for beyond these

  Program& program_;
  size_t region_;
  CostModel* model_;
  const Region given_;
  std::optional<Cost> given_cost_;
  double given_effort_ = 0;  ///< of the model, for that
  size_t seen_ = 0;
  std::vector<TriedOrder> tried_;  ///< the given order first, then the default
};

void order_all(Candidate& ordered, CostModel* costs) {
  for (size_t r = 0; r < ordered.program.regions.size(); ++r) {
    if (ordered.program.regions[r].statements.empty()) continue;
    OrderSearch(ordered.program, r, costs).run(ordered.log);
  }
}

/// The best orders by the cost model, or by expected stream lengths where there is none. Where a
/// schedule has no legal order, it is completed as lowering would complete it.
Program choose_orders(const Program& given, const PassArguments& arguments, PassLog& log) {
  Candidate completed{given, {}};
  for (size_t r = 0; r < given.regions.size(); ++r) {
    complete_schedule(completed.program, r, completed.log);
  }
  Candidate ordered = completed;
  if (!arguments.costs) {
    order_all(ordered, nullptr);
    for (const std::string& line : ordered.log.lines()) log.note(line);
    return std::move(ordered.program);
  }
  const Machine machine = machine_of(arguments);
  const std::unique_ptr<CostModel> costs = arguments.costs(machine);
  if (!costs->learn(completed.program)) return given;
  order_all(ordered, costs.get());
  const Program as_given = completed.program;
  Program chosen = choose({std::move(completed), std::move(ordered)}, 0, "orders", *costs, log);
  return not_slower(std::move(chosen), as_given, *costs, log);
}

Program run_order(const Program& given, const PassArguments& arguments, PassLog& log) {
  Program program = arguments.has("auto") ? choose_orders(given, arguments, log) : given;
  for (const std::string& text : arguments.all("order")) {
    set_order(program, parse_order_request(text), log);
  }
  return program;
}

void check_order(const PassArguments& arguments) {
  static_cast<void>(machine_of(arguments));
  for (const std::string& text : arguments.all("order"))
    static_cast<void>(parse_order_request(text));
}

/// Not every order that meets the constraints can be lowered with the placements of the schedule.
bool can_lower(const OrderedLowering& lowering, const std::vector<int>& order) {
  return unless_refused([&] {
    static_cast<void>(lowering.lower(order));
    return true;
  });
}

}  // namespace

std::string order_text(const RegionIndices& indices, const std::vector<int>& order) {
  return fmt::format("{}", fmt::join(indices.names(order), ", "));
}

PartialOrder partial_order(const RegionIndices& indices, bool preferences) {
  PartialOrder partial;
  partial.before.resize(indices.indices.size());
  for (const OrderEdge& edge : edges_kept(indices, preferences)) {
    partial.before[edge.after].push_back(edge.before);
  }
  return partial;
}

RegionOrders region_orders(const Program& program, size_t region, Constraints constraints) {
  RegionOrders result{region_indices(program, region), {}};
  RegionIndices& indices = result.indices;
  if (constraints == Constraints::free) {
    std::erase_if(indices.edges, [](const OrderEdge& edge) { return edge.kind == EdgeKind::user; });
  }
  default_order(indices);  // throws if constraints clash
  result.partial = partial_order(indices, constraints == Constraints::concordant);
  return result;
}

void list_orders(const Program& program, size_t region, Constraints constraints, PassLog& log,
                 const std::function<bool(const std::string& line)>& visit) {
  Program completed = program;
  complete_schedule(completed, region, log);
  const RegionOrders orders = region_orders(completed, region, constraints);
  if (orders.indices.indices.empty()) return;  // there is nothing to order
  const OrderedLowering lowering(completed, region, {});
  for_each_sort(orders.partial, [&](const std::vector<int>& order) {
    if (!can_lower(lowering, order)) return true;
    return visit(fmt::format("{}={}", program.regions[region].name,
                             fmt::join(orders.indices.names(order), ",")));
  });
}

std::vector<size_t> find_regions(const Program& program, const std::vector<std::string>& names) {
  std::vector<size_t> found;
  std::vector<std::string> known;
  for (const Region& region : program.regions) known.push_back(region.name);
  if (names.empty()) {
    for (size_t r = 0; r < known.size(); ++r) {
      if (!program.regions[r].statements.empty()) found.push_back(r);
    }
    return found;
  }
  for (const std::string& name : names) {
    const auto at = std::find(known.begin(), known.end(), name);
    if (at == known.end()) {
      const std::string near = meant_name(name, known);
      throw Error(ExitCode::rejected,
                  fmt::format("no region is called {}{}; expected one of {}", quote_if_needed(name),
                              near.empty() ? "" : "; did you mean " + quote_if_needed(near) + "?",
                              fmt::join(known, ", ")));
    }
    found.push_back(static_cast<size_t>(at - known.begin()));
  }
  return found;
}

Pass order_pass() {
  return {"order",
          "Choose, list or count the orders of the loops of each region",
          {{"order", "REGION=I,J,K", "Nest the loops of these indices, outermost first; repeatable",
            true},
           {"auto", "", "Choose by estimate"},
           {"machine", "NAME|FILE", "--auto: preset or TOML file (default: ideal)"},
           {"machine-set", "KEY=VALUE", "Set a constant of the machine; repeatable", true}},
          run_order,
          check_order};
}

}  // namespace fuseflow
