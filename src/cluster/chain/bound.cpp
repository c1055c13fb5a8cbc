#include "cluster/chain/bound.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "support/ceil_div.h"

namespace fuseflow::cluster {
namespace {

int64_t whole(double cycles) {
  return static_cast<int64_t>(std::ceil(cycles - 1e-6));
}

/// What single operations of a core take when nothing else is in their way.
class Times {
 public:
  /// `adds`: what is stored is added to what an L2 may hold, and counted.
  Times(int64_t element_bytes, int cores, bool adds, const Machine& machine)
      : machine_(machine),
        far_(static_cast<double>(machine.global.latency_cycles)),
        near_(machine.has_l2() ? static_cast<double>(machine.l2.latency_cycles) : far_),
        stored_(adds ? near_ + count_cycles(machine) : far_),
        element_bytes_(element_bytes),
        matrix_(machine.matrix_rate(element_bytes)),
        link_rate_(machine.link_bytes_per_cycle(cores)),
        link_latency_(static_cast<double>(machine.link_latency(cores))) {}

  double port(double bytes) const { return cycles_at(bytes, machine_.core.port_bytes_per_cycle); }
  double scratchpad(double bytes) const {
    return cycles_at(bytes, machine_.core.scratchpad_bytes_per_cycle);
  }
  double link(double bytes) const { return cycles_at(bytes, link_rate_); }
  /// What all cores together load and store (as_loaded()): an L2 may hold all of it.
  double all_cores(double bytes) const {
    return cycles_at(bytes, shared_bytes_per_cycle(machine_));
  }
  double all_channels(double bytes) const {
    return cycles_at(bytes, machine_.global_bytes_per_cycle());
  }
  double far() const { return far_; }    ///< latency of DRAM
  double near() const { return near_; }  ///< ... of what an L2 may hold
  double scratchpad_latency() const {
    return static_cast<double>(machine_.core.scratchpad_latency_cycles);
  }
  /// Cycles until what came from memory or another core is seen by those who wait for it.
  double seen() const {
    return scratchpad_latency() + static_cast<double>(machine_.core.barrier_cycles);
  }
  double drain() const { return static_cast<double>(machine_.core.matrix_latency_cycles); }

  /// After the port has taken a tile's last byte: until the tile can be used.
  double arrival(double bytes) const { return near_ + scratchpad(bytes) + seen(); }
  double load(double bytes) const { return port(bytes) + arrival(bytes); }
  /// A tile of E from the accumulator to global memory; of one that clusters add to, until the
  /// core is told how many have.
  double store(double bytes) const {
    return scratchpad(2 * bytes) + scratchpad_latency() + port(bytes) + stored_;
  }
  double send(double bytes) const {
    return link(bytes) + link_latency_ + scratchpad(2 * bytes) + seen();
  }
  /// After the link has taken the last byte.
  double hop() const { return link_latency_ + seen(); }
  /// Cycles of a product of m x k by k x n elements.
  double product(std::array<int64_t, 3> mnk, double operand_bytes, double register_bytes) const {
    const double work = machine_.matrix_work(mnk[0], mnk[1], mnk[2], element_bytes_);
    return std::max({1.0, cycles_at(work, matrix_), scratchpad(operand_bytes),
                     cycles_at(register_bytes, machine_.core.register_bytes_per_cycle)});
  }

 private:
  const Machine& machine_;
  double far_, near_, stored_;
  int64_t element_bytes_;
  double matrix_, link_rate_, link_latency_;
};

/// One cluster of a plan: the path from its first load to its last store.
class Path {
 public:
  Path(const Analysis& a, const Plan& plan, const Machine& machine)
      : a_(a),
        shape_(plan.shape),
        stages_(static_cast<double>(a.capacity.stages)),
        sharing_(a.sharing),
        time_(a.bytes.work(), plan.shape.cores(), a.added > 0, machine) {
    const auto m = static_cast<double>(plan.tile[Dim::m]),
               n = static_cast<double>(plan.tile[Dim::n]),
               k = static_cast<double>(plan.tile[Dim::k]),
               l = static_cast<double>(plan.tile[Dim::l]);
    a_tile_ = m * k * static_cast<double>(a.bytes.a);
    b_tile_ = k * n * static_cast<double>(a.bytes.b);
    c_tile_ = m * n * static_cast<double>(a.bytes.work());
    d_tile_ = n * l * static_cast<double>(a.bytes.d);
    branches_ = plan.way == GatedWay::sequential ? 2 : 1;
    k_steps_ = static_cast<double>(a.steps.temporal[Dim::k]);
    const double in_registers = std::min(c_tile_, static_cast<double>(a.capacity.c.registers));
    const Extents& tile = plan.tile;
    first_ = time_.product({tile[Dim::m], tile[Dim::n], tile[Dim::k]}, a_tile_ + b_tile_,
                           2 * kAccumulatorBytes * m * n);
    second_ = time_.product({tile[Dim::m], tile[Dim::l], tile[Dim::n]},
                            c_tile_ - in_registers + d_tile_, 2 * kAccumulatorBytes * m * l);
    sent_ = communicate(shape_, plan.way, plan.tile[Dim::m] * plan.tile[Dim::n],
                        plan.tile[Dim::m] * plan.tile[Dim::l]);
    const auto e_tiles = static_cast<double>(a.visits.e_tiles);
    const int64_t element = a.added > 0 ? added_bytes(a.bytes.e) : a.bytes.e;
    e_bytes_ = m * l / shape_.reduce() * static_cast<double>(element);
    c_tiles_ = static_cast<double>(a.visits.c_tiles);
    second_products_ = static_cast<double>(a.visits.second_multiplies);
    d_late_ = std::max(0.0, static_cast<double>(a.visits.d_loads) - stages_);
    stored_ = as_loaded(e_tiles * e_bytes_, a.added > 0, machine);
  }

