// The walk over a function's operations: data bound, statements made, results named.
#include "linalg/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "import/importer.h"
#include "linalg/blocks.h"
#include "linalg/grouping.h"
#include "linalg/live.h"
#include "linalg/movement.h"
#include "linalg/structured.h"

namespace fuseflow {

namespace {

/// One number everywhere, as a value.
View uniform_view(const LinalgValue& value, float number) {
  View view = scalar_view(number, value.type);
  expand(view, value.shape);
  return view;
}

OnnxPort port_of(const std::string& name, const LinalgValue& value) {
  OnnxPort port{name, value.type, std::vector<OnnxDim>{}};
  for (const int64_t extent : value.shape) port.shape->push_back({extent, ""});
  return port;
}

std::string result_name(size_t r) {
  return fmt::format("result{}", r);
}

/// Names of inputs and constants by value: no two are equal.
std::map<LinalgId, std::string> data_names(const LinalgFunction& f) {
  const std::vector<bool> live = live_values(f);
  std::map<LinalgId, std::string> names;
  std::set<std::string> taken;
  for (const LinalgOp& op : f.ops) {
    if (op.kind != LinalgOp::Kind::argument && op.kind != LinalgOp::Kind::constant) continue;
    const LinalgId id = op.results[0];
    if (!live[static_cast<size_t>(id)]) continue;
    const std::string& wanted = f.values[static_cast<size_t>(id)].name;
    std::string name = wanted.empty() ? "cst" : wanted;
    for (int n = 1; !taken.insert(name).second; ++n) name = fmt::format("{}.{}", wanted, n);
    names[id] = name;
  }
  return names;
}

class Conversion {
 public:
  Conversion(const LinalgFunction& f, ImportOptions options)
      : f_(f), options_(std::move(options)), live_(live_values(f)), names_(data_names(f)) {}

  Program run(const std::string& path);

 private:
  OnnxModel ports(const std::string& path);
  void make(Importer& importer);
  void convert(LinalgValues& values, const LinalgOp& op, int group);
  void finish(Program& program) const;

  const LinalgFunction& f_;
  ImportOptions options_;
  std::vector<bool> live_;
  std::map<LinalgId, std::string> names_;
};

OnnxModel Conversion::ports(const std::string& path) {
  OnnxModel model;
  model.path = path;
  model.name = f_.name;
  for (const auto& [id, name] : names_) {
    const LinalgValue& value = f_.values[static_cast<size_t>(id)];
    model.inputs.push_back(port_of(name, value));
    if (value.format) options_.formats.emplace(name, to_string(*value.format));
  }
  for (size_t r = 0; r < f_.returned.size(); ++r)
    model.outputs.push_back(
        port_of(result_name(r), f_.values[static_cast<size_t>(f_.returned[r])]));
  return model;
}

void Conversion::convert(LinalgValues& values, const LinalgOp& op, int group) {
  for (size_t r = 0; r < op.results.size(); ++r) {
    const auto id = static_cast<size_t>(op.results[r]);
    if (!live_[id] || values.views[id]) continue;
    switch (op.kind) {
      case LinalgOp::Kind::argument:
      case LinalgOp::Kind::constant:
        values.views[id] = values.importer.value(names_.at(op.results[r]));
        break;
      case LinalgOp::Kind::empty:
        values.views[id] = uniform_view(f_.values[id], 0);
        values.undefined[id] = true;
        break;
      case LinalgOp::Kind::structured:
        values.views[id] = structured_result(values, op, r, group);
        break;
      default:
        values.views[id] = moved_result(values, op, group);
    }
  }
}

void Conversion::make(Importer& importer) {
  const size_t count = f_.values.size();
  LinalgValues values{importer, f_, std::vector<std::optional<View>>(count),
                      std::vector<bool>(count, false), std::vector<bool>(count, false)};
  const std::vector<int> group = operation_groups(f_);
  for (size_t o = 0; o < f_.ops.size(); ++o) {
    const LinalgOp& op = f_.ops[o];
    const auto id = static_cast<size_t>(op.results[0]);
    importer.come_from({op.name, "%" + f_.values[id].name});
    try {
      convert(values, op, group[o]);
    } catch (const Error& error) {
      const bool placed = !error.diagnostics()[0].where.file.empty();
      if (error.code() != ExitCode::rejected || placed) throw;
      refuse_linalg(op, error.diagnostics()[0].message);
    }
    if (!op.region.empty()) importer.name_region(group[o], op.region);
  }
  importer.come_from({});
  for (size_t r = 0; r < f_.returned.size(); ++r)
    importer.set_value(result_name(r), values.at(f_.returned[r]));
}

void Conversion::finish(Program& program) const {
  for (const auto& [id, name] : names_) {
    const bool argument =
        std::find(f_.arguments.begin(), f_.arguments.end(), id) != f_.arguments.end();
    const TensorId tensor = find_tensor(program, name);
    if (!argument && tensor >= 0)
      program.tensors[static_cast<size_t>(tensor)].role = Role::constant;
  }
  if (f_.given_regions) program.strategy = "given";
}

Program Conversion::run(const std::string& path) {
  OnnxModel model = ports(path);
  Program program =
      Importer(std::move(model), options_, [this](Importer& importer) { make(importer); }).run();
  finish(program);
  agree_on_blocks(program);
  return program;
}

}  // namespace

std::vector<LinalgConstant> needed_constants(const LinalgFunction& function) {
  std::vector<LinalgConstant> constants;
  for (const auto& [id, name] : data_names(function)) {
    const auto& arguments = function.arguments;
    if (std::find(arguments.begin(), arguments.end(), id) == arguments.end())
      constants.push_back({id, name});
  }
  return constants;
}

std::vector<std::string> needed_arguments(const LinalgFunction& function) {
  std::vector<std::string> needed;
  const auto names = data_names(function);
  for (const LinalgId id : function.arguments) {
    if (names.contains(id)) needed.push_back(names.at(id));
  }
  return needed;
}

Program linalg_program(const LinalgFunction& function, const std::string& path,
                       ImportOptions options) {
  return Conversion(function, std::move(options)).run(path);
}

}  // namespace fuseflow
