// What the cores of a cluster do together, out of the primitives that gpu/ and host/ each have:
// rings of tiles that arrive by copies, exchanges of partial sums, tiles that go round. One text
// for both.
//
// Barriers are numbers. A phase of a barrier ends when its arrivals and its bytes are there;
// who waits for it names the parity of the phase. All functions are called by all threads of a
// role. Parities tell a phase from the next one alone, so no thread may wait for a phase that the
// others have left behind by two: what gives the next phase is done when all have met, or by the
// warp alone that waits.
#pragma once

namespace ff {

/// Room for kStages tiles that arrive one after the other, the same ones on all `peers`. Barriers:
/// kStages of tiles that are there, then kStages of room that there is.
template <int kStages, int kBytes>
struct Ring {
  int at;
  int barrier;
  Peers peers;

  FF_FN static int slot(int step) { return step % kStages; }
  FF_FN int place(int step) const { return at + slot(step) * kBytes; }
  FF_FN int full(int step) const { return barrier + slot(step); }
  template <class Core>
  FF_FN void begin(const Core& core) const {
    for (int i = 0; i < kStages; ++i) {
      barrier_begin(core, barrier + i, 1);
      barrier_begin(core, barrier + kStages + i, Core::kReleases * peers.count);
    }
  }
  /// Producer: waits until every peer has read the tile that was there before.
  template <class Core>
  FF_FN void room(const Core& core, int step) const {
    if (step >= kStages)
      barrier_wait(core, barrier + kStages + slot(step), (step / kStages - 1) & 1);
  }
  /// Multipliers: wait for the tile; say that they have read it.
  template <class Core>
  FF_FN void wait(const Core& core, int step) const {
    barrier_wait(core, full(step), step / kStages & 1);
  }
  template <class Core>
  FF_FN void release(const Core& core, int step) const {
    barrier_release(core, barrier + kStages + slot(step), peers);
  }
};

/// Producer: the tile of matrix M from row and column on, by the copy engine. Of several peers one
/// copies for all, in turn. `takers`: the peers that need it, bit i for number i; to the others
/// nothing comes, and the step is over when they have released it.
template <class M, class Core, class RingOf>
FF_FN void load(const Core& core, const RingOf& ring, int step, const Params& params, int view,
                int row, int column, int batch, unsigned takers = ~0U) {
  ring.room(core, step);
  barrier_expect(core, ring.full(step), (takers >> ring.peers.mine & 1U) != 0 ? M::kBytes : 0);
  int turn = step % ring.peers.count;
  while ((takers >> turn & 1U) == 0) turn = (turn + 1) % ring.peers.count;
  if (turn != ring.peers.mine) return;
  const int outer = M::kByRows ? row : column, inner = M::kByRows ? column : row;
  for (int i = 0; i < M::kInner; i += M::kPanel) {
    for (int o = 0; o < M::kOuter; o += M::kBox) {
      copy_box(core, ring.place(step) + i / M::kPanel * M::kPanelBytes + o * M::kPitch, params,
               view, inner + i, outer + o, batch, M::kBox, M::kPanel, ring.full(step), ring.peers,
               takers);
    }
  }
}

/// Producer: the same for what the copy engine cannot do, by its threads: element (row, column) of
/// the tile is element offset(row, column) of the tensor, or 0 where that is negative. Nothing
/// where the core does not take the step. A tile has kRows x kColumns, the rest fills a product.
template <class M, int kRows = M::kRows, int kColumns = M::kColumns, class Core, class RingOf,
          class Offset>
FF_FN void gather(const Core& core, const RingOf& ring, int step, const Params& params, int tensor,
                  Offset offset, bool takes = true) {
  ring.room(core, step);
  constexpr int kChunks = M::kInner / M::kChunk;
  for (int c = core.lane(); takes && c < M::kOuter * kChunks; c += Core::kLanes) {
    const int outer = c / kChunks, inner = c % kChunks * M::kChunk;
    Chunk<M::kElement> chunk;
    for (int i = 0; i < M::kChunk; ++i) {
      const long at = M::kByRows ? offset(outer, inner + i) : offset(inner + i, outer);
      chunk.set(i, at < 0 ? 0 : read_bits<M::kElement>(params, tensor, at));
    }
    put_chunk(core, ring.place(step) + M::chunk_at(outer, inner / M::kChunk), chunk);
  }
  if (takes) note_gather(core, kRows * kColumns * M::kSize);
  gathered(core, ring.full(step));
}

// Of sums, kThere rows are those of a tile; the others fill a product. 0: there are none of these.
template <int kThere, class Sums>
constexpr int kRowsOf = kThere == 0 ? Sums::kRows : kThere;

/// f32 tiles in the scratchpad lie in panels of 8 columns: [columns / 8][rows][8].
template <int kRows>
FF_FN constexpr int sums_at(int row, int column) {
  return (column / 8 * kRows + row) * 32 + column % 8 * 4;
}

/// Puts columns of an accumulator into the scratchpad as f32.
template <int kThere = 0, class Core, class Sums>
FF_FN void put_sums(const Core& core, Sums& sums, int at, Columns columns) {
  constexpr int kRows = kRowsOf<kThere, Sums>;
  sums.pairs(core, [&](int row, int column, float& x, float& y) {
    if (row < kRows && column >= columns.begin && column < columns.end)
      put_pair(core, at + sums_at<kRows>(row, column), x, y);
  });
}
/// Adds to columns of an accumulator what another core sent of them; `at` has the first of them.
template <int kThere = 0, class Core, class Sums>
FF_FN void add_sums(const Core& core, Sums& sums, int at, Columns columns) {
  constexpr int kRows = kRowsOf<kThere, Sums>;
  sums.pairs(core, [&](int row, int column, float& x, float& y) {
    if (row >= kRows || column < columns.begin || column >= columns.end) return;
    float a, b;
    get_pair(core, at + sums_at<kRows>(row, column - columns.begin), a, b);
    x += a;
    y += b;
  });
}
/// Puts columns of an accumulator into the scratchpad as elements of matrix M.
template <class M, class Core, class Sums>
FF_FN void put_matrix(const Core& core, Sums& sums, int at, Columns columns) {
  sums.pairs(core, [&](int row, int column, float& x, float& y) {
    if (column >= columns.begin && column < columns.end)
      put_elements<M::kElement>(core, at + M::at(row, column), x, y);
  });
}
/// value(row, column, x) for the columns of an accumulator.
template <class Core, class Sums, class Function>
FF_FN void map(const Core& core, Sums& sums, Columns columns, Function value) {
  sums.pairs(core, [&](int row, int column, float& x, float& y) {
    if (column < columns.begin || column >= columns.end) return;
    x = value(row, column, x);
    y = value(row, column + 1, y);
  });
}
/// first[..] = value(row, column, first[..], second[..]).
template <class Core, class Sums, class Function>
FF_FN void map(const Core& core, Sums& first, Sums& second, Columns columns, Function value) {
  first.pairs(core, second, [&](int row, int column, float& x, float& y, float& u, float& v) {
    if (column < columns.begin || column >= columns.end) return;
    x = value(row, column, x, u);
    y = value(row, column + 1, y, v);
  });
}
/// Stores columns to a tensor in its type, at offset(row, column); where that is negative, not.
/// kOdd: the last pair has one column.
template <Type kType, int kThere = 0, bool kOdd = false, class Core, class Sums, class Offset>
FF_FN void store(const Core& core, Sums& sums, Columns columns, const Params& params, int tensor,
                 Offset offset) {
  sums.pairs(core, [&](int row, int column, float& x, float& y) {
    if (row >= kRowsOf<kThere, Sums> || column < columns.begin || column >= columns.end) return;
    if (kOdd && column + 1 == columns.end)
      return store_element<kType>(params, tensor, offset(row, column), x);
    store_pair<kType>(params, tensor, offset(row, column), offset(row, column + 1), x, y);
  });
}

/// Partial sums of kRows x kColumns that each of kCores cores has: every core gets the sum of its
/// share of the columns, a multiple of kUnit. `got`: what comes from the others; `room`: they have
/// read what was sent before.
template <int kCores, int kRows, int kColumns, int kUnit>
struct ReduceScatter {
  static constexpr int kSlot = kRows * widest_share(kColumns, kCores, kUnit) * 4;
  int staged;  ///< the core's own sums: kRows * kColumns * 4 bytes
  int slots;   ///< (kCores - 1) * kSlot bytes
  int got, room;
  Peers peers;

