// The replay of logged steps, piece by piece: against the recurrence of ir-spec/timing.md done at
// once, and peaks of FIFOs against their definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <random>

#include "sim/timing/replay.h"
#include "sim/timing/step_line.h"

namespace fuseflow::engine {
namespace {

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  uint32_t operator()() { return static_cast<uint32_t>(engine_()); }

 private:
  std::mt19937 engine_;
};

/// Times that do not decrease, mostly close together, now and then far apart, and stretches of
/// regular ones.
std::vector<int64_t> random_times(Random& random, size_t count, int64_t start) {
  std::vector<int64_t> times;
  int64_t time = start;
  uint32_t regular = 0;
  uint32_t step = 1;
  while (times.size() < count) {
    if (regular > 0) {
      --regular;
      time += step;
    } else {
      time += random() % 16 == 0 ? random() % 60 : random() % 3;
      if (random() % 8 == 0) {
        regular = random() % 200;
        step = random() % 4;
      }
    }
    times.push_back(time);
  }
  return times;
}

/// Appends times as a node would: regular ones as lines, some of them split.
void append_some(TimeLines& lines, const std::vector<int64_t>& times, size_t first, size_t end) {
  while (first < end) {
    const size_t k = first++;
    const int64_t step = first < end ? times[first] - times[k] : 0;
    while (first < end && times[first] - times[first - 1] == step) ++first;
    const auto n = static_cast<int64_t>(first - k);
    if (lines.lacks(n)) lines.make_room(n, 0);
    if (n > 2) {
      lines.append_line(n, times[k], step);
    } else {
      lines.append(&times[k], n);
    }
  }
}

TEST(Replay, LinesHoldTheTimes) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const size_t count = 1 + random() % 3000;
    const std::vector<int64_t> times = random_times(random, count, 0);
    const std::vector<int64_t> others = random_times(random, count, random() % 3);
    TimeLines lines;
    TimeLines other;
    for (size_t k = 0; k < count;) {
      const size_t end = std::min<size_t>(count, k + 1 + random() % 300);
      append_some(lines, times, k, end);
      append_some(other, others, k, end);
      k = end;
    }
    ASSERT_EQ(lines.end(), static_cast<int64_t>(count));
    TimeLines::Cursor cursor;
    for (int64_t k = 0; k < lines.end();) {
      const TimeLines::Stretch s = lines.stretch(k, 1 + random() % 100, cursor);
      for (int64_t j = 0; j < s.count; ++j) ASSERT_EQ(s.at(j), times[static_cast<size_t>(k + j)]);
      k += s.count;
    }
    for (int asked = 0; asked < 200; ++asked) {
      const int64_t k = random() % lines.end();
      ASSERT_EQ(lines.at(k, cursor), times[static_cast<size_t>(k)]);
      const int64_t first = random() % (lines.end() + 1);
      const int64_t last = first + random() % (lines.end() + 1 - first);
      const int64_t time = random() % (times.back() + 2);
      const auto found = std::lower_bound(times.begin() + first, times.begin() + last, time);
      ASSERT_EQ(lines.first_from(time, first, last, cursor), found - times.begin());
      const int64_t n = random() % (lines.end() - std::max(k, first) + 1);
      const bool all = std::equal(times.begin() + k, times.begin() + k + n, others.begin() + first,
                                  [](int64_t a, int64_t b) { return a < b; });
      ASSERT_EQ(lines.before(k, {}, other, first, {}, n), all);
      if (random() % 2 == 0) lines.find(k, cursor);
    }
  }
}

/// Token k meets those not taken before its time.
int64_t peak_of(const std::vector<int64_t>& gives, const std::vector<int64_t>& takes) {
  int64_t peak = 0;
  for (size_t k = 0; k < gives.size(); ++k) {
    const auto waiting = std::count_if(takes.begin(), takes.begin() + static_cast<int64_t>(k),
                                       [&](int64_t take) { return take >= gives[k]; });
    peak = std::max<int64_t>(peak, waiting + 1);
  }
  return peak;
}

