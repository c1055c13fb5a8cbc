#include "ir/statement_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "ir/copies.h"
#include "ir/names.h"

namespace fuseflow {

namespace {

/// Where the extent of an index was taken from.
struct Origin {
  Extent extent;
  TensorId tensor = -1;
  int dimension = 0;
};

bool same_extent(const Extent& a, const Extent& b) {
  if (a.known() && b.known()) return a.value == b.value;
  return !a.known() && !b.known() && a.symbol == b.symbol;
}

std::string dimension_text(const Program& program, const Origin& origin) {
  return fmt::format("dimension {} of %{} has extent {}", origin.dimension,
                     quote_if_needed(program.tensors[origin.tensor].name),
                     extent_text(origin.extent));
}

bool valid_tensor(const Program& program, TensorId tensor) {
  return tensor >= 0 && static_cast<size_t>(tensor) < program.tensors.size();
}

/// Calls visit(node, subscript position, index) for every plain subscript of well-formed accesses.
template <typename Visit>
void for_each_plain(const Program& program, const Statement& s, Visit&& visit) {
  for (size_t n = 0; n < s.nodes.size(); ++n) {
    const Expr& e = s.nodes[n];
    if (e.kind != Expr::Kind::access || !valid_tensor(program, e.tensor)) continue;
    if (e.subscripts.size() != program.tensors[e.tensor].shape.size()) continue;
    for (size_t d = 0; d < e.subscripts.size(); ++d) {
      if (!e.subscripts[d].is_plain()) continue;
      const IndexId index = e.subscripts[d].plain();
      if (index < 0 || static_cast<size_t>(index) >= s.indices.size()) continue;
      visit(static_cast<int>(n), static_cast<int>(d), index);
    }
  }
}

/// Extents of the indices by the left side and the plain accesses, first come first kept.
std::vector<std::optional<Origin>> collect_origins(const Program& program, const Statement& s,
                                                   const StatementError& error) {
  std::vector<std::optional<Origin>> origins(s.indices.size());
  if (valid_tensor(program, s.result) &&
      s.result_indices.size() == program.tensors[s.result].shape.size()) {
    for (size_t d = 0; d < s.result_indices.size(); ++d) {
      origins[s.result_indices[d]] =
          Origin{program.tensors[s.result].shape[d], s.result, static_cast<int>(d)};
    }
  }
  for_each_plain(program, s, [&](int node, int d, IndexId index) {
    if (s.indices[index].stated) return;
    const TensorId tensor = s.nodes[node].tensor;
    const Origin origin{program.tensors[tensor].shape[d], tensor, d};
    if (!origins[index]) {
      origins[index] = origin;
    } else if (!same_extent(origins[index]->extent, origin.extent)) {
      const std::string& name = s.indices[index].name;
      error(node,
            fmt::format("index {0} has two extents: {1}, but {2}; expected the same one, or a "
                        "stated extent (`{0}:{3}`) when reading outside is meant",
                        name, dimension_text(program, *origins[index]),
                        dimension_text(program, origin),
                        std::max<int64_t>(origins[index]->extent.value, 1)));
    }
  });
  return origins;
}

class Checker {
 public:
  Checker(const Program& program, const Statement& statement, const StatementError& error)
      : program_(program), s_(statement), error_(error) {}

  void run() {
    if (!check_left_side() || !check_tree()) return;
    bound_.assign(s_.indices.size(), false);
    for (const IndexId i : s_.result_indices) bound_[i] = true;
    reduced_.assign(s_.indices.size(), false);
    walk(static_cast<int>(s_.nodes.size()) - 1);
    for (size_t i = 0; i < s_.indices.size(); ++i) {
      const bool result = std::find(s_.result_indices.begin(), s_.result_indices.end(),
                                    static_cast<IndexId>(i)) != s_.result_indices.end();
      if (!result && !reduced_[i]) {
        error_(-1,
               fmt::format("index {} is neither a result index nor reduced", s_.indices[i].name));
      }
    }
  }

 private:
  bool valid_index(IndexId index) const {
    return index >= 0 && static_cast<size_t>(index) < s_.indices.size();
  }

