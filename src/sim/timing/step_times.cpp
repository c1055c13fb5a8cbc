#include "sim/timing/step_times.h"

#include <algorithm>
#include <array>

#include "sim/timing/step_kernels.h"
#include "support/ceil_div.h"

namespace fuseflow::engine {

// --- the recurrence ---

namespace {

/// A straight line over tokens 0..n-1.
struct Line {
  int64_t start;
  int64_t step;  ///< kExplicit: no line
  int64_t at(int64_t k) const { return start + step * k; }
};

/// Leaves the inputs that can delay a step, equal ones once (with the larger delta).
void keep_binding(std::vector<TimeRef>& arrivals, int64_t earliest, uint32_t n) {
  auto kept = arrivals.begin();
  for (TimeRef& ref : arrivals) {
    if (ref.at(n - 1) <= earliest) continue;
    const auto same = std::find_if(arrivals.begin(), kept, [&](const TimeRef& other) {
      return other.times == ref.times && other.offset == ref.offset;
    });
    if (same == kept) {
      *kept++ = std::move(ref);
    } else {
      same->delta = std::max(same->delta, ref.delta);
    }
  }
  arrivals.erase(kept, arrivals.end());
}

/// The line that is the largest at token 0 and for how many tokens it stays so (at most n).
Line upper_line(std::span<const Line> lines, uint32_t& n) {
  Line top = lines[0];
  for (const Line& line : lines) {
    if (line.start > top.start || (line.start == top.start && line.step > top.step)) top = line;
  }
  for (const Line& line : lines) {
    if (line.step <= top.step) continue;
    const int64_t late = top.start - line.start;
    const int64_t meet = late / (line.step - top.step) + 1;  // first token where it is larger
    n = static_cast<uint32_t>(std::min<int64_t>(n, meet));
  }
  return top;
}

/// t[k] = max(t[k-1] + interval, line[k]) for n tokens, into the builder.
void follow_line(Pace& pace, const Line& line, uint32_t n, TimesBuilder& out) {
  const int64_t first = std::max(pace.free, line.start);
  uint32_t late = n;  // tokens for which the node cannot keep up with the line
  if (line.step > pace.interval) {
    const int64_t rate = line.step - pace.interval;
    late = static_cast<uint32_t>(std::min<int64_t>(n, ceil_div(first - line.start, rate)));
  }
  out.append(late, first, pace.interval);
  if (late < n) out.append(n - late, line.at(late), line.step);
  pace.stepped_at(late < n ? line.at(n - 1) : first + pace.interval * (int64_t{n} - 1));
}

constexpr uint32_t kBlock = 1024;  // steps at once

/// Bounds of n steps out of an input's arrivals from token k on.
void raise_bounds(TimeCursor& input, uint32_t k, uint32_t n, bool first, int64_t* bounds) {
  const int64_t start = input.at(k);
  if (input.step() == kExplicit) {
    const auto raise = first ? loops::set : loops::raise;
    raise(bounds, input.values(k), input.delta(), n);
  } else {
    const auto raise = first ? loops::set_line : loops::raise_line;
    raise(bounds, start, input.step(), n);
  }
}

/// Gives n steps their times, where some inputs have explicit times.
void follow_values(Pace& pace, std::span<TimeCursor> inputs, uint32_t k, uint32_t n,
                   TimesBuilder& out) {
  std::array<int64_t, kBlock> bounds;
  int64_t* times = out.reserve(n);
  for (uint32_t done = 0; done < n;) {
    const uint32_t count = std::min(n - done, kBlock);
    for (TimeCursor& input : inputs) {
      raise_bounds(input, k + done, count, &input == inputs.data(), bounds.data());
    }
    loops::solve(bounds.data(), count, pace.free, pace.interval, times);
    pace.stepped_at(times[count - 1]);
    times += count;
    done += count;
  }
  out.commit(n);
}

}  // namespace

TimeRef step_times(Pace& pace, std::vector<TimeRef>& arrivals, uint32_t n) {
  keep_binding(arrivals, pace.free, n);
  if (arrivals.size() == 1 && arrivals[0].times->gap >= pace.interval &&
      arrivals[0].at(0) >= pace.free) {
    pace.stepped_at(arrivals[0].at(n - 1));
    return arrivals[0];
  }
  TimesBuilder out(pace.interval);
  if (arrivals.empty()) {
    follow_line(pace, {pace.free, pace.interval}, n, out);
    return {out.finish(), 0, 0};
  }
  std::vector<TimeCursor> inputs(arrivals.begin(), arrivals.end());
  std::vector<Line> lines(arrivals.size());
  for (uint32_t k = 0; k < n;) {
    uint32_t count = n - k;  // steps for which no input changes between run and explicit
    bool runs = true;
    for (size_t i = 0; i < inputs.size(); ++i) {
      lines[i].start = inputs[i].at(k);
      lines[i].step = inputs[i].step();
      count = std::min(count, inputs[i].piece_end() - k);
      runs = runs && lines[i].step != kExplicit;
    }
    if (runs) {
      const Line top = upper_line(lines, count);
      follow_line(pace, top, count, out);
    } else {
      follow_values(pace, inputs, k, count, out);
    }
    k += count;
  }
  return {out.finish(), 0, 0};
}

// --- single steps that wait ---

bool gate_arrivals(const Waits& gates, uint32_t n, int64_t earliest,
                   std::span<const TimeRef> beside, TimeRef& arrivals) {
  if (!gates.any() || gates.back().time <= earliest) return false;
  for (const TimeRef& other : beside) {
    TimeCursor cursor(other);
    const bool passed = std::all_of(gates.begin(), gates.end(), [&](const Waits::Wait& gate) {
      return gate.time <= cursor.at(gate.step);
    });
    if (passed) return false;
  }
  TimesBuilder times(0);
  if (gates.front().step > 0) times.append(gates.front().step, kLongAgo, 0);
  for (size_t g = 0; g < gates.size(); ++g) {
    const uint32_t end = g + 1 < gates.size() ? gates[g + 1].step : n;
    times.append(end - gates[g].step, gates[g].time, 0);
  }
  arrivals = {times.finish(), 0, 0};
  return true;
}

TimeRef sample(const TimeRef& steps, std::span<const uint32_t> at) {
  const auto n = static_cast<uint32_t>(at.size());
  bool twice = false;  // two tokens in one step
  for (uint32_t j = 1; j < n; ++j) twice |= at[j] == at[j - 1];
  TimesBuilder times(twice ? 0 : steps.times->gap);
  int64_t* const out = times.reserve(n);
  TimeCursor cursor(steps);
  for (uint32_t j = 0; j < n;) {
    const int64_t first = cursor.at(at[j]);
    const auto* const past = std::lower_bound(at.data() + j, at.data() + n, cursor.piece_end());
    const auto end = static_cast<uint32_t>(past - at.data());
    if (cursor.step() == kExplicit) {
      const int64_t* const values = cursor.values(0);
      const int64_t delta = cursor.delta();
      for (; j < end; ++j) out[j] = values[at[j]] + delta;
    } else {
      const int64_t step = cursor.step();
      const int64_t base = first - step * static_cast<int64_t>(at[j]);
      for (; j < end; ++j) out[j] = base + step * static_cast<int64_t>(at[j]);
    }
  }
  times.commit(n);
  return {times.finish(), 0, 0};
}

}  // namespace fuseflow::engine