TEST(Replay, PeaksAreThoseOfTheDefinition) {
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    const size_t count = 1 + random() % (seed % 4 == 0 ? 1500 : 70);
    const std::vector<int64_t> gives = random_times(random, count, 0);
    std::vector<int64_t> takes = random_times(random, count, 1);
    for (size_t k = 0; k < count; ++k) {
      takes[k] = std::max(takes[k], gives[k] + 1 + static_cast<int64_t>(seed % 4));
      if (k > 0) takes[k] = std::max(takes[k], takes[k - 1]);
    }
    OutputTimes source;
    Fifo fifo(source, 0);
    const auto size = static_cast<int64_t>(count);
    while (fifo.taken() < size) {
      for (uint32_t n = random() % 100; n > 0 && source.given < size; --n) {
        source.give(gives[static_cast<size_t>(source.given)]);
      }
      for (uint32_t n = random() % 100; n > 0 && fifo.taken() < source.given; --n) {
        fifo.take(takes[static_cast<size_t>(fifo.taken())]);
      }
      if (random() % 8 == 0) fifo.measure();
    }
    ASSERT_EQ(fifo.peak(), peak_of(gives, takes)) << "seed " << seed;
  }
}

TEST(Replay, TimesCrossTheBoundaryAndComeBack) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const size_t count = 1 + random() % 3000;
    const std::vector<int64_t> times = random_times(random, count, 5);
    TimeLines lines;
    append_some(lines, times, 0, count);
    TimeLines back;
    TimesReader reader;
    int64_t before = INT64_MIN / 2;
    while (reader.position() < lines.end()) {
      const int64_t first = reader.position();
      const auto n =
          static_cast<uint32_t>(std::min<int64_t>(lines.end() - first, 1 + random() % 200));
      const TimeRef ref = reader.read(lines, n);
      for (uint32_t k = 0; k < n; ++k) {
        ASSERT_EQ(ref.at(k), times[static_cast<size_t>(first + k)]);
        ASSERT_GE(ref.at(k) - before, ref.times->gap);
        before = ref.at(k);
      }
      if (back.lacks(n)) back.make_room(n, 0);
      append_times(back, ref.later(3), n);
    }
    ASSERT_EQ(back.end(), static_cast<int64_t>(count));
    for (size_t k = 0; k < count; ++k) {
      ASSERT_EQ(back.at(static_cast<int64_t>(k), {}), times[k] + 3);
    }
  }
}

TEST(Replay, PeaksOfWhatComesFromOutsideAreThoseOfTheDefinition) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const size_t count = 1 + random() % 1500;
    const std::vector<int64_t> gives = random_times(random, count, 0);
    std::vector<int64_t> takes = random_times(random, count, 1);
    for (size_t k = 0; k < count; ++k) takes[k] = std::max(takes[k], gives[k] + 1);
    TimeLines given;
    append_some(given, gives, 0, count);
    TimesReader reader;
    OutputTimes source;
    Fifo fifo(source, 0);
    fifo.fed = std::make_unique<FedPeak>();
    for (size_t k = 0; k < count;) {
      const size_t end = std::min<size_t>(count, k + 1 + random() % 300);
      const auto n = static_cast<uint32_t>(end - k);
      fifo.fed->give(reader.read(given, n), n);
      source.reserve(n);
      for (; k < end; ++k) source.give(gives[k]);
      while (fifo.taken() < source.given && random() % 50 != 0) {
        fifo.take(takes[static_cast<size_t>(fifo.taken())]);
      }
    }
    while (fifo.taken() < source.given) fifo.take(takes[static_cast<size_t>(fifo.taken())]);
    ASSERT_EQ(fifo.peak(), peak_of(gives, takes)) << "seed " << seed;
  }
}

