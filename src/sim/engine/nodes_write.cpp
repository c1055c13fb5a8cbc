// Engine: the writers of levels and values. Stops cost them no time.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/engine/along.h"
#include "sim/engine/credit_times.h"
#include "sim/engine/growth.h"
#include "sim/engine/node.h"

namespace fuseflow::engine {
namespace {

class WriteNode final : public EngineNode {
 public:
  WriteNode(const Context& context, NodeId id)
      : EngineNode(context, id),
        tensor_(context.program.tensors[static_cast<size_t>(node_.tensor)]),
        level_(node_.kind == NodeKind::write_level),
        main_(node_.inputs.size() - 1),
        volume_(static_cast<size_t>(tensor_.format.block_volume())),
        below_(level_ ? static_cast<size_t>(node_.level) : tensor_.format.levels.size()),
        growth_(tensor_, below_) {
    first_dense_ = below_ - std::min(below_, main_);
    for (size_t l = first_dense_; l < below_; ++l) {
      extents_.push_back(tensor_.level_extent(l));
      if (tensor_.format.levels[l] != LevelKind::dense) disagree("a coordinate too many");
    }
    coordinates_.resize(main_);
    if (level_) written_.pos.push_back(0);
    const auto key = std::pair(node_.tensor, level_ ? node_.level : -1);
    signals_ = context_.rows != nullptr && context_.rows->count(key) > 0;
    if (signals_) given_.resize(1);
    timed_ = timed_memory();
    if (!timed_ || signals_) return;
    bursts.resize(2);
    given_.resize(2);
    last_burst_.assign(2, kNoBurst);
    if (level_)
      put(1, context_.addresses->level(node_.tensor, node_.level, Addresses::positions), 4, 0);
  }

  bool reads(size_t) const override { return true; }
  Written* written() override { return &written_; }

  bool work() override {
    if (ended_ || !load()) return false;
    for (auto& given : given_) given.clear();
    row_tokens_.clear();
    store();
    const TimeRef steps = follow();
    note_rows(steps);
    if (log.wanted) log_steps();
    for (Along& along : along_) along.take(steps, n_);
    for (const size_t i : like_) ports[i]->take(n_, steps);
    return true;
  }

 private:
  int depth(size_t input) const {
    const auto stream = static_cast<size_t>(node_.inputs[input].stream);
    return static_cast<int>(context_.graph.streams[stream].indices.size());
  }

  bool load() {
    like_.clear();
    n_ = UINT32_MAX;
    for (size_t i = 0; i <= main_; ++i) {
      if (depth(i) != depth(main_)) continue;
      like_.push_back(i);
      n_ = std::min(n_, ports[i]->ready());
    }
    if (n_ == 0) return false;
    const Batch whole = ports[main_]->batch(n_);
    along_.clear();
    outer_.resize(main_);
    for (size_t i = 0; i < main_; ++i) {
      outer_[i].clear();
      if (depth(i) == depth(main_)) continue;
      along_.emplace_back(*ports[i], depth(main_) - depth(i));
      try {
        n_ = std::min(n_, along_.back().walk(whole, [&](uint32_t first, uint32_t, uint32_t word) {
          outer_[i].push_back({first, word});
        }));
      } catch (const Disagreement& problem) {
        disagree(problem.what);
      }
    }
    if (n_ == 0) return false;
    batch_ = ports[main_]->batch(n_);
    arrivals_.assign(1, batch_.arrivals);
    words_.assign(main_, nullptr);
    for (const size_t i : like_) {
      if (i == main_) continue;
      const Batch batch = ports[i]->batch(n_);
      check_like(batch_, batch);
      arrivals_.push_back(batch.arrivals);
      words_[i] = batch.payload.words();
    }
    for (const Along& along : along_) along.add_arrivals(n_, pace_.next(), arrivals_);
    return true;
  }

  // --- times ---

