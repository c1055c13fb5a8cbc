// Names of tensors, regions and indices in the options of passes: as they are, or in quotes as the
// language and all lists print them. What separates names in an option is not looked for in quotes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fuseflow {

/// The name that a part of an option stands for: without blanks around it and a sigil (`%`, `@`)
/// before it, quotes and escapes read.
std::string name_in_option(std::string_view text, char sigil);

/// The first and the last `separator` outside of quotes; npos: there is none.
size_t find_separator(std::string_view text, char separator);
size_t find_last_separator(std::string_view text, char separator);

/// The parts between the separators outside of quotes.
std::vector<std::string> parts_of_option(std::string_view text, char separator);

}  // namespace fuseflow
