#include "cluster/kernel_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/names.h"
#include "support/ceil_div.h"
#include "support/text.h"

namespace fuseflow::cluster {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 30;  ///< of a dimension of tiles

using Binding = std::map<IndexId, TileSubscript>;

struct Refused {
  std::string why;
};
[[noreturn]] void refuse(std::string why) {
  throw Refused{std::move(why)};
}

bool same(const TileSubscript& x, const TileSubscript& y) {
  return x.offset == y.offset && x.terms == y.terms;
}

class Builder {
 public:
  Builder(const Program& program, const std::map<TensorId, const Statement*>& folded)
      : program_(program), folded_(folded) {}

  KernelForm build(const Statement& s) {
    form_.result = s.result;
    require_dense(s.result);
    Binding binding;
    for (const IndexId index : s.result_indices) {
      binding[index] = new_digit(s, index, false);
      form_.stored.push_back(binding[index]);
    }
    const int32_t root = term(s, static_cast<int32_t>(s.nodes.size()) - 1, binding);
    if (form_.terms[static_cast<size_t>(root)].kind == KernelTerm::Kind::constant) {
      refuse("it computes a constant, which no tile is loaded for");
    }
    if (root + 1 != static_cast<int32_t>(form_.terms.size())) refuse("it is computed twice");
    reduced_ >= 0 ? settle_reduction() : settle_elementwise();
    check_extents();
    return std::move(form_);
  }

 private:
  const Tensor& tensor(TensorId t) const { return program_.tensors[static_cast<size_t>(t)]; }

  void require_dense(TensorId t) {
    const Tensor& at = tensor(t);
    const bool known = std::all_of(at.shape.begin(), at.shape.end(),
                                   [](const Extent& extent) { return extent.known(); });
    if (!at.format.all_dense() || !known) {
      refuse(fmt::format("%{} is not dense of known shape", quote_if_needed(at.name)));
    }
    const int64_t bytes = element_bytes(at.type);
    form_.element_bytes = sized_ ? std::max(form_.element_bytes, bytes) : bytes;
    sized_ = true;
  }

  int64_t extent_of(const Statement& s, IndexId index) const {
    if (s.indices[static_cast<size_t>(index)].extent >= 0) {
      return s.indices[static_cast<size_t>(index)].extent;
    }
    for (size_t d = 0; d < s.result_indices.size(); ++d) {
      if (s.result_indices[d] == index) return tensor(s.result).shape[d].value;
    }
    for (const Expr& node : s.nodes) {
      if (node.kind != Expr::Kind::access) continue;
      for (size_t d = 0; d < node.subscripts.size(); ++d) {
        if (node.subscripts[d].is_plain() && node.subscripts[d].plain() == index) {
          return tensor(node.tensor).shape[d].value;
        }
      }
    }
    refuse("a loop has no known extent");
  }

  /// A loop of one step is a constant 0.
  TileSubscript new_digit(const Statement& s, IndexId index, bool summed) {
    KernelDigit digit;
    digit.extent = extent_of(s, index);
    digit.summed = summed;
    if (digit.extent < 1) refuse("a loop has no steps");
    TileSubscript at;
    if (digit.extent == 1) return at;
    const auto taken = [&](const std::string& name) {
      return std::any_of(form_.digits.begin(), form_.digits.end(),
                         [&](const KernelDigit& other) { return other.name == name; });
    };
    digit.name = unused_name(s.indices[static_cast<size_t>(index)].name, "_", 1, taken);
    at.terms.emplace_back(static_cast<int>(form_.digits.size()), 1);
    form_.digits.push_back(std::move(digit));
    return at;
  }

