#include "shrink.h"

#include <algorithm>
#include <functional>

#include "ir/data_facts.h"
#include "lower/placements.h"
#include "lower/region_indices.h"
#include "passes/pass.h"
#include "random_joins.h"
#include "tensor/random.h"

namespace fuseflow::testing {

namespace {

/// Inline sources hold all elements, row-major.
Inputs inputs_of(const Program& program) {
  return load_inputs(program);
}

std::vector<Statement*> statements_of(Program& program) {
  std::vector<Statement*> result;
  for (Region& region : program.regions) {
    for (Statement& statement : region.statements) result.push_back(&statement);
  }
  return result;
}

bool is_used(const Program& program, TensorId tensor) {
  for (const Region& region : program.regions) {
    for (const Statement& statement : region.statements) {
      for (const Expr& node : statement.nodes) {
        if (node.kind == Expr::Kind::access && node.tensor == tensor) return true;
      }
    }
  }
  return false;
}

class Shrinker {
 public:
  Shrinker(Recipe recipe, uint64_t seed) : best_(std::move(recipe)), seed_(seed) {}

  Recipe run() {
    for (int round = 0; round < 6; ++round) {
      const int before = accepted_;
      drop_statements();
      drop_placements();
      simplify_expressions();
      clear_entries();
      shrink_extents();
      if (accepted_ == before) break;
    }
    return std::move(best_);
  }

 private:
  bool fails(const Recipe& recipe) {
    if (++attempts_ > 3000) return false;
    try {
      const CheckResult result = check_recipe(recipe, seed_);
      return !result.failure.empty() && !result.refused;
    } catch (const std::exception&) {
      return false;
    }
  }

  bool attempt(Recipe candidate) {
    if (!fails(candidate)) return false;
    best_ = std::move(candidate);
    ++accepted_;
    return true;
  }

  void drop_statements() {
    for (size_t s = best_.index_classes.size(); s-- > 0;) {
      Recipe candidate = best_;
      size_t at = 0;
      for (size_t r = 0; r < candidate.program.regions.size(); ++r) {
        Region& region = candidate.program.regions[r];
        if (s >= at + region.statements.size()) {
          at += region.statements.size();
          continue;
        }
        const TensorId result = region.statements[s - at].result;
        if (is_used(candidate.program, result)) break;
        std::erase_if(region.schedule.placements,
                      [&](const UsePlacement& use) { return use.tensor == result; });
        region.statements.erase(region.statements.begin() + static_cast<long>(s - at));
        candidate.index_classes.erase(candidate.index_classes.begin() + static_cast<long>(s));
        if (region.statements.empty()) {
          candidate.program.regions.erase(candidate.program.regions.begin() + static_cast<long>(r));
        }
        for (Statement* statement : statements_of(candidate.program)) {
          if (!is_used(candidate.program, statement->result)) {
            candidate.program.tensors[statement->result].role = Role::result;
          }
        }
        candidate.program.tensors[result].role = Role::input;
        candidate.program.tensors[result].source.kind = Source::Kind::inline_values;
        int64_t size = 1;
        for (const int c : candidate.tensor_classes[result]) size *= candidate.extents[c];
        candidate.program.tensors[result].source.values.assign(static_cast<size_t>(size), 0);
        attempt(std::move(candidate));
        break;
      }
    }
  }

  void drop_placements() {
    for (size_t r = 0; r < best_.program.regions.size(); ++r) {
      for (size_t p = best_.program.regions[r].schedule.placements.size(); p-- > 0;) {
        Recipe candidate = best_;
        auto& list = candidate.program.regions[r].schedule.placements;
        list.erase(list.begin() + static_cast<long>(p));
        attempt(std::move(candidate));
      }
    }
  }

  /// An expression becomes one of its children, or 1.
  void simplify_expressions() {
    for (size_t s = 0; s < best_.index_classes.size(); ++s) {
      for (size_t n = statements_of(best_.program)[s]->nodes.size(); n-- > 0;) {
        if (n >= statements_of(best_.program)[s]->nodes.size()) continue;
        const Expr node = statements_of(best_.program)[s]->nodes[n];
        for (const int32_t child : node.children) {
          if (replace(s, n, [&](Statement& statement) { return statement.nodes[child]; })) break;
        }
        if (node.kind != Expr::Kind::constant) {
          replace(s, n, [](Statement&) {
            Expr one;
            one.constant = 1;
            return one;
          });
        }
      }
    }
  }

