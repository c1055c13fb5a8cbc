// The list of operators in ir-spec/operators.md is generated from the importer's table.
// FUSEFLOW_REBASE=1 writes it anew.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "import/onnx/definitions.h"
#include "import/operators/registry.h"
#include "source_dir.h"
#include "support/io.h"

namespace fuseflow {
namespace {

std::string operator_list() {
  std::string text =
      "# ONNX operators\n\nGenerated from the importer's table (`FUSEFLOW_REBASE=1 import_test` "
      "writes it). Claimed in f32, "
      "i64 and bool (quantised\noperators: i8, u8 and i32), and checked against every case of the "
      "ONNX project's own tests. Each node is\nread by the definition of its opset (1 to 28) or "
      "refused. An operator that is not listed is refused by\nname.\n\n"
      "| operator | left out |\n|---|---|\n";
  for (const OperatorRow& row : operator_table())
    text += fmt::format("| {} | {} |\n", row.name, row.note);
  text +=
      "\nNowhere supported: sequences, optionals, strings, loops (Loop, Scan), training, "
      "random numbers,\nquantised convolutions, blocks with scales of their own, elements of 4 "
      "bits "
      "and of f8, and shapes that depend on\nvalues.\n";
  return text;
}

TEST(ImportOperators, DocumentIsTheTable) {
  const std::string path = source_dir() + "/ir-spec/operators.md";
  if (std::getenv("FUSEFLOW_REBASE") != nullptr) write_output(path, operator_list());
  EXPECT_EQ(read_source(path).text, operator_list()) << "run with FUSEFLOW_REBASE=1";
}

TEST(ImportOperators, EachHasADefinition) {
  for (const OperatorRow& row : operator_table())
    EXPECT_FALSE(definitions_of(row.name).empty()) << row.name;
}

TEST(ImportOperators, DefinitionsAreInOrder) {
  for (const std::string& op : defined_operators()) {
    int before = 0;
    for (const OperatorDefinition& d : definitions_of(op)) {
      EXPECT_GT(d.since, before) << op;
      EXPECT_LE(d.since, kNewestOpset) << op;
      EXPECT_LE(d.least_inputs, d.most_inputs()) << op;
      before = d.since;
    }
  }
}

}  // namespace
}  // namespace fuseflow
