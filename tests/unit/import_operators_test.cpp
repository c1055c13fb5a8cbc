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

const char* reading_text(ReadAs how) {
  switch (how) {
    case ReadAs::statements:
      return "statements";
    case ReadAs::body:
      return "body";
    case ReadAs::constant:
      return "constant";
  }
  return "";
}

/// The opsets that brought a definition of the operator.
std::string opsets_of(std::string_view name) {
  std::vector<int> opsets;
  for (const OperatorDefinition& d : definitions_of(name)) opsets.push_back(d.since);
  return fmt::format("{}", fmt::join(opsets, ", "));
}

bool is_of_onnx(std::string_view name) {
  return name.find('.') == std::string_view::npos;
}

std::string operator_rows(bool of_onnx) {
  std::string text = "| operator | opsets | read as | left out |\n|---|---|---|---|\n";
  for (const OperatorRow& row : operator_table()) {
    if (is_of_onnx(row.name) != of_onnx) continue;
    text += fmt::format("| {} | {} | {} | {} |\n", row.name, opsets_of(row.name),
                        reading_text(row.how), row.note);
  }
  return text;
}

std::string operator_list() {
  std::string text =
      "# ONNX operators\n\nGenerated from the importer's tables (`FUSEFLOW_REBASE=1 import_test` "
      "writes it). Each node is read by the\ndefinition of its opset (1 to 28) or refused. Checked "
      "against every case of the ONNX project's own tests.\n\n"
      "- *opsets*: since when the operator is there, and where its inputs or attributes changed "
      "since.\n"
      "- *read as* `statements`: a view, or statements of one kernel; `body`: other operators, as "
      "a "
      "function of the\n  model would be; `constant`: only where its result is constant.\n"
      "- *left out*: what is refused, with a message that says so.\n\n"
      "## Operators of ONNX\n\n" +
      operator_rows(true) + "\n## Refused by name\n\n| operator | opsets | why |\n|---|---|---|\n";
  for (const RefusedRow& row : refused_operators())
    text += fmt::format("| {} | {} | {} |\n", row.name, opsets_of(row.name), row.why);
  text +=
      "\n## Operators of com.microsoft\n\nWhat onnxruntime's optimiser and quantiser write.\n\n" +
      operator_rows(false) +
      "\n## Nowhere supported\n\nStrings, training, random numbers, operators of other domains "
      "that the model does not define as functions, and\nshapes that depend on values which the "
      "program computes.\n";
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

TEST(ImportOperators, EachIsReadOnce) {
  const auto& rows = operator_table();
  for (size_t r = 1; r < rows.size(); ++r) EXPECT_LT(rows[r - 1].name, rows[r].name);
}

TEST(ImportOperators, EachIsReadOrRefusedWithAReason) {
  for (const std::string& op : defined_operators())
    EXPECT_NE(find_operator(op) != nullptr, !refusal_of(op).empty()) << op;
  for (const RefusedRow& row : refused_operators())
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
