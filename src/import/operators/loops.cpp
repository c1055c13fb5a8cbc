// Loop and Scan, unrolled: each iteration is the body's nodes once more, whose inputs are set to
// the values of the iteration. How often a loop runs must be known at import.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>

#include "import/importer.h"
#include "import/operators/common.h"
#include "import/operators/registry.h"

namespace fuseflow {

namespace {

std::shared_ptr<const OnnxGraph> body_of(const NodeImport& node) {
  const OnnxAttribute* body = node.attribute("body");
  if (body == nullptr || !body->graph) node.reject("the body is missing");
  return body->graph;
}

/// A value with a dimension of extent 1 more, in front of dimension `at`.
View with_dimension(View value, int at) {
  value.selection = nullptr;
  value.parts = nullptr;
  value.ranking = nullptr;
  value.dims.insert(value.dims.begin() + at, std::vector<IndexId>{});
  return value;
}

/// What a Loop or Scan without iterations collects: nothing, of the shape that its body declares.
void output_nothing(NodeImport& node, int output, const OnnxPort& declared, int64_t axis) {
  std::vector<int64_t> shape;
  bool known = declared.shape.has_value() && declared.code == 0;
  for (size_t d = 0; known && d < declared.shape->size(); ++d) {
    shape.push_back((*declared.shape)[d].value);
    known = shape.back() >= 0;
  }
  if (!known) {
    node.reject(
        fmt::format("output {} collects values of iterations, but there is none, and the "
                    "body does not declare their shape in numbers",
                    output));
  }
  shape.insert(shape.begin() + node.axis(axis, static_cast<int>(shape.size()) + 1), 0);
  node.output_constant(output, constant_values({}, std::move(shape), declared.type));
}

/// What all iterations of a Loop or Scan give for one result: stacked along a dimension. `declared`
/// says what one of them is.
void output_stacked(NodeImport& node, int output, const std::vector<View>& each, int64_t axis,
                    const OnnxPort& declared) {
  if (!node.has_output(output)) return;
  if (each.empty()) return output_nothing(node, output, declared, axis);
  std::vector<View> parts;
  const int at = node.axis(axis, each[0].rank() + 1);
  for (const View& value : each) {
    if (value.sequence) node.reject("a value of an iteration that is collected is a sequence");
    if (value.shape() != each[0].shape()) {
      node.reject(fmt::format("iterations give values of shapes [{}] and [{}], expected one shape",
                              fmt::join(each[0].shape(), ","), fmt::join(value.shape(), ",")));
    }
    parts.push_back(with_dimension(value, at));
  }
  concatenate(node, output, parts, at);
}

void output_carried(NodeImport& node, int output, const View& value) {
  if (!node.has_output(output)) return;
  if (value.sequence) return node.output_sequence(output, *value.sequence, value.type);
  node.output(output, value);
}

/// The iterations of a Loop so far.
struct LoopState {
  std::shared_ptr<const OnnxGraph> body;
  int64_t iteration = 0;
  int64_t most = 0;  ///< iterations
  bool goes_on = true;
  std::vector<View> carried;
  std::vector<std::vector<View>> collected;  ///< by result, by iteration
};

void iterate(NodeImport& node, const std::shared_ptr<LoopState>& state);

/// After the nodes of the body: takes over what they computed.
void take_iteration(NodeImport& node, const std::shared_ptr<LoopState>& state) {
  Importer& importer = node.importer();
  const auto& outputs = state->body->outputs;
  const ConstantPtr condition = importer.bound_values(importer.value(outputs[0]));
  if (!condition || condition->size() != 1) {
    node.reject(fmt::format(
        "whether the loop goes on after iteration {} depends on values that the program computes, "
        "expected a condition that is known at import; export with a fixed number of iterations",
        state->iteration));
  }
  state->goes_on = condition->as_float(0) != 0;
  const size_t carried = state->carried.size();
  for (size_t c = 0; c < carried; ++c) state->carried[c] = importer.value(outputs[1 + c]);
  for (size_t c = 0; c < state->collected.size(); ++c)
    state->collected[c].push_back(importer.value(outputs[1 + carried + c]));
  ++state->iteration;
  iterate(node, state);
}

/// Starts the next iteration, or gives the results.
void iterate(NodeImport& node, const std::shared_ptr<LoopState>& state) {
  const auto carried = static_cast<int>(state->carried.size());
  if (!state->goes_on || state->iteration >= state->most) {
    for (int c = 0; c < carried; ++c)
      output_carried(node, c, state->carried[static_cast<size_t>(c)]);
    for (size_t c = 0; c < state->collected.size(); ++c)
      output_stacked(node, carried + static_cast<int>(c), state->collected[c], 0,
                     state->body->declared[1 + static_cast<size_t>(carried) + c]);
    return;
  }
  Importer& importer = node.importer();
  const auto& inputs = state->body->inputs;
  const auto set_number = [&](const std::string& name, int64_t value, ElementType type) {
    importer.set_value(name, importer.add_constant(name, constant_ints({value}, {}, type)));
  };
  set_number(inputs[0], state->iteration, ElementType::i64);
  set_number(inputs[1], 1, ElementType::boolean);
  for (int c = 0; c < carried; ++c) {
    importer.set_value(inputs[static_cast<size_t>(2 + c)], state->carried[static_cast<size_t>(c)]);
  }
  importer.go_on_with(*state->body, node.onnx(),
                      [state](NodeImport& later) { take_iteration(later, state); });
}

void loop(NodeImport& node) {
  auto state = std::make_shared<LoopState>();
  state->body = body_of(node);
  state->most = std::numeric_limits<int64_t>::max();
  const auto single = [&](int i, const char* role) {
    const ConstantPtr data = node.deciding_input(i, role, "how often the body runs");
    if (data->size() != 1) node.reject(fmt::format("{} (input {}) is no single value", role, i));
    return data->as_int(0);
  };
  if (node.has_input(0)) state->most = single(0, "the number of iterations");
  if (node.has_input(1)) state->goes_on = single(1, "the first condition") != 0;
  for (int i = 2; i < node.input_count(); ++i) state->carried.push_back(node.any_input(i));
  const size_t carried = state->carried.size();
  const auto outputs = static_cast<size_t>(node.output_count());
  const OnnxGraph& body = *state->body;
  if (body.inputs.size() != 2 + carried || body.outputs.size() < 1 + carried ||
      outputs > body.outputs.size() - 1) {
    node.reject(
        fmt::format("a body of {} inputs and {} outputs does not fit {} carried values and {} "
                    "results, expected {} inputs and at least {} outputs",
                    body.inputs.size(), body.outputs.size(), carried, outputs, 2 + carried,
                    1 + std::max(carried, outputs)));
  }
  state->collected.resize(body.outputs.size() - 1 - carried);
  iterate(node, state);
}

/// A Scan: its states, and what it goes along.
struct ScanState {
  std::shared_ptr<const OnnxGraph> body;
  int64_t step = 0;
  int64_t steps = 0;
  std::vector<View> states;
  std::vector<View> inputs;
  std::vector<int> axes;                     ///< by input
  std::vector<bool> input_backwards;         ///< by input
  std::vector<int64_t> output_axes;          ///< by collected result
  std::vector<bool> output_backwards;        ///< by collected result
  std::vector<std::vector<View>> collected;  ///< by result, by step
  bool batched = false;                      ///< opset 8: a batch of one around everything
};

View element(NodeImport& node, const View& value, int axis, int64_t place) {
  View slice = node.sliced(value, axis, place, 1, 1);
  std::vector<int64_t> shape = slice.shape();
  shape.erase(shape.begin() + axis);
  return node.reshaped(slice, shape);
}

void scan_results(NodeImport& node, ScanState& scan) {
  const auto states = static_cast<int>(scan.states.size());
  for (int s = 0; s < states; ++s) {
    const View& state = scan.states[static_cast<size_t>(s)];
    output_carried(node, s, scan.batched ? with_dimension(state, 0) : state);
  }
  for (size_t c = 0; c < scan.collected.size(); ++c) {
    std::vector<View>& each = scan.collected[c];
    if (scan.output_backwards[c]) std::reverse(each.begin(), each.end());
    const int output = states + static_cast<int>(c);
    output_stacked(node, output, each, scan.output_axes[c],
                   scan.body->declared[static_cast<size_t>(output)]);
    if (scan.batched && node.has_output(output)) {
      node.output(output, with_dimension(node.importer().value(node.output_name(output)), 0));
    }
  }
}

void scan_step(NodeImport& node, const std::shared_ptr<ScanState>& scan) {
  if (scan->step == scan->steps) return scan_results(node, *scan);
  Importer& importer = node.importer();
  const auto& names = scan->body->inputs;
  const size_t states = scan->states.size();
  for (size_t s = 0; s < states; ++s) importer.set_value(names[s], scan->states[s]);
  for (size_t i = 0; i < scan->inputs.size(); ++i) {
    const int64_t place = scan->input_backwards[i] ? scan->steps - 1 - scan->step : scan->step;
    importer.set_value(names[states + i], element(node, scan->inputs[i], scan->axes[i], place));
  }
  importer.go_on_with(*scan->body, node.onnx(), [scan](NodeImport& later) {
    const auto& outputs = scan->body->outputs;
    const size_t carried = scan->states.size();
    for (size_t s = 0; s < carried; ++s) scan->states[s] = later.importer().value(outputs[s]);
    for (size_t c = 0; c < scan->collected.size(); ++c)
      scan->collected[c].push_back(later.importer().value(outputs[carried + c]));
    ++scan->step;
    scan_step(later, scan);
  });
}

/// A list attribute with one entry for each of `count` inputs or outputs; 0s if it is absent.
std::vector<int64_t> list_for(const NodeImport& node, const char* name, size_t count) {
  const std::vector<int64_t> given = node.integers(name);
  if (given.empty()) return std::vector<int64_t>(count, 0);
  if (given.size() != count)
    node.reject(
        fmt::format("attribute '{}' has {} entries, expected {}", name, given.size(), count));
  return given;
}

std::vector<bool> backwards(const NodeImport& node, const char* name, size_t count) {
  std::vector<bool> result;
  for (const int64_t direction : list_for(node, name, count)) result.push_back(direction != 0);
  return result;
}

/// Checks the body against the node, and reads where the scan goes along.
void read_scan(NodeImport& node, ScanState& scan) {
  const size_t states = scan.states.size();
  const OnnxGraph& body = *scan.body;
  if (body.inputs.size() != states + scan.inputs.size() || body.outputs.size() < states ||
      static_cast<size_t>(node.output_count()) > body.outputs.size()) {
    node.reject(fmt::format(
        "a body of {} inputs and {} outputs does not fit {} states, {} scanned inputs "
        "and {} results",
        body.inputs.size(), body.outputs.size(), states, scan.inputs.size(), node.output_count()));
  }
  const size_t results = body.outputs.size() - states;
  scan.collected.resize(results);
  scan.input_backwards =
      backwards(node, scan.batched ? "directions" : "scan_input_directions", scan.inputs.size());
  scan.output_backwards = scan.batched ? std::vector<bool>(results, false)
                                       : backwards(node, "scan_output_directions", results);
  scan.output_axes =
      scan.batched ? std::vector<int64_t>(results, 0) : list_for(node, "scan_output_axes", results);
  const auto axes = scan.batched ? std::vector<int64_t>(scan.inputs.size(), 0)
                                 : list_for(node, "scan_input_axes", scan.inputs.size());
  for (size_t i = 0; i < scan.inputs.size(); ++i) {
    const View& input = scan.inputs[i];
    scan.axes.push_back(node.axis(axes[i], input.rank()));
    const int64_t extent = input.extent(scan.axes[i]);
    if (i > 0 && extent != scan.steps) {
      node.reject(fmt::format("scanned inputs have {} and {} elements, expected the same number",
                              scan.steps, extent));
    }
    scan.steps = extent;
  }
}

void scan_node(NodeImport& node) {
  auto scan = std::make_shared<ScanState>();
  scan->body = body_of(node);
  scan->batched = node.opset() < 9;
  const int first = scan->batched ? 1 : 0;
  if (first == 1 && node.has_input(0)) node.reject("lengths of sequences are not supported");
  const int64_t scanned = node.integer("num_scan_inputs", 0);
  const int64_t states = node.input_count() - first - scanned;
  if (scanned < 1 || states < 0) {
    node.reject(fmt::format("attribute 'num_scan_inputs' is {}, expected 1 to {}", scanned,
                            node.input_count() - first));
  }
  for (int i = first; i < node.input_count(); ++i) {
    View value = node.input(i);
    if (scan->batched) {
      if (value.rank() == 0 || value.extent(0) != 1) {
        node.reject(
            fmt::format("input {} has shape [{}], expected a batch of one in front in opset 8", i,
                        fmt::join(value.shape(), ",")));
      }
      value = element(node, value, 0, 0);
    }
    (i - first < states ? scan->states : scan->inputs).push_back(std::move(value));
  }
  read_scan(node, *scan);
  scan_step(node, scan);
}

/// The elements of sequences, one after another, through a body.
struct MapState {
  std::shared_ptr<const OnnxGraph> body;
  size_t place = 0;
  std::vector<View> inputs;  ///< sequences, or tensors that all elements share
  size_t length = 0;
  std::vector<std::vector<View>> results;
};

void map_step(NodeImport& node, const std::shared_ptr<MapState>& map) {
  Importer& importer = node.importer();
  if (map->place == map->length) {
    for (size_t r = 0; r < map->results.size(); ++r) {
      const auto& tensors = map->results[r];
      const ElementType type = tensors.empty() ? map->inputs[0].type : tensors[0].type;
      if (node.has_output(static_cast<int>(r)))
        node.output_sequence(static_cast<int>(r), tensors, type);
    }
    return;
  }
  for (size_t i = 0; i < map->inputs.size(); ++i) {
    const View& input = map->inputs[i];
    importer.set_value(map->body->inputs[i],
                       input.sequence ? (*input.sequence)[map->place] : input);
  }
  importer.go_on_with(*map->body, node.onnx(), [map](NodeImport& later) {
    for (size_t r = 0; r < map->results.size(); ++r)
      map->results[r].push_back(later.importer().value(map->body->outputs[r]));
    ++map->place;
    map_step(later, map);
  });
}

void sequence_map(NodeImport& node) {
  auto map = std::make_shared<MapState>();
  map->body = body_of(node);
  map->length = node.sequence_input(0).size();
  for (int i = 0; i < node.input_count(); ++i) {
    map->inputs.push_back(node.any_input(i));
    const View& input = map->inputs.back();
    if (input.sequence && input.sequence->size() != map->length) {
      node.reject(fmt::format("sequences of {} and {} tensors, expected the same number",
                              map->length, input.sequence->size()));
    }
  }
  if (map->body->inputs.size() != map->inputs.size() ||
      map->body->outputs.size() != static_cast<size_t>(node.output_count())) {
    node.reject("the body has another number of inputs or outputs than the node");
  }
  map->results.resize(map->body->outputs.size());
  map_step(node, map);
}

constexpr OperatorRow kLoopRows[] = {
    {"Loop", loop,
     "a number of iterations that is not known at import; what none collect, if its shape is not "
     "declared",
     ReadAs::body},
    {"Scan", scan_node,
     "opset 8: batches of more than one, lengths of sequences; what no steps collect, if its shape "
     "is not declared",
     ReadAs::body},
    {"SequenceMap", sequence_map, "", ReadAs::body},
};

}  // namespace

std::span<const OperatorRow> loop_operators() {
  return kLoopRows;
}

}  // namespace fuseflow
