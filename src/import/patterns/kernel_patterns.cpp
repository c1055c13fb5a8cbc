// Recognition of decomposed chains by their data flow.
#include "import/patterns/kernel_patterns.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>

namespace fuseflow {

namespace {

/// Who makes and who reads each value; constants are initializers and Constant nodes.
class Flow {
 public:
  explicit Flow(const OnnxModel& model) : model_(model) {
    for (size_t n = 0; n < model.nodes.size(); ++n) {
      for (const auto& name : model.nodes[n].outputs) producer_[name] = static_cast<int>(n);
      for (const auto& name : model.nodes[n].inputs) users_[name].push_back(static_cast<int>(n));
    }
    for (const auto& output : model.outputs) users_[output.name].push_back(-1);
  }

  const OnnxNode& node(int n) const { return model_.nodes[static_cast<size_t>(n)]; }
  bool is(int n, const char* op) const { return n >= 0 && node(n).op == op; }

  int producer(const std::string& name) const {
    const auto found = producer_.find(name);
    return found == producer_.end() ? -1 : found->second;
  }

  /// Input i of a node; "" if it has none (a malformed node is refused when it is converted).
  const std::string& input(int n, size_t i) const {
    static const std::string none;
    return i < node(n).inputs.size() ? node(n).inputs[i] : none;
  }

  bool constant(const std::string& name) const {
    const std::string* at = &name;
    while (is(producer(*at), "Identity")) at = &input(producer(*at), 0);
    return model_.initializers.contains(*at) || is(producer(*at), "Constant");
  }

  const std::vector<int>& users(int n) const {
    static const std::vector<int> none;
    if (node(n).outputs.empty()) return none;
    const auto found = users_.find(node(n).outputs[0]);
    return found == users_.end() ? none : found->second;
  }

  /// The only user, or -1.
  int user(int n) const { return users(n).size() == 1 ? users(n)[0] : -1; }

  /// The only user, if it is a binary `op` whose other operand is constant (or anything).
  int then(int n, const char* op, bool with_constant) const {
    const int next = user(n);
    if (!is(next, op) || node(next).inputs.size() != 2) return -1;
    const auto& in = node(next).inputs;
    const std::string& other = in[0] == node(n).outputs[0] ? in[1] : in[0];
    return !with_constant || constant(other) ? next : -1;
  }

