#include "reference/contract.h"

#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>

#include "support/on_threads.h"
#include "support/parallel_for.h"

namespace fuseflow::reference {

namespace {

std::vector<const View*> pointers(const std::vector<View>& views) {
  std::vector<const View*> result;
  result.reserve(views.size());
  for (const View& view : views) result.push_back(&view);
  return result;
}

/// The loop that runs innermost: the one along which the most factors are contiguous or constant.
IndexId best_inner(const Domain& domain, const Loops& loops, const std::vector<View>& factors) {
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

/// acc[v * acc_stride] += product of the factors along the innermost loop.
void add_row(const std::vector<View>& factors, const std::vector<int64_t>& offsets, IndexId inner,
             int64_t extent, double* acc, int acc_stride) {
  double scale = 1;
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

Table contract(const Contraction& of, const std::vector<View>& factors, Watch& watch) {
  const Domain& domain = of.domain;
  const Loops& free = of.free;
  const Loops& over = of.over;
  const auto values = watch.array(domain.size(free));
  Table out = dense_table(domain, free, values);
  if (values->empty()) return out;
  Loops loops = free;
  loops.insert(loops.end(), over.begin(), over.end());
  const IndexId inner = best_inner(domain, loops, factors);
  if (inner < 0) {  // no loops at all: one product
    double product = 1;
    for (const View& view : factors) product *= view.data[view.base];
    (*values)[0] = static_cast<float>(product);
    return out;
  }
  const bool inner_free = contains(free, inner);
  const int64_t extent = domain.extent[inner];
  const Loops outer = without(free, {inner});
  const Loops sums = without(over, {inner});

  // One task per value of the outermost free loop; each owns its part of the result.
  const IndexId split = outer.empty() ? -1 : outer.front();
  const Loops rest = split < 0 ? outer : without(outer, {split});
  auto task = [&](int64_t at) {
    std::vector<View> local = factors;
    local.push_back(out.view());
    if (split >= 0) {
      for (View& view : local) view.base += view.strides[split] * at;
    }
    std::vector<double> acc(inner_free ? std::max<int64_t>(extent, 1) : 1);
    for_each_point(rest, domain, pointers(local), [&](const std::vector<int64_t>& outside) {
      std::fill(acc.begin(), acc.end(), 0.0);
      std::vector<View> here(local.begin(), local.end() - 1);
      for (size_t f = 0; f < here.size(); ++f) here[f].base = outside[f];
      for_each_point(sums, domain, pointers(here), [&](const std::vector<int64_t>& offsets) {
        add_row(here, offsets, inner, extent, acc.data(), inner_free ? 1 : 0);
        watch.tick(extent);
      });
      float* result = values->data() + outside.back();
      const int64_t stride = out.strides[inner];
      const int64_t results = inner_free ? extent : 1;
      for (int64_t v = 0; v < results; ++v) result[v * stride] = static_cast<float>(acc[v]);
    });
  };
  if (split < 0) {
    task(0);
    return out;
  }
  // More than the machine has would be refused with a warning on standard error.
  const int most = allowed_threads(tbb::info::default_concurrency());
  tbb::task_arena arena(of.threads > 0 ? std::min(of.threads, most) : most);
  arena.execute([&] { parallel_for(int64_t{0}, domain.extent[split], task); });
  return out;
}

Table contract_present(const Contraction& of, const Table& driver, const std::vector<View>& factors,
                       Watch& watch) {
  const Domain& domain = of.domain;
  const Pattern& walk = *driver.present;
  // The result is present at the free loops of the walk, or everywhere.
  const Projection seen = project(domain, walk, without(walk.loops, of.over));
  const Loops dense = without(of.free, walk.loops);
  const int64_t row = domain.size(dense);
  const int64_t all = domain.size(of.free);
  const bool everywhere =
      seen.pattern->loops.empty() || !watch.pays(seen.pattern->size() * row, all);
  const auto values = watch.array(everywhere ? all : seen.pattern->size() * row);
  Table out = everywhere ? dense_table(domain, of.free, values)
                         : sparse_table(domain, seen.pattern, dense, values, 0);
  std::vector<double> sums(values->size(), 0.0);

  Loops rest = dense;
  for (const IndexId loop : without(of.over, walk.loops)) rest.push_back(loop);
  std::vector<View> varying = {driver.view()};
  varying.insert(varying.end(), factors.begin(), factors.end());
  const IndexId inner = best_inner(domain, rest, varying);
  const Loops outer = without(rest, {inner});
  std::vector<View> here = varying;
  here.push_back(out.view());
  const std::vector<View> start = here;
  const int64_t work = domain.size(rest);
  std::vector<int64_t> at(domain.extent.size(), 0);

  for (int64_t p = 0; p < walk.size(); ++p) {
    walk.locate(walk.points[p], at);
    for (size_t v = 0; v < here.size(); ++v) {
      here[v].base = start[v].base;
      for (const IndexId loop : walk.loops) here[v].base += start[v].strides[loop] * at[loop];
    }
    here.front().base += p * driver.row;
    if (!everywhere) here.back().base += seen.position[p] * row;
    for_each_point(outer, domain, pointers(here), [&](const std::vector<int64_t>& offsets) {
      if (inner < 0) {
        double product = 1;
        for (size_t f = 0; f < varying.size(); ++f) product *= varying[f].data[offsets[f]];
        sums[offsets.back()] += product;
      } else {
        add_row(varying, offsets, inner, domain.extent[inner], sums.data() + offsets.back(),
                static_cast<int>(out.strides[inner]));
      }
    });
    watch.tick(work);
  }
  std::transform(sums.begin(), sums.end(), values->begin(),
                 [](double sum) { return static_cast<float>(sum); });
  return out;
}

}  // namespace fuseflow::reference