  /// Computed again by each caller, as far as a compiler knows: what depends on it is not kept in
  /// registers from one loop over an accumulator to the next.
  FF_FN Columns mine() const {
    Columns part = share(kColumns, peers.mine, kCores, kUnit);
    asm volatile("" : "+r"(part.begin), "+r"(part.end));
    return part;
  }
  FF_FN int expected() const { return (kCores - 1) * kRows * (mine().end - mine().begin) * 4; }
  template <class Core>
  FF_FN void begin(const Core& core) const {
    barrier_begin(core, got, 1);
    barrier_begin(core, room, kCores - 1);
  }
  /// Until the others have read what the turn before sent.
  template <class Core>
  FF_FN void wait_for_room(const Core& core, int turn) const {
    if (turn > 0) barrier_wait(core, room, (turn - 1) & 1);
  }
  /// Sends the staged sums, which are fenced and seen by all threads, and waits for those of the
  /// others.
  template <class Core>
  FF_FN void exchange(const Core& core, int turn) const {
    barrier_expect(core, got, expected());
    for (int q = 1; q < kCores; ++q) {
      const int other = (peers.mine + q) % kCores;
      const Columns part = share(kColumns, other, kCores, kUnit);
      send(core, peers.at(other), staged + part.begin * kRows * 4, slots + (kCores - 1 - q) * kSlot,
           (part.end - part.begin) * kRows * 4, got);
    }
    barrier_wait(core, got, turn & 1);
  }
  /// Where the sums of the i-th of the others are, i from 0.
  FF_FN int slot(int i) const { return slots + i * kSlot; }
  /// All threads have read the slots.
  template <class Core>
  FF_FN void release(const Core& core) const {
    group_sync(core);
    for (int q = 1; q < kCores; ++q) barrier_arrive(core, room, peers.at(peers.mine + q));
  }
};

/// Shares of a matrix M that each of kCores cores has: every core gets all of them, at the same
/// place. Room is what the exchange of sums before it says.
template <int kCores, class M>
struct Gather {
  int got;
  Peers peers;

