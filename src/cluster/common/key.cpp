#include "cluster/common/key.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <utility>
#include <vector>

#include "graph/graph_key.h"

namespace fuseflow::cluster {

/// Seven bits a byte, so that no number is the beginning of another one.
void Key::number(int64_t value) {
  auto rest = (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
  std::array<char, 10> bytes;
  size_t count = 0;
  for (; rest >= 0x80; rest >>= 7) bytes[count++] = static_cast<char>(rest | 0x80);
  bytes[count++] = static_cast<char>(rest);
  bytes_.append(bytes.data(), count);
}

void Key::real(double value) {
  const auto bytes = std::bit_cast<std::array<char, sizeof value>>(value);
  bytes_.append(bytes.data(), bytes.size());
}

void Key::text(std::string_view value) {
  number(static_cast<int64_t>(value.size()));
  bytes_ += value;
}

void Key::tensor(TensorId tensor) {
  if (tensor < 0) return number(-1);
  number(tensors_.emplace(tensor, static_cast<int64_t>(tensors_.size())).first->second);
}

void Key::add(const DramModel& dram) {
  const auto& [model, channels, bandwidth, burst, interleave, outstanding, latency, interval, queue,
               bypassed, groups, banks, row, timing] = dram;
  text(model);
  real(bandwidth);
  numbers(std::array{channels, burst, interleave, outstanding, latency, interval, queue, bypassed,
                     groups, banks, row});
  const auto& [burst_ps, same_group, read, write, row_to_column, precharge, row_active,
               read_to_precharge, recovery, write_to_read, activate, four_activations,
               refresh_interval, refresh] = timing;
  numbers(std::array{burst_ps, same_group, read, write, row_to_column, precharge, row_active,
                     read_to_precharge, recovery, write_to_read, activate, four_activations,
                     refresh_interval, refresh});
}

void Key::add(const CoreModel& core) {
  // The type of f32's products is only named.
  const auto& [count, matrix_rate, other_rates, type_of_f32, shapes, registers, register_rate,
               scratchpad, scratchpad_rate, scratchpad_latency, matrix_latency, barrier, port_rate,
               vector_rate, comparison_share, special_rate] = core;
  numbers(std::array{count, registers, scratchpad, scratchpad_latency, matrix_latency, barrier});
  reals(std::array{matrix_rate, register_rate, scratchpad_rate, port_rate, vector_rate,
                   comparison_share, special_rate});
  reals(other_rates);
  for (const MatrixShape& shape : shapes) {
    const auto& [rows, columns, depth, share] = shape;
    numbers(std::array{rows, columns, depth});
    real(share);
  }
}

void Key::add(const LinkModel& links) {
  const auto& [bandwidth, latency, barrier, most_cores, multicast] = links;
  reals(bandwidth);
  numbers(latency);
  numbers(barrier);
  numbers(most_cores);
  number(multicast ? 1 : 0);
}

void Key::add(const Machine& machine) {
  // The key has neither names nor what only units for streams, energy or area depend on.
  const auto& [name, description, has_streams, has_cores, has_energy, has_area, clock, fifo_depth,
               reconfiguration, drain_interval, outer_stops, double_buffered, write_stops, units,
               operators, hold_together, block, scratchpad, dram, core, links, l2, global, energy,
               area] = machine;
  number(has_cores ? 1 : 0);
  real(clock);
  number(reconfiguration);
  add(dram);
  add(core);
  add(links);
  const auto& [l2_bytes, l2_rate, l2_latency, l2_store_rate, l2_add_rate] = l2;
  number(l2_bytes);
  real(l2_rate);
  number(l2_latency);
  real(l2_store_rate);
  real(l2_add_rate);
  const auto& [bandwidth, latency, channels] = global;
  real(bandwidth);
  number(latency);
  number(channels);
}

void Key::add(const TileSubscript& subscript) {
  write_value(subscript, *this);
}

void Key::add(const Graph& graph) {
  write_graph(graph, *this);
}

void Key::add(const StoredTensors& tensors) {
  for (const auto& [each, stored] : tensors)
    tensors_.emplace(each, static_cast<int64_t>(tensors_.size()));
  std::map<int64_t, const StoredTensor*> numbered;
  for (const auto& [each, stored] : tensors) numbered.emplace(tensors_.at(each), &stored);
  number(static_cast<int64_t>(numbered.size()));
  for (const auto& [each, stored] : numbered) {
    number(each);
    number(stored->element_bytes);
    numbers(stored->shape);
  }
}

void Key::add(const Effort& effort) {
  const auto& [operations, most] = effort;
  number(operations);
  number(most);
}

}  // namespace fuseflow::cluster
