#include "cluster/report/kernels_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ir/names.h"
#include "support/diagnostics.h"

namespace fuseflow::cluster {

namespace {

void report_sparse_product(const Program& program, const SparseKernel& kernel) {
  const std::string& operand = program.tensors[static_cast<size_t>(kernel.operand)].name;
  const std::string dense = kernel.dense_cycles > 0
                                ? fmt::format("{} with all of them", kernel.dense_cycles)
                                : std::string("with all of them none fits");
  const char* const tiles = kernel.gathered > 0 ? "columns (by tile of rows)" : "tiles";
  const std::string gathered =
      kernel.gathered > 0 ? fmt::format(", gathered by {}", kernel.gathered) : "";
  report(Severity::note,
         fmt::format("product %{}: {} of {} {} of %{} hold a value{}; {} cycles, {}",
                     quote_if_needed(kernel.result), kernel.present, kernel.tiles, tiles,
                     quote_if_needed(operand), gathered, kernel.cycles, dense));
}

}  // namespace

void report_kernels(const Program& program, const std::vector<RefusedKernel>& refused,
                    const std::vector<SparseKernel>& sparse) {
  for (const RefusedKernel& region : refused) {
    report(Severity::note, fmt::format("region @{} is left to streams: {}",
                                       quote_if_needed(region.region), region.why));
  }
  for (const SparseKernel& kernel : sparse) report_sparse_product(program, kernel);
}

void report_lost_tiles(const Program& program, const Machine& machine,
                       const std::vector<UnprovedProduct>& unproved) {
  const auto name = [&](TensorId t) {
    return quote_if_needed(program.tensors[static_cast<size_t>(t)].name);
  };
  for (const UnprovedProduct& product : unproved) {
    const std::optional<SparseKernel> kernel = if_finite(product, machine);
    if (!kernel) continue;
    const TensorId other = product.sparse.not_finite;
    const bool given = program.tensors[static_cast<size_t>(other)].given();
    const std::string now =
        kernel->dense_cycles > 0 ? fmt::format(" instead of {}", kernel->dense_cycles) : "";
    report(Severity::note,
           fmt::format("product %{}: nothing says that %{} is finite, so it takes all {} tiles of "
                       "%{}, of which {} hold a value: with {}(finite) {} cycles{}",
                       quote_if_needed(kernel->result), name(other), kernel->tiles,
                       name(kernel->operand), kernel->present, given ? "facts" : "assume",
                       kernel->cycles, now));
  }
}

void report_divided(const Program& program, const std::vector<DividedProduct>& products) {
  const auto name = [&](TensorId t) {
    return "%" + quote_if_needed(program.tensors[static_cast<size_t>(t)].name);
  };
  for (const DividedProduct& product : products) {
    std::vector<std::string> operands;
    for (const TensorId t : product.operands) operands.push_back(name(t));
    report(Severity::note,
           fmt::format("product {}: its computed operand{} {} computed once, before "
                       "it, as {}, which is faster",
                       name(product.result), operands.size() == 1 ? "" : "s",
                       operands.size() == 1 ? "is" : "are", fmt::join(operands, " and ")));
  }
}

void report_matrix_type(const Program& program, const Machine& machine) {
  const std::string& type = machine.core.matrix_type_of_f32;
  const auto multiplies_f32 = [](const Region& region) {
    if (!region.graph || !region.graph->tiles || region.graph->tiles->element_bytes != 4)
      return false;
    const std::vector<Node>& nodes = region.graph->nodes;
    return std::any_of(nodes.begin(), nodes.end(),
                       [](const Node& node) { return node.kind == NodeKind::tile_multiply; });
  };
  const auto regions =
      std::count_if(program.regions.begin(), program.regions.end(), multiplies_f32);
  if (type.empty() || regions == 0) return;
  report(Severity::note,
         fmt::format("products of f32 take the time of {} on machine {}, which rounds what is "
                     "multiplied; their values here are of f32 (core.matrix_type_of_f32)",
                     type, machine.name));
}

void report_folded(const Program& program, const std::vector<FoldOutcome>& outcomes) {
  for (const FoldOutcome& o : outcomes) {
    const std::string& name = program.tensors[static_cast<size_t>(o.result)].name;
    const size_t more = o.members.size() - 1;
    report(Severity::note,
           fmt::format("kernel %{} with {} statement{} before it: {} cycles, apart {} in {} "
                       "kernels{}",
                       quote_if_needed(name), more, more == 1 ? "" : "s", o.fused.cycles,
                       o.apart.total.cycles, o.apart.kernels, o.taken ? "" : "; left as they are"));
  }
}

void report_second_products(const Program& program,
                            const std::vector<SecondProductOutcome>& outcomes) {
  for (const SecondProductOutcome& o : outcomes) {
    const std::string& name = program.tensors[static_cast<size_t>(o.result)].name;
    if (!o.why.empty()) {
      report(Severity::note, fmt::format("product after a sparse one, %{}: {}; left as they are",
                                         quote_if_needed(name), o.why));
      continue;
    }
    report(Severity::note,
           fmt::format("product after a sparse one, %{}: {} cycles, its {} kernels apart {}; {} "
                       "bytes of global memory, apart {}{}",
                       quote_if_needed(name), o.fused.cycles, o.apart.kernels, o.apart.total.cycles,
                       o.fused.bytes.global(), o.apart.total.bytes.global(),
                       o.taken ? "" : "; left as they are"));
  }
}

}  // namespace fuseflow::cluster
