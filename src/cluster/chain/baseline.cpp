#include "cluster/chain/baseline.h"

#include "cluster/chain/chain_key.h"
#include "cluster/chain/elementwise_kernel.h"
#include "cluster/chain/product_kernel.h"
#include "cluster/common/memo.h"
#include "cluster/common/timings.h"

namespace fuseflow::cluster {
namespace {

constexpr size_t kMostBytes = size_t{1} << 22;

/// Both branches of a gated chain as one product, whose weights are merged ahead of time; `folded`:
/// it stores what the gate leaves.
ProductSize branches_together(ProductSize one, bool folded) {
  one.n *= 2;
  one.actual[1] *= 2;
  one.pairs = folded;
  return one;
}

Measured measured_unfused(const Chain& chain, const Machine& machine, const Effort& effort,
                          Kernels kernels) {
  const auto [m, n, k, l] = chain.size.value;
  const ElementBytes& bytes = chain.bytes;
  const auto product = [&](const ProductSize& size) {
    return kernels == Kernels::fixed ? fixed_product(size, machine)
                                     : best_product(size, machine, effort);
  };
  SeparateKernels all;
  const auto add = [&](const Measured& kernel) { all.add(kernel, machine); };
  const LaneWork activation = work_of_activation(chain);
  const bool folded = kernels == Kernels::folded;
  const Extents actual = chain.actual();
  ProductSize first{m, n, k};
  first.actual = {actual[Dim::m], actual[Dim::n], actual[Dim::k]};
  first.bias = chain.bias0 > 0;
  first.x_by_threads = chain.by_threads.a;
  first.w_by_threads = chain.by_threads.b;
  first.bytes = {bytes.a, bytes.b, bytes.c, bytes.bias0, bytes.c};
  if (folded) first.each = activation;
  add(product(first));
  if (chain.gated()) {
    ProductSize both = first;
    first.gate = folded;
    first.each = {};
    first.follows = true;  // A was read and the other branch written just before
    add(product(first));
    if (kernels != Kernels::fixed) {
      const Measured together = product(branches_together(both, folded));
      if (together.cycles < all.total.cycles) all = {together, 1};
    }
  }
  if (!folded) {
    const int64_t mn = m * n;
    if (chain.activation != Activation::none) {
      add(elementwise({mn, 1, 1, {bytes.c, bytes.c}, bytes.c, activation}, machine));
    }
    if (chain.gated()) add(elementwise({mn, 2, 2, {bytes.c, bytes.c}, bytes.c, {1, 0}}, machine));
  }
  ProductSize second{m, l, n};
  second.actual = {actual[Dim::m], actual[Dim::l], actual[Dim::n]};
  second.bias = chain.bias1 > 0;
  second.w_by_threads = chain.by_threads.d;
  second.bytes = {bytes.c, bytes.d, bytes.e, bytes.bias1, bytes.e};
  second.follows = true;
  const LaneWork last = work_of_last_activation(chain);
  const bool last_folds = folded && chain.residual == 0;
  if (last_folds) second.each = last;
  add(product(second));
  for (int i = 0; i < chain.residual; ++i) {
    add(elementwise({m * l, 2, 1, {bytes.e, bytes.residual}, bytes.e, {1, 0}}, machine));
  }
  if (chain.last_activation != Activation::none && !last_folds) {
    add(elementwise({m * l, 1, 1, {bytes.e, bytes.e}, bytes.e, last}, machine));
  }
  return all.total;
}

}  // namespace

Measured unfused(const Chain& chain, const Machine& machine, const Effort& effort,
                 Kernels kernels) {
  static Memo<Measured> memo(kMostBytes);
  Key key = search_key(chain, machine, effort);
  key.number(static_cast<int64_t>(kernels));
  return memo.get(key.value(), [&] { return measured_unfused(chain, machine, effort, kernels); });
}

}  // namespace fuseflow::cluster
