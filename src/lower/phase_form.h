// What a phase is lowered from, with names replaced by numbers of its own: phases of the same form
// become the same graph (phase.h).
#pragma once

#include <vector>

#include "lower/expression.h"
#include "lower/form_numbers.h"
#include "lower/in_scratchpad.h"

namespace fuseflow {

/// What a phase writes: the value of an instance, which is that of an expression.
struct PhaseRoot {
  int instance = -1;
  int node = -1;
  bool everywhere = false;  ///< every coordinate is visited
};

/// What a phase names of its region, each list ascending: its own numbers are positions in them, so
/// that they are ordered as the region's are.
struct PhaseNames {
  std::vector<int> nodes;  ///< expressions
  std::vector<int> indices;
  std::vector<TensorId> tensors;
  std::vector<size_t> statements;
};

class PhaseForms {
 public:
  /// Of the only region of a program, in an order of all indices. All of it must outlive this.
  PhaseForms(const Program& program, const RegionIndices& indices, const Expressions& expressions,
             const std::vector<int>& order, const HeldTensors& held);

  PhaseNames names_of(const std::vector<PhaseRoot>& roots);
  PhaseForm form_of(const std::vector<PhaseRoot>& roots, const PhaseNames& names);

 private:
  void number_all(const PhaseNames& names);
  void write_tensor(TensorId tensor, PhaseForm& to) const;
  void write_indices(const PhaseNames& names, PhaseForm& to) const;
  void write_node(const ExprNode& node, PhaseForm& to) const;
  void write_indices_of(const std::vector<int>& indices, PhaseForm& to) const;
  void write_affine(const Affine& affine, PhaseForm& to) const;

  const Program& program_;
  const RegionIndices& indices_;
  const Expressions& expressions_;
  std::vector<int> rank_;           ///< by index: its place in the order
  std::vector<const Join*> joins_;  ///< by index; null: none
  const HeldTensors& held_;
  std::vector<char> seen_;        ///< by expression, while they are collected
  std::vector<int> node_number_;  ///< in the phase at hand
  std::vector<int> index_number_;
  std::vector<int> tensor_number_;
  std::vector<int> statement_number_;
};

}  // namespace fuseflow
