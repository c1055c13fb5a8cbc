// Canonical text of programs, statements and graphs. print(parse(x)) is stable, and two equal
// programs have equal texts.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace fuseflow {

/// The version that the first line of a text names.
inline constexpr int kTextVersion = 1;

std::string print_program(const Program& program);

/// The declaration of a tensor on one line, without newline.
std::string print_tensor(const Tensor& tensor);

/// One statement on one line, without newline and without where it comes from: `%y[i] =
/// relu(%x[i])`.
std::string print_statement(const Program& program, const Statement& statement);

/// Facts in canonical order, without implied ones: `finite, nonzero, range(-1, 1)`.
std::string facts_text(const Facts& facts);
/// `join j = locate %b`.
std::string join_line(const Program& program, const Join& join);

/// The settings of a schedule, one a line, without indentation: `order i, j`, `place %t =
/// scratchpad`.
std::vector<std::string> schedule_lines(const Program& program, const Schedule& schedule);

}  // namespace fuseflow
