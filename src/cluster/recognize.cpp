#include "cluster/recognize.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace fuseflow::cluster {
namespace {

/// A sum of a product of two accesses.
struct Product {
  int32_t left = -1, right = -1;  ///< access nodes of the statement
  std::vector<IndexId> over;
};

/// Where a statement stands.
struct Definition {
  size_t region = 0, statement = 0;
};

/// Everything that tracing C collects.
struct Trace {
  std::set<TensorId> statements;
  std::map<TensorId, std::pair<TensorId, TensorId>> products;  ///< by result: A and B
  std::set<Op> ops;
  int64_t k = 0;
  int multiplies = 0;  ///< outside of the products
  bool bias = false;
  bool windows = false;  ///< A is read through windows: a convolution
};

std::optional<Product> product_of(const Statement& s, const Expr& node) {
  if (node.kind != Expr::Kind::reduce || node.reduction != Reduction::sum) {
    return std::nullopt;
  }
  const Expr& body = s.nodes[static_cast<size_t>(node.children[0])];
  if (body.kind != Expr::Kind::apply || body.op != Op::mul) {
    return std::nullopt;
  }
  for (const int32_t child : body.children) {
    if (s.nodes[static_cast<size_t>(child)].kind != Expr::Kind::access) {
      return std::nullopt;
    }
  }
  return Product{body.children[0], body.children[1], node.over};
}

/// Indices an access reads plainly; empty optional when a subscript is neither plain nor constant
/// or an index comes twice.
std::optional<std::set<IndexId>> plain_indices(const Expr& access) {
  std::set<IndexId> indices;
  for (const Subscript& subscript : access.subscripts) {
    if (subscript.terms.empty()) {
      continue;
    }
    if (!subscript.is_plain() || !indices.insert(subscript.plain()).second) {
      return std::nullopt;
    }
  }
  return indices;
}

/// Every index an access reads, also through windows and strides (`%x[h + kh - 1]`).
std::set<IndexId> all_indices(const Expr& access) {
  std::set<IndexId> indices;
  for (const Subscript& subscript : access.subscripts) {
    for (const auto& [index, coefficient] : subscript.terms) {
      indices.insert(index);
    }
  }
  return indices;
}

class Finder {
 public:
  explicit Finder(const Program& program) : program_(program) {
    for (size_t r = 0; r < program.regions.size(); ++r) {
      const auto& statements = program.regions[r].statements;
      for (size_t i = 0; i < statements.size(); ++i) {
        defined_[statements[i].result] = {r, i};
        for (const Expr& node : statements[i].nodes) {
          if (node.kind == Expr::Kind::access) {
            users_[node.tensor].insert(statements[i].result);
          }
        }
      }
    }
  }

  std::vector<FoundChain> find() {
    std::vector<FoundChain> found;
    for (const Region& region : program_.regions) {
      for (const Statement& statement : region.statements) {
        if (auto chain = chain_ending_at(statement)) {
          taken_.insert(chain->statements.begin(), chain->statements.end());
          found.push_back(std::move(*chain));
        }
      }
    }
    return found;
  }

 private:
  const Statement* statement_of(TensorId tensor) const {
    const auto at = defined_.find(tensor);
    return at == defined_.end()
               ? nullptr
               : &program_.regions[at->second.region].statements[at->second.statement];
  }

  bool dense(TensorId tensor) const {
    const Tensor& t = program_.tensors[static_cast<size_t>(tensor)];
    const bool known = std::all_of(t.shape.begin(), t.shape.end(),
                                   [](const Extent& extent) { return extent.known(); });
    return known && t.format.all_dense();
  }

  static int64_t extent(const Statement& s, IndexId index) {
    return s.indices[static_cast<size_t>(index)].extent;
  }

  int64_t volume(const Statement& s, const std::set<IndexId>& indices) const {
    int64_t product = 1;
    for (const IndexId index : indices) {
      if (__builtin_mul_overflow(product, extent_of(s, index), &product)) {
        return 0;
      }
    }
    return product;
  }