  void log_steps() {
    outer_ports_.clear();
    for (size_t i = 0; i < main_; ++i) {
      if (depth(i) != depth(main_)) outer_ports_.push_back(i);
    }
    next_given_.assign(given_.size(), 0);
    uint32_t k = 0;
    for (size_t s = 0; s < batch_.stops.size(); ++s) {
      const uint32_t at = batch_.at(batch_.stops[s]);
      log_elements(k, at);
      log_step(StepCodes::stop(along_, s), 1, at);
      k = at + 1;
    }
    log_elements(k, n_);
  }

  void log_elements(uint32_t first, uint32_t last) {
    while (first < last) {
      uint32_t end = last;  // behind the next element that ends a burst
      for (size_t g = 0; g < given_.size(); ++g) {
        if (next_given_[g] < given_[g].size()) end = std::min(end, given_[g][next_given_[g]] + 1);
      }
      if (end - 1 > first) log_step(StepCodes::elements(), end - 1 - first, end - 2);
      log_step(StepCodes::elements(), 1, end - 1);
      first = end;
    }
  }

  /// Steps of one kind, the last of which is that of token `at`; it gives the bursts ended there.
  void log_step(uint32_t code, uint32_t count, uint32_t at) {
    uint32_t counts[2] = {0, 0};
    for (size_t g = 0; g < given_.size(); ++g) {
      while (next_given_[g] < given_[g].size() && given_[g][next_given_[g]] == at) {
        ++counts[g];
        ++next_given_[g];
      }
    }
    if (timed_ && counts[0] > 1) return log_bursts(code, 0, counts[0]);
    if (timed_ && counts[1] > context_.machine.dram.outstanding) {
      return log_bursts(code, 1, counts[1]);
    }
    code |= (counts[0] | (counts[1] << 4)) << StepCodes::kOwnShift;
    log.add(code, count, [&](StepType& type) {
      StepCodes(like_, outer_ports_).needs(code, type);
      for (size_t g = 0; g < given_.size(); ++g) type.give(g, counts[g]);
      type.cost = (code & 1U) != 0 ? 0 : pace_.interval;
    });
  }

  /// A step that requests several bursts of an output: a step for each.
  void log_bursts(uint32_t code, size_t output, uint32_t count) {
    const bool stop = (code & 1U) != 0;
    const auto add = [&](uint32_t taken, uint32_t steps, int64_t cost) {
      const auto known = block_costs_.try_emplace({output, cost}, block_costs_.size() << 8).first;
      const uint32_t own = kBlockSteps << StepCodes::kOwnShift;
      log.add(taken | static_cast<uint32_t>(known->second) | own, steps, [&](StepType& type) {
        StepCodes(like_, outer_ports_).needs(taken, type);
        type.give(output);
        type.cost = cost;
      });
    };
    const int64_t last = std::max<int64_t>(1, pace_.interval - (count - 1));
    add(code, 1, stop ? 0 : 1);
    add(StepCodes::kNothingTaken, count - 2, stop ? 0 : 1);
    add(StepCodes::kNothingTaken, 1, stop ? 0 : last);
  }

  /// Memory: bytes written in the step of token `at`. A burst is requested when the next one
  /// begins, or at done.
  void put(size_t output, uint64_t address, uint64_t bytes, uint32_t at) {
    if (in_last_burst(output, address, bytes)) return;
    const uint64_t size = context_.addresses->burst_bytes();
    for (uint64_t burst = address - address % size; burst < address + bytes; burst += size) {
      if (burst == last_burst_[output]) continue;
      end_burst(output, at);
      last_burst_[output] = burst;
    }
  }

  /// The same for elements one behind the other, written by output 0 in the steps of tokens
  /// first .. last-1.
  void put_row(uint64_t address, uint64_t bytes, uint32_t first, uint32_t last) {
    const uint64_t size = context_.addresses->burst_bytes();
    while (first < last) {
      put(0, address, bytes, first);
      const uint64_t inside = address - last_burst_[0];
      const uint64_t whole = std::max<uint64_t>(1, (size - inside) / bytes);
      const auto count = static_cast<uint32_t>(std::min<uint64_t>(whole, last - first));
      first += count;
      address += count * bytes;
    }
  }

