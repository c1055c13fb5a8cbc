// Fuzzes hand-written graphs: programs are changed token by token (a program without graphs is
// lowered first), so that much of what comes out is a well-formed text of a graph that is wrong.
// What the verifier accepts is simulated by both executors, which must agree; rejecting is right,
// an internal error is not.
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "lower/lower.h"
#include "resources/resources.h"
#include "same_run.h"
#include "sim/naive/interpret.h"
#include "sim/program_run.h"
#include "support/error.h"

namespace fuseflow {
namespace {

constexpr int64_t kMostElements = 1 << 14;  // of all tensors
constexpr int64_t kMostExtent = 512;        // of a loop
constexpr size_t kMostNodes = 80;

// --- changing a text ---

using Tokens = std::vector<std::string>;
using Random = std::mt19937;

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '$' ||
         c == '%' || c == '@';
}

/// Words, other characters one by one, and white space as it is.
Tokens split(const std::string& text) {
  const auto kind = [](char c) {
    return is_word(c) ? 1 : std::isspace(static_cast<unsigned char>(c)) != 0 ? 2 : 0;
  };
  Tokens tokens;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    while (kind(text[i]) != 0 && end < text.size() && kind(text[end]) == kind(text[i])) ++end;
    tokens.push_back(text.substr(i, end - i));
    i = end;
  }
  return tokens;
}

/// Streams, tensors, numbers and other words are told apart.
char class_of(const std::string& token) {
  const char c = token[0];
  if (std::isdigit(static_cast<unsigned char>(c)) != 0) return '0';
  if (std::isalpha(static_cast<unsigned char>(c)) != 0) return 'a';
  return std::isspace(static_cast<unsigned char>(c)) != 0 ? ' ' : c;
}

size_t below(Random& random, size_t n) {
  return n == 0 ? 0 : random() % n;
}

std::string other_number(Random& random) {
  static const std::vector<std::string> numbers = {"0", "1", "2",  "3",  "4",
                                                   "5", "8", "16", "64", "4294967295"};
  return numbers[below(random, numbers.size())];
}

/// A token of the same class elsewhere in the text.
size_t like(const Tokens& tokens, size_t at, Random& random) {
  std::vector<size_t> places;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (class_of(tokens[i]) == class_of(tokens[at]) && tokens[i] != tokens[at]) places.push_back(i);
  }
  return places.empty() ? at : places[below(random, places.size())];
}

void change_token(Tokens& tokens, Random& random) {
  // Mostly in the graphs.
  const auto graph = std::find(tokens.begin(), tokens.end(), "graph");
  const size_t first =
      random() % 8 == 0 ? 0 : static_cast<size_t>(graph - tokens.begin()) % tokens.size();
  size_t at = first + below(random, tokens.size() - first);
  for (int tries = 0; tries < 8 && class_of(tokens[at]) == ' '; ++tries) {
    at = first + below(random, tokens.size() - first);
  }
  const auto change = random() % 8;
  switch (change) {
    case 0:
      tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(at));
      return;
    case 1:
      tokens.insert(tokens.begin() + static_cast<std::ptrdiff_t>(at), {tokens[at], " "});
      return;
    case 2:
      std::swap(tokens[at], tokens[like(tokens, at, random)]);
      return;
    default: {
      const bool number = change <= 4 && class_of(tokens[at]) == '0';
      tokens[at] = number ? other_number(random) : tokens[like(tokens, at, random)];
    }
  }
}

/// Drops, repeats or moves a line.
void change_line(std::string& text, Random& random) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < text.size();) {
    const size_t end = std::min(text.find('\n', i), text.size() - 1) + 1;
    lines.push_back(text.substr(i, end - i));
    i = end;
  }
  const size_t at = below(random, lines.size());
  const std::string line = lines[at];
  if (random() % 3 != 0) lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(at));
  if (random() % 3 != 0) {
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(below(random, lines.size() + 1)),
                 line);
  }
  text.clear();
  for (const std::string& part : lines) text += part;
}

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

// --- running it ---

