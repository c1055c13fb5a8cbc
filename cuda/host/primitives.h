// The functions of one core on the CPU: barriers, copies, products, memory. See gpu/primitives.h.
#pragma once

#include <algorithm>
#include <memory>

namespace ff {

/// A tensor's elements as f32, rounded to its type, and what kernels add to.
struct Params {
  const View* views;
  std::vector<std::vector<float>>* tensors;
  const Tensor* described;
  std::vector<float>* sums;
  std::vector<int>* counters;
  int rows;  ///< of kernels of a table of plans
};

template <int kGroups>
struct CoreOf {
  ClusterState* cluster;
  int rank;
  bool produces;
  static constexpr int kReleases = 1, kLanes = 1, kThreads = 1, kWarps = 1;
  int lane() const { return 0; }
  int thread() const { return 0; }
  int warp() const { return 0; }
  CoreState& state() const { return cluster->core(rank); }
  Marks& marks() const { return state().marks[produces ? 1 : 0]; }
};

template <class Core>
int cluster_of(const Core& core) {
  return core.cluster->number;
}
template <class Core>
int rank_of(const Core& core) {
  return core.rank;
}
template <class Core>
bool is_producer(const Core& core) {
  return core.produces;
}

// Granules: every access says what it needs to have happened before.

template <class Visit>
void granules(CoreState& core, int at, int bytes, Visit visit) {
  if (at < 0 || bytes < 0 || static_cast<size_t>(at + bytes) > core.scratchpad.size())
    fail("outside of the scratchpad");
  for (int g = at / 16; g < (at + bytes + 15) / 16; ++g)
    visit(core.granules[static_cast<size_t>(g)], g);
}

inline void may_overwrite(const Granule& granule, const Clock& clock) {
  if (granule.arriving > 0) fail("two writes to the same place with nothing between them");
  if (granule.being_read > 0) fail("overwrites what a product or a copy still reads");
  if (!known(granule.written, clock)) fail("overwrites what it has not waited for");
  for (const Event& read : granule.reads) {
    if (!known(read, clock)) fail("overwrites what others may still read");
  }
}

inline void may_read(const Granule& granule, const Clock& clock) {
  if (granule.arriving > 0) fail("reads what is still on its way");
  if (!granule.defined) fail("reads what nobody wrote");
  if (!known(granule.written, clock)) fail("reads what it has not waited for");
}

inline void note_read(Granule& granule, const Event& event) {
  for (Event& read : granule.reads) {
    if (read.actor == event.actor) {
      read.time = std::max(read.time, event.time);
      return;
    }
  }
  granule.reads.push_back(event);
}

/// Threads begin to write bytes of the scratchpad.
template <class Core>
void write_begins(const Core& core, int at, int bytes) {
  Marks& marks = core.marks();
  granules(core.state(), at, bytes, [&](Granule& granule, int g) {
    may_overwrite(granule, core.cluster->clock());
    if (granule.unread && !core.produces)
      fail("threads overwrite what other threads may still read");
    granule.unread = false;
    granule.written = core.cluster->event();
    granule.reads.clear();
    granule.defined = true;
    if (!granule.unfenced) marks.unfenced.push_back(g);
    if (!granule.unmet) marks.unseen.push_back(g);
    granule.unfenced = granule.unseen = granule.unmet = true;
  });
}

/// A product or a copy, which runs beside the threads, reads bytes of the scratchpad.
template <class Core>
void engine_reads(const Core& core, int at, int bytes) {
  granules(core.state(), at, bytes, [&](Granule& granule, int) {
    may_read(granule, core.cluster->clock());
    if (granule.unfenced) fail("a product or a copy reads what threads wrote without a fence");
    if (granule.unmet)
      fail("a product or a copy reads what other threads may not have written yet");
    ++granule.being_read;
  });
}
inline void engine_has_read(CoreState& core, int at, int bytes, const Event& event) {
  granules(core, at, bytes, [&](Granule& granule, int) {
    --granule.being_read;
    note_read(granule, event);
  });
}

// Barriers.

inline void settle(ClusterState& cluster, int rank, int number) {
  Barrier& barrier = cluster.core(rank).barriers[static_cast<size_t>(number)];
  if (barrier.left != 0 || barrier.bytes != 0) return;
  ++barrier.phase;
  barrier.left = barrier.count;
  barrier.gathered.seen[static_cast<size_t>(cluster.barrier_actor(rank, number))] = barrier.phase;
  barrier.released = barrier.gathered;
}

inline Barrier& barrier_at(ClusterState& cluster, int rank, int number, const Clock& clock) {
  if (number < 0 || number >= kMostBarriers) fail("no such barrier");
  CoreState& core = cluster.core(rank);
  Barrier& barrier = core.barriers[static_cast<size_t>(number)];
  if (core.running == 0) fail("a message to a core that has ended");
  if (!barrier.begun || !known(barrier.begin, clock)) fail("a barrier is used before it has begun");
  return barrier;
}

inline void arrive(ClusterState& cluster, int rank, int number, int times, long bytes) {
  Barrier& barrier = barrier_at(cluster, rank, number, cluster.clock());
  if (barrier.left < times) fail("more arrivals at a barrier than it has");
  barrier.gathered.join(cluster.clock());
  if (rank != cluster.now() / 2) {
    uint32_t& touched = cluster.core(rank).touched.seen[static_cast<size_t>(cluster.now())];
    touched = std::max(touched, cluster.event().time);
  }
  ++cluster.clock().seen[static_cast<size_t>(cluster.now())];
  barrier.left -= times;
  barrier.bytes += bytes;
  settle(cluster, rank, number);
}

/// Bytes that a copy brings; what it knew goes with them. Gives the event of their arrival.
inline Event bytes_arrive(ClusterState& cluster, int rank, int number, long bytes,
                          const Clock& clock) {
  Barrier& barrier = barrier_at(cluster, rank, number, clock);
  barrier.gathered.join(clock);
  barrier.bytes -= bytes;
  const Event event{cluster.barrier_actor(rank, number), barrier.phase + 1};
  settle(cluster, rank, number);
  return event;
}

template <class Core>
void barrier_begin(const Core& core, int number, int count) {
  if (!core.produces) return;
  Barrier& barrier = core.state().barriers.at(static_cast<size_t>(number));
  if (barrier.begun) fail("a barrier begins twice");
  barrier.count = barrier.left = count;
  barrier.begun = true;
  barrier.begin = core.cluster->event();
  barrier.gathered = barrier.released = core.cluster->no_clock();
}
template <class Core>
void barrier_expect(const Core& core, int number, long bytes) {
  arrive(*core.cluster, core.rank, number, 1, bytes);
}
template <class Core>
void barrier_wait(const Core& core, int number, unsigned parity) {
  Barrier& barrier = barrier_at(*core.cluster, core.rank, number, core.cluster->clock());
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (int i = 0; i < kMostBarriers; ++i) all.push_back("barrier " + std::to_string(i));
    return all;
  }();
  core.cluster->wait([&barrier, parity] { return (barrier.phase & 1) != parity; },
                     names[static_cast<size_t>(number)].c_str());
  core.cluster->clock().join(barrier.released);
}
/// The warp that sends, alone, with its lanes together.
template <class Core>
void sender_wait(const Core& core, int number, unsigned parity) {
  barrier_wait(core, number, parity);
}
/// A message of one thread for all: that they have read or written.
template <class Core>
void barrier_arrive(const Core& core, int number, int rank) {
  arrive(*core.cluster, rank, number, 1, 0);
}
template <class Core>
void barrier_release(const Core& core, int number, const Peers& peers) {
  for (int i = 0; i < peers.count; ++i) arrive(*core.cluster, peers.at(i), number, 1, 0);
  core.cluster->pass();
}
template <class Core>
void cluster_sync(const Core& core) {
  core.cluster->meet();
}
/// All threads of the role meet. What one of them wrote and has not fenced is not seen after it,
/// either.
template <class Core>
void group_sync(const Core& core) {
  CoreState& state = core.state();
  Marks& marks = core.marks();
  std::erase_if(marks.unseen, [&](int g) {
    Granule& granule = state.granules[static_cast<size_t>(g)];
    granule.unseen = false;
    granule.unmet = granule.unmet && granule.unfenced;
    return !granule.unmet;
  });
  for (const int g : marks.unread) state.granules[static_cast<size_t>(g)].unread = false;
  marks.unread.clear();
}
template <class Core>
void fence_async(const Core& core) {
  for (const int g : core.marks().unfenced)
    core.state().granules[static_cast<size_t>(g)].unfenced = false;
  core.marks().unfenced.clear();
}