  void end_burst(size_t output, uint32_t at) {
    if (last_burst_[output] == kNoBurst) return;
    bursts[output].push_back(last_burst_[output]);
    given_[output].push_back(at);
    last_burst_[output] = kNoBurst;
  }

  TimeRef follow() {
    const auto stops = static_cast<int64_t>(batch_.stops.size());
    const int64_t busy = (n_ - stops) * pace_.interval;
    const bool shared = arrivals_.size() == 1 && arrivals_[0].times->gap >= pace_.interval &&
                        arrivals_[0].at(0) >= pace_.next();
    TimeRef steps;
    if (shared) {
      steps = arrivals_[0];
      pace_.last = steps.at(n_ - 1);
      pace_.run_step = kExplicit;
    } else if (stops == 0) {
      steps = step_times(pace_, arrivals_, n_);
    } else {
      steps = follow_fibers();
    }
    count_steps(n_, steps.at(0), busy);
    if (activity != nullptr) note_elements(steps);
    if (!batch_.stops.empty() && batch_.at(batch_.stops.back()) == n_ - 1) {
      pace_.last -= pace_.interval;  // the next step may happen in the same cycle
    }
    return steps;
  }

  void note_elements(const TimeRef& steps) {
    uint32_t k = 0;
    const auto note = [&](uint32_t end) {
      if (k < end) note_busy(*activity, steps.from(k), end - k, pace_.interval);
      k = end + 1;
    };
    for (const Stop& stop : batch_.stops) note(batch_.at(stop));
    note(n_);
  }

  /// Fiber by fiber: the step behind a stop may happen in the same cycle.
  TimeRef follow_fibers() {
    TimesBuilder all(0);
    uint32_t k = 0;
    for (const Stop& stop : batch_.stops) {
      const uint32_t end = batch_.at(stop) + 1;
      stretch(all, k, end);
      if (end < n_) pace_.last -= pace_.interval;
      k = end;
    }
    if (k < n_) stretch(all, k, n_);
    pace_.timing_steps += all.explicit_tokens();
    return {all.finish(), 0, 0};
  }

  void stretch(TimesBuilder& all, uint32_t first, uint32_t last) {
    refs_.clear();
    for (const TimeRef& arrival : arrivals_) refs_.push_back(arrival.from(first));
    const TimeRef steps = step_times(pace_, refs_, last - first);
    TimeCursor cursor(steps);
    for (uint32_t k = 0; k < last - first;) {
      const int64_t start = cursor.at(k);
      const uint32_t count = std::min(last - first, cursor.piece_end()) - k;
      if (cursor.step() != kExplicit) {
        all.append(count, start, cursor.step());
      } else {
        for (uint32_t i = 0; i < count; ++i) all.append(1, cursor.at(k + i), 0);
      }
      k += count;
    }
  }

  // --- what is stored ---

  void store() {
    make_room();
    uint32_t k = 0;
    next_outer_.assign(main_, 0);
    for (const Stop& stop : batch_.stops) {
      const uint32_t at = batch_.at(stop);
      store_elements(k, at);
      k = at + 1;
      if (stop.done()) {
        ended_ = true;
        for (size_t g = 0; timed_ && g < given_.size(); ++g) end_burst(g, at);
        row_event(at, INT64_MAX);
      } else {
        advance_outer(at);
        end_fiber(stop, at);
        row_event(at, complete_after(stop));
      }
    }
    store_elements(k, n_);
  }

  void make_room() {
    growth_.add_fibers(batch_.stops.size());  // each has a stop
    const size_t more = n_ - batch_.stops.size();
    if (level_) return growth_.make_room(written_.crd, written_.crd.size() + more);
    if (main_ == 0) growth_.make_room(written_.values, written_.values.size() + more * volume_);
  }

  /// The outer coordinates in force at an inner token.
  void advance_outer(uint32_t at) {
    for (size_t i = 0; i < main_; ++i) {
      const auto& outer = outer_[i];
      size_t& next = next_outer_[i];
      while (next < outer.size() && outer[next].first <= at) coordinates_[i] = outer[next++].second;
    }
  }

