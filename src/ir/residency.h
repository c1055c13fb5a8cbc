// What stays in the scratchpad from the region that computes it to the last one that reads it
// (`temp %t: .. place(scratchpad)`): which regions that concerns, and what is wrong with it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/program.h"

namespace fuseflow {

/// An intermediate that regions pass on in the scratchpad.
struct Resident {
  TensorId tensor = -1;
  size_t written = 0;  ///< the region that computes it
  size_t last = 0;     ///< the last one that reads it
};

/// Whether a tensor is declared to stay.
bool stays(const Tensor& tensor);

/// Intermediates that a later region reads, by tensor, whether they stay or not.
std::vector<Resident> passed_on(const Program& program);

/// Those of them that are declared to stay.
std::vector<Resident> residents(const Program& program);

/// Declares that it stays: no region places it, and those from `written` to `last` are to be
/// lowered again.
void make_resident(Program& program, const Resident& passed);

/// The reverse: those regions write it to memory and read it there, lowered again.
void return_to_memory(Program& program, const Resident& passed);

/// Lists what stays while the region's graph runs: in `scratchpad`, and what was there before in
/// `resident`. The graph need not touch it.
void keep_residents(const std::vector<Resident>& residents, size_t region, Graph& graph);

/// Calls `wrong(region, message)` for each tensor that is declared to stay and cannot, and for each
/// graph that finds in the scratchpad, or in memory, what was not left there.
void check_residents(const Program& program,
                     const std::function<void(size_t region, std::string message)>& wrong);

/// For what makes other regions: what was declared to stay is in memory again. Gives a note that
/// says so; empty if nothing was.
std::string drop_residents(Program& program);

/// A note on what stays on chip in `before` and does not in `after`; empty if nothing does.
std::string note_returned(const Program& before, const Program& after);

}  // namespace fuseflow
