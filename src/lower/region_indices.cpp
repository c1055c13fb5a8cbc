#include "lower/region_indices.h"

#include <fmt/format.h>

#include <set>

#include "ir/names.h"
#include "ir/slice.h"
#include "lower/expression.h"
#include "support/suggest.h"

namespace fuseflow {

std::vector<int64_t> RegionIndices::extents() const {
  std::vector<int64_t> result;
  for (const RegionIndex& index : indices) result.push_back(index.extent);
  return result;
}

std::vector<std::string> RegionIndices::names(const std::vector<int>& positions) const {
  std::vector<std::string> result;
  result.reserve(positions.size());
  for (const int at : positions) result.push_back(indices[at].name);
  return result;
}

std::vector<int> RegionIndices::find(const std::vector<std::string>& names) const {
  std::vector<std::string> known;
  for (const RegionIndex& index : indices) known.push_back(index.name);
  std::vector<int> result;
  for (const std::string& name : names) {
    const auto place = std::find(known.begin(), known.end(), name);
    if (place == known.end()) {
      throw Error(ExitCode::rejected,
                  fmt::format("the region has no index '{}', its indices are {}{}", name,
                              fmt::join(known, ", "), did_you_mean(name, known)));
    }
    const int position = static_cast<int>(place - known.begin());
    if (std::find(result.begin(), result.end(), position) != result.end()) {
      throw Error(ExitCode::rejected, fmt::format("index '{}' occurs twice in the order", name));
    }
    result.push_back(position);
  }
  return result;
}

UseKinds::UseKinds(const Schedule& schedule) {
  for (const UsePlacement& use : schedule.placements) {
    const auto kind = static_cast<UseKind>(static_cast<int>(use.placement) + 1);
    const std::pair key(use.tensor, std::max(use.consumer, TensorId{-1}));
    if (use.consumer < 0)
      kinds_.insert_or_assign(key, kind);
    else
      kinds_.emplace(key, kind);
  }
}

UseKind UseKinds::of(TensorId tensor, TensorId consumer) const {
  auto found = kinds_.find({tensor, consumer});
  if (found == kinds_.end()) found = kinds_.find({tensor, TensorId{-1}});
  return found == kinds_.end() ? UseKind::automatic : found->second;
}

std::string access_text(const Program& program, const RegionIndices& indices, TensorId tensor,
                        const std::vector<Affine>& subscripts) {
  std::vector<std::string> parts;
  for (const Affine& affine : subscripts) {
    std::string text;
    for (const auto& [index, factor] : affine.terms) {
      const std::string& name = indices.indices[index].name;
      if (!text.empty()) text += factor < 0 ? " - " : " + ";
      if (text.empty() && factor < 0) text = "-";
      const int64_t size = factor < 0 ? -factor : factor;
      text += size == 1 ? name : fmt::format("{}*{}", size, name);
    }
    if (text.empty()) {
      text = std::to_string(affine.offset);
    } else if (affine.offset != 0) {
      text += fmt::format(" {} {}", affine.offset < 0 ? '-' : '+', std::abs(affine.offset));
    }
    parts.push_back(text);
  }
  return fmt::format("%{}[{}]", quote_if_needed(program.tensors[tensor].name),
                     fmt::join(parts, ", "));
}

namespace {

/// Names of indices, each given once: the wanted one, else the first of it with a number from 2 on
/// that is free. Of one wanted by many, those that are taken are not tried again.
class IndexNames {
 public:
  std::string unused(const std::string& wanted) {
    int& number = next_.try_emplace(wanted, 1).first->second;
    while (true) {
      std::string name = number == 1 ? wanted : wanted + std::to_string(number);
      ++number;
      if (taken_.insert(name).second) return name;
    }
  }

