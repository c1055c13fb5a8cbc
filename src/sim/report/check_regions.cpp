#include "sim/report/check_regions.h"

#include <algorithm>
#include <map>

namespace fuseflow {
namespace {

/// A region alone, with the tensors that its statements name: evaluating it takes time by its own
/// size, not by that of the program.
class Excerpt {
 public:
  Excerpt(const Program& program, size_t region, const std::vector<Stored>& stored) {
    Region& own = alone_.regions.emplace_back();
    own.statements = program.regions[region].statements;
    for (Statement& statement : own.statements) {
      statement.result = take(program, statement.result, stored);
      for (Expr& node : statement.nodes) {
        if (node.kind == Expr::Kind::access) node.tensor = take(program, node.tensor, stored);
      }
    }
    operands_.resize(alone_.tensors.size());
  }

  void give(TensorId tensor, std::shared_ptr<const Storage> storage) {
    operands_[static_cast<size_t>(places_.at(tensor))] = std::move(storage);
  }

  /// `options`: with the tensors of the whole program; wanted ones are of the region.
  void evaluate(ReferenceOptions options) const {
    for (TensorId& tensor : options.wanted) tensor = places_.at(tensor);
    options.on_result = [this, act = std::move(options.on_result)](TensorId tensor,
                                                                   const Value& value) {
      act(names_[static_cast<size_t>(tensor)], value);
    };
    options.stored = stored_;
    fuseflow::evaluate(alone_, operands_, options);
  }

 private:
  TensorId take(const Program& program, TensorId tensor, const std::vector<Stored>& stored) {
    const auto [at, is_new] = places_.emplace(tensor, static_cast<TensorId>(names_.size()));
    if (is_new) {
      names_.push_back(tensor);
      stored_.push_back(stored[static_cast<size_t>(tensor)]);
      alone_.tensors.push_back(program.tensors[static_cast<size_t>(tensor)]);
    }
    return at->second;
  }

  Program alone_;
  std::map<TensorId, TensorId> places_;  // of the program's tensors among those of alone_
  std::vector<TensorId> names_;          // the reverse
  std::vector<Stored> stored_;           // as names_
  std::vector<std::shared_ptr<const Storage>> operands_;  // as names_
};

class RegionChecker {
 public:
  RegionChecker(const Program& program, const TensorData& data, const CheckSettings& settings,
                size_t region, const std::vector<Stored>& stored)
      : program_(program),
        data_(data),
        settings_(settings),
        region_(region),
        excerpt_(program, region, stored) {}

  /// What the region reads of others. False if something of it was not stored.
  bool find_operands(const std::vector<Stored>& stored) {
    for (const Statement& statement : program_.regions[region_].statements) {
      for (const Expr& node : statement.nodes) {
        if (node.kind != Expr::Kind::access) continue;
        const auto t = static_cast<size_t>(node.tensor);
        const bool given = program_.tensors[t].given();
        if (!given && stored[t].region == static_cast<int>(region_)) continue;
        if (data_.storage[t] == nullptr) return false;
        excerpt_.give(node.tensor, data_.storage[t]);
      }
    }
    return true;
  }

  /// Compares these tensors of the region; where one differs, again with the bounds of its
  /// rounding.
  std::vector<CheckedTensor> compare(const std::vector<TensorId>& tensors) const {
    std::vector<CheckedTensor> result;
    std::vector<TensorId> failed;
    evaluate_with(false, tensors, [&](const CheckedTensor& one) {
      result.push_back(one);
      if (!one.passes) failed.push_back(one.tensor);
    });
    if (failed.empty()) return result;
    evaluate_with(true, failed, [&](const CheckedTensor& again) {
      for (CheckedTensor& one : result) {
        if (one.tensor == again.tensor) one = again;
      }
    });
    return result;
  }

 private:
  template <class Act>
  void evaluate_with(bool bounds, const std::vector<TensorId>& tensors, Act&& act) const {
    int64_t undecided = 0;
    const auto on_result = [&](TensorId tensor, const Value& expected) {
      undecided += expected.undecided;
      if (std::find(tensors.begin(), tensors.end(), tensor) == tensors.end()) return;
      CheckedTensor one = compared(
          tensor, value_of(data_.storage[static_cast<size_t>(tensor)]), expected,
          rounds_apart(program_, region_) ? RoundingScope::in_one_region : RoundingScope::not_fixed,
          settings_.tolerance, "the reference on what its region read in the simulation");
      one.undecided = undecided;
      act(one);
    };
    excerpt_.evaluate(reference_options(settings_, bounds, tensors, on_result));
  }

  const Program& program_;
  const TensorData& data_;
  const CheckSettings& settings_;
  size_t region_;
  Excerpt excerpt_;
};

/// By region: what it stores that has passed so far.
std::vector<std::vector<TensorId>> passed_by_region(const Program& program,
                                                    const std::vector<Stored>& stored,
                                                    const std::vector<CheckedTensor>& checked) {
  std::vector<std::vector<TensorId>> passed(program.regions.size());
  for (const CheckedTensor& one : checked) {
    const int region = stored[static_cast<size_t>(one.tensor)].region;
    if (region >= 0 && one.passes) passed[static_cast<size_t>(region)].push_back(one.tensor);
  }
  return passed;
}

/// What is known by both.
void join(CheckedTensor& whole, CheckedTensor region) {
  if (!whole.passes) return;
  const bool says_more = !region.passes || (!whole.decided() && region.decided());
  if (says_more) whole = std::move(region);
}

}  // namespace

bool reads_of_others(const Program& program, size_t region, const std::vector<Stored>& stored) {
  for (const Statement& statement : program.regions[region].statements) {
    for (const Expr& node : statement.nodes) {
      if (node.kind != Expr::Kind::access) continue;
      const auto t = static_cast<size_t>(node.tensor);
      const int from = program.tensors[t].given() ? -1 : stored[t].region;
      if (from >= 0 && from != static_cast<int>(region)) return true;
    }
  }
  return false;
}

bool rounds_apart(const Program& program, size_t region) {
  const auto& graph = program.regions[region].graph;
  return !graph || !graph->tiles;
}

void compare_regions(const Program& program, const TensorData& data, const CheckSettings& settings,
                     std::vector<CheckedTensor>& checked) {
  const std::vector<Stored> stored = stored_for_reference(program);
  const std::vector<std::vector<TensorId>> passed = passed_by_region(program, stored, checked);
  std::vector<CheckedTensor*> by_tensor(program.tensors.size(), nullptr);
  for (CheckedTensor& one : checked) by_tensor[static_cast<size_t>(one.tensor)] = &one;
  // The reference of a whole rewritten program evaluated other statements.
  const bool rewritten = !program.reference.statements.empty();
  for (size_t r = 0; r < program.regions.size(); ++r) {
    const bool seen = !rewritten && !reads_of_others(program, r, stored);
    if (passed[r].empty() || seen) continue;
    RegionChecker checker(program, data, settings, r, stored);
    if (!checker.find_operands(stored)) continue;
    for (CheckedTensor& apart : checker.compare(passed[r])) {
      join(*by_tensor[static_cast<size_t>(apart.tensor)], std::move(apart));
    }
  }
}

}  // namespace fuseflow
