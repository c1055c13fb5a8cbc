// The property test of kernels of rows: random runs of statements that work on rows (products,
// biases, activations, gates, residuals, normalisations, a softmax, several results), as one kernel
// of random tiles and clusters, give what the statements give, print as they parse, and keep the
// laws of conservation. By hand: rows_property --count 5000 --seed 7
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <vector>

#include "cluster/common/attach_plan.h"
#include "cluster/rows/form.h"
#include "cluster/rows/graph.h"
#include "graph/tile_rows.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "machine/load.h"
#include "shell/tool.h"
#include "sim/program_run.h"
#include "sim/report/check.h"
#include "sim/tiles/conservation.h"
#include "sim/tiles/kernel_counts.h"
#include "sim/tiles/timing.h"
#include "support/guarded_main.h"

namespace fuseflow::testing {
namespace {

constexpr double kTolerance = 1e-4;  ///< of sums in another order, beside the reference's bounds

/// A program of one region of random statements over rows. Depends on the seed alone.
class RandomRows {
 public:
  explicit RandomRows(uint64_t seed) : state_(seed * 2654435761U + 777) {
    rows_ = 1 + below(40);
    heads_ = below(4) == 0 ? 1 + below(3) : 0;  // 0: rows are one loop
  }

  std::string text() {
    const int64_t width = new_width();
    given(width);
    const int steps = 1 + below(7);
    for (int step = 0; step < steps; ++step) add_step();
    multiply();  // there is one product at least
    for (size_t i = 0; i < made_.size(); ++i) {
      const bool result = i + 1 == made_.size() || below(8) == 0;
      tensors_ += fmt::format("{} %{}: {}\n", result ? "result" : "temp", made_[i].name,
                              shape_of(made_[i].width));
    }
    return "fuseflow 1\n" + tensors_ + "region @r {\n" + statements_ + "}\n";
  }

  int below(int bound) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<int>((state_ >> 33) % static_cast<uint64_t>(bound));
  }

 private:
  struct Value {
    std::string name;
    int64_t width = 0;  ///< 0: one number a row
  };

  int64_t new_width() { return 2 + below(36); }
  std::string rows() const { return heads_ > 0 ? "h, i" : "i"; }
  std::string at(const Value& v, const std::string& column = "j") const {
    return fmt::format("%{}[{}{}]", v.name, rows(), v.width > 0 ? ", " + column : "");
  }
  std::string shape_of(int64_t width) const {
    std::string sizes =
        heads_ > 0 ? fmt::format("{}, {}", heads_, rows_) : fmt::format("{}", rows_);
    std::string dense = heads_ > 0 ? "dense,dense" : "dense";
    if (width > 0) sizes += fmt::format(", {}", width), dense += ",dense";
    return fmt::format("f32[{}] {}", sizes, dense);
  }
  std::string next_name() { return fmt::format("t{}", ++names_); }

  Value given(int64_t width) {
    Value v{fmt::format("g{}", ++names_), width};
    tensors_ += fmt::format("input %{}: {} = uniform(density=1,seed={})\n", v.name, shape_of(width),
                            1 + below(1000));
    known_.push_back(v);
    return v;
  }
  std::string vector(int64_t width) {
    std::string name = fmt::format("b{}", ++names_);
    tensors_ += fmt::format("const %{}: f32[{}] dense = uniform(density=1,seed={})\n", name, width,
                            1 + below(1000));
    return name;
  }

  Value statement(int64_t width, const std::string& expression) {
    Value v{next_name(), width};
    statements_ += fmt::format("  {} = {}\n", at(v), expression);
    made_.push_back(v);
    known_.push_back(v);
    return v;
  }

  /// What a step takes: mostly the last, so that runs are deep.
  Value pick() {
    std::vector<Value> wide;
    for (const Value& v : known_) {
      if (v.width > 0) wide.push_back(v);
    }
    return below(4) == 0 ? wide[static_cast<size_t>(below(static_cast<int>(wide.size())))]
                         : wide.back();
  }

  void multiply() { product(pick(), new_width()); }

  Value product(const Value& x, int64_t width) {
    const std::string name = fmt::format("w{}", ++names_);
    const bool turned = below(3) == 0;
    tensors_ +=
        fmt::format("const %{}: f32[{}, {}] dense,dense = uniform(density=1,seed={})\n", name,
                    turned ? width : x.width, turned ? x.width : width, 1 + below(1000));
    const std::string weights = fmt::format("%{}[{}]", name, turned ? "j, k" : "k, j");
    return statement(width, fmt::format("sum(k) {} * {}", at(x, "k"), weights));
  }

