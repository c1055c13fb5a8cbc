#include "reference/contract.h"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>

namespace fuseflow::reference {

namespace {

std::vector<const View*> pointers(const std::vector<View>& views) {
  std::vector<const View*> result;
  for (const View& view : views) result.push_back(&view);
  return result;
}

/// The loop that runs innermost: the one along which the most factors are contiguous or constant.
IndexId best_inner(const Domain& domain, const std::vector<IndexId>& loops,
                   const std::vector<View>& factors) {
  IndexId best = -1;
  int64_t best_score = -1;
  for (const IndexId loop : loops) {
    int64_t score = std::min<int64_t>(domain.extent[loop], 64);
    for (const View& view : factors) score += view.strides[loop] <= 1 ? 1000 : 0;
    if (score >= best_score) {
      best_score = score;
      best = loop;
    }
  }
  return best;
}

std::vector<IndexId> without(const std::vector<IndexId>& loops, IndexId loop) {
  std::vector<IndexId> result;
  std::copy_if(loops.begin(), loops.end(), std::back_inserter(result),
               [&](IndexId other) { return other != loop; });
  return result;
}

/// acc[v * acc_stride] += scale * product of the factors along the innermost loop.
void add_row(const std::vector<View>& factors, const std::vector<int64_t>& offsets, IndexId inner,
             int64_t extent, double scale, double* acc, int acc_stride) {
  // Split into factors that vary along the row and those that do not.
  const float* rows[2] = {nullptr, nullptr};
  int64_t strides[2] = {0, 0};
  size_t varying = 0;
  for (size_t f = 0; f < factors.size(); ++f) {
    const float* at = factors[f].data + offsets[f];
    if (factors[f].strides[inner] == 0) {
      scale *= *at;
    } else {
      if (varying < 2) {
        rows[varying] = at;
        strides[varying] = factors[f].strides[inner];
      }
      ++varying;
    }
  }
  if (varying == 1 && strides[0] == 1 && acc_stride == 1) {
    for (int64_t v = 0; v < extent; ++v) acc[v] += scale * rows[0][v];
    return;
  }
  // What is infinite times a sum is not the sum of its products: those with 0 are NaN.
  if (varying == 2 && strides[0] == 1 && strides[1] == 1 && acc_stride == 0 &&
      std::isfinite(scale)) {
    double sum = 0;
    for (int64_t v = 0; v < extent; ++v) sum += static_cast<double>(rows[0][v]) * rows[1][v];
    *acc += scale * sum;
    return;
  }
  for (int64_t v = 0; v < extent; ++v) {
    double product = scale;
    for (size_t f = 0; f < factors.size(); ++f) {
      const int64_t stride = factors[f].strides[inner];
      if (stride != 0) product *= factors[f].data[offsets[f] + stride * v];
    }
    acc[v * acc_stride] += product;
  }
}

}  // namespace

Array contract(const Domain& domain, const std::vector<IndexId>& free,
               const std::vector<IndexId>& over, const std::vector<View>& factors, double scale,
               int threads) {
  Array out{free, std::make_shared<std::vector<float>>(domain.size(free), 0.0F)};
  std::vector<IndexId> loops = free;
  loops.insert(loops.end(), over.begin(), over.end());
  View out_view = view_of(out, domain);
  if (out.values->empty()) return out;
  const IndexId inner = best_inner(domain, loops, factors);
  if (inner < 0) {  // no loops at all: one product
    double product = scale;
    for (const View& view : factors) product *= view.data[view.base];
    (*out.values)[0] = static_cast<float>(product);
    return out;
  }
  const bool inner_free = std::find(free.begin(), free.end(), inner) != free.end();
  const int64_t extent = domain.extent[inner];
  const std::vector<IndexId> outer = without(free, inner);
  const std::vector<IndexId> sums = without(over, inner);

  // One task per value of the outermost free loop; each owns its part of the result.
  const IndexId split = outer.empty() ? -1 : outer.front();
  const std::vector<IndexId> rest = split < 0 ? outer : without(outer, split);
  auto task = [&](int64_t at) {
    std::vector<View> local = factors;
    local.push_back(out_view);
    if (split >= 0) {
      for (View& view : local) view.base += view.strides[split] * at;
    }
    std::vector<double> acc(inner_free ? std::max<int64_t>(extent, 1) : 1);
    for_each_point(rest, domain, pointers(local), [&](const std::vector<int64_t>& outside) {
      std::fill(acc.begin(), acc.end(), 0.0);
      std::vector<View> here(local.begin(), local.end() - 1);
      for (size_t f = 0; f < here.size(); ++f) here[f].base = outside[f];
      for_each_point(sums, domain, pointers(here), [&](const std::vector<int64_t>& offsets) {
        add_row(here, offsets, inner, extent, scale, acc.data(), inner_free ? 1 : 0);
      });
      float* result = out.values->data() + outside.back();
      const int64_t stride = out_view.strides[inner];
      const int64_t results = inner_free ? extent : 1;
      for (int64_t v = 0; v < results; ++v) result[v * stride] = static_cast<float>(acc[v]);
    });
  };
  if (split < 0) {
    task(0);
    return out;
  }
  // More than the machine has would be refused with a warning on standard error.
  const int most = tbb::info::default_concurrency();
  tbb::task_arena arena(threads > 0 ? std::min(threads, most) : tbb::task_arena::automatic);
  arena.execute(
      [&] { tbb::parallel_for(int64_t{0}, domain.extent[split], [&](int64_t at) { task(at); }); });
  return out;
}

Array contract_sparse(const Domain& domain, const std::vector<IndexId>& free,
                      const std::vector<IndexId>& over, const SparseFactor& driver,
                      const std::vector<View>& factors, double scale) {
  std::vector<double> sums(domain.size(free), 0.0);
  Array out{free, std::make_shared<std::vector<float>>(sums.size())};
  View out_view = view_of(out, domain);
  const auto bound = [&](IndexId loop) {
    return std::find(driver.subscripts.begin(), driver.subscripts.end(), loop) !=
           driver.subscripts.end();
  };
  std::vector<IndexId> rest;
  for (const auto* loops : {&free, &over}) {
    for (const IndexId loop : *loops) {
      if (!bound(loop)) rest.push_back(loop);
    }
  }
  const IndexId inner = best_inner(domain, rest, factors);
  const std::vector<IndexId> outer = without(rest, inner);
  std::vector<View> here = factors;
  here.push_back(out_view);
  std::vector<View> only_factors = factors;
  std::vector<int64_t> value(domain.extent.size(), -1);

  for_each_stored(*driver.storage, [&](std::span<const int64_t> coords, float entry) {
    for (const IndexId loop : driver.subscripts) value[loop] = -1;
    for (size_t d = 0; d < coords.size(); ++d) {
      const IndexId loop = driver.subscripts[d];
      const int64_t at = coords[d] - domain.first[loop];
      if (at < 0 || at >= domain.extent[loop]) return;    // outside the block
      if (value[loop] >= 0 && value[loop] != at) return;  // off the diagonal
      value[loop] = at;
    }
    for (size_t v = 0; v < here.size(); ++v) {
      const View& view = v < factors.size() ? factors[v] : out_view;
      here[v].base = view.base;
      for (size_t d = 0; d < coords.size(); ++d) {
        const IndexId loop = driver.subscripts[d];
        const bool first_use = std::find(driver.subscripts.begin(), driver.subscripts.begin() + d,
                                         loop) == driver.subscripts.begin() + d;
        if (first_use) here[v].base += view.strides[loop] * value[loop];
      }
    }
    for_each_point(outer, domain, pointers(here), [&](const std::vector<int64_t>& offsets) {
      if (inner < 0) {
        double product = scale * entry;
        for (size_t f = 0; f < factors.size(); ++f) product *= factors[f].data[offsets[f]];
        sums[offsets.back()] += product;
      } else {
        add_row(only_factors, offsets, inner, domain.extent[inner], scale * entry,
                sums.data() + offsets.back(), static_cast<int>(out_view.strides[inner]));
      }
    });
  });
  std::transform(sums.begin(), sums.end(), out.values->begin(),
                 [](double sum) { return static_cast<float>(sum); });
  return out;
}

}  // namespace fuseflow::reference
