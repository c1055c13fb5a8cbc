// Rejected texts: each message names what was wrong and what was expected, several come in one run,
// and no input ends in anything but an Error.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/parse.h"
#include "ir/print.h"
#include "source_dir.h"

namespace fuseflow {
namespace {

const std::string kHead =
    "fuseflow 1\n"
    "input %a: f32[4, 5] dense,compressed\n"
    "input %x: f32[5] dense\n"
    "result %y: f32[4] dense\n";

std::string errors(const std::string& text) {
  try {
    parse_program({"t.ff", text});
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::rejected);
    std::string all;
    for (const Diagnostic& diagnostic : error.diagnostics()) all += format(diagnostic);
    return all;
  }
}

std::string statement_error(const std::string& statement) {
  return errors(kHead + "region @y {\n  " + statement + "\n}\n");
}

void expect_message(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "got: " << text << "\nexpected: " << part;
}

TEST(ParseError, ShowsPlaceLineAndCaret) {
  EXPECT_EQ(
      statement_error("%y[i] = rellu(%a[i, 0])"),
      "t.ff:6:11: error: unknown operator 'rellu'; did you mean 'relu'?; expected one of " +
          [] {
            std::string names;
            for (const std::string& name : op_names()) names += name + ", ";
            return names + "sum, mean, prod, coordinate\n";
          }() +
          "  %y[i] = rellu(%a[i, 0])\n          ^~~~~\n");
}

TEST(ParseError, SaysHowAReductionIsWritten) {
  expect_message(statement_error("%y[i] = sum[j](%a[i, j])"), "e.g. `sum(j) %a[i, j]`");
  expect_message(statement_error("%y[i] = max[j](%a[i, j])"), "or `max(j) %a[i, j]`");
}

TEST(ParseError, AMisspelledDeclarationIsNoAttributeOfTheOneBefore) {
  const std::string all =
      errors(kHead + "output %z: f32[4] dense\nregion @z {\n  %z[i] = %y[i]\n}\n");
  expect_message(all, "t.ff:5:1: error: unknown keyword 'output'");
  EXPECT_EQ(all.find("%z[i]"), std::string::npos) << all;
}

TEST(ParseError, ReportsSeveralInOneRun) {
  const std::string all = errors(
      "fuseflow 1\n"
      "input %a: f33[4] dense\n"
      "input %b: f32[4] dens\n"
      "input %c: f32[4] dense fil(0)\n"
      "const %d f32[4] dense\n"
      "result %y: f32[4] dense\n"
      "region @y {\n"
      "  oder i\n"
      "  %y[i] = %q[i]\n"
      "  %y[i] = %y + )\n"
      "}\n"
      "rgion @z {\n");
  expect_message(all, "t.ff:2:11: error: ");
  expect_message(all, "t.ff:3:18: error: ");
  expect_message(all, "unknown attribute of a tensor 'fil'; did you mean 'fill'?");
  expect_message(all, "t.ff:5:10: error: unexpected 'f32', expected ':', e.g. `input %x");
  expect_message(all, "unknown keyword in a region 'oder'; did you mean 'order'?");
  expect_message(all, "t.ff:9:11: error: unknown tensor %q");
  expect_message(all, "t.ff:10:16: error: unexpected ')', expected an expression");
  expect_message(all, "unknown keyword 'rgion'; did you mean 'region'?");
}

TEST(ParseError, Version) {
  expect_message(errors("fuseflow 2\n"), "the text has version 2, expected at most 1");
  expect_message(errors("input %a: f32[4] dense\n"),
                 "expected the version line, e.g. `fuseflow 1`");
  expect_message(errors(""), "the file is empty, expected a program");
  expect_message(errors("fuseflow"), "unexpected end of the file, expected a version");
  expect_message(errors("fuseflow 99999999999999999999\n"), "is out of range");
}

TEST(ParseError, OneErrorForEachMistake) {
  const auto lines = [](const std::string& text) {
    const std::string all = errors(text);
    size_t count = 0;
    for (size_t at = all.find("error: "); at != std::string::npos; at = all.find("error: ", at + 1))
      ++count;
    return count;
  };
  const std::string use = "result %y: f32[4] dense\nregion @y { %y[i] = %a[i] + %a[i] }\n";
  EXPECT_EQ(lines("fuseflow 1\ninput %a: f32[4] dens\n" + use), 1U);
  EXPECT_EQ(lines("fuseflow 1\ninput a: f32[4] dense\n" + use), 1U);
  EXPECT_EQ(lines("fuseflow 1\ninptu %a: f32[4] dense\n" + use), 1U);
  EXPECT_EQ(lines("fuseflow 1\ndim N = -\ninput %a: f32[N] dense\n" + use), 1U);
  EXPECT_EQ(lines(kHead + "region @y {\n %y[i] = foo(%a[i, 0],\n  %x[i])\n}\n"), 1U);
  EXPECT_EQ(lines(kHead + "region @y { %y[i] = 1 2 }\nregion @z { %y[i] = 1 ] }\n"), 2U);
}

TEST(ParseError, NeverMoreThanFifty) {
  std::string text = kHead;
  for (int k = 0; k < 1000; ++k) text += "input %a: f33[1] dense\n\x01\x02\n";
  try {
    parse_program({"t.ff", text});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.diagnostics().size(), 51U);
    EXPECT_EQ(error.diagnostics().back().severity, Severity::note);
  }
}

