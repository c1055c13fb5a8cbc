#include "passes/store_search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "ir/names.h"
#include "ir/residency.h"
#include "lower/flops.h"
#include "lower/lower.h"
#include "lower/placements.h"
#include "passes/alike.h"
#include "passes/choose.h"
#include "passes/dependences.h"
#include "passes/near_limit.h"
#include "passes/order_moves.h"
#include "passes/reused_inputs.h"
#include "resources/resources.h"

namespace fuseflow {

namespace {

/// Of the effort: what the orders of one set may take, and pairs.
constexpr double kOrderShare = 0.2;
constexpr double kPairsShare = 0.4;
/// Shares of the effort of sets and orders that are judged by the cost model.
constexpr double kModelShare = 0.2;
constexpr double kModelOrderShare = 0.05;
/// How many times the cycles of the best a set may take before it has an order by the model.
constexpr double kSetNearlyAsGood = 1.05;
/// Cycles and bytes that are as few, and FLOPs that are fewer.
constexpr double kAsFast = 1.001;
constexpr double kLessWork = 0.99;

bool is_use_of_all(const UsePlacement& use) {
  return use.consumer < 0 &&
         (use.placement == Placement::scratchpad || use.placement == Placement::memory);
}

/// Members are in the order of statements, which need not be that of tensors.
bool has(const TensorGroup& group, TensorId tensor) {
  return std::find(group.begin(), group.end(), tensor) != group.end();
}

/// Intermediates with a use in the region whose uses are not placed one by one.
TensorGroup movable(const Region& region) {
  std::set<TensorId> used;
  std::set<TensorId> single;
  for (const Statement& statement : region.statements) {
    for (const Expr& node : statement.nodes) {
      if (node.kind == Expr::Kind::access) used.insert(node.tensor);
    }
  }
  for (const UsePlacement& use : region.schedule.placements) {
    if (!is_use_of_all(use)) single.insert(use.tensor);
  }
  TensorGroup result;
  for (const Statement& statement : region.statements) {
    if (used.contains(statement.result) && !single.contains(statement.result)) {
      result.push_back(statement.result);
    }
  }
  return result;
}

std::string text_of(const Schedule& schedule) {
  std::vector<std::string> parts;
  for (const UsePlacement& use : schedule.placements) {
    parts.push_back(
        fmt::format("{}@{}={}", use.tensor, use.consumer, static_cast<int>(use.placement)));
  }
  std::sort(parts.begin(), parts.end());
  return fmt::format("{}/{}", fmt::join(parts, " "), fmt::join(schedule.order, " "));
}

class Search {
 public:
  Search(const Program& given, size_t region, const Machine& machine, CostModel* model,
         double most_effort)
      : given_(given),
        region_(region),
        machine_(machine),
        model_(model),
        known_(model != nullptr ? model->phases() : own_known_),
        given_effort_(most_effort),
        most_effort_(effort() + most_effort) {
    given_.regions[region].graph.reset();
    levels_ = alike_tensors(given_, at(given_), movable(at(given_)));
    for (const Statement& statement : at(given_).statements) computed_.insert(statement.result);
  }

  StoreSearch run() {
    StoreSearch result{given_, {}, {}, {}};
    const double all = most_effort_;
    const std::optional<State> first = judge(at(given_).schedule, Orders::usual);
    if (!first) return result;
    result.first = first->cost;
    State best = *first;
    if (at(given_).schedule.order.empty()) {
      climb(best, Orders::usual);
      climb(best, Orders::searched);
      most_effort_ = std::min(all, effort() + kPairsShare * given_effort_);
      exchange(best);
      most_effort_ = std::min(all, effort() + kModelShare * given_effort_);
      if (model_ != nullptr) climb(best, Orders::judged);
    }
    result.program = std::move(best.program);
    result.cost = best.cost;
    result.judged = std::move(judged_);
    return result;
  }

 private:
  /// Orders of a candidate: the default, or the best found from there by moves of single indices;
  /// by expected steps, or from these by the model: what takes more steps in all may take fewer in
  /// the slowest node.
  enum class Orders : uint8_t { usual, searched, judged };

