// Rules of a single statement: ranks, bound indices, extents. One implementation serves the parser
// (which knows where each node stands in the text) and the verifier (which knows the statement).
#pragma once

#include <functional>
#include <string>

#include "ir/program.h"

namespace fuseflow {

/// An error at node `node` of the statement; -1 is the left side.
using StatementError = std::function<void(int node, std::string message)>;

/// Expressions nested deeper than this are refused (recursion in every later stage is bounded by
/// it).
inline constexpr int kMaxExpressionDepth = 1000;

/// Sets Index::extent of every index that does not state it, from the result's shape and from the
/// plain accesses; -1 where these are symbolic. Reports indices whose accesses disagree.
void infer_extents(const Program& program, Statement& statement, const StatementError& error);

/// Checks everything else about the statement, whose extents are set.
void check_statement(const Program& program, const Statement& statement,
                     const StatementError& error);

/// The text of an extent: "34", "N" or "N = 34".
std::string extent_text(const Extent& extent);

}  // namespace fuseflow
