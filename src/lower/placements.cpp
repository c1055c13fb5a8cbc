#include "lower/placements.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "ir/copies.h"
#include "ir/names.h"
#include "lower/flops.h"
#include "lower/recomputed_work.h"
#include "support/stop.h"
#include "support/text.h"

namespace fuseflow {

namespace {

/// Every level dense, in the order of the dimensions; blocks stay.
Format all_dense(const Format& format) {
  Format dense = dense_format(format.rank());
  dense.block = format.block;
  return dense;
}

class PlacementSearch {
 public:
  PlacementSearch(Program program, size_t region, const PlacementOptions& options)
      : region_(region), options_(options) {
    choice_.program = std::move(program);
    given_ = schedule().placements;
    // The first attempt must not spend long on a program that recomputation would blow up.
    lower_ = options.lower;
    lower_.buffers = false;
    lower_.max_instances = std::min(lower_.max_instances, 64 + 4 * statements().size());
  }

  std::vector<PlacementChoice> run(const std::vector<double>& bounds) {
    LoweredRegion lowered = lower_until_possible();
    FlopsByResult unfused;
    if (has_inlined() && !options_.recompute_always) unfused = unfused_flops();
    for (const auto& [result, flops] : unfused) choice_.unfused_flops += flops;
    std::vector<PlacementChoice> choices;
    for (const double bound : bounds) {
      if (!unfused.empty()) store_until(bound, unfused, lowered);
      choices.push_back(choice_);
      if (unfused.empty()) continue;
      note_recomputed(by_statement(lowered, choice_.program), unfused, choices.back().notes);
    }
    return choices;
  }

 private:
  /// Stores more until the region, which is lowered, takes no more FLOPs than that many times those
  /// of all apart.
  void store_until(double bound, const FlopsByResult& unfused, LoweredRegion& lowered) {
    while (true) {
      const FlopsByResult fused = by_statement(lowered, choice_.program);
      choice_.flops = 0;
      for (const auto& [result, flops] : fused) choice_.flops += flops;
      if (choice_.flops <= bound * choice_.unfused_flops) return;
      if (!store_worst(fused, unfused, bound)) return;
      lowered = lower_until_possible();
    }
  }

  Schedule& schedule() { return choice_.program.regions[region_].schedule; }
  const std::vector<Statement>& statements() const {
    return choice_.program.regions[region_].statements;
  }
  const Tensor& tensor(TensorId id) const { return choice_.program.tensors[id]; }

  bool has_inlined() {
    const Region& region = choice_.program.regions[region_];
    const UseKinds kinds(region.schedule);
    std::set<TensorId> produced;
    for (const Statement& statement : region.statements) {
      for (const Expr& node : statement.nodes) {
        if (node.kind != Expr::Kind::access || produced.count(node.tensor) == 0) continue;
        if (!is_stored(kinds.of(node.tensor, statement.result))) return true;
      }
      produced.insert(statement.result);
    }
    return false;
  }

  LoweredRegion traced(const Program& program) {
    LoweredRegion lowered = lower_region_traced(program, region_, lower_);
    choice_.lowered += static_cast<double>(lowered.graph.nodes.size());
    return lowered;
  }

  LoweredRegion lower_until_possible() {
    while (true) {
      stop_if_asked();
      try {
        return traced(choice_.program);
      } catch (const LoweringConflict& conflict) {
        choice_.lowered += static_cast<double>(statements().size());
        if (conflict.tensor() >= 0 && store(conflict.tensor(), conflict.what())) continue;
        if (++resolutions_ <= kMaxResolutions && resolve_cycle(analysed())) {
          // Where nothing streams, only cycles stand in the way: they are looked for without
          // lowering what comes before the next one.
          while (!has_inlined() && resolutions_ < kMaxResolutions && resolve_cycle(analysed())) {
            ++resolutions_;
          }
          continue;
        }
        if (stored_.empty() || !drop_order(conflict.what())) throw;
      }
    }
  }

  RegionIndices analysed() const {
    return region_indices(choice_.program, region_, lower_.max_instances);
  }

