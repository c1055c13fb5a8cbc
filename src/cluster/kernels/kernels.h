// Kernels apart: every statement by itself as a kernel of tiles (graph/tile_kernel.h), elementwise
// statements of a region that one other reads folded into it. The unfused program as a program.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster/common/given_formats.h"
#include "cluster/kernels/gathered.h"
#include "cluster/kernels/present_tiles.h"
#include "ir/program.h"
#include "machine/machine.h"

namespace fuseflow::cluster {

/// A region that stays as it is, and why.
struct RefusedKernel {
  std::string region;
  std::string why;
};

/// Stores every tensor dense, so that its statements have forms of tiles; what was absent is its
/// fill. Throws Error(rejected) where a region is lowered to streams already, which read levels.
void store_dense(Program& program);

/// Stores what statements compute for each other dense, results and given tensors as they are:
/// cores alone need no other form. What regions of streams that are lowered already read stays, and
/// what is too large.
void store_temporaries_dense(Program& program);

/// A product that leaves out the tiles of an operand that hold no value.
struct SparseKernel {
  std::string result;
  TensorId operand = -1;
  int64_t present = 0, tiles = 0;        ///< tiles of the operand that are taken, of how many
  int64_t cycles = 0, dense_cycles = 0;  ///< its own; of the fastest that takes all (0: none fits)
  int64_t gathered = 0;  ///< rows that a step packs: `tiles` are columns of tiles of rows; or 0
  int64_t ungathered_cycles = 0;      ///< of the fastest that does not gather (0: none fits)
  std::optional<Format> stored = {};  ///< where it gathers: how the operand is stored
  InnermostDims innermost = {};       ///< ... and what both of its operands have innermost
};

/// A product that takes all tiles, though it would leave some out if `sparse.not_finite` were known
/// to be finite.
struct UnprovedProduct {
  std::string result;
  KernelForm form;
  SparseForm sparse;
};

/// The dimensions that kernels would have innermost.
using ContestedOrders = std::map<TensorId, std::set<int>>;

struct KernelOptions {
  /// What is given and stored compressed may be stored dense, where every statement that reads it
  /// becomes a kernel.
  bool store_operands_dense = false;
  /// Given operands may be stored by columns, dense, where their rows are then gathered and every
  /// statement that reads them becomes a kernel.
  bool reorder_operands = false;
  /// How inputs arrive: one is gathered only where that saves more cycles than its copy by columns
  /// takes. Null: every input arrives as kernels read it.
  const GivenFormats* given = nullptr;
  std::vector<SparseKernel>* sparse = nullptr;       ///< gets the products that leave tiles out
  std::vector<UnprovedProduct>* unproved = nullptr;  ///< ... and those that lack a fact for it
  /// Tensors that kernels may gather in this order alone (gathered.h).
  InnermostDims orders = {};
  /// Gets the tensors that kernels would gather in another order than they have, or in several, and
  /// all of these. Which one a tensor is stored in is settled by what it saves these kernels.
  ContestedOrders* contested = nullptr;
  /// Elementwise statements that alone read a product (or a reduction of rows) are one kernel with
  /// it, not one of their own.
  bool fold_products = false;
  /// The program that this is a part of, with the same tensors: its statements prove what values
  /// are. Null: this is all.
  const Program* whole = nullptr;
};

/// Regions without a graph that make_kernels would make kernels of, by the form of their
/// statements: whether tiles of them fit is not looked at.
std::vector<std::string> regions_with_forms(const Program& program, const Machine& machine,
                                            const KernelOptions& options = {});

/// Has a product of the program an operand with tiles without a value? By form and data alone.
bool may_leave_tiles_out(const Program& program, const Program& whole);

/// Gives every region without a graph and without a schedule the form of kernels, one region each,
/// in the order of its statements. A region of which a statement has no such form stays as it is.
/// Of a product with an operand whose data have tiles without a value, these are left out where
/// that is faster.
std::vector<RefusedKernel> make_kernels(Program& program, const Machine& machine,
                                        const KernelOptions& options = {});

/// What the product would be if all were known to be finite; nothing where it would be no faster.
std::optional<SparseKernel> if_finite(const UnprovedProduct& product, const Machine& machine);

}  // namespace fuseflow::cluster