  static TileSubscript bound(const Subscript& subscript, const Binding& binding) {
    std::map<int, int64_t> terms;
    TileSubscript at;
    at.offset = subscript.offset;
    for (const auto& [index, factor] : subscript.terms) {
      const TileSubscript& of = binding.at(index);
      int64_t shift = 0;
      if (__builtin_mul_overflow(factor, of.offset, &shift) ||
          __builtin_add_overflow(at.offset, shift, &at.offset)) {
        refuse("a subscript overflows");
      }
      for (const auto& [digit, inner] : of.terms) {
        int64_t product = 0;
        if (__builtin_mul_overflow(factor, inner, &product) ||
            __builtin_add_overflow(terms[digit], product, &terms[digit])) {
          refuse("a subscript overflows");
        }
      }
    }
    for (const auto& [digit, factor] : terms) {
      if (factor != 0) at.terms.emplace_back(digit, factor);
    }
    return at;
  }

  /// Equal parts are one.
  int32_t add(KernelTerm term) {
    for (size_t t = 0; t < form_.terms.size(); ++t) {
      const KernelTerm& other = form_.terms[t];
      const bool equal = other.kind == term.kind && other.tensor == term.tensor &&
                         same_constant(other.constant, term.constant) && other.op == term.op &&
                         other.children == term.children && term.kind != KernelTerm::Kind::reduce &&
                         std::equal(other.subscripts.begin(), other.subscripts.end(),
                                    term.subscripts.begin(), term.subscripts.end(), same);
      if (equal) return static_cast<int32_t>(t);
    }
    form_.terms.push_back(std::move(term));
    return static_cast<int32_t>(form_.terms.size()) - 1;
  }

  int32_t term(const Statement& s, int32_t at, const Binding& binding) {
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
        return reduction(s, node, binding);
      case Expr::Kind::coordinate:
        refuse("it reads a loop's index as a number, which tiles have not");
    }
    refuse("it has a part that no tile stands for");
  }

  int32_t access(const Expr& node, const Binding& binding) {
    KernelTerm load;
    load.kind = KernelTerm::Kind::load;
    load.tensor = node.tensor;
    for (const Subscript& subscript : node.subscripts) {
      load.subscripts.push_back(bound(subscript, binding));
    }
    const auto inside = folded_.find(node.tensor);
    if (inside != folded_.end()) return folded(*inside->second, load.subscripts);
    require_dense(node.tensor);
    return add(std::move(load));
  }

  int32_t folded(const Statement& s, const std::vector<TileSubscript>& at) {
    Binding binding;
    for (size_t d = 0; d < s.result_indices.size(); ++d) binding[s.result_indices[d]] = at[d];
    return term(s, static_cast<int32_t>(s.nodes.size()) - 1, binding);
  }

  int32_t reduction(const Statement& s, const Expr& node, Binding binding) {
    if (reduced_ >= 0 || in_reduction_) refuse("it has two reductions, and a kernel has one");
    in_reduction_ = true;
    for (const IndexId index : node.over) binding[index] = new_digit(s, index, true);
    KernelTerm made;
    made.kind = KernelTerm::Kind::reduce;
    made.reduction = node.reduction;
    made.children = {term(s, node.children[0], binding)};
    in_reduction_ = false;
    return reduced_ = add(std::move(made));
  }

  // --- dimensions --------------------------------------------------------------------------

  std::set<int> digits_of(const KernelTerm& load) const {
    std::set<int> digits;
    for (const TileSubscript& subscript : load.subscripts) {
      for (const auto& [digit, factor] : subscript.terms) digits.insert(digit);
    }
    return digits;
  }

  void settle_reduction() {
    const KernelTerm& reduce = form_.terms[static_cast<size_t>(reduced_)];
    const KernelTerm& body = form_.terms[static_cast<size_t>(reduce.children[0])];
    if (body.kind == KernelTerm::Kind::constant) refuse("it sums a constant");
    if (reduce.reduction == Reduction::sum && settle_product(body)) return;
    for (KernelDigit& digit : form_.digits) digit.dim = digit.summed ? kKernelK : kKernelM;
    check_before_and_after();
    settle_batch(true);
  }

