// The sets of places from which a thread chooses the node that it works next.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "sim/threads/place_set.h"

namespace fuseflow::engine {
namespace {

TEST(PlaceSet, FindsNeighboursAsASetDoes) {
  std::mt19937 random(1);
  for (const size_t places : {1, 63, 64, 65, 4096, 4097, 300'000}) {
    PlaceSet set(places);
    std::set<size_t> expected;
    for (int i = 0; i < 3000; ++i) {
      const size_t place = random() % places;
      const bool in = random() % 3 != 0;
      set.put(place, in);
      if (in) expected.insert(place);
      if (!in) expected.erase(place);
      const size_t from = random() % (places + 1);
      const auto at = expected.lower_bound(from);
      ASSERT_EQ(set.first_from(from), at == expected.end() ? PlaceSet::kNone : *at) << places;
      ASSERT_EQ(set.last_before(from), at == expected.begin() ? PlaceSet::kNone : *std::prev(at))
          << places;
    }
  }
}

}  // namespace
}  // namespace fuseflow::engine
