// The IR's text to a Program. The language is defined in ir-spec/language.md.
#pragma once

#include "ir/program.h"
#include "support/io.h"

namespace fuseflow {

/// Parses and verifies. Throws Error(rejected) with every error found (up to a limit), each with
/// its place, source line, what was expected and a short example.
Program parse_program(const SourceText& source);

}  // namespace fuseflow