 private:
  std::set<std::string> taken_;
  std::map<std::string, int> next_;  ///< by the wanted name: the number to try; 1: none
};

/// Indices in the order in which they are named.
std::vector<int> order_of_naming(const std::vector<RegionIndex>& indices) {
  std::vector<int> order(indices.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    const RegionIndex& x = indices[static_cast<size_t>(a)];
    const RegionIndex& y = indices[static_cast<size_t>(b)];
    return std::pair(!x.of_root, x.statement) < std::pair(!y.of_root, y.statement);
  });
  return order;
}

/// Which accesses make instances share loops.
enum class Sharing : uint8_t { all, intermediates, none };

/// Makes the instances of one region, phase by phase, consumers first, so that every instance of a
/// statement is known when its producers are asked for.
class InstanceBuilder {
 public:
  InstanceBuilder(const Program& program, size_t region, const RegionPhases& phases, size_t limit,
                  Sharing sharing)
      : program_(program),
        region_(program.regions[region]),
        phases_(phases),
        kinds_(region_.schedule),
        limit_(limit),
        sharing_(sharing) {}

  RegionIndices run() {
    for (int phase = 0; phase < phases_.count; ++phase) run_phase(phase);
    finish();
    return std::move(result_);
  }

 private:
  struct WantedInstance {
    std::vector<Affine> map;  // of the result indices, by dimension
    int instance = -1;
  };

  void run_phase(int phase) {
    wanted_.assign(region_.statements.size(), {});
    seen_.clear();
    for (size_t s = region_.statements.size(); s-- > 0;) {
      if (phases_.is_root[s] && phases_.phase[s] == phase) make_root(s, phase);
      for (size_t w = 0; w < wanted_[s].size(); ++w) {
        if (wanted_[s][w].instance < 0) make_instance(s, phase, w);
      }
    }
    for (const auto& [instance, node, statement, want] : requests_) {
      result_.instances[instance].producers[node] = wanted_[statement][want].instance;
    }
    requests_.clear();
  }

  /// A root takes over an instance that covers the whole result, else it opens its own loops.
  void make_root(size_t s, int phase) {
    const Statement& statement = region_.statements[s];
    size_t place = wanted_[s].size();
    for (size_t w = 0; w < wanted_[s].size() && place == wanted_[s].size(); ++w) {
      if (sharing_ != Sharing::none && covers(statement, wanted_[s][w].map)) place = w;
    }
    if (place == wanted_[s].size()) {
      std::vector<Affine> map(statement.indices.size());
      std::vector<bool> known(statement.indices.size(), false);
      std::vector<IndexId> all = statement.result_indices;
      share_or_open(statement, s, true, all, map, known);
      WantedInstance want;
      for (const IndexId index : statement.result_indices) want.map.push_back(map[index]);
      wanted_[s].push_back(want);
    }
    if (wanted_[s][place].instance < 0) make_instance(s, phase, place);
    roots_.emplace_back(s, wanted_[s][place].instance);
  }

  bool covers(const Statement& statement, const std::vector<Affine>& map) const {
    std::set<int> seen;
    for (size_t d = 0; d < map.size(); ++d) {
      if (!map[d].is_plain() || !seen.insert(map[d].plain()).second) return false;
      const int64_t extent = statement.indices[statement.result_indices[d]].extent;
      if (extents_[map[d].plain()] != extent) return false;
    }
    return true;
  }

  void make_instance(size_t s, int phase, size_t want) {
    const Statement& statement = region_.statements[s];
    Instance instance;
    instance.statement = s;
    instance.phase = phase;
    instance.map.resize(statement.indices.size());
    instance.producers.assign(statement.nodes.size(), -1);
    std::vector<bool> known(statement.indices.size(), false);
    for (size_t d = 0; d < statement.result_indices.size(); ++d) {
      instance.map[statement.result_indices[d]] = wanted_[s][want].map[d];
      known[statement.result_indices[d]] = true;
    }
    std::vector<IndexId> fresh;
    for (size_t i = 0; i < statement.indices.size(); ++i) {
      if (!known[i]) fresh.push_back(static_cast<IndexId>(i));
    }
    share_or_open(statement, s, false, fresh, instance.map, known);
    const int position = static_cast<int>(result_.instances.size());
    wanted_[s][want].instance = position;
    result_.instances.push_back(std::move(instance));
    if (result_.instances.size() > limit_) {
      throw too_many_instances(program_, region_, phases_.is_root, made(), limit_);
    }
    request_producers(position);
  }

