// What planning remembers: keys say all that a plan depends on and nothing more, and what is
// remembered is what would be computed again.
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <variant>

#include "cluster/chain/chain_key.h"
#include "cluster/chain/recognize.h"
#include "cluster/common/key.h"
#include "cluster/common/memo.h"
#include "cluster/common/timings.h"
#include "cluster/kernels/kernels.h"
#include "cluster_program.h"
#include "machine/keys.h"

namespace fuseflow::cluster {
namespace {

template <typename Thing>
std::string key_of(const Thing& thing) {
  Key key;
  key.add(thing);
  return key.value();
}

TEST(Memo, ComputesOnceUntilItIsFull) {
  Memo<int> memo(4 * (1 + sizeof(int)));
  int computed = 0;
  const auto value = [&](const std::string& key) {
    return memo.get(key, [&] { return ++computed; });
  };
  EXPECT_EQ(value("a"), 1);
  EXPECT_EQ(value("b"), 2);
  EXPECT_EQ(value("a"), 1);
  EXPECT_EQ(computed, 2);
  for (const char* key : {"c", "d", "e"}) value(key);  // the last one does not fit
  EXPECT_EQ(computed, 5);
  EXPECT_EQ(value("e"), 5);
  EXPECT_EQ(value("a"), 6);
}

struct Listed {
  size_t more = 0;
};
size_t kept_bytes(const Listed& value) {
  return sizeof(value) + value.more;
}

TEST(Memo, CountsWhatItsValuesHold) {
  Memo<Listed> memo(1024);
  memo.keep("a", {400});
  memo.keep("a", {400});  // known: it takes nothing more
  memo.keep("b", {500});
  EXPECT_TRUE(memo.find("a"));
  EXPECT_TRUE(memo.find("b"));
  memo.keep("c", {200});
  EXPECT_FALSE(memo.find("a"));
  EXPECT_TRUE(memo.find("c"));
}

TEST(Memo, WhatIsThrownIsNotKept) {
  Memo<int> memo(1024);
  EXPECT_THROW(memo.get("a", []() -> int { throw std::runtime_error("no"); }), std::runtime_error);
  EXPECT_EQ(memo.get("a", [] { return 3; }), 3);
}

TEST(Key, NumbersDoNotRunIntoEachOther) {
  std::set<std::string> keys;
  int written = 0;
  for (const int64_t a : {0, 1, -1, 63, 64, 8191, 8192, -8193}) {
    for (const int64_t b : {0, 1, 64, 128}) {
      Key key;
      key.number(a);
      key.number(b);
      keys.insert(key.value());
      ++written;
    }
    Key alone;
    alone.number(a);
    keys.insert(alone.value());
    ++written;
  }
  EXPECT_EQ(keys.size(), static_cast<size_t>(written));
}

/// Two layers that differ by names and tensors alone, and the square of a tensor.
const char* const kLayers = R"(input %x: f32[48, 32] dense,dense = dense(seed=1)
const %w: f32[32, 64] dense,dense = dense(seed=2)
const %v: f32[32, 64] dense,dense = dense(seed=3)
const %s: f32[32, 32] dense,dense = dense(seed=4)
result %y: f32[48, 64] dense,dense
result %z: f32[48, 64] dense,dense
result %r: f32[32, 32] dense,dense
result %q: f32[32, 32] dense,dense
region @y { %y[i, j] = sum(k) %x[i, k] * %w[k, j] }
region @z { %z[a, b] = sum(c) %x[a, c] * %v[c, b] }
region @r { %r[i, j] = sum(k) %s[i, k] * %s[k, j] }
region @q { %q[i, j] = sum(k) %s[i, k] * %t[k, j] }
)";

Program layers() {
  Program program =
      parse("const %t: f32[32, 32] dense,dense = dense(seed=5)\n" + std::string(kLayers));
  EXPECT_TRUE(make_kernels(program, load_machine("h100")).empty());
  return program;
}

TEST(Key, NamesAndNumbersOfTensorsDoNotMatter) {
  const Program program = layers();
  const auto key = [&](size_t region) { return key_of(*program.regions[region].graph); };
  EXPECT_EQ(key(0), key(1));
  EXPECT_NE(key(0), key(2));
  EXPECT_NE(key(2), key(3));  // one tensor twice is not two tensors
}

TEST(Key, WhatATimeDependsOnMatters) {
  const Graph graph = *layers().regions[0].graph;
  std::set<std::string> keys = {key_of(graph)};
  const std::vector<std::function<void(Graph&)>> changes = {
      [](Graph& g) { ++g.indices[0].extent; },
      [](Graph& g) { ++g.indices[1].block; },
      [](Graph& g) { ++g.indices[1].size; },
      [](Graph& g) { ++g.indices[2].tiling.cluster; },
      [](Graph& g) { ++g.indices[2].tiling.digits[0].extent; },
      [](Graph& g) { ++g.nodes[0].capacity; },
      [](Graph& g) { ++g.nodes[0].tile.element_bytes; },
      [](Graph& g) { g.nodes[0].tile.by_threads = true; },
      [](Graph& g) { ++g.nodes[0].tile.subscripts[0].offset; },
      [](Graph& g) { ++g.nodes[0].tile.subscripts[0].terms[0].second; },
      [](Graph& g) { g.nodes[0].tile.held[1] = 1; },
      [](Graph& g) { g.nodes[0].init = 1; },
      [](Graph& g) { ++g.tiles->element_bytes; },
      [](Graph& g) {
        g.tiles->band = {0, 1};
      },
      [](Graph& g) {
        g.tiles->open = {{{0, 1}}, {}};
      },
      [](Graph& g) {
        g.tiles->open = {{}, {{0, 1}}};
      },
      [](Graph& g) { g.streams[0].block.pop_back(); },
  };
  for (const auto& change : changes) {
    Graph other = graph;
    change(other);
    keys.insert(key_of(other));
  }
  EXPECT_EQ(keys.size(), changes.size() + 1);
  Graph renamed = graph;
  renamed.streams[0].name = "other";
  renamed.indices[0].tiling.digits[0].name = "other";
  EXPECT_TRUE(keys.contains(key_of(renamed)));
}

/// Two equal layers, one with another activation, one with a residual of another element size.
TEST(Key, ChainsOfEqualLayersAreOne) {
  const auto layer = [](const std::string& n, const std::string& activation,
                        const std::string& last) {
    return "region @c" + n + " { %c" + n + "[i, j] = " + activation +
           "(sum(k) %x[i, k] * %w[k, j]) }\nregion @e" + n + " { %e" + n + "[i, l] = (sum(j) %c" +
           n + "[i, j] * %v[j, l]) + %" + last + "[i, l] }\n";
  };
  const auto tensors = [](const std::string& n) {
    return "temp %c" + n + ": f32[32, 64] dense,dense\nresult %e" + n +
           ": f32[32, 48] dense,dense\n";
  };
  const Program program = parse(
      "input %x: f32[32, 32] dense,dense = dense(seed=1)\n"
      "const %w: f32[32, 64] dense,dense = dense(seed=2)\n"
      "const %v: f32[64, 48] dense,dense = dense(seed=3)\n"
      "input %r: f32[32, 48] dense,dense = dense(seed=4)\n"
      "input %s: f16[32, 48] dense,dense = dense(seed=5)\n" +
      tensors("1") + tensors("2") + tensors("3") + tensors("4") + layer("1", "relu", "r") +
      layer("2", "relu", "r") + layer("3", "exp", "r") + layer("4", "relu", "s"));
  const std::vector<FoundChain> chains = find_chains(program);
  ASSERT_EQ(chains.size(), 4U);
  std::vector<std::string> of_chain, of_form;
  for (const FoundChain& found : chains) {
    Key form;
    add_form(form, found.form);
    of_chain.push_back(search_key(found.chain, load_machine("h100"), {}).value());
    of_form.push_back(form.value());
  }
  EXPECT_EQ(of_chain[0], of_chain[1]);
  EXPECT_EQ(of_form[0], of_form[1]);
  for (const size_t other : {2, 3}) {
    EXPECT_NE(of_chain[0], of_chain[other]);
    EXPECT_NE(of_form[0], of_form[other]);
  }
}

/// Every number of a machine that its cores and their memory depend on.
TEST(Key, MachinesOfOtherCoresDiffer) {
  Machine machine = load_machine("h100");
  std::set<std::string> keys = {key_of(machine)};
  size_t changed = 0;
  const size_t all = machine_keys(machine).size();
  for (size_t k = 0; k < all; ++k) {
    Machine other = machine;
    const MachineKey key = machine_keys(other)[k];
    const MachinePart part = fuseflow::part_of(key.name.substr(0, key.name.rfind('.')));
    const bool memory = key.name.starts_with("dram.");
    if (part != MachinePart::cores && part != MachinePart::around_cores && !memory) continue;
    if (key.name == "core.matrix_type_of_f32") continue;  // only named
    if (auto* const* whole = std::get_if<int64_t*>(&key.field)) **whole += 3;
    if (auto* const* real = std::get_if<double*>(&key.field)) **real += 3;
    if (auto* const* yes = std::get_if<bool*>(&key.field)) **yes = !**yes;
    if (auto* const* text = std::get_if<std::string*>(&key.field)) **text += "x";
    keys.insert(key_of(other));
    ++changed;
    EXPECT_EQ(keys.size(), changed + 1) << key.name;
  }
  EXPECT_GT(changed, 40U);
  machine.name = "another";
  EXPECT_TRUE(keys.contains(key_of(machine)));
}

/// Whatever was asked before, with whatever limit.
TEST(Timings, AreThoseOfTheSimulation) {
  const Machine machine = load_machine("h100");
  const Graph graph = *layers().regions[2].graph;
  const int64_t whole = time_tiles(graph, machine).cycles;
  for (const std::vector<int64_t>& limits : {std::vector<int64_t>{whole / 2, 0, whole / 2},
                                             {whole - 1, whole, whole + 1, whole / 3, 0, 1}}) {
    for (const int64_t most : limits) {
      LaunchOptions options;
      options.most_cycles = most;
      const Measured wanted = time_tiles(graph, machine, options);
      const Measured found = timed(graph, machine, {.most_cycles = most});
      EXPECT_EQ(found.cycles, wanted.cycles) << most;
      EXPECT_EQ(found.finished, wanted.finished) << most;
      EXPECT_EQ(found.nodes, wanted.nodes) << most;
      EXPECT_EQ(found.bytes, wanted.bytes) << most;
    }
  }
}

TEST(Timings, WhatTheCacheHoldsIsAnotherLaunch) {
  const Machine machine = load_machine("h100");
  const Graph graph = *layers().regions[0].graph;
  const Measured empty = timed(graph, machine), held = timed(graph, machine, {.held = {0, 1}});
  EXPECT_LT(held.cycles, empty.cycles);
  EXPECT_EQ(timed(graph, machine).cycles, empty.cycles);
}

}  // namespace
}  // namespace fuseflow::cluster