  struct State {
    Schedule asked;
    Program program;  ///< the region completed, without a graph
    Cost cost;
    bool as_given = true;  ///< the program, but for the region's schedule
    TensorGroup reused;  ///< what comes from outside and is read again from memory, the most saving
                         ///< first; empty where the scratchpad has no limits
  };

  const Region& at(const Program& program) const { return program.regions[region_]; }
  double effort() const { return model_ != nullptr ? model_->effort() : own_effort_; }
  void spend(double more) {
    if (model_ != nullptr) {
      model_->spend(more);
    } else {
      own_effort_ += more;
    }
  }
  bool has_time() const { return effort() < most_effort_; }

  /// Whether `a` is to replace the best state `b`: better, or with less work in as many cycles (as
  /// the fewest so far, so that many small losses are none), or as good with less stored.
  bool replaces(const State& a, const State& b) {
    if (!std::isfinite(a.cost.cycles)) return false;
    const bool as_fast =
        a.cost.cycles <= kAsFast * least_ && a.cost.dram_bytes <= kAsFast * b.cost.dram_bytes;
    const bool less =
        a.cost.flops < kLessWork * b.cost.flops ||
        (a.cost.flops <= b.cost.flops && a.asked.placements.size() < b.asked.placements.size());
    if (!better(a.cost, b.cost) && !(as_fast && less)) return false;
    least_ = std::min(least_, a.cost.cycles);
    return true;
  }

  /// Sweeps over the groups, level by level, as long as anything improves.
  void climb(State& best, Orders orders) {
    least_ = best.cost.cycles;
    if (orders != Orders::usual) try_move(best.asked, best, orders);
    for (const std::vector<TensorGroup>& groups : levels_) {
      for (bool any = true; any && has_time();) {
        any = sweep(with_inputs(groups, best), best, orders);
        if (orders == Orders::usual) any = slide(groups, best) || any;
      }
      // Two ports may only pay together, where each waits for the other.
      try_move(with_all(best.asked, best.reused), best, orders);
    }
  }

  /// The groups, and each input that is read again, or kept for that, by itself.
  std::vector<TensorGroup> with_inputs(std::vector<TensorGroup> groups, const State& best) const {
    for (const TensorId tensor : best.reused) groups.push_back({tensor});
    for (const UsePlacement& use : best.asked.placements) {
      if (is_kept_input(use)) groups.push_back({use.tensor});
    }
    return groups;
  }

  /// Moves each group once, always one that is nearest to what limits the best state so far. Gives
  /// whether that changed it.
  bool sweep(std::vector<TensorGroup> left, State& best, Orders orders) {
    bool any = false;
    for (TensorId limit = -1; !left.empty() && has_time(); left.erase(left.begin())) {
      if (best.cost.limit != limit) nearest_first(left, at(given_), limit = best.cost.limit);
      const TensorGroup group = left.front();
      any = try_move(without(best.asked, group), best, orders) || any;
      any = try_move(with(best.asked, group), best, orders) || any;
    }
    return any;
  }

  /// Stores what a stored group is made of, or what is made of it, in its place.
  bool slide(const std::vector<TensorGroup>& groups, State& best) {
    bool any = false;
    for (const TensorGroup& from : groups) {
      for (const TensorGroup& to : groups) {
        const std::optional<Schedule> less = without(best.asked, from);
        if (!less || !has_time()) break;
        if (&from == &to || !are_neighbours(from, to)) continue;
        any = try_move(with(*less, to), best, Orders::usual) || any;
      }
    }
    return any;
  }

  /// Whether a statement makes one of a group from one of the other.
  bool are_neighbours(const TensorGroup& a, const TensorGroup& b) const {
    for (const Statement& statement : at(given_).statements) {
      const TensorGroup& others = has(a, statement.result) ? b : a;
      if (!has(a, statement.result) && !has(b, statement.result)) continue;
      for (const TensorId tensor : uses(statement)) {
        if (has(others, tensor)) return true;
      }
    }
    return false;
  }

  /// Pairs of groups moved at once, with orders of their own: one stored instead of another, or two
  /// that only pay together.
  void exchange(State& best) {
    const std::vector<TensorGroup>& groups = levels_.front();
    for (bool any = true; any && has_time();) {
      any = false;
      for (size_t a = 0; a < groups.size(); ++a) {
        for (size_t b = a + 1; b < groups.size() && has_time(); ++b) {
          const Schedule one = toggled(best.asked, groups[a]);
          any = try_move(toggled(one, groups[b]), best, Orders::searched) || any;
        }
      }
    }
  }

