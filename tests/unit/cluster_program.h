// What tests of kernels of tiles share: programs of text, sparse data, the check against the
// reference, refusals.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "cluster/kernels/form.h"
#include "cluster/kernels/present_tiles.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "machine/load.h"
#include "sim/program_run.h"
#include "sim/report/check.h"
#include "sim/tiles/conservation.h"
#include "sim/tiles/kernel_counts.h"
#include "sim/tiles/timing.h"
#include "support/error.h"

namespace fuseflow::cluster {

inline Program parse(const std::string& text) {
  return parse_program({"test", "fuseflow 1\n" + text});
}

/// The text with one part of it replaced.
inline std::string with(std::string text, const std::string& part, const std::string& instead) {
  const size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part << "\n" << text;
  return text.replace(at, part.size(), instead);
}

/// Values of `elements` elements, of which `part` of 100 are not 0, at random places.
inline std::string sparse_values(int elements, int part, int seed) {
  std::mt19937 random(static_cast<uint32_t>(seed));
  std::string values;
  for (int i = 0; i < elements; ++i) {
    const int value = static_cast<int>(random() % 100) < part ? i % 7 + 1 : 0;
    values += (i == 0 ? "" : ", ") + std::to_string(value);
  }
  return values;
}

/// Numbers of a test that depend on its seed alone.
class Draw {
 public:
  explicit Draw(int seed) : random_(static_cast<uint32_t>(seed)) {}
  int among(int least, int most) {
    return least + static_cast<int>(random_() % static_cast<uint32_t>(most - least + 1));
  }

 private:
  std::mt19937 random_;
};

/// A matrix of blocks, some absent, ragged at its edges; `part` of 100 blocks hold a value.
struct Blocks {
  int batch = 1, rows = 0, columns = 0, block = 1, part = 50, seed = 1;

  bool present(int g, int i, int j) const {
    const auto u = [](int value) { return static_cast<uint32_t>(value); };  // to wrap around
    const uint32_t key = ((u(g) * 7919 + u(i / block)) * 104729 + u(j / block)) * 31;
    return static_cast<int>(std::mt19937(key + static_cast<uint32_t>(seed))() % 100) < part;
  }
  /// All elements in row-major order; of a block that is present all but a few.
  std::string values() const {
    std::string text = "values(";
    for (int g = 0; g < batch; ++g) {
      for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < columns; ++j) {
          const int value = present(g, i, j) ? (i * 5 + j * 3 + g) % 7 - 3 : 0;
          text += (text.back() == '(' ? "" : ", ") + std::to_string(value);
        }
      }
    }
    return text + ")";
  }
};

/// The tiles that each tile of a result walks.
using Walks = std::vector<std::vector<TileRange>>;

/// The form of the last statement, a kernel by itself.
inline KernelForm kernel_form_of(const Program& program) {
  std::string why;
  const auto form = kernel_form(program, program.regions.back().statements.back(), {}, why);
  EXPECT_TRUE(form) << why;
  return form.value_or(KernelForm{});
}

/// The same as a product of a sparse matrix; nothing if it is none.
inline std::optional<KernelForm> sparse_of(const Program& program) {
  return PresenceFinder(program).sparse_form(kernel_form_of(program));
}

/// y = what is said of the product of a (`data`) and b, by batch g, and vectors v and s and a
/// residual r.
inline std::string batched_product(int rows, int columns, int depth, int batch,
                                   const std::string& data, const std::string& text_of_y) {
  return fmt::format(
      "const %a: f32[{3}, {0}, {2}] dense,dense,dense@0,2,1 = {4}\n"
      "input %b: f32[{3}, {2}, {1}] dense,dense,dense = uniform(density=1,seed=2)\n"
      "input %v: f32[{1}] dense = uniform(density=1,seed=3)\n"
      "input %s: f32[{0}] dense = uniform(density=1,seed=4)\n"
      "input %r: f32[{3}, {0}, {1}] dense,dense,dense = uniform(density=1,seed=5)\n"
      "result %y: f32[{3}, {0}, {1}] dense,dense,dense\n"
      "region @y {{ %y[g, i, j] = {5} }}\n",
      rows, columns, depth, batch, data, text_of_y);
}