  /// Cycles of one cluster by itself, when an L2 may hold what it loads.
  double alone() const { return alone(0); }

  /// Cycles of the very first cluster, whose first operands no other core has asked for before.
  double first() const { return alone(time_.far() - time_.near()); }

  /// Cycles of a wave when `cores` start together and the slowest gets its operands last.
  double together(double cores) const {
    const double operands =
        k_steps_ * (once(a_tile_, sharing_.a) + branches_ * once(b_tile_, sharing_.b));
    const double last = time_.all_cores(cores * operands) + time_.near() + first_;
    const double ready = first_tile(0) + exchange();
    const double rest = time_.all_cores(cores * (d_late_ * once(d_tile_, sharing_.d) + stored_));
    return std::max({first(), last + exchange() + after_c(), ready + rest + time_.near()});
  }

 private:
  /// `wait`: cycles that the first operands take longer than from an L2.
  double alone(double wait) const {
    return std::max({first_tile(wait) + exchange() + after_c(), by_matrix() + wait,
                     by_exchanges() + wait, by_port(), by_scratchpad() + wait});
  }
  /// A core's part of a tile that so many cores load together.
  static double once(double tile, int64_t sharing) { return tile / static_cast<double>(sharing); }
  double products_of_a_tile() const { return k_steps_ * branches_; }
  double first_operands() const {
    return time_.port(a_tile_ + b_tile_) + time_.arrival(std::min(a_tile_, b_tile_));
  }

  /// The first C tile: all of its operands through the port, its products one after the other, its
  /// operands by turns of the copies of their buffers.
  double first_tile(double wait) const {
    const double loaded = k_steps_ * (a_tile_ + branches_ * b_tile_);
    const double through_port =
        time_.port(loaded) + time_.arrival(std::min(a_tile_, b_tile_)) + first_;
    const double products = wait + first_operands() + products_of_a_tile() * first_;
    const double turns_a = std::floor((k_steps_ - 1) / stages_) + 1;
    const double turns_b = std::floor((products_of_a_tile() - 1) / stages_) + 1;
    return std::max({through_port, products, wait + turns_a * (time_.load(a_tile_) + first_),
                     wait + turns_b * (time_.load(b_tile_) + first_)});
  }

  /// From the last product of a C tile until C can be used.
  double exchange() const {
    if (shape_.k == 1) return finished();
    return finished() + time_.send(static_cast<double>(sent_.exchange_gather * a_.bytes.work()));
  }
  /// From the last product of a C tile until its partial sums are added and it is mapped.
  double finished() const {
    const auto partial = static_cast<double>(sent_.exchange_partial * kAccumulatorBytes);
    return time_.drain() + (shape_.k == 1 ? 0 : time_.send(partial)) + a_.c_lanes;
  }

  /// From the last product of an E tile until it is in memory.
  double tail() const {
    if (shape_.reduce() == 1) return time_.drain() + time_.store(e_bytes_);
    return time_.drain() +
           time_.send(static_cast<double>(sent_.reduce_scatter * kAccumulatorBytes)) + a_.e_lanes +
           time_.store(e_bytes_);
  }

  /// Everything that waits for the first C tile.
  double after_c() const {
    const double hops = shape_.shuffle() - 1;
    const double products = second_products_ * second_ + tail();
    const double round = hops * time_.send(c_tile_) + second_ + tail();
    const double turns = std::floor((static_cast<double>(a_.visits.d_loads) - 1) / stages_);
    const double by_turns = second_ + turns * (time_.load(d_tile_) + second_) + tail();
    const double through_port = d_late_ > 0 ? second_ + time_.port(d_late_ * d_tile_) +
                                                  time_.arrival(d_tile_) + second_ + tail()
                                            : 0;
    const double links = time_.link(static_cast<double>(a_.second.link)) +
                         (a_.second.link > 0 ? time_.hop() : 0) + time_.store(e_bytes_);
    return std::max({products, round, by_turns, through_port, links});
  }

