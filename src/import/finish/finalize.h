// From drafts to a program: what remains to be decided once all nodes are converted. In order:
// results are named, dead statements dropped, dimensions split (split_dimensions.h), constants
// brought to plain subscripts, fills, facts and formats inferred, regions formed.
#pragma once

#include "import/onnx/model.h"
#include "import/values/draft.h"
#include "import/values/options.h"
#include "import/values/view.h"

namespace fuseflow {

/// Makes the tensor that `value` accesses the result called `name`, if the value is a whole
/// intermediate (its dimensions are reordered, extents of 1 added). False if it is not one.
/// `others` are values that may access it, too: they follow.
bool name_result(DraftProgram& draft, const View& value, const std::string& name,
                 const std::vector<View*>& others);
void rename_tensor(DraftProgram& draft, const std::string& from, const std::string& to);

/// Drops statements that no result needs.
void drop_dead_statements(DraftProgram& draft);

/// The passes that decide which tensors there are: dead statements, cuts, views of constants.
void finalize_structure(DraftProgram& draft);

/// What is known of their values: fills, facts, formats and sources; and the regions. After
/// finalize_structure.
Program finalize(DraftProgram draft, const OnnxModel& model, const ImportOptions& options);

}  // namespace fuseflow