  void store_elements(uint32_t first, uint32_t last) {
    if (first >= last) return;
    advance_outer(first);
    if (level_) {
      const uint32_t* crd = batch_.payload.words();
      if (timed_) put_row(coordinates_start() + 4 * written_.crd.size(), 4, first, last);
      written_.crd.insert(written_.crd.end(), crd + first, crd + last);
      for (size_t i = 0; i < main_; ++i) {
        if (words_[i] != nullptr) coordinates_[i] = words_[i][last - 1];
      }
      return;
    }
    if (ports[main_]->blocks) return place_blocks(batch_.payload.words(), first, last);
    const float* values = batch_.payload.values();
    if (main_ == 0) {
      const auto bytes = static_cast<uint64_t>(element_bytes(tensor_.type));
      if (timed_) put_row(values_start() + bytes * written_.values.size(), bytes, first, last);
      const bool single = depth(main_) <= 1;  // each value is a row
      for (uint32_t k = first; single && k < last; ++k) {
        row_event(k, static_cast<int64_t>(written_.values.size()) + k - first + 1);
      }
      written_.values.insert(written_.values.end(), values + first, values + last);
      return;
    }
    place_many(values, first, last);
  }

  void place_many(const float* values, uint32_t first, uint32_t last) {
    for (uint32_t k = first; k < last; ++k) {
      for (size_t i = 0; i < main_; ++i) {
        if (words_[i] != nullptr) coordinates_[i] = words_[i][k];
      }
      const auto position = static_cast<size_t>(place());
      if (position >= written_.values.size()) fill_up_to(position + 1);
      written_.values[position] = values[k];
      if (timed_) put_value(position, k);
      if (depth(main_) <= 1) row_event(k, coordinates_[0] + 1);
    }
  }

  void fill_up_to(size_t end) {
    growth_.make_room(written_.values, end);
    written_.values.resize(end, tensor_.fill);
  }

  void place_blocks(const uint32_t* names, uint32_t first, uint32_t last) {
    for (uint32_t k = first; k < last; ++k) {
      for (size_t i = 0; i < main_; ++i) {
        if (words_[i] != nullptr) coordinates_[i] = words_[i][k];
      }
      const size_t position =
          main_ == 0 ? written_.values.size() : static_cast<size_t>(place()) * volume_;
      if (position + volume_ > written_.values.size()) fill_up_to(position + volume_);
      std::copy_n(context_.blocks->block(names[k], static_cast<int64_t>(volume_)), volume_,
                  written_.values.begin() + static_cast<int64_t>(position));
      if (timed_) put_value(position, k);
      const auto places = static_cast<int64_t>(position / volume_) + 1;
      if (depth(main_) <= 1) row_event(k, places);
    }
  }

  uint64_t coordinates_start() const {
    return context_.addresses->level(node_.tensor, node_.level, Addresses::coordinates);
  }
  uint64_t values_start() const { return context_.addresses->values(node_.tensor); }
  void put_value(size_t position, uint32_t at) {
    const auto bytes = static_cast<uint64_t>(element_bytes(tensor_.type));
    put(0, values_start() + bytes * position, bytes * volume_, at);
  }

  int64_t place() const {
    int64_t position = above_;
    for (size_t i = 0; i < main_; ++i) {
      if (coordinates_[i] >= extents_[i]) refuse("a coordinate is outside of the result");
      position = position * extents_[i] + coordinates_[i];
    }
    if (position >= kMaxStored) {
      throw Error(ExitCode::rejected,
                  fmt::format("%{} has more than 2^32-2 positions", tensor_.name));
    }
    return position;
  }