  /// Gives each index of `fresh` a region index: one under which some access of the statement is an
  /// access that exists already (so that both share their loops), else a new one.
  void share_or_open(const Statement& statement, size_t s, bool of_root,
                     const std::vector<IndexId>& fresh, std::vector<Affine>& map,
                     std::vector<bool>& known) {
    for (const Expr& node : statement.nodes) {
      if (node.kind != Expr::Kind::access || sharing_ == Sharing::none) continue;
      if (sharing_ == Sharing::intermediates && phases_.producer[node.tensor] < 0) continue;
      share(statement, node, fresh, map, known);
    }
    for (const IndexId index : fresh) {
      if (known[index]) continue;
      map[index] = Affine::of_index(open(statement, s, index, of_root));
      known[index] = true;
    }
  }

  int open(const Statement& statement, size_t s, IndexId index, bool of_root) {
    const int64_t extent = statement.indices[static_cast<size_t>(index)].extent;
    opened_.push_back({"", extent, s, index, of_root});
    extents_.push_back(extent);
    return static_cast<int>(opened_.size()) - 1;
  }

  void share(const Statement& statement, const Expr& node, const std::vector<IndexId>& fresh,
             std::vector<Affine>& map, std::vector<bool>& known) {
    const auto place = seen_.find(node.tensor);
    if (place == seen_.end()) return;
    for (const std::vector<Affine>& seen : place->second) {
      if (matches(statement, node, seen, fresh, map, known)) return;
    }
  }

  /// True if the access becomes `seen` by mapping its unknown indices (which it then does).
  bool matches(const Statement& statement, const Expr& node, const std::vector<Affine>& seen,
               const std::vector<IndexId>& fresh, std::vector<Affine>& map,
               std::vector<bool>& known) {
    for (size_t d = 0; d < seen.size(); ++d) {  // (most differ here)
      const Subscript& subscript = node.subscripts[d];
      const bool is_known = subscript.is_plain() && known[subscript.plain()];
      if (is_known && map[subscript.plain()] != seen[d]) return false;
    }
    std::vector<Affine> trial = map;
    std::vector<bool> bound = known;
    bool any = false;
    for (size_t d = 0; d < seen.size(); ++d) {
      const Subscript& subscript = node.subscripts[d];
      if (!subscript.is_plain() || bound[subscript.plain()]) continue;
      const IndexId index = subscript.plain();
      const bool is_fresh = std::find(fresh.begin(), fresh.end(), index) != fresh.end();
      if (!is_fresh || !seen[d].is_plain()) return false;
      const int target = seen[d].plain();
      if (extents_[target] != statement.indices[index].extent) return false;
      for (size_t i = 0; i < trial.size(); ++i) {
        if (bound[i] && trial[i].contains(target)) return false;
      }
      trial[index] = seen[d];
      bound[index] = true;
      any = true;
    }
    if (!any) return false;
    for (size_t d = 0; d < seen.size(); ++d) {
      for (const auto& term : node.subscripts[d].terms) {
        if (!bound[term.first]) return false;
      }
      if (substitute(node.subscripts[d], trial) != seen[d]) return false;
    }
    map = std::move(trial);
    known = std::move(bound);
    return true;
  }