bool is_small(const Program& program) {
  int64_t elements = 0;
  for (const Tensor& tensor : program.tensors) {
    using Kind = Source::Kind;
    if (tensor.source.kind == Kind::file || tensor.source.kind == Kind::onnx) return false;
    int64_t size = 1;
    for (const Extent& extent : tensor.shape) {
      if (extent.value < 0 || extent.value > kMostElements) return false;
      size *= std::max<int64_t>(1, extent.value);
      if (size > kMostElements) return false;
    }
    elements += size;
  }
  for (const Region& region : program.regions) {
    if (!region.graph || region.graph->nodes.size() > kMostNodes) return false;
    for (const Node& node : region.graph->nodes) {
      if (node.capacity > 1 << 20) return false;
    }
    for (const GraphIndex& index : region.graph->indices) {
      if (index.extent > kMostExtent || index.block > kMostExtent) return false;
    }
  }
  return elements <= kMostElements;
}

struct Outcome {
  RunResult run;
  bool refused = false;
};

Outcome run(const Program& program, const Graph& graph, const TensorData& data,
            const Machine& machine, Executor executor, int threads) {
  RunOptions options;
  options.executor = executor;
  options.threads = threads;
  options.max_cycles = 200'000;
  options.max_seconds = 10;
  options.max_memory_bytes = 256 << 20;
  options.explain_deadlock = false;
  Outcome outcome;
  try {
    outcome.run = run_graph(program, graph, data, machine, options);
  } catch (const Error& error) {
    if (error.code() != ExitCode::rejected) throw;
    outcome.refused = true;
  }
  return outcome;
}

bool ended_itself(const Outcome& outcome) {
  return outcome.refused || outcome.run.finish == Finish::done ||
         outcome.run.finish == Finish::deadlock;
}

void simulate(const Program& program, Random& random) {
  TensorData data = load_tensors(program);
  data.storage.resize(program.tensors.size());
  Machine machine;
  machine.fifo_depth = std::vector<int64_t>{0, 0, 1, 2, 3, 8}[below(random, 6)];
  for (const Region& region : program.regions) {
    if (!why_too_large(program, region, *region.graph, machine).empty()) return;
    if (region.graph->tiles) {  // one executor
      run(program, *region.graph, data, machine, Executor::fast, 1);
      return;
    }
    const Outcome naive = run(program, *region.graph, data, machine, Executor::naive, 1);
    const int threads = static_cast<int>(1 + below(random, 2));
    const Outcome fast = run(program, *region.graph, data, machine, Executor::fast, threads);
    if (!ended_itself(naive) || !ended_itself(fast)) return;
    if (naive.refused != fast.refused) __builtin_trap();
    if (naive.refused) return;
    const std::string differs = testing::difference(naive.run, fast.run);
    if (!differs.empty()) {
      std::fprintf(stderr, "the executors differ: %s\n", differs.c_str());
      __builtin_trap();
    }
    if (naive.run.finish != Finish::done) return;
    for (const auto& [tensor, storage] : naive.run.results) {
      data.storage[static_cast<size_t>(tensor)] = storage;
    }
  }
}

void check(const std::string& text) {
  Program program = parse_program({"fuzz.ff", text});
  if (!is_small(program)) return;
  verify(program);
  Random random(static_cast<uint32_t>(std::hash<std::string>()(text)));
  simulate(program, random);
}

}  // namespace
}  // namespace fuseflow

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  using namespace fuseflow;
  Random random(seed);
  std::string text = with_graphs(std::string(reinterpret_cast<const char*>(data), size));
  if (text.empty()) return LLVMFuzzerMutate(data, size, max_size);
  for (size_t n = 1 + below(random, 4); n-- > 0 && !text.empty();) {
    if (random() % 5 == 0) {
      change_line(text, random);
      continue;
    }
    Tokens tokens = split(text);
    change_token(tokens, random);
    text.clear();
    for (const std::string& token : tokens) text += token;
  }
  const size_t length = std::min(text.size(), max_size);
  std::copy_n(text.data(), length, data);
  return length;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    fuseflow::check(std::string(reinterpret_cast<const char*>(data), size));
  } catch (const fuseflow::Error& error) {
    if (error.code() == fuseflow::ExitCode::internal) {
      std::fprintf(stderr, "%s\n", error.what());
      __builtin_trap();
    }
  }
  return 0;
}
