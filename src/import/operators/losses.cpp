// Losses of a classification: which class each place has is constant, so that a loss is a sum over
// the chosen scores alone.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>

#include "import/expansion.h"
#include "import/importer.h"
#include "import/operators/common.h"
#include "import/operators/registry.h"
#include "support/text.h"

namespace fuseflow {

namespace {

constexpr int64_t kNoIndex = std::numeric_limits<int64_t>::min();

/// 1 at the class of each place that counts: of the shape of the scores, [N, C, ...].
struct ChosenClasses {
  ConstantPtr mask;
  int64_t count = 0;
};

ChosenClasses chosen_classes(const NodeImport& node, const View& scores) {
  const ConstantPtr target = node.constant_input(1, "the classes");
  std::vector<int64_t> shape = scores.shape();
  const int64_t classes = shape[1];
  shape.erase(shape.begin() + 1);
  if (target->shape != shape) {
    node.reject(fmt::format("classes of shape [{}] for scores of shape [{}], expected [{}]",
                            fmt::join(target->shape, ","), fmt::join(scores.shape(), ","),
                            fmt::join(shape, ",")));
  }
  int64_t inner = 1;
  for (size_t d = 1; d < shape.size(); ++d) inner *= shape[d];
  const int64_t ignored = node.integer("ignore_index", kNoIndex);
  std::vector<std::pair<int64_t, float>> entries;
  for (int64_t e = 0; e < target->size(); ++e) {
    const int64_t c = target->as_int(e);
    if (c == ignored) continue;
    if (c < 0 || c >= classes)
      node.reject(fmt::format("class {} is outside of {} classes", c, classes));
    entries.emplace_back((e / inner * classes + c) * inner + e % inner, 1.0F);
  }
  const auto count = static_cast<int64_t>(entries.size());
  return {constant_sparse(std::move(entries), scores.shape(), ElementType::boolean), count};
}

void negative_log_likelihood(NodeImport& node) {
  const View& scores = node.input(0);
  if (scores.rank() < 2) node.reject("expected scores [N,C,...]");
  const std::string reduction = node.text("reduction", "mean");
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    node.reject(fmt::format("reduction '{}', expected none, sum or mean", shown(reduction)));
  const ChosenClasses chosen = chosen_classes(node, scores);
  const View mask = derived_constant(node, "chosen", chosen.mask);
  std::vector<int> labels = all_labels(scores.rank());
  labels[1] = kSource;
  std::vector<int> places = {0};
  for (int d = 2; d < scores.rank(); ++d) places.push_back(d);
  // The sum of `value` over the chosen classes, and over all places if there is a reduction.
  const auto total = [&](bool of_weights) {
    Kernel k = node.kernel();
    const int m = k.operand(mask, labels);
    const int x = of_weights ? -1 : k.operand(scores, labels);
    const int w = node.has_input(2) ? k.operand(node.input(2), {kSource}) : -1;
    const int32_t is_chosen = k.use(m);
    int32_t value = of_weights ? -1 : k.apply(Op::neg, {k.use(x)});
    if (w >= 0) value = of_weights ? k.use(w) : k.apply(Op::mul, {value, k.use(w)});
    std::vector<int> over = {kSource};
    if (reduction != "none") over.insert(over.end(), places.begin(), places.end());
    const int32_t sum =
        k.reduce(Reduction::sum, over, k.apply(Op::where, {is_chosen, value, k.constant(0)}));
    return k.result(reduction == "none" ? places : std::vector<int>{}, sum, scores.type);
  };
  if (reduction != "mean") return node.define(0, total(false));
  const View all = node.helper("sum", total(false));
  const View weight = node.has_input(2)
                          ? node.helper("weight", total(true))
                          : scalar_view(static_cast<float>(chosen.count), scores.type);
  node.define(0, binary_view(node, Op::div, all, weight));
}

/// SoftmaxCrossEntropyLoss: NegativeLogLikelihoodLoss of the logarithm of a softmax over the
/// classes, which is output 1.
void softmax_cross_entropy(NodeImport& node) {
  Expansion body(node);
  const BodyValue log = body.add("LogSoftmax", {body.input(0)}, {{"axis", integer_attribute(1)}});
  std::vector<BodyValue> inputs = {log, body.input(1)};
  if (node.has_input(2)) inputs.push_back(body.input(2));
  Expansion::Attributes attributes;
  for (const char* name : {"ignore_index", "reduction"}) {
    if (const OnnxAttribute* a = node.attribute(name)) attributes[name] = *a;
  }
  body.result(0, body.add("NegativeLogLikelihoodLoss", inputs, attributes));
  body.result(1, log);
  body.finish();
}

constexpr OperatorRow kLossRows[] = {
    {"NegativeLogLikelihoodLoss", negative_log_likelihood, "classes that are not constant"},
    {"SoftmaxCrossEntropyLoss", softmax_cross_entropy, "classes that are not constant",
     ReadAs::body},
};

}  // namespace

std::span<const OperatorRow> loss_operators() {
  return kLossRows;
}

}  // namespace fuseflow
