// Errors of a region's schedule, which are thrown without a place, with file, line and region.
#pragma once

#include <fmt/format.h>

#include "ir/names.h"
#include "ir/program.h"
#include "lower/region_indices.h"
#include "support/error.h"

namespace fuseflow {

/// What `act` gives. An Error(rejected) of it that has no place is thrown with that of the region
/// and its name; a LoweringConflict, which callers catch, as it is.
template <typename Act>
auto at_region(const Region& region, const Act& act) {
  try {
    return act();
  } catch (const LoweringConflict&) {
    throw;
  } catch (const Error& error) {
    std::vector<Diagnostic> diagnostics = error.diagnostics();
    if (error.code() != ExitCode::rejected || !diagnostics[0].where.file.empty()) throw;
    diagnostics[0].where = region.where;
    diagnostics[0].message =
        fmt::format("region @{}: {}", quote_if_needed(region.name), diagnostics[0].message);
    throw Error(error.code(), std::move(diagnostics));
  }
}

}  // namespace fuseflow