  /// a * b with every summed loop in both, every loop of the result in one of them at least.
  bool settle_product(const KernelTerm& body) {
    if (body.kind != KernelTerm::Kind::map || body.op != Op::mul) return false;
    const KernelTerm& a = form_.terms[static_cast<size_t>(body.children[0])];
    const KernelTerm& b = form_.terms[static_cast<size_t>(body.children[1])];
    if (a.kind != KernelTerm::Kind::load || b.kind != KernelTerm::Kind::load) return false;
    const std::set<int> left = digits_of(a), right = digits_of(b);
    std::vector<KernelDim> dims;
    for (int d = 0; d < static_cast<int>(form_.digits.size()); ++d) {
      const bool in_a = left.count(d) > 0, in_b = right.count(d) > 0;
      const bool summed = form_.digits[static_cast<size_t>(d)].summed;
      if ((summed && !(in_a && in_b)) || (!in_a && !in_b)) return false;
      dims.push_back(summed ? kKernelK : in_a && in_b ? kKernelG : in_a ? kKernelM : kKernelN);
    }
    if (!std::count(dims.begin(), dims.end(), kKernelM) &&
        !std::count(dims.begin(), dims.end(), kKernelN)) {
      return false;
    }
    for (size_t d = 0; d < dims.size(); ++d) form_.digits[d].dim = dims[d];
    form_.product = true;
    return true;
  }

  /// A load cannot stand before and after the reduction in tiles of other dimensions.
  void check_before_and_after() const {
    std::set<int32_t> before;
    std::vector<int32_t> open{form_.terms[static_cast<size_t>(reduced_)].children[0]};
    while (!open.empty()) {
      const int32_t at = open.back();
      open.pop_back();
      before.insert(at);
      const KernelTerm& term = form_.terms[static_cast<size_t>(at)];
      open.insert(open.end(), term.children.begin(), term.children.end());
    }
    for (size_t t = static_cast<size_t>(reduced_) + 1; t < form_.terms.size(); ++t) {
      for (const int32_t child : form_.terms[t].children) {
        const KernelTerm& term = form_.terms[static_cast<size_t>(child)];
        if (before.count(child) && term.kind == KernelTerm::Kind::map) {
          refuse("a part of it is used inside and outside of its reduction");
        }
      }
    }
  }

  void settle_elementwise() {
    for (KernelDigit& digit : form_.digits) digit.dim = kKernelN;
    settle_batch(false);
  }

  /// Of the ways to cut the loops of the result into batch, rows and columns, the one whose loads
  /// take the fewest elements; of equal ones that with the smallest batch, then the fewest rows.
  void settle_batch(bool rows_only) {
    std::vector<size_t> own;
    for (size_t d = 0; d < form_.digits.size(); ++d) {
      if (!form_.digits[d].summed) own.push_back(d);
    }
    double least = -1;
    size_t batch = 0, rows = 0;
    for (size_t g = 0; g <= own.size(); ++g) {
      for (size_t m = rows_only ? own.size() : g; m <= own.size(); ++m) {
        cut(own, g, m);
        const double cost = loaded_elements();
        if (least >= 0 && cost >= least) continue;
        least = cost;
        batch = g;
        rows = m;
      }
    }
    cut(own, batch, rows);
  }

  void cut(const std::vector<size_t>& own, size_t batch, size_t rows) {
    for (size_t i = 0; i < own.size(); ++i) {
      form_.digits[own[i]].dim = i < batch ? kKernelG : i < rows ? kKernelM : kKernelN;
    }
  }

  /// Elements of all loads, by the dimensions along which they differ.
  double loaded_elements() const {
    const KernelSizes sizes = sizes_of(form_);
    double all = 0;
    for (const KernelTerm& term : form_.terms) {
      if (term.kind != KernelTerm::Kind::load) continue;
      std::array<bool, kKernelDims> varies{};
      for (const int digit : digits_of(term)) {
        varies[form_.digits[static_cast<size_t>(digit)].dim] = true;
      }
      double elements = 1;
      for (size_t d = 0; d < varies.size(); ++d) {
        elements *= varies[d] ? static_cast<double>(sizes[d]) : 1;
      }
      all += elements;
    }
    return all;
  }