  Schedule toggled(const Schedule& from, const TensorGroup& group) const {
    std::optional<Schedule> less = without(from, group);
    return less ? std::move(*less) : *with(from, group);
  }

  bool try_move(const std::optional<Schedule>& asked, State& best, Orders orders) {
    if (!asked || !has_time()) return false;
    std::optional<State> other = judge(*asked, orders);
    if (!other) return false;
    const bool is_better = replaces(*other, best);
    if (is_better) std::swap(best, *other);
    if (other->as_given) spare_ = std::move(other->program);
    return is_better;
  }

  /// A program as given, but for the region's schedule: one that is needed no more, if there is
  /// one.
  Program program_to_try() {
    if (!spare_) return given_;
    Program program = std::move(*spare_);
    spare_.reset();
    return program;
  }

  /// Nothing if none of the group is stored.
  static std::optional<Schedule> without(const Schedule& from, const TensorGroup& group) {
    Schedule result = from;
    result.order.clear();
    const size_t dropped = std::erase_if(result.placements, [&](const UsePlacement& use) {
      return is_use_of_all(use) && has(group, use.tensor);
    });
    return dropped > 0 ? std::optional(std::move(result)) : std::nullopt;
  }

  bool is_input(TensorId tensor) const { return !computed_.contains(tensor); }
  bool is_kept_input(const UsePlacement& use) const {
    return use.consumer < 0 && use.placement == Placement::scratchpad && is_input(use.tensor);
  }
  double bytes_of(TensorId tensor) const {
    return estimated_bytes(given_.tensors[static_cast<size_t>(tensor)]);
  }
  bool has_room(double bytes) const {
    return machine_.scratchpad.bytes == 0 ||
           bytes <= static_cast<double>(machine_.scratchpad.bytes);
  }
  double bytes_on_chip(const Schedule& schedule) const {
    double bytes = 0;
    for (const UsePlacement& use : schedule.placements) {
      if (use.placement == Placement::scratchpad) bytes += bytes_of(use.tensor);
    }
    return bytes;
  }

  /// With those of some inputs kept for which there is room; nothing if there are none.
  std::optional<Schedule> with_all(const Schedule& from, const TensorGroup& inputs) const {
    Schedule result = from;
    result.order.clear();
    double bytes = bytes_on_chip(from);
    for (const TensorId tensor : inputs) {
      if (!has_room(bytes + bytes_of(tensor))) continue;
      bytes += bytes_of(tensor);
      result.placements.push_back({tensor, -1, Placement::scratchpad});
    }
    return result.placements.size() > from.placements.size() ? std::optional(std::move(result))
                                                             : std::nullopt;
  }

  /// Nothing if all of the group is stored. In the scratchpad while there is room, for which inputs
  /// give way; an input is nowhere else.
  std::optional<Schedule> with(const Schedule& from, const TensorGroup& group) const {
    Schedule result = from;
    result.order.clear();
    TensorGroup added;
    double bytes = 0;
    for (const TensorId tensor : group) {
      const auto stores = [&](const UsePlacement& use) { return use.tensor == tensor; };
      if (std::any_of(from.placements.begin(), from.placements.end(), stores)) continue;
      added.push_back(tensor);
      bytes += bytes_of(tensor);
    }
    if (added.empty()) return std::nullopt;
    TensorGroup inputs;
    if (!has_room(bytes + bytes_on_chip(result)) && !is_input(added.front())) {
      std::erase_if(result.placements, [&](const UsePlacement& use) {
        if (!is_kept_input(use)) return false;
        inputs.push_back(use.tensor);
        return true;
      });
    }
    const bool fits = has_room(bytes + bytes_on_chip(result));
    if (!fits && is_input(added.front())) return std::nullopt;
    for (const TensorId tensor : added) {
      const bool on_chip = fits || stays(given_.tensors[static_cast<size_t>(tensor)]);
      result.placements.push_back(
          {tensor, -1, on_chip ? Placement::scratchpad : Placement::memory});
    }
    std::optional<Schedule> with_kept = with_all(result, inputs);
    return with_kept ? std::move(*with_kept) : std::move(result);
  }

