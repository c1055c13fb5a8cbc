#include "estimate/banks.h"

#include <algorithm>
#include <cmath>

#include "estimate/port_sample.h"

namespace fuseflow::estimate {

Banks::Banks(const Machine& machine) : machine_(machine) {
  const DramModel& dram = machine.dram;
  if (dram.model != "banked") return;
  const double cycles_per_ps = machine.clock_gigahertz / 1000;
  const DramModel::Timing& t = dram.timing;
  channels_ = static_cast<double>(dram.channels);
  burst_bytes_ = static_cast<double>(dram.burst_bytes);
  groups_ = static_cast<double>(dram.bank_groups);
  banks_ = groups_ * static_cast<double>(dram.banks_per_group);
  row_bytes_ = static_cast<double>(dram.row_bytes);
  opening_ = static_cast<double>(t.row_to_column_ps) * cycles_per_ps;
  closing_ = static_cast<double>(t.precharge_ps) * cycles_per_ps;
  access_ = static_cast<double>(t.read_latency_ps + t.burst_ps) * cycles_per_ps;
  refresh_ = closing_ + static_cast<double>(t.refresh_ps) * cycles_per_ps + opening_;
  refresh_interval_ = static_cast<double>(t.refresh_interval_ps) * cycles_per_ps;
}

/// Cycles to the answer of what a port asks for, on average. The first burst of each row finds it
/// closed. Where an array has more rows than there are banks, rows take each other's place: answers
/// come in order, so that one that comes late delays all that are under way with it.
double Banks::latency(const Port& port, double under_way) const {
  if (port.bursts <= 0) return access_;
  const double banks = channels_ * banks_;
  const double rows = std::ceil(port.array_bytes / row_bytes_);
  const double first = opening_ * std::min(1.0, rows / port.bursts);
  if (rows <= banks) return access_ + first;
  const double others = 1 - std::pow(1 - 1 / banks, port.near.number - 1);  // in the same bank
  const double conflicts = others * (1 - banks / rows);
  return access_ + first +
         (closing_ + opening_) * (1 - std::pow(1 - conflicts, std::max(1.0, under_way)));
}

/// Banks of a channel in which what a port meets at a time lies. Consecutive bursts of a channel go
/// round the bank groups, then along a row, then to the next bank of each group.
double Banks::met(const Port& port) const {
  const double all = std::max(1.0, port.array_bytes / burst_bytes_);
  const double each = std::clamp(port.near.bytes / burst_bytes_, 1.0, std::min(all, groups_));
  const double along = std::ceil(port.array_bytes / (channels_ * groups_ * row_bytes_));
  const double banks = std::min({all, groups_ * along, banks_});
  return banks * (1 - std::pow(1 - each / banks, std::min(port.near.number, all)));
}

double Banks::sampled(const Port& port, double under_way, double busy) const {
  if (refresh_interval_ <= 0 || met(port) <= groups_) return 0;
  const double apart = std::max(1.0, busy / std::max(1.0, port.bursts));
  return sample_port(machine_, port, under_way, apart, refresh_);
}

double Banks::delay(const MemoryTraffic& asked, double cycles, double slack) const {
  const double late = refresh_ - std::max(0.0, slack);  // that is waited, if at once
  if (refresh_interval_ <= 0 || late <= 0 || asked.bursts <= 0 || cycles <= 0) return 0;
  // Requests come to a bank at random: the first after the time X, exponentially distributed, waits
  // for late - X.
  const double rate = asked.bursts / cycles / asked.banks;
  const double waits = late + std::expm1(-rate * late) / rate;
  const double share = std::min(0.9, asked.banks * waits / refresh_interval_);  // of the time
  return cycles * share / (1 - share);
}

}  // namespace fuseflow::estimate