  void check_extents() const {
    std::array<int64_t, kKernelDims> sizes{1, 1, 1, 1};
    for (const KernelDigit& digit : form_.digits) {
      int64_t& size = sizes[digit.dim];
      if (__builtin_mul_overflow(size, digit.extent, &size) || size > kMostElements / 2) {
        refuse(
            fmt::format("a dimension of its tiles has more than {} elements", kMostElements / 2));
      }
    }
  }

  const Program& program_;
  const std::map<TensorId, const Statement*>& folded_;
  KernelForm form_;
  int32_t reduced_ = -1;
  bool in_reduction_ = false;
  bool sized_ = false;
};

/// Puts a form into a graph.
class Lowering {
 public:
  Lowering(const KernelForm& form, const KernelSizes& block, int64_t copies)
      : form_(form), block_(block), copies_(copies), made_(form.terms.size()) {}

  Graph run() {
    dimensions();
    for (size_t t = 0; t < form_.terms.size(); ++t) {
      if (form_.terms[t].kind == KernelTerm::Kind::reduce) reduced_ = static_cast<int32_t>(t);
    }
    order();
    name_streams(graph_);
    return std::move(graph_);
  }

 private:
  /// Loads and what is before the reduction, the reduction, what follows it, the store.
  void order() {
    const auto root = static_cast<int32_t>(form_.terms.size()) - 1;
    if (reduced_ >= 0) {
      const KernelTerm& reduce = term(reduced_);
      form_.product ? product(reduce) : row_reduction(reduce);
    }
    const std::vector<int> whole = reduced_ >= 0 && !form_.product
                                       ? std::vector<int>{kKernelM}
                                       : std::vector<int>{kKernelM, kKernelN};
    Node store;
    store.kind = NodeKind::tile_store;
    store.inputs = {give(root, whole)};
    store.tensor = form_.result;
    store.subscripts = numbered(form_.stored);
    graph_.nodes.push_back(std::move(store));
  }

  const KernelTerm& term(int32_t t) const { return form_.terms[static_cast<size_t>(t)]; }

  void product(const KernelTerm& reduce) {
    const KernelTerm& body = term(reduce.children[0]);
    const Input a = load(term(body.children[0]), {kKernelM, kKernelK});
    const Input b = load(term(body.children[1]), {kKernelK, kKernelN});
    Node node;
    node.kind = NodeKind::tile_multiply;
    node.inputs = {a, b};
    made_[static_cast<size_t>(reduced_)] = add(std::move(node), {kKernelM, kKernelN}, "c");
  }

  void row_reduction(const KernelTerm& reduce) {
    Node node;
    node.kind = NodeKind::reduce;
    node.inputs = {give(reduce.children[0], {kKernelM, kKernelK})};
    node.reduction = reduce.reduction;
    node.init = identity(reduce.reduction);
    made_[static_cast<size_t>(reduced_)] = add(std::move(node), {kKernelM}, "r");
  }

  /// What a term gives; `dims` are those that its tiles must have, where it is not made yet.
  Input give(int32_t t, const std::vector<int>& dims) {
    std::optional<Input>& made = made_[static_cast<size_t>(t)];
    if (made) return *made;
    const KernelTerm& at = term(t);
    if (at.kind == KernelTerm::Kind::constant) return *(made = Input{-1, at.constant});
    if (at.kind == KernelTerm::Kind::load) return *(made = load(at, dims));
    Node map;
    map.kind = NodeKind::map;
    map.op = at.op;
    for (const int32_t child : at.children) map.inputs.push_back(give(child, natural(child)));
    return *(made_[static_cast<size_t>(t)] = add(std::move(map), dims, "v"));
  }

  /// The dimensions along which a term differs.
  std::vector<int> natural(int32_t t) const {
    std::set<int> dims;
    collect(t, dims);
    return {dims.begin(), dims.end()};
  }

