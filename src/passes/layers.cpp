#include "passes/layers.h"

#include <algorithm>

#include "ir/attribution.h"
#include "passes/dependences.h"

namespace fuseflow {

namespace {

/// The module path of a kernel: that of its results, else that of the weights it uses. The nodes
/// that statements come from do not count, so that programs with and without them are fused alike.
ModulePath kernel_path(const Program& program, const Region& region) {
  for (const Statement& s : region.statements) {
    ModulePath path = module_path(program.tensors[static_cast<size_t>(s.result)].name);
    if (!path.empty()) return path;
  }
  for (const Statement& s : region.statements) {
    ModulePath path = weight_path(program, s);
    if (!path.empty()) return path;
  }
  return {};
}

bool is_sparse_input(const Tensor& tensor) {
  return tensor.given() && std::any_of(tensor.format.levels.begin(), tensor.format.levels.end(),
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

std::vector<Group> layer_groups(const Program& program) {
  std::vector<Group> kernels = present_groups(program);
  std::vector<ModulePath> paths;
  for (const Region& region : program.regions) {
    if (!region.statements.empty()) paths.push_back(kernel_path(program, region));
  }
  const std::vector<std::string> layers = layer_names(paths);
  const bool named = std::any_of(layers.begin(), layers.end(),
                                 [](const std::string& layer) { return !layer.empty(); });
  if (named) return join_small(program, by_names(layers, std::move(kernels)));
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
