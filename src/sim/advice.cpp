#include "sim/advice.h"

#include <algorithm>
#include <chrono>

#include "sim/fast_executor.h"

namespace fuseflow {
namespace {

// Tokens that all trials together may simulate: some seconds of work.
constexpr int64_t kMostTokens = int64_t{1} << 27;
// Deeper FIFOs are looked at only as far as the run with unbounded ones needs them.
constexpr int64_t kMostDepth = int64_t{1} << 20;

class Search {
 public:
  Search(const Program& program, const Graph& graph, const TensorData& data, const Machine& machine,
         const RunOptions& options)
      : program_(program), graph_(graph), data_(data), machine_(machine), given_(options) {
    options_.max_memory_bytes = options.max_memory_bytes;
    options_.explain_deadlock = false;
    options_.cancel = &stop_;
    options_.progress = [this](int64_t, int64_t tokens) { look(tokens); };
  }

  DepthAdvice find() {
    if (machine_.fifo_depth == 0) return {};
    const auto [unbounded, deepest] = run(0);
    if (unbounded == Finish::deadlock) return {};
    const bool known = unbounded == Finish::done;
    // Depths as large as the peaks of the unbounded run change none of its times.
    const int64_t most = known ? std::max(deepest, machine_.fifo_depth + 1) : kMostDepth;
    DepthAdvice advice = grow(most);
    if (advice.depth > 0) shrink(advice);
    return advice;
  }

 private:
  struct Trial {
    Finish finish;
    int64_t peak;
  };

  /// From a depth that deadlocks on, to the first of its doubles that ends.
  DepthAdvice grow(int64_t most) {
    DepthAdvice advice{0, machine_.fifo_depth};
    while (advice.tried < most) {
      const int64_t depth = std::min(most, 2 * advice.tried);
      const Finish finish = run(depth).finish;
      if (finish == Finish::done) advice.depth = depth;
      if (finish != Finish::deadlock) return advice;
      advice.tried = depth;
    }
    return advice;
  }

  /// To the least depth that ends, as far as the work allows.
  void shrink(DepthAdvice& advice) {
    while (advice.tried + 1 < advice.depth) {
      const int64_t depth = advice.tried + (advice.depth - advice.tried) / 2;
      const Finish finish = run(depth).finish;
      if (finish == Finish::done) {
        advice.depth = depth;
      } else if (finish == Finish::deadlock) {
        advice.tried = depth;
      } else {
        return;
      }
    }
  }

  Trial run(int64_t depth) {
    if (stop_) return {Finish::cancelled, 0};
    Machine machine = machine_;
    machine.fifo_depth = depth;
    before_ += tokens_;
    tokens_ = 0;
    const RunResult result = run_fast(program_, graph_, data_, machine, options_);
    tokens_ = result.tokens;
    return {result.finish, result.peak_fifo_tokens};
  }

  /// Called now and then by a trial.
  void look(int64_t tokens) {
    tokens_ = tokens;
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - started_;
    const bool cancelled = given_.cancel != nullptr && *given_.cancel;
    const bool late = given_.max_seconds > 0 && elapsed.count() > given_.max_seconds;
    if (cancelled || late || before_ + tokens_ > kMostTokens) stop_ = true;
  }

  const Program& program_;
  const Graph& graph_;
  const TensorData& data_;
  const Machine& machine_;
  const RunOptions& given_;
  RunOptions options_;  // of the trials
  std::atomic<bool> stop_ = false;
  int64_t before_ = 0;  // tokens of the trials that have ended
  int64_t tokens_ = 0;  // of the one that runs
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

}  // namespace

DepthAdvice find_fifo_depth(const Program& program, const Graph& graph, const TensorData& data,
                            const Machine& machine, const RunOptions& options) {
  return Search(program, graph, data, machine, options).find();
}

}  // namespace fuseflow