// Copies.

/// A copy to the scratchpads of several cores, under way from here on.
inline void arrives(ClusterState& cluster, int rank, int at, int bytes) {
  CoreState& core = cluster.core(rank);
  if (core.running == 0) fail("a copy to a core that has ended");
  granules(core, at, bytes, [&](Granule& granule, int) {
    may_overwrite(granule, cluster.clock());
    ++granule.arriving;
  });
}
inline void has_arrived(CoreState& core, int at, int bytes, const Event& event) {
  granules(core, at, bytes, [&](Granule& granule, int) {
    --granule.arriving;
    granule.written = event;
    granule.reads.clear();
    granule.defined = true;
    granule.unfenced = granule.unseen = granule.unmet = granule.unread = false;
  });
}

inline void put_bits(CoreState& core, int at, Type type, uint32_t bits) {
  std::memcpy(&core.scratchpad[static_cast<size_t>(at)], &bits,
              static_cast<size_t>(bytes_of(type)));
}
inline uint32_t bits_at(const CoreState& core, int at, Type type) {
  uint32_t bits = 0;
  std::memcpy(&bits, &core.scratchpad[static_cast<size_t>(at)],
              static_cast<size_t>(bytes_of(type)));
  return bits;
}
template <class Core>
void note_gather(const Core& core, int bytes) {
  core.cluster->counts.gathered += bytes;
}
template <class Core>
void copy_box(const Core& core, int to, const Params& params, int view, int inner, int outer,
              int batch, int box, int panel, int barrier, const Peers& peers, unsigned takers) {
  ClusterState* cluster = core.cluster;
  const View& v = params.views[view];
  if (v.box_inner != panel || v.box_outer != box) fail("a copy of another box than its view has");
  const Type type = params.described[v.tensor].type;
  const int size = bytes_of(type), pitch = panel * size, bytes = box * pitch;
  for (int i = 0; i < peers.count; ++i) {
    if ((takers >> i & 1U) != 0) arrives(*cluster, peers.at(i), to, bytes);
  }
  // What fills a product is read where the tensor has it.
  const long of_tile = v.tile_inner - inner % v.tile_inner,
             there = std::max(of_tile, v.inner - inner);
  for (int o = 0; o < box; ++o) {
    if (o < v.tile_outer || outer + o < v.outer)
      cluster->counts.loaded += std::min<long>(panel, there) * size;
  }
  const Clock clock = cluster->clock();
  const std::vector<float>* data = &(*params.tensors)[static_cast<size_t>(v.tensor)];
  cluster->ask(0, [=] {
    for (int i = 0; i < peers.count; ++i) {
      if ((takers >> i & 1U) == 0) continue;
      CoreState& state = cluster->core(peers.at(i));
      for (int o = 0; o < box; ++o) {
        for (int c = 0; c < panel; ++c) {
          const bool inside = outer + o >= 0 && outer + o < v.outer && inner + c >= 0 &&
                              inner + c < v.inner && batch >= 0 && batch < v.batches;
          const float x = inside ? (*data)[static_cast<size_t>(batch * v.batch_pitch +
                                                               (outer + o) * v.pitch + inner + c)]
                                 : 0;
          const int moved = swizzle(to / pitch + o, pitch);  // swizzles follow the address
          const int chunk = 16 / size;
          put_bits(state, to + o * pitch + ((c / chunk) ^ moved) * 16 + c % chunk * size, type,
                   bits_to_load(type, x));
        }
      }
      has_arrived(state, to, bytes, bytes_arrive(*cluster, peers.at(i), barrier, bytes, clock));
    }
  });
  cluster->pass();
}

