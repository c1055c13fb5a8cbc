// Concat and Gather that are index maps: what has digits, and that the values are the model's
// either way.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <random>

#include "import/values/progression.h"
#include "import_program.h"
#include "ir/print.h"
#include "ir/verify.h"

namespace fuseflow {
namespace {

/// The digits of a list of numbers as "extent:step ..", outermost first; "none".
std::string digits(const std::vector<int64_t>& numbers) {
  std::vector<std::vector<int64_t>> values;
  values.reserve(numbers.size());
  for (const int64_t n : numbers) values.push_back({n});
  const auto found = affine_digits(values);
  if (!found) return "none";
  std::vector<std::string> words;
  for (const Digit& d : *found) words.push_back(fmt::format("{}:{}", d.extent, d.steps.at(0)));
  return fmt::format("{}", fmt::join(words, " "));
}

TEST(ImportProgression, Digits) {
  EXPECT_EQ(digits({}), "none");
  EXPECT_EQ(digits({5}), "");
  EXPECT_EQ(digits({5, 5, 5}), "3:0");
  EXPECT_EQ(digits({0, 0, 1, 1, 2, 2}), "3:1 2:0");
  EXPECT_EQ(digits({0, 1, 2, 0, 1, 2}), "2:0 3:1");
  EXPECT_EQ(digits({0, 1, 2, 3, 5, 6, 7, 8}), "2:5 4:1");
  EXPECT_EQ(digits({0, 1, 4, 5, 2, 3, 6, 7}), "2:2 2:4 2:1");
  EXPECT_EQ(digits({0, 1, 2, 4}), "none");
  EXPECT_EQ(digits({0, 0, 0, 1}), "none");
  EXPECT_EQ(digits({0, 0, 1, 2}), "none");
  EXPECT_EQ(digits({0, 0, 1}), "none");
}

/// The program of `y = body`, where body reads x: 4 x 6, squared at first so that it is no input.
Program imported(const std::string& body, const std::string& shape = "N,M") {
  const onnx::ModelProto model =
      model_of("(float[4,6] x) => (float[" + shape + "] y) { s = Mul(x, x) " + body + " }");
  ImportOptions options;
  options.bindings["x"] =
      parse_binding("values(0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23)");
  return import_by_file(model, options);
}

/// Rows of the squares of x.
Floats rows(const std::vector<int>& numbers) {
  Floats values;
  for (const int r : numbers) {
    for (int c = 0; c < 6; ++c) values.push_back(static_cast<float>((6 * r + c) * (6 * r + c)));
  }
  return values;
}

size_t statements(const Program& program) {
  size_t count = 0;
  for (const Region& region : program.regions) count += region.statements.size();
  return count;
}

/// Split of s into its rows a, b, c, d: each 1 x 6.
const std::string kRows = "n = Constant<value_ints = [1, 1, 1, 1]>() a, b, c, d = Split(s, n) ";

TEST(ImportProgression, PartsOfOneValueAreOneAccess) {
  // Two statements: the squares, and one access to them. Without joining, the rows would be four
  // intermediates.
  const std::map<std::string, std::vector<int>> cases = {
      {"a, b, c, d", {0, 1, 2, 3}},
      {"a, a, b, b, c, c, d, d", {0, 0, 1, 1, 2, 2, 3, 3}},
      {"a, b, c, d, a, b, c, d", {0, 1, 2, 3, 0, 1, 2, 3}},
      {"d, c, b, a", {3, 2, 1, 0}},
      {"a, c, b, d", {0, 2, 1, 3}},
      {"b, b, b", {1, 1, 1}},
      {"a, b, c, b, c, d", {0, 1, 2, 1, 2, 3}}};
  for (const auto& [parts, expected] : cases) {
    SCOPED_TRACE(parts);
    const Program program =
        imported(fmt::format("{}t = Concat<axis = 0>({}) y = Relu(t)", kRows, parts));
    EXPECT_EQ(statements(program), 2U);
    EXPECT_EQ(result_of(program), rows(expected));
  }
}

TEST(ImportProgression, GatheredRowsAreOneAccess) {
  const std::map<std::string, std::vector<int>> cases = {
      {"0, 0, 1, 1, 2, 2, 3, 3", {0, 0, 1, 1, 2, 2, 3, 3}},
      {"1, 1, 1", {1, 1, 1}},
      {"0, 1, 2, 1, 2, 3", {0, 1, 2, 1, 2, 3}},
      {"-1, 0", {3, 0}}};
  for (const auto& [indices, expected] : cases) {
    SCOPED_TRACE(indices);
    const Program program = imported("i = Constant<value_ints = [" + indices +
                                     "]>() t = Gather<axis = 0>(s, i) y = Relu(t)");
    EXPECT_EQ(statements(program), 2U);
    EXPECT_EQ(result_of(program), rows(expected));
  }
}

TEST(ImportProgression, PartsThatDifferInMoreAreSummed) {
  const std::string to = " = Concat<axis = 0>";
  EXPECT_EQ(result_of(imported(kRows + "y" + to + "(a, b, d)")), rows({0, 1, 3}));
  Floats negated = rows({0, 1});
  for (size_t i = 6; i < 12; ++i) negated[i] = -negated[i];
  EXPECT_EQ(result_of(imported(kRows + "m = Neg(b) y" + to + "(a, m)")), negated);
  Floats other = rows({0, 1});
  for (size_t i = 6; i < 12; ++i) other[i] = static_cast<float>(i);
  EXPECT_EQ(result_of(imported(kRows + "e, f, g, h = Split(x, n) y" + to + "(a, f)")), other);
}

TEST(ImportProgression, OffsetsMoveInSeveralDimensions) {
  // The diagonal blocks [0:2, 0:3] and [2:4, 3:6].
  const std::string blocks =
      "n = Constant<value_ints = [2, 2]>() m = Constant<value_ints = [3, 3]>() "
      "u, v = Split<axis = 0>(s, n) a, b = Split<axis = 1>(u, m) c, d = Split<axis = 1>(v, m) ";
  EXPECT_EQ(result_of(imported(blocks + "y = Concat<axis = 1>(a, d)")),
            (Floats{0, 1, 4, 15 * 15, 16 * 16, 17 * 17, 36, 49, 64, 21 * 21, 22 * 22, 23 * 23}));
  EXPECT_EQ(result_of(imported(blocks + "t = Concat<axis = 0>(a, d) y = Neg(t)")),
            (Floats{-0.0F, -1, -4, -36, -49, -64, -15 * 15, -16 * 16, -17 * 17, -21 * 21, -22 * 22,
                    -23 * 23}));
}

TEST(ImportProgression, ContractionsAreSumsOverWideParts) {
  const auto sums = [](const std::string& body) {
    const std::string text = print_program(imported(body));
    size_t count = 0;
    for (size_t at = text.find("sum("); at != std::string::npos; at = text.find("sum(", at + 1))
      ++count;
    return count;
  };
  const std::string wide =
      "n = Constant<value_ints = [3, 3]>() a, b = Split<axis = 1>(s, n) "
      "t = Concat<axis = 1>(b, a) ";
  EXPECT_EQ(sums(wide + "w = Transpose(x) y = MatMul(t, w)"), 2U);
  EXPECT_EQ(sums(wide + "r = Relu(t) w = Transpose(x) y = MatMul(r, w)"), 1U);
  // Rows of s are columns of t: four of one element each.
  EXPECT_EQ(sums(kRows + "t = Concat<axis = 0>(d, c, b, a) u = Transpose(t) y = MatMul(u, x)"), 1U);
}

// Keys of two heads for queries of four, in the forms that PyTorch exports: the heads apart, each
// repeated and all joined (repeat_interleave), by index, and broadcast. All are one program, in
// which heads of keys are a loop of their own.
TEST(ImportProgression, GroupedQueriesAreOneProgram) {
  const std::string before =
      "e = Exp(s) qs = Constant<value_ints = [4, 2, 3]>() q = Reshape(e, qs) "
      "ks = Constant<value_ints = [4, 2, 3]>() kr = Reshape(s, ks) "
      "k = Transpose<perm = [1, 0, 2]>(kr) ";
  const std::string after = "t = Transpose<perm = [0, 2, 1]>(r) y = MatMul(q, t)";
  const std::string apart =
      "n = Constant<value_ints = [1, 1]>() k0, k1 = Split<axis = 0>(k, n) "
      "one = Constant<value_ints = [1]>() to = Constant<value_ints = [1, 2, 4, 3]>() "
      "u0 = Unsqueeze(k0, one) x0 = Expand(u0, to) u1 = Unsqueeze(k1, one) x1 = Expand(u1, to) "
      "flat = Constant<value_ints = [2, 4, 3]>() r0 = Reshape(x0, flat) r1 = Reshape(x1, flat) "
      "r = Concat<axis = 0>(r0, r1) ";
  const std::string by_index =
      "i = Constant<value_ints = [0, 0, 1, 1]>() r = Gather<axis = 0>(k, i) ";
  const std::string broadcast =
      "one = Constant<value_ints = [1]>() u = Unsqueeze(k, one) "
      "to = Constant<value_ints = [2, 2, 4, 3]>() b = Expand(u, to) "
      "flat = Constant<value_ints = [4, 4, 3]>() r = Reshape(b, flat) ";
  const std::string text = print_program(imported(before + broadcast + after, "4,2,4"));
  EXPECT_NE(text.find("%y[i, j, k, l] = sum(m) %e[i, j, k, m] * %s[l, i, m]"), std::string::npos)
      << text;
  EXPECT_EQ(print_program(imported(before + apart + after, "4,2,4")), text);
  EXPECT_EQ(print_program(imported(before + by_index + after, "4,2,4")), text);
}

// Parts of one or two rows at random places: whatever the importer makes of them.
TEST(ImportProgression, AnyRows) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 60; ++trial) {
    const int height = 1 + static_cast<int>(random() % 2);
    const int count = 2 + static_cast<int>(random() % 5);
    std::string body;
    std::vector<std::string> parts;
    std::vector<int> expected;
    for (int p = 0; p < count; ++p) {
      const int start = static_cast<int>(random() % static_cast<unsigned>(5 - height));
      body += fmt::format(
          "b{0} = Constant<value_ints = [{1}]>() e{0} = Constant<value_ints = [{2}]>() ", p, start,
          start + height);
      body += fmt::format("p{0} = Slice(s, b{0}, e{0}) ", p);
      parts.push_back(fmt::format("p{}", p));
      for (int r = 0; r < height; ++r) expected.push_back(start + r);
    }
    SCOPED_TRACE(fmt::format("{}", expected));
    EXPECT_EQ(
        result_of(imported(body + fmt::format("y = Concat<axis = 0>({})", fmt::join(parts, ",")))),
        rows(expected));
    EXPECT_EQ(result_of(imported(
                  fmt::format("i = Constant<value_ints = [{}]>() y = Gather<axis = 0>(s, i)",
                              fmt::join(expected, ",")))),
              rows(expected));
  }
}

}  // namespace
}  // namespace fuseflow
