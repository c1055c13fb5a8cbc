// --inspect: what is in a model, before and after import.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "import/importer.h"
#include "import/operators/registry.h"
#include "support/error.h"

namespace fuseflow {

namespace {

struct TensorLine {
  std::string name, role, type, format;
  std::vector<int64_t> shape;
  std::optional<double> density;
};

struct Inspection {
  std::string path, name;
  int opset = 0;
  std::map<std::string, int> operators;
  std::vector<std::string> unsupported;
  std::vector<OnnxPort> inputs, outputs;
  std::vector<TensorLine> tensors;
  std::string incomplete;  ///< why the program could not be made
};

double density_of(const ConstantTensor& data, float fill) {
  if (data.size() == 0) return 1;
  int64_t present = 0;
  for (int64_t i = 0; i < data.size(); ++i) present += data.as_float(i) != fill;
  return static_cast<double>(present) / static_cast<double>(data.size());
}

const char* role_text(Role role) {
  switch (role) {
    case Role::input:
      return "input";
    case Role::constant:
      return "constant";
    case Role::result:
      return "result";
    default:
      return "temporary";
  }
}

TensorLine line_of(const Tensor& tensor, const Importer& importer) {
  TensorLine line{tensor.name,
                  role_text(tensor.role),
                  std::string(element_name(tensor.type)),
                  to_string(tensor.format),
                  {},
                  {}};
  for (const Extent& e : tensor.shape) line.shape.push_back(e.value);
  line.density = importer.density(tensor.name, tensor.fill);
  return line;
}

Inspection inspect(const std::string& path, const ImportOptions& options) {
  OnnxModel model = load_onnx(path);
  Inspection result{path, model.name, model.opset, {}, {}, model.inputs, model.outputs, {}, {}};
  for (const OnnxNode& node : model.nodes) {
    const std::string op = node.domain.empty() ? node.op : node.domain + "." + node.op;
    const bool known = node.domain.empty() && find_operator(node.op) != nullptr;
    if (++result.operators[op] == 1 && !known) result.unsupported.push_back(op);
  }
  const auto initializers = model.initializers;
  try {
    Importer importer(std::move(model), options);
    const Program program = importer.run();
    for (const Tensor& tensor : program.tensors)
      result.tensors.push_back(line_of(tensor, importer));
  } catch (const Error& error) {
    if (error.code() != ExitCode::rejected) throw;
    result.incomplete = error.what();
    for (const auto& [name, data] : initializers) {
      result.tensors.push_back({name, "constant", std::string(element_name(data->type)), "",
                                data->shape, density_of(*data, 0)});
    }
  }
  return result;
}

std::string shape_text(const OnnxPort& port) {
  if (!port.shape) return "of unknown rank";
  std::vector<std::string> extents;
  for (const OnnxDim& d : *port.shape)
    extents.push_back(d.value >= 0 ? std::to_string(d.value) : d.symbol.empty() ? "?" : d.symbol);
  return fmt::format("[{}]", fmt::join(extents, ","));
}

std::string json_string(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      result += fmt::format("\\{}", c);
    else if (static_cast<unsigned char>(c) < 0x20)
      result += fmt::format("\\u{:04x}", static_cast<int>(c));
    else
      result += c;
  }
  return result + '"';
}

std::string json_port(const OnnxPort& port) {
  std::string shape = "null";
  if (port.shape) {
    std::vector<std::string> extents;
    for (const OnnxDim& d : *port.shape)
      extents.push_back(d.value >= 0 ? std::to_string(d.value) : json_string(d.symbol));
    shape = fmt::format("[{}]", fmt::join(extents, ","));
  }
  return fmt::format("{{\"name\": {}, \"type\": \"{}\", \"shape\": {}}}", json_string(port.name),
                     element_name(port.type), shape);
}

template <typename List, typename Print>
std::string json_list(const List& list, const Print& print) {
  std::vector<std::string> parts;
  for (const auto& item : list) parts.push_back("    " + print(item));
  return parts.empty() ? "[]" : fmt::format("[\n{}\n  ]", fmt::join(parts, ",\n"));
}

std::string json_tensor(const TensorLine& t) {
  return fmt::format(
      R"({{"name": {}, "role": "{}", "type": "{}", "shape": [{}], "format": {}, "density": {}}})",
      json_string(t.name), t.role, t.type, fmt::join(t.shape, ","), json_string(t.format),
      t.density ? fmt::format("{:.6g}", *t.density) : "null");
}

}  // namespace

std::string inspect_text(const std::string& path, const ImportOptions& options) {
  const Inspection in = inspect(path, options);
  std::string text =
      fmt::format("model {} \"{}\", opset {}\n\noperators\n", in.path, in.name, in.opset);
  for (const auto& [op, count] : in.operators) text += fmt::format("  {:6} {}\n", count, op);
  for (const std::string& op : in.unsupported) text += fmt::format("  not supported: {}\n", op);
  text += "\ninputs\n";
  for (const OnnxPort& p : in.inputs)
    text += fmt::format("  {} {} {}\n", p.name, element_name(p.type), shape_text(p));
  text += "\noutputs\n";
  for (const OnnxPort& p : in.outputs)
    text += fmt::format("  {} {} {}\n", p.name, element_name(p.type), shape_text(p));
  text += in.incomplete.empty() ? "\ntensors\n"
                                : "\nconstants (no program yet: " + in.incomplete + ")\n";
  for (const TensorLine& t : in.tensors) {
    const std::string density = t.density ? fmt::format(" density {:.4g}", *t.density) : "";
    text += fmt::format("  {:9} {} {}[{}] {}{}\n", t.role, t.name, t.type, fmt::join(t.shape, ","),
                        t.format, density);
  }
  return text;
}

std::string inspect_json(const std::string& path, const ImportOptions& options) {
  const Inspection in = inspect(path, options);
  const auto count = [](const auto& op) {
    return fmt::format("{{\"operator\": {}, \"count\": {}}}", json_string(op.first), op.second);
  };
  return fmt::format(
      "{{\n  \"model\": {},\n  \"name\": {},\n  \"opset\": {},\n  \"operators\": {},\n"
      "  \"unsupported\": {},\n  \"inputs\": {},\n  \"outputs\": {},\n  \"tensors\": {},\n"
      "  \"incomplete\": {}\n}}\n",
      json_string(in.path), json_string(in.name), in.opset, json_list(in.operators, count),
      json_list(in.unsupported, json_string), json_list(in.inputs, json_port),
      json_list(in.outputs, json_port), json_list(in.tensors, json_tensor),
      in.incomplete.empty() ? "null" : json_string(in.incomplete));
}

}  // namespace fuseflow