template <class Core>
void send(const Core& core, int rank, int from, int to, int bytes, int barrier) {
  ClusterState* cluster = core.cluster;
  if (bytes == 0) return;
  engine_reads(core, from, bytes);
  arrives(*cluster, rank, to, bytes);
  cluster->counts.sent += bytes;
  const Clock clock = cluster->clock();
  const int source = core.rank;
  cluster->ask(0, [=] {
    CoreState& mine = cluster->core(source);
    CoreState& other = cluster->core(rank);
    std::memcpy(&other.scratchpad[static_cast<size_t>(to)],
                &mine.scratchpad[static_cast<size_t>(from)], static_cast<size_t>(bytes));
    const Event event = bytes_arrive(*cluster, rank, barrier, bytes, clock);
    has_arrived(other, to, bytes, event);
    engine_has_read(mine, from, bytes, event);
  });
  cluster->pass();
}

// Threads and the scratchpad.

/// 16 bytes of elements.
template <Type kElement>
struct Chunk {
  static constexpr int kSize = bytes_of(kElement);
  unsigned char bytes[16];
  void set(int i, uint32_t bits) { std::memcpy(bytes + i * kSize, &bits, kSize); }
};
template <class Core, Type kElement>
void put_chunk(const Core& core, int at, const Chunk<kElement>& chunk) {
  write_begins(core, at, 16);
  std::memcpy(&core.state().scratchpad[static_cast<size_t>(at)], chunk.bytes, 16);
}
template <Type kElement>
uint32_t read_bits(const Params& params, int tensor, long at) {
  if (params.described[tensor].type != kElement) fail("gathers elements of another type");
  return bits_to_load(kElement,
                      (*params.tensors)[static_cast<size_t>(tensor)].at(static_cast<size_t>(at)));
}
/// A tile that the producer's threads wrote is there, fenced.
template <class Core>
void gathered(const Core& core, int barrier) {
  fence_async(core);
  group_sync(core);
  arrive(*core.cluster, core.rank, barrier, 1, 0);
  core.cluster->pass();
}
template <class Core>
void put_pair(const Core& core, int at, float x, float y) {
  write_begins(core, at, 8);
  std::memcpy(&core.state().scratchpad[static_cast<size_t>(at)], &x, 4);
  std::memcpy(&core.state().scratchpad[static_cast<size_t>(at) + 4], &y, 4);
}
template <class Core>
void read_begins(const Core& core, int at, int bytes) {
  granules(core.state(), at, bytes, [&](Granule& granule, int g) {
    may_read(granule, core.cluster->clock());
    if (granule.unseen) fail("a thread reads what another one may not have written yet");
    note_read(granule, core.cluster->event());
    if (!granule.unread) core.marks().unread.push_back(g);
    granule.unread = true;
  });
}
template <class Core>
void get_pair(const Core& core, int at, float& x, float& y) {
  read_begins(core, at, 8);
  std::memcpy(&x, &core.state().scratchpad[static_cast<size_t>(at)], 4);
  std::memcpy(&y, &core.state().scratchpad[static_cast<size_t>(at) + 4], 4);
}
template <Type kElement, class Core>
void put_elements(const Core& core, int at, float x, float y) {
  constexpr int kSize = bytes_of(kElement);
  write_begins(core, at, 2 * kSize);
  put_bits(core.state(), at, kElement, bits_to_put(kElement, x));
  put_bits(core.state(), at + kSize, kElement, bits_to_put(kElement, y));
}