  bool replace(size_t s, size_t n, const std::function<Expr(Statement&)>& by) {
    Recipe candidate = best_;
    Statement& statement = *statements_of(candidate.program)[s];
    if (n >= statement.nodes.size()) return false;
    statement.nodes[n] = by(statement);
    // A reduction that went away leaves its index unbound.
    const std::vector<int> before = candidate.index_classes[s];
    if (!indices_bound(statement)) return false;
    tidy(statement, candidate.index_classes[s]);
    for (Statement* other : statements_of(candidate.program)) {  // what was proved may not hold now
      candidate.program.tensors[other->result].facts = {};
    }
    return attempt(std::move(candidate));
  }

  static bool indices_bound(const Statement& statement) {
    std::vector<std::vector<IndexId>> scope(statement.nodes.size());
    scope.back() = statement.result_indices;
    std::vector<bool> reached(statement.nodes.size(), false);
    reached.back() = true;
    for (size_t n = statement.nodes.size(); n-- > 0;) {
      if (!reached[n]) continue;
      const Expr& node = statement.nodes[n];
      const auto known = [&](IndexId index) {
        return std::find(scope[n].begin(), scope[n].end(), index) != scope[n].end();
      };
      for (const Subscript& subscript : node.subscripts) {
        for (const auto& term : subscript.terms) {
          if (!known(term.first)) return false;
        }
      }
      if (node.kind == Expr::Kind::coordinate && !known(node.index)) return false;
      for (const int32_t child : node.children) {
        reached[child] = true;
        scope[child] = scope[n];
        scope[child].insert(scope[child].end(), node.over.begin(), node.over.end());
      }
    }
    return true;
  }

  void clear_entries() {
    for (size_t t = 0; t < best_.program.tensors.size(); ++t) {
      const Tensor& tensor = best_.program.tensors[t];
      if (tensor.source.kind == Source::Kind::none ||
          !is_used(best_.program, static_cast<TensorId>(t)))
        continue;
      for (size_t i = 0; i < best_.program.tensors[t].source.values.size(); ++i) {
        Recipe candidate = best_;
        Tensor& changed = candidate.program.tensors[t];
        if (same_value(changed.source.values[i], changed.fill)) continue;
        changed.source.values[i] = changed.fill;
        for (Statement* other : statements_of(candidate.program)) {
          candidate.program.tensors[other->result].facts = {};
        }
        attempt(std::move(candidate));
      }
    }
  }

  void shrink_extents() {
    for (size_t c = 0; c < best_.extents.size(); ++c) {
      while (best_.extents[c] > 1) {
        Recipe candidate = best_;
        --candidate.extents[c];
        resize(candidate, static_cast<int>(c));
        if (!attempt(std::move(candidate))) break;
      }
    }
  }

  static void resize(Recipe& recipe, int c) {
    for (size_t t = 0; t < recipe.program.tensors.size(); ++t) {
      Tensor& tensor = recipe.program.tensors[t];
      std::vector<int64_t> old;
      for (const Extent& extent : tensor.shape) old.push_back(extent.value);
      for (size_t d = 0; d < old.size(); ++d) {
        tensor.shape[d].value = recipe.extents[recipe.tensor_classes[t][d]];
      }
      if (tensor.source.kind == Source::Kind::none) continue;
      std::vector<float> kept;
      for (size_t i = 0; i < tensor.source.values.size(); ++i) {
        size_t rest = i;
        bool inside = true;
        for (size_t d = old.size(); d-- > 0;) {
          inside = inside &&
                   static_cast<int64_t>(rest % static_cast<size_t>(old[d])) < tensor.shape[d].value;
          rest /= static_cast<size_t>(old[d]);
        }
        if (inside) kept.push_back(tensor.source.values[i]);
      }
      tensor.source.values = std::move(kept);
    }
    size_t s = 0;
    for (Statement* statement : statements_of(recipe.program)) {
      for (size_t i = 0; i < statement->indices.size(); ++i) {
        if (recipe.index_classes[s][i] == c) statement->indices[i].extent = recipe.extents[c];
      }
      ++s;
    }
  }