  /// Extent of an index: stated, or of a dimension that it reads or writes plainly.
  int64_t extent_of(const Statement& s, IndexId index) const {
    if (extent(s, index) >= 0) {
      return extent(s, index);
    }
    for (const Expr& node : s.nodes) {
      if (node.kind != Expr::Kind::access) {
        continue;
      }
      for (size_t d = 0; d < node.subscripts.size(); ++d) {
        if (node.subscripts[d].is_plain() && node.subscripts[d].plain() == index) {
          return program_.tensors[static_cast<size_t>(node.tensor)].shape[d].value;
        }
      }
    }
    return 0;
  }

  std::optional<FoundChain> chain_ending_at(const Statement& e) {
    Chain chain;
    const std::optional<Product> second = second_product(e, chain);
    if (!second || !dense(e.result) || second->over.size() != 1) {
      return std::nullopt;
    }
    const IndexId n = second->over.front();
    for (const bool swapped : {false, true}) {
      const Expr& c = e.nodes[static_cast<size_t>(swapped ? second->right : second->left)];
      const Expr& d = e.nodes[static_cast<size_t>(swapped ? second->left : second->right)];
      Trace trace;
      Chain candidate = chain;
      if (fits_second(e, c, d, n, candidate) &&
          trace_c(c.tensor, dimension_of(c, n), candidate.size[Dim::m], trace) &&
          complete(trace, candidate) && trace.statements.count(d.tensor) == 0 &&
          unshared(trace, e.result)) {
        return assemble(e, trace, candidate);
      }
    }
    return std::nullopt;
  }

  /// The product that E's statement adds a bias and a residual to, if that is all it does.
  std::optional<Product> second_product(const Statement& e, Chain& chain) const {
    std::optional<Product> product;
    std::vector<int32_t> todo{static_cast<int32_t>(e.nodes.size()) - 1};
    while (!todo.empty()) {
      const Expr& node = e.nodes[static_cast<size_t>(todo.back())];
      todo.pop_back();
      if (node.kind == Expr::Kind::apply && node.op == Op::add) {
        todo.insert(todo.end(), node.children.begin(), node.children.end());
      } else if (node.kind == Expr::Kind::access && dense(node.tensor)) {
        const auto indices = plain_indices(node);
        if (!indices) {
          return std::nullopt;
        }
        bool& flag = indices->size() > 1 ? chain.residual : chain.bias1;
        if (flag) {
          return std::nullopt;
        }
        flag = true;
      } else if (const auto found = product_of(e, node); found && !product) {
        product = found;
      } else {
        return std::nullopt;
      }
    }
    return product;
  }

  static size_t dimension_of(const Expr& access, IndexId index) {
    for (size_t d = 0; d < access.subscripts.size(); ++d) {
      if (access.subscripts[d].is_plain() && access.subscripts[d].plain() == index) {
        return d;
      }
    }
    return access.subscripts.size();
  }

  /// C reads the rows and N, D reads N and the columns, nothing is read by both but N.
  bool fits_second(const Statement& e, const Expr& c, const Expr& d, IndexId n,
                   Chain& chain) const {
    auto rows = plain_indices(c);
    auto columns = plain_indices(d);
    if (!rows || !columns || !dense(c.tensor) || !dense(d.tensor) || rows->erase(n) == 0 ||
        columns->erase(n) == 0) {
      return false;
    }
    const bool apart = std::none_of(rows->begin(), rows->end(),
                                    [&](IndexId index) { return columns->count(index) != 0; });
    chain.size[Dim::m] = volume(e, *rows);
    chain.size[Dim::l] = volume(e, *columns);
    chain.size[Dim::n] = extent_of(e, n);
    return apart && statement_of(c.tensor) != nullptr && chain.size[Dim::m] > 0 &&
           chain.size[Dim::l] > 0 && chain.size[Dim::n] > 0;
  }

  /// `n_dimension` is the dimension of `tensor` that is N; the others are rows.
  bool trace_c(TensorId tensor, size_t n_dimension, int64_t m, Trace& trace) {
    const Statement* s = statement_of(tensor);
    const Tensor& t = program_.tensors[static_cast<size_t>(tensor)];
    if (s == nullptr || t.role != Role::temporary || !dense(tensor) || taken_.count(tensor) != 0 ||
        n_dimension >= s->result_indices.size()) {
      return false;
    }
    trace.statements.insert(tensor);
    const IndexId n = s->result_indices[n_dimension];
    return trace_node(*s, static_cast<int32_t>(s->nodes.size()) - 1, n, m, trace);
  }

