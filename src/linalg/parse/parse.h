// MLIR text to plain data, by MLIR's own parser and verifier. Nothing outside of this folder knows
// MLIR's headers.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "linalg/function.h"

namespace fuseflow {

struct LinalgArgument {
  std::string name;  ///< without the %
  ElementType type = ElementType::f32;
  std::vector<int64_t> shape;  ///< -1: the file does not say
  Location where;
};

/// A module that was parsed and verified.
class LinalgModule {
 public:
  /// Throws Error(rejected) with MLIR's messages. `path` names the text in them.
  LinalgModule(std::string_view text, const std::string& path);
  ~LinalgModule();
  LinalgModule(const LinalgModule&) = delete;
  LinalgModule& operator=(const LinalgModule&) = delete;

  /// The functions with a body that nothing in the module calls, in the file's order.
  std::vector<std::string> functions() const;
  std::vector<LinalgArgument> arguments(const std::string& function) const;
  /// The function's operations; `shapes`: of the arguments, all known. Throws Error(rejected) for
  /// what has no meaning here, with the place in the file.
  LinalgFunction function(const std::string& name,
                          const std::vector<std::vector<int64_t>>& shapes) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fuseflow
