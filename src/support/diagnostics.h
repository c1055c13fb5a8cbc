// Diagnostics as they are shown.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "support/error.h"

namespace fuseflow {

/// Most errors of one list of diagnostics that are shown.
inline constexpr size_t kMaxErrors = 50;

/// Colours of a terminal: of the place, of what kind it is, of the caret.
enum class Colours { off, on };

std::string format(const Diagnostic& diagnostic, Colours colours);

/// All of them, up to kMaxErrors; a last note says how many are left out.
std::string format(const std::vector<Diagnostic>& diagnostics, Colours colours = Colours::off);

/// Prints them to standard error, in colours where that is a terminal (support/terminal.h).
void print(const std::vector<Diagnostic>& diagnostics);

/// Prints lines for people to standard error, unless -q was given. Control characters are shown.
void say(const std::string& text);

}  // namespace fuseflow