  bool trace_node(const Statement& s, int32_t at, IndexId n, int64_t m, Trace& trace) {
    const Expr& node = s.nodes[static_cast<size_t>(at)];
    switch (node.kind) {
      case Expr::Kind::constant:
        return true;
      case Expr::Kind::coordinate:
        return false;
      case Expr::Kind::reduce:
        return first_product(s, node, n, m, trace);
      case Expr::Kind::access:
        return trace_access(s, node, n, m, trace);
      case Expr::Kind::apply:
        break;
    }
    if (node.op != Op::add) {
      trace.ops.insert(node.op);
      trace.multiplies += node.op == Op::mul ? 1 : 0;
    }
    return std::all_of(node.children.begin(), node.children.end(),
                       [&](int32_t child) { return trace_node(s, child, n, m, trace); });
  }

  /// A vector over N is a bias; anything else must come from the products.
  bool trace_access(const Statement& s, const Expr& node, IndexId n, int64_t m, Trace& trace) {
    auto indices = plain_indices(node);
    if (!indices || indices->erase(n) == 0 || !dense(node.tensor)) {
      return false;
    }
    if (volume(s, *indices) == 1 && m != 1) {
      trace.bias = true;
      return true;
    }
    return volume(s, *indices) == m && trace_c(node.tensor, dimension_of(node, n), m, trace);
  }

  bool first_product(const Statement& s, const Expr& node, IndexId n, int64_t m, Trace& trace) {
    const std::optional<Product> product = product_of(s, node);
    if (!product) {
      return false;
    }
    for (const bool swapped : {false, true}) {
      const Expr& a = s.nodes[static_cast<size_t>(swapped ? product->right : product->left)];
      const Expr& b = s.nodes[static_cast<size_t>(swapped ? product->left : product->right)];
      std::set<IndexId> rows = all_indices(a);
      auto columns = plain_indices(b);
      if (!columns || !dense(a.tensor) || !dense(b.tensor)) {
        continue;
      }
      bool shaped = rows.count(n) == 0 && columns->erase(n) == 1;
      for (const IndexId over : product->over) {
        shaped = shaped && rows.erase(over) == 1 && columns->erase(over) == 1;
      }
      shaped = shaped && columns->empty() && volume(s, rows) == m;
      const int64_t k = volume(s, {product->over.begin(), product->over.end()});
      if (shaped && k > 0 && (trace.k == 0 || trace.k == k)) {
        trace.k = k;
        trace.windows = trace.windows || !plain_indices(a);
        trace.products[s.result] = {a.tensor, b.tensor};
        return true;
      }
    }
    return false;
  }

  static Activation activation_of(const Trace& trace, bool gated) {
    std::set<Op> rest = trace.ops;
    if (gated && trace.multiplies == 1) {
      rest.erase(Op::mul);  // the gate itself, not x * sigmoid(x)
    }
    const auto is = [&](std::set<Op> wanted) { return rest == wanted; };
    if (rest.empty()) {
      return Activation::none;
    }
    if (is({Op::silu}) || is({Op::sigmoid, Op::mul})) {
      return Activation::silu;
    }
    if (is({Op::gelu}) || is({Op::gelu_tanh})) {
      return Activation::gelu;
    }
    return is({Op::relu})      ? Activation::relu
           : is({Op::sigmoid}) ? Activation::sigmoid
           : is({Op::tanh})    ? Activation::tanh
                               : Activation::other;
  }

  bool complete(const Trace& trace, Chain& chain) const {
    if (trace.products.empty() || trace.products.size() > 2) {
      return false;
    }
    const bool gated = trace.products.size() == 2;
    if (gated && trace.products.begin()->second.first != trace.products.rbegin()->second.first) {
      return false;
    }
    for (const auto& [result, operands] : trace.products) {
      if (trace.statements.count(operands.first) + trace.statements.count(operands.second) > 0) {
        return false;  // an operand of one product is made by the other
      }
    }
    chain.kind = gated ? ChainKind::gated : trace.windows ? ChainKind::conv : ChainKind::gemm;
    chain.size[Dim::k] = trace.k;
    chain.bias0 = trace.bias;
    chain.activation = activation_of(trace, gated);
    return true;
  }

