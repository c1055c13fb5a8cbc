#include "cluster/kernels/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "cluster/common/attach_plan.h"
#include "cluster/kernels/form.h"
#include "cluster/kernels/gathered.h"
#include "cluster/kernels/groups.h"
#include "cluster/kernels/present_tiles.h"
#include "cluster/kernels/tiles.h"
#include "ir/names.h"
#include "sim/tiles/kernel_counts.h"
#include "support/error.h"
#include "support/text.h"

namespace fuseflow::cluster {

namespace {

/// What kernels are made with: the program, and what is known of its data.
struct KernelContext {
  const Program& program;
  const Machine& machine;
  PresenceFinder presence;
  bool fold_products = false;
  std::set<TensorId> as_dense = {};  ///< given tensors that are stored compressed
  std::set<TensorId> by_columns =
      {};                        ///< given tensors whose levels may be stored in another order
  InnermostDims innermost = {};  ///< of tensors that kernels may gather in this order alone
  std::vector<SparseKernel> sparse = {};
  std::vector<UnprovedProduct> unproved = {};
};

std::string name_of(const Program& program, TensorId tensor) {
  return program.tensors[static_cast<size_t>(tensor)].name;
}

std::optional<KernelForm> form_of(const Program& program, const KernelGroup& group,
                                  const std::set<TensorId>& as_dense, std::string& why) {
  auto form = kernel_form(program, *group.root, folded_into(group), why, as_dense);
  if (!form) {
    const std::string name = quote_if_needed(name_of(program, group.root->result));
    why = fmt::format("%{}: {}", name, why);
  }
  return form;
}

/// What a kernel leaves out, as notes on its region.
PlanNotes notes_of(const SparseKernel& kernel, const Program& program, const FastestKernel& fastest,
                   const Machine& machine) {
  const KernelSizes step = kernel_step(fastest.graph);
  PlanNotes notes = {
      {"kind", "sparse product"},
      {"machine", machine.name},
      {"operand", name_of(program, kernel.operand)},
      {"tile", fmt::format("{},{},{}", step[kKernelM], step[kKernelN], step[kKernelK])},
      {"present", fmt::format("{} of {}", kernel.present, kernel.tiles)},
      {"global_bytes", std::to_string(fastest.measured.bytes.global())},
      {"cycles", std::to_string(kernel.cycles)},
      {"dense", kernel.dense_cycles > 0 ? std::to_string(kernel.dense_cycles) : "does not fit"}};
  if (kernel.gathered > 0) notes[0].second = "gathered product";
  return notes;
}

SparseKernel sparse_kernel(const std::string& name, TensorId operand,
                           const FastestKernel& fastest) {
  const TilesPresent tiles = tiles_present(fastest.graph);
  return {name,
          operand,
          tiles.present,
          tiles.all,
          fastest.measured.cycles,
          fastest.dense_cycles,
          gathered_step(fastest.graph),
          fastest.ungathered_cycles};
}

/// The fastest kernel of a form as a region; nothing where no tiles fit.
std::optional<Region> kernel_of(KernelContext& making, const KernelForm& form,
                                const std::string& name) {
  std::optional<SparseForm> gaps = making.presence.form_with_gaps(form);
  KernelForm* const sparse = gaps && gaps->not_finite < 0 ? &gaps->form : nullptr;
  if (sparse != nullptr) {
    sparse->gathered =
        gathered_format(making.program, *sparse, making.by_columns, making.innermost);
  }
  std::optional<FastestKernel> fastest = fastest_kernel(form, making.machine, sparse);
  if (!fastest) return std::nullopt;
  if (gaps && sparse == nullptr) making.unproved.push_back({name, form, std::move(*gaps)});
  Region kernel;
  kernel.name = name;
  if (!fastest->graph.tiles->open.empty()) {
    making.sparse.push_back(sparse_kernel(name, sparse->sparse, *fastest));
    SparseKernel& made = making.sparse.back();
    if (made.gathered > 0) {
      made.stored = sparse->gathered;
      made.innermost = gathered_innermost(making.program, *sparse, *made.stored);
    }
    kernel.plan = notes_of(made, making.program, *fastest, making.machine);
  }
  name_streams(fastest->graph);
  kernel.graph = std::move(fastest->graph);
  return kernel;
}

/// One region for each group; nothing, and the reason, where one has no form.
std::optional<std::vector<Region>> kernels_of(KernelContext& making, size_t region,
                                              std::string& why) {
  std::vector<Region> made;
  const size_t sparse_before = making.sparse.size(), unproved_before = making.unproved.size();
  for (const KernelGroup& group : kernel_groups(making.program, region, making.fold_products)) {
    const std::string name = name_of(making.program, group.root->result);
    const auto form = form_of(making.program, group, making.as_dense, why);
    std::optional<Region> kernel = form ? kernel_of(making, *form, name) : std::nullopt;
    if (!kernel) {
      if (form) why = fmt::format("%{}: no tiles of it fit the machine", quote_if_needed(name));
      making.sparse.resize(sparse_before);  // its kernels are not made after all
      making.unproved.resize(unproved_before);
      return std::nullopt;
    }
    kernel->where = making.program.regions[region].where;
    for (const Statement* s : group.members) kernel->statements.push_back(*s);
    made.push_back(std::move(*kernel));
  }
  made.back().name = making.program.regions[region].name;
  return made;
}

void name_apart(std::vector<Region>& regions) {
  std::set<std::string> names;
  for (Region& region : regions) {
    region.name = unused_name(region.name, "_", 1,
                              [&](const std::string& name) { return names.count(name) != 0; });
    names.insert(region.name);
  }
}

}  // namespace

void store_dense(Program& program) {
  for (const Region& region : program.regions) {
    if (!region.graph || region.graph->tiles) continue;
    throw Error(ExitCode::rejected, region.where,
                fmt::format("region @{} is lowered to streams, which read its tensors by levels; "
                            "expected a program that is not lowered",
                            quote_if_needed(region.name)));
  }
  for (Tensor& tensor : program.tensors) {
    if (!tensor.format.all_dense()) tensor.format = dense_format(tensor.format.rank());
  }
}

namespace {

constexpr int64_t kMostDense = int64_t{1} << 26;  ///< elements of what may be stored dense

/// Is it stored compressed, and not too large to be stored dense?
bool may_be_dense(const Tensor& tensor) {
  const bool known = std::all_of(tensor.shape.begin(), tensor.shape.end(),
                                 [](const Extent& extent) { return extent.known(); });
  return known && !tensor.format.all_dense() && element_count(known_shape(tensor)) <= kMostDense;
}

}  // namespace

void store_temporaries_dense(Program& program) {
  std::set<TensorId> kept;
  for (const Region& region : program.regions) {
    if (!region.graph || region.graph->tiles) continue;
    for (const Node& node : region.graph->nodes) {
      for_tensors(node, [&](TensorId tensor) { kept.insert(tensor); });
    }
  }
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    Tensor& tensor = program.tensors[t];
    if (tensor.role != Role::temporary || kept.count(static_cast<TensorId>(t)) != 0) continue;
    if (may_be_dense(tensor)) tensor.format = dense_format(tensor.format.rank());
  }
}

