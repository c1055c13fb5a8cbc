// Regions as nodes of a graph, in topological order.
#include "linalg/grouping.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "linalg/live.h"
#include "support/defect.h"
#include "support/dependency_order.h"
#include "support/error.h"

namespace fuseflow {

namespace {

/// A region is called by its last operation.
class Grouping {
 public:
  explicit Grouping(const LinalgFunction& f)
      : f_(f), live_(live_values(f)), maker_(f.values.size(), 0), needs_(f.ops.size()) {}

  std::vector<int> run();

 private:
  void find_regions();
  void connect();
  /// Whether a region needs another one, directly or by others.
  bool needs(size_t region, size_t other) const;
  [[noreturn]] void refuse_circle() const;

  const LinalgFunction& f_;
  std::vector<bool> live_;
  std::vector<size_t> region_;  ///< by operation
  std::vector<size_t> maker_;   ///< by value: its operation
  std::vector<std::vector<size_t>> needs_;
};

void Grouping::find_regions() {
  std::vector<std::string> names;
  std::map<std::string, size_t> last;
  for (size_t o = 0; o < f_.ops.size(); ++o) {
    const LinalgOp& op = f_.ops[o];
    names.push_back(op.region);
    // A view of what a region makes belongs to it.
    if (op.kind == LinalgOp::Kind::reshape || op.kind == LinalgOp::Kind::slice) {
      if (op.region.empty()) names[o] = names[maker_[static_cast<size_t>(op.inputs[0].value)]];
    }
    if (!names[o].empty()) last[names[o]] = o;
    for (const LinalgId id : op.results) maker_[static_cast<size_t>(id)] = o;
  }
  for (size_t o = 0; o < names.size(); ++o)
    region_.push_back(names[o].empty() ? o : last[names[o]]);
}

void Grouping::connect() {
  for (size_t o = 0; o < f_.ops.size(); ++o) {
    for (const LinalgId id : values_read(f_, f_.ops[o], live_)) {
      const size_t from = region_[maker_[static_cast<size_t>(id)]];
      if (from != region_[o]) needs_[region_[o]].push_back(from);
    }
  }
}

bool Grouping::needs(size_t region, size_t other) const {
  std::set<size_t> seen{region};
  std::vector<size_t> stack{region};
  while (!stack.empty()) {
    const size_t at = stack.back();
    stack.pop_back();
    if (at == other) return true;
    for (const size_t from : needs_[at]) {
      if (seen.insert(from).second) stack.push_back(from);
    }
  }
  return false;
}

void Grouping::refuse_circle() const {
  for (size_t o = 0; o < f_.ops.size(); ++o) {
    const LinalgOp& op = f_.ops[o];
    if (op.region.empty()) continue;
    for (const LinalgId id : values_read(f_, op, live_)) {
      const size_t from = region_[maker_[static_cast<size_t>(id)]];
      if (from == region_[o] || !needs(from, region_[o])) continue;
      throw Error(ExitCode::rejected, op.where,
                  fmt::format("{}: region \"{}\" needs %{}, which itself needs a result of the "
                              "region; expected regions of which one can run after the other",
                              op.name, op.region, f_.values[static_cast<size_t>(id)].name));
    }
  }
  throw Defect("operations that need each other");
}

std::vector<int> Grouping::run() {
  find_regions();
  connect();
  const std::vector<size_t> order = dependency_order(needs_);
  if (order.size() < f_.ops.size()) refuse_circle();
  std::vector<int> number(f_.ops.size(), 0);
  for (size_t n = 0; n < order.size(); ++n) number[order[n]] = static_cast<int>(n);
  std::vector<int> result;
  result.reserve(region_.size());
  for (const size_t region : region_) result.push_back(number[region]);
  return result;
}

}  // namespace

std::vector<int> operation_groups(const LinalgFunction& function) {
  return Grouping(function).run();
}

}  // namespace fuseflow
