// RNN, GRU and LSTM: the nodes that they stand for, step by step over a sequence whose length is
// known. The product of the whole sequence with the weights comes first, as one node.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "import/expansion.h"
#include "import/importer.h"
#include "import/operators/registry.h"
#include "support/text.h"

namespace fuseflow {

namespace {

using Name = Expansion::Value;

/// An activation function and its parameters, in the order in which nodes list them.
struct Activation {
  std::string function;  ///< in lower case
  float alpha = 0, beta = 0;
};

/// Which parameters a function has, and their defaults (those of the operator of that name).
struct ActivationRule {
  const char* op;  ///< of ONNX; empty: see activated()
  int parameters = 0;
  float alpha = 0, beta = 0;
};

const std::map<std::string, ActivationRule>& activation_rules() {
  static const std::map<std::string, ActivationRule> rules = {
      {"affine", {"", 2, 1, 0}},
      {"elu", {"Elu", 1, 1, 0}},
      {"hardsigmoid", {"HardSigmoid", 2, 0.2F, 0.5F}},
      {"leakyrelu", {"LeakyRelu", 1, 0.01F, 0}},
      {"relu", {"Relu"}},
      {"scaledtanh", {"", 2, 1, 1}},
      {"sigmoid", {"Sigmoid"}},
      {"softplus", {"Softplus"}},
      {"softsign", {"Softsign"}},
      {"tanh", {"Tanh"}},
      {"thresholdedrelu", {"ThresholdedRelu", 1, 1, 0}},
  };
  return rules;
}

std::vector<float> real_list(const NodeImport& node, const std::string& name) {
  const OnnxAttribute* a = node.attribute(name);
  return a == nullptr ? std::vector<float>{} : a->floats;
}

/// The functions of all directions. Parameters are taken in order by the functions that have them.
std::vector<Activation> activations_of(const NodeImport& node, size_t directions,
                                       const std::vector<std::string>& defaults) {
  const OnnxAttribute* given = node.attribute("activations");
  std::vector<std::string> names;
  for (size_t d = 0; d < directions; ++d) {
    names.insert(names.end(), defaults.begin(), defaults.end());
  }
  if (given != nullptr) {
    if (given->strings.size() != names.size()) {
      node.reject(fmt::format("attribute 'activations' has {} functions, expected {}",
                              given->strings.size(), names.size()));
    }
    names = given->strings;
  }
  const std::vector<float> alphas = real_list(node, "activation_alpha");
  const std::vector<float> betas = real_list(node, "activation_beta");
  size_t alpha = 0, beta = 0;
  std::vector<Activation> result;
  for (const std::string& given_name : names) {
    const std::string name = in_lower_case(given_name);
    const auto rule = activation_rules().find(name);
    if (rule == activation_rules().end()) {
      std::vector<std::string> known;
      for (const auto& [function, r] : activation_rules()) known.push_back(function);
      node.reject(fmt::format("activation '{}' is unknown, expected one of {}", shown(name),
                              fmt::join(known, ", ")));
    }
    Activation a{name, rule->second.alpha, rule->second.beta};
    if (rule->second.parameters >= 1 && alpha < alphas.size()) a.alpha = alphas[alpha++];
    if (rule->second.parameters == 2 && beta < betas.size()) a.beta = betas[beta++];
    result.push_back(a);
  }
  return result;
}

/// A recurrent node while its body is written. Extents: steps, batch, hidden.
class Recurrence {
 public:
  Recurrence(NodeImport& node, int64_t gates, const std::vector<std::string>& functions)
      : node_(node), body_(node), gates_(gates), type_(node.input(0).type) {
    const std::string direction = node.text("direction", "forward");
    if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
      node.reject(
          fmt::format("direction '{}' is unknown, expected forward, reverse or bidirectional",
                      shown(direction)));
    }
    backwards_ = direction == "bidirectional" ? std::vector<bool>{false, true}
                                              : std::vector<bool>{direction == "reverse"};
    activations_ = activations_of(node, backwards_.size(), functions);
    batch_first_ = node.integer("layout", 0) != 0;
    node.ignore({"output_sequence"});  // opsets below 7: whether output 0 is wanted
    read_extents();
    read_lengths();
  }