TEST(ParseError, Statements) {
  expect_message(statement_error("%y[i] = %a[i]"), "%a has rank 2, got 1 subscript");
  expect_message(statement_error("%y[i, j] = %a[i, j]"), "%y has rank 1, got 2 indices");
  expect_message(statement_error("%y[i] = %a[i, j]"), "unknown index j");
  expect_message(statement_error("%y[i] = sum(j) %a[i, j] + %x[j]"),
                 "index j is used outside of its reduction, expected parentheses");
  expect_message(statement_error("%y[i] = sum(i) %x[i]"), "index i is defined twice");
  expect_message(statement_error("%y[i] = %x[i] from MatMul"),
                 "expected '(', e.g. `from MatMul(\"/layers.0/MatMul\")`");
  expect_message(statement_error("%y[i] = %x[i] from MatMul(name)"), "the name of a node");
  expect_message(statement_error("%y[i] = sum(j) %a[j, i]"),
                 "index i has two extents: dimension 0 of "
                 "%y has extent 4, but dimension 1 of %a "
                 "has extent 5");
  expect_message(statement_error("%y[i] = sum(k) %x[2*k + i]"),
                 "nothing tells the extent of index k");
  expect_message(statement_error("%x[i] = 1"), "%x is an input and cannot be defined");
  expect_message(statement_error("%y[i] = %y[i]"), "%y is used in its own definition");
  expect_message(statement_error("%y[i] = relu(%a[i, 0], 1)"), "relu takes 1 operand, got 2");
  expect_message(statement_error("%y[i] = i"), "`coordinate(i)`");
  expect_message(statement_error("%y[i] = %x[i] < 1 < 2"), "comparisons do not chain");
  expect_message(statement_error("%y[i] = 1e99"), "exceeds the range of f32");
  expect_message(statement_error("%y[i] = %x[9223372036854775807*i + 9223372036854775807*i]"),
                 "exceeds 64 bits");
  expect_message(statement_error("%y[i] = %x[99999999999999999999*i]"), "out of range");
  expect_message(statement_error("%y[i] = %a[i, 0"), "expected ',' or ']'");
}

/// As deep as language.md says, and no deeper.
TEST(ParseError, NestingIsBoundedWhereTheDocumentSays) {
  const auto repeated = [](const char* part, int count) {
    std::string text;
    for (int k = 0; k < count; ++k) text += part;
    return text;
  };
  const auto nested = [&](const char* open, int count, const char* close) {
    return statement_error("%y[i] = " + repeated(open, count) + "%a[i, 0]" +
                           repeated(close, count));
  };
  for (const auto& [open, close] : {std::pair{"(", ")"}, {"relu(", ")"}, {"-", ""}}) {
    EXPECT_EQ(nested(open, 300, close), "");
    expect_message(nested(open, 301, close), "nested deeper than 300 parentheses, signs, calls");
  }
  EXPECT_EQ(statement_error("%y[i] = %a[i, 0]" + repeated(" + 1", 1000)), "");
  expect_message(statement_error("%y[i] = %a[i, 0]" + repeated(" + 1", 1001)),
                 "nested deeper than 1000 operations");
}

