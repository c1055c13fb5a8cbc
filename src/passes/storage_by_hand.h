// Formats that a user asks for, `--store 'a@y=dense,compressed@1,0'`.
#pragma once

#include <string>

#include "passes/pass.h"

namespace fuseflow {

/// Throws Error(usage) where the text is no request.
void check_store_request(const std::string& text);

/// Lets regions read a tensor as asked for. Throws Error(rejected) where that cannot be.
void store_by_hand(Program& program, const std::string& text, PassLog& log);

}  // namespace fuseflow
