// Storage: building, access, iteration, conversion, permutation, verification.
#include "tensor/storage.h"

#include <limits>
#include <numeric>

#include "tensor/stats.h"
#include "tensor_testing.h"

namespace fuseflow {
namespace {

using testing::error_of;
using testing::expect_contains;
using testing::kInf;
using testing::random_elements;

/// Every combination of level kinds that is a legal format of `rank` levels.
std::vector<std::vector<LevelKind>> all_levels(int rank) {
  std::vector<std::vector<LevelKind>> result = {{}};
  for (int l = 0; l < rank; ++l) {
    std::vector<std::vector<LevelKind>> longer;
    for (const auto& levels : result) {
      for (const LevelKind kind :
           {LevelKind::dense, LevelKind::compressed, LevelKind::singleton, LevelKind::bitvector}) {
        if (kind == LevelKind::singleton &&
            (levels.empty() ||
             (levels.back() != LevelKind::compressed && levels.back() != LevelKind::singleton))) {
          continue;
        }
        longer.push_back(levels);
        longer.back().push_back(kind);
      }
    }
    result = longer;
  }
  return result;
}

std::vector<std::vector<int>> all_orders(int rank) {
  std::vector<int> order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::vector<int>> result;
  do {
    result.push_back(order);
  } while (std::next_permutation(order.begin(), order.end()));
  return result;
}

/// Every element of `storage`, read at random.
std::vector<float> by_random_access(const Storage& storage) {
  std::vector<float> elements;
  std::vector<int64_t> coords(storage.shape.size(), 0);
  for (int64_t e = 0; e < storage.elements(); ++e) {
    elements.push_back(storage.at(coords));
    for (size_t d = coords.size(); d-- > 0;) {
      if (++coords[d] < storage.shape[d]) break;
      coords[d] = 0;
    }
  }
  return elements;
}

/// Stored coordinates as read in storage order must ascend by level, entries must match at().
void expect_storage_order(const Storage& storage) {
  std::vector<int64_t> previous;
  for_each_stored(storage, [&](std::span<const int64_t> coords, float v) {
    EXPECT_TRUE(same_value(storage.at(coords), v));
    if (!storage.format.block.empty()) return;
    std::vector<int64_t> by_level;
    for (const int mode : storage.format.mode_order) by_level.push_back(coords[mode]);
    EXPECT_TRUE(previous.empty() || previous < by_level);
    previous = by_level;
  });
}

TEST(TensorStorage, EveryFormatHoldsEveryTensor) {
  const std::vector<std::vector<int64_t>> shapes = {
      {}, {1}, {5}, {0}, {70}, {4, 5}, {0, 3}, {3, 0}, {1, 1}, {3, 4, 2}, {2, 0, 3}, {2, 3, 2, 3}};
  for (const auto& shape : shapes) {
    const int rank = static_cast<int>(shape.size());
    for (const float fill : {0.0F, -kInf}) {
      const auto elements = random_elements(element_count(shape), 0.3, fill, 7);
      const Storage dense = from_dense(elements, shape, dense_format(rank), fill);
      for (const auto& levels : all_levels(rank)) {
        for (const auto& order : all_orders(rank)) {
          const Format format = make_format(levels, order);
          SCOPED_TRACE(to_string(format));
          const Storage storage = from_dense(elements, shape, format, fill);
          verify(storage);
          ASSERT_EQ(to_dense(storage), elements);
          ASSERT_EQ(to_dense(convert(storage, dense_format(rank))), elements);
          if (rank <= 3) {
            ASSERT_EQ(by_random_access(storage), elements);
            expect_storage_order(storage);
          }
          const Storage converted = convert(dense, format);
          ASSERT_EQ(converted.values.to_vector(), storage.values.to_vector());
        }
      }
    }
  }
}

TEST(TensorStorage, ConvertsBetweenAnyTwoFormatsOfAMatrix) {
  const auto elements = random_elements(42, 0.25, 0, 11);
  std::vector<Format> formats;
  for (const auto& levels : all_levels(2)) {
    for (const auto& order : all_orders(2)) {
      formats.push_back(make_format(levels, order));
      formats.push_back(formats.back());
      formats.back().block = {4, 2};
    }
  }
  for (const Format& from : formats) {
    const Storage source = from_dense(elements, {6, 7}, from);
    for (const Format& to : formats) {
      const Storage result = convert(source, to);
      verify(result);
      ASSERT_EQ(result.format, to);
      ASSERT_EQ(to_dense(result), elements) << to_string(from) << " -> " << to_string(to);
    }
  }
}

/// 2^93 positions above a level of extent 0, which the sanitizers would see overflow.
TEST(TensorStorage, NothingBelowMoreThanCanBeCounted) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const Storage storage =
      from_dense(std::vector<float>(), {kMost, kMost, kMost, 0}, dense_format(4));
  EXPECT_EQ(storage.positions(3), 0);
  EXPECT_GT(storage.positions(2), 0);
  verify(storage);
}

TEST(TensorStorage, CsrArraysAreAsDocumented) {
  //  . 2 .
  //  . . .
  //  3 . 4
  const Storage csr = from_dense(std::vector<float>{0, 2, 0, 0, 0, 0, 3, 0, 4}, {3, 3},
                                 parse_format("dense,compressed"));
  EXPECT_EQ(csr.levels[1].pos, (std::vector<uint32_t>{0, 1, 1, 3}));
  EXPECT_EQ(csr.levels[1].crd, (std::vector<uint32_t>{1, 0, 2}));
  EXPECT_EQ(csr.values.to_vector(), (std::vector<float>{2, 3, 4}));
  const Storage dcsr = convert(csr, parse_format("compressed,compressed"));
  EXPECT_EQ(dcsr.levels[0].pos, (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(dcsr.levels[0].crd, (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(dcsr.levels[1].pos, (std::vector<uint32_t>{0, 1, 3}));
  const Storage coo = convert(csr, parse_format("compressed,singleton"));
  EXPECT_EQ(coo.levels[0].pos, (std::vector<uint32_t>{0, 3}));
  EXPECT_EQ(coo.levels[0].crd, (std::vector<uint32_t>{0, 2, 2}));
  EXPECT_EQ(coo.levels[1].crd, (std::vector<uint32_t>{1, 0, 2}));
  const Storage bits = convert(csr, parse_format("dense,bitvector"));
  EXPECT_EQ(bits.levels[1].words, (std::vector<uint64_t>{2, 0, 5}));
  EXPECT_EQ(bits.levels[1].pos, (std::vector<uint32_t>{0, 1, 1, 3}));
  const Storage csc = convert(csr, parse_format("dense,compressed@1,0"));
  EXPECT_EQ(csc.levels[1].crd, (std::vector<uint32_t>{2, 0, 2}));
  EXPECT_EQ(csc.values.to_vector(), (std::vector<float>{3, 2, 4}));
}

TEST(TensorStorage, BlocksHoldRowMajorElementsAndPadding) {
  const Storage blocked = from_dense(std::vector<float>{1, 0, 0, 0, 2, 0, 0, 0, 3}, {3, 3},
                                     parse_format("dense,compressed[2x2]"), 0);
  verify(blocked);
  EXPECT_EQ(blocked.levels[1].pos, (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_EQ(blocked.levels[1].crd, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(blocked.values.to_vector(), (std::vector<float>{1, 0, 0, 2, 3, 0, 0, 0}));
  int visited = 0;
  for_each_stored(blocked, [&](std::span<const int64_t>, float) { ++visited; });
  EXPECT_EQ(visited, 5);  // a whole block and the one element of the corner within the shape
}

TEST(TensorStorage, EntriesInAnyOrderAndExplicitZerosStay) {
  const Storage storage =
      from_coo({2, 3}, {{1, 0, 1}, {2, 1, 0}}, {5, 0, 7}, parse_format("dense,compressed"));
  verify(storage);
  EXPECT_EQ(storage.stored(), 3);
  EXPECT_EQ(to_dense(storage), (std::vector<float>{0, 0, 0, 7, 0, 5}));
  EXPECT_EQ(convert(storage, parse_format("compressed,compressed@1,0")).stored(), 3);
  EXPECT_EQ(to_coo(storage).values, (std::vector<float>{0, 7, 5}));
}

TEST(TensorStorage, SortsLargeExtents) {
  // Extents beyond one digit of the radix sort, in all three dimensions.
  Random random(3);
  Coo entries{{100000, 3000000000, 5000}, {{}, {}, {}}, {}};
  for (int e = 0; e < 2000; ++e) {
    for (size_t d = 0; d < 3; ++d) {
      entries.coords[d].push_back(static_cast<uint32_t>(random.below(entries.shape[d])));
    }
    entries.values.push_back(static_cast<float>(e));
  }
  const Storage storage = from_coo(entries, parse_format("compressed,compressed,compressed@1,2,0"));
  verify(storage);
  EXPECT_EQ(storage.stored(), 2000);
  for (size_t e = 0; e < 2000; ++e) {
    const std::vector<int64_t> at = {entries.coords[0][e], entries.coords[1][e],
                                     entries.coords[2][e]};
    EXPECT_EQ(storage.at(at), entries.values[e]);
  }
}

TEST(TensorStorage, HoldsSparseTensorsOfMoreElementsThanCanBeCounted) {
  const Storage storage = from_coo({4000000000, 4000000000}, {{3999999999}, {7}}, {2},
                                   parse_format("compressed,compressed"));
  verify(storage);
  EXPECT_EQ(storage.elements(), kManyElements);
  EXPECT_EQ(storage.at(std::vector<int64_t>{3999999999, 7}), 2);
  EXPECT_GT(statistics(storage).density, 0);
  expect_contains(error_of([&] { to_dense(storage); }), "more than this machine's memory");
}

TEST(TensorStorage, RejectsWhatItCannotHold) {
  const Format csr = parse_format("dense,compressed");
  expect_contains(error_of([&] {
                    from_coo({4, 4}, {{1, 2, 1}, {3, 0, 3}}, {1, 2, 3}, csr);
                  }),
                  "coordinate [1,3] (counted from 0) occurs twice");
  expect_contains(
      error_of([&] {
        from_coo({4, 4}, {{1, 1}, {3, 3}}, {1, 2}, parse_format("dense,compressed@1,0[2x2]"));
      }),
      "coordinate [1,3] (counted from 0) occurs twice");
  expect_contains(error_of([&] { from_coo({2, 2}, {{0}, {2}}, {1}, csr); }), "out of range");
  expect_contains(error_of([&] { from_coo({2, 2, 2}, {{}, {}, {}}, {}, csr); }), "3 dimensions");
  expect_contains(error_of([&] {
                    from_coo({100000, 100000}, {{}, {}}, {}, dense_format(2));
                  }),
                  "expected at most 4294967294");
  expect_contains(error_of([&] { from_coo({1, INT64_MAX}, {{}, {}}, {}, csr); }), "too large");
  expect_contains(error_of([&] {
                    from_coo({1, INT64_C(5000000000)}, {{}, {}}, {}, csr);
                  }),
                  "too large");
  expect_contains(error_of([&] { from_coo({-1, 1}, {{}, {}}, {}, csr); }), "negative");
  expect_contains(error_of([&] {
                    from_dense(std::vector<float>{1, 2}, {3}, dense_format(1));
                  }),
                  "2 values given");
}

TEST(TensorStorage, DropsByThresholdAroundTheFill) {
  const std::vector<float> elements = {1.0F, 1.05F, 2.0F, 0.96F, NAN};
  EXPECT_EQ(from_dense(elements, {5}, sparse_format(1), 1.0F, 0.1F).stored(), 2);
  EXPECT_EQ(from_dense(elements, {5}, sparse_format(1), NAN).stored(), 4);
  EXPECT_EQ(from_dense(elements, {5}, dense_format(1), 1.0F, 0.1F).stored(), 5);
}

TEST(TensorStorage, PermutesDimensions) {
  const auto elements = random_elements(24, 0.4, 0, 5);
  for (const char* text : {"dense,compressed,compressed", "dense,dense,dense@2,0,1",
                           "dense,compressed,compressed[2x2x3]"}) {
    const Storage storage = from_dense(elements, {2, 3, 4}, parse_format(text));
    for (const auto& dims : all_orders(3)) {
      const Storage result = permuted(storage, dims);
      verify(result);
      std::vector<int64_t> coords(3);
      for_each_stored(result, [&](std::span<const int64_t> at, float v) {
        for (size_t d = 0; d < 3; ++d) coords[dims[d]] = at[d];
        EXPECT_EQ(storage.at(coords), v);
      });
      std::vector<int> back(3);
      for (size_t d = 0; d < 3; ++d) back[dims[d]] = static_cast<int>(d);
      EXPECT_EQ(to_dense(permuted(result, back)), elements);
    }
  }
}

TEST(TensorStorage, VerifyFindsDamage) {
  const Storage good = from_dense(random_elements(20, 0.5, 0, 1), {4, 5}, sparse_format(2));
  const auto damaged = [&](auto&& damage) {
    Storage storage = good;
    damage(storage);
    return error_of([&] { verify(storage); });
  };
  expect_contains(damaged([](Storage& s) { s.levels[1].pos.pop_back(); }), "level 1: pos");
  expect_contains(damaged([](Storage& s) { s.levels[1].pos[1] = 99; }), "pos");
  expect_contains(damaged([](Storage& s) { s.levels[1].crd[0] = 5; }), "beyond the extent");
  expect_contains(damaged([](Storage& s) { std::swap(s.levels[1].crd[0], s.levels[1].crd[1]); }),
                  "not sorted and unique");
  expect_contains(damaged([](Storage& s) { s.values = std::vector<float>{1}; }), "values");
  expect_contains(damaged([](Storage& s) { s.shape[1] = 6; }), "extent");
  EXPECT_EQ(damaged([](Storage&) {}), "no error");
}

TEST(TensorStorage, BuffersShareAndView) {
  const Buffer<float> owned(std::vector<float>{1, 2, 3});
  const Buffer<float> copy = owned;  // NOLINT: the copy is what is tested
  EXPECT_EQ(copy.data(), owned.data());
  auto memory = std::make_shared<std::vector<float>>(4, 2.5F);
  const std::weak_ptr<std::vector<float>> watch = memory;
  Storage storage =
      from_dense(Buffer<float>(std::span<const float>(*memory), memory), {2, 2}, dense_format(2));
  EXPECT_EQ(storage.values.data(), memory->data());
  memory.reset();
  EXPECT_FALSE(watch.expired());
  storage = Storage{};
  EXPECT_TRUE(watch.expired());
}

TEST(TensorStorage, Statistics) {
  const Storage storage =
      from_dense(std::vector<float>{1, 0, 2, 0, 0, 0, 3, 4, 5}, {3, 3}, sparse_format(2));
  const TensorStats stats = statistics(storage);
  ASSERT_EQ(stats.levels.size(), 2U);
  EXPECT_EQ(stats.levels[0].longest_fiber, 3);
  EXPECT_EQ(stats.levels[1].fibers, 3);
  EXPECT_EQ(stats.levels[1].entries, 5);
  EXPECT_EQ(stats.levels[1].longest_fiber, 3);
  EXPECT_EQ(stats.levels[1].empty_fibers, 1);
  EXPECT_EQ(stats.nonfill, 5);
  EXPECT_DOUBLE_EQ(stats.density, 5.0 / 9.0);
}

TEST(TensorStorage, StatisticsOfDenseLevelsAndOfEmptyOnes) {
  const TensorStats dense =
      statistics(from_dense(std::vector<float>{1, 0, 2, 0, 0, 0}, {2, 3}, dense_format(2)));
  EXPECT_EQ(dense.levels[0].fibers, 1);
  EXPECT_EQ(dense.levels[1].fibers, 2);
  EXPECT_EQ(dense.levels[1].longest_fiber, 3);
  EXPECT_EQ(dense.levels[1].empty_fibers, 0);
  EXPECT_EQ(dense.nonfill, 2);
  const TensorStats narrow = statistics(from_dense(std::vector<float>{}, {2, 0}, dense_format(2)));
  EXPECT_EQ(narrow.levels[1].longest_fiber, 0);
  EXPECT_EQ(narrow.levels[1].empty_fibers, 2);
  EXPECT_EQ(narrow.density, 1);
  const TensorStats none = statistics(from_dense(std::vector<float>{}, {0, 3}, dense_format(2)));
  EXPECT_EQ(none.levels[1].fibers, 0);
  EXPECT_EQ(none.levels[1].longest_fiber, 0);  // there is no fiber
}

TEST(TensorStorage, StatisticsCountTheElementsInsideOfTheShape) {
  // 3 x 3 in blocks of 2 x 2: the blocks at the edge hold padding, which is the fill or counts not.
  const std::vector<float> values = {1, 0, 2, 0, 0, 0, 3, 4, 5};
  for (const float fill : {0.0F, 5.0F}) {
    const TensorStats stats =
        statistics(from_dense(values, {3, 3}, parse_format("dense,compressed[2x2]"), fill));
    EXPECT_EQ(stats.nonfill, fill == 0 ? 5 : 8);
    EXPECT_DOUBLE_EQ(stats.density, fill == 0 ? 5.0 / 9 : 8.0 / 9);
    EXPECT_EQ(stats.levels[1].longest_fiber, 2);
  }
}

}  // namespace
}  // namespace fuseflow