namespace {

/// Why a region cannot be kernels, whatever its statements; empty: it can.
std::string why_left(const Region& region) {
  if (has_schedule(region)) return "it has a schedule";
  return region.statements.empty() ? "it has no statements" : "";
}

/// Has every statement of the region the form of a kernel, whatever its tiles?
bool has_forms(const KernelContext& making, size_t r) {
  if (!why_left(making.program.regions[r]).empty()) return false;
  for (const KernelGroup& group : kernel_groups(making.program, r, making.fold_products)) {
    std::string why;
    if (!form_of(making.program, group, making.as_dense, why)) return false;
  }
  return true;
}

/// Given tensors that are stored compressed and not too large to be stored dense.
std::set<TensorId> compressed_operands(const Program& program) {
  std::set<TensorId> found;
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    const Tensor& tensor = program.tensors[t];
    if (tensor.given() && may_be_dense(tensor)) found.insert(static_cast<TensorId>(t));
  }
  return found;
}

std::set<TensorId> given_tensors(const Program& program) {
  std::set<TensorId> given;
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    if (program.tensors[t].given()) given.insert(static_cast<TensorId>(t));
  }
  return given;
}

/// Keeps of the tensors to be stored dense those that regions of streams do not read; false where
/// one went.
bool drop_read_by_streams(const Region& region, std::set<TensorId>& as_dense) {
  bool all = true;
  for (const Statement& s : region.statements) {
    for (const Expr& node : s.nodes) {
      if (node.kind == Expr::Kind::access && as_dense.erase(node.tensor) > 0) all = false;
    }
  }
  return all;
}

/// Until no region that stays as it is reads one of them.
void settle_as_dense(KernelContext& making) {
  for (bool again = !making.as_dense.empty() || !making.by_columns.empty(); again;) {
    again = false;
    for (size_t r = 0; r < making.program.regions.size(); ++r) {
      const Region& region = making.program.regions[r];
      const bool streams = region.graph ? !region.graph->tiles : !has_forms(making, r);
      if (!streams) continue;
      if (!drop_read_by_streams(region, making.as_dense)) again = true;
      drop_read_by_streams(region, making.by_columns);
    }
  }
}

struct PlannedRegions {
  std::vector<Region> regions;
  std::vector<RefusedKernel> refused;
};

