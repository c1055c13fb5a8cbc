// Names and numbers of a statement's indices.
#include "import/values/indices.h"

#include <algorithm>

namespace fuseflow {

namespace {

std::string index_name(size_t i) {
  static constexpr std::string_view kLetters = "ijklmnopqrstuvw";
  const std::string letter(1, kLetters[i % kLetters.size()]);
  return i < kLetters.size() ? letter : letter + std::to_string(i / kLetters.size());
}

}  // namespace

void number_indices(Statement& s, const View& value) {
  std::vector<IndexId> number(value.atoms.size(), -1);
  const auto take = [&](IndexId atom) {
    IndexId& n = number[static_cast<size_t>(atom)];
    if (n >= 0) return n;
    n = static_cast<IndexId>(s.indices.size());
    s.indices.push_back({index_name(s.indices.size()), value.atoms[static_cast<size_t>(atom)]});
    return n;
  };
  for (const auto& dim : value.dims) {
    for (const IndexId atom : dim) s.result_indices.push_back(take(atom));
  }
  for (Expr& node : s.nodes) {
    for (Subscript& subscript : node.subscripts) {
      for (auto& term : subscript.terms) term.first = take(term.first);
      std::sort(subscript.terms.begin(), subscript.terms.end(),
                [](const auto& a, const auto& b) { return a.second > b.second; });
    }
    for (IndexId& index : node.over) index = take(index);
    if (node.kind == Expr::Kind::coordinate) node.index = take(node.index);
  }
}

}  // namespace fuseflow