  void convert() {
    x_ = body_.input(0);
    if (batch_first_) x_ = body_.transpose(x_, {1, 0, 2});
    const auto directions = static_cast<int64_t>(backwards_.size());
    std::vector<Name> sequences, states, cells;
    for (int64_t d = 0; d < directions; ++d) {
      const Result r = run(d);
      sequences.push_back(body_.reshape(r.sequence, {steps_, 1, batch_, hidden_}));
      states.push_back(body_.reshape(r.state, {1, batch_, hidden_}));
      if (!r.cell.empty()) cells.push_back(body_.reshape(r.cell, {1, batch_, hidden_}));
    }
    const Name y = body_.concat(sequences, 1);
    body_.result(0, batch_first_ ? body_.transpose(y, {2, 0, 1, 3}) : y);
    result_state(1, states);
    if (!cells.empty()) result_state(2, cells);
    body_.finish();
  }

 protected:
  ~Recurrence() = default;

  struct State {
    Name hidden, cell;  ///< [batch, hidden]; no cell: empty
  };

  /// One step: `x` is the product of the step's input with W, plus W's bias ([batch,
  /// gates*hidden]).
  virtual State step(int64_t direction, const Name& x, const State& before) = 0;
  virtual bool has_cell() const { return false; }

  /// f of the direction's functions applied to `x`, which is clipped before.
  Name activated(int64_t direction, size_t function, Name x) {
    const size_t per = activations_.size() / backwards_.size();
    const Activation& a = activations_[static_cast<size_t>(direction) * per + function];
    if (node_.has_attribute("clip")) {
      const float limit = node_.real("clip", 0);
      x = body_.add("Clip", {x, number(-limit), number(limit)});
    }
    const ActivationRule& rule = activation_rules().at(a.function);
    if (a.function == "affine") return plus(times(x, number(a.alpha)), number(a.beta));
    if (a.function == "scaledtanh")
      return times(number(a.alpha), body_.add("Tanh", {times(x, number(a.beta))}));
    Expansion::Attributes attributes;
    if (rule.parameters >= 1) attributes["alpha"] = real_attribute(a.alpha);
    if (rule.parameters == 2) attributes["beta"] = real_attribute(a.beta);
    return body_.add(rule.op, {x}, attributes);
  }

  Name plus(const Name& a, const Name& b) { return body_.add("Add", {a, b}); }
  Name times(const Name& a, const Name& b) { return body_.add("Mul", {a, b}); }
  Name number(float value) { return body_.number(value, type_); }

  /// Gate g (hidden columns) of a value of [batch, gates * hidden].
  Name gate(const Name& x, int64_t g) {
    return gates_ == 1 ? x : body_.slice(x, 1, g * hidden_, (g + 1) * hidden_);
  }

  /// Direction d of input i, whose first dimension counts directions; the rest of its shape must be
  /// `shape`. Empty if the input is absent.
  Name of_direction(int i, int64_t d, const std::vector<int64_t>& shape) {
    if (!node_.has_input(i)) return {};
    std::vector<int64_t> expected = shape;
    expected.insert(expected.begin(), static_cast<int64_t>(backwards_.size()));
    if (node_.input(i).shape() != expected) {
      node_.reject(fmt::format("input {} has shape [{}], expected [{}]", i,
                               fmt::join(node_.input(i).shape(), ","), fmt::join(expected, ",")));
    }
    return body_.reshape(body_.slice(body_.input(i), 0, d, d + 1), shape);
  }

  /// h times gates `first` to `last` of R, transposed.
  Name recurrent(int64_t d, const Name& h, int64_t first, int64_t last) {
    Name r = of_direction(2, d, {gates_ * hidden_, hidden_});
    if (last - first < gates_) r = body_.slice(r, 0, first * hidden_, last * hidden_);
    return body_.add("MatMul", {h, body_.transpose(r, {1, 0})});
  }

  /// Gates `first` to `last` of R's bias (the second half of input B); empty if there is none.
  Name recurrent_bias(int64_t d, int64_t first, int64_t last) {
    const Name b = of_direction(3, d, {2 * gates_ * hidden_});
    return b.empty() ? b : body_.slice(b, 0, (gates_ + first) * hidden_, (gates_ + last) * hidden_);
  }

  NodeImport& node_;
  Expansion body_;
  int64_t gates_, steps_ = 0, batch_ = 0, inputs_ = 0, hidden_ = 0;
  ElementType type_;
  std::vector<bool> backwards_;  ///< by direction

 private:
  struct Result {
    Name sequence, state, cell;
  };