  Recipe best_;
  const uint64_t seed_;
  int accepted_ = 0;
  int attempts_ = 0;
};

/// Drops the region's requests one after another until the region can be lowered.
void relax(Program& program, size_t region) {
  Schedule& schedule = program.regions[region].schedule;
  while (true) {
    try {
      PlacementOptions options;
      options.max_recompute = 1e9;
      program = choose_placements(program, region, options).program;
      return;
    } catch (const Error& error) {
      if (schedule.placements.empty()) {
        report(Severity::note, std::string("not placed: ") + error.what());
        return;
      }
      schedule.placements.pop_back();
    }
  }
}

}  // namespace

namespace {

/// Now and then, blocks for all dimensions that can have them.
void add_blocks(Program& program, uint64_t seed) {
  Random random(seed, 83);
  if (random.uniform() < 0.8) return;
  PassArguments arguments;
  arguments.add("block-all", std::to_string(2 + random.below(2)));
  PassLog log;
  try {
    Program blocked = run_pass(find_pass("block"), program, arguments, log);
    for (size_t r = 0; r < blocked.regions.size(); ++r) lower_region(blocked, r);
    program = std::move(blocked);
  } catch (const Error&) {
    return;
  }
}

/// Now and then, parallel copies of one or two loops.
void add_copies(Program& program, size_t region, uint64_t seed) {
  Random random(seed + region, 84);
  if (random.uniform() < 0.6) return;
  const RegionIndices indices = region_indices(program, region);
  const size_t entries = 1 + random.below(2);
  for (size_t e = 0; e < entries && !indices.indices.empty(); ++e) {
    std::vector<Parallel>& parallel = program.regions[region].schedule.parallel;
    const std::string& name = indices.indices[random.below(indices.indices.size())].name;
    const Parallel entry{name, 2 + static_cast<int64_t>(random.below(4)), random.uniform() < 0.5};
    if (!parallel.empty() && parallel[0].index == name) continue;
    parallel.push_back(entry);
    try {
      lower_region(program, region);
    } catch (const Error&) {
      program.regions[region].schedule.parallel.pop_back();
    }
  }
}

}  // namespace

Program schedule_recipe(const Recipe& recipe, uint64_t seed) {
  Program program = recipe.program;
  Random random(seed, 79);
  for (size_t r = 0; r < program.regions.size(); ++r) {
    relax(program, r);
    if (random.uniform() < 0.5) continue;
    const Program before = program;
    try {
      shuffle_order(program, r, seed);
      lower_region(program, r);
    } catch (const Error&) {
      program = before;
    }
  }
  for (size_t r = 0; r < program.regions.size(); ++r) add_joins(program, r, seed);
  add_blocks(program, seed);
  for (size_t r = 0; r < program.regions.size(); ++r) add_copies(program, r, seed);
  return program;
}

namespace {

bool all_satisfy(const Tensor& tensor, const Value& value) {
  const Facts facts = joined(tensor.facts, {});
  std::vector<int64_t> coords(value.shape.size(), 0);
  for (int64_t e = 0; e < value.elements(); ++e) {
    int64_t rest = e;
    for (size_t d = coords.size(); d-- > 0;) {
      coords[d] = rest % value.shape[d];
      rest /= value.shape[d];
    }
    if (!satisfies(value.at(coords), facts)) return false;
  }
  return true;
}

/// Without written facts of its inputs a program gets those that are found in its data. Names the
/// tensor whose facts are not true of what the reference computes; empty: all are.
std::string find_facts_again(Program& program) {
  for (Tensor& tensor : program.tensors) tensor.facts = {};
  find_data_facts(program);
  const std::vector<Value> values = evaluate(program, inputs_of(program));
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    if (!all_satisfy(program.tensors[t], values[t])) return program.tensors[t].name;
  }
  return "";
}

}  // namespace

CheckResult check_recipe(const Recipe& recipe, uint64_t seed) {
  Program program = schedule_recipe(recipe, seed);
  if (seed % 3 == 0) {
    const std::string wrong = find_facts_again(program);
    if (!wrong.empty()) return {"found facts are not true of %" + wrong, false, 0, 0};
  }
  const Inputs inputs = inputs_of(program);
  CheckOptions options;
  options.threads = 1 << (seed % 4);
  CheckResult result = check_program(program, inputs, options);
  if (!result.failure.empty()) return result;
  options.machine = bounded_machine(seed);
  // Copies wait for each other's turns: how much an element can hold is not bounded by lowering.
  const bool copies = std::any_of(program.regions.begin(), program.regions.end(),
                                  [](const Region& r) { return !r.schedule.parallel.empty(); });
  const bool blocks = std::any_of(program.tensors.begin(), program.tensors.end(),
                                  [](const Tensor& t) { return !t.format.block.empty(); });
  if (copies || blocks) {
    options.machine = Machine{};
    options.machine.fifo_depth = 256;
  }
  result = check_program(program, inputs, options);
  if (!result.failure.empty()) {
    result.failure =
        fmt::format("FIFOs of depth {}: {}", options.machine.fifo_depth, result.failure);
  }
  return result;
}

Recipe shrink(Recipe recipe, uint64_t seed) {
  return Shrinker(std::move(recipe), seed).run();
}

}  // namespace fuseflow::testing
