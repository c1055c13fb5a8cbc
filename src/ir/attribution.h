// From statements and nodes back to the model's words: layers of the model, and which statement a
// node of a graph was made for.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace fuseflow {

/// Where something is in the nested modules of a model, the outermost first.
using ModulePath = std::vector<std::string>;

/// The module path of a value's, node's or weight's name: "/blocks.0/attn/MatMul_output_0" and
/// "blocks.0.attn.weight" both give {"blocks.0", "attn"}.
ModulePath module_path(const std::string& name);

/// The path of what a statement computes: by the node that it comes from, where that is named by a
/// path, else by its result.
ModulePath module_path(const Program& program, const Statement& statement);
/// The path of the first weight that it uses.
ModulePath weight_path(const Program& program, const Statement& statement);

/// The layer that each path is in: up to its first numbered part (`layers.0`, `conv1`), or the
/// first part after what all paths share; empty where there is none.
std::vector<std::string> layer_names(const std::vector<ModulePath>& paths);

/// The statements and layers of a program, as nodes ask for them. The program must stay.
class Attribution {
 public:
  explicit Attribution(const Program& program);

  /// The statement that a node of the region's graph was made for; null: not known.
  const Statement* statement(size_t region, const Node& node) const;
  /// The layer of the model that a statement belongs to; empty: not known.
  const std::string& layer(const Statement& statement) const;

 private:
  const Program& program_;
  std::vector<const Statement*> definition_;  ///< by tensor
  std::vector<std::string> layers_;           ///< by tensor
};

}  // namespace fuseflow