  void request_producers(int position) {
    const size_t s = result_.instances[position].statement;
    const Statement& statement = region_.statements[s];
    for (size_t n = 0; n < statement.nodes.size(); ++n) {
      const Expr& node = statement.nodes[n];
      if (node.kind != Expr::Kind::access) continue;
      std::vector<Affine> subscripts;
      for (const Subscript& subscript : node.subscripts) {
        subscripts.push_back(substitute(subscript, result_.instances[position].map));
      }
      auto& seen = seen_[node.tensor];
      if (std::find(seen.begin(), seen.end(), subscripts) == seen.end()) seen.push_back(subscripts);
      const int producer = phases_.producer[node.tensor];
      if (producer < 0 || is_stored(kinds_.of(node.tensor, statement.result))) continue;
      check_inside(node, subscripts);
      requests_.push_back({position, n, static_cast<size_t>(producer), want(producer, subscripts)});
    }
  }

  size_t want(int producer, const std::vector<Affine>& map) {
    auto& list = wanted_[producer];
    for (size_t w = 0; w < list.size(); ++w) {
      if (list[w].map == map) return w;
    }
    list.push_back({map, -1});
    return list.size() - 1;
  }

  void check_inside(const Expr& node, const std::vector<Affine>& subscripts) const {
    const Tensor& tensor = program_.tensors[node.tensor];
    for (size_t d = 0; d < subscripts.size(); ++d) {
      const auto [low, high] = range_of(subscripts[d], extents_);
      if (low >= 0 && high < std::max<int64_t>(tensor.shape[d].value, 1)) continue;
      throw reads_outside(program_, node.tensor, static_cast<int>(d), made());
    }
  }

  std::vector<size_t> made() const {
    std::vector<size_t> statements;
    for (const Instance& instance : result_.instances) statements.push_back(instance.statement);
    return statements;
  }

  /// Producers before consumers, indices in their final order and with their names.
  void finish() {
    result_.made = made();
    order_instances();
    rename_indices();
  }

  void order_instances() {
    const size_t count = result_.instances.size();
    std::vector<int> order(count);
    for (size_t i = 0; i < count; ++i) order[i] = static_cast<int>(i);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      const Instance& x = result_.instances[a];
      const Instance& y = result_.instances[b];
      return std::pair(x.phase, x.statement) < std::pair(y.phase, y.statement);
    });
    std::vector<int> position(count);
    std::vector<Instance> sorted;
    for (size_t i = 0; i < count; ++i) {
      position[order[i]] = static_cast<int>(i);
      sorted.push_back(std::move(result_.instances[order[i]]));
    }
    for (Instance& instance : sorted) {
      for (int& producer : instance.producers) {
        if (producer >= 0) producer = position[producer];
      }
    }
    result_.instances = std::move(sorted);
    std::sort(roots_.begin(), roots_.end());
    for (const auto& root : roots_) result_.roots.push_back(position[root.second]);
  }

  void rename_indices() {
    const std::vector<int> order = order_of_naming(opened_);
    std::vector<int> position(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      position[order[i]] = static_cast<int>(i);
      result_.indices.push_back(opened_[order[i]]);
    }
    name_indices(region_, result_.indices);
    for (Instance& instance : result_.instances) {
      for (Affine& affine : instance.map) {
        for (auto& term : affine.terms) term.first = position[term.first];
        std::sort(affine.terms.begin(), affine.terms.end());
      }
    }
  }

  struct Request {
    int instance;
    size_t node;
    size_t statement;
    size_t want;
  };

  const Program& program_;
  const Region& region_;
  const RegionPhases& phases_;
  const UseKinds kinds_;
  const size_t limit_;
  const Sharing sharing_;
  std::vector<std::vector<WantedInstance>> wanted_;            // by statement, of this phase
  std::map<TensorId, std::vector<std::vector<Affine>>> seen_;  // accesses of this phase
  std::vector<Request> requests_;
  std::vector<RegionIndex> opened_;
  std::vector<int64_t> extents_;
  std::vector<std::pair<size_t, int>> roots_;
  RegionIndices result_;
};

/// The edges of the partial order graph.
class EdgeBuilder {
 public:
  EdgeBuilder(const Program& program, size_t region, RegionIndices& result)
      : program_(program),
        region_(program.regions[region]),
        kinds_(region_.schedule),
        result_(result) {}

