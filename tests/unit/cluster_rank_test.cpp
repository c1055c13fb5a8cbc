// Costs that rank candidates are not cycles, and only the best by cost are simulated. Here every
// candidate is: what the search takes must be nearly as fast as the fastest of all.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <sstream>
#include <vector>

#include "chip/needs.h"
#include "cluster/common/statement_table.h"
#include "cluster/kernels/gathered.h"
#include "cluster/kernels/present_tiles.h"
#include "cluster/kernels/second_product_form.h"
#include "cluster/kernels/tiles.h"
#include "cluster/online/tiles.h"
#include "cluster/rows/tiles.h"
#include "cluster_program.h"
#include "machine/load.h"
#include "sim/tiles/rows_counts.h"
#include "support/ceil_div.h"
#include "thorough.h"

namespace fuseflow::cluster {
namespace {

std::vector<Machine> machines() {
  std::vector<Machine> all{load_machine("h100"), load_machine("h100", {"core.count=12"}),
                           load_machine("h100", {"links.multicast=false", "core.count=24",
                                                 "core.scratchpad_bytes=65536"}),
                           load_machine("h100", {"l2.capacity_bytes=0", "core.count=16",
                                                 "dram.bandwidth_gigabytes_per_second=600"}),
                           load_machine("rda")};
  for (size_t i = 0; i < all.size(); ++i) all[i].name = fmt::format("machine {}", i);
  return all;
}

/// A case and a machine to try it on.
template <typename Case>
struct Trial {
  Machine machine;
  Case what;
};

/// Each case on two machines, which differ from case to case, or on all of them.
template <typename Case>
std::vector<Trial<Case>> trials(std::initializer_list<Case> cases) {
  static const std::vector<Machine> all = machines();
  const size_t each = thorough_or(all.size(), 2);
  std::vector<Trial<Case>> result;
  for (const Case& one : cases) {
    for (size_t i = 0; i < each; ++i) {
      result.push_back({all[result.size() % all.size()], one});
    }
  }
  return result;
}

/// The fewest cycles of graphs that fit a core.
class Fewest {
 public:
  explicit Fewest(const Machine& machine) : machine_(machine) {}

  void look_at(const Graph& graph, const KernelNeed& need) {
    if (!fits_core(need, machine_)) return;
    LaunchOptions options;
    options.most_cycles = cycles_;
    const Measured measured = time_tiles(graph, machine_, options);
    if (measured.finished && (cycles_ == 0 || measured.cycles < cycles_)) cycles_ = measured.cycles;
  }
  int64_t cycles() const { return cycles_; }

