// A plan of a chain lowered to a graph of tiles, and chains that are given by their extents as
// programs, so that there is one way from a chain to the simulator.
#pragma once

#include "cluster/chain/analyzer.h"
#include "cluster/chain/form.h"
#include "ir/program.h"

namespace fuseflow::cluster {

/// The plan as a graph for the program that `form` was found in. `chain` is the padded one that was
/// planned; the plan has no obstacle.
Graph lower_plan(const ChainForm& form, const Chain& chain, const Plan& plan,
                 const Analysis& analysis);

/// The chain as a program, one region an operator, with seeded operands: f16 for elements of two
/// bytes, else f32. A convolution chain whose kernel is known reads its image through windows.
Program chain_program(const Chain& chain);

/// The chain's form in its own program.
ChainForm own_form(const Chain& chain);
/// The graph of a plan there.
Graph plan_graph(const Chain& chain, const Plan& plan, const Analysis& analysis);

}  // namespace fuseflow::cluster
