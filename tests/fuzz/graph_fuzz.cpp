// Fuzzes hand-written graphs: programs are changed token by token (a program without graphs is
// lowered first), so that much of what comes out is a well-formed text of a graph that is wrong.
// What the verifier accepts is simulated by both executors, which must agree; rejecting is right,
// an internal error is not.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <regex>
#include <string>

#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "lower/lower.h"
#include "simulated.h"
#include "support/error.h"
#include "tokens.h"

namespace fuseflow {
namespace {

std::string with_graphs(const std::string& text) {
  try {
    Program program = parse_program({"fuzz.ff", text});
    verify(program);
    const bool all = std::all_of(program.regions.begin(), program.regions.end(),
                                 [](const Region& r) { return r.graph.has_value(); });
    return all ? text : print_program(lower_program(std::move(program)));
  } catch (const std::exception&) {
    return text;
  }
}

/// Streams that open no loop need no type. Without them other wiring is well formed more often.
std::string without_types(const std::string& text) {
  static const std::regex type(R"((\$[\w.]+): (crd|ref|val)<[^>]*>(\[[^\]]*\])?)");
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const size_t end = std::min(text.find('\n', i), text.size() - 1) + 1;
    const std::string line = text.substr(i, end - i);
    const bool opens = line.find("= scan") != std::string::npos ||
                       line.find("= gallop") != std::string::npos ||
                       line.find("= pad") != std::string::npos;
    result += opens ? line : std::regex_replace(line, type, "$1");
    i = end;
  }
  return result;
}

void check(const std::string& text) {
  Program program = parse_program({"fuzz.ff", text});
  if (!fuzz::is_small(program, false)) return;
  verify(program);
  fuzz::Random random(static_cast<uint32_t>(std::hash<std::string>()(text)));
  fuzz::simulate(program, random);
}

}  // namespace
}  // namespace fuseflow

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  using namespace fuseflow;  // NOLINT(google-build-using-namespace): all of it
  fuzz::Random random(seed);
  std::string text = with_graphs(std::string(reinterpret_cast<const char*>(data), size));
  if (text.empty()) return LLVMFuzzerMutate(data, size, max_size);
  if (random() % 2 == 0) text = without_types(text);
  fuzz::change_text(text, "graph", random);
  const size_t length = std::min(text.size(), max_size);
  std::copy_n(text.data(), length, data);
  return length;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    fuseflow::check(std::string(reinterpret_cast<const char*>(data), size));
  } catch (const fuseflow::Error&) {  // a Defect is none
  }
  return 0;
}
