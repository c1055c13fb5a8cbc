// Engine: locate. A look-up in a compressed level is a binary search, a step a probe.
#include <algorithm>
#include <numeric>
#include <optional>

#include "sim/common/level_view.h"
#include "sim/functional/kernels/make_node.h"
#include "sim/functional/payload_loops.h"
#include "sim/functional/run_length.h"
#include "sim/functional/token_node.h"
#include "sim/memory/level_reader.h"

namespace fuseflow::engine {
namespace {

class LocateNode final : public TokenNode {
 public:
  LocateNode(const Context& context, NodeId id)
      : TokenNode(context, id),
        level_(context.program, node_.tensor, node_.level, context.storage(node_.tensor)) {
    if (timed_memory() && level_.kind() != LevelKind::dense) {
      memory_wants_batches() ? ask_in_own_steps(2) : make_sides({1, 1});
      reader_.emplace(*context.addresses, node_.tensor, node_.level,
                      context.storage(node_.tensor)->levels[node_.level]);
    } else if (searches()) {  // a token waits for the steps of its search
      for (Lane* lane : {&in_lane(0), &out_lane(0)}) lane->always_listed = true;
      in_lane(0).heads = true;
    }
  }

  bool takes_run_length(size_t) const override { return plain() && !row_gates.any(); }

 protected:
  bool looks_up(const std::vector<Batch>& inputs, uint32_t k) override {
    return level_.in_range(subscript(inputs, k));
  }
  Payload make_payload(const std::vector<Batch>& inputs, uint32_t n) override {
    if (!plain()) return TokenNode::make_payload(inputs, n);
    if (inputs[0].payload.run_length != nullptr && inputs[1].payload.run_length != nullptr) {
      if (auto runs = find_runs(inputs)) return {nullptr, nullptr, std::move(runs)};
    }
    return TokenNode::make_payload({expanded(inputs[0], refs_), expanded(inputs[1], coordinates_)},
                                   n);
  }
  void log_steps(const std::vector<Batch>& inputs, uint32_t n) override {
    if (!searches()) return TokenNode::log_steps(inputs, n);
    first_steps_.resize(n);
    Places& takes = in_lane(0).at;
    Places& gives = out_lane(0).at;
    uint32_t step = 0;
    for_tokens(inputs, n, [&](uint32_t k, bool looked, int64_t) {
      first_steps_[k] = step;
      step += looked ? steps_of_search(inputs, k) : 1;
      takes.push_back(step - 1);
      gives.push_back(step - 1);
    });
    add_steps(step);
  }
  uint32_t step_of(uint32_t token) const override {
    return searches() ? first_steps_[token] : token;
  }

  void log_bursts(const std::vector<Batch>& inputs, uint32_t n) override {
    if (asking) asking->begin();
    for_tokens(inputs, n, [&](uint32_t k, bool looked, int64_t coordinate) {
      const uint32_t reference = inputs[0].payload.words()[k];
      uint32_t entered = 0;
      probes_.assign(looked && searches() ? steps_of_search(inputs, k) : 1, 0);
      if (looked) {
        entered = reader_->enter(reference, false,
                                 [this](size_t array, uint64_t address, uint64_t bytes) {
                                   return request(array, address, bytes);
                                 });
        size_t next = 0;
        reader_->look_up(reference, coordinate,
                         [&](size_t array, uint64_t address, uint64_t bytes) {
                           return probes_[next++] = request(array, address, bytes);
                         });
      }
      if (asking) {
        log_batches(entered);
      } else {
        log_side(0, {.requests = {entered}});
        log_probes(entered);
      }
    });
  }

  void fill(const std::vector<Batch>& inputs, uint32_t* out, uint32_t n) override {
    find(inputs, n, out);
  }
  void account(const std::vector<Batch>& inputs, int64_t) override {
    if (!reads_output(0) && level_.kind() != LevelKind::dense) {
      find(inputs, inputs[0].count, nullptr);
    }
  }

 private:
  /// Whether a look-up is a binary search.
  bool searches() const { return level_.kind() == LevelKind::compressed; }
  uint32_t steps_of_search(const std::vector<Batch>& inputs, uint32_t k) const {
    return static_cast<uint32_t>(level_.look_up_steps(inputs[0].payload.words()[k]));
  }
  /// Calls each(token, whether it is looked up, its coordinate) for n tokens.
  template <typename Each>
  void for_tokens(const std::vector<Batch>& inputs, uint32_t n, Each&& each) const {
    const uint32_t* refs = inputs[0].payload.words();
    for_each_token(
        inputs[0], n,
        [&](uint32_t k) {
          const int64_t coordinate = subscript(inputs, k);
          each(k, refs[k] != kAbsent && level_.in_range(coordinate), coordinate);
        },
        [&](uint32_t k, const Stop&) { each(k, false, int64_t{-1}); });
  }