TEST(ParseError, WhatCountsOnceIsGivenOnce) {
  expect_message(errors("fuseflow 1 program \"a\" program \"b\"\n"), "the program is named twice");
  for (const char* attribute : {"fill(1)", "facts(finite)", "assume(finite)", "shape(3)"}) {
    expect_message(
        errors(fmt::format("fuseflow 1\ninput %t: f32[3] dense {} {}\n", attribute, attribute)),
        "is given twice, expected it once");
  }
}

TEST(ParseError, DeepNestingIsRefused) {
  expect_message(statement_error("%y[i] = " + std::string(100000, '(') + "1"), "nested deeper");
  expect_message(statement_error("%y[i] = " + std::string(100000, '-') + "%a[i, 0]"),
                 "nested deeper");
  std::string chain = "%y[i] = 1";
  for (int k = 0; k < 5000; ++k) chain += " + 1";
  expect_message(statement_error(chain), "nested deeper");
}

TEST(ParseError, Programs) {
  expect_message(errors(kHead), "result %y is not defined, expected a statement");
  expect_message(statement_error("%y[i] = sum(j) %a[i, j]\n  %y[i] = 1"), "%y is defined twice");
  expect_message(errors(kHead + "input %a: f32[1] dense\n"), "%a is declared twice");
  expect_message(errors("fuseflow 1\ntemp %t: f32[N] dense\n"), "unknown dimension N");
  expect_message(errors("fuseflow 1\ninput %t: f32[3] compressed fill(-inf) facts(finite)\n"),
                 "contradicts its facts");
  expect_message(errors("fuseflow 1\nconst %t: f32[3] dense\n"), "constant %t has no source");
  expect_message(errors("fuseflow 1\ntemp %t: f32[3] dense = values(1,2,3)\n"),
                 "cannot have a source");
  const std::string two =
      "temp %t: f32[4] dense\nregion @a {\n %y[i] = %t[i]\n}\nregion @b {\n %t[i] = "
      "1\n}\n";
  expect_message(errors(kHead + two), "%y uses %t before it is defined (in region @b)");
}

TEST(ParseError, Schedules) {
  expect_message(statement_error("order i, j, i\n  %y[i] = sum(j) %a[i, j]"), "names i twice");
  expect_message(statement_error("place %a = stream\n  %y[i] = sum(j) %a[i, j]"),
                 "expected memory or scratchpad");
  expect_message(statement_error("place %x = memory\n  %y[i] = sum(j) %a[i, j]"),
                 "neither defines nor uses");
  expect_message(statement_error("parallel i = 0\n  %y[i] = sum(j) %a[i, j]"), "out of range");
}

std::string graph_error(const std::string& nodes) {
  return statement_error(
      "%y[i] = sum(j) %a[i, j] * %x[j]\n graph {\n index i: 4\n index j: 5\n index k: 2\n phase "
      "{\n" +
      nodes + "\n}\n}\n");
}