 private:
  const Machine& machine_;
  int64_t cycles_ = 0;
};

/// The cycles of the taken one are at most `percent` above those of the fastest of all.
void expect_near(int64_t taken, const Fewest& all, double percent, const std::string& what) {
  ASSERT_GT(all.cycles(), 0) << what;
  const double above =
      100.0 * static_cast<double>(taken - all.cycles()) / static_cast<double>(all.cycles());
  EXPECT_LE(above, percent) << what << ": " << taken << ", the fastest " << all.cycles();
}

void look_at_products(const KernelForm& form, const Machine& machine, Fewest& fewest) {
  const KernelSizes size = sizes_of(form);
  for (const int64_t m : power_blocks(size[kKernelM], 256)) {
    for (const int64_t n : power_blocks(size[kKernelN], 256)) {
      for (const int64_t k : power_blocks(size[kKernelK], 256)) {
        for (const int cores : {1, 2, 4, 8}) {
          if (ceil_div<int64_t>(size[kKernelM], m) < cores ||
              machine.concurrent_clusters(cores) < 1) {
            continue;
          }
          for (const int64_t copies : {2, 4}) {
            Graph graph = kernel_graph(form, {m, n, k, 1}, copies);
            graph.indices[kKernelM].tiling.cluster = cores;
            fewest.look_at(graph, kernel_need(graph));
          }
        }
        for (const int cores : {1, 2, 4, 8, 16}) {
          for (const int clusters : {1, 2, 4, 8, 16}) {
            const DepthParts parts{cores, clusters};
            const bool divides =
                ceil_div<int64_t>(size[kKernelK], k) >= parts.all() && m % cores == 0;
            if (!divides || machine.concurrent_clusters(cores) < 1) continue;
            const Graph graph = kernel_graph(form, {m, n, k, 1}, 4, 0, parts);
            fewest.look_at(graph, kernel_need(graph));
          }
        }
      }
    }
  }
}

std::string product_text(int m, int n, int k) {
  return fmt::format(
      "input %a: f16[{0}, {2}] dense,dense = dense(seed=1)\n"
      "input %b: f16[{2}, {1}] dense,dense = dense(seed=2)\n"
      "result %y: f16[{0}, {1}] dense,dense\n"
      "region @y {{ %y[i, j] = sum(k) %a[i, k] * %b[k, j] }}\n",
      m, n, k);
}

TEST(Rank, DenseProducts) {
  for (const auto& [machine, what] :
       trials({std::array{192, 160, 256}, std::array{64, 512, 128}, std::array{512, 48, 96},
               std::array{16, 256, 1024}, std::array{48, 48, 2048}})) {
    const auto& [m, n, k] = what;
    const Program program = parse(product_text(m, n, k));
    const KernelForm form = kernel_form_of(program);
    Fewest fewest(machine);
    look_at_products(form, machine, fewest);
    const auto taken = fastest_kernel(form, machine);
    ASSERT_TRUE(taken);
    expect_near(taken->measured.cycles, fewest, 4,
                fmt::format("{} x {} x {} on {}", m, n, k, machine.name));
  }
}

/// A of single values at random places, `part` of 100 are there.
std::string sparse_text(int m, int n, int k, int part, const char* role) {
  return fmt::format(
      "const %a: f32[{0}, {2}] dense,dense@1,0 = values({3})\n"
      "input %b: f32[{2}, {1}] dense,dense = dense(seed=2)\n"
      "{4} %c: f32[{0}, {1}] dense,dense\n"
      "region @c {{ %c[i, j] = sum(k) %a[i, k] * %b[k, j] }}\n",
      m, n, k, sparse_values(m * k, part, m + n + k), role);
}

/// Measures a sparse product by itself with k in parts.
void look_at_parts(const KernelForm& form, const KernelSizes& block, int64_t packed,
                   const Machine& machine, Fewest& fewest) {
  for (const int cores : {1, 2, 4, 8, 16}) {
    for (const int clusters : {1, 2, 4, 8, 16}) {
      const DepthParts parts{cores, clusters};
      const int64_t steps = ceil_div(sizes_of(form)[kKernelK], block[kKernelK]);
      const bool divides = steps >= parts.all() && block[kKernelM] % cores == 0;
      if (parts.all() == 1 || !divides || machine.concurrent_clusters(cores) < 1) continue;
      const Graph graph = kernel_graph(form, block, 4, packed, parts);
      fewest.look_at(graph, kernel_need(graph));
    }
  }
}

/// Measures a sparse product, perhaps with one after it: tiles left out and rows gathered.
void look_at_sparse(const KernelForm& form, const Machine& machine, Fewest& fewest) {
  const KernelSizes size = sizes_of(form);
  const bool second = form.second_product >= 0;
  for (const int64_t m : power_blocks(size[kKernelM], 256)) {
    for (const int64_t packed : {0, 16, 32, 64, 128, 256}) {
      const std::vector<int64_t> ks =
          packed > 0 ? std::vector<int64_t>{1} : power_blocks(size[kKernelK], 256);
      for (const int64_t k : ks) {
        for (int64_t n : power_blocks(size[kKernelN], 256)) {
          for (const int cores : {1, 2, 4, 8, 16}) {
            if (second) n = ceil_div<int64_t>(size[kKernelN], cores);
            if (machine.concurrent_clusters(cores) < 1 || (packed > 0 && !second && cores > 1)) {
              continue;
            }
            Graph graph = kernel_graph(form, {m, n, k, 1}, 4, packed);
            if (!second) graph.indices[kKernelM].tiling.cluster = cores;
            const bool whole = second ? column_cores(graph) != cores || m % cores != 0
                                      : ceil_div<int64_t>(size[kKernelM], m) < cores;
            if (whole || graph.tiles->open.empty()) continue;
            fewest.look_at(graph, kernel_need(graph));
          }
          if (second) break;
          look_at_parts(form, {m, n, k, 1}, packed, machine, fewest);
        }
      }
    }
  }
}

TEST(Rank, SparseProducts) {
  for (const auto& [machine, what] : trials(
           {std::array{128, 96, 160, 2}, std::array{64, 256, 256, 1}, std::array{256, 32, 128, 5},
            std::array{64, 32, 1024, 2}, std::array{32, 16, 2048, 20}})) {
    const auto& [m, n, k, part] = what;
    const Program program = parse(sparse_text(m, n, k, part, "result"));
    const KernelForm form = kernel_form_of(program);
    auto sparse = PresenceFinder(program).sparse_form(form);
    ASSERT_TRUE(sparse);
    sparse->gathered = gathered_format(program, *sparse, {});
    Fewest fewest(machine);
    look_at_products(form, machine, fewest);
    look_at_sparse(*sparse, machine, fewest);
    const auto taken = fastest_kernel(form, machine, &*sparse);
    ASSERT_TRUE(taken);
    expect_near(taken->measured.cycles, fewest, 4,
                fmt::format("{} x {} x {}, {}% on {}", m, n, k, part, machine.name));
  }
}

TEST(Rank, SecondProductsAfterSparseOnes) {
  for (const auto& [machine, what] :
       trials({std::array{128, 96, 160, 2}, std::array{64, 256, 256, 1}})) {
    const auto& [m, n, k, part] = what;
    const std::string text = sparse_text(m, n, k, part, "temp") +
                             fmt::format(
                                 "const %w: f32[{1}, 24] dense,dense = dense(seed=3)\n"
                                 "result %y: f32[{0}, 24] dense,dense\n"
                                 "region @y {{ %y[i, l] = sum(j) %c[i, j] * %w[j, l] }}\n",
                                 m, n);
    // Declarations stand before regions.
    std::string declared, regions;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      (line.starts_with("region") ? regions : declared) += line + "\n";
    }
    const Program program = parse(declared + regions);
    std::string why;
    const StatementTable statements(program);
    const TensorId c = find_tensor(program, "c"), y = find_tensor(program, "y");
    auto form =
        second_product_form(statements, program.regions.back().statements.back(), {c, y}, why);
    ASSERT_TRUE(form) << why;
    const auto alone = kernel_form(program, program.regions[0].statements[0], {}, why);
    ASSERT_TRUE(alone) << why;
    const auto sparse = PresenceFinder(program).sparse_form(*alone);
    ASSERT_TRUE(sparse);
    form->present = sparse->present;
    form->gathered = gathered_format(program, *sparse, {});
    Fewest fewest(machine);
    look_at_sparse(*form, machine, fewest);
    const auto taken = fastest_two_products(*form, machine);
    ASSERT_TRUE(taken);
    expect_near(taken->measured.cycles, fewest, 4,
                fmt::format("{} x {} x {}, {}%, 24 on {}", m, n, k, part, machine.name));
  }
}

TEST(Rank, Attention) {
  for (const auto& [machine, what] : trials({std::array{128, 64, 4}, std::array{256, 32, 1}})) {
    const auto& [rows, depth, heads] = what;
    const Program program = parse(fmt::format(
        "input %q: f16[{2}, {0}, {1}] dense,dense,dense = dense(seed=1)\n"
        "input %k: f16[{2}, {0}, {1}] dense,dense,dense = dense(seed=2)\n"
        "input %v: f16[{2}, {0}, {1}] dense,dense,dense = dense(seed=3)\n"
        "temp %s: f16[{2}, {0}, {0}] dense,dense,dense\ntemp %m: f16[{2}, {0}] dense,dense\n"
        "temp %e: f16[{2}, {0}, {0}] dense,dense,dense\ntemp %z: f16[{2}, {0}] dense,dense\n"
        "temp %p: f16[{2}, {0}, {0}] dense,dense,dense\n"
        "result %y: f16[{2}, {0}, {1}] dense,dense,dense\n"
        "region @s {{ %s[h, i, j] = sum(d) %q[h, i, d] * %k[h, j, d] }}\n"
        "region @m {{ %m[h, i] = max(j) %s[h, i, j] }}\n"
        "region @e {{ %e[h, i, j] = exp(%s[h, i, j] - %m[h, i]) }}\n"
        "region @z {{ %z[h, i] = sum(j) %e[h, i, j] }}\n"
        "region @p {{ %p[h, i, j] = %e[h, i, j] / %z[h, i] }}\n"
        "region @y {{ %y[h, i, c] = sum(j) %p[h, i, j] * %v[h, j, c] }}\n",
        rows, depth, heads));
    std::string why;
    const auto form =
        online_form(StatementTable(program), program.regions.back().statements.back(), why);
    ASSERT_TRUE(form) << why;
    Fewest fewest(machine);
    const KernelSizes size = sizes_of(form->digits);
    for (const int64_t m : even_blocks(size[kKernelM], 256)) {
      for (const int64_t n : even_blocks(size[kKernelN], 512)) {
        for (const int64_t k : even_blocks(size[kKernelK], 256)) {
          for (const int64_t steps : {1, 2}) {
            for (const int cores : {1, 2, 4, 8}) {
              const bool there = machine.concurrent_clusters(cores) > 0 &&
                                 ceil_div<int64_t>(size[kKernelM], m) >= cores;
              if (!there) continue;
              for (const int64_t copies : {2, 4}) {
                const Graph graph = online_graph(*form, {{m, n, k, 1}, copies, steps, cores});
                fewest.look_at(graph, kernel_need(graph));
              }
            }
          }
        }
      }
    }
    const auto taken = fastest_online(*form, machine);
    ASSERT_TRUE(taken);
    expect_near(taken->measured.cycles, fewest, 4,
                fmt::format("{} rows of {}, {} heads on {}", rows, depth, heads, machine.name));
  }
}

/// Tiles of any powers of two of rows and of columns, which are those of the reduction where there
/// is one.
void look_at_elementwise(const KernelForm& form, Fewest& fewest) {
  const KernelSizes size = sizes_of(form);
  const KernelDim along = size[kKernelK] > 1 ? kKernelK : kKernelN;
  for (int64_t m = 1; m < 2 * size[kKernelM]; m *= 2) {
    for (int64_t width = 8; width < 2 * size[along]; width *= 2) {
      if (m * width > 16384) continue;
      KernelSizes block{1, 1, 1, 1};
      block[kKernelM] = even_block(size[kKernelM], m);
      block[along] = even_block(size[along], width);
      for (const int64_t copies : {2, 4}) {
        const Graph graph = kernel_graph(form, block, copies);
        fewest.look_at(graph, kernel_need(graph));
      }
    }
  }
}

TEST(Rank, ElementwiseKernelsAndReductions) {
  for (const auto& [machine, what] : trials({std::array{512, 256}, std::array{64, 2048},
                                             std::array{2048, 24}, std::array{3, 5000}})) {
    const auto& [rows, columns] = what;
    for (const char* region : {"%y[i, j] = exp(%x[i, j]) * %b[j]", "%y[i, j] = %x[i, j] + %x[i, j]",
                               "%z[i] = sum(j) %x[i, j]"}) {
      const bool reduces = region[1] == 'z';
      const Program program = parse(
          fmt::format("input %x: f16[{0}, {1}] dense,dense = dense(seed=1)\n"
                      "input %b: f16[{1}] dense = dense(seed=2)\nresult %{2}: f16[{3}] {4}\n"
                      "region @r {{ {5} }}\n",
                      rows, columns, reduces ? "z" : "y",
                      reduces ? fmt::format("{}", rows) : fmt::format("{}, {}", rows, columns),
                      reduces ? "dense" : "dense,dense", region));
      const KernelForm form = kernel_form_of(program);
      Fewest fewest(machine);
      look_at_elementwise(form, fewest);
      const auto taken = fastest_kernel(form, machine);
      ASSERT_TRUE(taken);
      expect_near(taken->measured.cycles, fewest, 4,
                  fmt::format("{} x {}: {} on {}", rows, columns, region, machine.name));
    }
  }
}

/// Measures a kernel of rows with as many copies of loads as fit, where it can be built.
void look_at_rows(const RowsForm& form, const RowsTiles& shape, const Machine& machine,
                  Fewest& fewest) {
  for (const int64_t copies : {8, 4, 2}) {
    RowsTiles tiles = shape;
    tiles.copies = copies;
    if (chip::chip_of(machine)) tiles.unit = chip::kUnit;
    const Graph graph = rows_graph(form, tiles);
    if (!fits_core(rows_need(graph), machine) || !chip::fits_chip(graph, machine)) continue;
    return fewest.look_at(graph, rows_need(graph));
  }
}

void look_at_all_rows(const RowsForm& form, const Machine& machine, Fewest& fewest) {
  for (const int64_t rows : even_blocks(form.rows(), 128)) {
    for (const int64_t column : power_blocks(256, 256)) {
      for (const int wide : {1, 2, 4, 8, 16}) {
        for (const int tall : {1, 2}) {
          const bool there = tall * wide <= 16 && machine.concurrent_clusters(tall * wide) > 0 &&
                             (tall == 1 || (machine.links.multicast && form.rows() > rows));
          if (!there) continue;
          look_at_rows(form, {rows, column, tall, wide, 8, false, 2}, machine, fewest);
          look_at_rows(form, {rows, column, tall, wide, 8, true, 2}, machine, fewest);
        }
      }
    }
  }
}

std::string rows_text(int rows, int width, int inner) {
  return fmt::format(
      "input %x: f16[{0}, {1}] dense,dense = dense(seed=1)\n"
      "const %u: f16[{1}, {2}] dense,dense = dense(seed=2)\n"
      "const %v: f16[{2}, {1}] dense,dense = dense(seed=3)\n"
      "temp %a: f16[{0}, {2}] dense,dense\ntemp %b: f16[{0}, {1}] dense,dense\n"
      "temp %m: f16[{0}] dense\nresult %y: f16[{0}, {1}] dense,dense\n"
      "region @a {{ %a[i, j] = relu(sum(k) %x[i, k] * %u[k, j]) }}\n"
      "region @b {{ %b[i, l] = sum(j) %a[i, j] * %v[j, l] }}\n"
      "region @m {{ %m[i] = max(j) %b[i, j] }}\n"
      "region @y {{ %y[i, j] = %b[i, j] - %m[i] }}\n",
      rows, width, inner);
}

TEST(Rank, KernelsOfRows) {
  for (const auto& [machine, what] : trials({std::array{64, 96, 192}, std::array{256, 32, 64},
                                             std::array{16, 256, 128}, std::array{1024, 64, 64}})) {
    const auto& [rows, width, inner] = what;
    const Program program = parse(rows_text(rows, width, inner));
    std::vector<const Statement*> statements;
    for (const Region& region : program.regions) statements.push_back(&region.statements[0]);
    std::string why;
    const auto form = rows_form(StatementTable(program), statements, why);
    ASSERT_TRUE(form) << why;
    Fewest fewest(machine);
    look_at_all_rows(*form, machine, fewest);
    const auto taken = fastest_rows(*form, rank_rows(*form, machine), machine);
    ASSERT_TRUE(taken);
    expect_near(taken->measured.cycles, fewest, 4,
                fmt::format("{} rows of {} and {} on {}", rows, width, inner, machine.name));
  }
}

}  // namespace
}  // namespace fuseflow::cluster