  /// Breaks a cycle of order constraints: by storing an intermediate on it, else by a copy of a
  /// view in another order. Whether there was one, and it is broken.
  bool resolve_cycle(const RegionIndices& indices) {
    const std::vector<OrderEdge> cycle = find_cycle(indices);
    if (cycle.empty()) return false;
    const std::string why = "no order fits " + describe(indices, cycle);
    for (const OrderEdge& edge : cycle) {
      if (edge.instance < 0) continue;
      const auto& roots = indices.roots;
      if (std::find(roots.begin(), roots.end(), edge.instance) != roots.end()) continue;
      const size_t statement = indices.instances[edge.instance].statement;
      if (store(statements()[statement].result, why)) return true;
    }
    std::vector<OrderEdge> views;
    for (const OrderEdge& edge : cycle) {
      if (edge.kind == EdgeKind::storage) views.push_back(edge);
    }
    // A view without which an order exists, and the smallest one.
    const auto cost = [&](const OrderEdge& edge) {
      const bool alone = find_cycle(without_view(indices, edge)).empty();
      return std::pair(!alone, estimated_entries(tensor(edge.tensor)));
    };
    std::stable_sort(views.begin(), views.end(),
                     [&](const OrderEdge& a, const OrderEdge& b) { return cost(a) < cost(b); });
    return std::any_of(views.begin(), views.end(),
                       [&](const OrderEdge& edge) { return copy_view(indices, edge, why); });
  }

  static RegionIndices without_view(const RegionIndices& indices, const OrderEdge& edge) {
    RegionIndices others = indices;
    std::erase_if(others.edges, [&](const OrderEdge& other) {
      return other.instance == edge.instance && other.reason == edge.reason;
    });
    return others;
  }

  /// Gives the accesses of an edge a copy of their tensor whose storage order fits the other
  /// constraints.
  bool copy_view(const RegionIndices& indices, const OrderEdge& edge, const std::string& why) {
    const Instance& instance = indices.instances[edge.instance];
    Statement& statement = choice_.program.regions[region_].statements[instance.statement];
    std::vector<int> rank(indices.indices.size(), 0);
    const std::vector<int> order = nearest_order(without_view(indices, edge));
    for (size_t i = 0; i < order.size(); ++i) rank[order[i]] = static_cast<int>(i);
    TensorId copy = -1;
    for (Expr& node : statement.nodes) {
      if (node.kind != Expr::Kind::access || node.tensor != edge.tensor) continue;
      std::vector<Affine> subscripts;
      for (const Subscript& s : node.subscripts) subscripts.push_back(substitute(s, instance.map));
      const std::string text = access_text(choice_.program, indices, node.tensor, subscripts);
      if ("storage order of " + text != edge.reason) continue;
      if (copy < 0) copy = make_copy(edge.tensor, subscripts, rank);
      node.tensor = copy;
    }
    if (copy < 0) return false;
    if (tensor(copy).source.kind == Source::Kind::none) {
      add_copy_statement(edge.tensor, copy, instance.statement);
    }
    follow_copies(choice_.program, region_);
    choice_.notes.push_back(fmt::format(
        "%{} is a copy of %{} as {}: {}", quote_if_needed(tensor(copy).name),
        quote_if_needed(tensor(edge.tensor).name), to_string(tensor(copy).format), why));
    return true;
  }

  /// A tensor like `id`: with a source of its own in the order that `rank` asks for, else (a
  /// computed one, which could not be written in that order either) dense.
  TensorId make_copy(TensorId id, const std::vector<Affine>& subscripts,
                     const std::vector<int>& rank) {
    const bool has_source = tensor(id).source.kind != Source::Kind::none;
    Format format = tensor(id).format;
    const auto last = [&](int dimension) {
      int latest = -1;
      for (const auto& term : subscripts[dimension].terms) {
        latest = std::max(latest, rank[term.first]);
      }
      return latest;
    };
    std::stable_sort(format.mode_order.begin(), format.mode_order.end(),
                     [&](int a, int b) { return last(a) < last(b); });
    if (!has_source || format.mode_order == tensor(id).format.mode_order) {
      format = all_dense(format);
    }
    if (has_source) return copy_as(choice_.program, id, format, ".order");
    Tensor copy = tensor(id);
    copy.format = std::move(format);
    copy.role = Role::temporary;
    copy.placement = Placement::memory;  // of this region alone, whatever stays of the original
    copy.model_shape.reset();
    const auto taken = [&](const std::string& name) {
      return find_tensor(choice_.program, name) >= 0;
    };
    copy.name = unused_name(copy.name, ".order", 1, taken);
    choice_.program.tensors.push_back(std::move(copy));
    return static_cast<TensorId>(choice_.program.tensors.size()) - 1;
  }

