#include "ir/attribution.h"

#include <algorithm>
#include <set>

namespace fuseflow {
namespace {

bool is_digits(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_numbered(const std::string& part) {
  return !part.empty() && part.back() >= '0' && part.back() <= '9';
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

std::string layer_of(const ModulePath& path, size_t shared) {
  std::string layer;
  for (size_t i = 0; i < path.size(); ++i) {
    layer += (layer.empty() ? "" : "/") + path[i];
    if (is_numbered(path[i])) return layer;
  }
  if (path.size() <= shared) return "";
  layer.clear();
  for (size_t i = 0; i <= shared; ++i) layer += (layer.empty() ? "" : "/") + path[i];
  return layer;
}

size_t shared_prefix(const std::vector<ModulePath>& paths) {
  const ModulePath* first = nullptr;
  size_t shared = 0;
  for (const ModulePath& path : paths) {
    if (path.empty()) continue;
    if (first == nullptr) {
      first = &path;
      shared = path.size();
      continue;
    }
    size_t common = 0;
    while (common < shared && common < path.size() && path[common] == (*first)[common]) ++common;
    shared = common;
  }
  return shared;
}

/// Makes layers one part of the path longer, where there is one.
void deepen(const std::vector<ModulePath>& paths, std::vector<std::string>& layers) {
  for (size_t i = 0; i < paths.size(); ++i) {
    std::string reached;
    for (const std::string& part : paths[i]) {
      const bool next = reached == layers[i];
      reached += (reached.empty() ? "" : "/") + part;
      if (next) layers[i] = reached;
      if (next) break;
    }
  }
}

}  // namespace

ModulePath module_path(const std::string& name) {
  ModulePath path;
  if (!name.empty() && name.front() == '/') {
    path = split(name.substr(1), '/');
  } else {
    for (std::string& part : split(name, '.')) {
      if (is_digits(part) && !path.empty())
        path.back() += "." + part;
      else
        path.push_back(std::move(part));
    }
  }
  path.pop_back();  // the operator or the parameter
  return path;
}

ModulePath module_path(const Program& program, const Statement& statement) {
  if (statement.from.name.starts_with('/')) return module_path(statement.from.name);
  return module_path(program.tensors[static_cast<size_t>(statement.result)].name);
}

ModulePath weight_path(const Program& program, const Statement& statement) {
  for (const Expr& e : statement.nodes) {
    if (e.kind != Expr::Kind::access) continue;
    const Tensor& tensor = program.tensors[static_cast<size_t>(e.tensor)];
    if (tensor.role != Role::constant) continue;
    ModulePath path = module_path(tensor.name);
    if (!path.empty()) return path;
  }
  return {};
}

std::vector<std::string> layer_names(const std::vector<ModulePath>& paths) {
  const size_t shared = shared_prefix(paths);
  std::vector<std::string> layers;
  layers.reserve(paths.size());
  for (const ModulePath& path : paths) layers.push_back(layer_of(path, shared));
  return layers;
}

Attribution::Attribution(const Program& program) : program_(program) {
  definition_.resize(program.tensors.size(), nullptr);
  layers_.resize(program.tensors.size());
  std::vector<ModulePath> paths;
  std::vector<size_t> results;
  for (const Region& region : program.regions) {
    for (const Statement& statement : region.statements) {
      results.push_back(static_cast<size_t>(statement.result));
      definition_[results.back()] = &statement;
      ModulePath path = module_path(program, statement);
      paths.push_back(path.empty() ? weight_path(program, statement) : std::move(path));
    }
  }
  std::vector<std::string> layers = layer_names(paths);
  if (std::set<std::string>(layers.begin(), layers.end()).size() == 1) deepen(paths, layers);
  for (size_t i = 0; i < results.size(); ++i) layers_[results[i]] = std::move(layers[i]);
}

const Statement* Attribution::statement(size_t region, const Node& node) const {
  if (node.statement >= 0) return definition_[static_cast<size_t>(node.statement)];
  const std::vector<Statement>& statements = program_.regions[region].statements;
  return statements.size() == 1 ? &statements[0] : nullptr;
}

const std::string& Attribution::layer(const Statement& statement) const {
  return layers_[static_cast<size_t>(statement.result)];
}

}  // namespace fuseflow
