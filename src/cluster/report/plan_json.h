// What was planned, as JSON that other programs read: tiles, loops, what is held where, copies over
// links, who waits for whom, bytes by level. Its schema is ir-spec/plan.schema.json.
#pragma once

#include <string>
#include <vector>

#include "cluster/chain/choice.h"
#include "cluster/chain/form.h"
#include "ir/program.h"
#include "support/json.h"

namespace fuseflow::cluster {

/// Names of the tensors of a chain, as its program has them.
struct ChainTensors {
  std::string a, d, e;
  std::vector<std::string> b;  ///< one a branch
};
ChainTensors tensors_of(const Program& program, const ChainForm& form);
/// Those of the chain's own program.
ChainTensors tensors_of(const Chain& chain);

struct PlannedChain {
  Chain chain;  ///< padded
  ChainTensors tensors;
  Choice choice;
  bool taken = false;  ///< in the program
};

/// Copies over links that one core sends, over a whole run of the plan.
struct LinkCopy {
  std::string_view kind;    ///< exchange_partial, exchange_gather, fetch, shuffle, reduce_scatter
  std::string_view tensor;  ///< C or E
  bool partial = false;     ///< f32 sums; else elements
  int cores = 1;            ///< of the group that the copy is within
  int64_t bytes = 0;        ///< each time
  int64_t times = 0;
};
/// Their bytes times the cores of all clusters are the plan's bytes over links.
std::vector<LinkCopy> copies_of(const Analysis& analysis, const Plan& plan);

/// Bytes by level, of a chain's plan or of a kernel of rows.
Json bytes_json(const LevelBytes& bytes);

/// A dimension of the tiles of a kernel: its size, tiles and cores.
Json dimension_json(const GraphIndex& index);

/// Ends with a line end. `rows`: kernels of rows of the program, `kernels`: its other kernels, as
/// JSON (rows_json.h, kernel_json.h).
std::string plans_json(const Machine& machine, const std::vector<PlannedChain>& chains,
                       std::vector<Json> rows = {}, std::vector<Json> kernels = {});

}  // namespace fuseflow::cluster
