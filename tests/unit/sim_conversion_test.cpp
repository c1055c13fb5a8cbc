// What a conversion takes: the passes of ir-spec/storage.md, by its worked case and by others
// worked out on paper.
#include <gtest/gtest.h>

#include "machine/load.h"
#include "sim/common/conversion.h"
#include "tensor/storage.h"

namespace fuseflow {
namespace {

using Dimensions = std::vector<int>;

/// A tensor of this format whose data is the given storage in it.
struct Side {
  Side(const Storage& data, const std::string& format)
      : storage(convert(data, parse_format(format))) {
    tensor.format = storage.format;
    for (const int64_t extent : data.shape) tensor.shape.push_back({extent, ""});
    arrays = stored_arrays(tensor, &storage);
  }
  ConversionSide side() const { return {tensor, arrays}; }

  Storage storage;
  Tensor tensor;
  StoredArrays arrays;
};

/// 4 x 6 with 10 entries.
Storage matrix() {
  std::vector<float> values(24, 0);
  for (const size_t at : {0, 3, 5, 7, 8, 12, 14, 19, 20, 23}) values[at] = 1;
  return from_dense(std::move(values), {4, 6}, dense_format(2));
}

RunResult converted(const std::string& from, const std::string& to, const Machine& machine = {}) {
  const Side a(matrix(), from);
  const Side b(matrix(), to);
  return conversion_counts(a.side(), b.side(), machine);
}

Dimensions sorted(const char* from, const char* to) {
  return sorted_dimensions(parse_format(from), parse_format(to));
}

TEST(Conversion, SortsByWhatIsOutOfOrder) {
  EXPECT_EQ(sorted("dense,compressed", "dense,compressed@1,0"), Dimensions({1}));
  EXPECT_EQ(sorted("dense,compressed", "compressed,compressed"), Dimensions());
  EXPECT_EQ(sorted("dense,compressed", "dense,dense"), Dimensions());
  EXPECT_EQ(sorted("dense,dense", "dense,compressed@1,0"), Dimensions());
  EXPECT_EQ(sorted("compressed,compressed,compressed", "compressed,compressed,compressed@1,0,2"),
            Dimensions({1}));
  EXPECT_EQ(sorted("compressed,compressed,compressed", "compressed,compressed,compressed@2,0,1"),
            Dimensions({2}));
  EXPECT_EQ(sorted("compressed,compressed,compressed", "compressed,compressed,compressed@2,1,0"),
            Dimensions({1, 2}));
}

TEST(Conversion, TransposesByOneSort) {
  const RunResult run = converted("dense,compressed", "dense,compressed@1,0");
  EXPECT_EQ(run.cycles, 29);
  EXPECT_EQ(run.dram_read_bytes, 160);
  EXPECT_EQ(run.dram_write_bytes, 108);
  EXPECT_EQ(run.scratchpad_read_bytes, 4 * (10 + 6 + 10));
  EXPECT_EQ(run.nodes[0].steps, 26);
  EXPECT_EQ(run.nodes[0].busy + run.nodes[0].starved, run.cycles);
}

TEST(Conversion, GoesThroughTheDataOnceInTheSameOrder) {
  const RunResult listed = converted("dense,dense", "dense,compressed");
  EXPECT_EQ(listed.cycles, 24 + 1);
  EXPECT_EQ(listed.dram_read_bytes, 4 * 24);
  EXPECT_EQ(listed.dram_write_bytes, 4 * (5 + 10 + 10));
  const RunResult dense = converted("dense,compressed", "dense,dense");
  EXPECT_EQ(dense.cycles, 10 + 1);
  EXPECT_EQ(dense.dram_write_bytes, 4 * 24);  // fills, too
  EXPECT_EQ(dense.scratchpad_read_bytes, 0);
}

TEST(Conversion, SortsByRangesOfKeysWhereCountersDoNotFit) {
  Machine small;
  small.scratchpad.bytes = int64_t{2} * (4 + 2 * 64);  // of two of the six columns
  const RunResult run = converted("dense,compressed", "dense,compressed@1,0", small);
  EXPECT_EQ(run.nodes[0].steps, 3 * 10 + 6 + 3 * 10);
  EXPECT_EQ(run.dram_read_bytes, 3 * 160);
  EXPECT_EQ(run.dram_write_bytes, 108);
}

TEST(Conversion, WaitsForMemory) {
  Machine machine;
  machine.dram.model = "fixed";
  machine.dram.channels = 1;
  machine.dram.burst_bytes = 8;
  machine.dram.interval_cycles = 8;  // a byte a cycle
  machine.dram.latency_cycles = 40;
  const RunResult run = converted("dense,dense", "dense,compressed", machine);
  EXPECT_EQ(run.cycles, 96 + 100 + 40 + 1);
  EXPECT_EQ(run.nodes[0].busy, 24);
  EXPECT_EQ(run.dram_bursts, 25);
}

}  // namespace
}  // namespace fuseflow