  /// What a schedule costs. Nothing if it cannot be lowered, or was judged before.
  std::optional<State> judge(const Schedule& asked, Orders orders) {
    if (!tried_[orders].insert(text_of(asked)).second) return std::nullopt;
    std::optional<State> state = complete(asked);
    if (!state) return std::nullopt;
    if (orders != Orders::usual) reorder(*state);
    if (orders == Orders::judged && is_near(*state)) {
      climb_order(*state, kModelOrderShare, model_);
    }
    return priced(*state) ? std::move(state) : std::nullopt;
  }

  /// Whether a state that is lowered takes hardly more cycles than the best.
  bool is_near(const State& state) {
    const std::optional<Cost> cost = model_->of_region(state.program, region_);
    return cost && cost->cycles <= kSetNearlyAsGood * least_;
  }

  /// Lowers as asked; where that has no order, stores what must be stored.
  std::optional<State> complete(Schedule asked) {
    State state{std::move(asked), program_to_try(), {}, true, {}};
    state.program.regions[region_].schedule = state.asked;
    if (lower(state.program)) return state;
    PlacementOptions options;
    options.recompute_always = true;
    options.scratchpad_bytes = room_beside(state.asked);
    options.lower.known = &known_;
    state.as_given = false;
    try {
      PlacementChoice choice = choose_placements(std::move(state.program), region_, options);
      spend(kFlowEffort * choice.lowered);
      state.program = std::move(choice.program);
    } catch (const Error&) {
      return std::nullopt;
    }
    return lower(state.program) ? std::optional(std::move(state)) : std::nullopt;
  }

  /// Bytes for what is stored beside what was asked for; 0: without limits.
  int64_t room_beside(const Schedule& asked) const {
    if (machine_.scratchpad.bytes == 0) return 0;
    const double taken = bytes_on_chip(asked);
    return std::max<int64_t>(1, machine_.scratchpad.bytes - static_cast<int64_t>(taken));
  }

  /// Gives the region its graph.
  bool lower(Program& program) {
    Region& region = program.regions[region_];
    LowerOptions options;
    options.max_instances = std::min(options.max_instances, 64 + 4 * region.statements.size());
    options.names = false;
    options.known = &known_;
    region.graph.reset();
    try {
      region.graph = lower_region(program, region_, options);
    } catch (const Error&) {
      spend(static_cast<double>(region.statements.size()));
    }
    return region.graph.has_value();
  }

  /// Judges what is lowered, once, and drops its graph.
  bool priced(State& state) {
    Region& region = state.program.regions[region_];
    if (!priced_.insert(text_of(state.asked)).second) return false;
    std::optional<Cost> cost = model_ != nullptr ? model_->of_region(state.program, region_)
                                                 : expected(state.program, *region.graph);
    if (machine_.scratchpad_counts()) find_reused(state);
    region.graph.reset();
    if (!cost) return false;
    state.cost = std::move(*cost);
    judged_.push_back({state.asked, state.cost});
    return true;
  }

  void find_reused(State& state) const {
    const Region& region = at(state.program);
    for (const ReusedInput& input : reused_inputs(state.program, *region.graph, region)) {
      const bool known = static_cast<size_t>(input.tensor) < given_.tensors.size();
      if (known) state.reused.push_back(input.tensor);  // else a copy that lowering made
    }
  }

  std::optional<Cost> expected(const Program& program, const Graph& graph) {
    spend(static_cast<double>(graph.nodes.size()));
    const int64_t room = machine_.scratchpad.bytes;
    if (room > 0 && region_resources(program, graph, machine_).tensor_bytes > room) {
      return std::nullopt;
    }
    const GraphCost cost = estimated_cost(program, graph);
    return Cost{cost.steps, cost.dram_bytes, "", cost.tokens};
  }

  /// Gives a state without an order the one that expected stream lengths favour.
  void reorder(State& state) {
    if (!state.asked.order.empty()) return;
    const auto [known, is_new] = favoured_.try_emplace(text_of(state.asked));
    if (is_new) {
      climb_order(state, kOrderShare, nullptr);
      known->second = state.asked.order;
    } else if (!known->second.empty()) {
      take_order(state, known->second);
    }
  }

