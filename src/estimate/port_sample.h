// What a port that jumps over banks of DRAM takes, by running its first requests
// through the simulator's memory: they come in bunches, which no average rate shows.
#pragma once

#include "estimate/port.h"
#include "machine/machine.h"

namespace fuseflow::estimate {

/// Cycles from a port's first request to its last answer, `under_way` requests at a time and at
/// least `apart` cycles from one to the next, of pieces anywhere in its array, each set of which
/// stays for `near` cycles. Of more than a few thousand bursts the first ones are a sample.
double sample_port(const Machine& machine, const Port& port, double under_way, double apart,
                   double near);

}  // namespace fuseflow::estimate
