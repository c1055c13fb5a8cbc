// libFuzzer target of the graphs of other simulators: the first byte says whether the rest is
// Graphviz or a ComalGraph. Graphs are changed token by token, those of Comal as text. What is
// accepted must print as a program, both executors must agree on it, and where it can be written,
// what is written must be accepted with as many nodes.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

#include "exchange/comal_file.h"
#include "exchange/read_graph.h"
#include "exchange/sam_dot.h"
#include "exchange/write_graph.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "simulated.h"
#include "support/error.h"
#include "tensor/csf.h"
#include "tensor/storage.h"
#include "tokens.h"

namespace fuseflow {
namespace {

/// A folder with the small tensors B and C.
const std::string& data_folder() {
  static const std::string folder = [] {
    std::string made = (std::filesystem::temp_directory_path() / "fuseflow_exchange_fuzz").string();
    std::filesystem::create_directories(made);
    for (const char* name : {"B", "C"}) {
      write_csf(csf_path(made, name), from_dense(std::vector<float>{1, 0, 2, 0, 0, 0, 0, 3, 4},
                                                 {3, 3}, sparse_format(2)));
    }
    return made;
  }();
  return folder;
}

comal::ComalGraph parse(std::string_view text, bool dot) {
  return dot ? parse_sam_dot(text, "input") : parse_comal(text, "input");
}

void check(const Program& program) {
  parse_program({"printed", print_program(program)});
  for (const Dialect dialect : {Dialect::comal, Dialect::sam}) {
    const bool sam = dialect == Dialect::sam;
    std::string text;
    try {
      const WrittenGraph written = write_graph(program, program.regions[0], dialect);
      text = sam ? sam_dot(written.graph) : comal_binary(written.graph);
    } catch (const Error&) {
      continue;  // a node that has no form, or a name that protobuf has no form for
    }
    const Program again = read_graphs({{"again", parse(text, sam)}}, data_folder());
    if (again.regions[0].graph->nodes.size() != program.regions[0].graph->nodes.size())
      std::abort();
  }
}

/// A limit or a refusal while it runs is right.
void run(const Program& program, std::string_view text) {
  if (!fuzz::is_small(program, true)) return;
  fuzz::Random random(static_cast<uint32_t>(std::hash<std::string_view>()(text)));
  try {
    fuzz::simulate(program, random);
  } catch (const Error&) {  // a Defect is none
  }
}

/// The text to change: of a binary graph its text.
std::string text_of_input(std::string_view text, bool dot) {
  if (dot) return std::string(text);
  try {
    return comal_text(parse_comal(text, "input"));
  } catch (const Error&) {
    return std::string(text);
  }
}

}  // namespace
}  // namespace fuseflow

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  using namespace fuseflow;  // NOLINT(google-build-using-namespace): all of it
  fuzz::Random random(seed);
  if (size < 2 || random() % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::string text = text_of_input(bytes, data[0] % 2 == 1);
  fuzz::change_text(text, "", random);
  const size_t length = std::min(text.size(), max_size - 1);
  std::copy_n(text.data(), length, data + 1);
  return length + 1;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fuseflow;  // NOLINT(google-build-using-namespace): all of it
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  Program program;
  try {
    program = read_graphs({{"input", parse(text, data[0] % 2 == 1)}}, data_folder());
  } catch (const Error&) {  // a Defect is none
    return 0;
  }
  check(program);
  run(program, text);
  return 0;
}