TEST(Replay, ALineOfStepsIsThatOfTheRecurrence) {
  int solved = 0;
  for (uint32_t seed = 0; seed < 20000; ++seed) {
    Random random(seed);
    const int64_t n = 1 + random() % 60;
    const int64_t cost = random() % 3;
    const int64_t free_at = random() % 40;
    std::vector<int64_t> bounds(static_cast<size_t>(n), 0);
    const auto bound = [&](int64_t k, int64_t time) {
      bounds[static_cast<size_t>(k)] = std::max(bounds[static_cast<size_t>(k)], time);
    };
    StepLine line;
    line.start(free_at, cost);
    bool good = true;
    for (uint32_t inputs = random() % 3; inputs > 0; --inputs) {
      const int64_t start = random() % 80;
      const int64_t step = random() % 4;
      for (int64_t k = 0; k < n; ++k) bound(k, start + step * k);
      good = good && line.follow(start, step);
    }
    Waits waits;
    for (uint32_t ports = random() % 3; ports > 0; --ports) {
      const size_t others = waits.size();
      for (int64_t k = random() % 20; k < n; k += 1 + random() % 20) {
        const int64_t time = random() % 200;
        waits.put(static_cast<uint32_t>(k), time);
        bound(k, time);
      }
      waits.merge(others);
    }
    const int64_t some = good ? line.solve(waits, n) : 0;
    if (some == 0) continue;
    solved += some == n ? 1 : 0;
    std::vector<int64_t> times;
    std::vector<uint32_t> places;
    for (int64_t k = 0; k < some; ++k) {
      const int64_t earliest = k == 0 ? free_at : times.back() + cost;
      times.push_back(std::max(earliest, bounds[static_cast<size_t>(k)]));
      places.push_back(static_cast<uint32_t>(7 + k));
      ASSERT_EQ(line.at(k), times.back()) << "seed " << seed << ", step " << k;
    }
    std::vector<int64_t> at(times.size());
    line.at_each(places.data(), some, 7, at.data());
    ASSERT_EQ(at, times) << "seed " << seed;
    const int64_t time = times.front() + random() % (times.back() - times.front() + 1);
    const auto found = std::lower_bound(times.begin(), times.end(), time);
    ASSERT_EQ(line.first_from(time), found - times.begin()) << "seed " << seed;
  }
  EXPECT_GT(solved, 5000);
}

/// What the steps of a node with two inputs and an output do.
struct DrawnStep {
  uint32_t need[2] = {0, 0};
  uint32_t take[2] = {0, 0};
  uint32_t give = 0;
  int64_t cost = 1;
};

/// A node with two inputs and an output to one consumer, whose steps are drawn.
struct Drawn {
  std::vector<DrawnStep> types;
  std::vector<uint32_t> steps;  // by step: type
  std::vector<int64_t> arrivals[2];
  std::vector<int64_t> delays;  // by token given: of the consumer
  int64_t depth;
  StepSource source;
  std::vector<Steps> batches;

  /// What a type needs and takes at a port.
  static void draw_need(Random& random, size_t port, uint32_t shape, int t, DrawnStep& type) {
    const uint32_t same = 1 + shape / 4 % 3;
    const auto set = [&](uint32_t need, uint32_t take) {
      type.need[port] = need;
      type.take[port] = std::min(need, take);
    };
    switch (shape % 5) {
      case 0:
        return set(1, 1);
      case 1:
        return set(same, 1);
      case 2:
        return set(random() % 5 == 0 ? 0 : same, random() % 2);
      case 3:
        return set(t % 2, t % 2);
      default:
        const uint32_t need = random() % (t == 0 ? 7 : 3);
        return set(need, random() % (t < 2 ? 3 : 2));
    }
  }

