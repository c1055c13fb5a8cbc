// The dense operator chains that the cluster planner works on, as plain data, and the named
// workloads of the evaluation. Nothing about machines, plans or the IR belongs here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/common/element_bytes.h"
#include "graph/cluster_shape.h"
#include "sim/tiles/lanes.h"

namespace fuseflow::cluster {

enum class ChainKind { gemm, gated, conv };
enum class Activation { none, relu, gelu, silu, sigmoid, tanh, other };

/// Parses `none`, `relu`, ...; throws Error(usage) naming the nearest.
Activation parse_activation(std::string_view name);
std::string_view name_of(Activation activation);
/// The operator of an activation, in programs of chains; nothing where there is none. And back: of
/// an operator that is none of them `other`.
std::optional<Op> operator_of(Activation activation);
Activation activation_of(Op op);
std::string_view name_of(ChainKind kind);

/// A chain of two matrix products with something elementwise between them. A gated chain has two
/// first products, A Bg and A Bu, and C = act(A Bg) * (A Bu). A convolution chain is its im2col
/// form: M = output pixels, K = channels in times kernel area, N and L = channels out.
struct Chain {
  std::string name;
  ChainKind kind = ChainKind::gemm;
  Extents size;
  Activation activation = Activation::relu;
  int bias0 = 0;     ///< vectors over N that C takes (a bias; two of a gated chain)
  int bias1 = 0;     ///< vectors over L that E takes
  int residual = 0;  ///< MxL tensors that E takes
  /// The activation of E, after these are added. `none`: E is sums alone, and so may be added up in
  /// memory.
  Activation last_activation = Activation::none;
  ElementBytes bytes = {};
  /// Elementwise work for an element of C, and of E, in the program where the chain was found.
  std::optional<LaneWork> found_work = {}, found_last_work = {};
  /// Of a convolution chain (when known): channels in, height = width, kernel of the first.
  int64_t channels = 0, side = 0, kernel = 1;
  /// Operands whose tiles the threads of each core gather (chip/copies.h), so that none is shared.
  struct ByThreads {
    bool a = false, b = false, d = false;
  } by_threads = {};
  std::optional<Extents> unpadded = {};  ///< `size` before padded() rounded it up

  bool gated() const { return kind == ChainKind::gated; }
  /// C is linear in A and B, so that K may be split where the partial sums meet only in E.
  bool linear() const { return activation == Activation::none && !gated() && bias0 == 0; }
  /// Elements that exist, without padding.
  Extents actual() const { return unpadded.value_or(size); }
  /// Clusters may add to E in memory.
  bool sums_alone() const { return last_activation == Activation::none; }
};

/// Elementwise work for an element of C: all of it, and the part that follows biases and precedes
/// the gate. The same of E, whose residual is added before the activation.
LaneWork work_of_c(const Chain& chain);
LaneWork work_of_activation(const Chain& chain);
LaneWork work_of_e(const Chain& chain);
LaneWork work_of_last_activation(const Chain& chain);

/// Throws Error(usage) unless every extent is in 1 ... 2^24.
void check_chain(const Chain& chain);

Chain gemm_chain(int64_t m, int64_t n, int64_t k, int64_t l, Activation activation);
Chain gated_ffn(int64_t m, int64_t n, int64_t k);
/// Two convolutions of stride 1 that keep height = width = `side`; the second must be 1x1, because
/// a larger one reads neighbouring pixels of C that another block holds.
Chain conv_chain(int64_t channels, int64_t side, int64_t out1, int64_t out2, int64_t kernel1,
                 int64_t kernel2);

/// An extent rounded up to what tiles of powers of two from 16 up can divide: to the largest of 16,
/// 32, 64, 128 that adds at most 1/8 (at most 1/3 where the extent is no multiple of 16; then at
/// least to `unit`).
int64_t padded_extent(int64_t size, int64_t unit = 16);

/// What tiles along a dimension are multiples of: of 32 where products of bytes sum it.
int64_t tile_unit(const Chain& chain, Dim dim);

/// The chain with every extent padded. Padding is zeros; it is computed and moved, and charged.
Chain padded(const Chain& chain);

/// Bytes of global memory that nothing can save: every operand read and every result written once,
/// by one kernel an operator or by one kernel for all. `has_l2`: what a kernel wrote or read, the
/// later ones find in an L2.
int64_t least_bytes(const Chain& chain, bool fused, bool has_l2 = false);

/// G1-G10, S1-S8, C1-C8 in this order.
const std::vector<Chain>& workloads();
/// One of them by name; throws Error(usage) with the nearest name.
Chain workload(std::string_view name);

}  // namespace fuseflow::cluster