  /// Nothing outside of the chain reads what it keeps on chip.
  bool unshared(const Trace& trace, TensorId e) const {
    return std::all_of(trace.statements.begin(), trace.statements.end(), [&](TensorId tensor) {
      const auto users = users_.find(tensor);
      return users != users_.end() &&
             std::all_of(users->second.begin(), users->second.end(), [&](TensorId user) {
               return user == e || trace.statements.count(user) != 0;
             });
    });
  }

  FoundChain assemble(const Statement& e, const Trace& trace, Chain chain) const {
    std::set<TensorId> members = trace.statements;
    members.insert(e.result);
    TensorId last = e.result;
    while (const Statement* next = tail_of(last, chain)) {
      last = next->result;
      members.insert(last);
    }
    FoundChain found;
    chain.name = program_.tensors[static_cast<size_t>(last)].name;
    found.chain = chain;
    for (const Region& region : program_.regions) {
      for (const Statement& statement : region.statements) {
        if (members.count(statement.result) != 0) {
          found.statements.push_back(statement.result);
        }
      }
    }
    return found;
  }

  /// The only user of `e`, when all it does is to add a bias or a residual that E has not yet.
  const Statement* tail_of(TensorId e, Chain& chain) const {
    const auto users = users_.find(e);
    if (program_.tensors[static_cast<size_t>(e)].role != Role::temporary || users == users_.end() ||
        users->second.size() != 1) {
      return nullptr;
    }
    const Statement* s = statement_of(*users->second.begin());
    if (taken_.count(s->result) != 0 || !dense(s->result)) {
      return nullptr;
    }
    Chain longer = chain;
    int uses = 0;
    for (const Expr& node : s->nodes) {
      const auto indices = node.kind == Expr::Kind::access ? plain_indices(node) : std::nullopt;
      const bool adds = node.kind == Expr::Kind::apply && node.op == Op::add;
      if (!adds && (!indices || !dense(node.tensor))) {
        return nullptr;
      }
      if (adds || (node.tensor == e && ++uses == 1)) {
        continue;
      }
      const int64_t size = volume(*s, *indices);
      bool& flag = size == chain.size[Dim::m] * chain.size[Dim::l] ? longer.residual : longer.bias1;
      if (flag || (&flag == &longer.bias1 && size != chain.size[Dim::l])) {
        return nullptr;
      }
      flag = true;
    }
    chain = longer;
    return s;
  }

  const Program& program_;
  std::map<TensorId, Definition> defined_;
  std::map<TensorId, std::set<TensorId>> users_;
  std::set<TensorId> taken_;
};

bool scheduled(const Region& region) {
  const Schedule& s = region.schedule;
  return region.graph.has_value() || !s.order.empty() || !s.placements.empty() ||
         !s.parallel.empty() || !s.blocks.empty();
}

}  // namespace

std::vector<FoundChain> find_chains(const Program& program) {
  return Finder(program).find();
}

bool attach_plan(Program& program, const FoundChain& found,
                 const std::vector<std::pair<std::string, std::string>>& plan) {
  const std::set<TensorId> wanted(found.statements.begin(), found.statements.end());
  const auto in_chain = [&](const Statement& s) { return wanted.count(s.result) != 0; };
  std::vector<size_t> regions;
  bool pure = true;
  for (size_t r = 0; r < program.regions.size(); ++r) {
    const auto& statements = program.regions[r].statements;
    if (std::any_of(statements.begin(), statements.end(), in_chain)) {
      regions.push_back(r);
      pure = pure && std::all_of(statements.begin(), statements.end(), in_chain) &&
             !scheduled(program.regions[r]);
    }
  }
  if (regions.size() > 1 && !pure) {
    return false;
  }
  Region& home = program.regions[regions.back()];
  if (home.graph.has_value()) {
    return false;
  }
  std::vector<Statement> statements;
  for (const size_t r : regions) {
    for (Statement& s : program.regions[r].statements) {
      statements.push_back(std::move(s));
    }
  }
  home.statements = std::move(statements);
  home.plan = plan;
  for (auto r = regions.rbegin() + 1; r != regions.rend(); ++r) {
    program.regions.erase(program.regions.begin() + static_cast<int64_t>(*r));
  }
  return true;
}

}  // namespace fuseflow::cluster