  /// The edges of how tensors are stored.
  void add_stored() {
    for (size_t i = 0; i < result_.instances.size(); ++i) access_edges(static_cast<int>(i));
    for (const int root : result_.roots) result_edges(root);
  }

  /// After them all others, but those of the schedule's order. Gives the expressions, which decide
  /// some.
  Expressions add_others() {
    Expressions expressions = build_expressions(program_, region_, result_);
    for (const OrderEdge& edge : mask_preferences(program_, expressions)) add(edge);
    for (size_t i = 0; i < result_.instances.size(); ++i) {
      stream_edges(static_cast<int>(i), expressions);
    }
    dense_edges();
    return expressions;
  }

 private:
  void add(OrderEdge edge) {
    if (edge.before != edge.after) result_.edges.push_back(std::move(edge));
  }

  void prefer(int before, int after, TensorId tensor, int instance) {
    dense_.push_back({before, after, EdgeKind::preference, "", tensor, instance, -1});
  }

  /// Constraints of the levels of a tensor on the indices in `subscripts`; dense ones only prefer.
  void level_edges(TensorId tensor, const std::vector<Affine>& subscripts, int instance) {
    const Format& format = program_.tensors[tensor].format;
    std::string reason;
    for (size_t level = 1; level < format.levels.size(); ++level) {
      const Affine& inner = subscripts[format.mode_order[level]];
      if (inner.terms.size() != 1 || bound_above(format, subscripts, level)) continue;
      const bool required = format.levels[level] != LevelKind::dense && inner.is_shift();
      if (required && reason.empty()) {
        reason = "storage order of " + access_text(program_, result_, tensor, subscripts);
      }
      const int after = inner.terms[0].first;
      for (size_t above = 0; above < level; ++above) {
        for (const auto& term : subscripts[format.mode_order[above]].terms) {
          if (required) {
            add({term.first, after, EdgeKind::storage, reason, tensor, instance, -1});
          } else {
            prefer(term.first, after, tensor, instance);
          }
        }
      }
    }
  }

  /// True if the index of the level's subscript occurs at an outer level: the level is looked up
  /// then.
  static bool bound_above(const Format& format, const std::vector<Affine>& subscripts,
                          size_t level) {
    const int index = subscripts[format.mode_order[level]].terms[0].first;
    for (size_t above = 0; above < level; ++above) {
      if (subscripts[format.mode_order[above]].contains(index)) return true;
    }
    return false;
  }

  void access_edges(int position) {
    const Instance& instance = result_.instances[position];
    const Statement& statement = region_.statements[instance.statement];
    for (size_t n = 0; n < statement.nodes.size(); ++n) {
      const Expr& node = statement.nodes[n];
      if (node.kind != Expr::Kind::access || instance.producers[n] >= 0) continue;
      std::vector<Affine> subscripts;
      for (const Subscript& subscript : node.subscripts) {
        subscripts.push_back(substitute(subscript, instance.map));
      }
      level_edges(node.tensor, subscripts, position);
    }
  }

  void result_edges(int position) {
    const Instance& instance = result_.instances[position];
    const Statement& statement = region_.statements[instance.statement];
    const Format& format = program_.tensors[statement.result].format;
    std::vector<Affine> subscripts;
    for (const IndexId index : statement.result_indices) subscripts.push_back(instance.map[index]);
    int last = -1;
    for (size_t level = 0; level < format.levels.size(); ++level) {
      if (format.levels[level] != LevelKind::dense) last = static_cast<int>(level);
    }
    std::string reason;
    if (last >= 0) {
      reason = "storage order of the result " +
               access_text(program_, result_, statement.result, subscripts);
    }
    for (int level = 1; level < format.rank(); ++level) {
      for (int above = 0; above < level; ++above) {
        const int before = subscripts[format.mode_order[above]].plain();
        const int after = subscripts[format.mode_order[level]].plain();
        if (above <= last) {
          add({before, after, EdgeKind::result, reason, statement.result, position, -1});
        } else {
          prefer(before, after, statement.result, position);
        }
      }
    }
  }

