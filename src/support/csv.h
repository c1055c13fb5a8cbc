// Fields of CSV rows (RFC 4180), a row a line.
#pragma once

#include <string>
#include <vector>

namespace fuseflow {

/// What the column `schema` of every CSV holds; rises when a column changes its meaning
/// (ir-spec/csv.md).
inline constexpr int kCsvSchema = 3;

/// Quoted where it must be. Control characters (but tabs) and bytes that are not UTF-8 become \xHH,
/// as in a program's names: a row stays one line, for grep and sort, no name gives orders to a
/// terminal, and csv_fields() gives it back.
std::string csv_field(const std::string& text);
/// Of a message, which is only read: its line ends become spaces.
std::string csv_message(std::string text);
/// The fields of one line; quotes and escapes are taken off.
std::vector<std::string> csv_fields(const std::string& line);

}  // namespace fuseflow
