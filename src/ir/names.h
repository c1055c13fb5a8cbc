// Names and numbers in the IR's text: when a name must be quoted, how it is escaped, and the
// shortest text of a float that reads back as the same float. Shared by lexer and printers.
#pragma once

#include <string>
#include <string_view>

namespace fuseflow {

/// True if `name` is `[A-Za-z_][A-Za-z0-9_.]*` and so may stand without quotes.
bool is_plain_name(std::string_view name);

/// "name" in double quotes with \" \\ \n \t \r and \xHH for other control characters.
std::string quote(std::string_view name);

/// The name as it is, or quoted where it must be.
std::string quote_if_needed(std::string_view name);

/// Shortest text that parses to the same float: "0.5", "1e-05", "inf", "-inf", "nan".
std::string float_text(float value);

/// True if both are the same constant: equal bits, or both NaN (whose payloads do not count).
bool same_constant(float a, float b);

}  // namespace fuseflow