/// One f32, and one element, that threads share; `own`: which a warp has for itself.
template <class Core>
void put_one(const Core& core, int at, float x) {
  write_begins(core, at, 4);
  std::memcpy(&core.state().scratchpad[static_cast<size_t>(at)], &x, 4);
}
template <class Core>
float get_one(const Core& core, int at) {
  float x;
  read_begins(core, at, 4);
  std::memcpy(&x, &core.state().scratchpad[static_cast<size_t>(at)], 4);
  return x;
}
template <class Core>
void put_own(const Core& core, int at, float x) {
  granules(core.state(), at, 4, [&](Granule& granule, int) {
    may_overwrite(granule, core.cluster->clock());
    granule.defined = true;
  });
  std::memcpy(&core.state().scratchpad[static_cast<size_t>(at)], &x, 4);
}
template <class Core>
float get_own(const Core& core, int at) {
  float x;
  granules(core.state(), at, 4,
           [&](Granule& granule, int) { may_read(granule, core.cluster->clock()); });
  std::memcpy(&x, &core.state().scratchpad[static_cast<size_t>(at)], 4);
  return x;
}
template <Type kElement, class Core>
float get_element(const Core& core, int at) {
  read_begins(core, at, bytes_of(kElement));
  return from_bits(kElement, bits_at(core.state(), at, kElement));
}
template <Type kElement, class Core>
void put_element(const Core& core, int at, float x) {
  write_begins(core, at, bytes_of(kElement));
  put_bits(core.state(), at, kElement, bits_to_put(kElement, x));
}

