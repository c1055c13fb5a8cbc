// Tensors of several element sizes in one kernel: what graphs of tiles say, and what that costs.
#include "cluster/common/element_bytes.h"

#include "cluster/chain/lower_plan.h"
#include "cluster/chain/recognize.h"
#include "cluster/kernels/form.h"
#include "cluster/kernels/kernels.h"
#include "cluster/rows/rows.h"
#include "cluster_program.h"
#include "graph/tile_rows.h"
#include "machine/load.h"
#include "sim/tiles/conservation.h"
#include "sim/tiles/kernel_counts.h"
#include "sim/tiles/rows_counts.h"

namespace fuseflow::cluster {
namespace {

/// Weights of one byte, activations of two, a bias and a result of four.
const char* const kLayer =
    "input %x: f16[32, 64] dense,dense = dense(seed=1)\n"
    "const %w: i8[64, 48] dense,dense = dense(seed=2,values=uniform(-8,8))\n"
    "const %b: f32[48] dense = dense(seed=3)\n"
    "result %y: f32[32, 48] dense,dense\n"
    "region @y { %y[i, j] = relu(sum(k) %x[i, k] * %w[k, j] + %b[j]) }\n";

Graph kernel_of(const Program& program, const KernelSizes& block, int64_t copies) {
  std::string why;
  const auto form = kernel_form(program, program.regions.back().statements.back(), {}, why);
  EXPECT_TRUE(form) << why;
  return kernel_graph(*form, block, copies);
}

const Node& node_of(const Graph& graph, TensorId tensor) {
  for (const Node& node : graph.nodes) {
    if (node.tensor == tensor) return node;
  }
  ADD_FAILURE() << "no node has the tensor " << tensor;
  return graph.nodes.front();
}

TEST(ElementBytes, ProductsRunAtTheLargestOperandThatIsLoaded) {
  const Program program = parse(kLayer);
  const Graph graph = kernel_of(program, {16, 48, 32, 1}, 2);
  EXPECT_EQ(graph.tiles->element_bytes, 2);
  EXPECT_EQ(node_of(graph, find_tensor(program, "x")).tile.element_bytes, 0);  // as the graph
  EXPECT_EQ(node_of(graph, find_tensor(program, "w")).tile.element_bytes, 1);
  EXPECT_EQ(node_of(graph, find_tensor(program, "b")).tile.element_bytes, 4);
  EXPECT_EQ(node_of(graph, find_tensor(program, "y")).tile.element_bytes, 4);
}

// Tiles of 16 x 48 of y, steps of 32: 2 tiles of 2 steps on one core. Each loads x (16 x 32) and w
// (32 x 48) a step, b once, as its buffer keeps it.
TEST(ElementBytes, EachTensorMovesItsOwn) {
  const Program program = parse(kLayer);
  const Graph graph = kernel_of(program, {16, 48, 32, 1}, 2);
  const Machine machine = load_machine("h100", {"core.count=1", "l2.capacity_bytes=0"});
  const Measured measured = time_tiles(graph, machine);
  EXPECT_EQ(measured.bytes.global_read, 4 * (16 * 32 * 2 + 32 * 48 * 1) + 48 * 4);
  EXPECT_EQ(measured.bytes.global_write, 32 * 48 * 4);
  // Written: what is loaded and what is stored. Read: operands in each step, b in each tile, y.
  EXPECT_EQ(measured.bytes.scratchpad_write,
            measured.bytes.global_read + measured.bytes.global_write);
  EXPECT_EQ(measured.bytes.scratchpad_read,
            4 * (16 * 32 * 2 + 32 * 48 * 1) + 2 * 48 * 4 + measured.bytes.global_write);
  const CompulsoryBytes least = compulsory_bytes(graph);
  EXPECT_EQ(least.loaded, 32 * 64 * 2 + 64 * 48 * 1 + 48 * 4);
  EXPECT_EQ(least.stored, 32 * 48 * 4);
  // Two copies of each load's tile, and one of y's.
  EXPECT_EQ(kernel_need(graph).scratchpad, 2 * (16 * 32 * 2 + 32 * 48 * 1 + 48 * 4) + 16 * 48 * 4);
}

TEST(ElementBytes, WithoutAProductTheLargestTensor) {
  const Program program = parse(
      "input %x: f16[8, 8] dense,dense = dense(seed=1)\n"
      "result %y: f32[8, 8] dense,dense\n"
      "region @y { %y[i, j] = exp(%x[i, j]) }\n");
  const Graph graph = kernel_of(program, {8, 8, 1, 1}, 1);
  EXPECT_EQ(graph.tiles->element_bytes, 4);
  EXPECT_EQ(node_of(graph, find_tensor(program, "x")).tile.element_bytes, 2);
  EXPECT_EQ(compulsory_bytes(graph).loaded, 128);
}

TEST(ElementBytes, TheTextSaysThemAndIsHeldToThem) {
  Program program = parse(kLayer);
  program.regions[0].graph = kernel_of(program, {16, 48, 32, 1}, 2);
  const std::string text = print_program(program);
  EXPECT_NE(text.find("capacity=2 bytes=1"), std::string::npos) << text;
  EXPECT_EQ(print_program(parse_program({"again", text})), text);
  expect_refused(text, "capacity=2 bytes=1", "capacity=2 bytes=8",
                 "has elements of 8 bytes, expected bytes=1, as its tensor is declared");
  expect_refused(text, "capacity=2 bytes=1", "capacity=2 bytes=0", "bytes of an element");
  expect_right(parse_program({"again", text}), load_machine("h100"));
}

std::string chain_text(const std::string& second_branch) {
  return "input %x: f16[32, 64] dense,dense = dense(seed=1)\n"
         "const %w: i8[64, 32] dense,dense = dense(seed=2,values=uniform(-4,4))\n"
         "const %v: " +
         second_branch +
         "[64, 32] dense,dense = dense(seed=6,values=uniform(-4,4))\n"
         "const %b: f32[32] dense = dense(seed=3)\n"
         "const %d: i8[32, 16] dense,dense = dense(seed=4,values=uniform(-4,4))\n"
         "input %r: f32[32, 16] dense,dense = dense(seed=5)\n"
         "temp %c: f16[32, 32] dense,dense\n"
         "result %y: f32[32, 16] dense,dense\n"
         "region @c { %c[i, j] = silu(sum(k) %x[i, k] * %w[k, j] + %b[j]) "
         "* sum(q) %x[i, q] * %v[q, j] }\n"
         "region @y { %y[i, j] = sum(k) %c[i, k] * %d[k, j] + %r[i, j] }\n";
}

TEST(ElementBytes, OfAChain) {
  Program program = parse(chain_text("i8"));
  const auto found = find_chains(program);
  ASSERT_EQ(found.size(), 1U);
  const ElementBytes& bytes = found[0].chain.bytes;
  EXPECT_EQ(bytes.a, 2);
  EXPECT_EQ(bytes.b, 1);
  EXPECT_EQ(bytes.c, 2);
  EXPECT_EQ(bytes.d, 1);
  EXPECT_EQ(bytes.e, 4);
  EXPECT_EQ(bytes.bias0, 4);
  EXPECT_EQ(bytes.residual, 4);
  EXPECT_EQ(bytes.work(), 2);
  Plan plan;
  plan.schedule = LoopSchedule::parse("LK");
  plan.shape = {1, 2, 1, 1};
  plan.tile.value = {16, 16, 16, 16};
  plan.way = GatedWay::sequential;
  const Machine machine = load_machine("h100", {"l2.capacity_bytes=0", "links.multicast=false"});
  const Analysis analysis = analyze(found[0].chain, plan, machine);
  ASSERT_TRUE(attach_plan(program, found[0].statements, {},
                          lower_plan(found[0].form, found[0].chain, plan, analysis)));
  EXPECT_EQ(time_tiles(*program.regions.back().graph, machine).bytes, analysis.total);
  expect_right(program, machine);
  expect_right(parse_program({"again", print_program(program)}), machine);
}

TEST(ElementBytes, BranchesOfTwoSizesAreNoChain) {
  std::vector<RefusedChain> refused;
  EXPECT_TRUE(find_chains(parse(chain_text("f16")), &refused).empty());
  ASSERT_FALSE(refused.empty());
  EXPECT_EQ(refused.back().why, "%v has elements of another size than %w");
}

// A kernel of rows: weights of one and of two bytes have buffers of their own.
TEST(ElementBytes, OfAKernelOfRows) {
  Program program = parse(
      "input %x: f16[64, 32] dense,dense = dense(seed=1)\n"
      "const %w1: i8[32, 32] dense,dense = dense(seed=2,values=uniform(-4,4))\n"
      "const %w2: f16[32, 32] dense,dense = dense(seed=3)\n"
      "const %b: f32[32] dense = dense(seed=4)\n"
      "temp %h: f16[64, 32] dense,dense\n"
      "temp %g: f16[64, 32] dense,dense\n"
      "temp %m: f32[64] dense\n"
      "result %y: f32[64, 32] dense,dense\n"
      "region @h { %h[i, j] = relu(sum(k) %x[i, k] * %w1[k, j] + %b[j]) }\n"
      "region @g { %g[i, j] = sum(k) %h[i, k] * %w2[k, j] }\n"
      "region @m { %m[i] = max(j) %g[i, j] }\n"
      "region @y { %y[i, j] = %g[i, j] - %m[i] }\n");
  const Machine machine = load_machine("h100");
  const std::vector<RowsOutcome> outcomes = plan_rows(program, machine, {});
  ASSERT_EQ(outcomes.size(), 1U);
  ASSERT_EQ(outcomes[0].kind, RowsOutcome::Kind::taken) << outcomes[0].why;
  const Graph& graph = *program.regions.back().graph;
  EXPECT_EQ(graph.tiles->element_bytes, 2);
  const CompulsoryBytes least = compulsory_bytes(graph);
  EXPECT_EQ(least.loaded, 64 * 32 * 2 + 32 * 32 * 1 + 32 * 32 * 2 + 32 * 4);
  EXPECT_EQ(least.stored, 64 * 32 * 4);
  const RowsShape shape = rows_shape(graph);
  const auto buffer = [&](const char* tensor) {
    for (const NodeId n : shape.loads) {
      if (graph.nodes[static_cast<size_t>(n)].tensor == find_tensor(program, tensor)) {
        return shape.buffer_of[static_cast<size_t>(n)];
      }
    }
    return -1;
  };
  EXPECT_NE(buffer("w1"), buffer("w2"));
  expect_right(program, machine);
  expect_right(parse_program({"again", print_program(program)}), machine);
}

}  // namespace
}  // namespace fuseflow::cluster
