// A run of statements as one kernel of rows (graph/tile_rows.h): products with weights, elementwise
// operators and reductions that work on each row apart. Read from statements, never from names.
// Meaning: ir-spec/cluster.md, "Kernels of rows". Nothing of machines.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster/common/statement_table.h"
#include "cluster/common/terms.h"
#include "cluster/rows/loops.h"
#include "ir/program.h"

namespace fuseflow::cluster {

/// A part of the statements' expressions; what it takes stands before it. Subscripts are over
/// positions in RowsForm::loops. A `reduce` of two is a product of rows and weights.
struct RowsTerm : KernelTerm {
  bool of_rows = false;  ///< it differs from row to row
  int width = -1;        ///< beside rows: into RowsForm::widths
  int summed = -1;       ///< weights: the width that the product sums

  bool is_product() const { return kind == Kind::reduce && children.size() == 2; }
};

struct RowsForm {
  std::vector<SharedLoop> loops;
  std::vector<std::vector<int>> widths;  ///< loops of each, the slowest first
  std::vector<RowsTerm> terms;
  struct Result {
    TensorId tensor = -1;
    int32_t term = -1;
    std::vector<TileSubscript> subscripts;  ///< over positions in RowsForm::loops
  };
  std::vector<Result> results;  ///< what others read, or the program gives
  std::set<TensorId> members;   ///< whose statements it computes
  StoredTensors tensors;        ///< what is loaded and stored
  int products = 0, reductions = 0;

  int64_t rows() const { return extent_of(LoopRole::rows); }
  int64_t batch() const { return extent_of(LoopRole::batch); }
  int64_t width(int w) const;

 private:
  int64_t extent_of(LoopRole role) const;
};

/// The form of statements in program order; nothing, and the reason in `why`, where they have none.
std::optional<RowsForm> rows_form(const StatementTable& program,
                                  const std::vector<const Statement*>& statements,
                                  std::string& why);

}  // namespace fuseflow::cluster
