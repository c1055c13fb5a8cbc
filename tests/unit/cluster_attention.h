// What tests of online softmaxes share: attention as text, its form and graph, the check of a
// planned program against the reference and the bytes that nothing can avoid.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "cluster/common/attach_plan.h"
#include "cluster/online/form.h"
#include "cluster/online/open_scores.h"
#include "cluster_program.h"
#include "graph/tile_kernel.h"
#include "machine/load.h"
#include "sim/program_run.h"
#include "sim/report/check.h"
#include "sim/tiles/conservation.h"
#include "sim/tiles/kernel_counts.h"
#include "sim/tiles/timing.h"

namespace fuseflow::cluster {

/// Attention of so many heads, queries and keys with head sizes for scores and values. `scores` is
/// what becomes of %s, `more` further tensors.
inline std::string attention(int heads, int rows, int keys, int inner, int values,
                             const std::string& scores = "%s[h, i, j] * 0.25",
                             const std::string& more = "") {
  const auto shape = [&](std::initializer_list<int> sizes) {
    std::string text = "f32[";
    std::string dense = "] ";
    for (const int size : sizes) {
      text += (text.back() == '[' ? "" : ", ") + std::to_string(size);
      dense += dense == "] " ? "dense" : ",dense";
    }
    return text + dense;
  };
  const std::string square = shape({heads, rows, keys}), row = shape({heads, rows});
  return "input %q: " + shape({heads, rows, inner}) + " = uniform(density=1,seed=1)\n" +
         "input %k: " + shape({heads, keys, inner}) + " = uniform(density=1,seed=2)\n" +
         "input %v: " + shape({heads, keys, values}) + " = uniform(density=1,seed=3)\n" + more +
         "temp %s: " + square + "\ntemp %x: " + square + "\ntemp %m: " + row +
         "\ntemp %e: " + square + "\ntemp %z: " + row + "\ntemp %p: " + square +
         "\nresult %y: " + shape({heads, rows, values}) +
         "\nregion @s {\n  %s[h, i, j] = sum(d) %q[h, i, d] * %k[h, j, d]\n  %x[h, i, j] = " +
         scores +
         "\n}\nregion @soft {\n  %m[h, i] = max(j) %x[h, i, j]\n"
         "  %e[h, i, j] = exp(%x[h, i, j] - %m[h, i])\n  %z[h, i] = sum(j) %e[h, i, j]\n"
         "  %p[h, i, j] = %e[h, i, j] / %z[h, i]\n}\n"
         "region @y { %y[h, i, c] = sum(j) %p[h, i, j] * %v[h, j, c] }\n";
}

inline OnlineForm form_of(const Program& program) {
  std::string why;
  const StatementTable statements(program);
  const auto form = online_form(statements, program.regions.back().statements.back(), why);
  EXPECT_TRUE(form) << why;
  return form.value_or(OnlineForm{});
}

/// The program with its last statement's form as a kernel of these tiles.
inline Program planned(const std::string& text, const OnlineTiles& tiles) {
  Program program = parse(text);
  const OnlineForm form = form_of(program);
  for (const TensorId t : form.as_dense) {
    Tensor& tensor = program.tensors[static_cast<size_t>(t)];
    tensor.format = dense_format(tensor.format.rank());
  }
  const std::vector<TensorId> members(form.members.begin(), form.members.end());
  EXPECT_TRUE(attach_plan(program, members, {}, online_graph(form, tiles)));
  return program;
}

/// Runs a planned program, read back from its text, and compares its result with the reference.
inline void expect_attention_right(const Program& program) {
  const std::string text = print_program(program);
  const Program read = parse_program({"again", text});
  EXPECT_EQ(print_program(read), text);
  Machine roomy = load_machine("h100", {});
  roomy.core.register_bytes = roomy.core.scratchpad_bytes = 0;
  const ProgramRun run = run_program(read, load_tensors(read), roomy, {});
  const TensorId y = find_tensor(read, "y");
  const auto checked = check_reference(read, run.data, {y}, {.tolerance = 1e-4, .threads = 1});
  EXPECT_TRUE(checked.tensors.at(0).passes) << text;
  for (const bool multicast : {true, false}) {  // ... or over links
    roomy.links.multicast = multicast;
    for (const Region& region : read.regions) {
      const Measured measured = time_tiles(*region.graph, roomy);  // holds to the laws
      const CompulsoryBytes least = compulsory_bytes(*region.graph);
      EXPECT_EQ(measured.bytes.global_read, least.loaded);  // the L2 has room for all
      EXPECT_EQ(measured.bytes.global_write, least.stored);
    }
  }
}

/// Positions of queries and keys, to make masks of.
inline std::string positions(int rows, int keys) {
  return "input %qi: f32[" + std::to_string(rows) + "] dense = arange()\ninput %kj: f32[" +
         std::to_string(keys) + "] dense = arange()\n";
}

/// Attention under `where(%mask[i, j], ..)`, where the mask has whole blocks, given as text.
inline std::string masked(int heads, int rows, int keys, const std::string& mask) {
  const std::string shape = "f32[" + std::to_string(rows) + ", " + std::to_string(keys) + "]";
  const std::string more = "const %mask: " + shape + " dense,compressed = " + mask + "\n";
  return with(
      with(attention(heads, rows, keys, 8, 8, "where(%mask[i, j], %s[h, i, j] * 0.25, -inf)", more),
           "temp %x: f32[" + std::to_string(heads) + ", " + std::to_string(rows) + ", " +
               std::to_string(keys) + "] dense,dense,dense",
           "temp %x: f32[" + std::to_string(heads) + ", " + std::to_string(rows) + ", " +
               std::to_string(keys) + "] dense,dense,dense facts(below_inf)"),
      "dense,dense,dense = uniform(density=1,seed=3)",
      "dense,dense,dense facts(finite) = uniform(density=1,seed=3)");
}

/// The graph with these tiles, and the steps that it leaves out.
inline Program with_steps_left_out(const std::string& text, const OnlineTiles& tiles) {
  Program program = parse(text);
  OnlineForm form = form_of(program);
  form.open = open_scores(program, form);
  EXPECT_NE(form.open, nullptr);
  Program whole = planned(text, tiles);
  Graph graph = online_graph(form, tiles);
  whole.regions.back().graph->tiles = graph.tiles;
  return whole;
}

}  // namespace fuseflow::cluster
