// --inspect: what is in a model, before and after import.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "import/importer.h"
#include "import/operators/registry.h"
#include "import/values/constant_stats.h"
#include "support/error.h"
#include "support/json.h"
#include "support/text.h"

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
  OnnxModel model = load_onnx(path, options.follow_links);
  Inspection result{path, model.name, model.opset, {}, {}, model.inputs, model.outputs, {}, {}};
  for (const OnnxNode& node : model.nodes) {
    const std::string op = node.full_name();
    const bool known = find_operator(op) != nullptr;
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

Json json_shape(const OnnxPort& port) {
  if (!port.shape) return {};
  std::vector<Json> extents;
  for (const OnnxDim& d : *port.shape) {
    extents.push_back(d.value >= 0 ? Json(d.value) : Json(d.symbol));
  }
  return Json::array(std::move(extents));
}

Json json_port(const OnnxPort& port) {
  return Json::object(
      {{"name", port.name}, {"type", element_name(port.type)}, {"shape", json_shape(port)}});
}

Json json_tensor(const TensorLine& t) {
  return Json::object({{"name", t.name},
                       {"role", t.role},
                       {"type", t.type},
                       {"shape", Json::array({t.shape.begin(), t.shape.end()})},
                       {"format", t.format},
                       {"density", t.density ? Json(*t.density) : Json()}});
}

template <typename List, typename Print>
Json json_list(const List& list, const Print& print) {
  std::vector<Json> values;
  values.reserve(list.size());
  for (const auto& item : list) values.push_back(print(item));
  return Json::array(std::move(values));
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
  return printable(text, "\n");
}

std::string inspect_json(const std::string& path, const ImportOptions& options) {
  const Inspection in = inspect(path, options);
  const auto count = [](const auto& op) {
    return Json::object({{"operator", op.first}, {"count", op.second}});
  };
  const auto text = [](const std::string& op) { return Json(op); };
  const Json whole =
      Json::object({{"model", in.path},
                    {"name", in.name},
                    {"opset", in.opset},
                    {"operators", json_list(in.operators, count)},
                    {"unsupported", json_list(in.unsupported, text)},
                    {"inputs", json_list(in.inputs, json_port)},
                    {"outputs", json_list(in.outputs, json_port)},
                    {"tensors", json_list(in.tensors, json_tensor)},
                    {"incomplete", in.incomplete.empty() ? Json() : Json(in.incomplete)}});
  return whole.text() + "\n";
}

}  // namespace fuseflow