  /// The second and the third side of a token: a step for each probe, which requests its bursts,
  /// and one for each probe that has some, which uses them.
  void log_probes(uint32_t entered) {
    if (probes_.size() == 1) {
      log_side(1, {.uses = {entered}, .requests = {probes_[0]}});
      log_side(2, {.uses = {probes_[0]}});
      return;
    }
    if (too_many_bursts({.uses = {entered}})) {
      log_uses(1, {entered});
      entered = 0;
    }
    const size_t last = probes_.size() - 1;
    for (size_t p = 0; p <= last; ++p) {
      const uint32_t step = sides[1].now.count;
      add_part(1, {.uses = {p == 0 ? entered : 0}, .requests = {probes_[p]}}, interval_);
      if (p == 0) sides[1].now.in.front().add_range(step, 1);
      if (p == last) sides[1].now.out.front().add_range(step, 1);
      if (p < last && probes_[p] > 0) add_part(2, {.uses = {probes_[p]}}, interval_);
    }
    const uint32_t proper = sides[2].now.count;
    add_part(2, {.uses = {probes_[last]}}, interval_);
    for (Lane* lane : {&sides[2].now.in.front(), &sides[2].now.out.front()}) {
      lane->add_range(proper, 1);
    }
  }

  /// Memory that is asked in batches: a token's positions, then its probes, before the next token.
  void log_batches(uint32_t entered) {
    const uint32_t probed = std::accumulate(probes_.begin(), probes_.end(), 0U);
    asking->take(entered + probed > 0 ? 0 : interval_);
    asking->ask(0, entered, probed > 0 ? 0 : interval_);
    for (size_t p = 1; p < probes_.size(); ++p) asking->step(interval_);
    asking->ask(1, probed, interval_);
    asking->give(1);
    asking->count_own(static_cast<uint32_t>(probes_.size()) - 1);
  }

  int64_t subscript(const std::vector<Batch>& inputs, uint32_t k) const {
    if (inputs.size() == 1) return node_.offset;  // a constant subscript
    int64_t coordinate = node_.offset + node_.stride * inputs[1].payload.words()[k];
    for (size_t i = 2; i < inputs.size(); ++i) {
      coordinate += node_.strides.at(i - 2) * inputs[i].payload.words()[k];
    }
    return coordinate;
  }

  /// A dense level, looked up at a coordinate as it is.
  bool plain() const {
    const auto streams =
        std::count_if(ports.begin(), ports.end(), [](const Port* port) { return port != nullptr; });
    return level_.kind() == LevelKind::dense && streams == 2 && node_.offset == 0 &&
           node_.stride == 1;
  }

  /// References and coordinates of fibers that are runs give runs of positions; null if some do
  /// not.
  std::shared_ptr<const RunLengthPayload> find_runs(const std::vector<Batch>& inputs) const {
    auto runs = make_pooled<Runs>(inputs[0].stops.size() + 1);
    bool all_runs = true;
    for_fibers(inputs[0], [&](size_t s, uint32_t first, uint32_t last) {
      const Run refs = run_of(inputs[0], s, first);
      const Run coordinates = run_of(inputs[1], s, first);
      const uint64_t end =
          uint64_t{coordinates.first} + uint64_t{coordinates.step} * (last - first - 1);
      const uint64_t position = uint64_t{refs.first} * static_cast<uint64_t>(level_.extent()) + end;
      all_runs = all_runs && refs.step == 0 && refs.first != kAbsent &&
                 end < static_cast<uint64_t>(level_.extent()) &&
                 position < static_cast<uint64_t>(kMaxStored);
      (*runs)[s] = {static_cast<uint32_t>(position - (end - coordinates.first)), coordinates.step};
    });
    if (!all_runs) return nullptr;
    return runs_like(inputs[0], std::move(runs));
  }

  void find(const std::vector<Batch>& inputs, uint32_t n, uint32_t* out) {
    const Batch& batch = inputs[0];
    const uint32_t* refs = batch.payload.words();
    if (plain() && out != nullptr) {
      const uint64_t beyond = loops::locate_dense(refs, inputs[1].payload.words(),
                                                  static_cast<uint32_t>(level_.extent()), out, n);
      if (beyond < static_cast<uint64_t>(kMaxStored)) return;  // else say where, below
    }
    const auto look_up = [&](uint32_t k) {
      const int64_t coordinate = subscript(inputs, k);
      const uint32_t found = level_.find(refs[k], coordinate);
      if (out != nullptr) out[k] = found;
      if (refs[k] == kAbsent || !level_.in_range(coordinate)) return;
      stats_.read_bytes += level_.position_bytes(refs[k], last_) + level_.probe_bytes(refs[k]);
      last_ = refs[k];
    };
    for_each_token(batch, n, look_up, [](uint32_t, const Stop&) {});
  }

  LevelView level_;
  std::optional<LevelReader> reader_;  // where memory takes time
  uint32_t last_ = kAbsent;
  std::vector<uint32_t> refs_;  // words of run-length inputs
  std::vector<uint32_t> coordinates_;
  std::vector<uint32_t> first_steps_;  // of searches, by token of the batch at hand
  std::vector<uint32_t> probes_;       // bursts of each step of the search at hand
};

}  // namespace

FUSEFLOW_RUN(locate, LocateNode)

}  // namespace fuseflow::engine
