#include "explore/copies.h"

#include <algorithm>
#include <map>
#include <set>

#include "passes/copies.h"
#include "support/error.h"

namespace fuseflow {

namespace {

constexpr double kWorth = 0.97;  ///< of the estimate before: a step that is kept
constexpr double kAlike = 0.66;  ///< of the busiest node: nodes that must speed up with it
constexpr size_t kDepths = 3;    ///< loops around the busiest nodes that are tried, outermost first
constexpr int kSteps = 40;

/// The names of the loops around a node, outermost first.
std::vector<std::string> loops_around(const Graph& graph, const Node& node) {
  const std::vector<int>* deepest = nullptr;
  const auto look = [&](StreamId stream) {
    if (stream < 0) return;
    const std::vector<int>& here = graph.streams[static_cast<size_t>(stream)].indices;
    if (deepest == nullptr || here.size() > deepest->size()) deepest = &here;
  };
  for (const Input& input : node.inputs) look(input.stream);
  for (const StreamId output : node.outputs) look(output);
  std::vector<std::string> names;
  if (deepest == nullptr) return names;
  for (const int i : *deepest) names.push_back(graph.indices[static_cast<size_t>(i)].name);
  return names;
}

class Climb {
 public:
  Climb(const Evaluator& evaluator, const Trial& base, int64_t most)
      : evaluator_(evaluator), most_(most), now_(base) {}

  std::vector<Trial> run() {
    if (!look(now_)) return {};
    for (int step = 0; step < kSteps && advance(); ++step) {
    }
    return std::move(tried_);
  }

 private:
  /// Busy nodes of the longest phase that can still be improved.
  struct View {
    int phase = -1;
    std::vector<std::vector<std::string>> loops;  ///< around each of its busiest nodes
    std::map<std::string, int64_t> extents;
  };

  /// Lowers and estimates; false if refused.
  bool look(Trial& trial) {
    try {
      const Evaluator::Lowered lowered = evaluator_.lower(trial.point);
      const RegionEstimate found = evaluator_.estimate(trial, lowered);
      latest_ = view(*lowered.at().graph, found.busy);
      return true;
    } catch (const Error& error) {
      trial.status = PointStatus::refused;
      trial.note = error.what();
      return false;
    }
  }

  View view(const Graph& graph, const std::vector<double>& busy) const {
    View result;
    double most = 0;
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      if (frozen_.count(graph.nodes[n].phase) > 0 || busy[n] <= most) continue;
      most = busy[n];
      result.phase = graph.nodes[n].phase;
    }
    std::set<std::vector<std::string>> seen;
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      if (graph.nodes[n].phase != result.phase || busy[n] < kAlike * most) continue;
      seen.insert(loops_around(graph, graph.nodes[n]));
    }
    result.loops = {seen.begin(), seen.end()};
    for (const GraphIndex& index : graph.indices) result.extents[index.name] = index.extent;
    return result;
  }

  /// Twice the copies of the loop at `depth` around each busy node; empty if that cannot be.
  std::vector<Parallel> doubled(const View& view, size_t depth) const {
    std::set<std::string> chosen;
    for (const std::vector<std::string>& loops : view.loops) {
      if (depth < loops.size()) chosen.insert(loops[depth]);
    }
    const std::vector<Parallel>& now = now_.point.parallel;
    std::vector<Parallel> factors =
        doubled_copies(now, {chosen.begin(), chosen.end()}, view.extents);
    return within(view, factors) && factors != now ? factors : std::vector<Parallel>{};
  }

  bool within(const View& view, const std::vector<Parallel>& factors) const {
    for (const std::vector<std::string>& loops : view.loops) {
      int64_t product = 1;
      for (const Parallel& p : factors) {
        if (std::find(loops.begin(), loops.end(), p.index) != loops.end()) product *= p.factor;
      }
      if (product > most_) return false;
    }
    return true;
  }

  /// One step, or a phase given up; false when there is nothing left.
  bool advance() {
    const View view = current_ ? *current_ : (current_ = latest_, *current_);
    if (view.phase < 0) return false;
    std::optional<Trial> best;
    View best_view;
    for (size_t depth = 0; depth < kDepths; ++depth) {
      const std::vector<Parallel> factors = doubled(view, depth);
      if (factors.empty()) continue;
      Trial trial;
      trial.point = now_.point;
      trial.point.parallel = factors;
      const bool fits = look(trial);
      tried_.push_back(trial);
      if (!fits || (best && best->estimate <= trial.estimate)) continue;
      best = trial;
      best_view = latest_;
    }
    if (best && best->estimate < kWorth * now_.estimate) {
      now_ = *best;
      current_ = best_view;
      return true;
    }
    frozen_.insert(view.phase);
    Trial again = now_;
    if (!look(again)) return false;
    current_ = latest_;
    return true;
  }

  const Evaluator& evaluator_;
  const int64_t most_;
  Trial now_;
  View latest_;                  ///< of what was looked at last
  std::optional<View> current_;  ///< of now_
  std::set<int> frozen_;
  std::vector<Trial> tried_;
};

}  // namespace

std::vector<Trial> climb_copies(const Evaluator& evaluator, const Trial& base, int64_t most) {
  return most < 2 ? std::vector<Trial>{} : Climb(evaluator, base, most).run();
}

}  // namespace fuseflow
