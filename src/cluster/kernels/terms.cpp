#include "cluster/kernels/terms.h"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/common/loop_extent.h"
#include "cluster/common/not_dense.h"
#include "ir/names.h"
#include "support/text.h"

namespace fuseflow::cluster {
namespace {

TileSubscript bound_at(const Subscript& subscript, const TermBuilder::Binding& binding) {
  std::map<int, int64_t> terms;
  TileSubscript at;
  at.offset = subscript.offset;
  for (const auto& [index, factor] : subscript.terms) {
    const TileSubscript& of = binding.at(index);
    int64_t shift = 0;
    if (__builtin_mul_overflow(factor, of.offset, &shift) ||
        __builtin_add_overflow(at.offset, shift, &at.offset)) {
      refuse_kernel("a subscript overflows");
    }
    for (const auto& [digit, inner] : of.terms) {
      int64_t product = 0;
      if (__builtin_mul_overflow(factor, inner, &product) ||
          __builtin_add_overflow(terms[digit], product, &terms[digit])) {
        refuse_kernel("a subscript overflows");
      }
    }
  }
  for (const auto& [digit, factor] : terms) {
    if (factor != 0) at.terms.emplace_back(digit, factor);
  }
  return at;
}

}  // namespace

void refuse_kernel(std::string why) {
  throw NoKernel{std::move(why)};
}

std::set<int> digits_of(const KernelTerm& load) {
  std::set<int> digits;
  for (const TileSubscript& subscript : load.subscripts) {
    for (const auto& [digit, factor] : subscript.terms) digits.insert(digit);
  }
  return digits;
}

void TermBuilder::require_dense(TensorId t) {
  const Tensor& at = tensor(t);
  const bool stored_dense = as_dense_.count(t) != 0;
  if (std::string why = why_not_dense(at, stored_dense); !why.empty())
    refuse_kernel(std::move(why));
  made_.element_bytes[t] = element_bytes(at.type);
}

int64_t TermBuilder::extent_of(const Statement& s, IndexId index) const {
  const std::optional<int64_t> extent = loop_extent(program_, s, index);
  if (!extent) refuse_kernel("a loop has no known extent");
  return *extent;
}

TileSubscript TermBuilder::new_digit(const Statement& s, IndexId index, bool summed) {
  KernelDigit digit;
  digit.extent = extent_of(s, index);
  digit.summed = summed;
  if (digit.extent < 1) refuse_kernel("a loop has extent 0");
  TileSubscript at;
  if (digit.extent == 1) return at;
  const auto taken = [&](const std::string& name) {
    return std::any_of(made_.digits.begin(), made_.digits.end(),
                       [&](const KernelDigit& other) { return other.name == name; });
  };
  digit.name = unused_name(s.indices[static_cast<size_t>(index)].name, "_", 1, taken);
  at.terms.emplace_back(static_cast<int>(made_.digits.size()), 1);
  made_.digits.push_back(std::move(digit));
  return at;
}

TermBuilder::Binding TermBuilder::bind_result(const Statement& s,
                                              std::vector<TileSubscript>& stored) {
  require_dense(s.result);
  Binding binding;
  for (const IndexId index : s.result_indices) {
    binding[index] = new_digit(s, index, false);
    stored.push_back(binding[index]);
  }
  return binding;
}

TermBuilder::Binding TermBuilder::bound_results(const Statement& s,
                                                const std::vector<TileSubscript>& at) {
  Binding binding;
  for (size_t d = 0; d < s.result_indices.size(); ++d) binding[s.result_indices[d]] = at[d];
  return binding;
}

std::vector<TileSubscript> TermBuilder::bound(const Expr& access, const Binding& binding) {
  std::vector<TileSubscript> subscripts;
  for (const Subscript& subscript : access.subscripts) {
    subscripts.push_back(bound_at(subscript, binding));
  }
  return subscripts;
}

int32_t TermBuilder::add(KernelTerm term) {
  for (size_t t = 0; t < made_.terms.size(); ++t) {
    const KernelTerm& other = made_.terms[t];
    const bool equal = other.kind == term.kind && other.tensor == term.tensor &&
                       same_constant(other.constant, term.constant) && other.op == term.op &&
                       other.children == term.children && term.kind != KernelTerm::Kind::reduce &&
                       other.subscripts == term.subscripts;
    if (equal) return static_cast<int32_t>(t);
  }
  made_.terms.push_back(std::move(term));
  return static_cast<int32_t>(made_.terms.size()) - 1;
}

int32_t TermBuilder::term(const Statement& s, int32_t at, const Binding& binding) {
  const Expr& node = s.nodes[static_cast<size_t>(at)];
  KernelTerm made;
  switch (node.kind) {
    case Expr::Kind::access:
      return access(node, binding);
    case Expr::Kind::constant:
      made.kind = KernelTerm::Kind::constant;
      made.constant = node.constant;
      return add(std::move(made));
    case Expr::Kind::apply:
      made.kind = KernelTerm::Kind::map;
      made.op = node.op;
      for (const int32_t child : node.children) made.children.push_back(term(s, child, binding));
      return add(std::move(made));
    case Expr::Kind::reduce:
      return on_reduce_(s, node, binding);
    case Expr::Kind::coordinate:
      return coordinate(binding.at(node.index));
  }
  refuse_kernel("it has a part that no tile stands for");
}

/// A loop of one step is a number.
int32_t TermBuilder::coordinate(const TileSubscript& of) {
  KernelTerm made;
  if (of.terms.empty()) {
    made.constant = static_cast<float>(of.offset);
    return add(std::move(made));
  }
  made.kind = KernelTerm::Kind::coordinate;
  made.subscripts = {of};
  return add(std::move(made));
}

int32_t TermBuilder::access(const Expr& node, const Binding& binding) {
  KernelTerm load;
  load.kind = KernelTerm::Kind::load;
  load.tensor = node.tensor;
  load.subscripts = bound(node, binding);
  if (const Statement* inside = statement_of_(node.tensor)) {
    require_inside(node.tensor, load.subscripts);
    for (const InlinedStatement& known : inside_) {
      if (known.tensor == load.tensor && known.at == load.subscripts) return known.term;
    }
    const int32_t made = term(*inside, static_cast<int32_t>(inside->nodes.size()) - 1,
                              bound_results(*inside, load.subscripts));
    inside_.push_back({load.tensor, std::move(load.subscripts), made});
    return made;
  }
  require_dense(node.tensor);
  return add(std::move(load));
}

void TermBuilder::require_inside(TensorId t, const std::vector<TileSubscript>& at) const {
  const Tensor& read = tensor(t);
  for (size_t d = 0; d < at.size(); ++d) {
    auto least = static_cast<double>(at[d].offset), most = least;
    for (const auto& [digit, factor] : at[d].terms) {
      const int64_t last = made_.digits[static_cast<size_t>(digit)].extent - 1;
      const double reach = static_cast<double>(factor) * static_cast<double>(last);
      (reach < 0 ? least : most) += reach;
    }
    if (least >= 0 && most < static_cast<double>(read.shape[d].value)) continue;
    refuse_kernel(fmt::format("%{}, which it computes, is read outside of its extents",
                              quote_if_needed(read.name)));
  }
}

KernelSizes sizes_of(const std::vector<KernelDigit>& digits) {
  KernelSizes sizes{1, 1, 1, 1};
  for (const KernelDigit& digit : digits) {
    if (digit.dim >= kKernelDims) continue;
    int64_t& size = sizes[digit.dim];
    if (__builtin_mul_overflow(size, digit.extent, &size)) size = kMostTileElements;
  }
  return sizes;
}

void check_extents(const std::vector<KernelDigit>& digits) {
  std::array<int64_t, kKernelDims + 1> sizes{1, 1, 1, 1, 1};
  for (const KernelDigit& digit : digits) {
    int64_t& size = sizes[digit.dim];
    if (__builtin_mul_overflow(size, digit.extent, &size) || size > kMostTileElements / 2) {
      refuse_kernel(
          fmt::format("a dimension of its tiles has more than {} elements", kMostTileElements / 2));
    }
  }
}

}  // namespace fuseflow::cluster
