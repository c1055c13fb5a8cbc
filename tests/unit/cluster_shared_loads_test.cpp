// Clusters of kernels: which tiles their cores share, on paper; bytes of memory and links against
// what the lists of steps say; that nothing waits for ever, whatever the lists.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "cluster_program.h"
#include "graph/tile_kernel.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "machine/load.h"
#include "sim/tiles/kernel.h"
#include "sim/tiles/timing.h"

namespace fuseflow {
namespace {

/// Y = A X in tiles of 16 x 16 x 16, f32: so many tiles of rows and of k, in clusters of `cores`.
Program product(int rows, int depth, int cores, const std::string& open = "", int copies = 2) {
  const int m = rows * 16, k = depth * 16;
  return parse_program(
      {"test",
       fmt::format("fuseflow 1\ninput %a: f32[{0}, {1}] dense,dense = uniform(density=1,seed=1)\n"
                   "input %x: f32[{1}, 16] dense,dense = uniform(density=1,seed=2)\n"
                   "result %y: f32[{0}, 16] dense,dense\n"
                   "region @y {{\n  %y[i, c] = sum(j) %a[i, j] * %x[j, c]\n  graph {{\n"
                   "    index m: {2} block=16 size={0} cluster={4} digits=[i:{0}]\n"
                   "    index n: 1 block=16 size=16 cluster=1 digits=[c:16]\n"
                   "    index k: {3} block=16 size={1} cluster=1 digits=[j:{1}]\n"
                   "    index g: 1 block=1 size=1 cluster=1 digits=[one_g:1]\n"
                   "    tiles [] bytes=4{5}\n    phase {{\n"
                   "      $x: val<m,k>[m,k] = tile_load %a[i, j] capacity={6}\n"
                   "      $x_1: val<k,n>[k,n] = tile_load %x[j, c] capacity={6}\n"
                   "      $c: val<m,n>[m,n] = tile_multiply ($x, $x_1)\n"
                   "      tile_store %y[i, c] ($c)\n    }}\n  }}\n}}\n",
                   m, k, rows, depth, cores, open, copies)});
}

const Graph& graph_of(const Program& program) {
  return *program.regions[0].graph;
}

Machine machine_with(bool multicast, int cores) {
  Machine machine = cluster::paper_machine(cores);
  machine.links.multicast = multicast;
  return machine;
}

constexpr int64_t kTile = 16 * 16 * 4;

/// Two cores, one step: A0, A1 and X take 16 cycles of the only channel each, asked at 0 and, of
/// the shared X, 3 later: it is there at 48 + 100. 8192 FLOPs at 1024 a cycle, 32 of pipeline, 16
/// of the store's port and 16 of the other store on the channel, 100.
TEST(SharedLoads, ByMulticastOnPaper) {
  const Program program = product(2, 1, 2);
  const Measured both = time_tiles(graph_of(program), machine_with(true, 2));
  EXPECT_EQ(both.bytes.global_read, 3 * kTile);
  EXPECT_EQ(both.bytes.link, 0);
  EXPECT_EQ(both.cycles, 48 + 100 + 8 + 32 + 32 + 100);
  const Program apart = product(2, 1, 1);
  const Measured each = time_tiles(graph_of(apart), machine_with(true, 2));
  EXPECT_EQ(each.bytes.global_read, 4 * kTile);
  EXPECT_EQ(each.cycles, 64 + 100 + 8 + 32 + 16 + 100);
}

/// The first core loads X, by 48 + 100, and sends it: 16 cycles at 64 bytes a cycle, 10 of latency.
TEST(SharedLoads, OverLinksOnPaper) {
  const Program program = product(2, 1, 2);
  const Measured both = time_tiles(graph_of(program), machine_with(false, 2));
  EXPECT_EQ(both.bytes.global_read, 3 * kTile);
  EXPECT_EQ(both.bytes.link, kTile);
  EXPECT_EQ(both.cycles, 48 + 100 + 26 + 8 + 32 + 16 + 100);
}

/// Each step another core loads for both.
TEST(SharedLoads, CoresTakeTurnsAtLoading) {
  const Program program = product(2, 4, 2);
  const std::vector<TileOps> clusters = expand_kernel(graph_of(program), 1, true);
  ASSERT_EQ(clusters.size(), 1U);
  std::vector<int> sends(2);
  for (const TileOp& op : clusters[0].nodes) {
    if (op.kind == TileOpKind::send) ++sends[op.core];
  }
  EXPECT_EQ(sends, (std::vector<int>{2, 2}));
}

/// Edges go back, so that the operations are in a topological order.
void expect_topological(const TileOps& ops) {
  for (size_t i = 0; i < ops.nodes.size(); ++i) {
    const TileOp& op = ops.nodes[i];
    for (int32_t e = 0; e < op.operands; ++e)
      ASSERT_LT(ops.edges[static_cast<size_t>(op.first_operand + e)], static_cast<int32_t>(i));
    for (int32_t e = 0; e < op.orders; ++e)
      ASSERT_LT(ops.edges[static_cast<size_t>(op.first_order + e)], static_cast<int32_t>(i));
  }
}

/// What a kernel of one column moves, from its lists alone.
struct Moved {
  int64_t of_a = 0, of_x = 0;  ///< tiles read
  int64_t sent = 0;            ///< tiles of X
};

using LoadSets = std::vector<std::set<int>>;

/// A core has the tile of X of its last step still, at the first step of its next tile.
Moved moved_by(const LoadSets& lists, size_t cores, size_t clusters) {
  Moved moved;
  for (size_t cluster = 0; cluster < clusters; ++cluster) {
    std::vector<int> last(cores, -1);
    for (size_t first = cluster * cores; first < lists.size(); first += clusters * cores) {
      std::map<int, int> loads;  // by k
      for (size_t c = 0; c < cores && first + c < lists.size(); ++c) {
        const std::set<int>& list = lists[first + c];
        moved.of_a += static_cast<int64_t>(list.size());
        for (const int k : list) loads[k] += k == last[c] && k == *list.begin() ? 0 : 1;
        if (!list.empty()) last[c] = *list.rbegin();
      }
      for (const auto& [k, count] : loads) {
        moved.of_x += count > 0 ? 1 : 0;
        moved.sent += std::max(count - 1, 0);
      }
    }
  }
  return moved;
}

std::string text_of(const LoadSets& lists) {
  std::string text;
  for (const std::set<int>& list : lists) {
    text += text.empty() ? " open=[" : "; ";
    std::string ranges;
    for (const int k : list) {
      if (!list.contains(k - 1)) ranges += fmt::format("{}{}:", ranges.empty() ? "" : ", ", k);
      if (!list.contains(k + 1)) ranges += std::to_string(k + 1);
    }
    text += ranges;
  }
  return text + "]";
}

/// Random lists of steps, numbers of rows that do not fill clusters, buffers of any depth: of each
/// group of tiles a tile of X is read once, whoever needs it, and sent to all others that do.
TEST(SharedLoads, RandomListsAreReadOnceAGroup) {
  std::mt19937 random(7);
  const auto draw = [&](int from, int to) {
    return std::uniform_int_distribution<int>(from, to)(random);
  };
  for (int trial = 0; trial < 100; ++trial) {
    SCOPED_TRACE(trial);
    const int depth = draw(1, 9), cores = 1 << draw(0, 3), clusters = draw(1, 3);
    LoadSets lists(static_cast<size_t>(draw(1, 20)));
    for (std::set<int>& list : lists) {
      for (int k = 0; k < depth; ++k) {
        if (draw(0, 2) > 0) list.insert(k);
      }
    }
    const Program program =
        product(static_cast<int>(lists.size()), depth, cores, text_of(lists), draw(1, 3));
    const Graph& graph = graph_of(program);
    const Moved moved = moved_by(lists, static_cast<size_t>(cores), static_cast<size_t>(clusters));
    for (const bool multicast : {true, false}) {
      const Measured measured = time_tiles(graph, machine_with(multicast, cores * clusters));
      EXPECT_EQ(measured.bytes.global_read, (moved.of_a + moved.of_x) * kTile);
      EXPECT_EQ(measured.bytes.link, multicast ? 0 : moved.sent * kTile);
      for (const TileOps& ops : expand_kernel(graph, clusters, !multicast)) {
        expect_topological(ops);
      }
    }
  }
}

TEST(SharedLoads, RulesOfClusters) {
  const std::string text = print_program(product(2, 2, 2));
  cluster::expect_refused(text, "size=32 cluster=2", "size=32 cluster=3",
                          "expected a power of two up to 16");
  cluster::expect_refused(text, "size=32 cluster=2", "size=32 cluster=32", "from 1 to 16");
  cluster::expect_refused(text, "size=16 cluster=1", "size=16 cluster=2",
                          "index n is spread over a cluster, expected a product after the steps");
  cluster::expect_refused(
      text, "block=16 size=32 cluster=1", "block=16 size=32 cluster=2",
      "index k is spread over a cluster, expected a product over k by itself, or several "
      "reductions that walk k, and one reduce_scatter");
}

TEST(SharedLoads, AClusterThatTheMachineLacksIsRefused) {
  const Program program = product(2, 1, 2);
  EXPECT_THROW(time_tiles(graph_of(program), machine_with(true, 1)), Error);
}

/// Both heads take the same keys, which have no digit of g but one of l: they are loaded once. On
/// paper: queries 2 x 8 x 4, keys 16 x 4, values 2 x 16 x 4 elements of 4 bytes, one tile a head.
TEST(SharedLoads, WhatAllHeadsTakeIsReadOnce) {
  const Program program = parse_program({"test", R"(fuseflow 1
input %q: f32[2, 8, 4] dense,dense,dense = uniform(density=1,seed=1)
input %k: f32[16, 4] dense,dense = uniform(density=1,seed=2)
input %v: f32[2, 16, 4] dense,dense,dense = uniform(density=1,seed=3)
temp %s: f32[2, 8, 16] dense,dense,dense
temp %m: f32[2, 8] dense,dense
temp %e: f32[2, 8, 16] dense,dense,dense
temp %z: f32[2, 8] dense,dense
temp %p: f32[2, 8, 16] dense,dense,dense
result %y: f32[2, 8, 4] dense,dense,dense
region @attention {
  %s[h, i, j] = sum(d) %q[h, i, d] * %k[j, d]
  %m[h, i] = max(j) %s[h, i, j]
  %e[h, i, j] = exp(%s[h, i, j] - %m[h, i])
  %z[h, i] = sum(j) %e[h, i, j]
  %p[h, i, j] = %e[h, i, j] / %z[h, i]
  %y[h, i, c] = sum(j) %p[h, i, j] * %v[h, j, c]
  graph {
    index m: 1 block=8 size=8 cluster=1 digits=[i:8]
    index n: 1 block=4 size=4 cluster=1 digits=[c:4]
    index k: 1 block=16 size=16 cluster=1 digits=[j:16]
    index g: 2 block=1 size=2 cluster=1 digits=[h:2]
    index l: 1 block=4 size=4 cluster=1 digits=[d:4]
    tiles [] bytes=4
    phase {
      $q: val<m,l>[m,l] = tile_load %q[h, i, d] capacity=2
      $k: val<l,k>[l,k] = tile_load %k[j, d] capacity=2
      $s: val<m,k>[m,k] = tile_multiply ($q, $k) capacity=2
      $max: val<m>[m], $before: val<m>[m] = reduce max ($s) init=-3.4028235e+38
      $grown: val<m>[m] = map sub ($before, $max)
      $f: val<m>[m] = map exp ($grown)
      $below: val<m,k>[m,k] = map sub ($s, $max)
      $p: val<m,k>[m,k] = map exp ($below)
      $sum: val<m>[m] = reduce sum ($p, $f)
      $v: val<k,n>[k,n] = tile_load %v[h, j, c] capacity=1
      $o: val<m,n>[m,n] = tile_multiply ($p, $v, $f)
      $y: val<m,n>[m,n] = map div ($o, $sum)
      tile_store %y[h, i, c] ($y)
    }
  }
}
)"});
  const Graph& graph = graph_of(program);
  EXPECT_FALSE(varies_along(graph, graph.nodes[1])[kKernelG]);
  EXPECT_EQ(time_tiles(graph, cluster::one_channel_machine(1, {})).bytes.global_read,
            256 + 256 + 512);
  cluster::expect_right_and_read_again(program, load_machine("h100", {}));
}

}  // namespace
}  // namespace fuseflow
