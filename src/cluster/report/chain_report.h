// Texts of the planner: the pruning table, plan lists, the run-time table and the plan for people.
// CSV with a header and newline ends; the columns are described in ir-spec/cluster.md.
#pragma once

#include <string>
#include <vector>

#include "cluster/chain/choice.h"
#include "cluster/chain/product_kernel.h"
#include "cluster/chain/search.h"
#include "cluster/plan.h"

namespace fuseflow::cluster {

/// 0 where there is nothing to compare with.
double ratio(int64_t of, int64_t to);

/// `rule,candidates` with the rows none, 1, 2, 3, 4, 5.
std::string explain_csv(const Counts& counts);
/// The CSV of explain_csv() for a program without a chain: no rows.
std::string explain_header();

/// One row a plan that was simulated, of both searches together, best by cost first.
std::string plans_csv(const Chain& chain, const Machine& machine, const Choice& choice);

/// The faster plan as text for people, and what it has to beat. It has a plan.
std::string plan_text(const Chain& chain, const Machine& machine, const Choice& choice);

/// One row of the run-time table: what to do for up to `m_up_to` rows.
struct TableRow {
  int64_t m_up_to = 0;
  Choice choice;
  ChosenProgram chosen;
};
std::string table_csv(const Chain& chain, const Machine& machine,
                      const std::vector<TableRow>& rows);

/// One product by itself: its fastest kernel (`--product`).
std::string product_csv(const Machine& machine, const MeasuredProduct& product);

}  // namespace fuseflow::cluster
