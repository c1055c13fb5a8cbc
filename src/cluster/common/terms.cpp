#include "cluster/common/terms.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/names.h"
#include "support/text.h"

namespace fuseflow::cluster {
namespace {

TileSubscript bound_at(const Subscript& subscript, const TermReader::Binding& binding) {
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

/// Why a tensor cannot be read or written in dense tiles, and what would make it so; empty where it
/// is dense and of known shape. `stored_dense`: it will be, whatever is declared.
std::string why_not_dense(const Tensor& tensor, bool stored_dense) {
  const std::string name = "%" + quote_if_needed(tensor.name);
  const bool known = std::all_of(tensor.shape.begin(), tensor.shape.end(),
                                 [](const Extent& extent) { return extent.known(); });
  if (!known) return name + " has an extent that is not known";
  if (stored_dense || tensor.format.all_dense()) return {};
  // The importer infers the formats of what is computed from those of the inputs.
  const std::string at_import = tensor.given() ? "of it" : "of the inputs that it is computed from";
  return fmt::format("{} is not dense; expected --dense, or --format {} at the import", name,
                     at_import);
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

std::optional<int64_t> loop_extent(const Program& program, const Statement& statement,
                                   IndexId index) {
  const int64_t stated = statement.indices[static_cast<size_t>(index)].extent;
  if (stated >= 0) return stated;
  const auto known = [&](TensorId tensor, size_t d) {
    return program.tensors[static_cast<size_t>(tensor)].shape[d].value;
  };
  for (size_t d = 0; d < statement.result_indices.size(); ++d) {
    if (statement.result_indices[d] == index) return known(statement.result, d);
  }
  for (const Expr& node : statement.nodes) {
    if (node.kind != Expr::Kind::access) continue;
    for (size_t d = 0; d < node.subscripts.size(); ++d) {
      const Subscript& at = node.subscripts[d];
      if (at.is_plain() && at.plain() == index) return known(node.tensor, d);
    }
  }
  return std::nullopt;
}

int64_t require_extent(const Program& program, const Statement& statement, IndexId index) {
  const std::optional<int64_t> extent = loop_extent(program, statement, index);
  if (!extent) refuse_kernel("a loop has no known extent");
  return *extent;
}

std::optional<std::array<int32_t, 2>> summed_product(const Statement& s, const Expr& node) {
  if (node.kind != Expr::Kind::reduce || node.reduction != Reduction::sum) return std::nullopt;
  const Expr& body = s.nodes[static_cast<size_t>(node.children[0])];
  if (body.kind != Expr::Kind::apply || body.op != Op::mul) return std::nullopt;
  for (const int32_t child : body.children) {
    if (s.nodes[static_cast<size_t>(child)].kind != Expr::Kind::access) return std::nullopt;
  }
  return {{body.children[0], body.children[1]}};
}

std::string TermReader::name_of(TensorId t) const {
  return "%" + quote_if_needed(tensor(t).name);
}

void TermReader::require_dense(TensorId t) {
  const Tensor& at = tensor(t);
  if (std::string why = why_not_dense(at, as_dense_.count(t) != 0); !why.empty())
    refuse_kernel(std::move(why));
  made_.tensors[t] = {element_bytes(at.type), known_shape(at)};
}

int TermReader::add_digit(const Statement& s, IndexId index, bool summed) {
  KernelDigit digit;
  digit.extent = extent_of(s, index);
  digit.summed = summed;
  if (digit.extent < 1) refuse_kernel("a loop has extent 0");
  const auto taken = [&](const std::string& name) {
    return std::any_of(made_.digits.begin(), made_.digits.end(),
                       [&](const KernelDigit& other) { return other.name == name; });
  };
  digit.name = unused_name(s.indices[static_cast<size_t>(index)].name, "_", 1, taken);
  made_.digits.push_back(std::move(digit));
  return static_cast<int>(made_.digits.size()) - 1;
}

TileSubscript TermReader::new_digit(const Statement& s, IndexId index, bool summed) {
  if (extent_of(s, index) == 1) return {};
  return {{{add_digit(s, index, summed), 1}}, 0};
}

TermReader::Binding TermReader::bind_result(const Statement& s,
                                            std::vector<TileSubscript>& stored) {
  require_dense(s.result);
  Binding binding;
  for (const IndexId index : s.result_indices) {
    binding[index] = new_digit(s, index, false);
    stored.push_back(binding[index]);
  }
  return binding;
}

TermReader::Binding TermReader::bound_results(const Statement& s,
                                              const std::vector<TileSubscript>& at) {
  Binding binding;
  for (size_t d = 0; d < s.result_indices.size(); ++d) binding[s.result_indices[d]] = at[d];
  return binding;
}

KernelTerm TermReader::load_of(const Expr& access, const Binding& binding) {
  KernelTerm load;
  load.kind = KernelTerm::Kind::load;
  load.tensor = access.tensor;
  for (const Subscript& subscript : access.subscripts) {
    load.subscripts.push_back(bound_at(subscript, binding));
  }
  return load;
}

int32_t TermReader::append(KernelTerm term) {
  made_.terms.push_back(std::move(term));
  return static_cast<int32_t>(made_.terms.size()) - 1;
}

int32_t TermReader::add(KernelTerm term) {
  for (size_t t = 0; t < made_.terms.size(); ++t) {
    const KernelTerm& other = made_.terms[t];
    const bool equal = other.kind == term.kind && other.tensor == term.tensor &&
                       same_constant(other.constant, term.constant) && other.op == term.op &&
                       other.children == term.children && term.kind != KernelTerm::Kind::reduce &&
                       other.subscripts == term.subscripts;
    if (equal) return static_cast<int32_t>(t);
  }
  return append(std::move(term));
}

int32_t TermReader::term(const Statement& s, int32_t node, const Binding& binding) {
  const Expr& expr = s.nodes[static_cast<size_t>(node)];
  KernelTerm made;
  switch (expr.kind) {
    case Expr::Kind::access:
      return access(expr, binding);
    case Expr::Kind::constant:
      made.constant = expr.constant;
      return add(std::move(made));
    case Expr::Kind::apply:
      made.kind = KernelTerm::Kind::map;
      made.op = expr.op;
      for (const int32_t child : expr.children) made.children.push_back(term(s, child, binding));
      return add(std::move(made));
    case Expr::Kind::reduce:
      return reduction(s, expr, binding);
    case Expr::Kind::coordinate:
      return coordinate(binding.at(expr.index));
  }
  refuse_kernel("it has a part that no tile stands for");
}

int32_t TermReader::coordinate(const TileSubscript& of) {
  KernelTerm made;
  if (of.terms.empty()) {
    made.constant = static_cast<float>(of.offset);
    return add(std::move(made));
  }
  made.kind = KernelTerm::Kind::coordinate;
  made.subscripts = {of};
  return add(std::move(made));
}

int32_t TermReader::access(const Expr& node, const Binding& binding) {
  KernelTerm read = load_of(node, binding);
  const Statement* computed = inside(read);
  if (computed == nullptr) {
    require_dense(read.tensor);
    return add(std::move(read));
  }
  require_inside(read);
  for (const InlinedStatement& known : inside_) {
    if (known.tensor == read.tensor && known.at == read.subscripts) return known.term;
  }
  const int32_t made = term(*computed, bound_results(*computed, read.subscripts));
  inside_.push_back({read.tensor, std::move(read.subscripts), made});
  return made;
}

void TermReader::require_inside(const KernelTerm& read) const {
  for (size_t d = 0; d < read.subscripts.size(); ++d) {
    const TileSubscript& at = read.subscripts[d];
    auto least = static_cast<double>(at.offset), most = least;
    for (const auto& [digit, factor] : at.terms) {
      const int64_t last = made_.digits[static_cast<size_t>(digit)].extent - 1;
      const double reach = static_cast<double>(factor) * static_cast<double>(last);
      (reach < 0 ? least : most) += reach;
    }
    if (least >= 0 && most < static_cast<double>(tensor(read.tensor).shape[d].value)) continue;
    refuse_kernel(name_of(read.tensor) + ", which it computes, is read outside of its extents");
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