// Products.

/// f32 sums of kRows x kColumns.
template <class Core, int kRows_, int kColumns_>
struct Sums {
  static constexpr int kRows = kRows_, kColumns = kColumns_;
  std::vector<float> at = std::vector<float>(static_cast<size_t>(kRows) * kColumns);
  std::vector<std::function<void()>> reads;  ///< of products that have not been waited for
  void clear() { std::fill(at.begin(), at.end(), 0.0F); }
  template <class Visit>
  void pairs(const Core&, Visit visit) {
    if (!reads.empty()) fail("uses sums before the product has been waited for");
    for (int r = 0; r < kRows; ++r) {
      for (int c = 0; c < kColumns; c += 2)
        visit(r, c, at[static_cast<size_t>(r * kColumns + c)],
              at[static_cast<size_t>(r * kColumns + c + 1)]);
    }
  }
  template <class Visit>
  void pairs(const Core& core, Sums& other, Visit visit) {
    if (!other.reads.empty()) fail("uses sums before the product has been waited for");
    pairs(core, [&](int r, int c, float& x, float& y) {
      const auto i = static_cast<size_t>(r * kColumns + c);
      visit(r, c, x, y, other.at[i], other.at[i + 1]);
    });
  }
};

/// What instructions read: of f32 the digits of tf32 alone, whatever follows them.
template <class M>
std::vector<float> elements_of(const CoreState& core, int at) {
  std::vector<float> all(static_cast<size_t>(M::kRows) * M::kColumns);
  for (int r = 0; r < M::kRows; ++r) {
    for (int c = 0; c < M::kColumns; ++c) {
      const uint32_t bits = bits_at(core, at + M::at(r, c), M::kElement);
      all[static_cast<size_t>(r * M::kColumns + c)] =
          from_bits(M::kElement, bits & ~(step_of(M::kElement) - 1));
    }
  }
  return all;
}

/// sums += left * right: any time before it is waited for.
template <class A, class B, class Core, class S>
void multiply(const Core& core, S& sums, int left, int right) {
  static_assert(A::kColumns == B::kRows && A::kRows == S::kRows && B::kColumns == S::kColumns);
  static_assert(has_instruction<A, B>());
  engine_reads(core, left, A::kBytes);
  engine_reads(core, right, B::kBytes);
  CoreState* state = &core.state();
  S* to = &sums;
  auto done = std::make_shared<bool>(false);
  const auto product = [=] {
    if (*done) return;
    *done = true;
    const std::vector<float> a = elements_of<A>(*state, left), b = elements_of<B>(*state, right);
    for (int i = 0; i < A::kRows; ++i) {
      float* out = &to->at[static_cast<size_t>(i) * S::kColumns];
      for (int k = 0; k < A::kColumns; ++k) {
        const float x = a[static_cast<size_t>(i) * A::kColumns + k];
        const float* y = &b[static_cast<size_t>(k) * S::kColumns];
        for (int j = 0; j < S::kColumns; ++j) out[j] += x * y[j];
      }
    }
  };
  if (core.cluster->random() % 2 == 0) {
    product();
  } else {
    core.cluster->ask(1, product);
  }
  sums.reads.push_back([=] {
    engine_has_read(*state, left, A::kBytes, core.cluster->event());
    engine_has_read(*state, right, B::kBytes, core.cluster->event());
    for (const auto& [at, bytes] : {std::pair{left, A::kBytes}, std::pair{right, B::kBytes}}) {
      granules(*state, at, bytes, [&](Granule& granule, int g) {
        if (!granule.unread) core.marks().unread.push_back(g);
        granule.unread = true;
      });
    }
  });
  core.cluster->pass();
}
template <class Core, class S>
void multiply_wait(const Core& core, S& sums) {
  core.cluster->finish(1);
  for (const auto& read : sums.reads) read();
  sums.reads.clear();
}