  void add_step() {
    const Value x = pick();
    switch (below(7)) {
      case 0:
        return multiply();
      case 1:
        statement(x.width, fmt::format("relu({} + %{}[j])", at(x), vector(x.width)));
        return;
      case 2: {  // a gate: two products of one input
        const int64_t width = new_width();
        const Value gate = product(x, width), up = product(x, width);
        statement(width, fmt::format("sigmoid({}) * {}", at(gate), at(up)));
        return;
      }
      case 3: {  // a residual, given or computed
        for (const Value& other : known_) {
          if (other.width != x.width || other.name == x.name) continue;
          statement(x.width, fmt::format("{} + {}", at(x), at(other)));
          return;
        }
        statement(x.width, fmt::format("{} + {}", at(x), at(given(x.width))));
        return;
      }
      case 4: {  // a normalisation
        const Value mean = statement(0, fmt::format("mean(j) {}", at(x)));
        const Value off = statement(x.width, fmt::format("{} - {}", at(x), at(mean)));
        const Value square = statement(0, fmt::format("mean(j) {} * {}", at(off), at(off)));
        statement(x.width, fmt::format("{} / sqrt({} + 0.1) * %{}[j]", at(off), at(square),
                                       vector(x.width)));
        return;
      }
      case 5: {  // a softmax
        const Value most = statement(0, fmt::format("max(j) {}", at(x)));
        const Value e = statement(x.width, fmt::format("exp({} - {})", at(x), at(most)));
        const Value sum = statement(0, fmt::format("sum(j) {}", at(e)));
        statement(x.width, fmt::format("{} / {}", at(e), at(sum)));
        return;
      }
      default:
        statement(x.width, fmt::format("tanh({} * 0.5)", at(x)));
    }
  }

  uint64_t state_;
  int64_t rows_ = 1, heads_ = 0;
  int names_ = 0;
  std::string tensors_, statements_;
  std::vector<Value> known_, made_;
};

struct Seen {
  int kernels = 0, refused = 0, gathered = 0, kept = 0;
};

/// Empty, or what is wrong.
std::string check(uint64_t seed, Seen& seen) {
  RandomRows random(seed);
  const std::string text = random.text();
  Program program = parse_program({"rows", text});
  std::vector<const Statement*> statements;
  std::vector<TensorId> members;
  for (const Statement& s : program.regions[0].statements) {
    statements.push_back(&s);
    members.push_back(s.result);
  }
  std::string why;
  const std::optional<cluster::RowsForm> form =
      cluster::rows_form(cluster::StatementTable(program), statements, why);
  if (!form) {
    ++seen.refused;
    return "";
  }
  cluster::RowsTiles tiles;
  tiles.rows = 1 + random.below(20);
  tiles.column = 1 + random.below(20);
  tiles.tall = 1 << random.below(3);
  tiles.wide = 1 << random.below(3);
  tiles.copies = 1 + random.below(4);
  tiles.keep = random.below(2) == 0;
  tiles.accumulators = 1 + random.below(2);
  ++seen.kernels;
  seen.gathered += tiles.wide > 1;
  seen.kept += tiles.keep;
  if (!cluster::attach_plan(program, members, {}, cluster::rows_graph(*form, tiles))) {
    return "its graph is not taken:\n" + text;
  }
  verify(program);
  const std::string printed = print_program(program);
  const Program read = parse_program({"again", printed});
  if (print_program(read) != printed) return "does not print as it parses:\n" + printed;
  Machine machine = load_machine("h100", {});
  machine.core.register_bytes = machine.core.scratchpad_bytes = 0;
  const ProgramRun run = run_program(read, load_tensors(read), machine, {});
  std::vector<TensorId> results;
  for (const auto& result : form->results) results.push_back(result.tensor);
  const auto checked =
      check_reference(read, run.data, results, {.tolerance = kTolerance, .threads = 1});
  for (const auto& tensor : checked.tensors) {
    if (!tensor.passes) return "computes other values:\n" + printed;
  }
  const Graph& graph = *read.regions[0].graph;
  const Measured measured = time_tiles(graph, machine);  // holds to the laws
  const CompulsoryBytes least = compulsory_bytes(graph);
  if (measured.bytes.global_read != least.loaded || measured.bytes.global_write != least.stored) {
    return "the L2 has room for all, but memory moves other bytes:\n" + printed;
  }
  return "";
}

int property_main(int argc, char** argv) {
  uint64_t count = 200, seed = 1;
  CommandLine app("Random kernels of rows against the reference.", "rows_property");
  app.add_option("--count", count, "How many (default: 200)");
  app.add_option("--seed", seed, "The first program (default: 1)");
  if (const auto ended = read_arguments(argc, argv, app)) return *ended;
  Seen seen;
  for (uint64_t i = 0; i < count; ++i) {
    std::string wrong;
    try {
      wrong = check(seed + i, seen);
    } catch (const std::exception& error) {
      wrong = std::string(error.what()) + "\n" + RandomRows(seed + i).text();
    }
    if (wrong.empty()) continue;
    std::printf("seed %s: %s\n", std::to_string(seed + i).c_str(), wrong.c_str());
    return 1;
  }
  std::printf("%d kernels (%d gather, %d keep weights), %d refused\n", seen.kernels, seen.gathered,
              seen.kept, seen.refused);
  // A test that refuses most of what it makes shows nothing.
  return seen.kernels > static_cast<int>(count * 3 / 4) || count < 10 ? 0 : 1;
}

}  // namespace
}  // namespace fuseflow::testing

int main(int argc, char** argv) {
  return fuseflow::guarded_main(argc, argv, fuseflow::testing::property_main);
}