/// A payload of an outer loop beside inner coordinates, and the other way round: executors go
/// through a group in step.
TEST(GraphError, PayloadsLieWhereTheirGroupDoes) {
  const std::string open =
      "$r: ref<> = root\n$i: crd<i>, $ai: ref<i> = scan %a.0 ($r)\n"
      "$j: crd<i,j>, $aj: ref<i,j> = scan %a.1 ($ai)\n$v: val<i,j> = array %a ($aj)\n"
      "$s: val<i> = reduce sum ($v)\n";
  const std::string below = open + "$k: crd<i,j,k>, $ak: ref<i,j,k> = scan ($aj)\n";
  for (const char* drop : {"$p, $q, $t = drop ($i; $j, $s)", "$p, $t, $q = drop ($i, $v; $j)",
                           "$p, $q, $t = drop ($i; $j, $i)"}) {
    expect_message(graph_error(open + drop), "are not in the same space");
  }
  expect_message(graph_error(below + "$p, $q, $t = drop ($i; $j, $ak)"),
                 "are not in the same space");
  expect_message(graph_error(below + "$p, $q = drop ($i; $k)"), "is not nested directly below $i");
  expect_message(graph_error(open + "$p, $q = filter ($v, $j, $ai)"), "are not in the same space");
  expect_message(graph_error(open + "$p, $q, $t = unite ($j, $ai; $j, $aj)"),
                 "are not in the same space");
  expect_message(graph_error(open + "$p = align ($i, $i, $s)"), "is not nested below $i");
}

TEST(GraphError, PlacesThatExceed62BitsAreRefused) {
  const std::string open =
      "$r: ref<> = root\n$i: crd<i>, $ai: ref<i> = scan %a.0 ($r)\n$rr = repeat ($r, $i)\n";
  const std::string locate = open + "$x = locate %x.0 ($rr, $i";
  for (const char* rest :
       {") stride=9223372036854775807", ") stride=4611686018427387904",
        ") offset=-9223372036854775808", ", $i) stride=1 strides=[4611686018427387904]"}) {
    expect_message(graph_error(locate + rest), "its places exceed 62 bits");
  }
  expect_message(graph_error(open + "$x = locate %x.0 ($r) offset=9223372036854775807"), "62 bits");
  for (const char* offset : {"-9223372036854775808", "9223372036854775807"}) {
    expect_message(graph_error(open + "$j: crd<i,j>, $aj = scan %a.1 ($ai) offset=" + offset),
                   "its offset exceeds 61 bits");
  }
}

TEST(GraphError, EachTypingRuleNamesItsViolation) {
  const std::string open =
      "$r: ref<> = root\n$i: crd<i>, $ai: ref<i> = scan %a.0 ($r)\n"
      "$j: crd<i,j>, $aj: ref<i,j> = scan %a.1 ($ai)\n";
  expect_message(graph_error(open + "$v: val<i,j> = array %a ($ai)"),
                 "$ai (ref<i>) is a reference to %a.0, expected one to %a.1");
  expect_message(  // the vector has no level 1 to compare
      graph_error("$r: ref<> = root\n$j: crd<j>, $xj: ref<j> = scan %x.0 ($r)\n"
                  "$v: val<j> = array %a ($xj)"),
      "$xj (ref<j>) is a reference to %x.0, expected one to %a.1");
  expect_message(graph_error(open + "$q: ref<i,j> = repeat ($r, $j)"),
                 "$j (crd<i,j>) is not nested directly below $r (ref<>)");
  expect_message(graph_error(open + "$x: ref<i,j> = locate %x.0 ($ai, $i)"),
                 "$ai (ref<i>) is a reference to %a.0, expected one to the root");
  expect_message(
      graph_error(open + "$v: val<i,j> = array %a ($aj)\n$s: val<i> = reduce sum ($r, $v)"),
      "is not nested directly below $r");
  expect_message(
      graph_error(open + "$v: val<i,j> = array %a ($aj)\n$s: val<j> = reduce sum ($i, $v)"),
      "output $s is declared val<j>, expected val<i>");
  expect_message(graph_error("$r: ref<> = root\n$i: crd<i>, $a: ref<i> = scan %a.0 ($r)\n"
                             "$x: crd<i>, $b: ref<i> = scan %x.0 ($r)\n"
                             "$v: val<i> = array %x ($b)\n$w: val<i> = coordinate ($i)\n"
                             "$z: val<i> = map mul ($v, $w)"),
                 "are not in the same space");
  expect_message(graph_error("$v: val<> = pad ()"), "has no input, expected a value");
  expect_message(graph_error(open + "write_values %y ($i, $i)"),
                 "input 2 is $i (crd<i>), expected a val");
  expect_message(graph_error(open + "write_level %y.0 ($i)"),
                 "the level is dense and is not written");
  expect_message(graph_error(open + "$k: crd<i>, $l: ref<i> = scan %a.2 ($r)"),
                 "levels 0 to 1, got level 2");
  expect_message(graph_error(open + "$q: ref<i> = repeet ($r, $i)"), "did you mean 'repeat'?");
  expect_message(graph_error(open + "$q: ref<i> = repeat ($r, $ii)"), "unknown stream $ii");
  expect_message(graph_error(open + "}\nphase {\n$q: val<i> = coordinate ($i)"),
                 "takes $i of phase 0 in phase 1");
  expect_message(graph_error(open + "$q: ref<i> = buffer ($ai) capasity=3"),
                 "did you mean 'capacity'?");
  expect_message(graph_error(open + "$q: ref<i> = buffer ($ai) capacity=3 least=4"),
                 "holds at least 4 tokens, expected 0 to its capacity of 3");
  expect_message(graph_error(open + "$q: ref<i,j> = buffer ($ai)"),
                 "declared ref<i,j>, expected ref<i>");
}

