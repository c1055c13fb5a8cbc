// What it takes a machine to store a tensor in another format (node `convert`): passes over the
// data, each of so many steps and bytes. The model and where it is from: ir-spec/storage.md.
#pragma once

#include <vector>

#include "machine/machine.h"
#include "sim/common/run_result.h"
#include "sim/common/stored_arrays.h"

namespace fuseflow {

/// A tensor and how much of it is stored.
struct ConversionSide {
  const Tensor& tensor;
  const StoredArrays& arrays;
};

/// The dimensions by which entries stored as `from` have to be sorted, one after the other, before
/// they can be stored as `to`: the last is that of the outermost level. Empty: one pass will do.
std::vector<int> sorted_dimensions(const Format& from, const Format& to);

/// The counts of a graph with one node `convert`, which has finished; no results.
RunResult conversion_counts(const ConversionSide& from, const ConversionSide& to,
                            const Machine& machine);

}  // namespace fuseflow
