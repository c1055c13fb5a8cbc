// Texts of the planner: the pruning table, plan lists, the run-time table and the plan for people.
// CSV with a header and newline ends; the columns are described in ir-spec/cluster.md.
#pragma once

#include <string>
#include <vector>

#include "cluster/measure.h"
#include "cluster/search.h"

namespace fuseflow::cluster {

/// `rule,candidates` with the rows none, 1, 2, 3, 4, 5.
std::string explain_csv(const Counts& counts);

/// One row a plan, best by cost first; `measured` has one entry a plan or none at all.
std::string plans_csv(const Chain& chain, const Machine& machine,
                      const std::vector<RankedPlan>& plans,
                      const std::vector<ScaledMeasure>& measured);

/// The plan as text for people.
std::string plan_text(const Chain& chain, const Machine& machine, const MeasuredPlan& best);

/// One row of the run-time table: the plan to use for up to `m_up_to` rows.
struct TableRow {
  int64_t m_up_to = 0;
  RankedPlan best;
};
std::string table_csv(const Chain& chain, const Machine& machine,
                      const std::vector<TableRow>& rows);

}  // namespace fuseflow::cluster