  void collect(int32_t t, std::set<int>& dims) const {
    const KernelTerm& at = term(t);
    if (at.kind == KernelTerm::Kind::reduce) {
      dims.insert(kKernelM);
      if (form_.product) dims.insert(kKernelN);
      return;
    }
    for (const int32_t child : at.children) collect(child, dims);
    for (const TileSubscript& subscript : at.subscripts) {
      for (const auto& [digit, factor] : subscript.terms) {
        const KernelDim dim = form_.digits[static_cast<size_t>(digit)].dim;
        if (dim != kKernelG) dims.insert(dim);
      }
    }
  }

  Input load(const KernelTerm& from, const std::vector<int>& dims) {
    Node node;
    node.kind = NodeKind::tile_load;
    node.tensor = from.tensor;
    node.subscripts = numbered(from.subscripts);
    node.capacity = copies_;
    return add(std::move(node), dims, "x");
  }

  Input add(Node given, const std::vector<int>& dims, std::string name) {
    Stream stream;
    stream.name = std::move(name);
    stream.indices = stream.block = dims;
    stream.producer = static_cast<NodeId>(graph_.nodes.size());
    const auto id = static_cast<StreamId>(graph_.streams.size());
    given.outputs.push_back(id);
    graph_.streams.push_back(std::move(stream));
    graph_.nodes.push_back(std::move(given));
    return {id, 0};
  }

  void dimensions() {
    const KernelSizes sizes = sizes_of(form_);
    number_.assign(form_.digits.size(), -1);
    int next = 0;
    for (size_t d = 0; d < kKernelDims; ++d) {
      GraphIndex index;
      index.name = std::string(1, "mnkg"[d]);
      index.block = block_[d];
      index.size = sizes[d];
      index.extent = ceil_div(index.size, index.block);
      for (size_t i = 0; i < form_.digits.size(); ++i) {
        if (static_cast<size_t>(form_.digits[i].dim) != d) continue;
        number_[i] = next++;
        index.digits.push_back({form_.digits[i].name, form_.digits[i].extent});
      }
      if (index.digits.empty()) {
        index.digits.push_back({unused("one_" + index.name), 1});
        ++next;
      }
      graph_.indices.push_back(std::move(index));
    }
    TileMapping tiles;
    tiles.element_bytes = form_.element_bytes;
    graph_.tiles = std::move(tiles);
  }

  std::string unused(const std::string& name) const {
    return unused_name(name, "_", 1, [&](const std::string& other) {
      return std::any_of(form_.digits.begin(), form_.digits.end(),
                         [&](const KernelDigit& digit) { return digit.name == other; });
    });
  }

  std::vector<TileSubscript> numbered(std::vector<TileSubscript> subscripts) const {
    for (TileSubscript& subscript : subscripts) {
      for (auto& [digit, factor] : subscript.terms) digit = number_[static_cast<size_t>(digit)];
    }
    return subscripts;
  }

  const KernelForm& form_;
  const KernelSizes block_;
  const int64_t copies_;
  Graph graph_;
  std::vector<std::optional<Input>> made_;
  std::vector<int> number_;
  int32_t reduced_ = -1;
};

}  // namespace

std::optional<KernelForm> kernel_form(const Program& program, const Statement& statement,
                                      const std::map<TensorId, const Statement*>& folded,
                                      std::string& why) {
  try {
    return Builder(program, folded).build(statement);
  } catch (const Refused& refused) {
    why = refused.why;
    return std::nullopt;
  }
}

KernelSizes sizes_of(const KernelForm& form) {
  KernelSizes sizes{1, 1, 1, 1};
  for (const KernelDigit& digit : form.digits) {
    int64_t& size = sizes[digit.dim];
    if (__builtin_mul_overflow(size, digit.extent, &size)) size = kMostElements;
  }
  return sizes;
}

Graph kernel_graph(const KernelForm& form, const KernelSizes& block, int64_t copies) {
  return Lowering(form, block, copies).run();
}

}  // namespace fuseflow::cluster
