// Rows of a tensor that copies write in parts, for a phase that starts with theirs: worked out by
// hand from ir-spec/timing.md, "Rows", on both executors and where memory takes time. Notation:
// token@step time, as in sim_micro_test.cpp.
#include <gtest/gtest.h>

#include "machine/load.h"
#include "sim_graph.h"

namespace fuseflow {
namespace {

using testing::GraphBuilder;
using testing::show;

/// Two copies write four rows to the scratchpad, dealt out in turn or by ranges; the next phase
/// reads them by rows.
struct RowsOfParts {
  GraphBuilder b;
  StreamId root = -1;
  StreamId loaded = -1;

  explicit RowsOfParts(bool contiguous, const std::string& format = "dense",
                       std::vector<float> values = {1, 2, 3, 4}) {
    const TensorId x = b.input("x", {4}, format, std::move(values));
    const TensorId t = b.output("t", {4}, "dense");
    const TensorId y = b.output("y", {4}, "dense");
    const int i = b.index("i", 4);
    root = b.root();
    const auto [crd, ref] = b.scan(x, 0, root, i);
    const std::vector<StreamId> refs = deal(ref, crd, contiguous);
    const std::vector<StreamId> crds = deal(crd, crd, contiguous);
    for (size_t p = 0; p < 2; ++p) b.write_values(t, {crds[p], b.array(x, refs[p])});
    const size_t first = b.graph.nodes.size();
    const auto [row, place] = b.scan(t, 0, b.root(), i);
    loaded = b.array(t, place);
    b.write_values(y, {row, loaded});
    for (size_t n = first; n < b.graph.nodes.size(); ++n) b.graph.nodes[n].phase = 1;
    b.graph.scratchpad = {x, t};
    b.graph.row_phases = {1};
  }

  /// What the second phase loads, in cycles after the graph has started.
  std::string times(const RunResult& result) const {
    RunResult moved = result;
    const int64_t start = result.recorded[static_cast<size_t>(root)].front().time;
    for (auto& token : moved.recorded[static_cast<size_t>(loaded)]) token.time -= start;
    return show(b.graph, moved, loaded);
  }

 private:
  std::vector<StreamId> deal(StreamId stream, StreamId crd, bool contiguous) {
    const std::vector<StreamId> copies = b.parallelize(stream, 2);
    b.last().contiguous = contiguous;
    if (contiguous) b.last().inputs.push_back({crd, 0});
    return copies;
  }
};

void expect_times(const RowsOfParts& rows, const std::string& times) {
  EXPECT_EQ(rows.times(rows.b.run({}, Executor::naive)), times);
  EXPECT_EQ(rows.times(rows.b.run({}, Executor::fast)), times);
  // The inputs are loaded first; after that nothing asks memory but the last writer.
  Machine machine;
  machine.dram = load_machine("rda", {}).dram;
  const RunResult run = rows.b.run(machine, Executor::fast);
  EXPECT_GT(run.recorded[static_cast<size_t>(rows.root)].front().time, 0);
  EXPECT_EQ(rows.times(run), times);
}

TEST(SimRows, PartsWaitForTheCopyThatHasTheRow) {
  // scan x   0@1 1@2 2@3 3@4 S0@5 D@6; dealt 0@2 1@3 2@4 3@5 S0@6 D@7; loaded one later
  // writers  the first 0@4 2@6, the second 1@5 3@7: each row from one cycle later on
  // load     its references arrive from 2 on, a cycle each: row 0 @5 ..
  expect_times(RowsOfParts(false), "1@5 2@6 3@7 4@8 S0@9 D@10");
  // writers  the first 0@4 1@5, the second 2@6 3@7
  expect_times(RowsOfParts(true), "1@5 2@6 3@7 4@8 S0@9 D@10");
}

TEST(SimRows, RowsOfNoCopyWaitForAll) {
  // scan x   0@1 3@2 S0@3 D@4; dealt 0@2 3@3 S0@4 D@5; loaded 0@3 3@4 S0@5 D@6
  // writers  the first 0@4 S0@6 D@7, the second 3@5 S0@6 D@7
  // load     row 0 @5; rows 1 and 2: the first is beyond them at D@7, the second at 3@5, so from 8
  //          on; row 3: 3@5, the next step
  expect_times(RowsOfParts(false, "compressed", {1, 0, 0, 4}), "1@5 0@8 0@9 4@10 S0@11 D@12");
}

}  // namespace
}  // namespace fuseflow
