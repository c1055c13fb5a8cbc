// Loops, scans, sequences and recurrent operators: what they give when they are unrolled, and what
// is refused. Results are worked out by hand; those of LSTM, GRU and RNN by the equations of ONNX's
// text.
#include <gtest/gtest.h>

#include <cmath>

#include "import_program.h"

namespace fuseflow {
namespace {

using Floats = std::vector<float>;

Floats values_of(const std::string& graph, const std::string& x = "values(1, 2, 3, 4, 5, 6)") {
  const onnx::ModelProto model = onnx_of("<ir_version: 10, opset_import: [\"\" : 18]> g " + graph);
  ImportOptions options;
  options.bindings["x"] = parse_binding(x);
  return result_of(import_by_file(model, options));
}

void expect_fault(const std::string& graph, const std::string& part) {
  try {
    values_of(graph);
    ADD_FAILURE() << "was accepted";
  } catch (const Error& error) {
    const std::string why = error.what();
    EXPECT_NE(why.find(part), std::string::npos) << "'" << why << "' has no '" << part << "'";
  }
}

void expect_near(const Floats& actual, const Floats& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-5) << i;
}

TEST(ImportLoop, RunsAsOftenAsItSays) {
  const std::string body =
      "<body = b (int64 i, bool c, float[2,3] a) => (bool d, float[2,3] e, float[2,3] f) "
      "{ d = Identity(c) e = Add(a, x) f = Neg(a) }>";
  const std::string start = "(float[2,3] x) => (float[2,3] y) <int64 n = {3}> { ";
  EXPECT_EQ(values_of(start + "y, s = Loop" + body + "(n, \"\", x) }"),
            (Floats{4, 8, 12, 16, 20, 24}));
  EXPECT_EQ(values_of("(float[2,3] x) => (float[3,2,3] y) <int64 n = {3}> { z, y = Loop" + body +
                      "(n, \"\", x) }"),
            (Floats{-1, -2, -3, -4, -5, -6, -2, -4, -6, -8, -10, -12, -3, -6, -9, -12, -15, -18}));
  EXPECT_EQ(values_of("(float[2,3] x) => (float[2,3] y) <int64 n = {0}> { y = Loop" + body +
                      "(n, \"\", x) }"),
            (Floats{1, 2, 3, 4, 5, 6}));
}

/// Nothing is collected: an empty tensor, where the body says of what shape; else refused, if
/// something reads it.
TEST(ImportLoop, WithoutIterationsCollectsNothing) {
  const auto loop = [](const std::string& shape) {
    return "Loop<body = b (int64 i, bool c, float[2,3] a) => (bool d, float[2,3] e, float" + shape +
           " f) { d = Identity(c) e = Add(a, x) f = Neg(a) }>(n, \"\", x)";
  };
  const std::string none = "(float[2,3] x) => (float y) <int64 n = {0}, int64[1] one = {1}> { ";
  for (const std::string shape : {"[2,3]", "[N,3]"})
    EXPECT_EQ(values_of(none + "y, unread = " + loop(shape) + " }"), (Floats{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(values_of(none + "z, f = " + loop("[2,3]") + " y = Concat<axis = 0>(f, f) }"),
            Floats{});
  EXPECT_EQ(values_of(none + "z, f = " + loop("[2,3]") + " s = Shape(f) y = Cast<to = 1>(s) }"),
            (Floats{0, 2, 3}));
  expect_fault(none + "z, f = " + loop("[N,3]") + " y = Relu(f) }",
               "the body does not declare their shape in numbers");
}

TEST(ImportLoop, UntilItsConditionFails) {
  // i < 2 of the iteration's number, a branch of each iteration, and a value from outside.
  EXPECT_EQ(
      values_of("(float[2,3] x) => (float[2,3] y) <int64 two = {2}, int64 one = {1}> { "
                "t = Constant<value_float = 10.0>() "
                "y = Loop<body = b (int64 i, bool c, float[2,3] a) => (bool d, float[2,3] e) { "
                "d = Less(i, two) odd = Equal(i, one) "
                "e = If<then_branch = p () => (float[2,3] q) { q = Mul(a, t) }, "
                "else_branch = r () => (float[2,3] q) { q = Add(a, x) }>(odd) }>(\"\", \"\", x) }"),
      (Floats{21, 42, 63, 84, 105, 126}));  // x + x, * 10, + x
}

TEST(ImportLoop, Refused) {
  const auto loop = [](const std::string& n, const std::string& condition) {
    return "(float[2,3] x) => (float[2,3] y) <int64 n = {" + n +
           "}> { y = Loop<body = b (int64 i, bool c, float[2,3] a) => (bool d, float[2,3] e) "
           "{ e = Add(a, x) " +
           condition + " }>(n, \"\", x) }";
  };
  expect_fault(loop("3", "m = ReduceMax<keepdims = 0>(e) d = Cast<to = 9>(m)"),
               "goes on after iteration 0 depends on values that the program computes");
  expect_fault(loop("1099511627776", "d = Identity(c)"), "too many nodes");
  expect_fault(
      "(float[2,3] x) => (float[2,3] y) { m = ReduceMax<keepdims = 0>(x) "
      "n = Cast<to = 7>(m) y = Loop<body = b (int64 i, bool c, float[2,3] a) => "
      "(bool d, float[2,3] e) { d = Identity(c) e = Identity(a) }>(n, \"\", x) }",
      "the number of iterations");
}

TEST(ImportScan, GoesAlongAnAxis) {
  const std::string body =
      "body = b (float[2] s, float[2] v) => (float[2] t, float[2] o) { t = Add(s, v) "
      "o = Identity(t) }, num_scan_inputs = 1, ";
  const std::string start = "(float[2,3] x) => ";
  const std::string rest = " <float[2] z = {0, 0}> { ";
  EXPECT_EQ(values_of(start + "(float[3,2] y)" + rest + "f, y = Scan<" + body +
                      "scan_input_axes = [1]>(z, x) }"),
            (Floats{1, 4, 3, 9, 6, 15}));
  EXPECT_EQ(values_of(start + "(float[2,3] y)" + rest + "f, y = Scan<" + body +
                      "scan_input_axes = [1], scan_input_directions = [1], "
                      "scan_output_axes = [1], scan_output_directions = [1]>(z, x) }"),
            (Floats{6, 5, 3, 15, 11, 6}));
  EXPECT_EQ(values_of(start + "(float[2] y)" + rest + "y, o = Scan<" + body +
                      "scan_input_axes = [-1]>(z, x) }"),
            (Floats{6, 15}));
}

/// Elements of a dimension that is two of x are taken apart before the body reads them.
TEST(ImportScan, GoesAlongAFlattenedDimension) {
  EXPECT_EQ(values_of("(float[2,3] x) => (float[6,1] y) <float[1] z = {0}, int64[2] to = {6, 1}> { "
                      "turned = Transpose(x) flat = Reshape(turned, to) f, y = Scan<body = b "
                      "(float[1] s, float[1] v) => (float[1] t, float[1] o) { t = Add(s, v) "
                      "o = Identity(t) }, num_scan_inputs = 1>(z, flat) }"),
            (Floats{1, 5, 7, 12, 15, 21}));  // sums of 1, 4, 2, 5, 3, 6
}

TEST(ImportSequences, AreListsOfValues) {
  const std::string split =
      "(float[2,3] x) => (float y) <int64 one = {1}, int64 last = {-1}> { "
      "q = SplitToSequence<axis = 1, keepdims = 0>(x) ";
  EXPECT_EQ(values_of(split + "y = SequenceAt(q, one) }"), (Floats{2, 5}));
  EXPECT_EQ(values_of(split + "r = SequenceErase(q, one) y = SequenceAt(r, last) }"),
            (Floats{3, 6}));
  // Before the last one, as a list of Python has it; without a place after it.
  EXPECT_EQ(values_of(split + "s = SequenceAt(q, one) m = Neg(s) r = SequenceInsert(q, m, last) "
                              "y = ConcatFromSequence<axis = 0, new_axis = 1>(r) }"),
            (Floats{1, 4, 2, 5, -2, -5, 3, 6}));
  EXPECT_EQ(values_of(split + "y = ConcatFromSequence<axis = 0, new_axis = 1>(q) }"),
            (Floats{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(values_of(split + "n = SequenceLength(q) f = Cast<to = 1>(n) y = Mul(x, f) }"),
            (Floats{3, 6, 9, 12, 15, 18}));
  // A sequence that a loop fills.
  EXPECT_EQ(
      values_of("(float[2,3] x) => (float y) <int64 n = {2}> { q = SequenceEmpty() "
                "r = Loop<body = b (int64 i, bool c, float s) => (bool d, float t) { "
                "d = Identity(c) f = Cast<to = 1>(i) a = Add(x, f) t = SequenceInsert(s, a) }>"
                "(n, \"\", q) y = ConcatFromSequence<axis = 1>(r) }"),
      (Floats{1, 2, 3, 2, 3, 4, 4, 5, 6, 5, 6, 7}));
  EXPECT_EQ(values_of(split + "m = SequenceMap<body = b (float v) => (float w) { w = Neg(v) }>(q) "
                              "y = SequenceAt(m, one) }"),
            (Floats{-2, -5}));
  expect_fault(split + "y = Relu(q) }", "input 0 is a sequence, expected a tensor");
  expect_fault(split + "y = Identity(q) }", "is a sequence, expected a tensor");
  expect_fault(split + "y = SequenceAt(x, one) }", "input 0 is a tensor, expected a sequence");
}

double sigmoid(double v) {
  return 1 / (1 + std::exp(-v));
}

/// Two steps of one input, one unit: x = 0.5 and -1 (x: [2, 1, 1]).
const std::string kSteps = "values(0.5, -1)";

TEST(ImportRecurrent, Rnn) {
  const std::string weights =
      "(float[2,1,1] x) => (float y) <float[1,1,1] w = {2}, float[1,1,1] r = {3}, "
      "float[1,2] b = {0.25, 0.5}, float[1,1,1] h = {0.125}> { ";
  const double first = std::tanh(0.5 * 2 + 0.125 * 3 + 0.75);
  const double second = std::tanh(-1.0 * 2 + first * 3 + 0.75);
  const Floats expected = {static_cast<float>(first), static_cast<float>(second)};
  expect_near(values_of(weights + "y, e = RNN(x, w, r, b, \"\", h) }", kSteps), expected);
  expect_near(values_of(weights + "z, y = RNN(x, w, r, b, \"\", h) }", kSteps), {expected[1]});
  const double from_end = std::tanh(-1.0 * 2 + 0.125 * 3 + 0.75);
  const double to_front = std::tanh(0.5 * 2 + from_end * 3 + 0.75);
  expect_near(
      values_of(weights + "y, e = RNN<direction = \"reverse\">(x, w, r, b, \"\", h) }", kSteps),
      {static_cast<float>(to_front), static_cast<float>(from_end)});
  const auto affine = [](double v) { return 0.5 * v + 0.25; };
  expect_near(
      values_of(weights + "y, e = RNN<activations = [\"Affine\"], activation_alpha = [0.5], "
                          "activation_beta = [0.25]>(x, w, r) }",
                kSteps),
      {static_cast<float>(affine(1)), static_cast<float>(affine(-2 + 3 * affine(1)))});
}

TEST(ImportRecurrent, GruResetsBeforeOrAfterTheProduct) {
  const std::string weights =
      "(float[2,1,1] x) => (float y) <float[1,3,1] w = {1, 2, 3}, float[1,3,1] r = {4, 5, 6}, "
      "float[1,6] b = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6}> { ";
  const auto step = [](double x, double h, bool after) {
    const double z = sigmoid(x * 1 + h * 4 + 0.5);
    const double r = sigmoid(x * 2 + h * 5 + 0.7);
    const double product = after ? r * (h * 6 + 0.6) : (r * h) * 6 + 0.6;
    return (1 - z) * std::tanh(x * 3 + product + 0.3) + z * h;
  };
  for (const bool after : {false, true}) {
    const double first = step(0.5, 0, after);
    const std::string name = after ? "GRU<linear_before_reset = 1>" : "GRU";
    expect_near(values_of(weights + "y, e = " + name + "(x, w, r, b) }", kSteps),
                {static_cast<float>(first), static_cast<float>(step(-1, first, after))});
  }
}

struct LstmState {
  double hidden = 0, cell = 0;
};

LstmState lstm_step(double x, LstmState before, const std::vector<double>& peepholes) {
  const double h = before.hidden;
  const double i = sigmoid(x * 1 + h * 5 + 0.1 + peepholes[0] * before.cell);
  const double f = sigmoid(x * 3 + h * 7 + 0.3 + peepholes[2] * before.cell);
  const double c = f * before.cell + i * std::tanh(x * 4 + h * 8 + 0.4);
  const double o = sigmoid(x * 2 + h * 6 + 0.2 + peepholes[1] * c);
  return {o * std::tanh(c), c};
}

TEST(ImportRecurrent, Lstm) {
  const std::string weights =
      "(float[2,1,1] x) => (float y) <float[1,4,1] w = {1, 2, 3, 4}, "
      "float[1,4,1] r = {5, 6, 7, 8}, float[1,8] b = {0.1, 0.2, 0.3, 0.4, 0, 0, 0, 0}, "
      "float[1,3] p = {0.5, 0.25, -0.5}, int32[1] one = {1}> { ";
  const LstmState first = lstm_step(0.5, {}, {0, 0, 0});
  const LstmState second = lstm_step(-1, first, {0, 0, 0});
  const auto f32 = [](double v) { return static_cast<float>(v); };
  expect_near(values_of(weights + "y, h, c = LSTM(x, w, r, b) }", kSteps),
              {f32(first.hidden), f32(second.hidden)});
  expect_near(values_of(weights + "h, g, y = LSTM(x, w, r, b) }", kSteps), {f32(second.cell)});
  // A sequence that ends after its first step: 0 behind it, and its state stays.
  expect_near(values_of(weights + "y, h, c = LSTM(x, w, r, b, one) }", kSteps),
              {f32(first.hidden), 0});
  expect_near(values_of(weights + "h, g, y = LSTM(x, w, r, b, one) }", kSteps), {f32(first.cell)});
  const LstmState peeped = lstm_step(-1, lstm_step(0.5, {}, {0.5, 0.25, -0.5}), {0.5, 0.25, -0.5});
  expect_near(values_of(weights + "h, y, c = LSTM(x, w, r, b, \"\", \"\", \"\", p) }", kSteps),
              {f32(peeped.hidden)});
}

TEST(ImportRecurrent, Refused) {
  const std::string weights =
      "(float[2,3] x) => (float y) <float[1,1,1] w = {2}> { "
      "s = Constant<value_ints = [6, 1, 1]>() t = Reshape(x, s) ";
  expect_fault(weights + "y = RNN<activations = [\"Sine\"]>(t, w, w) }",
               "activation 'sine' is unknown, expected one of affine");
  expect_fault(weights + "y = RNN<direction = \"both\">(t, w, w) }", "direction 'both' is unknown");
  expect_fault(weights + "y = RNN<hidden_size = 2>(t, w, w) }", "'hidden_size' is 2");
  expect_fault(weights + "y = LSTM(t, w, w) }", "input 1 has shape [1,1,1], expected [1,4,1]");
}

}  // namespace
}  // namespace fuseflow