/// Nothing where a region that has no tiles that fit reads what was to be stored dense, which then
/// is not.
std::optional<PlannedRegions> made_kernels(KernelContext& making) {
  PlannedRegions made;
  for (size_t r = 0; r < making.program.regions.size(); ++r) {
    const Region& region = making.program.regions[r];
    if (region.graph) {
      made.regions.push_back(region);
      continue;
    }
    std::string why = why_left(region);
    std::optional<std::vector<Region>> kernels;
    if (why.empty()) kernels = kernels_of(making, r, why);
    if (kernels) {
      std::move(kernels->begin(), kernels->end(), std::back_inserter(made.regions));
      continue;
    }
    const bool as_dense = drop_read_by_streams(region, making.as_dense);
    if (!drop_read_by_streams(region, making.by_columns) || !as_dense) return std::nullopt;
    made.refused.push_back({region.name, why});
    made.regions.push_back(region);
  }
  return made;
}

/// How operands that are gathered are stored.
std::map<TensorId, Format> stored_by(const std::vector<SparseKernel>& kernels) {
  std::map<TensorId, Format> stored;
  for (const SparseKernel& kernel : kernels) {
    if (kernel.stored) stored[kernel.operand] = *kernel.stored;
  }
  return stored;
}

/// Cycles that gathering an operand saves all of its kernels; nothing where a kernel cannot do
/// without.
std::optional<int64_t> saved_by_gathering(const KernelContext& making, TensorId operand) {
  int64_t saved = 0;
  for (const SparseKernel& kernel : making.sparse) {
    if (kernel.operand != operand || kernel.gathered == 0) continue;
    if (kernel.ungathered_cycles == 0) return std::nullopt;
    saved += kernel.ungathered_cycles - kernel.cycles;
  }
  return saved;
}

/// Lets no kernel gather an input whose copy by columns takes longer than gathering saves; true
/// where there was one. An order that was asked for stays: the caller that asks for it counts what
/// it takes.
bool drop_costly_orders(KernelContext& making, const GivenFormats& given,
                        const InnermostDims& asked) {
  bool dropped = false;
  for (const auto& [tensor, by_columns] : stored_by(making.sparse)) {
    const std::optional<int64_t> saved = saved_by_gathering(making, tensor);
    const auto arrives = given.find(tensor);
    const auto order = asked.find(tensor);
    const bool is_asked = order != asked.end() && order->second == by_columns.mode_order.back();
    if (arrives == given.end() || !saved || is_asked) continue;
    const int64_t paid = reordering_cycles(making.program.tensors[static_cast<size_t>(tensor)],
                                           arrives->second, by_columns, making.machine);
    if (*saved > paid) continue;
    dropped = making.by_columns.erase(tensor) > 0 || dropped;
  }
  return dropped;
}

/// Cycles that gathering saves those kernels that want a tensor in one order, less what its copy in
/// that order takes.
int64_t saved_by_order(const KernelContext& making, TensorId tensor, int innermost,
                       const GivenFormats* given) {
  constexpr int64_t kNotWithout = int64_t{1} << 60;  // no tiles of the kernel fit otherwise
  int64_t saved = 0;
  for (const SparseKernel& kernel : making.sparse) {
    const auto wanted = kernel.innermost.find(tensor);
    if (wanted == kernel.innermost.end() || wanted->second != innermost) continue;
    if (kernel.ungathered_cycles == 0) return kNotWithout;
    saved += kernel.ungathered_cycles - kernel.cycles;
  }
  if (given == nullptr || given->count(tensor) == 0) return saved;
  for (const SparseKernel& kernel : making.sparse) {
    const bool reads =
        kernel.operand == tensor && kernel.stored && kernel.stored->mode_order.back() == innermost;
    if (!reads) continue;
    return saved - reordering_cycles(making.program.tensors[static_cast<size_t>(tensor)],
                                     given->at(tensor), *kernel.stored, making.machine);
  }
  return saved;
}

/// The orders in which kernels gather each tensor.
ContestedOrders wanted_orders(const KernelContext& making) {
  ContestedOrders orders;
  for (const SparseKernel& kernel : making.sparse) {
    for (const auto& [tensor, innermost] : kernel.innermost) orders[tensor].insert(innermost);
  }
  return orders;
}

/// Adds those, and the order that each of the tensors has.
void add_wanted(const KernelContext& making, ContestedOrders& contested) {
  for (const auto& [tensor, orders] : wanted_orders(making)) {
    const Format& has = making.program.tensors[static_cast<size_t>(tensor)].format;
    std::set<int>& all = contested[tensor];
    all.insert(orders.begin(), orders.end());
    all.insert(has.all_dense() ? has.mode_order.back() : has.rank() - 1);
  }
}

