// Chooses the formats in which regions read inputs and constants and pass on intermediates, by
// estimated cycles, what the machine takes to convert inputs included (ir/copies.h,
// ir-spec/storage.md).
#pragma once

#include <optional>

#include "passes/cost_model.h"
#include "passes/pass.h"

namespace fuseflow {

/// Whose formats are chosen. What a region passes on is settled once regions are.
enum class StorageOf { given, all };

/// Lets the regions without a graph read inputs and constants, and write and read what they pass
/// on, in those formats with which the program is expected to be faster than as given, by 20% or
/// more; nothing where it stays as it is. `verbose`: what else was tried.
std::optional<Program> choose_storage(const Program& program, StorageOf which, CostModel& costs,
                                      bool verbose, PassLog& log);

}  // namespace fuseflow
