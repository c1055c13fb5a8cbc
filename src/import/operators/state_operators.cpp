// Operators that carry a state from place to place: a causal convolution, and attention without a
// softmax, whose state is a matrix for each head. A body of nodes; the recurrence is unrolled.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "import/expansion.h"
#include "import/operators/attention.h"
#include "import/operators/registry.h"
#include "support/text.h"

namespace fuseflow {

namespace {

constexpr int64_t kMostSteps = 512;
constexpr ElementType kStateType = ElementType::f32;  ///< of a state while it is computed

/// A convolution of each channel, over what came before (the past state, or zeros).
void causal_conv(NodeImport& node) {
  const View& x = node.input(0);
  const View& weights = node.input(1);
  if (x.rank() != 3 || weights.rank() != 3 || weights.extent(0) != x.extent(1)) {
    node.reject(
        fmt::format("an input [{}] and weights [{}], expected [batch, channels, length] "
                    "and [channels, 1, size]",
                    fmt::join(x.shape(), ","), fmt::join(weights.shape(), ",")));
  }
  const std::string activation = node.text("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    node.reject(fmt::format("activation '{}', expected none, silu or swish", shown(activation)));
  Expansion body(node);
  const int64_t before = weights.extent(2) - 1;
  BodyValue padded;
  if (node.has_input(3)) {
    padded = body.concat({body.input(3), body.input(0)}, 2);
  } else {
    padded = body.add("Pad", {body.input(0), body.integers({0, 0, before, 0, 0, 0})});
  }
  std::vector<BodyValue> operands = {padded, body.input(1)};
  if (node.has_input(2)) operands.push_back(body.input(2));
  BodyValue y = body.add("Conv", std::move(operands), {{"group", integer_attribute(x.extent(1))}});
  if (activation != "none") y = body.add("Swish", {y});
  body.result(0, y);
  const int64_t length = x.extent(2) + before;
  body.result(1, body.slice(padded, 2, length - before, length));
  body.finish();
}

/// The inputs of LinearAttention by place, as [batch, heads, places, size].
struct LinearInputs {
  BodyValue q, k, v, decay, beta;
  int64_t batch = 0, q_heads = 0, heads = 0, places = 0, size = 0, v_size = 0;
};

BodyValue by_head(NodeImport& node, Expansion& body, int i, int64_t heads, const LinearInputs& in) {
  const View& x = node.input(i);
  if (x.rank() != 3 || x.extent(0) != in.batch || x.extent(1) != in.places) {
    node.reject(fmt::format("input {} has shape [{}], expected [{},{},...]", i,
                            fmt::join(x.shape(), ","), in.batch, in.places));
  }
  head_size(node, x.extent(2), heads, "an input");
  const BodyValue value = split_heads(body, body.input(i), x.shape(), heads);
  return x.type == ElementType::f32 ? value : body.cast(value, ElementType::f32);
}

LinearInputs linear_inputs(NodeImport& node, Expansion& body, bool decays, bool corrects) {
  if (node.input(0).rank() != 3 || node.input(2).rank() != 3)
    node.reject("expected inputs [batch, places, heads * size]");
  LinearInputs in;
  in.q_heads = node.integer("q_num_heads", 0);
  in.heads = node.integer("kv_num_heads", 0);
  in.batch = node.input(0).extent(0), in.places = node.input(0).extent(1);
  if (in.heads < 1 || in.q_heads < 1 || in.q_heads % in.heads != 0)
    node.reject(fmt::format("{} heads of queries and {} of keys", in.q_heads, in.heads));
  if (in.places < 1 || in.places > kMostSteps) {
    node.reject(fmt::format("{} places, expected 1 to {}: the recurrence is unrolled", in.places,
                            kMostSteps));
  }
  in.size = head_size(node, node.input(0).extent(2), in.q_heads, "the queries");
  in.v_size = head_size(node, node.input(2).extent(2), in.heads, "the values");
  in.q = by_head(node, body, 0, in.q_heads, in);
  in.k = by_head(node, body, 1, in.heads, in);
  in.v = by_head(node, body, 2, in.heads, in);
  if (decays) in.decay = body.add("Exp", {by_head(node, body, 4, in.heads, in)});
  if (corrects) {
    const int64_t last = node.input(5).rank() == 3 ? node.input(5).extent(2) : 0;
    in.beta = by_head(node, body, 5, last == 1 ? 1 : in.heads, in);
  }
  return in;
}

/// The past state, or zeros.
BodyValue first_state(NodeImport& node, Expansion& body, const LinearInputs& in) {
  const std::vector<int64_t> shape = {in.batch, in.heads, in.size, in.v_size};
  if (!node.has_input(3))
    return body.add("Expand", {body.number(0, kStateType), body.integers(shape)});
  const View& past = node.input(3);
  if (past.shape() != shape) {
    node.reject(fmt::format("a state [{}], expected [{}]", fmt::join(past.shape(), ","),
                            fmt::join(shape, ",")));
  }
  return past.type == kStateType ? body.input(3) : body.cast(body.input(3), kStateType);
}

/// The state after place t, in the place of the one before, and what the queries of t get from it.
BodyValue linear_step(Expansion& body, const LinearInputs& in, int64_t t, BodyValue& state) {
  const auto at = [&](const BodyValue& x) { return body.slice(x, 2, t, t + 1); };
  const BodyValue k = body.transpose(at(in.k), {0, 1, 3, 2});  // a column
  BodyValue v = at(in.v);
  if (!in.decay.empty())
    state = body.add("Mul", {state, body.transpose(at(in.decay), {0, 1, 3, 2})});
  if (!in.beta.empty()) {
    const BodyValue known = body.add("MatMul", {at(in.k), state});
    v = body.add("Mul", {at(in.beta), body.add("Sub", {v, known})});
  }
  state = body.add("Add", {state, body.add("MatMul", {k, v})});
  // Queries that share a state are rows of one product.
  const BodyValue q = body.reshape(at(in.q), {in.batch, in.heads, in.q_heads / in.heads, in.size});
  const BodyValue y = body.add("MatMul", {q, state});
  return body.reshape(y, {in.batch, 1, in.q_heads * in.v_size});
}

/// The state S after each place t, [batch, heads, size, size of values], starts with the past one:
/// S = exp(decay) * S + k (x) v, where with a correction v is beta * (v - S^T k); y = scale * S^T
/// q.
void linear_attention(NodeImport& node) {
  const std::string rule = node.text("update_rule", "gated_delta");
  const bool decays = rule == "gated" || rule == "gated_delta";
  const bool corrects = rule == "delta" || rule == "gated_delta";
  if (!decays && !corrects && rule != "linear")
    node.reject(fmt::format("update_rule '{}' is none", shown(rule)));
  if (decays != node.has_input(4) || corrects != node.has_input(5))
    node.reject(fmt::format("update_rule '{}' and the inputs do not fit", rule));
  node.ignore({"chunk_size"});  // how it may be computed
  Expansion body(node);
  const LinearInputs in = linear_inputs(node, body, decays, corrects);
  BodyValue state = first_state(node, body, in);
  std::vector<BodyValue> results;
  for (int64_t t = 0; t < in.places; ++t) results.push_back(linear_step(body, in, t, state));
  BodyValue all = body.concat(std::move(results), 1);
  float scale = node.real("scale", 0);
  if (scale == 0) scale = 1 / std::sqrt(static_cast<float>(in.size));
  if (scale != 1) all = body.add("Mul", {all, body.number(scale, kStateType)});
  const ElementType type = node.input(0).type;
  const ElementType state_type = node.has_input(3) ? node.input(3).type : type;
  body.result(0, type == kStateType ? all : body.cast(all, type));
  body.result(1, state_type == kStateType ? state : body.cast(state, state_type));
  body.finish();
}

constexpr OperatorRow kStateRows[] = {
    {"CausalConvWithState", causal_conv, "", ReadAs::body},
    {"LinearAttention", linear_attention, "more than 512 places", ReadAs::body},
};

}  // namespace

std::span<const OperatorRow> state_operators() {
  return kStateRows;
}

}  // namespace fuseflow
