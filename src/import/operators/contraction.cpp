// Contractions: MatMul and Gemm as one statement each.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "import/importer.h"
#include "import/operators/common.h"
#include "import/operators/registry.h"
#include "import/operators/wrapping.h"

namespace fuseflow {

namespace {

/// sum over k of a[.., k] * b[k, ..]; where a (or b) was made by Concat along k, the sum of the
/// products of its parts: joining would only hide from each part what the other does not have.
int32_t product(NodeImport& node, Kernel& k, const std::vector<std::pair<int, int>>& pairs) {
  int32_t root = -1;
  for (size_t p = 0; p < pairs.size(); ++p) {
    const int32_t left = k.use(pairs[p].first);
    const int32_t right = k.use(pairs[p].second);
    const int32_t sum = k.reduce(Reduction::sum, {kInner + 10 * static_cast<int>(p)},
                                 k.apply(Op::mul, {left, right}));
    root = root < 0 ? sum : k.apply(Op::add, {root, sum});
  }
  (void)node;
  return root;
}

/// Declares the operands of a product, part by part; gives the pairs.
std::vector<std::pair<int, int>> operand_pairs(NodeImport& node, Kernel& k, const View& a,
                                               int inner_a, const std::vector<int>& labels_a,
                                               const View& b, int inner_b,
                                               const std::vector<int>& labels_b) {
  const bool left = a.parts && a.parts->dim == inner_a;
  const bool right = !left && b.parts && b.parts->dim == inner_b;
  if (!left && !right) return {{k.operand(a, labels_a), k.operand(b, labels_b)}};
  std::vector<std::pair<int, int>> pairs;
  int64_t start = 0;
  for (const auto& part : (left ? a : b).parts->views) {
    const int64_t count = part->extent(left ? inner_a : inner_b);
    const View other =
        left ? node.sliced(b, inner_b, start, 1, count) : node.sliced(a, inner_a, start, 1, count);
    std::vector<int> la = labels_a;
    std::vector<int> lb = labels_b;
    la[static_cast<size_t>(inner_a)] = lb[static_cast<size_t>(inner_b)] =
        kInner + 10 * static_cast<int>(pairs.size());
    pairs.emplace_back(k.operand(left ? *part : other, la), k.operand(left ? other : *part, lb));
    start += count;
  }
  return pairs;
}

void matmul(NodeImport& node) {
  const View& a = node.input(0);
  const View& b = node.input(1);
  const int batch = product_batch(node, a, b);
  Kernel k = node.kernel();
  const auto pairs =
      operand_pairs(node, k, a, a.rank() - 1, product_labels(a.rank(), batch, true), b,
                    b.rank() == 1 ? 0 : b.rank() - 2, product_labels(b.rank(), batch, false));
  const int32_t sum = product(node, k, pairs);
  define_computed(node, k, result_labels(a, b, batch), sum, a.type);
}

/// The parts of a matrix, transposed along with it.
std::shared_ptr<const Parts> turned_parts(const View& matrix, bool turned) {
  if (!matrix.parts || !turned) return matrix.parts;
  Parts parts{1 - matrix.parts->dim, {}};
  for (const auto& view : matrix.parts->views) {
    View copy = *view;
    transpose(copy, {1, 0});
    parts.views.push_back(std::make_shared<const View>(std::move(copy)));
  }
  return std::make_shared<const Parts>(std::move(parts));
}

void gemm(NodeImport& node) {
  View a = node.input(0);
  View b = node.input(1);
  if (a.rank() != 2 || b.rank() != 2) node.reject("expected matrices");
  if (node.integer("transA", 0) != 0) transpose(a, {1, 0});
  if (node.integer("transB", 0) != 0) transpose(b, {1, 0});
  if (a.extent(1) != b.extent(0)) {
    node.reject(fmt::format("inner extents {} and {} differ", a.extent(1), b.extent(0)));
  }
  a.parts = turned_parts(node.input(0), node.integer("transA", 0) != 0);
  b.parts = turned_parts(node.input(1), node.integer("transB", 0) != 0);
  Kernel k = node.kernel();
  const auto pairs = operand_pairs(node, k, a, 1, {kRow, kInner}, b, 0, {kInner, kColumn});
  int bias = -1;
  if (node.has_input(2)) {
    View c = node.input(2);
    const std::vector<int64_t> shape = {a.extent(0), b.extent(1)};
    const bool whole = node.opset() < 7 && node.integer("broadcast", 0) == 0;
    if (whole ? c.shape() != shape : broadcast_shape({c.shape(), shape}, "Gemm: C") != shape) {
      node.reject(fmt::format("C has shape [{}], expected {} [{}]", fmt::join(c.shape(), ","),
                              whole ? "(without attribute broadcast)" : "one that broadcasts to",
                              fmt::join(shape, ",")));
    }
    expand(c, std::vector<int64_t>(2, 1));
    bias = k.operand(c, {kRow, kColumn});
  }
  int32_t root = product(node, k, pairs);
  const float alpha = node.real("alpha", 1);
  const float beta = node.real("beta", 1);
  if (alpha != 1) {
    const int32_t factor = k.constant(alpha);
    root = k.apply(Op::mul, {factor, root});
  }
  if (bias >= 0) {
    int32_t added = k.use(bias);
    if (beta != 1) {
      const int32_t factor = k.constant(beta);
      added = k.apply(Op::mul, {factor, added});
    }
    root = k.apply(Op::add, {root, added});
  }
  define_computed(node, k, {kRow, kColumn}, root, a.type);
}

/// One term of an Einsum equation as labels; "..." stands for `ellipsis` labels from -1 downwards.
std::vector<int> einsum_labels(NodeImport& node, const std::string& term, int rank) {
  std::vector<int> labels;
  const size_t dots = term.find("...");
  const auto letters = static_cast<int>(dots == std::string::npos ? term.size() : term.size() - 3);
  const int hidden = rank < 0 ? 0 : rank - letters;
  for (size_t i = 0; i < term.size(); ++i) {
    if (i == dots) {
      for (int d = hidden; d > 0; --d) labels.push_back(-d);
      i += 2;
      continue;
    }
    if (std::isalpha(static_cast<unsigned char>(term[i])) == 0)
      node.reject("the equation has a character that is not a letter");
    labels.push_back(term[i]);
  }
  if (rank >= 0 && static_cast<int>(labels.size()) != rank)
    node.reject("a term of the equation does not fit its operand");
  return labels;
}

struct Equation {
  std::vector<std::string> inputs;
  std::string output;
  bool explicit_output = false;
};

Equation parse_equation(NodeImport& node) {
  std::string text = node.text("equation", "");
  std::erase(text, ' ');
  Equation e;
  const size_t arrow = text.find("->");
  e.explicit_output = arrow != std::string::npos;
  if (e.explicit_output) e.output = text.substr(arrow + 2);
  std::string inputs = text.substr(0, arrow);
  for (size_t comma = 0; comma != std::string::npos;) {
    comma = inputs.find(',');
    e.inputs.push_back(inputs.substr(0, comma));
    inputs = comma == std::string::npos ? "" : inputs.substr(comma + 1);
  }
  if (static_cast<int>(e.inputs.size()) != node.input_count())
    node.reject(fmt::format("the equation has {} terms, expected one for each of {} inputs",
                            e.inputs.size(), node.input_count()));
  return e;
}

void einsum(NodeImport& node) {
  const Equation e = parse_equation(node);
  std::vector<std::vector<int>> terms;
  std::map<int, int> uses;
  int hidden = 0;
  for (int i = 0; i < node.input_count(); ++i) {
    terms.push_back(einsum_labels(node, e.inputs[static_cast<size_t>(i)], node.input(i).rank()));
    for (const int label : terms.back()) {
      ++uses[label];
      hidden = std::max(hidden, -label);
    }
  }
  std::vector<int> output;
  for (int d = hidden; d > 0 && !e.explicit_output; --d) output.push_back(-d);
  if (e.explicit_output) {
    const size_t dots = e.output.find("...");
    const auto letters =
        static_cast<int>(dots == std::string::npos ? e.output.size() : e.output.size() - 3);
    output = einsum_labels(node, e.output, dots == std::string::npos ? letters : letters + hidden);
  } else {
    for (const auto& [label, count] : uses) {
      if (label > 0 && count == 1) output.push_back(label);
    }
  }
  // Labels are shifted so that none is negative, which means an extent of 1 in a result.
  const auto positive = [](std::vector<int> labels) {
    for (int& l : labels) l += 1000;
    return labels;
  };
  Kernel k = node.kernel();
  std::vector<int> operands;
  operands.reserve(node.input_count());
  for (int i = 0; i < node.input_count(); ++i)
    operands.push_back(k.operand(node.input(i), positive(terms[static_cast<size_t>(i)])));
  int32_t root = -1;
  for (const int o : operands) {
    const int32_t value = k.use(o);
    root = root < 0 ? value : k.apply(Op::mul, {root, value});
  }
  std::vector<int> summed;
  for (const auto& [label, count] : uses) {
    if (std::find(output.begin(), output.end(), label) == output.end()) summed.push_back(label);
  }
  for (const int label : output) {
    if (!uses.contains(label))
      node.reject("the result of the equation has a letter that no operand has");
    if (std::count(output.begin(), output.end(), label) > 1)
      node.reject("the result of the equation has a letter twice");
  }
  if (!summed.empty()) root = k.reduce(Reduction::sum, positive(summed), root);
  define_computed(node, k, positive(output), root, node.input(0).type);
}

constexpr OperatorRow kContractionRows[] = {
    {"Einsum", einsum},
    {"Gemm", gemm},
    {"MatMul", matmul},
};

}  // namespace

std::span<const OperatorRow> contraction_operators() {
  return kContractionRows;
}

}  // namespace fuseflow