  /// The model's node that a tensor comes from; none for inputs and constants.
  ModelNode made_by(TensorId id) const {
    for (const Region& region : choice_.program.regions) {
      for (const Statement& statement : region.statements) {
        if (statement.result == id) return statement.from;
      }
    }
    return {};
  }

  void add_copy_statement(TensorId from, TensorId to, size_t before) {
    Statement statement;
    statement.result = to;
    statement.from = made_by(from);
    Expr access;
    access.kind = Expr::Kind::access;
    access.tensor = from;
    for (size_t d = 0; d < tensor(to).shape.size(); ++d) {
      const auto index = static_cast<IndexId>(d);
      statement.indices.push_back({"d" + std::to_string(d), tensor(to).shape[d].value});
      statement.result_indices.push_back(index);
      access.subscripts.push_back({{{index, 1}}, 0});
    }
    statement.nodes.push_back(access);
    auto& list = choice_.program.regions[region_].statements;
    list.insert(list.begin() + static_cast<long>(before), statement);
    store(to, "a copy in another order is written before it is read");
  }

  FlopsByResult by_statement(const LoweredRegion& lowered, const Program& program) const {
    const std::vector<double> flops = estimated_flops(program, lowered.graph);
    FlopsByResult found;
    for (const Statement& statement : statements()) found[statement.result] = 0;
    for (size_t n = 0; n < flops.size(); ++n) {
      found[statements()[lowered.statement_of_node[n]].result] += flops[n];
    }
    return found;
  }

  /// Every intermediate through memory; dense where its format would not fit any order.
  FlopsByResult unfused_flops() {
    Program unfused = choice_.program;
    Schedule& schedule = unfused.regions[region_].schedule;
    schedule = {};
    for (const Statement& statement : statements()) {
      schedule.placements.push_back({statement.result, -1, Placement::memory});
    }
    const auto estimate = [&] { return by_statement(traced(unfused), unfused); };
    try {
      return estimate();
    } catch (const LoweringConflict&) {
      for (const Statement& statement : statements()) {
        Format& format = unfused.tensors[statement.result].format;
        format = all_dense(format);
      }
    }
    try {
      return estimate();
    } catch (const LoweringConflict&) {
      return {};  // a conflict within one statement that sharing loops with others hides
    }
  }

  /// Places every use of the tensor that the user has not placed. False if there is none.
  bool store(TensorId id, const std::string& why) {
    const bool given = std::any_of(given_.begin(), given_.end(), [&](const UsePlacement& use) {
      return use.tensor == id && use.consumer < 0;
    });
    if (given || !stored_.insert(id).second) return false;
    const double bytes = estimated_bytes(tensor(id));
    const double left = static_cast<double>(options_.scratchpad_bytes) - used_bytes_;
    const bool stays = tensor(id).placement == Placement::scratchpad;
    const bool fits = stays || options_.scratchpad_bytes == 0 || bytes <= left;
    if (fits) used_bytes_ += bytes;
    auto& list = schedule().placements;
    list.insert(list.begin(), {id, -1, fits ? Placement::scratchpad : Placement::memory});
    choice_.notes.push_back(fmt::format("%{} is kept in {}: {}", quote_if_needed(tensor(id).name),
                                        fits ? "the scratchpad" : "memory", why));
    drop_lost_order();
    return true;
  }

