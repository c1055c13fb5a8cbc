// Views and their index maps.
#include "import/values/view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

namespace fuseflow {

namespace {

/// Adds coefficient * (replacement) to `out`, joining equal indices.
void add_terms(Subscript& out, const Subscript& replacement, int64_t coefficient) {
  out.offset += coefficient * replacement.offset;
  for (const auto& term : replacement.terms) {
    const auto found = std::find_if(out.terms.begin(), out.terms.end(),
                                    [&](const auto& t) { return t.first == term.first; });
    if (found == out.terms.end())
      out.terms.emplace_back(term.first, coefficient * term.second);
    else
      found->second += coefficient * term.second;
  }
  std::erase_if(out.terms, [](const auto& t) { return t.second == 0; });
}

/// `coordinate` nodes of the atom become arithmetic on the coordinates of its replacement.
std::vector<Expr> coordinate_tree(const Subscript& replacement, int32_t base) {
  std::vector<Expr> nodes;
  const auto push = [&](Expr e) {
    nodes.push_back(std::move(e));
    return base + static_cast<int32_t>(nodes.size()) - 1;
  };
  Expr offset;
  offset.constant = static_cast<float>(replacement.offset);
  int32_t sum = replacement.offset != 0 || replacement.terms.empty() ? push(offset) : -1;
  for (const auto& [index, coefficient] : replacement.terms) {
    Expr coordinate;
    coordinate.kind = Expr::Kind::coordinate;
    coordinate.index = index;
    int32_t term = push(coordinate);
    if (coefficient != 1) {
      Expr factor;
      factor.constant = static_cast<float>(coefficient);
      const int32_t constant = push(factor);
      Expr product;
      product.kind = Expr::Kind::apply;
      product.op = Op::mul;
      product.children = {constant, term};
      term = push(product);
    }
    if (sum >= 0) {
      Expr plus;
      plus.kind = Expr::Kind::apply;
      plus.op = Op::add;
      plus.children = {sum, term};
      term = push(plus);
    }
    sum = term;
  }
  return nodes;
}

/// Refuses what has too many elements to count, so that no arithmetic on subscripts overflows.
int64_t product(const std::vector<int64_t>& extents) {
  std::vector<int64_t> counted = extents;  // also what an extent of 0 would hide
  std::erase(counted, 0);
  if (element_count(counted) == kManyElements) {
    throw Error(ExitCode::rejected,
                fmt::format("a value of shape {} has too many elements", extents));
  }
  return element_count(extents);
}

IndexId new_atom(View& value, int64_t extent) {
  value.atoms.push_back(extent);
  return static_cast<IndexId>(value.atoms.size()) - 1;
}

/// Replaces `atom` by an outer and an inner one; gives them.
std::pair<IndexId, IndexId> split_atom(View& value, IndexId atom, int64_t inner_extent) {
  const IndexId outer = new_atom(value, value.atoms[static_cast<size_t>(atom)] / inner_extent);
  const IndexId inner = new_atom(value, inner_extent);
  substitute(value, atom, Subscript{{{outer, inner_extent}, {inner, 1}}, 0});
  for (auto& dim : value.dims) {
    const auto found = std::find(dim.begin(), dim.end(), atom);
    if (found == dim.end()) continue;
    *found = outer;
    dim.insert(std::find(dim.begin(), dim.end(), outer) + 1, inner);
  }
  return {outer, inner};
}

/// Whether every use of (outer, inner) is outer * e + inner, so that one atom can stand for both.
bool only_used_as_one(const View& value, IndexId outer, IndexId inner) {
  const int64_t extent = value.atoms[static_cast<size_t>(inner)];
  for (const Expr& node : value.nodes) {
    if (node.kind == Expr::Kind::coordinate && (node.index == outer || node.index == inner))
      return false;
    for (const Subscript& s : node.subscripts) {
      int64_t a = 0;
      int64_t b = 0;
      for (const auto& [index, c] : s.terms) {
        if (index == outer) a = c;
        if (index == inner) b = c;
      }
      if (a != b * extent) return false;
    }
  }
  return true;
}

}  // namespace

int64_t View::extent(int dim) const {
  std::vector<int64_t> extents;
  for (const IndexId atom : dims[static_cast<size_t>(dim)])
    extents.push_back(atoms[static_cast<size_t>(atom)]);
  return product(extents);
}

std::vector<int64_t> View::shape() const {
  std::vector<int64_t> result;
  result.reserve(rank());
  for (int d = 0; d < rank(); ++d) result.push_back(extent(d));
  return result;
}

int64_t View::size() const {
  return product(shape());
}

View whole_tensor(TensorId id, ElementType type, const std::vector<int64_t>& shape) {
  product(shape);
  View value;
  value.type = type;
  Expr access;
  access.kind = Expr::Kind::access;
  access.tensor = id;
  for (const int64_t extent : shape) {
    value.dims.emplace_back();
    access.subscripts.emplace_back();
    if (extent == 1) continue;
    const IndexId atom = new_atom(value, extent);
    value.dims.back().push_back(atom);
    access.subscripts.back().terms.emplace_back(atom, 1);
  }
  value.nodes.push_back(std::move(access));
  return value;
}

View scalar_view(float constant, ElementType type) {
  View value;
  value.type = type;
  Expr node;
  node.constant = constant;
  value.nodes.push_back(node);
  return value;
}

void substitute(View& value, IndexId atom, const Subscript& replacement) {
  std::vector<Expr> nodes;
  std::vector<int32_t> moved(value.nodes.size());
  for (size_t n = 0; n < value.nodes.size(); ++n) {
    Expr node = std::move(value.nodes[n]);
    for (int32_t& child : node.children) child = moved[static_cast<size_t>(child)];
    for (Subscript& s : node.subscripts) {
      Subscript fresh;
      fresh.offset = s.offset;
      for (const auto& [index, c] : s.terms) {
        if (index == atom)
          add_terms(fresh, replacement, c);
        else
          add_terms(fresh, Subscript{{{index, 1}}, 0}, c);
      }
      s = std::move(fresh);
    }
    if (node.kind == Expr::Kind::coordinate && node.index == atom) {
      auto tree = coordinate_tree(replacement, static_cast<int32_t>(nodes.size()));
      std::move(tree.begin(), tree.end(), std::back_inserter(nodes));
    } else {
      if (node.kind == Expr::Kind::reduce) {
        const auto found = std::find(node.over.begin(), node.over.end(), atom);
        if (found != node.over.end()) {
          node.over.erase(found);
          for (const auto& [index, c] : replacement.terms) node.over.push_back(index);
        }
      }
      nodes.push_back(std::move(node));
    }
    moved[n] = static_cast<int32_t>(nodes.size()) - 1;
  }
  value.nodes = std::move(nodes);
}

bool refine(View& value, int dim, const std::vector<int64_t>& extents) {
  View trial = value;
  auto& atoms = trial.dims[static_cast<size_t>(dim)];
  size_t at = 0;  // atom of the dimension
  for (size_t e = 0; e < extents.size(); ++e) {
    if (at >= atoms.size()) return false;
    const int64_t extent = trial.atoms[static_cast<size_t>(atoms[at])];
    if (extent == extents[e]) {
      ++at;
      continue;
    }
    if (extents[e] == 0 || extent < extents[e] || extent % extents[e] != 0) return false;
    split_atom(trial, atoms[at], extent / extents[e]);
    ++at;
  }
  if (at != atoms.size()) return false;
  value = std::move(trial);
  return true;
}

View placed(const View& view, int dim, int64_t start, int64_t extent) {
  View result = view;
  result.selection = nullptr;
  result.parts = nullptr;
  const IndexId fresh = new_atom(result, extent);
  auto& atoms = result.dims[static_cast<size_t>(dim)];
  if (!atoms.empty()) substitute(result, IndexId{atoms[0]}, Subscript{{{fresh, 1}}, -start});
  atoms = {fresh};
  return result;
}

bool reads_zero_outside(const View& view, int dim,
                        const std::function<int64_t(TensorId, size_t)>& extent_of) {
  const Expr* access = view.plain_access();
  const auto& atoms = view.dims[static_cast<size_t>(dim)];
  if (access == nullptr || atoms.size() != 1) return false;
  for (size_t d = 0; d < access->subscripts.size(); ++d) {
    const Subscript& s = access->subscripts[d];
    if (s.terms.size() != 1 || s.terms[0].first != atoms[0]) continue;
    const int64_t extent = extent_of(access->tensor, d);
    const int64_t before = s.offset - s.terms[0].second;
    const int64_t after = s.offset + s.terms[0].second * view.extent(dim);
    const auto outside = [&](int64_t c) { return c < 0 || c >= extent; };
    if (outside(before) && outside(after)) return true;
  }
  return false;
}

void coalesce(View& value) {
  for (size_t d = 0; d < value.dims.size(); ++d) {
    for (size_t k = 0; k + 1 < value.dims[d].size();) {
      const IndexId outer = value.dims[d][k];
      const IndexId inner = value.dims[d][k + 1];
      if (!only_used_as_one(value, outer, inner)) {
        ++k;
        continue;
      }
      const IndexId joint = new_atom(
          value, value.atoms[static_cast<size_t>(outer)] * value.atoms[static_cast<size_t>(inner)]);
      substitute(value, outer, Subscript{});
      substitute(value, inner, Subscript{{{joint, 1}}, 0});
      value.dims[d][k] = joint;
      value.dims[d].erase(value.dims[d].begin() + static_cast<std::ptrdiff_t>(k) + 1);
    }
  }
}

bool reshape(View& value, const std::vector<int64_t>& shape) {
  View trial = value;
  coalesce(trial);
  std::vector<IndexId> flat;
  for (const auto& dim : trial.dims) flat.insert(flat.end(), dim.begin(), dim.end());
  // One dimension holds all atoms while they are cut, so that split_atom keeps their order.
  trial.dims = {flat};
  std::vector<std::vector<IndexId>> dims;
  size_t at = 0;
  for (const int64_t extent : shape) {
    std::vector<IndexId> dim;
    int64_t rest = extent;
    while (rest > 1) {
      if (at >= trial.dims[0].size()) return false;
      const IndexId atom = trial.dims[0][at];
      const int64_t here = trial.atoms[static_cast<size_t>(atom)];
      if (rest % here == 0) {
        dim.push_back(atom);
        rest /= here;
      } else if (here % rest == 0) {
        dim.push_back(split_atom(trial, atom, here / rest).first);
        rest = 1;
      } else {
        return false;
      }
      ++at;
    }
    dims.push_back(std::move(dim));
  }
  if (at != trial.dims[0].size()) return false;
  trial.dims = std::move(dims);
  coalesce(trial);
  value = std::move(trial);
  return true;
}

void transpose(View& value, const std::vector<int>& order) {
  std::vector<std::vector<IndexId>> dims;
  dims.reserve(order.size());
  for (const int d : order) dims.push_back(value.dims[static_cast<size_t>(d)]);
  value.dims = std::move(dims);
}

bool slice(View& value, int dim, int64_t start, int64_t step, int64_t count) {
  if (value.extent(dim) == count && start == 0 && step == 1) return true;
  View trial = value;
  coalesce(trial);
  auto& atoms = trial.dims[static_cast<size_t>(dim)];
  int64_t below = 1;  // extent of the atoms after the first
  for (size_t k = 1; k < atoms.size(); ++k) below *= trial.atoms[static_cast<size_t>(atoms[k])];
  if (atoms.size() > 1 && (step != 1 || start % below != 0 || count % below != 0)) return false;
  if (atoms.empty()) return count == 1;
  Subscript map;
  map.offset = start / below;
  const int64_t outer = count / below;
  const IndexId old = atoms[0];
  if (outer > 1) {
    const IndexId fresh = new_atom(trial, outer);
    map.terms.emplace_back(fresh, step);
    atoms[0] = fresh;
  } else {
    atoms.erase(atoms.begin());
  }
  substitute(trial, old, map);
  value = std::move(trial);
  return true;
}

void expand(View& value, const std::vector<int64_t>& shape) {
  const size_t fresh = shape.size() - std::min(shape.size(), value.dims.size());
  value.dims.insert(value.dims.begin(), fresh, std::vector<IndexId>{});
  for (size_t d = 0; d < shape.size(); ++d) {
    if (value.dims[d].empty() && shape[d] != 1) value.dims[d].push_back(new_atom(value, shape[d]));
  }
}

void tile(View& value, int dim, int64_t times) {
  if (times == 1) return;
  auto& atoms = value.dims[static_cast<size_t>(dim)];
  atoms.insert(atoms.begin(), new_atom(value, times));
}

std::optional<std::vector<int64_t>> common_refinement(const std::vector<int64_t>& a,
                                                      const std::vector<int64_t>& b) {
  if (a == b) return a;
  std::vector<int64_t> result;
  size_t i = 0;
  size_t j = 0;
  int64_t x = 1;  // what is left of a[i-1], b[j-1]
  int64_t y = 1;
  for (;;) {
    if (x == 1 && i < a.size()) x = a[i++];
    if (y == 1 && j < b.size()) y = b[j++];
    if (x == 1 && y == 1) {
      if (i == a.size() && j == b.size()) return result;
      continue;
    }
    if (x <= 1 || y <= 1) return std::nullopt;  // also: something divided by nothing
    const int64_t step = std::min(x, y);
    if (x % step != 0 || y % step != 0) return std::nullopt;
    result.push_back(step);
    x /= step;
    y /= step;
  }
}

std::vector<int64_t> broadcast_shape(const std::vector<std::vector<int64_t>>& shapes,
                                     const std::string& what) {
  size_t rank = 0;
  for (const auto& s : shapes) rank = std::max(rank, s.size());
  std::vector<int64_t> result(rank, 1);
  for (const auto& s : shapes) {
    for (size_t d = 0; d < s.size(); ++d) {
      int64_t& extent = result[rank - s.size() + d];
      if (extent == 1)
        extent = s[d];
      else if (s[d] != 1 && s[d] != extent) {
        throw Error(ExitCode::rejected,
                    fmt::format("{}: shapes {} do not broadcast", what, shapes));
      }
    }
  }
  return result;
}

}  // namespace fuseflow
