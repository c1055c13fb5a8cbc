#include "sim/report/check_regions.h"

#include <algorithm>

namespace fuseflow {
namespace {

class RegionChecker {
 public:
  RegionChecker(const Program& program, const TensorData& data, const CheckSettings& settings,
                size_t region)
      : program_(program), data_(data), settings_(settings), region_(region) {}

  /// What the region reads of others. False if the whole program's reference has seen the same, or
  /// if something of it was not stored.
  bool find_operands(const std::vector<Stored>& stored) {
    // The reference of a whole rewritten program evaluated other statements.
    const bool rewritten = !program_.reference.statements.empty();
    if (!rewritten && !reads_of_others(program_, region_, stored)) return false;
    operands_.assign(program_.tensors.size(), nullptr);
    for (const Statement& statement : program_.regions[region_].statements) {
      for (const Expr& node : statement.nodes) {
        if (node.kind != Expr::Kind::access) continue;
        const auto t = static_cast<size_t>(node.tensor);
        const bool given = program_.tensors[t].given();
        if (!given && stored[t].region == static_cast<int>(region_)) continue;
        operands_[t] = data_.storage[t];
        if (operands_[t] == nullptr) return false;
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
    ReferenceOptions options = reference_options(settings_, bounds, tensors, on_result);
    options.region = static_cast<int>(region_);
    evaluate(program_, operands_, options);
  }

  const Program& program_;
  const TensorData& data_;
  const CheckSettings& settings_;
  size_t region_;
  std::vector<std::shared_ptr<const Storage>> operands_;  // by TensorId
};

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
  const std::vector<Stored> stored = stored_tensors(program);
  for (size_t r = 0; r < program.regions.size(); ++r) {
    std::vector<TensorId> tensors;
    for (const CheckedTensor& one : checked) {
      const bool here = stored[static_cast<size_t>(one.tensor)].region == static_cast<int>(r);
      if (here && one.passes) tensors.push_back(one.tensor);
    }
    RegionChecker checker(program, data, settings, r);
    if (tensors.empty() || !checker.find_operands(stored)) continue;
    for (CheckedTensor& apart : checker.compare(tensors)) {
      for (CheckedTensor& one : checked) {
        if (one.tensor == apart.tensor) join(one, std::move(apart));
      }
    }
  }
}

}  // namespace fuseflow
