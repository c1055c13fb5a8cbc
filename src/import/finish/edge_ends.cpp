#include "import/finish/edge_ends.h"

#include <algorithm>

namespace fuseflow {

namespace {

/// The one entry of each row (along 0) or column (along 1) of a matrix of bits, if each has one.
std::optional<std::vector<int64_t>> single_entries(const ConstantTensor& bits, size_t along) {
  if (!bits.sparse() || bits.shape.size() != 2) return std::nullopt;
  std::vector<int64_t> place(static_cast<size_t>(bits.shape[along]), -1);
  const ConstantEntries& entries = bits.entries();
  if (entries.positions.size() != place.size()) return std::nullopt;
  for (size_t e = 0; e < place.size(); ++e) {
    const int64_t at[2] = {entries.positions[e] / bits.shape[1],
                           entries.positions[e] % bits.shape[1]};
    int64_t& one = place[static_cast<size_t>(at[along])];
    if (one >= 0 || entries.values[e] != 1) return std::nullopt;
    one = at[1 - along];
  }
  return place;
}

/// The gather or scatter that the reduction in node `n` is.
std::optional<GatherOrScatter> use_at(const DraftProgram& draft, const Statement& s, size_t n) {
  const Expr& reduction = s.nodes[n];
  if (reduction.kind != Expr::Kind::reduce || reduction.over.size() != 1) return std::nullopt;
  const Expr& choice = s.nodes[static_cast<size_t>(reduction.children[0])];
  if (choice.kind != Expr::Kind::apply || choice.op != Op::where) return std::nullopt;
  const Expr& bits = s.nodes[static_cast<size_t>(choice.children[0])];
  const Expr& none = s.nodes[static_cast<size_t>(choice.children[2])];
  if (bits.kind != Expr::Kind::access || bits.subscripts.size() != 2 ||
      none.kind != Expr::Kind::constant || none.constant != identity(reduction.reduction) ||
      reduction.reduction == Reduction::mean)
    return std::nullopt;
  const ConstantTensor* data = draft.tensors[static_cast<size_t>(bits.tensor)].data.get();
  if (data == nullptr || !bits.subscripts[0].is_plain() || !bits.subscripts[1].is_plain())
    return std::nullopt;
  const IndexId reduced = reduction.over[0];
  const size_t summed = bits.subscripts[0].plain() == reduced ? 0 : 1;
  const IndexId kept = bits.subscripts[1 - summed].plain();
  if (bits.subscripts[summed].plain() != reduced || kept == reduced) return std::nullopt;
  GatherOrScatter use;
  use.reduction = static_cast<int32_t>(n);
  use.body = choice.children[1];
  if (uses_index(s, use.body, kept)) return std::nullopt;
  const auto extent_of = [&](IndexId i) { return s.indices[static_cast<size_t>(i)].extent; };
  if (extent_of(reduced) != data->shape[summed] || extent_of(kept) != data->shape[1 - summed])
    return std::nullopt;
  const bool whole = n + 1 == s.nodes.size() && reduction.reduction == Reduction::sum;
  if (whole) {
    if (auto nodes = single_entries(*data, 1 - summed)) {
      use.gathers = true;
      use.edge = kept;
      use.node = reduced;
      use.ends = {std::move(*nodes), data->shape[summed]};
      return use;
    }
  }
  auto nodes = single_entries(*data, summed);
  if (!nodes) return std::nullopt;
  use.edge = reduced;
  use.node = kept;
  use.ends = {std::move(*nodes), data->shape[1 - summed]};
  return use;
}

}  // namespace

bool has_index(const Expr& access, IndexId index) {
  return std::any_of(access.subscripts.begin(), access.subscripts.end(), [&](const Subscript& s) {
    return std::any_of(s.terms.begin(), s.terms.end(),
                       [&](const auto& term) { return term.first == index; });
  });
}

bool uses_index(const Statement& statement, int32_t node, IndexId index) {
  const Expr& e = statement.nodes[static_cast<size_t>(node)];
  if (e.kind == Expr::Kind::coordinate && e.index == index) return true;
  if (has_index(e, index)) return true;
  return std::any_of(e.children.begin(), e.children.end(),
                     [&](int32_t child) { return uses_index(statement, child, index); });
}

std::optional<GatherOrScatter> ends_use(const DraftProgram& draft, const Statement& statement) {
  std::optional<GatherOrScatter> found;
  for (size_t n = 0; n < statement.nodes.size(); ++n) {
    auto use = use_at(draft, statement, n);
    if (!use) continue;
    if (found) return std::nullopt;
    found = std::move(use);
  }
  return found;
}

}  // namespace fuseflow
