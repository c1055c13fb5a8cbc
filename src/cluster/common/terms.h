// Expressions of statements as terms over the loops of a kernel: what is loaded where, constants,
// operators, reductions. The one reader of expressions; what a pattern makes of them is its own.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster/common/element_bytes.h"
#include "graph/tile_kernel.h"
#include "ir/program.h"

namespace fuseflow::cluster {

/// A loop of the statements; `dim` is settled when all accesses are known. Those of a chain are m,
/// n, k and l.
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
  StoredTensors tensors;    ///< what is loaded and stored
  bool one_tile_l = false;  ///< there is an index l (graph/tile_kernel.h)
};

/// The loops whose digits the subscripts of a load or a coordinate have.
std::set<int> digits_of(const KernelTerm& load);

constexpr int64_t kMostTileElements = int64_t{1} << 30;  ///< of a dimension of tiles

/// Why statements have no form of tiles: thrown and caught within this folder.
struct NoKernel {
  std::string why;
};
[[noreturn]] void refuse_kernel(std::string why);

/// The form that `build` gives; nothing, and the reason in `why`, where it throws NoKernel.
template <typename Build>
auto form_or_why(std::string& why, const Build& build) -> std::optional<decltype(build())> {
  try {
    return build();
  } catch (const NoKernel& refused) {
    why = refused.why;
    return std::nullopt;
  }
}

/// Steps of a loop: as stated, or those of a tensor that the statement writes or reads at it. -1
/// where that tensor's extent is symbolic; nothing where no tensor has the loop by itself.
std::optional<int64_t> loop_extent(const Program& program, const Statement& statement,
                                   IndexId index);
/// The same; throws NoKernel instead of giving nothing.
int64_t require_extent(const Program& program, const Statement& statement, IndexId index);

/// The two accesses whose products a node sums, as positions in Statement::nodes; nothing where it
/// is no such sum.
std::optional<std::array<int32_t, 2>> summed_product(const Statement& s, const Expr& node);

/// Puts expressions into terms. What has no form throws NoKernel. A pattern says which statements
/// it takes in, and what its reductions are.
class TermReader {
 public:
  /// Where a statement's loops are, in digits.
  using Binding = std::map<IndexId, TileSubscript>;

  TermReader(const TermReader&) = delete;
  TermReader& operator=(const TermReader&) = delete;
  virtual ~TermReader() = default;

 protected:
  explicit TermReader(const Program& program) : program_(program) {}

  /// The statement that computes on the core what is read; null: it is loaded.
  virtual const Statement* inside(const KernelTerm& read) = 0;
  /// The term of a reduction.
  virtual int32_t reduction(const Statement& s, const Expr& node, Binding binding) = 0;
  /// That of a loop's index as a number. A loop of one step is a constant.
  virtual int32_t coordinate(const TileSubscript& of);
  /// Adds a term, or gives the one that is equal.
  virtual int32_t add(KernelTerm term);

  int32_t term(const Statement& s, int32_t node, const Binding& binding);
  /// The term of all that a statement computes.
  int32_t term(const Statement& s, const Binding& binding) {
    return term(s, static_cast<int32_t>(s.nodes.size()) - 1, binding);
  }
  int32_t append(KernelTerm term);
  static KernelTerm load_of(const Expr& access, const Binding& binding);
  const Tensor& tensor(TensorId t) const { return program_.tensors[static_cast<size_t>(t)]; }
  std::string name_of(TensorId tensor) const;  ///< as texts have it: %name
  const KernelTerm& at(int32_t t) const { return made_.terms[static_cast<size_t>(t)]; }

  /// Tensors in tiles are dense, of known shape; those of `as_dense_` as if they were.
  void require_dense(TensorId tensor);
  /// A tensor that is computed on the core is read inside of its extents: outside it has its fill,
  /// not what its statement would give.
  void require_inside(const KernelTerm& read) const;
  int64_t extent_of(const Statement& s, IndexId index) const {
    return require_extent(program_, s, index);
  }
  /// A new loop of a statement, as a digit; and where it is, which is 0 for one of one step.
  int add_digit(const Statement& s, IndexId index, bool summed);
  TileSubscript new_digit(const Statement& s, IndexId index, bool summed);
  /// New loops for the result of the last statement, where `stored` gets the place of an element.
  Binding bind_result(const Statement& s, std::vector<TileSubscript>& stored);
  /// The loops of a statement's result, read at given subscripts.
  static Binding bound_results(const Statement& s, const std::vector<TileSubscript>& at);

  /// What a statement computes, read at some subscripts.
  struct InlinedStatement {
    TensorId tensor = -1;
    std::vector<TileSubscript> at;
    int32_t term = -1;
  };

  const Program& program_;
  KernelTerms made_;
  std::vector<InlinedStatement> inside_;  ///< so far
  std::set<TensorId> as_dense_;

 private:
  int32_t access(const Expr& node, const Binding& binding);
};

/// Elements along each dimension that is walked.
KernelSizes sizes_of(const std::vector<KernelDigit>& digits);

/// Dimensions of tiles have so many elements at most; throws NoKernel.
void check_extents(const std::vector<KernelDigit>& digits);

}  // namespace fuseflow::cluster
