// Expressions of statements as terms over the loops of a kernel: what is loaded where, constants,
// operators, reductions. The part of kernel forms that reads expressions.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cluster/common/element_bytes.h"
#include "graph/tile_kernel.h"
#include "ir/program.h"

namespace fuseflow::cluster {

/// A loop of the statements; `dim` is settled when all accesses are known.
struct KernelDigit {
  std::string name;
  int64_t extent = 1;
  KernelDim dim = kKernelM;
  bool summed = false;  ///< a loop of the reduction
};

/// A part of the expression; children before parents, the result last.
struct KernelTerm {
  enum class Kind : uint8_t { load, constant, map, reduce, coordinate } kind = Kind::constant;
  TensorId tensor = -1;  ///< load
  /// Subscripts of a load; of a coordinate the one that is its value. Over positions in
  /// KernelTerms::digits.
  std::vector<TileSubscript> subscripts;
  float constant = 0;
  Op op = Op::add;
  Reduction reduction = Reduction::sum;
  std::vector<int32_t> children;
};

struct KernelTerms {
  std::vector<KernelDigit> digits;  ///< those of the result first
  std::vector<KernelTerm> terms;
  TensorBytes element_bytes;  ///< of what is loaded and stored
  bool one_tile_l = false;    ///< there is an index l (graph/tile_kernel.h)
};

/// The loops whose digits the subscripts of a load or a coordinate have.
std::set<int> digits_of(const KernelTerm& load);

constexpr int64_t kMostTileElements = int64_t{1} << 30;  ///< of a dimension of tiles

/// Why statements have no form of tiles: thrown and caught within this folder.
struct NoKernel {
  std::string why;
};
[[noreturn]] void refuse_kernel(std::string why);

/// Puts expressions into terms. What has no form throws NoKernel.
class TermBuilder {
 public:
  /// Where a statement's loops are, in digits.
  using Binding = std::map<IndexId, TileSubscript>;
  /// The statement of a tensor that is computed on the core, or null: it is loaded.
  using StatementOf = std::function<const Statement*(TensorId)>;
  /// The term of a reduction.
  using OnReduce = std::function<int32_t(const Statement&, const Expr&, const Binding&)>;

  TermBuilder(const Program& program, StatementOf statement_of, OnReduce on_reduce)
      : program_(program),
        statement_of_(std::move(statement_of)),
        on_reduce_(std::move(on_reduce)) {}

  KernelTerms& made() { return made_; }
  const KernelTerm& at(int32_t t) const { return made_.terms[static_cast<size_t>(t)]; }

  /// Tensors in tiles are dense, of known shape.
  void require_dense(TensorId tensor);
  /// These are as if they were dense.
  void allow(std::set<TensorId> tensors) { as_dense_ = std::move(tensors); }
  /// A new loop of a statement; one of one step is a constant 0.
  TileSubscript new_digit(const Statement& s, IndexId index, bool summed);
  /// New loops for the result of the last statement, where `stored` gets the place of an element.
  Binding bind_result(const Statement& s, std::vector<TileSubscript>& stored);
  /// The loops of a statement's result, read at given subscripts.
  static Binding bound_results(const Statement& s, const std::vector<TileSubscript>& at);
  static std::vector<TileSubscript> bound(const Expr& access, const Binding& binding);
  /// Throws NoKernel where a tensor that is computed on the core is read outside of its extents,
  /// where it has its fill, not what its statement would give.
  void require_inside(TensorId tensor, const std::vector<TileSubscript>& at) const;

  int32_t term(const Statement& s, int32_t at, const Binding& binding);
  int32_t add(KernelTerm term);  ///< equal parts are one
  int64_t extent_of(const Statement& s, IndexId index) const;

 private:
  const Tensor& tensor(TensorId t) const { return program_.tensors[static_cast<size_t>(t)]; }
  int32_t access(const Expr& node, const Binding& binding);
  int32_t coordinate(const TileSubscript& of);

  const Program& program_;
  const StatementOf statement_of_;
  const OnReduce on_reduce_;
  KernelTerms made_;
  /// What a statement computes, read at some subscripts.
  struct InlinedStatement {
    TensorId tensor = -1;
    std::vector<TileSubscript> at;
    int32_t term = -1;
  };
  std::vector<InlinedStatement> inside_;  ///< so far
  std::set<TensorId> as_dense_;
};

/// Elements along each dimension that is walked.
KernelSizes sizes_of(const std::vector<KernelDigit>& digits);

/// Dimensions of tiles have so many elements at most; throws NoKernel.
void check_extents(const std::vector<KernelDigit>& digits);

}  // namespace fuseflow::cluster
