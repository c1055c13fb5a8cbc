// Room for results: how often arrays of known growth are moved, and what is not known.
#include <gtest/gtest.h>

#include "sim/functional/size_predictor.h"

namespace fuseflow::engine {
namespace {

Tensor tensor(const std::vector<int64_t>& shape, const std::string& format) {
  Tensor result;
  for (const int64_t extent : shape) result.shape.emplace_back().value = extent;
  result.format = parse_format(format);
  return result;
}

/// How often an array is moved that gets `count` elements a fiber, a fiber at a time.
int moves(SizePredictor sizes, size_t fibers, size_t count) {
  std::vector<uint32_t> array;
  int moved = 0;
  for (size_t f = 0; f < fibers; ++f) {
    sizes.add_fibers(1);
    const size_t room = array.capacity();
    sizes.make_room(array, array.size() + count);
    array.resize(array.size() + count);
    moved += array.capacity() != room ? 1 : 0;
  }
  return moved;
}

TEST(SizePredictor, FibersOfDenseLevelsAreExpected) {
  const Tensor csr = tensor({1000, 500}, "dense,compressed");
  EXPECT_LE(moves(SizePredictor(csr, 1), 1000, 20), 2);  // the first time for 64 fibers
  EXPECT_LE(moves(SizePredictor(csr, 2), 1000, 20), 2);  // of values
  const Tensor deep = tensor({10, 100, 50}, "dense,dense,compressed");
  EXPECT_LE(moves(SizePredictor(deep, 2), 1000, 20), 2);
}

TEST(SizePredictor, PositionsOfDenseLevelsAreKnown) {
  const Tensor dense = tensor({100, 200}, "dense,dense");
  EXPECT_LE(moves(SizePredictor(dense, 2), 1000, 20), 2);
}

TEST(SizePredictor, NothingIsReservedForWhatIsNotKnown) {
  const Tensor sparse = tensor({1000, 500}, "compressed,compressed");
  for (const size_t level : {1, 2}) {
    SizePredictor sizes(sparse, level);
    sizes.add_fibers(1);
    std::vector<uint32_t> array;
    sizes.make_room(array, 20);
    EXPECT_EQ(array.capacity(), 0U);
  }
  SizePredictor none(tensor({1000, 500}, "dense,compressed"), 1);  // no fiber has ended yet
  std::vector<uint32_t> array;
  none.make_room(array, 20);
  EXPECT_EQ(array.capacity(), 0U);
}

TEST(SizePredictor, TheFirstFibersDoNotTellAll) {
  SizePredictor sizes(tensor({1000000, 500}, "dense,compressed"), 1);
  sizes.add_fibers(1);
  std::vector<uint32_t> array;
  sizes.make_room(array, 500);
  EXPECT_LE(array.capacity(), 500U * 70);
}

}  // namespace
}  // namespace fuseflow::engine