std::string reference_error(const std::string& section) {
  return errors(kHead + "temp %t: f32[4] dense\ntemp %u: f32[4] dense\n" +
                "region @y {\n  %y[i] = sum(j) %a[i, j]\n}\n" + section);
}

TEST(ParseError, RulesOfTheReferenceSection) {
  const std::string u = "  %u[i] = relu(%y[i])\n";
  EXPECT_EQ(reference_error("reference reassociated {\n  %t[i] = sum(j) %a[i, j]\n" + u + "}\n"),
            "");
  EXPECT_EQ(reference_error("reference {\n  %y[i] = relu(%t[i])\n  %t[i] = sum(j) %a[i, j]\n" + u +
                            "}\n"),
            "");
  expect_message(reference_error("reference {\n}\n"), "is empty, expected a statement");
  expect_message(reference_error("reference {\n  order i\n}\n"), "expected a statement or '}'");
  expect_message(reference_error("reference {\n" + u + u + "}\n"),
                 "%u occurs twice in the reference section, expected one statement a tensor");
  expect_message(reference_error("reference {\n" + u + "}\n"), "temp %t is not defined");
  expect_message(reference_error("reference {\n  %t[i] = relu(%u[i])\n" + u + "}\nreference {\n}"),
                 "the program has two `reference` sections, expected one");
  expect_message(reference_error("reference {\n  %t[i] = relu(%u[i])\n  %u[i] = relu(%t[i])\n}\n"),
                 "needs its own value by the statements of the reference section");
  expect_message(errors("fuseflow 1\ninput %x: f32[5] dense\nresult %y: f32[5] dense\n"
                        "reference {\n  %y[i] = relu(%x[i])\n}\n"),
                 "result %y is defined by the reference section alone");
  expect_message(errors("fuseflow 1\ninput %x: f32[5] dense\ntemp %t: f32[5] dense\n"
                        "result %y: f32[5] dense\nregion @y {\n  %y[i] = relu(%t[i])\n}\n"
                        "reference {\n  %t[i] = relu(%x[i])\n}\n"),
                 "uses %t, which no statement of a region defines");
}

TEST(ParseError, TruncatedAndMangledTextsNeverCrash) {
  const std::string folder = source_dir() + "/ir-spec/examples/";
  for (const char* name :
       {"tensors.ff", "expressions.ff", "schedule.ff", "graph_nodes.ff", "rewritten.ff"}) {
    const std::string text = read_source(folder + name).text;
    for (size_t cut = 0; cut < text.size(); cut += 3) {
      errors(text.substr(0, cut));
      std::string mangled = text;
      mangled[cut] = "%$@{}()[]\"#,;-9\0x"[cut % 17];
      errors(mangled);
      mangled = text;
      mangled.erase(cut, 1 + cut % 7);
      errors(mangled);
    }
  }
}

}  // namespace
}  // namespace fuseflow
