#include "cuda/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "chip/copies.h"
#include "chip/fit.h"
#include "chip/forms.h"
#include "cuda/chain.h"
#include "cuda/fit.h"
#include "cuda/print.h"
#include "cuda/product.h"
#include "cuda/reference.h"
#include "cuda/refuse.h"
#include "cuda/rows.h"
#include "cuda/text.h"
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

/// Throws Refused for products of elements that the multiplying instructions do not take.
void check_products(const Graph& graph, const Machine& machine) {
  const int64_t bytes = graph.tiles->element_bytes;
  if (!has_products(graph)) return;
  if (bytes > chip::kMostElementBytes) {
    throw Refused{
        fmt::format("products of elements of {} bytes are not generated: "
                    "`fuseflow-import --type f32` imports a model with smaller ones",
                    bytes)};
  }
  if (bytes < 4 || machine.core.matrix_type_of_f32 == "tf32") return;
  throw Refused{
      fmt::format("products of f32 are generated as tf32, in which machine {} does not multiply "
                  "them (core.matrix_type_of_f32); `fuseflow-import --type f16` imports a model "
                  "with smaller elements",
                  machine.name)};
}

Kernel kernel_of(const Program& program, const Graph& graph, const Machine& machine,
                 const TableRows* table) {
  if (std::string why = chip::why_no_form(graph); !why.empty()) throw Refused{std::move(why)};
  check_products(graph, machine);
  switch (tile_form(graph)) {
    case TileForm::chain:
      return chain_kernel(program, graph, table);
    case TileForm::kernel:
      return product_kernel(program, graph, table);
    case TileForm::rows:
      return rows_kernel(program, graph, machine, table);
  }
  throw Refused{"no such form of tiles"};
}

/// The types of what a kernel multiplies. Of two bytes that of every tile that is loaded for it,
/// and of what it rounds in between, is one. Of one byte each tile has its own: instructions take
/// two types; what is rounded in between is as its tensor is declared, of one type in a kernel.
class ProductTypes {
 public:
  ProductTypes(const Program& program, const Region& region, const Kernel& kernel)
      : program_(program),
        region_(region),
        kernel_(kernel),
        first_(type_of(kernel.loads.front().element.tensor)) {}

  /// Of the matrices that threads write. Throws Refused where there are no instructions.
  ElementType of_held() const {
    for (const Load& load : kernel_.loads) {
      require(load.element.tensor, first_);
      if (load.second_branch && type_of(load.second_branch->tensor) != load.matrix.element)
        refuse(load.second_branch->tensor, load.matrix.element);
    }
    const int64_t bytes = kernel_.graph->tiles->element_bytes;
    if (bytes != element_bytes(first_)) {
      throw Refused{fmt::format("elements of {} bytes between products of {} are not generated",
                                bytes, element_name(first_))};
    }
    std::optional<ElementType> held;
    for (const Statement& s : region_.statements) {
      if (element_bytes(type_of(s.result)) != bytes && !is_factor(s.result)) continue;
      require(s.result, first_);
      if (is_result(s.result)) continue;
      if (held && *held != type_of(s.result)) refuse(s.result, *held);
      held = type_of(s.result);
    }
    if (held || kernel_.held.empty()) return held.value_or(first_);
    for (const Load& load : kernel_.loads) {
      if (load.matrix.element != first_) refuse(load.element.tensor, first_);
    }
    return first_;
  }

 private:
  ElementType type_of(TensorId id) const { return program_.tensors[static_cast<size_t>(id)].type; }
  bool is_result(TensorId id) const {
    return std::any_of(kernel_.results.begin(), kernel_.results.end(),
                       [&](const ElementAt& result) { return result.tensor == id; });
  }
  /// Whether a product of the region takes the tensor as it is: it would be rounded for that.
  bool is_factor(TensorId id) const {
    return std::any_of(
        region_.statements.begin(), region_.statements.end(), [&](const Statement& s) {
          return std::any_of(s.nodes.begin(), s.nodes.end(), [&](const Expr& node) {
            return node.kind == Expr::Kind::reduce && node.reduction == Reduction::sum &&
                   multiplies(s, node.children.front(), id);
          });
        });
  }
  static bool multiplies(const Statement& s, int32_t body, TensorId id) {
    const Expr& product = s.nodes[static_cast<size_t>(body)];
    if (product.kind != Expr::Kind::apply || product.op != Op::mul) return false;
    return std::any_of(product.children.begin(), product.children.end(), [&](int32_t child) {
      const Expr& factor = s.nodes[static_cast<size_t>(child)];
      return (factor.kind == Expr::Kind::access && factor.tensor == id) || multiplies(s, child, id);
    });
  }
  void require(TensorId id, ElementType beside) const {
    const ElementType type = type_of(id);
    const bool both_quarter =
        is_multiplied(type) && element_bytes(type) == 1 && element_bytes(beside) == 1;
    if (type != beside && !both_quarter) refuse(id, beside);
  }
  [[noreturn]] void refuse(TensorId id, ElementType beside) const {
    throw Refused{fmt::format(
        "elements of {} (%{}) beside those of {} in one kernel, expected one type; a kernel of "
        "its own may have another",
        element_name(type_of(id)), program_.tensors[static_cast<size_t>(id)].name,
        element_name(beside))};
  }

  const Program& program_;
  const Region& region_;
  const Kernel& kernel_;
  const ElementType first_;
};

void set_types(const Program& program, const Region& region, Kernel& kernel) {
  if (kernel.loads.empty()) return;
  kernel.element = ProductTypes(program, region, kernel).of_held();
  for (ScratchpadMatrix& held : kernel.held) held.matrix.element = kernel.element;
}

}  // namespace

void mark_gathered(Program& program) {
  for (Region& region : program.regions) {
    if (!region.graph || !region.graph->tiles) continue;
    chip::mark_by_threads(*region.graph, [&](TensorId tensor) {
      return known_shape(program.tensors[static_cast<size_t>(tensor)]);
    });
  }
}

std::vector<Generated> generate(const Program& program, const Machine& machine,
                                const TableRows* table) {
  std::vector<Generated> all;
  for (size_t r = 0; r < program.regions.size(); ++r) {
    const Region& region = program.regions[r];
    if (!region.graph || !region.graph->tiles) continue;
    Generated made;
    made.region = r;
    made.name = kernel_name(region.name, all);
    try {
      made.kernel = kernel_of(program, *region.graph, machine, table);
      made.kernel.name = made.name;
      set_types(program, region, made.kernel);
      fit(made.kernel);
      if (std::string why = why_no_statements(region, tensors_of(made.kernel)); !why.empty())
        throw Refused{std::move(why)};
      made.schedule = kernel_text(program, made.kernel);
    } catch (const Refused& refused) {
      made.refused = refused.reason;
    }
    all.push_back(std::move(made));
  }
  return all;
}

}  // namespace fuseflow::cuda
