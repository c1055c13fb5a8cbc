// The examples of ir-spec/ are canonical texts: printing what was parsed gives them back.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "ir/parse.h"
#include "ir/print.h"
#include "source_dir.h"

namespace fuseflow {
namespace {

std::vector<std::string> example_files() {
  std::vector<std::string> files;
  const std::string folder = source_dir() + "/ir-spec/examples";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".ff") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string errors_of(const Error& error) {
  std::string text;
  for (const Diagnostic& diagnostic : error.diagnostics()) text += format(diagnostic);
  return text;
}

class Example : public testing::TestWithParam<std::string> {};

TEST_P(Example, IsCanonical) {
  const SourceText source = read_source(GetParam());
  try {
    EXPECT_EQ(print_program(parse_program(source)), source.text);
  } catch (const Error& error) {
    FAIL() << errors_of(error);
  }
}

INSTANTIATE_TEST_SUITE_P(Spec, Example, testing::ValuesIn(example_files()),
                         [](const auto& example) {
                           return std::filesystem::path(example.param).stem().string();
                         });

/// The canonical text of a program with the one statement `%y[i, j] = expression`.
std::string canonical(const std::string& expression) {
  const std::string text =
      "fuseflow 1\ninput %a: f32[4, 4] dense,dense\ninput %b: f32[4, 4] dense,dense\n"
      "result %y: f32[4, 4] dense,dense\nregion @y { %y[i, j] = " +
      expression + " }\n";
  try {
    const Program program = parse_program({"test", text});
    const std::string printed = print_statement(program, program.regions[0].statements[0]);
    return printed.substr(printed.find('=') + 2);
  } catch (const Error& error) {
    return errors_of(error);
  }
}

TEST(Print, UsesTheFewestParentheses) {
  EXPECT_EQ(canonical("((%a[i,j]) + (%b[i,j] * (2)))"), "%a[i, j] + %b[i, j] * 2");
  EXPECT_EQ(canonical("%a[i,j] - (%b[i,j] - 1)"), "%a[i, j] - (%b[i, j] - 1)");
  EXPECT_EQ(canonical("(%a[i,j] - %b[i,j]) - 1"), "%a[i, j] - %b[i, j] - 1");
  EXPECT_EQ(canonical("%a[i,j] * (sum(k) %b[k,k])"), "%a[i, j] * sum(k) %b[k, k]");
  EXPECT_EQ(canonical("(sum(k) %b[k,k]) * %a[i,j]"), "(sum(k) %b[k, k]) * %a[i, j]");
  EXPECT_EQ(canonical("(%a[i,j] * sum(k) %b[k,k]) * 2"), "(%a[i, j] * sum(k) %b[k, k]) * 2");
  EXPECT_EQ(canonical("sum(k) (%b[k,k]) + 1"), "sum(k) %b[k, k] + 1");
  EXPECT_EQ(canonical("sum(k) (%b[k,k] + 1)"), "sum(k) (%b[k, k] + 1)");
  EXPECT_EQ(canonical("(%a[i,j] < 1) == (%b[i,j] > 0)"), "(%a[i, j] < 1) == (%b[i, j] > 0)");
  EXPECT_EQ(canonical("-%a[i,j] * -2"), "neg(%a[i, j]) * -2");
  EXPECT_EQ(canonical("add(%a[i,j], max(1, 2))"), "%a[i, j] + max(1, 2)");
}

TEST(Print, WritesSubscriptsAndNumbersCanonically) {
  EXPECT_EQ(canonical("%a[j + i + i, 1 + j*2 - 3]"), "%a[2*i + j, 2*j - 2]");
  EXPECT_EQ(canonical("%a[-i, i - i + 3]"), "%a[-i, 3]");
  EXPECT_EQ(canonical("0.10000000149 + 1e30 + inf + -inf + nan"), "0.1 + 1e+30 + inf + -inf + nan");
  EXPECT_EQ(canonical("16777216 + 1e-45 + -0"), "16777216 + 1e-45 + -0");
}

TEST(Print, TakesAnyName) {
  const std::string name(10000, 'n');
  const std::string text = "fuseflow 1\n\ninput %" + name +
                           ": f32[2] dense\nresult %y: f32[2] dense\n" + "\nregion @\"" +
                           std::string(10000, '/') + "\" {\n  %y[i] = %" + name + "[i]\n}\n";
  EXPECT_EQ(print_program(parse_program({"test", text})), text);
}

}  // namespace
}  // namespace fuseflow
