// The program in the making: tensors with what the importer knows of them, and statements in order.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "import/host.h"
#include "ir/program.h"

namespace fuseflow {

/// A tensor of the program in the making.
struct Draft {
  Tensor tensor;
  std::vector<int64_t> shape;
  HostPtr data;                   ///< constants: the values
  std::string initializer;        ///< constants that are an initializer as it stands: its name
  bool pinned = false;            ///< the dimensions must not be cut (--format names the levels)
  bool read_outside = false;      ///< some access has subscripts out of range
  TensorId nonzero_if = -1;       ///< never 0 if that tensor is finite (a softmax's denominator)
  std::optional<double> density;  ///< of inputs and constants
};

/// A statement and the node (for its region) that it came from.
struct DraftStatement {
  Statement statement;
  int group = -1;  ///< statements of one group form one region
};

/// An input as it was bound: what a repeated import needs to arrive at the same constants.
struct InputUse {
  std::string name;
  Source source;
  std::vector<int64_t> shape;
  bool constant = false;  ///< its values were used as a constant
};

struct DraftProgram {
  std::vector<Draft> tensors;
  std::vector<DraftStatement> statements;  ///< in order of definition
  std::vector<InputUse> inputs;
  std::vector<Facts> expected;  ///< by tensor: facts that hold unless a finite number overflows
};

}  // namespace fuseflow
