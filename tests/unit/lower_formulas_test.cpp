// Formulas of presence: equal ones are one number, and they are simplified as they are joined.
#include <gtest/gtest.h>

#include "lower/formulas.h"
#include "lower/node_values.h"

namespace fuseflow {
namespace {

using Kind = Formulas::Kind;

TEST(Formulas, EqualOnesAreOne) {
  Formulas f;
  const Formulas::Id a = f.leaf(0);
  const Formulas::Id b = f.leaf(1);
  EXPECT_EQ(f.leaf(0), a);
  EXPECT_EQ(f.join(Kind::both, {a, b}), f.join(Kind::both, {a, b, a}));
  EXPECT_NE(f.join(Kind::both, {a, b}), f.join(Kind::either, {a, b}));
}

TEST(Formulas, AllAndNeverDropOutOrDecide) {
  Formulas f;
  const Formulas::Id a = f.leaf(0);
  EXPECT_EQ(f.join(Kind::both, {}), Formulas::kAll);
  EXPECT_EQ(f.join(Kind::either, {}), Formulas::kNever);
  EXPECT_EQ(f.join(Kind::both, {a, Formulas::kAll}), a);
  EXPECT_EQ(f.join(Kind::either, {a, Formulas::kAll}), Formulas::kAll);
  EXPECT_EQ(f.join(Kind::both, {a, Formulas::kNever}), Formulas::kNever);
}

TEST(Formulas, OneInsideOfAnotherAbsorbsIt) {
  Formulas f;
  const Formulas::Id a = f.leaf(0);
  const Formulas::Id b = f.leaf(1);
  EXPECT_EQ(f.join(Kind::both, {a, f.join(Kind::either, {a, b})}), a);
  EXPECT_EQ(f.join(Kind::either, {f.join(Kind::both, {a, b}), a}), a);
}

TEST(Formulas, ALeafThatIsEverywhereDropsOut) {
  Formulas f;
  const Formulas::Id a = f.leaf(0);
  const Formulas::Id b = f.leaf(1);
  const Formulas::Id c = f.leaf(2);
  const Formulas::Id given = f.join(Kind::either, {f.join(Kind::both, {a, b}), c});
  EXPECT_TRUE(f.mentions(given, 1));
  EXPECT_EQ(f.without(given, 1), f.join(Kind::either, {a, c}));
  EXPECT_EQ(f.without(given, 2), Formulas::kAll);
  EXPECT_FALSE(f.mentions(f.without(given, 1), 1));
}

TEST(NodeValues, ATableIsEmptyWhenItIsUsedAgain) {
  NodeValues::Pool pool;
  {
    NodeValues outer(pool, 4);
    outer.set(1, 7);
    NodeValues inner(pool, 4);  // another table, while the first is in use
    EXPECT_EQ(inner.at(1), -1);
    inner.set(2, 5);
    EXPECT_EQ(outer.at(1), 7);
    EXPECT_EQ(outer.at(2), -1);
  }
  NodeValues again(pool, 4);
  for (int node = 0; node < 4; ++node) EXPECT_EQ(again.at(node), -1);
}

}  // namespace
}  // namespace fuseflow