  FF_FN static int bytes_of(Columns part) { return (part.end - part.begin) * M::kRows * M::kSize; }
  template <class Core>
  FF_FN void begin(const Core& core) const {
    barrier_begin(core, got, 1);
  }
  template <class Core>
  FF_FN void exchange(const Core& core, int at, int turn) const {
    const Columns part = share(M::kColumns, peers.mine, kCores, M::kChunk);
    barrier_expect(core, got, M::kBytes - bytes_of(part));
    for (int q = 1; q < kCores; ++q) {
      const int from = at + part.begin * M::kRows * M::kSize;
      send(core, peers.at(peers.mine + q), from, from, bytes_of(part), got);
    }
    barrier_wait(core, got, turn & 1);
  }
};

/// Tiles of which each of kCores cores makes some, once in a turn, and all get those of the others,
/// at the same places. kBytes: of those of the others. Barriers: `got`, what comes from the others;
/// the one after it, that they have read what was sent in the turn before.
template <int kCores, int kBytes>
struct Broadcast {
  int got;
  Peers peers;

  template <class Core>
  FF_FN void begin(const Core& core) const {
    barrier_begin(core, got, 1);
    barrier_begin(core, got + 1, kCores - 1);
  }
  /// Until the others have what the turn before sent, and have read it: its places, here and there,
  /// may be written again.
  template <class Core>
  FF_FN void wait_for_room(const Core& core, int turn) const {
    if (turn > 0) barrier_wait(core, got + 1, (turn - 1) & 1);
  }
  /// What the core has made, fenced and seen by all threads.
  template <class Core>
  FF_FN void send(const Core& core, int at, int bytes) const {
    for (int q = 1; q < kCores; ++q) ff::send(core, peers.at(peers.mine + q), at, at, bytes, got);
  }
  template <class Core>
  FF_FN void wait(const Core& core, int turn) const {
    barrier_expect(core, got, kBytes);
    barrier_wait(core, got, turn & 1);
  }
  /// All threads have read what came in this turn, and have met.
  template <class Core>
  FF_FN void release(const Core& core) const {
    for (int q = 1; q < kCores; ++q) barrier_arrive(core, got + 1, peers.at(peers.mine + q));
  }
};

/// Tiles of kBytes, one of each of kCores cores, that all of them read one after the other: at
/// distance d a core reads that of core mine + d. A pass is one round; kSlots tiles of others have
/// room. Barriers: kSlots of tiles that are there, kCores - 1 of room at the one that reads, one of
/// tiles that have been received.
template <int kCores, int kSlots, int kBytes>
struct Shuffle {
  int slots;
  int barrier;
  Peers peers;