  void end_fiber(const Stop& stop, uint32_t at) {
    if (level_ && stop.closes()) {
      const auto fiber =
          static_cast<size_t>(main_ == 0 ? static_cast<int64_t>(written_.pos.size()) - 1 : place());
      if (fiber + 1 < written_.pos.size()) refuse("fibers come in another order than stored");
      const auto end = static_cast<uint32_t>(written_.crd.size());
      written_.pos.resize(fiber + 1, written_.pos.back());
      written_.pos.push_back(end);
      if (timed_) {
        const uint64_t start =
            context_.addresses->level(node_.tensor, node_.level, Addresses::positions);
        put(1, start + 4 * (fiber + 1), 4, at);
      }
    }
    if (first_dense_ == 0 || main_ == 0) return;
    const int boundary = static_cast<int>(main_) - (level_ ? 0 : 1);
    if (stop.level >= boundary && stop.closes(boundary)) ++above_;
  }

  // --- rows of phases that start together

  /// Fibers (of a level) or values, from the first on, to which nothing is added behind this stop.
  int64_t complete_after(const Stop& stop) const {
    const int loops = depth(main_);
    if (level_) return static_cast<int64_t>(written_.pos.size()) - 1;
    if (main_ == 0) return static_cast<int64_t>(written_.values.size() / volume_);
    int64_t row = 1;  // places below an element of the outermost of the dense levels
    for (size_t i = first_dense_ == 0 ? 1 : 0; i < main_; ++i) row *= extents_[i];
    if (first_dense_ > 0) return above_ * row;
    const bool ended = loops > 1 && stop.level >= loops - 2 && stop.closes(loops - 2);
    return depth(0) == 1 && ended ? (coordinates_[0] + 1) * row : 0;
  }

  /// In the step of token `at` so many fibers (values) have become complete.
  void row_event(uint32_t at, int64_t count) {
    if (count <= complete_ || (!signals_ && !context_.collects_rows)) return;
    complete_ = count;
    if (signals_) {
      given_[0].push_back(at);
    } else {
      events.complete.push_back(count);
      row_tokens_.push_back(at);
    }
  }
  void note_rows(const TimeRef& steps) {
    const int64_t latency = node_timing(context_.machine, context_.graph, node_).latency_cycles;
    TimeCursor cursor(steps);
    for (const uint32_t at : row_tokens_) events.arrives.push_back(cursor.at(at) + latency);
  }

  const Tensor& tensor_;
  const bool level_;
  const size_t main_;    // the input written; those before it are coordinates
  const size_t volume_;  // of the tensor's blocks
  const size_t below_;   // the levels above what is written
  Growth growth_;        // of what is written
  size_t first_dense_ = 0;
  std::vector<int64_t> extents_;  // of the dense levels whose coordinates are given
  std::vector<int64_t> coordinates_;
  int64_t above_ = 0;  // elements of the level above the dense ones that have ended
  Written written_;
  // the batch at hand
  uint32_t n_ = 0;
  Batch batch_;
  std::vector<size_t> like_;  // inputs of the main input's space
  std::vector<Along> along_;
  std::vector<std::vector<std::pair<uint32_t, uint32_t>>> outer_;  // (inner token, coordinate)
  std::vector<size_t> next_outer_;
  std::vector<const uint32_t*> words_;
  std::vector<TimeRef> arrivals_;
  std::vector<TimeRef> refs_;
  // where memory takes time, by output: the tokens of the batch at which a burst is requested
  std::vector<std::vector<uint32_t>> given_;
  std::vector<size_t> next_given_;
  std::vector<size_t> outer_ports_;
  std::vector<uint32_t> row_tokens_;  // of the batch, at which rows become complete
  bool timed_ = false;                // memory takes time
  bool signals_ = false;              // its rows are waited for: output 0 of its steps
  int64_t complete_ = 0;              // as of the last event
  static constexpr uint32_t kBlockSteps = 0xC0;
  // Of steps that request bursts of one token: codes, by output and cost.
  std::map<std::pair<size_t, int64_t>, size_t> block_costs_;
};

}  // namespace

std::unique_ptr<EngineNode> make_write_node(const Context& context, NodeId id) {
  switch (context.graph.nodes[static_cast<size_t>(id)].kind) {
    case NodeKind::write_level:
    case NodeKind::write_values:
      return std::make_unique<WriteNode>(context, id);
    default:
      return nullptr;
  }
}

}  // namespace fuseflow::engine
