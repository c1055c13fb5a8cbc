// Messages along constant edges become work on a sparse matrix: values against a loop over the
// edges, and which models are read so.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "import_values.h"

namespace fuseflow {
namespace {

struct TestEdge {
  int source = 0;
  int target = 0;
};
using TestEdges = std::vector<TestEdge>;

constexpr int kNodeCount = 4;
const Floats kNodeValues = {1, 2, 3, -1, 0.5, 4, -2, 1};  // [4, 2]
const TestEdges kDistinctEdges = {{0, 1}, {1, 2}, {2, 1},
                                  {2, 0}, {3, 0}, {3, 1}};  // node 3 receives nothing
const TestEdges kEqualEdges = {{0, 1}, {1, 2}, {2, 1}, {2, 0}, {2, 0}, {3, 0}, {3, 1}};
const TestEdges kLoopedEdges = {{1, 2}, {0, 1}, {2, 1}, {3, 0}, {0, 0}, {1, 1}, {2, 2}, {3, 3}};

std::string ends_of(const TestEdges& edges, bool sources) {
  std::string text;
  for (const TestEdge& e : edges)
    text += (text.empty() ? "" : ", ") + std::to_string(sources ? e.source : e.target);
  return "{" + text + "}";
}

/// A model of x [4, 2] (and `inputs`): src, dst, `at` (the targets for each column), zero and
/// low.
std::string edge_model(const TestEdges& edges, const std::string& nodes,
                       const std::string& inputs = "", const std::string& result = "float[4,2] y",
                       const std::string& constants = "") {
  const std::string count = std::to_string(edges.size());
  return "(float[4,2] x" + inputs + ") => (" + result + ") <int64[" + count +
         "] src = " + ends_of(edges, true) + ", int64[" + count +
         "] dst = " + ends_of(edges, false) + ", int64[" + count +
         ",1] targets = " + ends_of(edges, false) + ", int64[2] both = {" + count +
         ", 2}, float[4,2] zero = {0, 0, 0, 0, 0, 0, 0, 0}, float low = {-3.4028235e38}" +
         constants + "> { at = Expand(targets, both) rows = Gather(x, src) " + nodes + " }";
}

const Binds kNodeBinds = {{"x", "values(1, 2, 3, -1, 0.5, 4, -2, 1)"}};

/// Whether the model's edges became a matrix and nothing selects or places them any more.
bool edges_on_matrix(const Program& program) {
  const auto named = [&](const std::string& part) {
    return std::any_of(program.tensors.begin(), program.tensors.end(),
                       [&](const Tensor& t) { return t.name.find(part) != std::string::npos; });
  };
  return !named(".select") && !named(".place") && (named("edges") || named(".by_edge"));
}

void expect_edges_on_matrix(const std::string& graph, const Floats& expected,
                            const Binds& binds = kNodeBinds) {
  const Program program = imported_with(model_at(18, graph), binds);
  EXPECT_TRUE(edges_on_matrix(program));
  expect_values(result_of(program), expected);
}

using EdgeMessage = std::function<float(size_t edge, int column)>;

/// What `join` makes of the messages of each node, from `start`.
Floats collected_edges(const TestEdges& edges, float start, const EdgeMessage& message,
                       const std::function<float(float, float)>& join) {
  Floats y(kNodeValues.size(), start);
  for (size_t e = 0; e < edges.size(); ++e) {
    for (int c = 0; c < 2; ++c) {
      float& at = y[static_cast<size_t>(edges[e].target * 2 + c)];
      at = join(at, message(e, c));
    }
  }
  return y;
}

float node_value(int node, int column) {
  return kNodeValues[static_cast<size_t>(node * 2 + column)];
}

Floats edge_sums(const TestEdges& edges, const EdgeMessage& message) {
  return collected_edges(edges, 0, message, [](float a, float b) { return a + b; });
}

/// The maximum over the sources; 0 where there is none.
Floats edge_maxima(const TestEdges& edges) {
  const float none = -std::numeric_limits<float>::infinity();
  Floats y = collected_edges(
      edges, none, [&](size_t e, int c) { return node_value(edges[e].source, c); },
      [](float a, float b) { return std::max(a, b); });
  for (float& v : y) v = v == none ? 0 : v;
  return y;
}

/// Softmax by target of x[source] + x[target], times x[source], added up.
Floats edge_attention(const TestEdges& edges) {
  const auto weight = [&](size_t e, int c) {
    return std::exp(node_value(edges[e].source, c) + node_value(edges[e].target, c));
  };
  const Floats total = edge_sums(edges, weight);
  return edge_sums(edges, [&](size_t e, int c) {
    return weight(e, c) / total[static_cast<size_t>(edges[e].target * 2 + c)] *
           node_value(edges[e].source, c);
  });
}

const std::string kSumNodes =
    "m = Relu(rows) y = ScatterElements<axis = 0, reduction = \"add\">(zero, at, m)";
const std::string kMaxNodes =
    "worst = Expand(low, both) reset = ScatterElements<axis = 0, reduction = \"min\">(zero, at, "
    "worst) "
    "y = ScatterElements<axis = 0, reduction = \"max\">(reset, at, rows)";
const std::string kAttentionNodes =
    "ends = Gather(x, dst) score = Add(rows, ends) worst = Expand(low, both) "
    "reset = ScatterElements<axis = 0, reduction = \"min\">(zero, at, worst) "
    "most = ScatterElements<axis = 0, reduction = \"max\">(reset, at, score) "
    "shift = Gather(most, dst) less = Sub(score, shift) e = Exp(less) "
    "total = ScatterElements<axis = 0, reduction = \"add\">(zero, at, e) "
    "all = Gather(total, dst) w = Div(e, all) message = Mul(w, rows) "
    "y = ScatterElements<axis = 0, reduction = \"add\">(zero, at, message)";

EdgeMessage relu_of_source(const TestEdges& edges) {
  return [&edges](size_t e, int c) { return std::max(0.0F, node_value(edges[e].source, c)); };
}

TEST(ImportEdges, Sum) {
  for (const TestEdges& edges : {kDistinctEdges, kEqualEdges, kLoopedEdges})
    expect_edges_on_matrix(edge_model(edges, kSumNodes), edge_sums(edges, relu_of_source(edges)));
}

TEST(ImportEdges, Mean) {
  const std::string nodes =
      "m = Relu(rows) total = ScatterElements<axis = 0, reduction = \"add\">(zero, at, m) "
      "y = Div(total, count)";
  Floats expected = edge_sums(kDistinctEdges, relu_of_source(kDistinctEdges));
  const Floats counts = {2, 3, 1, 1};
  for (size_t i = 0; i < expected.size(); ++i) expected[i] /= counts[i / 2];
  expect_edges_on_matrix(
      edge_model(kDistinctEdges, nodes, "", "float[4,2] y", ", float[4,1] count = {2, 3, 1, 1}"),
      expected);
}

TEST(ImportEdges, MaximumWithAndWithoutIsolatedNodes) {
  for (const TestEdges& edges : {kDistinctEdges, kEqualEdges, kLoopedEdges})
    expect_edges_on_matrix(edge_model(edges, kMaxNodes), edge_maxima(edges));
  // The tracing exporter starts from the least of all updates.
  const std::string traced =
      "least = ReduceMin<keepdims = 0>(rows) worst = Expand(least, both) "
      "reset = ScatterElements<axis = 0>(zero, at, worst) "
      "y = ScatterElements<axis = 0, reduction = \"max\">(reset, at, rows)";
  for (const TestEdges& edges : {kDistinctEdges, kLoopedEdges}) {
    const Program program = imported_with(model_at(18, edge_model(edges, traced)), kNodeBinds);
    EXPECT_EQ(find_tensor(program, "least"), -1);  // nothing needs it
    expect_values(result_of(program), edge_maxima(edges));
  }
}

/// A maximum with what was there is no reset.
TEST(ImportEdges, MaximumWithItsStart) {
  const std::string nodes = "y = ScatterElements<axis = 0, reduction = \"max\">(zero, at, rows)";
  Floats expected = edge_maxima(kLoopedEdges);
  for (float& v : expected) v = std::max(v, 0.0F);
  expect_edges_on_matrix(edge_model(kLoopedEdges, nodes), expected);
}

TEST(ImportEdges, Softmax) {
  for (const TestEdges& edges : {kDistinctEdges, kEqualEdges, kLoopedEdges})
    expect_edges_on_matrix(edge_model(edges, kAttentionNodes), edge_attention(edges));
}

/// The number of statements in the region of `tensor`.
size_t kernel_size(const Program& program, const std::string& tensor) {
  const TensorId id = find_tensor(program, tensor);
  for (const Region& region : program.regions) {
    for (const Statement& s : region.statements) {
      if (s.result == id) return region.statements.size();
    }
  }
  return 0;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

/// Where every node receives something, the whole softmax of one head is a kernel; of several
/// heads, difference, exponential and sum are.
TEST(ImportEdges, SoftmaxIsAKernel) {
  const std::string heads = edge_model(kLoopedEdges, kAttentionNodes);
  const Program two = imported_with(model_at(18, heads), kNodeBinds);
  EXPECT_EQ(kernel_size(two, "total"), 3U);
  EXPECT_EQ(kernel_size(two, "w"), 1U);
  const std::string head = replaced(
      replaced(replaced(heads, "[4,2]", "[4,1]"), "{0, 0, 0, 0, 0, 0, 0, 0}", "{0, 0, 0, 0}"),
      "both = {8, 2}", "both = {8, 1}");
  const Program one = imported_with(model_at(18, head), {{"x", "values(1, 3, 0.5, -2)"}});
  EXPECT_EQ(kernel_size(one, "w"), 5U);
  for (const Program* program : {&one, &two}) {
    for (const char* name : {"score", "e", "w"}) {
      const auto id = static_cast<size_t>(find_tensor(*program, name));
      EXPECT_FALSE(program->tensors[id].format.all_dense()) << name;
    }
  }
}

/// Equal edges with different weights stay two.
TEST(ImportEdges, Weights) {
  const Floats weights = {0.5, 2, 3, 1, 4, 5, 6};
  const Floats expected = edge_sums(
      kEqualEdges, [&](size_t e, int c) { return relu_of_source(kEqualEdges)(e, c) * weights[e]; });
  const std::string nodes =
      "r = Relu(rows) m = Mul(r, weight) "
      "y = ScatterElements<axis = 0, reduction = \"add\">(zero, at, m)";
  expect_edges_on_matrix(edge_model(kEqualEdges, nodes, "", "float[4,2] y",
                                    ", float[7,1] weight = {0.5, 2, 3, 1, 4, 5, 6}"),
                         expected);
  Binds given = kNodeBinds;
  given["weight"] = "values(0.5, 2, 3, 1, 4, 5, 6)";
  expect_edges_on_matrix(edge_model(kEqualEdges, nodes, ", float[7,1] weight"), expected, given);
}

/// Weights that a degree normalises, both computed.
TEST(ImportEdges, NormalisedWeights) {
  const Floats weights = {0.5, 2, 3, 1, 4, 5};
  Floats degree(kNodeCount, 0);
  for (size_t e = 0; e < kDistinctEdges.size(); ++e)
    degree[static_cast<size_t>(kDistinctEdges[e].target)] += weights[e];
  const Floats expected = edge_sums(kDistinctEdges, [&](size_t e, int c) {
    return node_value(kDistinctEdges[e].source, c) * weights[e] /
           degree[static_cast<size_t>(kDistinctEdges[e].target)];
  });
  Binds binds = kNodeBinds;
  binds["weight"] = "values(0.5, 2, 3, 1, 4, 5)";
  const std::string nodes =
      "d = ScatterElements<axis = 0, reduction = \"add\">(none, dst, weight) by = Gather(d, dst) "
      "n = Div(weight, by) one = Unsqueeze(n, last) m = Mul(rows, one) "
      "y = ScatterElements<axis = 0, reduction = \"add\">(zero, at, m)";
  const Program program = imported_with(
      model_at(18, edge_model(kDistinctEdges, nodes, ", float[6] weight", "float[4,2] y",
                              ", float[4] none = {0, 0, 0, 0}, int64[1] last = {1}")),
      binds);
  expect_values(result_of(program), expected);
}

/// What cannot stand in a matrix is computed edge by edge: a result with an element for each edge,
/// edges that are a permutation of the nodes, no edges.
/// A linear layer over what both ends have is a product for each end, computed by node.
TEST(ImportEdges, LinearLayersOverBothEnds) {
  const Floats weights = {1, 0, 0.5, -1, 2, 1, -1, 0.5};  // [4, 2]
  const auto message = [&](size_t e, int c) {
    float sum = 0;
    for (int k = 0; k < 2; ++k) {
      sum += node_value(kDistinctEdges[e].target, k) * weights[static_cast<size_t>(2 * k + c)];
      sum += node_value(kDistinctEdges[e].source, k) * weights[static_cast<size_t>(2 * k + 4 + c)];
    }
    return std::max(0.0F, sum);
  };
  const std::string constants =
      ", float[4,2] w = {1, 0, 0.5, -1, 2, 1, -1, 0.5}, int64[1] one = {1}, int64 first = {0}";
  const std::string plain = "c = Concat<axis = 1>(ends, rows) ";
  const std::string towers =  // as PNA has them, of which there is one
      "a = Unsqueeze(ends, one) b = Unsqueeze(rows, one) t = Concat<axis = -1>(a, b) "
      "c = Gather<axis = 1>(t, first) ";
  for (const std::string& joined : {plain, towers}) {
    const std::string nodes = "ends = Gather(x, dst) " + joined +
                              "m = MatMul(c, w) r = Relu(m) y = ScatterElements<axis = 0, "
                              "reduction = \"add\">(zero, at, r)";
    const std::string graph = edge_model(kDistinctEdges, nodes, "", "float[4,2] y", constants);
    expect_edges_on_matrix(graph, edge_sums(kDistinctEdges, message));
    const Program program = imported_with(model_at(18, graph), kNodeBinds);
    const TensorId term = find_tensor(program, "m.end1");
    ASSERT_GE(term, 0);
    EXPECT_EQ(known_shape(program.tensors[static_cast<size_t>(term)]),
              (std::vector<int64_t>{4, 2}));
  }
}

TEST(ImportEdges, EdgeByEdge) {
  const Program by_edge = imported_with(
      model_at(18, edge_model(kDistinctEdges,
                              "ends = Gather(x, dst) y = Add(rows, ends) "
                              "z = ScatterElements<axis = 0, reduction = \"add\">(zero, at, y)",
                              "", "float[6,2] y, float[4,2] z")),
      kNodeBinds);
  EXPECT_EQ(find_tensor(by_edge, "edges"), -1);
  Floats expected;
  for (const TestEdge& e : kDistinctEdges) {
    for (int c = 0; c < 2; ++c)
      expected.push_back(node_value(e.source, c) + node_value(e.target, c));
  }
  expect_values(result_of(by_edge), expected);
  const TestEdges ring = {{0, 1}, {1, 3}, {2, 0}, {3, 2}};
  expect_values(values_at(18, edge_model(ring, kSumNodes), kNodeBinds),
                edge_sums(ring, relu_of_source(ring)));
  expect_values(values_at(18, edge_model(ring, kAttentionNodes), kNodeBinds), edge_attention(ring));
  expect_values(values_at(18, edge_model({}, kSumNodes), kNodeBinds),
                Floats(kNodeValues.size(), 0));
}

}  // namespace
}  // namespace fuseflow
