#include "ir/program.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "ir/names.h"
#include "ir/slice.h"

namespace fuseflow {

FUSEFLOW_DEFINE_VALUE_TYPE(Tensor);
FUSEFLOW_DEFINE_VALUE_TYPE(Expr);
FUSEFLOW_DEFINE_VALUE_TYPE(Statement);
FUSEFLOW_DEFINE_VALUE_TYPE(Schedule);
FUSEFLOW_DEFINE_VALUE_TYPE(Region);
FUSEFLOW_DEFINE_VALUE_TYPE(Program);

TensorId find_tensor(const Program& program, std::string_view name) {
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    if (program.tensors[t].name == name) return static_cast<TensorId>(t);
  }
  return -1;
}

std::vector<int64_t> known_shape(const Tensor& tensor) {
  std::vector<int64_t> shape;
  for (const Extent& extent : tensor.shape) {
    if (!extent.known()) {
      throw Error(
          ExitCode::rejected, tensor.where,
          fmt::format("%{} has the symbolic extent {}, expected it to be bound: `dim {} = 34`, "
                      "`--dim {}=34`, or data of an input that has it: `--bind NAME=FILE`",
                      quote_if_needed(tensor.name), extent.symbol, extent.symbol, extent.symbol));
    }
    shape.push_back(extent.value);
  }
  return shape;
}

std::vector<int64_t> file_shape(const Tensor& tensor) {
  return tensor.model_shape ? *tensor.model_shape : known_shape(tensor);
}

bool is_internal(const Program& program, size_t region, TensorId tensor) {
  if (program.tensors[tensor].role != Role::temporary) return false;
  bool defined = false;
  for (const Statement& s : program.regions[region].statements) defined |= s.result == tensor;
  if (!defined) return false;
  return !is_read_later(program, region, tensor);
}

std::string_view role_name(Role role) {
  switch (role) {
    case Role::input:
      return "input";
    case Role::constant:
      return "const";
    case Role::temporary:
      return "temp";
    case Role::result:
      return "result";
  }
  return "temp";
}

std::string_view placement_name(Placement placement) {
  switch (placement) {
    case Placement::stream:
      return "stream";
    case Placement::recompute:
      return "recompute";
    case Placement::scratchpad:
      return "scratchpad";
    case Placement::memory:
      return "memory";
  }
  return "stream";
}

std::optional<Placement> find_placement(std::string_view name) {
  for (const Placement p :
       {Placement::stream, Placement::recompute, Placement::scratchpad, Placement::memory}) {
    if (placement_name(p) == name) return p;
  }
  return std::nullopt;
}

namespace {
constexpr std::array<std::pair<JoinForm, std::string_view>, 4> kJoinForms = {
    {{JoinForm::merge, "merge"},
     {JoinForm::locate, "locate"},
     {JoinForm::words, "words"},
     {JoinForm::gallop, "gallop"}}};
}

std::string_view join_form_name(JoinForm form) {
  for (const auto& [known, name] : kJoinForms) {
    if (known == form) return name;
  }
  return "merge";
}

std::optional<JoinForm> find_join_form(std::string_view name) {
  for (const auto& [form, known] : kJoinForms) {
    if (known == name) return form;
  }
  return std::nullopt;
}

std::vector<std::string> join_form_names() {
  std::vector<std::string> names;
  names.reserve(kJoinForms.size());
  for (const auto& [form, name] : kJoinForms) names.emplace_back(name);
  return names;
}

std::vector<GraphTensor> graph_tensors(const Program& program) {
  std::vector<GraphTensor> tensors;
  tensors.reserve(program.tensors.size());
  for (const Tensor& tensor : program.tensors) {
    GraphTensor t{tensor.name, tensor.format, {}, element_bytes(tensor.type)};
    for (const Extent& extent : tensor.shape) t.shape.push_back(extent.value);
    tensors.push_back(std::move(t));
  }
  return tensors;
}

}  // namespace fuseflow
