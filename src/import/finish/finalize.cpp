// Fills, facts, formats, sources and regions.
#include "import/finish/finalize.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "import/finish/broadcasts.h"
#include "import/finish/edge_masks.h"
#include "import/finish/edge_matrix.h"
#include "import/finish/finite_masks.h"
#include "import/finish/fully_masked_rows.h"
#include "import/finish/infer.h"
#include "import/finish/large_integers.h"
#include "import/finish/masked_products.h"
#include "import/finish/nan_guards.h"
#include "import/finish/round_results.h"
#include "import/finish/selections.h"
#include "import/finish/split_dimensions.h"
#include "import/values/evaluate.h"
#include "import/values/indices.h"
#include "ir/inside.h"
#include "support/error.h"
#include "support/stop.h"
#include "support/text.h"

namespace fuseflow {

namespace {

/// A constant's access as a value over the indices that it uses, ordered as in the tensor.
View access_value(const Statement& s, const Expr& access, ElementType type,
                  std::vector<IndexId>& indices) {
  View value;
  value.type = type;
  for (const Index& index : s.indices) value.atoms.push_back(index.extent);
  for (const Subscript& subscript : access.subscripts) {
    for (const auto& [index, c] : subscript.terms) {
      if (std::find(indices.begin(), indices.end(), index) != indices.end()) continue;
      indices.push_back(index);
      value.dims.push_back({index});
    }
  }
  value.nodes = {access};
  return value;
}

bool is_straight(const Statement& s, const Expr& access, const std::vector<int64_t>& shape) {
  std::vector<IndexId> seen;
  for (size_t d = 0; d < shape.size(); ++d) {
    const Subscript& subscript = access.subscripts[d];
    if (!subscript.is_plain()) return false;
    const IndexId index = subscript.plain();
    if (s.indices[static_cast<size_t>(index)].extent != shape[d]) return false;
    if (std::find(seen.begin(), seen.end(), index) != seen.end()) return false;
    seen.push_back(index);
  }
  return true;
}

/// What identifies a view of a constant: the subscripts with indices replaced by their extents.
std::string signature(const Statement& s, const Expr& access) {
  std::vector<IndexId> seen;
  std::string text = std::to_string(access.tensor);
  for (const Subscript& subscript : access.subscripts) {
    text += fmt::format("|{}", subscript.offset);
    for (const auto& [index, c] : subscript.terms) {
      auto at = std::find(seen.begin(), seen.end(), index);
      if (at == seen.end()) at = seen.insert(seen.end(), index);
      text += fmt::format(";{}*{}:{}", c, at - seen.begin(),
                          s.indices[static_cast<size_t>(index)].extent);
    }
  }
  return text;
}

std::string derived_name(const DraftProgram& draft, const std::string& base) {
  // The name itself is that of the tensor it is derived from.
  return unused_name(base, ".", 1, [&](const std::string& name) {
    return name == base || std::any_of(draft.tensors.begin(), draft.tensors.end(),
                                       [&](const Draft& d) { return d.tensor.name == name; });
  });
}

bool same_values(const ConstantTensor& a, const ConstantTensor& b) {
  if (a.type != b.type || a.sparse() || b.sparse() || a.size() != b.size()) return false;
  if (a.integral()) return a.ints() == b.ints();
  return std::equal(a.floats().begin(), a.floats().end(), b.floats().begin(), same_value);
}

std::vector<Extent> extents(const std::vector<int64_t>& shape) {
  std::vector<Extent> result;
  result.reserve(shape.size());
  for (const int64_t e : shape) result.push_back({e, {}});
  return result;
}

/// Regions in the order in which their groups end.
std::vector<Region> regions_of(const DraftProgram& draft, const Program& program) {
  std::map<int, Region> by_group;
  for (const DraftStatement& s : draft.statements) {
    Region& region = by_group[s.group];
    region.statements.push_back(s.statement);
    const auto id = static_cast<size_t>(s.statement.result);
    const std::string& base = draft.tensors[id].base_name;
    region.name = base.empty() ? program.tensors[id].name : base;
  }
  std::vector<Region> regions;
  regions.reserve(by_group.size());
  for (auto& [group, region] : by_group) {
    const auto named = draft.region_names.find(group);
    if (named != draft.region_names.end()) region.name = named->second;
    regions.push_back(std::move(region));
  }
  return regions;
}

/// Removes the tensors that no statement mentions; inputs come first, then constants, then what is
/// computed, in order of definition.
void drop_unused_tensors(DraftProgram& draft) {
  std::vector<TensorId> moved(draft.tensors.size(), -1);
  for (const DraftStatement& s : draft.statements) {
    moved[static_cast<size_t>(s.statement.result)] = 0;
    for (const Expr& node : s.statement.nodes) {
      if (node.kind == Expr::Kind::access) moved[static_cast<size_t>(node.tensor)] = 0;
    }
  }
  std::vector<size_t> order;
  for (size_t t = 0; t < moved.size(); ++t) {
    const Role role = draft.tensors[t].tensor.role;
    if (moved[t] >= 0 && is_given(role)) order.push_back(t);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return draft.tensors[a].tensor.role < draft.tensors[b].tensor.role;
  });
  for (const DraftStatement& s : draft.statements)
    order.push_back(static_cast<size_t>(s.statement.result));
  std::vector<Draft> kept;
  for (const size_t t : order) {
    moved[t] = static_cast<TensorId>(kept.size());
    kept.push_back(std::move(draft.tensors[t]));
  }
  for (Draft& d : kept) {
    if (d.nonzero_if >= 0) d.nonzero_if = moved[static_cast<size_t>(d.nonzero_if)];
  }
  draft.tensors = std::move(kept);
  for (DraftStatement& s : draft.statements) {
    s.statement.result = moved[static_cast<size_t>(s.statement.result)];
    for (Expr& node : s.statement.nodes) {
      if (node.kind == Expr::Kind::access) node.tensor = moved[static_cast<size_t>(node.tensor)];
    }
  }
}

/// Gives every access to a constant plain subscripts, by making constants of slices and reshapes.
void straighten_constants(DraftProgram& draft) {
  std::map<std::string, TensorId> views;
  for (DraftStatement& made : draft.statements) {
    stop_if_asked();
    Statement& s = made.statement;
    for (Expr& node : s.nodes) {
      if (node.kind != Expr::Kind::access) continue;
      const Draft base = draft.tensors[static_cast<size_t>(node.tensor)];
      if (!base.data || is_straight(s, node, base.shape)) continue;
      std::vector<IndexId> indices;
      const View value = access_value(s, node, base.data->type, indices);
      if (value.size() > kMaxFoldedElements) continue;
      const auto [at, fresh] =
          views.emplace(signature(s, node), static_cast<TensorId>(draft.tensors.size()));
      if (fresh) {
        Draft derived;
        derived.tensor = base.tensor;
        derived.tensor.role = Role::constant;
        derived.tensor.source = {};
        derived.tensor.name = derived_name(draft, base.tensor.name);
        derived.shape = value.shape();
        derived.data = evaluate_value(value, [&](TensorId) { return base.data.get(); });
        const bool reshaped = same_values(*derived.data, *base.data);
        if (reshaped) derived.initializer = base.initializer;
        draft.tensors.push_back(std::move(derived));
      }
      node.tensor = at->second;
      node.subscripts.clear();
      for (const IndexId index : indices) node.subscripts.push_back(Subscript{{{index, 1}}, 0});
    }
  }
}

/// Drops indices that no longer occur, and names the others by position: result indices first.
void name_indices(DraftProgram& draft) {
  for (DraftStatement& made : draft.statements) {
    Statement& s = made.statement;
    View view;
    for (const Index& index : s.indices) view.atoms.push_back(index.extent);
    for (const IndexId i : s.result_indices) view.dims.push_back({i});
    s.indices.clear();
    s.result_indices.clear();
    number_indices(s, view);
  }
}

/// States the extents of indices that the shapes of what they access do not tell.
void state_extents(DraftProgram& draft) {
  for (DraftStatement& made : draft.statements) {
    Statement& s = made.statement;
    std::vector<bool> told(s.indices.size(), false);
    for (const IndexId i : s.result_indices) told[static_cast<size_t>(i)] = true;
    for (const Expr& node : s.nodes) {
      for (size_t d = 0; d < node.subscripts.size(); ++d) {
        if (!node.subscripts[d].is_plain()) continue;
        const auto i = static_cast<size_t>(node.subscripts[d].plain());
        told[i] = true;
        if (draft.tensors[static_cast<size_t>(node.tensor)].shape[d] != s.indices[i].extent)
          s.indices[i].stated = true;
      }
    }
    for (size_t i = 0; i < told.size(); ++i) {
      if (!told[i]) s.indices[i].stated = true;
    }
  }
}

/// Notes the tensors that some subscript reads beyond their extents.
void mark_read_outside(DraftProgram& draft) {
  for (const DraftStatement& made : draft.statements) {
    for (const Expr& node : made.statement.nodes) {
      for (size_t d = 0; d < node.subscripts.size(); ++d) {
        Draft& tensor = draft.tensors[static_cast<size_t>(node.tensor)];
        const auto extent_of = [&](IndexId index) {
          return made.statement.indices[static_cast<size_t>(index)].extent;
        };
        if (!stays_inside(node.subscripts[d], tensor.shape[d], extent_of))
          tensor.read_outside = true;
      }
    }
  }
}

}  // namespace

