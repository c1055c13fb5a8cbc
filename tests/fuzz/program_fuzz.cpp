// Fuzzes the language: any bytes are a program, or are rejected. What is accepted prints to a text
// that is read as the same program; what the verifier accepts too is lowered, to graphs that it
// accepts, or is rejected.
#include <cstddef>
#include <cstdint>

#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "lower/lower.h"
#include "support/error.h"

namespace fuseflow {
namespace {

/// Lowering takes time in proportion to loops to a power; a program of this size shows all that it
/// does.
constexpr size_t kMostStatements = 12;
constexpr size_t kMostIndices = 10;

bool is_small(const Program& program) {
  size_t statements = 0;
  for (const Region& region : program.regions) {
    statements += region.statements.size();
    for (const Statement& statement : region.statements) {
      if (statement.indices.size() > kMostIndices) return false;
    }
  }
  return statements <= kMostStatements;
}

void run(const std::string& text) {
  Program program = parse_program({"fuzz.ff", text});
  const std::string printed = print_program(program);
  if (print_program(parse_program({"printed.ff", printed})) != printed) __builtin_trap();
  verify(program);
  if (!is_small(program)) return;
  program = lower_program(std::move(program));
  verify(program);
}

}  // namespace
}  // namespace fuseflow

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    fuseflow::run(std::string(reinterpret_cast<const char*>(data), size));
  } catch (const fuseflow::Error&) {  // a Defect is none
  }
  return 0;
}