  bool check_left_side() {
    if (!valid_tensor(program_, s_.result)) return fail(-1, "the statement has no result tensor");
    const Tensor& result = program_.tensors[s_.result];
    const bool given = result.given();
    if (given && !is_copy_statement(program_, s_)) {
      return fail(-1,
                  fmt::format("%{} is an input and cannot be defined by a statement, expected a "
                              "tensor declared `temp` or `result`",
                              quote_if_needed(result.name)));
    }
    if (s_.result_indices.size() != result.shape.size()) {
      return fail(-1, fmt::format("%{} has rank {}, expected {} instead of {} indices on the left "
                                  "side",
                                  quote_if_needed(result.name), result.shape.size(),
                                  result.shape.size(), s_.result_indices.size()));
    }
    std::set<IndexId> seen;
    for (size_t d = 0; d < s_.result_indices.size(); ++d) {
      const IndexId index = s_.result_indices[d];
      if (!valid_index(index)) return fail(-1, "a result index does not exist");
      if (!seen.insert(index).second) {
        return fail(-1, fmt::format("index {} occurs twice on the left side, expected different "
                                    "indices",
                                    s_.indices[index].name));
      }
      if (s_.indices[index].extent != result.shape[d].value) {
        return fail(-1, fmt::format("index {} has extent {}, expected {} (dimension {} of %{})",
                                    s_.indices[index].name, s_.indices[index].extent,
                                    extent_text(result.shape[d]), d, quote_if_needed(result.name)));
      }
    }
    return check_index_names();
  }

  bool check_index_names() {
    std::set<std::string> names;
    for (const Index& index : s_.indices) {
      if (index.name.empty()) return fail(-1, "an index has no name");
      if (!names.insert(index.name).second) {
        return fail(-1, fmt::format("index {} is defined twice in one statement, expected another "
                                    "name for the second",
                                    index.name));
      }
      if (index.stated && index.extent < 0) {
        return fail(-1, fmt::format("the stated extent of index {} is negative", index.name));
      }
    }
    return true;
  }

  /// Children stand before their parent and are used once; the depth is bounded.
  bool check_tree() {
    if (s_.nodes.empty()) return fail(-1, "the statement has no expression");
    std::vector<int> uses(s_.nodes.size(), 0);
    std::vector<int> depth(s_.nodes.size(), 0);  // in operations
    for (size_t n = 0; n < s_.nodes.size(); ++n) {
      for (const int32_t child : s_.nodes[n].children) {
        if (child < 0 || static_cast<size_t>(child) >= n || ++uses[child] > 1) {
          return fail(static_cast<int>(n), "the expression is not a tree with children first");
        }
        depth[n] = std::max(depth[n], depth[child] + 1);
      }
      if (depth[n] > kMaxExpressionDepth) {
        return fail(
            static_cast<int>(n),
            fmt::format("the expression is nested deeper than {} operations, expected it to "
                        "be split into several statements",
                        kMaxExpressionDepth));
      }
    }
    for (size_t n = 0; n + 1 < s_.nodes.size(); ++n) {
      if (uses[n] == 0) return fail(static_cast<int>(n), "a node of the expression is not used");
    }
    return true;
  }

  void walk(int node) {
    const Expr& e = s_.nodes[node];
    switch (e.kind) {
      case Expr::Kind::constant:
        return no_children(node, e);
      case Expr::Kind::coordinate:
        if (!valid_index(e.index)) return error_(node, "coordinate of an unknown index");
        if (!bound_[e.index]) unbound(node, e.index);
        return no_children(node, e);
      case Expr::Kind::access:
        check_access(node, e);
        return no_children(node, e);
      case Expr::Kind::apply:
        if (static_cast<int>(e.children.size()) != op_info(e.op).arity) {
          error_(node, fmt::format("{} takes {} operand{}, got {}", op_info(e.op).name,
                                   op_info(e.op).arity, op_info(e.op).arity == 1 ? "" : "s",
                                   e.children.size()));
        }
        for (const int32_t child : e.children) walk(child);
        return;
      case Expr::Kind::reduce:
        return walk_reduction(node, e);
    }
  }

