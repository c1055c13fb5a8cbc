// A dense chain as it stands in a program: what its two products read, and the elementwise work
// between and after them, as trees over the chain's dimensions. Built by recognize.cpp, lowered by
// lower_plan.cpp. Nothing of machines or plans.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "cluster/common/element_bytes.h"
#include "graph/graph.h"

namespace fuseflow::cluster {

/// A loop of the program that is part of one dimension of the chain.
struct FormDigit {
  std::string name;
  int64_t extent = 1;
  Dim dim = Dim::m;
};

/// A tensor read or written at affine functions of digits (positions in ChainForm::digits).
struct FormAccess {
  TensorId tensor = -1;
  std::vector<TileSubscript> subscripts;
};

/// A node of the elementwise work; children before parents.
struct FormNode {
  enum class Kind : uint8_t { product, load, constant, map } kind = Kind::constant;
  int product = 0;                ///< of C: the branch; of E: 0
  FormAccess access;              ///< load
  bool of_size_e = false;         ///< load of E: a tensor of its size, no vector over L
  float constant = 0;             ///< constant
  Op op = Op::add;                ///< map
  std::vector<int32_t> children;  ///< map
};

struct ChainForm {
  std::vector<FormDigit> digits;
  FormAccess a, d, store;
  std::vector<FormAccess> b;          ///< one a branch
  std::vector<FormNode> first, last;  ///< C from its products, E from its product; the root is last
  TensorId c = -1;                    ///< the tensor that the second product reads
  TensorBytes element_bytes;          ///< of what is loaded and stored
  ElementBytes bytes;                 ///< the same by what they are for
};

/// Product of the extents of a dimension's digits.
int64_t extent_of(const ChainForm& form, Dim dim);

}  // namespace fuseflow::cluster
