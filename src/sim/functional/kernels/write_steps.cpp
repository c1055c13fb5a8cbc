#include "sim/functional/kernels/write_steps.h"

#include <algorithm>

#include "sim/functional/outer_input.h"

namespace fuseflow::engine {

WriterSteps::WriterSteps(const Context& context, NodeId id)
    : MemoryNode(context, id),
      level_(node_.kind == NodeKind::write_level),
      main_(node_.inputs.size() - 1),
      timed_(timed_memory()) {
  make_lanes();
}

void WriterSteps::request_writes() {
  if (memory_wants_batches()) {
    ask_in_own_steps(2);
    return;
  }
  bursts.resize(2);
  give_lists(2);
  last_burst_.assign(2, kNoBurst);
  if (!level_) return;
  put(1, context_.addresses->level(node_.tensor, node_.level, Addresses::positions), 4, 0);
}

/// Inputs of the main input's space share its lane.
void WriterSteps::make_lanes() {
  StepSource& source = sides.back();
  source.own_lanes(main_ + 1, 0);
  for (size_t i = 0; i < main_; ++i) {
    if (depth(i) == depth(main_)) source.in_lane[i] = static_cast<int>(main_);
  }
}
void WriterSteps::give_lists(size_t count) {
  sides.back().now.out.resize(count);
  sides.back().out_lane.resize(count);
  for (size_t g = 0; g < count; ++g) {
    sides.back().now.out[g].always_listed = true;
    sides.back().out_lane[g] = static_cast<int>(g);
  }
}

bool WriterSteps::load() {
  outer_.assign(main_, {});
  const auto note = [this](size_t i, OuterInput& outer, const Batch& whole) {
    return outer.walk(whole, [&](uint32_t first, uint32_t, uint32_t word) {
      outer_[i].push_back({first, word});
    });
  };
  if (!read_beside(main_, UINT32_MAX, batch_, note)) return false;
  n_ = batch_.count;
  words_.assign(main_, nullptr);
  for (size_t i = 0; i < main_; ++i) {
    if (depth(i) != depth(main_)) continue;
    const Batch batch = ports[i]->batch(n_);
    check_like(batch_, batch);
    words_[i] = batch.payload.words();
  }
  return true;
}

// --- steps ---

/// A step for each token; those of stops cost nothing, unless the machine says so.
void WriterSteps::log_steps() {
  if (asking) return add_batched_steps();
  find_splits();
  if (!splits_.empty()) return add_split_steps();
  if (context_.machine.write_stops_take_steps) return add_steps(n_);
  uint32_t k = 0;
  for (const Stop& stop : batch_.stops) {
    const uint32_t end = batch_.at(stop) + 1;
    steps().add(end - k, interval_, 0);
    k = end;
  }
  add_steps(n_ - k);
}

/// Finds them. Requests of positions are together in a step as long as they can be outstanding.
void WriterSteps::find_splits() {
  splits_.clear();
  for (size_t g = 0; timed_ && g < steps().out.size(); ++g) {
    const Places& at = steps().out[g].at;
    const int64_t most = g == 0 ? 1 : context_.machine.dram.outstanding;
    for (size_t j = 0; j < at.size();) {
      const auto end = static_cast<size_t>(
          std::upper_bound(at.begin() + static_cast<int64_t>(j), at.end(), at[j]) - at.begin());
      if (static_cast<int64_t>(end - j) > most) {
        splits_.push_back({at[j], static_cast<uint32_t>(end - j)});
      }
      j = end;
    }
  }
  std::sort(splits_.begin(), splits_.end(),
            [](const Split& a, const Split& b) { return a.token < b.token; });
}

void WriterSteps::add_split_steps() {
  Lane& taken = in_lane(main_);
  taken.kind = Lane::Kind::ranges;
  step_of_.resize(n_);
  size_t split = 0;
  const auto add = [&](uint32_t k, bool is_stop) {
    const bool splits = split < splits_.size() && splits_[split].token == k;
    const uint32_t more = splits ? splits_[split++].bursts - 1 : 0;
    step_of_[k] = steps().count;
    taken.add_range(steps().count, 1);
    const int64_t last = std::max<int64_t>(1, interval_ - more);
    if (is_stop && !context_.machine.write_stops_take_steps) {
      steps().add(more + 1, 0);
    } else {
      steps().add(more + 1, more > 0 ? 1 : interval_, more > 0 ? last : interval_);
    }
  };
  for_each_token(
      batch_, n_, [&](uint32_t k) { add(k, false); },
      [&](uint32_t k, const Stop&) { add(k, true); });
  for (Lane& lane : steps().out) split_bursts(lane);
  outer_tokens_to_steps();
}
/// Outer coordinates are taken in the steps of inner tokens.
void WriterSteps::outer_tokens_to_steps() {
  for (size_t i = 0; i < main_; ++i) {
    if (depth(i) == depth(main_)) continue;
    for (Places* places : {&in_lane(i).at, &in_lane(i).need}) {
      for (uint32_t& place : *places) place = step_of_[place];
    }
  }
}
/// From tokens to their steps: those of a token that is split, one after the other.
void WriterSteps::split_bursts(Lane& lane) const {
  auto split = splits_.begin();
  uint32_t before = UINT32_MAX;  // the token before
  uint32_t same = 0;
  for (uint32_t& place : lane.at) {
    const uint32_t token = place;
    while (split != splits_.end() && split->token < token) ++split;
    same = token == before ? same + 1 : 0;
    before = token;
    place = step_of_[token] + (split != splits_.end() && split->token == token ? same : 0);
  }
}

// --- memory that is asked in batches ---

/// Bytes written in the step of token `at`. Values are sent one by one.
void WriterSteps::collect_write(size_t output, uint64_t address, uint64_t bytes, uint32_t at) {
  if (ports[main_]->blocks) bytes = 1;  // a block has one address
  collected_[output] += collect(output, address, bytes);
  const uint32_t most = level_ ? asking->batch() : 1;
  if (collected_[output] >= most) send(output, at);
}
void WriterSteps::send(size_t output, uint32_t at) {
  if (collected_[output] == 0) return;
  sent_.push_back({at, static_cast<uint32_t>(output), collected_[output]});
  collected_[output] = 0;
}
void WriterSteps::put_stop(const Stop& stop, uint32_t at) {
  const bool sends = stop.done() || stop_before_;
  stop_before_ = true;
  if (!timed_) return;
  for (size_t g = 0; g < bursts.size(); ++g) {
    if (asking) {
      if (sends) send(g, at);
    } else if (stop.done()) {
      end_burst(g, at);
    }
  }
}
void WriterSteps::add_batched_steps() {
  Lane& taken = in_lane(main_).list();
  step_of_.resize(n_);
  auto sent = sent_.begin();
  const auto add = [&](uint32_t k, bool is_stop) {
    const int64_t cost = is_stop && !context_.machine.write_stops_take_steps ? 0 : interval_;
    const auto sends = [&] { return sent != sent_.end() && sent->token == k; };
    step_of_[k] = asking->step(sends() ? 0 : cost);
    taken.at.push_back(step_of_[k]);
    while (sends()) {
      const SentAddresses& now = *sent++;
      asking->ask(now.output, now.addresses, sends() ? 0 : cost);
    }
  };
  for_each_token(
      batch_, n_, [&](uint32_t k) { add(k, false); },
      [&](uint32_t k, const Stop&) { add(k, true); });
  sent_.clear();
  asking->count_own(n_);
  outer_tokens_to_steps();
}

// --- bursts ---

void WriterSteps::put(size_t output, uint64_t address, uint64_t bytes, uint32_t at) {
  if (asking) return collect_write(output, address, bytes, at);
  if (in_last_burst(output, address, bytes)) return;
  for_bursts(address, bytes, [&](uint64_t burst) {
    if (burst == last_burst_[output]) return;
    end_burst(output, at);
    last_burst_[output] = burst;
  });
}

void WriterSteps::put_row(uint64_t address, uint64_t bytes, uint32_t first, uint32_t last) {
  const uint64_t size = asking ? bytes : context_.addresses->burst_bytes();
  while (first < last) {
    put(0, address, bytes, first);
    const uint64_t inside = asking ? 0 : address - last_burst_[0];
    const uint64_t whole = std::max<uint64_t>(1, (size - inside) / bytes);
    const auto count = static_cast<uint32_t>(std::min<uint64_t>(whole, last - first));
    first += count;
    address += count * bytes;
  }
}

void WriterSteps::end_burst(size_t output, uint32_t at) {
  if (last_burst_[output] == kNoBurst) return;
  bursts[output].push_back(last_burst_[output]);
  steps().out[output].at.push_back(at);
  last_burst_[output] = kNoBurst;
}

}  // namespace fuseflow::engine
