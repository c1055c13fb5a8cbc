// Cycle counts of micro-cases on blocks, worked out by hand from ir-spec/timing.md and
// ir-spec/blocks.md; the arithmetic is beside each case. "v0 arrives 6" means given so that it can
// be taken at 6.
#include <gtest/gtest.h>

#include "ir/parse.h"
#include "ir/verify.h"
#include "machine/load.h"
#include "sim/program_run.h"
#include "sim/report/invariants.h"
#include "support/defect.h"

namespace fuseflow {
namespace {

/// A run of a program's only region; its streams by name.
class BlockMicro : public ::testing::TestWithParam<Executor> {
 protected:
  void run(const char* text, const std::vector<std::string>& settings) {
    program_ = parse_program(SourceText{"<test>", text});
    verify(program_);
    RunOptions options;
    options.executor = GetParam();
    options.record_streams = true;
    run_ = run_program(program_, load_tensors(program_), load_machine("ideal", settings), options);
    assert_invariants(program_, run_);
  }
  const RunResult& result() const { return run_.regions.at(0); }
  const NodeStats& node(NodeKind kind) const {
    const auto& nodes = program_.regions[0].graph->nodes;
    for (size_t n = 0; n < nodes.size(); ++n) {
      if (nodes[n].kind == kind) return result().nodes[n];
    }
    throw Defect("the graph has no such node");
  }
  /// "_@2 S0@3 D@4": when each token is given; payloads are not shown.
  std::string times(const std::string& stream) const {
    const auto& streams = program_.regions[0].graph->streams;
    std::string text;
    for (size_t s = 0; s < streams.size(); ++s) {
      if (streams[s].name != stream) continue;
      for (const TokenRecord& token : result().recorded[s]) {
        if (!text.empty()) text += ' ';
        if (token.stop == TokenRecord::kDone)
          text += 'D';
        else
          text += token.stop < 0 ? "_" : "S" + std::to_string(token.stop);
        text += "@" + std::to_string(token.time);
      }
    }
    return text;
  }
  std::vector<float> values() const {
    const Storage& stored = *result().results.at(0).second;
    return {stored.values.begin(), stored.values.end()};
  }

 private:
  Program program_;
  ProgramRun run_;
};
INSTANTIATE_TEST_SUITE_P(Executors, BlockMicro, ::testing::Values(Executor::naive, Executor::fast),
                         [](const auto& which) {
                           return which.param == Executor::naive ? "naive" : "fast";
                         });

/// The dot product of two vectors in blocks of 2.
const char* const kDot = R"(fuseflow 1
program "dot"
input %a: f32[4] dense[2] = values(1,2,3,4)
input %x: f32[4] dense[2] = values(5,6,7,8)
result %y: f32[] scalar
region @y {
  %y[] = sum(k) %a[k] * %x[k]
  graph {
    index k: 2 block=2 size=4
    phase {
      $root: ref<> = root
      $k: crd<k>, $ar: ref<k> = scan %a.0 ($root)
      $k_2: crd<k>, $xr: ref<k> = scan %x.0 ($root)
      $av: val<k>[k] = array %a ($ar)
      $xv: val<k>[k] = array %x ($xr)
      $mul: val<k> = map mul ($av, $xv) contract=[k]
      $sum: val<> = reduce sum ($root, $mul)
      write_values %y ($sum)
    }
  }
}
)";

TEST_P(BlockMicro, ContractionPaysItsSide) {
  // On ideal a product of side 2 starts every 2 cycles; with 2 cycles of latency a side it takes
  // max(1, 2*2 - 1) = 3. root      0@0 D@1; scans 0@1 1@2, S0 needs D (arrives 2): @3, D@4 array
  // loads take 1 cycle an element, 2 a block, and start every cycle: @2 @3 @4 @5, arriving 4 5 6 7
  // mul       @4, then 2 apart: @6 @8 @10, arriving 7 9 11 13
  // reduce    takes numbers, as ever: @7 @9, the sum @11, D@13
  // write     arrives 12: @12, D@14. cycles = 15
  run(kDot, {"block.load_latency_cycles_per_element=1", "block.product_latency_cycles_per_side=2"});
  EXPECT_EQ(times("av"), "_@2 _@3 S0@4 D@5");
  EXPECT_EQ(times("mul"), "_@4 _@6 S0@8 D@10");
  EXPECT_EQ(times("sum"), "_@11 D@13");
  EXPECT_EQ(result().cycles, 15);
  EXPECT_EQ(node(NodeKind::map).busy, 8);
  EXPECT_EQ(node(NodeKind::map).flops, 6);     // a block: 2 products, 1 addition
  EXPECT_EQ(node(NodeKind::reduce).flops, 2);  // one for each number taken
  EXPECT_EQ(values(), std::vector<float>{70});
}

/// The sum of exponentials of 3 numbers in blocks of 2: the fourth is padding, whose exp is not 0.
const char* const kPadded = R"(fuseflow 1
program "padded"
input %a: f32[3] dense[2] = values(0,0,0)
result %y: f32[] scalar
region @y {
  %y[] = sum(k) exp(%a[k])
  graph {
    index k: 2 block=2 size=3
    phase {
      $root: ref<> = root
      $k: crd<k>, $ar: ref<k> = scan %a.0 ($root)
      $av: val<k>[k] = array %a ($ar)
      $exp: val<k>[k] = map exp ($av)
      $real: val<k>[k] = pad ($exp, $k) init=0
      $sum: val<> = reduce sum ($root, $real)
      write_values %y ($sum)
    }
  }
}
)";