  void read_extents() {
    const View& x = node_.input(0);
    const View& r = node_.input(2);
    if (x.rank() != 3 || r.rank() != 3)
      node_.reject("expected input X of rank 3 and weights R of rank 3");
    steps_ = x.extent(batch_first_ ? 1 : 0);
    batch_ = x.extent(batch_first_ ? 0 : 1);
    inputs_ = x.extent(2);
    hidden_ = r.extent(2);
    if (node_.integer("hidden_size", hidden_) != hidden_) {
      node_.reject(fmt::format("attribute 'hidden_size' is {}, but the weights R have {} columns",
                               node_.integer("hidden_size", 0), hidden_));
    }
    if (steps_ == 0 || batch_ == 0) node_.reject("expected a sequence of at least one element");
  }

  void read_lengths() {
    if (!node_.has_input(4)) return;
    lengths_ = node_.ints_input(4, "the lengths of the sequences");
    const bool fits = static_cast<int64_t>(lengths_.size()) == batch_ &&
                      std::all_of(lengths_.begin(), lengths_.end(),
                                  [&](int64_t n) { return n >= 0 && n <= steps_; });
    if (!fits) {
      node_.reject(fmt::format("the lengths of the sequences are [{}], expected {} from 0 to {}",
                               fmt::join(lengths_, ","), batch_, steps_));
    }
  }

  /// Which sequences have a step t.
  std::vector<int64_t> running(int64_t t) const {
    std::vector<int64_t> result;
    for (const int64_t length : lengths_) result.push_back(t < length);
    return result;
  }

  Name initial(int i, int64_t d) {
    if (!node_.has_input(i)) {
      return body_.constant(constant_values(
          std::vector<float>(static_cast<size_t>(batch_ * hidden_)), {batch_, hidden_}, type_));
    }
    const auto directions = static_cast<int64_t>(backwards_.size());
    const std::vector<int64_t> expected = batch_first_
                                              ? std::vector<int64_t>{batch_, directions, hidden_}
                                              : std::vector<int64_t>{directions, batch_, hidden_};
    if (node_.input(i).shape() != expected) {
      node_.reject(fmt::format("the first state (input {}) has shape [{}], expected [{}]", i,
                               fmt::join(node_.input(i).shape(), ","), fmt::join(expected, ",")));
    }
    return body_.reshape(body_.slice(body_.input(i), batch_first_ ? 1 : 0, d, d + 1),
                         {batch_, hidden_});
  }

  /// The products of all steps with W of the direction, with its bias: [steps, batch,
  /// gates*hidden].
  Name weighted_inputs(int64_t d) {
    const Name w = of_direction(1, d, {gates_ * hidden_, inputs_});
    const Name product = body_.add("MatMul", {x_, body_.transpose(w, {1, 0})});
    const Name b = of_direction(3, d, {2 * gates_ * hidden_});
    return b.empty() ? product : plus(product, body_.slice(b, 0, 0, gates_ * hidden_));
  }

  Result run(int64_t d) {
    const Name inputs = weighted_inputs(d);
    State state{initial(5, d), has_cell() ? initial(6, d) : Name{}};
    std::vector<Name> sequence(static_cast<size_t>(steps_));
    for (int64_t s = 0; s < steps_; ++s) {
      const int64_t t = backwards_[static_cast<size_t>(d)] ? steps_ - 1 - s : s;
      const Name x = body_.reshape(body_.slice(inputs, 0, t, t + 1), {batch_, gates_ * hidden_});
      Name& y = sequence[static_cast<size_t>(t)];
      y = guarded_step(d, t, x, state);
      y = body_.reshape(y, {1, batch_, hidden_});
    }
    return {body_.concat(sequence, 0), state.hidden, state.cell};
  }

  /// A step of the sequences that have it; the others keep their state and give 0.
  Name guarded_step(int64_t d, int64_t t, const Name& x, State& state) {
    const std::vector<int64_t> runs = running(t);
    const bool all = std::count(runs.begin(), runs.end(), 0) == 0;
    if (all) {
      state = step(d, x, state);
      return state.hidden;
    }
    const Name zero = number(0);
    const Name runs_now = body_.constant(constant_ints(runs, {batch_, 1}, ElementType::boolean));
    const State after = step(d, x, state);
    const auto chosen = [&](const Name& now, const Name& otherwise) {
      return body_.add("Where", {runs_now, now, otherwise});
    };
    state.hidden = chosen(after.hidden, state.hidden);
    if (has_cell()) state.cell = chosen(after.cell, state.cell);
    return chosen(after.hidden, zero);
  }

