#include "exchange/tensor_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "support/error.h"
#include "support/text.h"
#include "tensor/csf.h"

namespace fuseflow {

namespace {

[[noreturn]] void reject_tensor(const std::string& message) {
  throw Error(ExitCode::rejected, message);
}

std::vector<int> in_order(size_t rank) {
  std::vector<int> order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

bool is_order(const std::vector<int>& order, size_t rank) {
  const std::vector<int> whole = in_order(rank);
  return std::is_permutation(order.begin(), order.end(), whole.begin(), whole.end());
}

}  // namespace

LevelKind level_kind_of(const std::string& format) {
  if (format == "compressed") return LevelKind::compressed;
  if (format == "dense") return LevelKind::dense;
  reject_tensor(fmt::format("level format '{}', expected compressed or dense", printable(format)));
}

void TensorTable::begin_graph(const comal::ComalGraph& graph, LevelOrders orders) {
  graph_ = &graph;
  orders_ = std::move(orders);
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

/// Empty: the graph does not say it.
std::vector<int> TensorTable::said_order(const std::string& name) const {
  const comal::TensorFacts* row = facts(name);
  if (row == nullptr) return {};
  return {row->levels().begin(), row->levels().end()};
}

/// The files do not say in which order levels nest: the graph does, by what it looks up below what.
std::vector<int> TensorTable::level_order(const std::string& name, size_t rank) const {
  std::vector<int> order = said_order(name);
  const auto looked_up = orders_.find(name);
  if (order.empty() && looked_up != orders_.end()) order = looked_up->second;
  return is_order(order, rank) ? order : in_order(rank);
}

std::optional<std::vector<int>> TensorTable::written_order(const std::string& name,
                                                           size_t rank) const {
  std::vector<int> order = said_order(name);
  if (is_order(order, rank)) return order;
  if (graph_->loops().empty()) return std::nullopt;
  return in_order(rank);
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
  for (const int64_t extent : read_csf_shape(path)) tensor.shape.push_back({extent, ""});
  const std::vector<int> order = level_order(name, tensor.shape.size());
  std::vector<LevelKind> levels;
  for (const int dimension : order) {
    const bool stored = csf_level_is_stored(path, dimension);
    levels.push_back(stored ? LevelKind::compressed : LevelKind::dense);
  }
  tensor.format = make_format(std::move(levels), order);
  tensor.source.kind = Source::Kind::file;
  tensor.source.path = path;
  if (!std::is_sorted(order.begin(), order.end())) {
    tensor.source.params.emplace_back("levels", fmt::format("[{}]", fmt::join(order, ",")));
  }
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

TensorId TensorTable::read_level(const std::string& name, uint64_t level) {
  const TensorId id = read(name);
  if (level < tensor(id).shape.size()) return id;
  reject_tensor(fmt::format("tensor {} has {} levels, but level {} is read", printable(name),
                            tensor(id).shape.size(), level));
}

TensorTable::Level TensorTable::read_dimension(const std::string& name, uint64_t dimension,
                                               const std::string& format) {
  const TensorId id = read(name);
  const std::vector<int>& order = tensor(id).format.mode_order;
  if (dimension >= order.size()) {
    reject_tensor(fmt::format("tensor {} has {} dimension(s), but mode {} is read", printable(name),
                              order.size(), dimension));
  }
  const auto level = std::find(order.begin(), order.end(), static_cast<int>(dimension));
  const Level found{id, static_cast<int>(level - order.begin())};
  if (!format.empty()) set_level(id, static_cast<size_t>(found.level), level_kind_of(format));
  return found;
}

TensorId TensorTable::add_result(const std::string& name, Format format,
                                 const std::vector<int64_t>& shape) {
  Tensor tensor;
  tensor.role = Role::result;
  const auto taken = [&](const std::string& other) { return find_tensor(program_, other) >= 0; };
  tensor.name = unused_name(name.empty() ? "X" : name, "_", 2, taken);
  for (const int64_t extent : shape) tensor.shape.push_back({extent, ""});
  tensor.format = std::move(format);
  apply_facts(tensor, name);
  const auto id = static_cast<TensorId>(program_.tensors.size());
  program_.tensors.push_back(std::move(tensor));
  if (!written_.try_emplace(name, id).second) {
    reject_tensor(fmt::format("tensor {} is written twice", printable(name)));
  }
  return id;
}

}  // namespace fuseflow