void finalize_structure(DraftProgram& draft) {
  drop_dead_statements(draft);
  edges_to_matrices(draft);
  split_dimensions(draft);
  split_read_at_constants(draft);
  drop_dead_statements(draft);
  drop_broadcasts(draft);
  drop_unit_dimensions(draft);
  straighten_constants(draft);
  drop_unused_tensors(draft);
  name_indices(draft);
  state_extents(draft);
  mark_read_outside(draft);
  for (Draft& d : draft.tensors) {
    if (!d.values || d.values->shape == d.shape) continue;  // the dimensions were not cut
    d.values = d.values->reshaped(d.shape);
  }
}

namespace {

/// The input is declared with other dimensions than its data has: the source says both.
void view_source(Draft& d) {
  // Inline values have no shape of their own. A generator's shape= would contradict the
  // declaration.
  const bool shaped = d.tensor.source.kind != Source::Kind::inline_values;
  auto& params = d.tensor.source.params;
  std::erase_if(params, [](const auto& p) { return p.first == "shape"; });
  if (shaped)
    params.insert(params.begin(),
                  {"from_shape", fmt::format("[{}]", fmt::join(d.bound_shape, ","))});
  const auto rank = static_cast<int>(d.shape.size());
  d.tensor.format = d.tensor.format.all_dense() ? dense_format(rank) : sparse_format(rank);
}

}  // namespace

