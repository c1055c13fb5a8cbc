// Words and signs of other languages, and how the IR's text says the same: one table a kind. The
// lexer and the parsers ask here before they say what was expected. Internal to the parser.
#pragma once

#include <span>
#include <string_view>

#include "support/suggest.h"

namespace fuseflow::ir {

/// What other languages call operators and reductions: `ln` is `log`.
std::span<const Foreign> foreign_operators();
/// What other languages begin a declaration with: `output` is `result`.
std::span<const Foreign> foreign_declarations();

/// What to write for a sign that no text of the language has (`^`, `**`, `:=`), which `text` begins
/// with; `there` is empty if it begins with none.
Foreign foreign_sign(std::string_view text);

/// What to write for a character beyond ASCII that looks like one of the language, as editors and
/// papers have it; empty for others.
std::string_view ascii_for(std::string_view character);

/// What was meant by a sign that the language has, but not after an expression; empty for others.
std::string_view meant_after_expression(std::string_view sign);

}  // namespace fuseflow::ir