  FF_FN static int number(int pass, int distance) { return pass * (kCores - 1) + distance - 1; }
  FF_FN int got(int n) const { return barrier + n % kSlots; }
  FF_FN int room(int distance) const { return barrier + kSlots + distance - 1; }
  FF_FN int received() const { return barrier + kSlots + kCores - 1; }
  template <class Core>
  FF_FN void begin(const Core& core) const {
    for (int i = 0; i < kSlots; ++i) barrier_begin(core, barrier + i, 1);
    for (int d = 1; d < kCores; ++d) barrier_begin(core, room(d), 1);
    barrier_begin(core, received(), kCores - 1);
  }
  /// Sends the core's own tile to the one that reads it at this distance, when that has room.
  template <class Core>
  FF_FN void send_to(const Core& core, int own, int pass, int distance) const {
    const int n = number(pass, distance);
    if (n >= kSlots) {
      // One message for each tile beyond the first kSlots.
      const int first = (kSlots - distance + kCores - 1) / (kCores - 1);
      sender_wait(core, room(distance), (pass - first) & 1);
    }
    send(core, peers.at(peers.mine + kCores - distance), own, slots + n % kSlots * kBytes, kBytes,
         got(n));
  }
  /// Waits for the tile of core mine + distance; where it is.
  template <class Core>
  FF_FN int receive(const Core& core, int pass, int distance) const {
    const int n = number(pass, distance);
    barrier_expect(core, got(n), kBytes);
    barrier_wait(core, got(n), n / kSlots & 1);
    barrier_arrive(core, received(), peers.at(peers.mine + distance));
    return slots + n % kSlots * kBytes;
  }
  /// Where it is in later steps, where all tiles of a pass have room.
  FF_FN int place(int distance) const {
    static_assert(kSlots == kCores - 1);
    return slots + (distance - 1) * kBytes;
  }
  /// All threads have read the tile: its room is for the tile that comes kSlots later.
  template <class Core>
  FF_FN void release(const Core& core, int pass, int distance) const {
    group_sync(core);
    const int next = (number(pass, distance) + kSlots) % (kCores - 1) + 1;
    barrier_arrive(core, room(next), peers.at(peers.mine + next));
  }
  /// Until all others have the core's own tile of this pass.
  template <class Core>
  FF_FN void end_of_pass(const Core& core, int pass) const {
    sender_wait(core, received(), pass & 1);
    group_sync(core);
  }
};

/// Adds columns of an accumulator to a tile of sums in memory, which other clusters add to as well.
/// The last of `adders` gives the whole sums, in the tensor's type, and leaves zeros for the next
/// launch. Tile number `tile` of sums has kRows * kColumns elements, as in the scratchpad;
/// `counter` counts who added to these columns of it.
template <Type kType, int kThere = 0, class Core, class Sums, class Offset>
FF_FN void add_and_finish(const Core& core, Sums& sums, int staged, Columns columns,
                          const Params& params, int tile, int counter, int adders, int tensor,
                          Offset offset) {
  constexpr int kRows = kRowsOf<kThere, Sums>;
  const int bytes = (columns.end - columns.begin) * kRows * 4;
  const int from = columns.begin * kRows * 4;
  const long base = static_cast<long>(tile) * kRows * Sums::kColumns * 4 + from;
  put_sums<kThere>(core, sums, staged, columns);
  fence_async(core);
  group_sync(core);
  add_to_memory(core, params, base, staged + from, bytes);
  if (!last_adder(core, params, counter, adders)) return;
  for (int i = core.thread(); i < (columns.end - columns.begin) * kRows / 2; i += Core::kThreads) {
    const int panel = i / (kRows * 4), row = i / 4 % kRows,
              column = columns.begin + panel * 8 + i % 4 * 2;
    float x, y;
    take_sums(params, base + sums_at<kRows>(row, column - columns.begin), x, y);
    store_pair<kType>(params, tensor, offset(row, column), offset(row, column + 1), x, y);
  }
}

}  // namespace ff
