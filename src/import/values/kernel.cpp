// Alignment of operands and inlining of their views.
#include "import/values/kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/sparsity.h"
#include "support/defect.h"

namespace fuseflow {

namespace {

std::vector<int64_t> atom_extents(const View& value, size_t dim) {
  std::vector<int64_t> result;
  for (const IndexId atom : value.dims[dim])
    result.push_back(value.atoms[static_cast<size_t>(atom)]);
  return result;
}

/// The tree below `root`, without what nothing uses (the body of a reduction over nothing).
std::vector<Expr> reachable(const std::vector<Expr>& nodes, int32_t root) {
  std::vector<bool> used(static_cast<size_t>(root) + 1, false);
  used.back() = true;
  for (size_t n = used.size(); n-- > 0;) {  // parents before children
    if (!used[n]) continue;
    for (const int32_t child : nodes[n].children) used[static_cast<size_t>(child)] = true;
  }
  std::vector<Expr> kept;
  std::vector<int32_t> moved(used.size());
  for (size_t n = 0; n < used.size(); ++n) {
    if (!used[n]) continue;
    moved[n] = static_cast<int32_t>(kept.size());
    kept.push_back(nodes[n]);
    for (int32_t& child : kept.back().children) child = moved[static_cast<size_t>(child)];
  }
  return kept;
}

}  // namespace

int Kernel::operand(const View& value, std::vector<int> labels) {
  if (labels.size() != static_cast<size_t>(value.rank())) {
    throw Error(ExitCode::rejected, fmt::format("{}: an operand has rank {}, expected rank {}",
                                                what_, value.rank(), labels.size()));
  }
  operands_.push_back({value, std::move(labels)});
  return static_cast<int>(operands_.size()) - 1;
}

int Kernel::broadcast(const View& value, int rank) {
  std::vector<int> labels;
  labels.reserve(value.rank());
  for (int d = 0; d < value.rank(); ++d) labels.push_back(rank - value.rank() + d);
  return operand(value, std::move(labels));
}

void Kernel::declare(int label, int64_t extent) {
  factors_[label] = extent == 1 ? std::vector<int64_t>{} : std::vector<int64_t>{extent};
}

void Kernel::align_label(int label, std::vector<int64_t> factors) {
  const auto [at, fresh] = factors_.emplace(label, factors);
  if (fresh || at->second.empty()) {
    at->second = std::move(factors);
    return;
  }
  const auto common = common_refinement(at->second, factors);
  if (!common) {
    int64_t a = 1, b = 1;
    for (const int64_t e : at->second) a *= e;
    for (const int64_t e : factors) b *= e;
    throw Error(
        ExitCode::rejected,
        a != b ? fmt::format("{}: extents {} and {} of the same dimension differ", what_, a, b)
               : fmt::format("{}: a dimension of extent {} is split in two ways that do not divide "
                             "each other",
                             what_, a));
  }
  at->second = *common;
}

void Kernel::align() {
  if (aligned_) return;
  aligned_ = true;
  for (const Operand& o : operands_) {
    for (size_t d = 0; d < o.labels.size(); ++d) {
      auto factors = atom_extents(o.value, d);
      if (!factors.empty())
        align_label(o.labels[d], std::move(factors));
      else
        factors_.emplace(o.labels[d], std::vector<int64_t>{});
    }
  }
  for (const auto& [label, factors] : factors_) {
    for (const int64_t e : factors) {
      indices_[label].push_back(static_cast<IndexId>(extents_.size()));
      extents_.push_back(e);
    }
  }
  for (Operand& o : operands_) {
    for (size_t d = 0; d < o.labels.size(); ++d) {
      if (o.value.dims[d].empty()) continue;
      if (!refine(o.value, static_cast<int>(d), factors_[o.labels[d]])) {
        throw Defect(fmt::format("{}: operands could not be aligned", what_));
      }
    }
  }
}

int32_t Kernel::inline_value(const View& value, const std::vector<Subscript>& map) {
  // map[atom]: what stands for the atom, over the kernel's indices.
  View copy;
  copy.nodes = value.nodes;
  const auto base =
      static_cast<IndexId>(1 << 24);  // keeps old atoms apart from the kernel's indices
  for (Expr& node : copy.nodes) {
    for (Subscript& s : node.subscripts) {
      for (auto& term : s.terms) term.first += base;
    }
    for (IndexId& index : node.over) index += base;
    if (node.kind == Expr::Kind::coordinate) node.index += base;
  }
  for (size_t a = 0; a < value.atoms.size(); ++a)
    substitute(copy, base + static_cast<IndexId>(a), map[a]);
  const auto first = static_cast<int32_t>(nodes_.size());
  for (Expr& node : copy.nodes) {
    for (int32_t& child : node.children) child += first;
    nodes_.push_back(std::move(node));
  }
  return static_cast<int32_t>(nodes_.size()) - 1;
}

int32_t Kernel::use(int operand) {
  align();
  const Operand& o = operands_[static_cast<size_t>(operand)];
  std::vector<Subscript> map(o.value.atoms.size());
  std::vector<bool> bound(o.value.atoms.size(), false);
  for (size_t d = 0; d < o.labels.size(); ++d) {
    for (size_t k = 0; k < o.value.dims[d].size(); ++k) {
      const auto atom = static_cast<size_t>(o.value.dims[d][k]);
      map[atom] = Subscript{{{indices_[o.labels[d]][k], 1}}, 0};
      bound[atom] = true;
    }
  }
  for (const Expr& node : o.value.nodes) {
    for (const IndexId atom : node.over) {
      if (bound[static_cast<size_t>(atom)]) continue;
      bound[static_cast<size_t>(atom)] = true;
      map[static_cast<size_t>(atom)] = Subscript{{{static_cast<IndexId>(extents_.size()), 1}}, 0};
      extents_.push_back(o.value.atoms[static_cast<size_t>(atom)]);
    }
  }
  return inline_value(o.value, map);
}

int32_t Kernel::use_at(const View& value, const std::vector<Subscript>& subscripts) {
  align();
  std::vector<Subscript> map(value.atoms.size());
  for (size_t d = 0; d < value.dims.size(); ++d) {
    if (value.dims[d].size() > 1) throw Defect(what_ + ": a dimension of several atoms");
    if (!value.dims[d].empty()) map[static_cast<size_t>(value.dims[d][0])] = subscripts[d];
  }
  return inline_value(value, map);
}

int32_t Kernel::constant(float value) {
  Expr node;
  node.constant = value;
  nodes_.push_back(node);
  return static_cast<int32_t>(nodes_.size()) - 1;
}

int32_t Kernel::apply(Op op, std::vector<int32_t> children) {
  Expr node;
  node.kind = Expr::Kind::apply;
  node.op = op;
  node.children = std::move(children);
  nodes_.push_back(std::move(node));
  return static_cast<int32_t>(nodes_.size()) - 1;
}

int32_t Kernel::apply_all(Op op, const std::vector<int32_t>& operands) {
  constexpr size_t kRun = 400;
  int32_t all = -1;
  for (size_t begin = 0; begin < operands.size(); begin += kRun) {
    int32_t run = operands[begin];
    for (size_t i = begin + 1; i < std::min(begin + kRun, operands.size()); ++i)
      run = apply(op, {run, operands[i]});
    all = all < 0 ? run : apply(op, {all, run});
  }
  return all;
}

int32_t Kernel::reduce(Reduction reduction, const std::vector<int>& labels, int32_t body) {
  align();
  Expr node;
  node.kind = Expr::Kind::reduce;
  node.reduction = reduction;
  node.children = {body};
  for (const int label : labels) {
    node.over.insert(node.over.end(), indices_[label].begin(), indices_[label].end());
  }
  if (node.over.empty()) return body;  // over extents of 1 only
  for (const IndexId index : node.over) {
    if (extents_[static_cast<size_t>(index)] == 0)
      return constant(reduced_fill(reduction, 0, 0));  // of nothing
  }
  nodes_.push_back(std::move(node));
  return static_cast<int32_t>(nodes_.size()) - 1;
}

IndexId Kernel::index(int label) {
  align();
  const auto& indices = indices_[label];
  if (indices.size() != 1) throw Defect(what_ + ": a label without a single index");
  return indices[0];
}

int64_t Kernel::extent(int label) const {
  int64_t result = 1;
  const auto found = factors_.find(label);
  if (found == factors_.end()) return 1;
  for (const int64_t e : found->second) result *= e;
  return result;
}

int32_t Kernel::scaled_coordinate(IndexId index, int64_t factor) {
  Expr node;
  node.kind = Expr::Kind::coordinate;
  node.index = index;
  nodes_.push_back(node);
  const auto coordinate = static_cast<int32_t>(nodes_.size()) - 1;
  if (factor == 1) return coordinate;
  return apply(Op::mul, {constant(static_cast<float>(factor)), coordinate});
}

int32_t Kernel::coordinate(int label) {
  align();
  int32_t sum = -1;
  int64_t inner = extent(label);
  if (inner == 0) return constant(0);
  for (const IndexId index : indices_[label]) {
    inner /= extents_[static_cast<size_t>(index)];
    const int32_t term = scaled_coordinate(index, inner);
    sum = sum < 0 ? term : apply(Op::add, {sum, term});
  }
  return sum < 0 ? constant(0) : sum;
}

int32_t Kernel::affine(const Subscript& subscript) {
  int32_t sum = constant(static_cast<float>(subscript.offset));
  for (const auto& [index, c] : subscript.terms) {
    sum = apply(Op::add, {sum, scaled_coordinate(index, c)});
  }
  return sum;
}

View Kernel::result(const std::vector<int>& labels, int32_t root, ElementType type) {
  align();
  View value;
  value.type = type;
  value.atoms = extents_;
  for (const int label : labels) {
    value.dims.push_back(label < 0 ? std::vector<IndexId>{} : indices_[label]);
  }
  value.nodes = reachable(nodes_, root);
  return value;
}

}  // namespace fuseflow
