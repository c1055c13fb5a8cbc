// What becomes of a chain: its best plan over linked clusters, its best plan of single cores, and
// its kernels apart, all simulated on one machine, and which of them is taken. The one place that
// says what a plan has to beat.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "cluster/chain/baseline.h"
#include "cluster/chain/measure.h"

namespace fuseflow::cluster {

enum class Way : uint8_t {
  linked,    ///< fused, over linked clusters
  one_core,  ///< fused, clusters of one core
  folded,    ///< kernels apart, elementwise operators in the products' stores
  separate,  ///< kernels apart, one an operator
  rows,      ///< a kernel of rows, of some of it at least: no choice has it, but a program may
};
std::string_view name_of(Way way);

struct Choice {
  MeasuredPlan linked, one_core;  ///< rank 0: no plan fits
  Measured folded, separate;

  /// The faster of the two searches' plans; its rank is 0 where neither has one.
  const MeasuredPlan& fused() const;
  /// The faster of the kernels apart: what a plan has to beat.
  const Measured& apart() const;
  /// A plan is taken only when it is faster than the kernels apart.
  Way way() const;
  int64_t cycles() const;  ///< of what is taken
  /// Cycles of the best plan of single cores / of the best linked plan; 0 where one is missing.
  double links_gain() const;
};

/// The searches for its plans and, if asked, for its kernels apart: the longest last, none of which
/// needs another's result. They fill `choice`; all that is given stays in use until they are done.
std::vector<std::function<void()>> choice_tasks(Choice& choice, const Chain& chain,
                                                const Machine& machine, const Effort& effort,
                                                const ChainForm* form, bool apart);

/// Runs tasks one at a time on each thread: they differ a thousandfold in size. Of several errors
/// the first task's is thrown, whichever came first.
void run_tasks(const std::vector<std::function<void()>>& tasks, int threads);

}  // namespace fuseflow::cluster
