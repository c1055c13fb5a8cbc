// What is known of the program's values, and how they are therefore stored.
#pragma once

#include "import/onnx/model.h"
#include "import/values/draft.h"
#include "import/values/options.h"

namespace fuseflow {

/// Fill, facts, format and source of every constant; the format of bound inputs that are masks.
void finalize_constants(Program& program, const DraftProgram& draft, const OnnxModel& model,
                        const ImportOptions& options);

/// Fill, facts, format and source of one constant, whose tensor is at the same place in both.
void finalize_constant(Program& program, const DraftProgram& draft, size_t at,
                       const OnnxModel& model, const ImportOptions& options);

/// --format. Throws Error(rejected) for a name that is no input, constant or result.
void apply_formats(Program& program, DraftProgram& draft, const ImportOptions& options);

/// Starts `draft.expected` with the facts of inputs and constants.
void expect_given_facts(const Program& program, DraftProgram& draft);

/// Fill, facts and format of a statement's result, its operands being final. Facts that cannot be
/// proved because a sum of finite numbers may overflow are assumed where sparsity depends on them.
/// `stored`: the value leaves its kernel, as one of its type. Where that has no number for the
/// fill, the statement gets a rounding operator.
void infer_statement(Program& program, DraftProgram& draft, Statement& statement,
                     const ImportOptions& options, bool stored);

/// Assumes what is expected of operands, where the analysis of this statement depends on it.
void assume_where_needed(Program& program, const DraftProgram& draft, const Statement& statement);

/// Where a constant's values come from, for a program that only refers to them.
Source constant_source(const Draft& constant, const std::string& name, const DraftProgram& draft,
                       const OnnxModel& model, const ImportOptions& options);

}  // namespace fuseflow
