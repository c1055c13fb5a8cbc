// Parses one statement, `%t[i, f] = sum(j) %a[i, j] * %x[j, f]`, at the cursor. Internal.
#pragma once

#include <map>
#include <string>

#include "ir/cursor.h"
#include "ir/program.h"

namespace fuseflow::ir {

/// Names of the tensors declared so far.
using TensorNames = std::map<std::string, TensorId, std::less<>>;

/// Resolves a tensor token; records an error with a suggestion and throws Failure if unknown.
TensorId resolve_tensor(Cursor& cursor, const TensorNames& names, const Token& token);

/// At the result's token. Throws Failure after a syntax error; other errors are recorded.
Statement parse_statement(Cursor& cursor, const Program& program, const TensorNames& names);

}  // namespace fuseflow::ir
