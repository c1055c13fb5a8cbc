// Names of a model as lists and charts show them: `gat1.lin` for `/gat1/lin/MatMul_output_0`. The
// whole name is shown where the pointer rests.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace fuseflow {

class ShortNames {
 public:
  ShortNames() = default;
  /// All names that are shown together: two different ones never get the same short name.
  explicit ShortNames(const std::vector<std::string>& names);

  /// The short one of a name that was given; any other name as it is.
  const std::string& of(const std::string& name) const;

 private:
  std::map<std::string, std::string> short_;
};

}  // namespace fuseflow
