#include "cluster/common/candidates.h"

#include "cluster/common/timings.h"
#include "support/ceil_div.h"
#include "support/error.h"

namespace fuseflow::cluster {

std::vector<int64_t> power_blocks(int64_t size, int64_t most) {
  std::vector<int64_t> all;
  for (int64_t block = 16; block <= most; block *= 2) {
    all.push_back(block);
    if (block >= size) break;
  }
  return all;
}

int64_t even_block(int64_t size, int64_t most) {
  return ceil_div(size, ceil_div(size, most));
}

std::vector<int64_t> even_blocks(int64_t size, int64_t most, int64_t unit) {
  std::vector<int64_t> all;
  for (const int64_t block : power_blocks(size, most)) {
    const int64_t cut = std::min(size, ceil_div(even_block(size, block), unit) * unit);
    if (all.empty() || all.back() != cut) all.push_back(cut);
  }
  return all;
}

bool fits_core(const KernelNeed& need, const Machine& machine) {
  const auto within = [](int64_t needed, int64_t has) { return has == 0 || needed <= has; };
  return within(need.registers, machine.core.register_bytes) &&
         within(need.scratchpad, machine.core.scratchpad_bytes);
}

Measured measured_or_unfinished(const Graph& graph, const Machine& machine, int64_t most_cycles) {
  try {
    return timed(graph, machine, {.most_cycles = most_cycles});
  } catch (const Error& error) {
    if (error.code() != ExitCode::unfinished) throw;
    Measured measured;
    measured.finished = false;
    return measured;
  }
}

}  // namespace fuseflow::cluster