namespace {

/// Tensors that came into being after the first were finalized.
void add_new_tensors(Program& program, DraftProgram& draft, const OnnxModel& model,
                     const ImportOptions& options) {
  for (size_t t = program.tensors.size(); t < draft.tensors.size(); ++t) {
    Draft& d = draft.tensors[t];
    d.tensor.shape = extents(d.shape);
    program.tensors.push_back(d.tensor);
    if (d.data) finalize_constant(program, draft, t, model, options);
    draft.expected.push_back(program.tensors[t].facts);
  }
}

/// Ranges have served to prove facts of what is computed; those are written, ranges are not.
void drop_ranges(Program& program) {
  for (Tensor& tensor : program.tensors) {
    for (Facts* facts : {&tensor.facts, &tensor.assumed}) {
      facts->least = -std::numeric_limits<float>::infinity();
      facts->largest = std::numeric_limits<float>::infinity();
    }
  }
}

/// Constants that were added late take their place before what is computed; those that masked what
/// needs no mask go, and what no statement computes any more.
void sort_tensors(Program& program, DraftProgram& draft) {
  std::set<TensorId> read, computes;
  for (const DraftStatement& made : draft.statements) {
    computes.insert(made.statement.result);
    for (const Expr& node : made.statement.nodes) {
      if (node.kind == Expr::Kind::access) read.insert(node.tensor);
    }
  }
  std::vector<size_t> order;
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    const auto id = static_cast<TensorId>(t);
    const bool masks = draft.tensors[t].edge_matrix;
    const bool stays =
        program.tensors[t].given() ? !masks || read.contains(id) : computes.contains(id);
    if (stays) order.push_back(t);
  }
  const auto computed = [&](size_t t) { return !program.tensors[t].given(); };
  std::stable_partition(order.begin(), order.end(), [&](size_t t) { return !computed(t); });
  std::vector<TensorId> moved(program.tensors.size(), -1);
  std::vector<Tensor> tensors;
  std::vector<Draft> drafts;
  for (const size_t t : order) {
    moved[t] = static_cast<TensorId>(tensors.size());
    tensors.push_back(std::move(program.tensors[t]));
    drafts.push_back(std::move(draft.tensors[t]));
  }
  program.tensors = std::move(tensors);
  draft.tensors = std::move(drafts);
  for (DraftStatement& made : draft.statements) {
    made.statement.result = moved[static_cast<size_t>(made.statement.result)];
    for (Expr& node : made.statement.nodes) {
      if (node.kind == Expr::Kind::access) node.tensor = moved[static_cast<size_t>(node.tensor)];
    }
  }
}

}  // namespace

Program finalize(DraftProgram draft, const OnnxModel& model, const ImportOptions& options) {
  Program program;
  program.name = model.name;
  program.strategy = "none";
  for (Draft& d : draft.tensors) {
    d.tensor.shape = extents(d.shape);
    if (d.tensor.role == Role::input && d.shape != d.bound_shape) view_source(d);
    if (d.tensor.model_shape == d.shape) d.tensor.model_shape.reset();
    program.tensors.push_back(d.tensor);
  }
  finalize_constants(program, draft, model, options);
  apply_formats(program, draft, options);
  expect_given_facts(program, draft);
  NanGuards guards;
  const std::vector<bool> leaves = leave_their_groups(draft);
  for (size_t s = 0; s < draft.statements.size(); ++s) {
    stop_if_asked();
    if (!guards.drop(program, draft, s)) continue;
    drop_edge_masks(program, draft, draft.statements[s].statement);
    mask_selections(program, draft, draft.statements[s].statement);
    if (widen_finite_mask(draft, s) || guard_fully_masked_rows(program, draft, s))
      add_new_tensors(program, draft, model, options);
    Statement& statement = draft.statements[s].statement;
    const auto result = static_cast<size_t>(statement.result);
    const bool stored =
        program.tensors[result].role == Role::result || (result < leaves.size() && leaves[result]);
    infer_statement(program, draft, statement, options, stored);
  }
  guards.remove_unneeded(draft);
  warn_of_large_integers(program, draft);
  drop_ranges(program);
  sort_tensors(program, draft);
  join_masked_products(program, draft);
  if (options.round_results) round_results(program, draft);
  program.regions = regions_of(draft, program);
  return program;
}

}  // namespace fuseflow
