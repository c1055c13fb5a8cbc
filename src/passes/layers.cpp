#include "passes/layers.h"

#include <algorithm>
#include <set>

#include "passes/dependences.h"

namespace fuseflow {

namespace {

bool is_digits(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
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

bool is_numbered(const std::string& part) {
  return !part.empty() && part.back() >= '0' && part.back() <= '9';
}

using Path = std::vector<std::string>;

/// The layer that a module path names: up to the first numbered part (`layers.0`, `conv1`), or the
/// first part behind what all paths share.
std::string layer_of(const Path& path, size_t shared) {
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

size_t shared_prefix(const std::vector<Path>& paths) {
  const Path* first = nullptr;
  size_t shared = 0;
  for (const Path& path : paths) {
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

/// The module path of a kernel: that of its results, else that of the weights it uses.
Path kernel_path(const Program& program, const Region& region) {
  for (const Statement& s : region.statements) {
    Path path = module_path(program.tensors[s.result].name);
    if (!path.empty()) return path;
  }
  for (const Statement& s : region.statements) {
    for (const TensorId tensor : uses(s)) {
      if (program.tensors[tensor].role != Role::constant) continue;
      Path path = module_path(program.tensors[tensor].name);
      if (!path.empty()) return path;
    }
  }
  return {};
}

bool is_sparse_input(const Tensor& tensor) {
  return (tensor.role == Role::input || tensor.role == Role::constant) &&
         std::any_of(tensor.format.levels.begin(), tensor.format.levels.end(),
                     [](LevelKind kind) { return kind != LevelKind::dense; });
}

/// Accesses below a node of the expression.
void collect_accesses(const Statement& s, int node, std::vector<TensorId>& accesses) {
  const Expr& e = s.nodes[node];
  if (e.kind == Expr::Kind::access) accesses.push_back(e.tensor);
  for (const int32_t child : e.children) collect_accesses(s, child, accesses);
}

/// A reduction over a product of two tensors at least; `sparse`: one of them a sparse input.
bool has_contraction(const Program& program, const Region& region, bool sparse) {
  for (const Statement& s : region.statements) {
    for (const Expr& e : s.nodes) {
      if (e.kind != Expr::Kind::reduce) continue;
      std::vector<TensorId> accesses;
      collect_accesses(s, e.children[0], accesses);
      if (accesses.size() < 2) continue;
      if (!sparse || std::any_of(accesses.begin(), accesses.end(), [&](TensorId tensor) {
            return is_sparse_input(program.tensors[tensor]);
          })) {
        return true;
      }
    }
  }
  return false;
}

/// A layer begins where the name changes; unnamed kernels stay in the present one.
std::vector<Group> by_names(const std::vector<std::string>& layers, std::vector<Group> kernels) {
  std::vector<Group> groups;
  for (size_t k = 0; k < kernels.size(); ++k) {
    const bool begins = groups.empty() || (!layers[k].empty() && !groups.back().name.empty() &&
                                           layers[k] != groups.back().name);
    if (begins) groups.push_back({layers[k], {}});
    if (groups.back().name.empty()) groups.back().name = layers[k];
    groups.back().statements.insert(groups.back().statements.end(), kernels[k].statements.begin(),
                                    kernels[k].statements.end());
  }
  return groups;
}

std::vector<Group> merge(std::vector<Group> groups, const std::vector<bool>& joins_previous) {
  std::vector<Group> merged;
  for (size_t g = 0; g < groups.size(); ++g) {
    if (merged.empty() || !joins_previous[g]) {
      merged.push_back(std::move(groups[g]));
    } else {
      std::vector<int>& into = merged.back().statements;
      into.insert(into.end(), groups[g].statements.begin(), groups[g].statements.end());
    }
  }
  return merged;
}

/// Modules without a contraction (an activation of its own name) belong to the one before them.
std::vector<Group> join_small(const Program& program, std::vector<Group> groups) {
  const Dependences d = dependences(program);
  std::vector<bool> joins;
  bool contraction_before = false;
  for (const Group& group : groups) {
    Region region;
    for (const int s : group.statements) region.statements.push_back(*d.nodes[s].statement);
    const bool contracts = has_contraction(program, region, false);
    joins.push_back(!contracts || !contraction_before);
    contraction_before = contraction_before || contracts;
  }
  return merge(std::move(groups), joins);
}

}  // namespace

std::vector<std::string> module_path(const std::string& name) {
  Path path;
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

std::vector<Group> layer_groups(const Program& program) {
  std::vector<Group> kernels = present_groups(program);
  std::vector<Path> paths;
  for (const Region& region : program.regions) {
    if (!region.statements.empty()) paths.push_back(kernel_path(program, region));
  }
  const size_t shared = shared_prefix(paths);
  std::vector<std::string> layers;
  std::set<std::string> distinct;
  for (const Path& path : paths) {
    layers.push_back(layer_of(path, shared));
    if (!layers.back().empty()) distinct.insert(layers.back());
  }
  if (!distinct.empty()) return join_small(program, by_names(layers, std::move(kernels)));
  for (Group& kernel : kernels) kernel.name.clear();
  std::vector<bool> joins;
  bool contraction_before = false;
  for (const Region& region : program.regions) {
    if (region.statements.empty()) continue;
    const bool cuts = has_contraction(program, region, true);
    joins.push_back(!cuts || !contraction_before);
    contraction_before = contraction_before || has_contraction(program, region, false);
  }
  return merge(std::move(kernels), joins);
}

}  // namespace fuseflow