  explicit Drawn(Random& random) : depth(random() % 3 == 0 ? 0 : 1 + random() % 70) {
    std::array<uint32_t, 2> shapes = {random(), random()};
    for (uint32_t& shape : shapes) {
      if (random() % 3 == 0) shape -= shape % 5;  // every step takes a token
    }
    const bool even = random() % 2 == 0;  // all cost the same, and most give
    for (int t = 0; t < 6; ++t) {
      DrawnStep type;
      for (size_t port = 0; port < 2; ++port) draw_need(random, port, shapes[port], t, type);
      type.give = even && t != 1 ? 1 : random() % (t == 1 ? 3 : 2);
      type.cost = even ? 1 : random() % 8 == 0 ? 0 : 1 + random() % 2;
      if (depth > 0 && type.give > depth) type.give = 1;
      types.push_back(type);
    }
    size_t wanted[2] = {8, 8};
    size_t given = 0;
    for (uint32_t left = 1 + random() % 600; left > 0; --left) {
      const uint32_t t = random() % 6;
      const uint32_t count = random() % 4 == 0 ? 1 + random() % 90 : 1;
      for (uint32_t k = 0; k < count; ++k) {
        steps.push_back(t);
        for (size_t port = 0; port < 2; ++port) wanted[port] += types[t].take[port];
        given += types[t].give;
      }
    }
    for (size_t port = 0; port < 2; ++port) arrivals[port] = random_times(random, wanted[port], 3);
    for (size_t k = 0; k < given; ++k) delays.push_back(random() % 12 == 0 ? random() % 40 : 1);
    source.own_lanes(2, 1);
    for (size_t k = 0; k < steps.size();) {
      const size_t end = std::min(steps.size(), k + 1 + random() % (random() % 2 == 0 ? 20 : 3000));
      add_batch(random, k, end);
      k = end;
    }
  }

  void add_batch(Random& random, size_t first, size_t end) {
    source.now.clear();
    for (size_t port = 0; port < 2; ++port) add_takes(random, port, first, end);
    const auto give = [this](size_t k) { return types[steps[k]].give; };
    add_lane(random, source.now.out[0], first, end, give, give);
    for (size_t k = first; k < end; ++k) source.now.add(1, types[steps[k]].cost);
    batches.push_back(source.take_batch());
  }
  void add_takes(Random& random, size_t port, size_t first, size_t end) {
    add_lane(
        random, source.now.in[port], first, end,
        [&](size_t k) { return types[steps[k]].need[port]; },
        [&](size_t k) { return types[steps[k]].take[port]; });
  }
  /// Adds a lane's tokens as every step, as ranges, or as a list, whatever is possible.
  template <typename Need, typename Take>
  static void add_lane(Random& random, Lane& lane, size_t first, size_t end, Need&& need,
                       Take&& take) {
    bool each = true;
    bool ranges = true;
    bool same = true;
    for (size_t k = first; k < end; ++k) {
      same = same && need(k) == take(k);
      ranges = ranges && same && take(k) <= 1;
      each = each && ranges && take(k) == 1;
    }
    if (each && random() % 4 > 0) return;
    if (ranges && random() % 2 == 0) {
      lane.kind = Lane::Kind::ranges;
      for (size_t k = first; k < end; ++k) {
        lane.add_range(static_cast<uint32_t>(k - first), take(k));
      }
      return;
    }
    lane.list();
    for (size_t k = first; k < end; ++k) {
      const auto step = static_cast<uint32_t>(k - first);
      for (uint32_t t = 0; !same && t < need(k); ++t) lane.needs(step, t);
      lane.at.insert(lane.at.end(), take(k), step);
    }
  }

  /// When the consumer takes token k, after the tokens before it.
  void take_next(std::vector<int64_t>& takes, int64_t give) const {
    const int64_t free_at = takes.empty() ? 0 : takes.back() + 1;
    takes.push_back(std::max(free_at, give + delays[takes.size()]));
  }
};

/// The takes of the two inputs and the gives, by the recurrence.
std::array<std::vector<int64_t>, 3> expected(const Drawn& node) {
  std::array<std::vector<int64_t>, 3> times;
  std::vector<int64_t> consumed;
  int64_t free_at = 0;
  for (const uint32_t step : node.steps) {
    const DrawnStep& type = node.types[step];
    int64_t t = free_at;
    for (size_t port = 0; port < 2; ++port) {
      if (type.need[port] == 0) continue;
      t = std::max(t, node.arrivals[port][times[port].size() + type.need[port] - 1]);
    }
    const int64_t index = static_cast<int64_t>(times[2].size()) + type.give - 1 - node.depth;
    if (type.give > 0 && node.depth > 0 && index >= 0) {
      t = std::max(t, consumed[static_cast<size_t>(index)] + 1);
    }
    for (size_t port = 0; port < 2; ++port) {
      times[port].insert(times[port].end(), type.take[port], t);
    }
    for (uint32_t k = 0; k < type.give; ++k) {
      times[2].push_back(t);
      node.take_next(consumed, t);
    }
    free_at = t + type.cost;
  }
  return times;
}

