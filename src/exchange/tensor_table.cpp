#include "exchange/tensor_table.h"

#include <fmt/format.h>

#include "support/error.h"
#include "support/text.h"
#include "tensor/csf.h"

namespace fuseflow {

namespace {

[[noreturn]] void reject_tensor(const std::string& message) {
  throw Error(ExitCode::rejected, message);
}

}  // namespace

LevelKind level_kind_of(const std::string& format) {
  if (format == "compressed") return LevelKind::compressed;
  if (format == "dense") return LevelKind::dense;
  reject_tensor(fmt::format("level format '{}', expected compressed or dense", printable(format)));
}

void TensorTable::begin_graph(const comal::ComalGraph& graph) {
  graph_ = &graph;
  for (const auto& [name, id] : written_) known_[name] = id;
  written_.clear();
}

const comal::TensorFacts* TensorTable::facts(const std::string& name) const {
  for (const comal::TensorFacts& row : graph_->tensors()) {
    if (row.name() == name) return &row;
  }
  return nullptr;
}

void TensorTable::apply_facts(Tensor& tensor, const std::string& name) const {
  const comal::TensorFacts* row = facts(name);
  if (row == nullptr) return;
  if (!row->type().empty()) tensor.type = parse_element_type(row->type());
  tensor.fill = row->fill();
}

TensorId TensorTable::declare(const std::string& name) {
  const std::string path = csf_path(folder_, name);
  if (folder_.empty()) {
    reject_tensor(fmt::format("tensor {} needs data, expected --data DIR with {}", printable(name),
                              printable(path)));
  }
  Tensor tensor;
  tensor.name = name;
  tensor.role = Role::input;
  std::vector<LevelKind> levels;
  for (const int64_t extent : read_csf_shape(path)) {
    const bool stored = csf_level_is_stored(path, static_cast<int>(levels.size()));
    levels.push_back(stored ? LevelKind::compressed : LevelKind::dense);
    tensor.shape.push_back({extent, ""});
  }
  tensor.format = make_format(std::move(levels));
  tensor.source.kind = Source::Kind::file;
  tensor.source.path = path;
  apply_facts(tensor, name);
  const auto id = static_cast<TensorId>(program_.tensors.size());
  said_[id].resize(tensor.shape.size());
  program_.tensors.push_back(std::move(tensor));
  return id;
}

TensorId TensorTable::read(const std::string& name) {
  if (name.empty()) reject_tensor("no tensor is named");
  const auto found = known_.find(name);
  const TensorId id = found != known_.end() ? found->second : declare(name);
  known_[name] = id;
  Tensor& tensor = program_.tensors[static_cast<size_t>(id)];
  if (tensor.role == Role::result) tensor.role = Role::temporary;
  return id;
}

void TensorTable::set_level(TensorId id, size_t level, LevelKind kind) {
  Tensor& tensor = program_.tensors[static_cast<size_t>(id)];
  LevelKind& declared = tensor.format.levels[level];
  std::vector<bool>& said = said_[id];
  const bool fixed = tensor.source.kind == Source::Kind::none || said[level];
  if (fixed && declared != kind) {
    reject_tensor(fmt::format("level {} of tensor {} is {} here and {} elsewhere", level,
                              printable(tensor.name), level_name(kind), level_name(declared)));
  }
  if (kind == LevelKind::compressed && declared == LevelKind::dense) {
    reject_tensor(
        fmt::format("level {} of tensor {} is compressed, but the data have no positions of it",
                    level, printable(tensor.name)));
  }
  declared = kind;
  if (!fixed) said[level] = true;
}

TensorId TensorTable::read_level(const std::string& name, uint64_t level,
                                 const std::string& format) {
  const TensorId id = read(name);
  if (level >= tensor(id).shape.size()) {
    reject_tensor(fmt::format("tensor {} has {} levels, but level {} is read", printable(name),
                              tensor(id).shape.size(), level));
  }
  if (!format.empty()) set_level(id, level, level_kind_of(format));
  return id;
}

TensorId TensorTable::add_result(const std::string& name, std::vector<LevelKind> levels,
                                 const std::vector<int64_t>& shape) {
  Tensor tensor;
  tensor.role = Role::result;
  const auto taken = [&](const std::string& other) { return find_tensor(program_, other) >= 0; };
  tensor.name = unused_name(name.empty() ? "X" : name, "_", 2, taken);
  for (const int64_t extent : shape) tensor.shape.push_back({extent, ""});
  tensor.format = make_format(std::move(levels));
  apply_facts(tensor, name);
  const auto id = static_cast<TensorId>(program_.tensors.size());
  program_.tensors.push_back(std::move(tensor));
  if (!written_.try_emplace(name, id).second) {
    reject_tensor(fmt::format("tensor {} is written twice", printable(name)));
  }
  return id;
}

}  // namespace fuseflow
