// Keys of a machine file that are nested too deeply to be read. Nothing else.
#pragma once

#include <string>
#include <string_view>

namespace fuseflow {

/// The TOML reader makes a table of every part of a dotted key and goes through them by recursion.
/// Throws Error(rejected), with the line, for a key of more parts than any machine key could have.
void check_dotted_keys(std::string_view text, const std::string& file);

}  // namespace fuseflow
