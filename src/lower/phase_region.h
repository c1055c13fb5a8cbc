// A phase of a region as a region of its own: the statements that it evaluates, with numbers of
// their own for tensors and loops, so that one that stands for all equal ones is analysed once, and
// lowered once for each order of its loops. (phase_form.h does the same for phases of a region that
// was analysed as a whole.)
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "lower/form_numbers.h"
#include "lower/in_scratchpad.h"
#include "lower/phase.h"

namespace fuseflow {

class KnownPhases;

/// What a phase evaluates and names, each list ascending: its own numbers are positions in them.
struct PhaseStatements {
  std::vector<size_t> statements;  ///< of the region: roots, and what is inlined into them
  std::vector<TensorId> tensors;   ///< that they read or define
};

class PhaseRegion {
 public:
  PhaseRegion(Program program, RegionPhases phases, HeldTensors held, size_t max_instances);

  /// Whether there is no order of its loops, shared as far as may be: how they are shared is then
  /// for the region to say.
  bool has_cycle() const { return !analysed_ && !conflict_; }
  /// Why its instances cannot be made, by its own numbers; null if they can. (One too many is one
  /// for the region that it was found in.)
  const InstanceConflict* conflict() const { return conflict_ ? &*conflict_ : nullptr; }
  /// Statements of its instances, in the order in which they are made, up to a conflict.
  const std::vector<size_t>& made() const {
    return conflict_ ? conflict_->made() : analysed_->indices.made;
  }

  // Without a cycle or a conflict:
  const std::vector<RegionIndex>& indices() const { return analysed_->indices.indices; }
  /// By its own numbers.
  const PhaseNames& names() const { return names_; }
  const std::vector<int>& default_order() const { return default_order_; }
  bool is_legal(const std::vector<int>& order) const;
  /// Throws what lower_phase() throws, but that errors name nothing.
  std::shared_ptr<LoweredPhase> lowered(const std::vector<int>& order, size_t max_nodes,
                                        KnownPhases& known);

 private:
  const Program program_;
  const HeldTensors held_;
  std::optional<AnalysedRegion> analysed_;
  std::optional<InstanceConflict> conflict_;
  std::vector<int> default_order_;
  std::vector<PhaseRoot> roots_;
  PhaseNames names_;
  std::map<std::vector<int>, std::shared_ptr<LoweredPhase>> by_order_;
};

/// Finds the phases of the only region of a program.
class PhaseRegions {
 public:
  /// Both must outlive this.
  PhaseRegions(const Program& program, const HeldTensors& held);

  int count() const { return phases_.count; }
  const std::vector<bool>& is_root() const { return phases_.is_root; }
  PhaseStatements statements_of(int phase);
  PhaseForm form_of(int phase, const PhaseStatements& of);
  PhaseRegion region_of(int phase, const PhaseStatements& of, size_t max_instances);

 private:
  bool is_root(size_t statement, int phase) const {
    return phases_.is_root[statement] && phases_.phase[statement] == phase;
  }
  /// The statement that is inlined where another one reads a tensor; -1: the tensor is read.
  int inlined(const Statement& reader, const Expr& node) const;
  void write_statement(const Statement& statement, PhaseForm& to) const;
  void write_access(const Statement& reader, const Expr& node, PhaseForm& to) const;
  Statement renamed(Statement statement) const;
  void add_placements(const Statement& reader, Schedule& schedule) const;

  const Program& program_;
  const Region& region_;
  const HeldTensors& held_;
  const UseKinds kinds_;
  const RegionPhases phases_;
  std::vector<std::vector<size_t>> roots_;  ///< by phase
  std::vector<char> seen_;                  ///< by statement, while they are collected
  std::vector<int> tensor_number_;          ///< in the phase at hand
};

}  // namespace fuseflow