TEST(Replay, PiecesGiveWhatTheRecurrenceGives) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    Random random(seed);
    Drawn node(random);
    const auto times = expected(node);
    OutputTimes sources[2];
    constexpr int64_t kDeep = 1 << 20;  // all takes are kept, for credits
    Fifo inputs[2] = {Fifo(sources[0], kDeep), Fifo(sources[1], kDeep)};
    OutputTimes output;
    Fifo consumer(output, node.depth);
    NodeReplay replay(0);
    StepSolver solver;
    for (Fifo& input : inputs) input.latency = 0;
    replay.inputs = {&inputs[0], &inputs[1]};
    replay.outputs = {&output};
    for (Steps& batch : node.batches) {
      node.source.now = std::move(batch);
      replay.fetch(node.source);
    }
    std::vector<int64_t> taken[3];  // of the inputs, and by the consumer
    int64_t horizon = 0;
    for (int idle = 0; !replay.idle() && idle < 1000; ++idle) {
      for (size_t port = 0; port < 2; ++port) {
        OutputTimes& source = sources[port];
        const std::vector<int64_t>& arrivals = node.arrivals[port];
        const auto given = static_cast<size_t>(source.given);
        const size_t n = random() % (seed % 2 == 0 ? 40 : 1500);
        append_some(source.times, arrivals, given, std::min(arrivals.size(), given + n));
        source.given = source.times.end();
      }
      const int64_t before = output.given;
      horizon += random() % 50;
      if (replay.advance(solver, random() % 2 == 0 ? INT64_MAX : horizon)) idle = 0;
      for (size_t port = 0; port < 2; ++port) {
        for (auto k = static_cast<int64_t>(taken[port].size()); k < inputs[port].taken(); ++k) {
          taken[port].push_back(inputs[port].takes.at(k, {}));
        }
      }
      for (int64_t k = before; k < output.given; ++k) {
        ASSERT_EQ(output.times.at(k, {}), times[2][static_cast<size_t>(k)]) << "seed " << seed;
        node.take_next(taken[2], output.times.at(k, {}));
        consumer.take(taken[2].back());
      }
    }
    ASSERT_TRUE(replay.idle()) << "seed " << seed;
    ASSERT_EQ(taken[0], times[0]) << "seed " << seed;
    ASSERT_EQ(taken[1], times[1]) << "seed " << seed;
    ASSERT_EQ(output.given, static_cast<int64_t>(times[2].size())) << "seed " << seed;
  }
}

/// Answers as it is told to, by number.
class ToldMemory final : public Memory {
 public:
  void advance(int64_t, std::vector<MemoryAnswer>&) override {}
  int64_t least_latency() const override { return 1; }
};

TEST(Replay, ABurstIsThereWhenAllBeforeItAre) {
  ToldMemory memory;
  MemoryPort port{&memory, 0, false, {0, 64, 128}};
  OutputTimes bursts;
  bursts.memory = &port;
  Fifo fifo(bursts, 8);
  NodeReplay takes(0);
  takes.inputs = {&fifo};
  StepSource source;
  source.own_lanes(1, 0);
  source.now.add(2, 1);
  source.now.in.front().list().at = {0, 0, 1};
  takes.fetch(source);
  StepSolver solver;
  for (int k = 0; k < 3; ++k) bursts.give(k);
  bursts.answer(1, 90);
  bursts.answer(2, 95);
  EXPECT_FALSE(takes.advance(solver));
  bursts.answer(0, 100);
  EXPECT_TRUE(takes.advance(solver));
  EXPECT_EQ(fifo.takes.at(0, {}), 100);
  EXPECT_EQ(fifo.takes.at(1, {}), 100);
  EXPECT_EQ(fifo.takes.at(2, {}), 101);
}

}  // namespace
}  // namespace fuseflow::engine