/// The result y is that of the reference.
inline void expect_right(const Program& program, const Machine& machine) {
  const ProgramRun run = run_program(program, load_tensors(program), machine, {});
  const auto checked = check_reference(program, run.data, {find_tensor(program, "y")}, {});
  EXPECT_TRUE(checked.tensors.at(0).passes) << print_program(program);
}

/// The result y is that of the reference, and the text of the program is read as it is written.
inline void expect_right_and_read_again(const Program& program, const Machine& machine) {
  expect_right(program, machine);
  const std::string printed = print_program(program);
  EXPECT_EQ(print_program(parse_program({"printed", printed})), printed);
}

/// expect_right_and_read_again(), and the last region, a kernel of tiles, loads no less than it
/// must and stores each element once.
inline Measured expect_sound(const Program& program, const Machine& machine) {
  expect_right_and_read_again(program, machine);
  const Graph& graph = *program.regions.back().graph;
  const Measured measured = time_tiles(graph, machine);
  EXPECT_GE(measured.bytes.global_read, compulsory_bytes(graph).loaded);
  EXPECT_EQ(measured.bytes.global_write, compulsory_bytes(graph).stored);
  return measured;
}

/// What machines for cases on paper have in common: round numbers, that do not move with what is
/// measured of `h100`. No L2: what a core loads memory gives. One channel of 64 bytes a cycle,
/// latency 100; ports as fast; registers and barriers take no time, and a product is complete 32
/// cycles after its end. `more`: settings beyond these, which may overwrite them.
inline Machine one_channel_machine(int cores, const std::vector<std::string>& more) {
  std::vector<std::string> settings = {"clock_gigahertz=1",
                                       "core.count=" + std::to_string(cores),
                                       "l2.capacity_bytes=0",
                                       "dram.channels=1",
                                       "dram.bandwidth_gigabytes_per_second=64",
                                       "dram.latency_cycles=100",
                                       "core.port_bytes_per_cycle=64",
                                       "core.register_bytes_per_cycle=0",
                                       "core.barrier_cycles=0",
                                       "core.matrix_latency_cycles=32",
                                       "core.matrix_shapes.1.rows=0",
                                       "core.matrix_shapes.2.rows=0"};
  settings.insert(settings.end(), more.begin(), more.end());
  return load_machine("h100", settings);
}

/// one_channel_machine() with slow lanes, free scratchpads and 1,024 FLOPs a cycle in f32.
inline Machine slow_lanes_machine(int cores) {
  return one_channel_machine(
      cores, {"core.scratchpad_bytes_per_cycle=0", "core.scratchpad_latency_cycles=0",
              "core.matrix_flops_per_cycle=2048", "core.vector_operations_per_cycle=16",
              "core.special_operations_per_cycle=2", "core.comparison_rate_share=1"});
}

/// one_channel_machine() with free scratchpads, 1,024 FLOPs a cycle in f32 and links of 64 bytes a
/// cycle, latency 10 for clusters of two.
inline Machine paper_machine(int cores) {
  Machine machine = one_channel_machine(
      cores,
      {"core.scratchpad_bytes_per_cycle=0", "core.scratchpad_latency_cycles=0",
       "core.matrix_flops_per_cycle=2048", "links.latency_cycles.2=10", "links.barrier_cycles.2=3",
       "links.most_cores.2=0", "links.most_cores.4=0", "links.most_cores.8=0"});
  for (double& rate : machine.links.bandwidth_gigabytes_per_second) rate = 64.0 * cores;
  return machine;
}

inline std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::rejected) << error.what();
    return error.what();
  }
  return "nothing is refused";
}

/// The text of a program with one part replaced is refused with `message`.
inline void expect_refused(std::string text, const std::string& from, const std::string& to,
                           const std::string& message) {
  ASSERT_NE(text.find(from), std::string::npos) << from << "\n" << text;
  text.replace(text.find(from), from.size(), to);
  const std::string says = refusal([&] { parse_program({"text", text}); });
  EXPECT_NE(says.find(message), std::string::npos) << to << ": " << says;
}

}  // namespace fuseflow::cluster