  /// `model`: judges; null: expected stream lengths do.
  void climb_order(State& state, double share, CostModel* model) {
    OrderClimb climb(state.program, region_,
                     std::min(most_effort_ - effort(), share * given_effort_), model, known_);
    const std::optional<std::vector<std::string>> found = climb.run();
    spend(climb.nodes());
    if (found) take_order(state, *found);
  }

  void take_order(State& state, const std::vector<std::string>& order) {
    std::optional<Graph> before = std::move(state.program.regions[region_].graph);
    std::vector<std::string>& now = state.program.regions[region_].schedule.order;
    const std::vector<std::string> order_before = std::exchange(now, order);
    if (lower(state.program)) {
      state.asked.order = order;
    } else {
      state.program.regions[region_].schedule.order = order_before;
      state.program.regions[region_].graph = std::move(before);
    }
  }

  Program given_;
  const size_t region_;
  std::set<TensorId> computed_;  ///< by the region
  const Machine& machine_;
  CostModel* model_;
  std::vector<std::vector<TensorGroup>> levels_;  ///< groups that are moved, the coarsest first
  KnownPhases own_known_;                         ///< without a model
  KnownPhases& known_;
  std::optional<Program> spare_;
  double least_ = 0;       ///< cycles of the fastest state so far
  double own_effort_ = 0;  ///< without a model
  const double given_effort_;
  double most_effort_;
  std::map<Orders, std::set<std::string>> tried_;             ///< sets asked for, without orders
  std::set<std::string> priced_;                              ///< sets and orders
  std::map<std::string, std::vector<std::string>> favoured_;  ///< orders of sets, by expected steps
  std::vector<StoreTrial> judged_;
};

struct StoredNames {
  std::vector<std::string> intermediates, inputs;
};

StoredNames stored_names(const Program& program, const Region& region) {
  StoredNames names;
  for (const UsePlacement& use : region.schedule.placements) {
    if (!is_use_of_all(use)) continue;
    const std::string& name = program.tensors[static_cast<size_t>(use.tensor)].name;
    const bool is_result = std::any_of(region.statements.begin(), region.statements.end(),
                                       [&](const Statement& s) { return s.result == use.tensor; });
    (is_result ? names.intermediates : names.inputs).push_back("%" + quote_if_needed(name));
  }
  std::sort(names.intermediates.begin(), names.intermediates.end());
  std::sort(names.inputs.begin(), names.inputs.end());
  return names;
}

std::string instead_of(const Cost& first) {
  return std::isfinite(first.cycles) ? fmt::format(" instead of {:.0f}", first.cycles)
                                     : ", where the default does not fit the machine";
}

}  // namespace

StoreSearch search_stores(const Program& given, size_t region, const Machine& machine,
                          CostModel* costs, double most_effort) {
  return Search(given, region, machine, costs, most_effort).run();
}

bool improve_stores(Program& program, size_t region, const Machine& machine, CostModel* costs,
                    PassLog& log, double most_effort) {
  StoreSearch found = search_stores(program, region, machine, costs, most_effort);
  const Schedule& before = program.regions[region].schedule;
  const Region& now = found.program.regions[region];
  if (found.judged.empty() || text_of(before) == text_of(now.schedule)) return false;
  const std::string name = quote_if_needed(now.name);
  const auto& [stored, inputs] = stored_names(found.program, now);
  if (!movable(now).empty()) {
    log.note(stored.empty()
                 ? fmt::format("@{}: no intermediate is stored", name)
                 : fmt::format("@{}: {} {} stored, all else streams or is computed again", name,
                               fmt::join(stored, ", "), stored.size() == 1 ? "is" : "are"));
  }
  if (!inputs.empty()) {
    log.note(fmt::format("@{}: {} {} in the scratchpad while it runs", name,
                         fmt::join(inputs, ", "), inputs.size() == 1 ? "is" : "are"));
  }
  log.note(fmt::format("@{}: about {:.0f} {}{}; order {}", name, found.cost.cycles,
                       costs != nullptr ? "cycles" : "steps", instead_of(found.first),
                       now.schedule.order.empty()
                           ? "as by default"
                           : fmt::format("{}", fmt::join(now.schedule.order, ", "))));
  program = std::move(found.program);
  return true;
}

}  // namespace fuseflow