template <class Core, class Combine>
float across_lanes(const Core&, float x, Combine) {
  return x;
}

// Memory.

template <Type>
float read_element(const Params& params, int tensor, long at, float otherwise = 0) {
  return at < 0 ? otherwise
                : (*params.tensors)[static_cast<size_t>(tensor)].at(static_cast<size_t>(at));
}
inline Counts& memory_counts() {
  static Counts counts;
  return counts;
}
template <Type kType>
void store_element(const Params& params, int tensor, long at, float x) {
  if (params.described[tensor].type != kType) fail("stores elements of another type");
  memory_counts().stored += bytes_of(kType);  // with what lies outside, as in plans
  if (at < 0) return;
  (*params.tensors)[static_cast<size_t>(tensor)].at(static_cast<size_t>(at)) = rounded_to(kType, x);
}
template <Type kType>
void store_pair(const Params& params, int tensor, long first, long second, float x, float y) {
  store_element<kType>(params, tensor, first, x);
  store_element<kType>(params, tensor, second, y);
}
/// Adds bytes of the scratchpad to the sums in memory, from byte `to` of them on.
template <class Core>
void add_to_memory(const Core& core, const Params& params, long to, int from, int bytes) {
  ClusterState* cluster = core.cluster;
  engine_reads(core, from, bytes);
  cluster->counts.added += bytes;
  CoreState* state = &core.state();
  ++state->adds;
  const Event event = cluster->event();
  std::vector<float>* sums = params.sums;
  cluster->ask(2, [=] {
    for (int i = 0; i < bytes / 4; ++i) {
      float x;
      std::memcpy(&x, &state->scratchpad[static_cast<size_t>(from + i * 4)], 4);
      sums->at(static_cast<size_t>(to / 4 + i)) += x;
    }
    --state->adds;
    engine_has_read(*state, from, bytes, event);
  });
  cluster->pass();
}
/// Waits for what the core added, and counts it. True for the last of `adders`, in all threads.
template <class Core>
bool last_adder(const Core& core, const Params& params, int counter, int adders) {
  core.cluster->finish(2);
  int& count = params.counters->at(static_cast<size_t>(counter));
  const bool last = ++count == adders;
  if (last) count = 0;
  group_sync(core);
  return last;
}
/// Two sums, which are 0 after it.
inline void take_sums(const Params& params, long at, float& x, float& y) {
  memory_counts().taken += 8;
  float* sums = &params.sums->at(static_cast<size_t>(at / 4));
  x = sums[0];
  y = sums[1];
  sums[0] = sums[1] = 0;
}

/// Runs all clusters of a kernel, in an order that the seed chooses.
template <class Core, class Kernel>
Counts launch(const Launch& launch, const Params& params, unsigned seed, Kernel kernel) {
  Counts counts;
  memory_counts() = {};
  std::vector<int> order(static_cast<size_t>(launch.clusters));
  for (int c = 0; c < launch.clusters; ++c) order[static_cast<size_t>(c)] = c;
  std::mt19937 random(seed);
  std::shuffle(order.begin(), order.end(), random);
  for (const int c : order) {
    ClusterState cluster(c, launch.cores, launch.scratchpad, seed * 7919 + static_cast<unsigned>(c),
                         counts);
    cluster.run([&](int thread) {
      const Core core{&cluster, thread / 2, thread % 2 == 0};
      kernel(core, params);
    });
  }
  counts.stored = memory_counts().stored;
  counts.taken = memory_counts().taken;
  return counts;
}

}  // namespace ff
