// Rows whose number is known when a kernel is launched: in programs of a table, and in the text of
// their kernels. Meaning: ir-spec/cuda.md, "A table of plans".
#pragma once

#include <map>
#include <optional>
#include <string>

#include "graph/graph.h"
#include "ir/program.h"

namespace fuseflow::cuda {

/// A program of a table.
struct TableRows {
  int64_t most = 0;  ///< that it is planned for
  /// Those whose first dimension are the rows. All numbers are those of the table: what a kernel
  /// gives, later ones read.
  std::map<TensorId, int> numbers;
  std::map<TensorId, bool> has_rows;
  bool rows(TensorId id) const { return has_rows.at(id); }
};

/// How a kernel depends on them: the elements of one of its dimensions are so many times the rows.
struct LaunchRows {
  int dim = -1;  ///< -1: it does not
  int64_t inner = 1;
  int64_t step = 1;   ///< elements of the dimension that one cluster, or one step in time, has
  int64_t steps = 1;  ///< .. of the rows that the program is planned for
  bool over_clusters = false;
};

/// The dimension of a graph that has the rows. Throws Refused where a row is no single step of the
/// slowest loop of one dimension.
LaunchRows launch_rows(const Graph& graph, const TableRows& table);

int64_t elements_of(const Program& program, TensorId id);
/// The elements of a tensor, of which `rows` is the text of the rows; null: of the program's own.
std::string elements_text(const Program& program, TensorId id, const TableRows* table,
                          const std::string& rows);

/// `rows * 4`.
std::string times_rows(const std::string& rows, int64_t factor);
/// The steps of a dimension.
std::string steps_text(const LaunchRows& launch, const std::string& rows);

}  // namespace fuseflow::cuda