  /// The consumer's other indices in scope at a use stay inside the producer's.
  void stream_edges(int position, const Expressions& expressions) {
    const Instance& instance = result_.instances[position];
    const Statement& statement = region_.statements[instance.statement];
    for (size_t n = 0; n < statement.nodes.size(); ++n) {
      const int producer = instance.producers[n];
      if (producer < 0) continue;
      const TensorId tensor = statement.nodes[n].tensor;
      const UseKind kind = kinds_.of(tensor, statement.result);
      const ExprNode& value = expressions.nodes[expressions.of_instance[producer]];
      const bool required = kind == UseKind::stream;
      if (!required && (kind == UseKind::recompute || !value.has_reduce)) continue;
      const std::vector<int>& own = value.free;
      ++group_;
      std::string reason;
      if (required) {
        reason =
            fmt::format("streaming %{} into %{}", quote_if_needed(program_.tensors[tensor].name),
                        quote_if_needed(program_.tensors[statement.result].name));
      }
      for (const int foreign : scope(statement, instance, static_cast<int32_t>(n))) {
        if (std::binary_search(own.begin(), own.end(), foreign)) continue;
        for (const int index : own) {
          add({index, foreign, required ? EdgeKind::stream : EdgeKind::preference, reason, tensor,
               position, group_});
        }
      }
    }
  }

  /// Region indices of the loops around a node: the result's, and those of reductions above it.
  std::vector<int> scope(const Statement& statement, const Instance& instance, int32_t node) const {
    std::set<int> indices;
    auto insert = [&](IndexId index) {
      for (const auto& term : instance.map[index].terms) indices.insert(term.first);
    };
    for (const IndexId index : statement.result_indices) insert(index);
    std::set<int32_t> above{node};
    for (size_t n = static_cast<size_t>(node) + 1; n < statement.nodes.size(); ++n) {
      const Expr& expr = statement.nodes[n];
      const bool over = std::any_of(expr.children.begin(), expr.children.end(),
                                    [&](int32_t child) { return above.count(child) != 0; });
      if (!over) continue;
      above.insert(static_cast<int32_t>(n));
      for (const IndexId index : expr.over) insert(index);
    }
    return {indices.begin(), indices.end()};
  }

  void dense_edges() {
    for (OrderEdge& edge : dense_) {
      edge.group = ++group_;
      add(std::move(edge));
    }
  }

  const Program& program_;
  const Region& region_;
  const UseKinds kinds_;
  RegionIndices& result_;
  std::vector<OrderEdge> dense_;
  int group_ = 1 << 20;  // above the groups of mask_preferences
};

}  // namespace

InstanceConflict too_many_instances(const Program& program, const Region& region,
                                    const std::vector<bool>& is_root, std::vector<size_t> made,
                                    size_t limit) {
  std::vector<int> count(region.statements.size(), 0);
  for (const size_t statement : made) ++count[statement];
  size_t worst = 0;
  for (size_t s = 0; s < count.size(); ++s) {
    if (count[s] > 1 && !is_root[s]) worst = s;
  }
  const TensorId tensor = region.statements[worst].result;
  std::string message = fmt::format(
      "inlining every use makes more than {} instances; '{}' is the last statement that would be "
      "evaluated more than once: store it (scratchpad or memory)",
      limit, program.tensors[static_cast<size_t>(tensor)].name);
  return {tensor, std::move(message), std::move(made), -1};
}

InstanceConflict reads_outside(const Program& program, TensorId tensor, int dimension,
                               std::vector<size_t> made) {
  const std::string& name = program.tensors[static_cast<size_t>(tensor)].name;
  std::string message = fmt::format(
      "'{}' is read outside of its extent in dimension {}, which needs it stored (place %{} = "
      "scratchpad or memory)",
      name, dimension, name);
  return {tensor, std::move(message), std::move(made), dimension};
}

