// Expressions as values of their own, apart from their statement: what is taken apart and put
// together. Indices of a term are positions in a scope, which terms of several statements share.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace fuseflow {

/// An expression tree. `expr.children` is empty: the operands are in `children`.
struct Term {
  Expr expr;
  std::vector<Term> children;
  bool operator==(const Term&) const = default;
};

/// The indices that terms name, each from one statement.
struct Scope {
  std::vector<Index> indices;
  std::vector<Extent>
      extents;  ///< the same sizes, with the names of dimensions where they have one
  std::vector<int64_t> blocks;  ///< of the dimensions that they run through, 1: none
};

/// Adds the indices of a statement to the scope; gives their places, by IndexId of the statement.
std::vector<IndexId> add_indices(const Program& program, const Statement& statement, Scope& scope);

/// Format::block of a tensor with these indices.
std::vector<int64_t> block_over(const Scope& scope, const std::vector<IndexId>& indices);

/// The expression at a node of the statement; `places`: of its indices in the scope.
Term term_at(const Statement& statement, int32_t node, const std::vector<IndexId>& places);

/// The term with its indices replaced: `places[i]` instead of i.
Term renamed(Term term, const std::vector<IndexId>& places);

Term apply_term(Op op, std::vector<Term> operands);
Term sum_term(std::vector<IndexId> over, Term body);
Term access_term(TensorId tensor, const std::vector<IndexId>& subscripts);

/// Indices that the term uses and does not bind itself, in order of first use.
std::vector<IndexId> free_indices(const Term& term);

/// Whether anything is computed: the term is no access, constant or coordinate.
bool computes(const Term& term);

/// The statement `result[indices] = term`. Names of indices that would occur twice get a number.
Statement statement_of(const Scope& scope, TensorId result, const std::vector<IndexId>& indices,
                       const Term& term);

}  // namespace fuseflow
