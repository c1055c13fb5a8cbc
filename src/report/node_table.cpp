#include "report/node_table.h"

#include <algorithm>
#include <cstdint>

#include "report/csv_table.h"

namespace fuseflow {
namespace {

/// Every run has some.
void require_rows(const CsvTable& csv, const char* what) {
  if (csv.rows() > 0) return;
  throw Error(ExitCode::rejected,
              csv.file() + " has no " + what + ": the run did not finish, or the file was cut off");
}

}  // namespace

std::vector<NodeRow> parse_node_table(const SourceText& source) {
  const CsvTable csv(source, {"schema", "region", "node", "kind"},
                     "a table of nodes, as fuseflow-sim --nodes writes", 3);
  require_rows(csv, "nodes");
  std::vector<NodeRow> rows(csv.rows());
  for (size_t i = 0; i < rows.size(); ++i) {
    NodeRow& row = rows[i];
    row.region = csv.text(i, "region");
    row.number = csv.whole(i, "node", 0, INT32_MAX);
    row.kind = csv.text(i, "kind");
    row.function = csv.text(i, "function");
    row.tensor = csv.text(i, "tensor");
    row.outputs = csv.text(i, "outputs");
    row.statement = csv.text(i, "statement");
    row.layer = csv.text(i, "layer");
    row.busy = csv.required(i, "busy");
    row.starved = csv.required(i, "starved");
    row.blocked = csv.required(i, "blocked");
    row.memory = csv.required(i, "memory");
    if (csv.has("first_step")) {
      row.first_step = static_cast<double>(csv.whole(i, "first_step", -1, INT64_MAX));
    }
    row.last_step = static_cast<double>(csv.whole(i, "last_step", -1, INT64_MAX));
    row.steps = csv.required(i, "steps");
    row.tokens_out = csv.required(i, "tokens_out");
    row.flops = csv.required(i, "flops");
    row.bytes = csv.required(i, "read_bytes") + csv.required(i, "write_bytes");
  }
  return rows;
}

std::vector<StreamRow> parse_stream_table(const SourceText& source) {
  const CsvTable csv(source, {"schema", "region", "stream"},
                     "a table of streams, as fuseflow-sim --streams writes", 1);
  require_rows(csv, "streams");
  std::vector<StreamRow> rows(csv.rows());
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i] = {csv.text(i, "region"), csv.text(i, "stream"), csv.required(i, "tokens"),
               csv.required(i, "peak_tokens"), csv.required(i, "blocked")};
  }
  return rows;
}

std::vector<const NodeRow*> busiest_nodes(const std::vector<NodeRow>& nodes, size_t most) {
  std::vector<const NodeRow*> rows;
  rows.reserve(nodes.size());
  for (const NodeRow& row : nodes) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const NodeRow* a, const NodeRow* b) { return a->busy > b->busy; });
  rows.resize(std::min(rows.size(), most));
  return rows;
}

}  // namespace fuseflow
