#include "cuda/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "cuda/chain.h"
#include "cuda/fit.h"
#include "cuda/print.h"
#include "cuda/product.h"
#include "cuda/refuse.h"
#include "cuda/rows.h"
#include "graph/tiles.h"

namespace fuseflow::cuda {
namespace {

std::string kernel_name(const std::string& region, const std::vector<Generated>& before) {
  std::string name = "k_";
  for (const char c : region) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  const auto taken = [&](const std::string& as) {
    return std::any_of(before.begin(), before.end(),
                       [&](const Generated& g) { return g.name == as; });
  };
  std::string unique = name;
  for (int i = 2; taken(unique); ++i) unique = name + "_" + std::to_string(i);
  return unique;
}

Kernel kernel_of(const Program& program, const Graph& graph, const TableRows* table) {
  switch (tile_form(graph)) {
    case TileForm::chain:
      return chain_kernel(program, graph, table);
    case TileForm::kernel:
      return product_kernel(program, graph, table);
    case TileForm::rows:
      return rows_kernel(program, graph, table);
  }
  throw Refused{"no such form of tiles"};
}

/// The type of what a kernel multiplies: of every tile that is loaded for it, and of what it rounds
/// to two bytes in between.
ElementType product_element(const Program& program, const Region& region, const Kernel& kernel) {
  if (kernel.loads.empty()) return kernel.element;
  const auto type_of = [&](TensorId id) { return program.tensors[static_cast<size_t>(id)].type; };
  const ElementType first = type_of(kernel.loads.front().element.tensor);
  const auto require = [&](TensorId id) {
    if (element_bytes(type_of(id)) != 2 || type_of(id) == first) return;
    throw Refused{fmt::format("elements of {} (%{}) beside those of {} in one kernel",
                              element_name(type_of(id)),
                              program.tensors[static_cast<size_t>(id)].name, element_name(first))};
  };
  for (const Load& load : kernel.loads) require(load.element.tensor);
  for (const Statement& s : region.statements) require(s.result);
  return first;
}

}  // namespace

std::vector<Generated> generate(const Program& program, const TableRows* table) {
  std::vector<Generated> all;
  for (size_t r = 0; r < program.regions.size(); ++r) {
    const Region& region = program.regions[r];
    if (!region.graph || !region.graph->tiles) continue;
    Generated made;
    made.region = r;
    made.name = kernel_name(region.name, all);
    try {
      made.kernel = kernel_of(program, *region.graph, table);
      made.kernel.name = made.name;
      made.kernel.element = product_element(program, region, made.kernel);
      fit(made.kernel);
      made.schedule = kernel_text(program, made.kernel);
    } catch (const Refused& refused) {
      made.refused = refused.reason;
    }
    all.push_back(std::move(made));
  }
  return all;
}

}  // namespace fuseflow::cuda
