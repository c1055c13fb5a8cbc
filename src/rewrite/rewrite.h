// Rewrites: statements and the statements that compute the same instead. A rewrite is a value: what
// it removes, replaces and adds. This folder finds rewrites and applies them; it knows no cost, so
// it chooses none (passes/rewrite.h does). Rules and their conditions: ir-spec/rewrite.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/program.h"

namespace fuseflow {

enum class RewriteKind : uint8_t {
  reassociate,  ///< products of several tensors in another order
  factor,       ///< what a sum does not depend on goes outside of it
  collect,      ///< terms with a common factor become one product
  hoist,        ///< a part that does not depend on all loops around it becomes a statement
  common        ///< a part that occurs in several places is computed once
};
std::string_view rewrite_name(RewriteKind kind);

/// Facts that a tensor has after a rewrite.
struct NewFacts {
  TensorId tensor = -1;
  Facts facts;
  Facts assumed;
};

struct Rewrite {
  RewriteKind kind = RewriteKind::reassociate;
  bool reorders = false;  ///< rounding changes: sums add otherwise than in the given statements
  std::string refused;    ///< why it must not be applied; empty: it may
  std::vector<Tensor> tensors;      ///< added; their ids follow those of the program
  std::vector<Statement> added;     ///< they define `tensors`; each after those that it uses
  TensorId before = -1;             ///< the statement of this tensor is the first that may use them
  std::vector<Statement> replaced;  ///< instead of the statements of the same tensors
  std::vector<TensorId> removed;    ///< intermediates whose statements go
  std::vector<TensorId> left_out;   ///< that stay, since a product would have too many factors
  std::vector<NewFacts> facts;
  std::vector<std::string> assumed;  ///< each assumption as a text
};

/// All rewrites of the program: products, common parts, common factors, then what can be hoisted,
/// which gains least often, each in the order of statements. Each is of the program as it is, so
/// that applying one may make another impossible. `known`: tensors of the program with all that is
/// known of their values (ir/data_facts.h). Regions with graphs are left alone, and indices without
/// a known extent.
std::vector<Rewrite> find_rewrites(const Program& program, const std::vector<Tensor>& known);

/// A statement of several reductions as one for each of them, what is reduced within another one
/// before it: nothing where it has fewer than two, or an extent is not known.
std::optional<Rewrite> divide_reductions(const Program& program, const Statement& statement);

/// A statement whose sum is over a product of computed operands, as `sum(k) relu(x[i, k]) * w[k,
/// j]`, with each of these operands as a statement before it, so that the sum is a product of two
/// tensors as matrices. Nothing where it would be none, or an extent is not known.
std::optional<Rewrite> divide_operands(const Program& program, const Statement& statement);

/// The program with the rewrite. Statements that go, and those that change, are kept in the
/// reference section, unless it has one of that tensor. Schedules of changed regions keep what
/// still applies; `notes`: what does not, a line each.
Program apply_rewrite(const Program& program, const Rewrite& rewrite,
                      std::vector<std::string>& notes);

/// Removes statements of the reference section and tensors that nothing needs, of tensors from
/// `first` on.
void remove_unused(Program& program, TensorId first);

/// The statements that come instead, a line each: `%t[i, j] = ...`.
std::vector<std::string> statement_texts(const Program& program, const Rewrite& rewrite);

}  // namespace fuseflow