  /// What is stored has other loops than what is computed in those of its uses: an order that names
  /// one that is no more says nothing.
  void drop_lost_order() {
    if (schedule().order.empty()) return;
    const std::vector<std::string> order = std::move(schedule().order);
    schedule().order.clear();
    std::set<std::string> loops;
    try {
      const RegionIndices indices = region_indices(choice_.program, region_, lower_.max_instances);
      for (const RegionIndex& index : indices.indices) loops.insert(index.name);
    } catch (const LoweringConflict&) {  // more has to be stored first
      loops.insert(order.begin(), order.end());
    }
    const auto lost = std::find_if(order.begin(), order.end(),
                                   [&](const std::string& name) { return !loops.contains(name); });
    schedule().order = order;
    if (lost != order.end()) drop_order(fmt::format("there is no loop {} then", *lost));
  }

  /// False if there is none.
  bool drop_order(const std::string& why) {
    std::vector<std::string>& order = schedule().order;
    if (order.empty()) return false;
    choice_.notes.push_back(
        fmt::format("the order {} is left out: {}", fmt::join(order, ", "), why));
    order.clear();
    return true;
  }

  /// Stores the intermediates whose work multiplies most against their consumers': one, those that
  /// multiply far more, and more while what is expected is far beyond the bound. Lowering the
  /// region after each would take the square of the time; near the bound what is expected may be
  /// too much.
  bool store_worst(const FlopsByResult& fused, const FlopsByResult& unfused, double bound) {
    RecomputedWork work(statements(), fused, unfused);
    bool any = false;
    while (const auto worst = work.worst()) {
      const double jump = work.jump(*worst);
      const bool far = work.flops() > kFar * bound * choice_.unfused_flops;
      if (any && !far && jump < kFar) break;
      const bool stored =
          store(statements()[*worst].result,
                fmt::format("recomputing it at every use would take {:.1f} times its FLOPs", jump));
      any = any || stored;
      work.settle(*worst, stored);
    }
    return any;
  }

  void note_recomputed(const FlopsByResult& fused, const FlopsByResult& unfused,
                       std::vector<std::string>& notes) const {
    for (const Statement& s : statements()) {
      const double apart = flops_of(unfused, s.result);
      const double together = flops_of(fused, s.result);
      if (apart <= 0 || together <= 1.05 * apart) continue;
      notes.push_back(fmt::format("%{} is recomputed (about {:.1f} times its FLOPs)",
                                  quote_if_needed(tensor(s.result).name), together / apart));
    }
  }

  static constexpr int kMaxResolutions = 64;
  /// Times: beyond the bound, or more often than what reads it.
  static constexpr double kFar = 8;

  const size_t region_;
  const PlacementOptions& options_;
  int resolutions_ = 0;
  LowerOptions lower_;
  PlacementChoice choice_;
  std::vector<UsePlacement> given_;
  std::set<TensorId> stored_;
  double used_bytes_ = 0;
};

}  // namespace

double estimated_bytes(const Tensor& tensor) {
  const double entries = estimated_entries(tensor);
  const auto element = static_cast<double>(element_bytes(tensor.type));
  double compressed = 0;
  for (const LevelKind level : tensor.format.levels)
    compressed += level == LevelKind::dense ? 0 : 1;
  return entries * (element + 4 * compressed);
}

PlacementChoice choose_placements(Program program, size_t region, const PlacementOptions& options) {
  return std::move(
      choose_placements_for(std::move(program), region, options, {options.max_recompute}).front());
}

std::vector<PlacementChoice> choose_placements_for(Program program, size_t region,
                                                   const PlacementOptions& options,
                                                   const std::vector<double>& bounds) {
  const Location where = program.regions[region].where;
  const std::string name = program.regions[region].name;
  try {
    return PlacementSearch(std::move(program), region, options).run(bounds);
  } catch (const LoweringConflict& conflict) {  // there is nothing left to store or to copy
    throw UnresolvedConflict(where, fmt::format("region @{}: {}", quote_if_needed(name),
                                                conflict.diagnostics()[0].message));
  }
}

}  // namespace fuseflow