/// A tensor is stored once. Of one that kernels gather in several orders the order that saves the
/// most stays; true where there was one.
bool settle_orders(KernelContext& making, const GivenFormats* given) {
  const ContestedOrders orders = wanted_orders(making);
  bool settled = false;
  for (const auto& order : orders) {
    const TensorId tensor = order.first;
    const std::set<int>& wanted = order.second;
    if (wanted.size() < 2) continue;
    making.innermost[tensor] = *std::max_element(wanted.begin(), wanted.end(), [&](int a, int b) {
      return saved_by_order(making, tensor, a, given) < saved_by_order(making, tensor, b, given);
    });
    settled = true;
  }
  return settled;
}

/// What the kernels read as if it were dense is.
void store_read_dense(Program& program, const std::vector<Region>& regions,
                      const std::set<TensorId>& as_dense) {
  for (const Region& region : regions) {
    if (!region.graph) continue;
    for (const Node& node : region.graph->nodes) {
      if (node.kind != NodeKind::tile_load || as_dense.count(node.tensor) == 0) continue;
      Tensor& tensor = program.tensors[static_cast<size_t>(node.tensor)];
      tensor.format = dense_format(tensor.format.rank());
    }
  }
}

/// Given tensors that may be stored dense, or by columns: by all that reads them in the whole
/// program.
void settle_as_whole(KernelContext& making, const Program& whole, const KernelOptions& options) {
  KernelContext all{whole, making.machine, PresenceFinder(whole), options.fold_products};
  if (options.store_operands_dense) all.as_dense = compressed_operands(whole);
  if (options.reorder_operands) all.by_columns = given_tensors(whole);
  settle_as_dense(all);
  making.as_dense = std::move(all.as_dense);
  making.by_columns = std::move(all.by_columns);
}

}  // namespace

std::vector<std::string> regions_with_forms(const Program& program, const Machine& machine,
                                            const KernelOptions& options) {
  KernelContext making{program, machine, PresenceFinder(program), options.fold_products};
  if (options.store_operands_dense) making.as_dense = compressed_operands(program);
  settle_as_dense(making);
  std::vector<std::string> names;
  for (size_t r = 0; r < program.regions.size(); ++r) {
    if (!program.regions[r].graph && has_forms(making, r)) names.push_back(program.regions[r].name);
  }
  return names;
}

bool may_leave_tiles_out(const Program& program, const Program& whole) {
  PresenceFinder presence(whole);
  for (size_t r = 0; r < program.regions.size(); ++r) {
    if (program.regions[r].graph) continue;
    for (const KernelGroup& group : kernel_groups(program, r, false)) {
      std::string why;
      const auto form = form_of(program, group, {}, why);
      if (form && presence.sparse_form(*form)) return true;
    }
  }
  return false;
}

std::vector<RefusedKernel> make_kernels(Program& program, const Machine& machine,
                                        const KernelOptions& options) {
  const Program& whole = options.whole != nullptr ? *options.whole : program;
  KernelContext making{program, machine, PresenceFinder(whole), options.fold_products};
  for (const Region& region : program.regions) {
    if (region.graph) making.innermost.merge(gathered_innermost(program, *region.graph));
  }
  InnermostDims asked = options.orders;
  making.innermost.merge(asked);
  settle_as_whole(making, whole, options);
  ContestedOrders contested;
  std::optional<PlannedRegions> made;
  while (!made) {
    settle_as_dense(making);
    making.sparse.clear();
    making.unproved.clear();
    made = made_kernels(making);
    if (!made) continue;
    add_wanted(making, contested);
    const bool again =
        (options.given != nullptr && drop_costly_orders(making, *options.given, options.orders)) ||
        settle_orders(making, options.given);
    if (again) made.reset();
  }
  store_read_dense(program, made->regions, making.as_dense);
  for (const auto& [tensor, format] : stored_by(making.sparse)) {
    program.tensors[static_cast<size_t>(tensor)].format = format;
  }
  program.regions = std::move(made->regions);
  name_apart(program.regions);
  if (options.sparse != nullptr) *options.sparse = std::move(making.sparse);
  if (options.unproved != nullptr) *options.unproved = std::move(making.unproved);
  std::erase_if(contested, [](const auto& orders) { return orders.second.size() < 2; });
  if (options.contested != nullptr) *options.contested = std::move(contested);
  return std::move(made->refused);
}

std::optional<SparseKernel> if_finite(const UnprovedProduct& product, const Machine& machine) {
  const KernelForm& sparse = product.sparse.form;
  const std::optional<FastestKernel> fastest = fastest_kernel(product.form, machine, &sparse);
  if (!fastest || fastest->graph.tiles->open.empty()) return std::nullopt;
  return sparse_kernel(product.result, sparse.sparse, *fastest);
}

}  // namespace fuseflow::cluster