  void no_children(int node, const Expr& e) {
    if (!e.children.empty()) error_(node, "a leaf of the expression has operands");
  }

  void walk_reduction(int node, const Expr& e) {
    if (e.children.size() != 1) return error_(node, "a reduction needs exactly one body");
    if (e.over.empty())
      error_(node, "a reduction needs at least one index, e.g. `sum(j) %a[i, j]`");
    for (const IndexId index : e.over) {
      if (!valid_index(index)) return error_(node, "a reduction over an unknown index");
      const std::string& name = s_.indices[index].name;
      if (bound_[index]) {
        error_(node,
               fmt::format("index {} is reduced although it is {}, expected another index name",
                           name, reduced_[index] ? "reduced around it" : "a result index"));
      } else if (reduced_[index]) {
        error_(node, fmt::format("index {} is reduced twice, expected another name for the second "
                                 "reduction's index",
                                 name));
      }
      bound_[index] = reduced_[index] = true;
    }
    walk(e.children[0]);
    for (const IndexId index : e.over) bound_[index] = false;
  }

  void unbound(int node, IndexId index) {
    error_(node,
           fmt::format("index {} is used outside of its reduction, expected parentheses around "
                       "the whole body (a reduction's body ends at + and -)",
                       s_.indices[index].name));
  }

  void check_access(int node, const Expr& e) {
    if (!valid_tensor(program_, e.tensor)) return error_(node, "access to an unknown tensor");
    const Tensor& tensor = program_.tensors[e.tensor];
    if (e.tensor == s_.result) {
      error_(node, fmt::format("%{} is used in its own definition", quote_if_needed(tensor.name)));
    }
    if (e.subscripts.size() != tensor.shape.size()) {
      return error_(node, fmt::format("%{} has rank {}, got {} subscript{}",
                                      quote_if_needed(tensor.name), tensor.shape.size(),
                                      e.subscripts.size(), e.subscripts.size() == 1 ? "" : "s"));
    }
    for (const Subscript& subscript : e.subscripts) check_subscript(node, subscript);
  }

  void check_subscript(int node, const Subscript& subscript) {
    std::set<IndexId> seen;
    double largest = std::abs(static_cast<double>(subscript.offset));
    for (const auto& [index, coefficient] : subscript.terms) {
      if (!valid_index(index)) return error_(node, "a subscript uses an unknown index");
      if (!bound_[index]) unbound(node, index);
      if (coefficient == 0 || !seen.insert(index).second) {
        return error_(node, "a subscript's terms are not in lowest form");
      }
      largest += std::abs(static_cast<double>(coefficient)) *
                 static_cast<double>(std::max<int64_t>(s_.indices[index].extent, 1));
    }
    if (largest > 0x1p62) {
      error_(node, "a subscript exceeds 62 bits, expected smaller coefficients");
    }
  }

  bool fail(int node, std::string message) {
    error_(node, std::move(message));
    return false;
  }

  const Program& program_;
  const Statement& s_;
  const StatementError& error_;
  std::vector<bool> bound_;    ///< result indices, and those of the reductions around
  std::vector<bool> reduced_;  ///< seen in a reduction
};

}  // namespace

std::string extent_text(const Extent& extent) {
  if (extent.symbol.empty()) {
    return extent.known() ? std::to_string(extent.value) : "unknown";
  }
  return extent.known() ? fmt::format("{} = {}", extent.symbol, extent.value)
                        : fmt::format("{} (not bound yet)", extent.symbol);
}

void infer_extents(const Program& program, Statement& statement, const StatementError& error) {
  const auto origins = collect_origins(program, statement, error);
  for (size_t i = 0; i < statement.indices.size(); ++i) {
    Index& index = statement.indices[i];
    if (index.stated) continue;
    if (origins[i]) {
      index.extent = origins[i]->extent.value;
    } else {
      error(-1,
            fmt::format("nothing tells the extent of index {0}, expected a plain access such as "
                        "%x[{0}], or a stated extent: `sum({0}:3)`",
                        index.name));
    }
  }
}

void check_statement(const Program& program, const Statement& statement,
                     const StatementError& error) {
  Checker(program, statement, error).run();
}

}  // namespace fuseflow
