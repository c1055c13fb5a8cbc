// The list of operators in ir-spec/operators.md is generated from the importer's table.
// FUSEFLOW_REBASE=1 writes it anew.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "import/operators/registry.h"
#include "source_dir.h"
#include "support/io.h"

namespace fuseflow {
namespace {

std::string operator_list() {
  std::string text =
      "# ONNX operators\n\nGenerated from the importer's table (`FUSEFLOW_REBASE=1 import_test` "
      "writes it). Claimed in f32, "
      "i64 and bool (quantised\noperators: i8, u8 and i32), opsets 9 to 17, and checked against "
      "every case of the ONNX project's own\ntests. An operator that is not listed is refused by "
      "name.\n\n| operator | left out |\n|---|---|\n";
  for (const OperatorRow& row : operator_table())
    text += fmt::format("| {} | {} |\n", row.name, row.note);
  text +=
      "\nNowhere supported: sequences, optionals, strings, control flow (If, Loop, Scan), "
      "training, "
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

}  // namespace
}  // namespace fuseflow