  double by_matrix() const {
    return first_operands() + c_tiles_ * products_of_a_tile() * first_ +
           second_products_ * second_ + tail();
  }

  /// The accumulator of C is free again when its partial sums are added.
  double by_exchanges() const {
    const double each = products_of_a_tile() * first_ + finished();
    return first_operands() + c_tiles_ * each + second_ + tail();
  }

  double by_port() const {
    LevelBytes both = a_.first;
    both += a_.second;
    both += -1 * a_.epilogue;
    return time_.port(static_cast<double>(both.global())) + time_.near();
  }

  double by_scratchpad() const {
    LevelBytes both = a_.first;
    both += a_.second;
    both += -1 * a_.epilogue;
    return time_.port(std::min(a_tile_, b_tile_)) + time_.near() +
           time_.scratchpad(static_cast<double>(both.scratchpad_read + both.scratchpad_write)) +
           time_.port(e_bytes_) + time_.near();
  }

  const Analysis& a_;
  const ClusterShape& shape_;
  const double stages_;
  const Sharing sharing_;
  const Times time_;
  double a_tile_ = 0, b_tile_ = 0, c_tile_ = 0, d_tile_ = 0, e_bytes_ = 0;  // bytes
  double branches_ = 1, k_steps_ = 1, c_tiles_ = 1, second_products_ = 1, d_late_ = 0, stored_ = 0;
  double first_ = 0, second_ = 0;  // cycles of one tile product
  Communication sent_;
};

}  // namespace

int64_t least_cycles(const Analysis& analysis, const Plan& plan, const Machine& machine) {
  const int cores = plan.shape.cores();
  const int64_t at_a_time = std::max<int64_t>(machine.concurrent_clusters(cores), 1);
  const int64_t clusters = analysis.steps.clusters;
  const auto waves = static_cast<double>(ceil_div(clusters, at_a_time));
  const Path path(analysis, plan, machine);
  const double added = waves > 1 ? path.first() + (waves - 1) * path.alone()
                                 : path.together(static_cast<double>(clusters * cores));
  // Nobody is done before the last one that added has settled its tile.
  const double core = added + settle_cycles(settling_of(analysis, plan), machine);
  const Times time(analysis.bytes.work(), cores, false, machine);
  const double given = given_bytes(analysis, machine);
  const double moved = time.all_cores(given) + time.near();
  const double missed = time.all_channels(analysis.least_memory_bytes) + time.far();
  return whole(std::max({core, moved, missed}));
}

int64_t least_cycles(const BlockWork& block, int64_t blocks, const Machine& machine) {
  const bool adds = block.settling.sums > 0;
  const Times time(std::max(block.x_bytes, block.w_bytes), 1, adds, machine);
  const double m = static_cast<double>(block.m), n = static_cast<double>(block.n),
               k = static_cast<double>(block.k);
  const double x = m * k * static_cast<double>(block.x_bytes);
  const double w = k * n * static_cast<double>(block.w_bytes);
  const double product =
      time.product({block.m, block.n, block.k}, x + w, 2 * kAccumulatorBytes * m * n);
  const auto stored = static_cast<double>(block.least_stored_bytes);
  const double tail = time.drain() + std::max(time.store(stored), adds ? 0 : block.lanes);
  const auto turns = [&](int64_t loads, double tile) {
    return static_cast<double>(ceil_div(loads, block.stages)) * (time.load(tile) + product) + tail;
  };
  const double by_products = time.port(x + w) + time.arrival(std::min(x, w)) +
                             static_cast<double>(block.products) * product + tail;
  const double by_port = time.port(static_cast<double>(block.global_bytes)) + time.near();
  const double by_scratchpad = time.port(std::min(x, w)) + 2 * time.near() +
                               time.scratchpad(static_cast<double>(block.scratchpad_bytes)) +
                               time.port(stored);
  const double alone = std::max(
      {by_products, by_port, by_scratchpad, turns(block.x_loads, x), turns(block.w_loads, w)});
  const int64_t waves = ceil_div(blocks / block.cores, machine.concurrent_clusters(block.cores));
  const double moved = time.all_cores(block.given_bytes) + time.near();
  const double missed =
      time.all_channels(static_cast<double>(block.least_memory_bytes)) + time.far();
  const double core = static_cast<double>(waves) * alone + settle_cycles(block.settling, machine);
  return whole(std::max({core, moved, missed}));
}

}  // namespace fuseflow::cluster