 private:
  const OnnxModel& model_;
  std::map<std::string, int> producer_;
  std::map<std::string, std::vector<int>> users_;
};

/// Adds the scale and the bias that follow a normalisation.
void affine_tail(const Flow& flow, int last, std::set<int>& members) {
  const int scale = flow.then(last, "Mul", true);
  if (scale < 0) return;
  members.insert(scale);
  const int bias = flow.then(scale, "Add", true);
  if (bias >= 0) members.insert(bias);
}

/// Sqrt of a mean of squares plus a constant: layer and RMS normalisation.
std::set<int> normalisation(const Flow& flow, int sqrt) {
  const int add = flow.producer(flow.input(sqrt, 0));
  if (!flow.is(add, "Add") || flow.user(add) != sqrt) return {};
  int mean = -1;
  for (const auto& name : flow.node(add).inputs) {
    if (flow.is(flow.producer(name), "ReduceMean")) mean = flow.producer(name);
  }
  if (mean < 0 || flow.user(mean) != add) return {};
  const int square = flow.producer(flow.input(mean, 0));
  const bool squared = flow.is(square, "Pow") ||
                       (flow.is(square, "Mul") && flow.input(square, 0) == flow.input(square, 1));
  if (!squared || flow.user(square) != mean) return {};
  std::set<int> members = {sqrt, add, mean, square};
  const std::string& x = flow.input(square, 0);
  int last = flow.user(sqrt);
  if (flow.is(last, "Reciprocal")) {
    members.insert(last);
    last = flow.user(last);
  }
  if (!flow.is(last, "Div") && !flow.is(last, "Mul")) return {};
  const auto& in = flow.node(last).inputs;
  if (std::find(in.begin(), in.end(), x) == in.end()) return {};
  members.insert(last);
  const int centered = flow.producer(x);
  if (flow.is(centered, "Sub")) {  // layer normalisation: x less its mean
    const int first = flow.producer(flow.input(centered, 1));
    const auto& users = flow.users(centered);
    const bool inside =
        std::all_of(users.begin(), users.end(), [&](int u) { return members.contains(u); });
    if (inside && flow.is(first, "ReduceMean") && flow.user(first) == centered)
      members.insert({centered, first});
  }
  affine_tail(flow, last, members);
  return members;
}

/// x * 0.5 * (1 + f(..x..)), f being Erf or Tanh: GELU in any order of its factors.
std::set<int> gelu(const Flow& flow, int core) {
  const int add = flow.then(core, "Add", true);
  if (add < 0) return {};
  std::set<int> members = {core, add};
  // The argument: elementwise operators on x and constants.
  std::vector<int> open = {flow.producer(flow.input(core, 0))};
  while (!open.empty()) {
    const int n = open.back();
    open.pop_back();
    if (n < 0 || members.contains(n)) continue;
    const bool scalar =
        flow.is(n, "Mul") || flow.is(n, "Div") || flow.is(n, "Pow") || flow.is(n, "Add");
    if (!scalar) continue;
    const auto& users = flow.users(n);
    if (!std::all_of(users.begin(), users.end(), [&](int u) { return members.contains(u); }))
      continue;
    members.insert(n);
    for (const auto& name : flow.node(n).inputs) open.push_back(flow.producer(name));
  }
  int last = add;
  for (int step = 0; step < 2; ++step) {
    const int next = flow.then(last, "Mul", false);
    if (next < 0) break;
    members.insert(next);
    for (const auto& name : flow.node(next).inputs) {  // 0.5 * x, multiplied before
      const int factor = flow.producer(name);
      if (flow.is(factor, "Mul") && flow.user(factor) == next && !members.contains(factor)) {
        const auto& in = flow.node(factor).inputs;
        if (flow.constant(in[0]) || flow.constant(in[1])) members.insert(factor), step = 2;
      }
    }
    last = next;
  }
  return last == add ? std::set<int>{} : members;
}

/// Whether the node rounds to a type of 16 bits.
bool rounds(const OnnxNode& node) {
  constexpr int64_t kFloat16 = 10, kBfloat16 = 16;
  const auto to = node.attributes.find("to");
  return node.op == "Cast" && to != node.attributes.end() &&
         (to->second.i == kFloat16 || to->second.i == kBfloat16);
}

/// What only a rounding Cast reads is not stored before: both are one kernel.
void join_rounding(const Flow& flow, int cast, std::vector<int>& groups) {
  const int producer = flow.producer(flow.input(cast, 0));
  if (producer < 0 || flow.user(producer) != cast || flow.node(producer).outputs.size() != 1)
    return;
  const int group = groups[static_cast<size_t>(producer)];
  for (int& each : groups) {
    if (each == group) each = groups[static_cast<size_t>(cast)];
  }
}

}  // namespace

std::vector<int> find_kernels(const OnnxModel& model) {
  std::vector<int> groups(model.nodes.size());
  std::iota(groups.begin(), groups.end(), 0);
  const Flow flow(model);
  for (size_t n = 0; n < model.nodes.size(); ++n) {
    const OnnxNode& node = model.nodes[n];
    if (node.inputs.empty() || node.outputs.empty()) continue;
    std::set<int> members;
    if (node.op == "Sqrt") members = normalisation(flow, static_cast<int>(n));
    if (node.op == "Erf" || node.op == "Tanh") members = gelu(flow, static_cast<int>(n));
    const bool taken = std::any_of(members.begin(), members.end(),
                                   [&](int m) { return groups[static_cast<size_t>(m)] != m; });
    if (members.empty() || taken) continue;
    for (const int m : members) groups[static_cast<size_t>(m)] = *members.rbegin();
  }
  for (size_t n = 0; n < model.nodes.size(); ++n) {
    if (rounds(model.nodes[n])) join_rounding(flow, static_cast<int>(n), groups);
  }
  return groups;
}

}  // namespace fuseflow
