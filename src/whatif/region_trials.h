// Changes tried on one region of a program: how many cycles it then takes, estimated or simulated.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/residency.h"
#include "ir/slice.h"
#include "machine/machine.h"
#include "sim/common/options.h"
#include "sim/common/tensor_data.h"
#include "whatif/remedy.h"

namespace fuseflow {

/// The machine of a run with some more settings (KEY=VALUE). Throws what load_machine() throws.
using MachineWith = std::function<Machine(const std::vector<std::string>&)>;

class RegionTrials {
 public:
  /// `given` is the program before it was lowered; `data` holds every tensor that the region reads,
  /// by TensorId of `lowered`. All outlive it.
  RegionTrials(const Program& given, const Program& lowered, size_t region, const TensorData& data,
               const MachineWith& machine_with);

  const Program& slice() const { return lowered_.program; }
  /// Before lowering; null if the region's graph was given.
  const Program* given_slice() const { return given_ ? &given_->program : nullptr; }

  /// Cycles with a change; nothing if it cannot be made: the machine is refused or has no room, the
  /// pass refuses, the graph deadlocks.
  std::optional<double> estimate(const Remedy& change) const;
  std::optional<double> simulate(const Remedy& change, const RunOptions& options) const;

 private:
  struct Variant {
    Machine machine;
    std::optional<Program> changed;  ///< nothing: the slice as it is
    TensorData data;
  };
  std::optional<Variant> make(const Remedy& change) const;
  TensorData data_of(const Program& slice) const;
  const Program& program_of(const Variant& variant) const {
    return variant.changed ? *variant.changed : lowered_.program;
  }

  const Program& whole_;
  const TensorData& data_;
  const MachineWith& machine_with_;
  RegionSlice lowered_;
  std::optional<RegionSlice> given_;  ///< none if it came with a graph
  std::vector<Resident> kept_;        ///< what stays on chip while it runs, by tensors of given_
};

}  // namespace fuseflow
