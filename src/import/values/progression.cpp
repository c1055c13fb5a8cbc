// Finding digits, and views that have them as atoms.
#include "import/values/progression.h"

#include <algorithm>

namespace fuseflow {

namespace {

using Numbers = std::vector<int64_t>;

Numbers difference(const Numbers& a, const Numbers& b) {
  Numbers result(a.size());
  for (size_t k = 0; k < a.size(); ++k) result[k] = a[k] - b[k];
  return result;
}

/// How many values from the first on lie `step` apart.
size_t run_length(const std::vector<Numbers>& values, const Numbers& step) {
  size_t run = 1;
  while (run < values.size() && difference(values[run], values[run - 1]) == step) ++run;
  return run;
}

/// Whether every `run` values lie `step` apart.
bool runs_alike(const std::vector<Numbers>& values, size_t run, const Numbers& step) {
  for (size_t p = 0; p < values.size(); ++p) {
    if (p % run != 0 && difference(values[p], values[p - 1]) != step) return false;
  }
  return true;
}

/// The atoms of `view` in the order of its dimensions, then of its reductions.
std::vector<IndexId> atoms_in_order(const View& view) {
  std::vector<IndexId> order;
  for (const auto& dim : view.dims) order.insert(order.end(), dim.begin(), dim.end());
  for (const Expr& node : view.nodes) order.insert(order.end(), node.over.begin(), node.over.end());
  return order;
}

/// The view with its atoms numbered in that order, so that equal views are equal. Nothing if it
/// has an atom elsewhere.
std::optional<View> numbered(const View& view) {
  View result;
  result.type = view.type;
  std::vector<IndexId> number(view.atoms.size(), -1);
  for (const IndexId atom : atoms_in_order(view)) {
    IndexId& n = number[static_cast<size_t>(atom)];
    if (n >= 0) continue;
    n = static_cast<IndexId>(result.atoms.size());
    result.atoms.push_back(view.atoms[static_cast<size_t>(atom)]);
  }
  bool known = true;
  const auto renumber = [&](IndexId& atom) {
    atom = number[static_cast<size_t>(atom)];
    known = known && atom >= 0;
  };
  result.dims = view.dims;
  for (auto& dim : result.dims) std::for_each(dim.begin(), dim.end(), renumber);
  result.nodes = view.nodes;
  for (Expr& node : result.nodes) {
    std::for_each(node.over.begin(), node.over.end(), renumber);
    if (node.kind == Expr::Kind::coordinate) renumber(node.index);
    for (Subscript& s : node.subscripts) {
      for (auto& term : s.terms) renumber(term.first);
      std::sort(s.terms.begin(), s.terms.end());
    }
  }
  if (!known) return std::nullopt;
  return result;
}

/// The offsets of all subscripts, which become 0.
Numbers take_offsets(View& view) {
  Numbers offsets;
  for (Expr& node : view.nodes) {
    for (Subscript& s : node.subscripts) {
      offsets.push_back(s.offset);
      s.offset = 0;
    }
  }
  return offsets;
}

IndexId add_atom(View& value, int64_t extent) {
  value.atoms.push_back(extent);
  return static_cast<IndexId>(value.atoms.size()) - 1;
}

}  // namespace

std::optional<std::vector<Digit>> affine_digits(std::vector<Numbers> values) {
  if (values.empty()) return std::nullopt;
  std::vector<Digit> digits;
  while (values.size() > 1) {
    // The longest run is a digit: were it longer than one, the next digit would continue it and
    // the two were one.
    const Numbers step = difference(values[1], values[0]);
    const size_t run = run_length(values, step);
    if (values.size() % run != 0 || !runs_alike(values, run, step)) return std::nullopt;
    digits.insert(digits.begin(), {static_cast<int64_t>(run), step});
    std::vector<Numbers> firsts;
    for (size_t p = 0; p < values.size(); p += run) firsts.push_back(std::move(values[p]));
    values = std::move(firsts);
  }
  return digits;
}

std::optional<View> joined(std::vector<View> parts, int dim) {
  std::optional<View> first;
  std::vector<Numbers> offsets;
  for (View& part : parts) {
    coalesce(part);
    std::optional<View> alike = numbered(part);
    if (!alike) return std::nullopt;
    offsets.push_back(take_offsets(*alike));
    if (!first)
      first = std::move(alike);
    else if (alike->type != first->type || alike->dims != first->dims ||
             alike->atoms != first->atoms || alike->nodes != first->nodes)
      return std::nullopt;
  }
  const Numbers start = offsets.empty() ? Numbers{} : offsets[0];
  const auto digits = affine_digits(std::move(offsets));
  if (!digits) return std::nullopt;
  std::vector<IndexId> fresh;
  for (const Digit& digit : *digits) fresh.push_back(add_atom(*first, digit.extent));
  size_t at = 0;
  for (Expr& node : first->nodes) {
    for (Subscript& s : node.subscripts) {
      s.offset = start[at];
      for (size_t d = 0; d < fresh.size(); ++d) {
        const int64_t step = (*digits)[d].steps[at];
        if (step != 0) s.terms.emplace_back(fresh[d], step);
      }
      ++at;
    }
  }
  auto& atoms = first->dims[static_cast<size_t>(dim)];
  atoms.insert(atoms.begin(), fresh.begin(), fresh.end());
  coalesce(*first);
  return first;
}

View picked(View value, int dim, int64_t start, const std::vector<Digit>& digits) {
  auto& atoms = value.dims[static_cast<size_t>(dim)];
  const std::vector<IndexId> old = std::move(atoms);
  atoms.clear();
  Subscript map;
  map.offset = start;
  for (const Digit& digit : digits) {
    atoms.push_back(add_atom(value, digit.extent));
    if (digit.steps[0] != 0) map.terms.emplace_back(atoms.back(), digit.steps[0]);
  }
  if (!old.empty()) substitute(value, old[0], map);
  return value;
}

}  // namespace fuseflow