TEST_P(BlockMicro, PadKeepsPaddingOutAndLanesSetThePace) {
  // One lane: a unit works on the 2 elements of a block in 2 cycles. Latencies: load 1 an element =
  // 2, exp 1 a side = 2, pad 2 an element = 4, reduce its own 1 and 1 an element = 3. scan      0@1
  // 1@2 S0@3 D@4 array     @2 @4 @6 @8, arriving 4 6 8 10;  exp @4 @6 @8 @10, arriving 6 8 10 12
  // pad       @6 @8 @10 @12, arriving 10 12 14 16
  // reduce    @10 @12, the sum @14, D@16, arriving 17 and 19
  // write     @17, D@19. cycles = 20
  run(kPadded,
      {"block.lanes=1", "block.load_latency_cycles_per_element=1",
       "block.unary_latency_cycles_per_side=1", "block.elementwise_latency_cycles_per_element=2",
       "block.reduce_latency_cycles_per_element=1"});
  EXPECT_EQ(times("exp"), "_@4 _@6 S0@8 D@10");
  EXPECT_EQ(times("real"), "_@6 _@8 S0@10 D@12");
  EXPECT_EQ(times("sum"), "_@14 D@16");
  EXPECT_EQ(result().cycles, 20);
  EXPECT_EQ(node(NodeKind::pad).busy, 8);
  EXPECT_EQ(node(NodeKind::pad).flops, 0);
  EXPECT_EQ(node(NodeKind::reduce).flops, 4);       // one for each element taken, padding too
  EXPECT_EQ(node(NodeKind::array).read_bytes, 16);  // whole blocks
  EXPECT_EQ(values(), std::vector<float>{3});
}

/// Rows of a matrix in blocks of 2x2, summed over columns by an accumulator, written as a vector of
/// blocks.
const char* const kColumns = R"(fuseflow 1
program "columns"
input %a: f32[4, 2] dense,dense[2x2] = values(1,2,3,4,5,6,7,8)
result %y: f32[2] dense[2]
region @y {
  %y[j] = sum(i) %a[i, j]
  graph {
    index i: 2 block=2 size=4
    index j: 1 block=2 size=2
    phase {
      $root: ref<> = root
      $i: crd<i>, $ar: ref<i> = scan %a.0 ($root)
      $j: crd<i,j>, $ar_2: ref<i,j> = scan %a.1 ($ar)
      $av: val<i,j>[i,j] = array %a ($ar_2)
      $j_2: crd<j>, $sum: val<j>[j] = accumulate sum 1 ($root, $i, $j, $av) capacity=1
      write_values %y ($j_2, $sum)
    }
  }
}
)";

TEST_P(BlockMicro, AccumulateAddsTheElementsOfALoopThatEnds) {
  // Two lanes: the 4 elements of a block take 2 cycles; an accumulator's latency is 1 + 4 = 5.
  // scan i    0@1 1@2 S0@3 D@4, arriving 2 3 4 5
  // scan j    0@2; its S0 needs the next i (arrives 3): @3; 0@4; S1 needs S0 (arrived 4): @5, D@6
  // array     arrive 3 4 5 6 7: @3 @5 @7 @9 @11 (2 apart), arriving 4 6 8 10 12
  // accumulate a block @4, S0@6, a block @8; S1 flushes @10 and gives the entry then (cost: the
  // drain interval, 1), its
  //           stop S0 @11 (cost: the interval, 2), D @13
  // write     arrive 15 16 18: @15 @16 @18. cycles = 19
  run(kColumns, {"block.lanes=2", "block.reduce_latency_cycles_per_element=1"});
  EXPECT_EQ(times("av"), "_@3 S0@5 _@7 S1@9 D@11");
  EXPECT_EQ(times("sum"), "_@10 S0@11 D@13");
  EXPECT_EQ(result().cycles, 19);
  EXPECT_EQ(node(NodeKind::accumulate).flops, 8);
  EXPECT_EQ(values(), (std::vector<float>{16, 20}));
}

}  // namespace
}  // namespace fuseflow