void name_indices(const Region& region, std::vector<RegionIndex>& indices) {
  IndexNames names;
  for (const int i : order_of_naming(indices)) {
    RegionIndex& index = indices[static_cast<size_t>(i)];
    const Statement& statement = region.statements[index.statement];
    index.name = names.unused(statement.indices[static_cast<size_t>(index.index)].name);
  }
}

RegionPhases region_phases(const Program& program, size_t region) {
  const std::vector<Statement>& statements = program.regions[region].statements;
  const UseKinds kinds(program.regions[region].schedule);
  RegionPhases result;
  result.producer.assign(program.tensors.size(), -1);
  for (size_t s = 0; s < statements.size(); ++s) {
    result.producer[statements[s].result] = static_cast<int>(s);
  }
  result.phase.assign(statements.size(), 0);
  result.is_root.assign(statements.size(), false);
  std::vector<bool> used(statements.size(), false);
  for (size_t s = 0; s < statements.size(); ++s) {
    const Statement& statement = statements[s];
    result.is_root[s] = program.tensors[statement.result].role != Role::temporary ||
                        is_read_later(program, region, statement.result);
    int& phase = result.phase[s];
    for (const Expr& node : statement.nodes) {
      if (node.kind != Expr::Kind::access || result.producer[node.tensor] < 0) continue;
      const auto producer = static_cast<size_t>(result.producer[node.tensor]);
      used[producer] = true;
      const bool stored = is_stored(kinds.of(node.tensor, statement.result));
      if (stored) result.is_root[producer] = true;
      phase = std::max(phase, result.phase[producer] + (stored ? 1 : 0));
    }
    result.count = std::max(result.count, phase + 1);
  }
  for (size_t s = 0; s < statements.size(); ++s) {
    result.is_root[s] = result.is_root[s] || !used[s];
  }
  return result;
}

namespace {

/// Nothing where no order meets what storage and uses require.
std::optional<AnalysedRegion> analysed_sharing(const Program& program, size_t region,
                                               const RegionPhases& phases, size_t max_instances,
                                               Sharing sharing) {
  AnalysedRegion analysed;
  analysed.indices = InstanceBuilder(program, region, phases, max_instances, sharing).run();
  EdgeBuilder builder(program, region, analysed.indices);
  builder.add_stored();
  const bool last = sharing == Sharing::none;
  if (!last && !find_cycle(analysed.indices).empty()) return std::nullopt;
  analysed.expressions = builder.add_others();
  if (!last && !find_cycle(analysed.indices).empty()) return std::nullopt;
  return analysed;
}

}  // namespace

/// Loops are shared as far as that leaves an order. Which loops there are does not depend on the
/// order that the schedule gives: its names are those of the loops as they are shared then.
AnalysedRegion analysed_region(const Program& program, size_t region, size_t max_instances) {
  const RegionPhases phases = region_phases(program, region);
  std::optional<AnalysedRegion> analysed;
  for (const Sharing sharing : {Sharing::all, Sharing::intermediates, Sharing::none}) {
    analysed = analysed_sharing(program, region, phases, max_instances, sharing);
    if (analysed) break;
  }
  RegionIndices& result = analysed->indices;
  const std::vector<int> order = result.find(program.regions[region].schedule.order);
  std::vector<OrderEdge> edges;
  for (size_t i = 1; i < order.size(); ++i) {
    edges.push_back(
        {order[i - 1], order[i], EdgeKind::user, "the order that the schedule gives", -1, -1, -1});
  }
  result.edges.insert(result.edges.begin(), edges.begin(), edges.end());
  return std::move(*analysed);
}

std::optional<AnalysedRegion> analysed_phase(const Program& program, const RegionPhases& phases,
                                             size_t max_instances) {
  return analysed_sharing(program, 0, phases, max_instances, Sharing::all);
}

RegionIndices region_indices(const Program& program, size_t region, size_t max_instances) {
  return analysed_region(program, region, max_instances).indices;
}

}  // namespace fuseflow