  void result_state(int i, const std::vector<Name>& states) {
    const Name all = body_.concat(states, 0);
    body_.result(i, batch_first_ ? body_.transpose(all, {1, 0, 2}) : all);
  }

  std::vector<Activation> activations_;
  std::vector<int64_t> lengths_;
  bool batch_first_ = false;
  Name x_;  ///< [steps, batch, inputs]
};

/// h' = f(x W + h R + b)
class Rnn final : public Recurrence {
 public:
  explicit Rnn(NodeImport& node) : Recurrence(node, 1, {"tanh"}) {}

 private:
  State step(int64_t d, const Name& x, const State& before) override {
    Name sum = plus(x, recurrent(d, before.hidden, 0, 1));
    const Name bias = recurrent_bias(d, 0, 1);
    if (!bias.empty()) sum = plus(sum, bias);
    return {activated(d, 0, sum), {}};
  }
};

/// Gates z (what is kept), r (what of the state is read), h (the new values).
class Gru final : public Recurrence {
 public:
  explicit Gru(NodeImport& node)
      : Recurrence(node, 3, {"sigmoid", "tanh"}),
        reset_after_(node.integer("linear_before_reset", 0) != 0) {}

 private:
  State step(int64_t d, const Name& x, const State& before) override {
    const Name& h = before.hidden;
    Name both = plus(body_.slice(x, 1, 0, 2 * hidden_), recurrent(d, h, 0, 2));
    const Name bias = recurrent_bias(d, 0, 2);
    if (!bias.empty()) both = plus(both, bias);
    const Name open = activated(d, 0, both);
    const Name kept = gate(open, 0);
    const Name read = gate(open, 1);
    const Name new_bias = recurrent_bias(d, 2, 3);
    Name product = recurrent(d, reset_after_ ? h : times(read, h), 2, 3);
    if (!new_bias.empty()) product = plus(product, new_bias);
    if (reset_after_) product = times(read, product);
    const Name fresh = activated(d, 1, plus(gate(x, 2), product));
    const Name rest = body_.add("Sub", {number(1), kept});
    return {plus(times(rest, fresh), times(kept, h)), {}};
  }

  bool reset_after_;
};

/// Gates i (what is taken in), o (what is shown), f (what is kept), c (the new values).
class Lstm final : public Recurrence {
 public:
  explicit Lstm(NodeImport& node)
      : Recurrence(node, 4, {"sigmoid", "tanh", "tanh"}),
        coupled_(node.integer("input_forget", 0) != 0) {}

 private:
  bool has_cell() const override { return true; }

  State step(int64_t d, const Name& x, const State& before) override {
    Name sum = plus(x, recurrent(d, before.hidden, 0, 4));
    const Name bias = recurrent_bias(d, 0, 4);
    if (!bias.empty()) sum = plus(sum, bias);
    const Name taken = activated(d, 0, peeped(d, gate(sum, 0), 0, before.cell));
    const Name kept = coupled_ ? body_.add("Sub", {number(1), taken})
                               : activated(d, 0, peeped(d, gate(sum, 2), 2, before.cell));
    const Name fresh = activated(d, 1, gate(sum, 3));
    const Name cell = plus(times(kept, before.cell), times(taken, fresh));
    const Name shown_part = activated(d, 0, peeped(d, gate(sum, 1), 1, cell));
    return {times(shown_part, activated(d, 2, cell)), cell};
  }

  /// Plus gate `g` of the peepholes (input P) times the cell.
  Name peeped(int64_t d, const Name& sum, int64_t g, const Name& cell) {
    const Name p = of_direction(7, d, {3 * hidden_});
    if (p.empty()) return sum;
    return plus(sum, times(body_.slice(p, 0, g * hidden_, (g + 1) * hidden_), cell));
  }

  bool coupled_;
};

template <typename Cell>
void recurrent_node(NodeImport& node) {
  Cell(node).convert();
}

constexpr OperatorRow kRecurrentRows[] = {
    {"GRU", recurrent_node<Gru>, "lengths of sequences that are not constant", ReadAs::body},
    {"LSTM", recurrent_node<Lstm>, "lengths of sequences that are not constant", ReadAs::body},
    {"RNN", recurrent_node<Rnn>, "lengths of sequences that are not constant", ReadAs::body},
};

}  // namespace

std::span<const OperatorRow> recurrent_operators() {
  return kRecurrentRows;
}

}  // namespace fuseflow
