// From drafts to a program: what remains to be decided once all nodes are converted. In order:
// results are claimed, dead statements dropped, dimensions cut (cut.h), constants brought to plain
// subscripts, fills, facts and formats inferred, regions formed.
#pragma once

#include "import/draft.h"
#include "import/import.h"
#include "import/model.h"
#include "import/view.h"

namespace fuseflow {

/// Makes the tensor behind `value` the result called `name`, if the value is a whole intermediate
/// (its dimensions are reordered, extents of 1 added). False if it is not one.
bool claim_result(DraftProgram& draft, const View& value, const std::string& name);
void rename_tensor(DraftProgram& draft, const std::string& from, const std::string& to);

/// Drops statements that no result needs.
void drop_dead_statements(DraftProgram& draft);

/// Gives every access to a constant plain subscripts, by making constants of slices and reshapes.
void straighten_constants(DraftProgram& draft);

/// The passes that decide which tensors there are: dead statements, cuts, views of constants.
void settle_structure(DraftProgram& draft);

/// What is known of their values: fills, facts, formats and sources; and the regions. After
/// settle_structure.
Program settle(DraftProgram draft, const OnnxModel& model, const ImportOptions& options);

}  // namespace fuseflow
