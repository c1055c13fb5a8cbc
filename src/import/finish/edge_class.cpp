#include "import/finish/edge_class.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace fuseflow {

namespace {

/// Dimensions of computed tensors and indices of statements that run over the same things.
class Axes {
 public:
  explicit Axes(const DraftProgram& draft) {
    int count = 0;
    for (const Draft& t : draft.tensors) {
      tensors_.push_back(count);
      count += static_cast<int>(t.shape.size());
    }
    for (const DraftStatement& s : draft.statements) {
      statements_.push_back(count);
      count += static_cast<int>(s.statement.indices.size());
    }
    above_.resize(static_cast<size_t>(count));
    std::iota(above_.begin(), above_.end(), 0);
    for (size_t s = 0; s < draft.statements.size(); ++s) link(draft, s);
  }

  int of_index(size_t statement, IndexId index) { return top(statements_[statement] + index); }

 private:
  int top(int axis) {
    int& above = above_[static_cast<size_t>(axis)];
    return above == axis ? axis : above = top(above);
  }

  void join(int a, int b) { above_[static_cast<size_t>(top(a))] = top(b); }

  /// Data that the program is given links nothing: two models may share an array.
  void link(const DraftProgram& draft, size_t s) {
    const Statement& statement = draft.statements[s].statement;
    for (size_t d = 0; d < statement.result_indices.size(); ++d) {
      join(tensors_[static_cast<size_t>(statement.result)] + static_cast<int>(d),
           statements_[s] + statement.result_indices[d]);
    }
    for (const Expr& node : statement.nodes) {
      if (node.kind != Expr::Kind::access) continue;
      const Draft& read = draft.tensors[static_cast<size_t>(node.tensor)];
      if (read.tensor.given()) continue;
      for (size_t d = 0; d < node.subscripts.size(); ++d) {
        if (!node.subscripts[d].is_plain()) continue;
        const IndexId i = node.subscripts[d].plain();
        if (statement.indices[static_cast<size_t>(i)].extent != read.shape[d]) continue;
        join(tensors_[static_cast<size_t>(node.tensor)] + static_cast<int>(d), statements_[s] + i);
      }
    }
  }

  std::vector<int> above_;
  std::vector<int> tensors_;
  std::vector<int> statements_;
};

class ClassReader {
 public:
  ClassReader(const DraftProgram& draft, Axes& axes,
              const std::vector<std::optional<GatherOrScatter>>& uses, int axis)
      : draft_(draft), axes_(axes), uses_(uses), axis_(axis) {}

  /// Nothing if some statement does what a matrix cannot.
  std::optional<EdgeClass> read() {
    for (size_t s = 0; s < draft_.statements.size(); ++s) {
      if (!take(s)) return std::nullopt;
    }
    const bool scatters = std::any_of(
        found_.statements.begin(), found_.statements.end(),
        [](const auto& entry) { return entry.second.kind == EdgeStatement::Kind::scatter; });
    if (!scatters || found_.lists.size() < 2 || found_.lists.size() > kMostEnds)
      return std::nullopt;
    put_first(most_written());
    return std::move(found_);
  }

 private:
  static constexpr size_t kMostEnds = 4;

  int list_of(const EdgeEnds& ends) {
    auto at = std::find(found_.lists.begin(), found_.lists.end(), ends);
    if (at == found_.lists.end()) at = found_.lists.insert(at, ends);
    return static_cast<int>(at - found_.lists.begin());
  }

  bool take(size_t s) {
    const Statement& statement = draft_.statements[s].statement;
    std::vector<IndexId> over;  // the edges
    for (size_t i = 0; i < statement.indices.size(); ++i) {
      if (axes_.of_index(s, static_cast<IndexId>(i)) == axis_)
        over.push_back(static_cast<IndexId>(i));
    }
    const bool reads =
        std::any_of(statement.nodes.begin(), statement.nodes.end(), [&](const Expr& node) {
          return node.kind == Expr::Kind::access && found_.values.contains(node.tensor);
        });
    const bool gathers =
        uses_[s] && uses_[s]->gathers && over.size() == 1 && uses_[s]->edge == over[0];
    if (!reads) return !gathers || take_gather(s);
    if (over.size() != 1) return false;
    return reads_plainly(statement, over[0]) && take_reader(s, over[0]);
  }

  bool take_gather(size_t s) {
    const GatherOrScatter& use = *uses_[s];
    const Statement& statement = draft_.statements[s].statement;
    for (const Expr& node : statement.nodes) {  // they move into the statements that read the rows
      if (node.kind == Expr::Kind::reduce && &node != &statement.root()) return true;
    }
    const int list = list_of(use.ends);
    found_.edges = static_cast<int64_t>(use.ends.nodes.size());
    found_.statements[s] = {EdgeStatement::Kind::gather, use.edge, list, use.node, use.reduction};
    return make(statement, use.edge, {0, uint32_t{1} << list, false});
  }

  /// The result of the statement is a value of each edge.
  bool make(const Statement& statement, IndexId edge, EdgeValue value) {
    const Draft& result = draft_.tensors[static_cast<size_t>(statement.result)];
    if (result.tensor.role != Role::temporary || result.pinned || result.declared) return false;
    const auto& dims = statement.result_indices;
    value.dim = static_cast<size_t>(std::find(dims.begin(), dims.end(), edge) - dims.begin());
    found_.values[statement.result] = value;
    return true;
  }

  /// Values of edges are read at the edge, and nothing counts edges.
  bool reads_plainly(const Statement& statement, IndexId edge) const {
    return std::all_of(statement.nodes.begin(), statement.nodes.end(), [&](const Expr& node) {
      if (node.kind == Expr::Kind::coordinate) return node.index != edge;
      if (node.kind != Expr::Kind::access) return true;
      const auto value = found_.values.find(node.tensor);
      if (value == found_.values.end()) return true;
      for (size_t d = 0; d < node.subscripts.size(); ++d) {
        const Subscript& s = node.subscripts[d];
        const bool here = std::any_of(s.terms.begin(), s.terms.end(),
                                      [&](const auto& term) { return term.first == edge; });
        if (here != (d == value->second.dim) || (here && !s.is_plain())) return false;
      }
      return true;
    });
  }

  bool take_reader(size_t s, IndexId edge) {
    const Statement& statement = draft_.statements[s].statement;
    EdgeStatement made;
    made.edge = edge;
    const auto& dims = statement.result_indices;
    if (std::find(dims.begin(), dims.end(), edge) != dims.end()) {
      EdgeValue value;
      for (const Expr& node : statement.nodes) {
        if (node.kind != Expr::Kind::access) continue;
        const auto read = found_.values.find(node.tensor);
        if (read == found_.values.end()) {
          value.data |= has_index(node, edge);
          continue;
        }
        value.lists |= read->second.lists;
        value.data |= read->second.data;
      }
      found_.statements[s] = made;
      return make(statement, edge, value);
    }
    for (size_t n = 0; n < statement.nodes.size(); ++n) {
      const Expr& node = statement.nodes[n];
      if (std::find(node.over.begin(), node.over.end(), edge) == node.over.end()) continue;
      if (made.reduction >= 0) return false;
      made.reduction = static_cast<int32_t>(n);
    }
    if (made.reduction < 0) return false;
    const Reduction how = statement.nodes[static_cast<size_t>(made.reduction)].reduction;
    const auto& use = uses_[s];
    made.kind = EdgeStatement::Kind::whole;
    if (use && !use->gathers && use->edge == edge) {
      made.kind = EdgeStatement::Kind::scatter;
      made.list = list_of(use->ends);
      made.node = use->node;
    }
    found_.statements[s] = made;
    return how != Reduction::mean;
  }

  /// The ends that most elements are scattered to.
  size_t most_written() const {
    std::vector<int64_t> written(found_.lists.size(), 0);
    for (const auto& [s, made] : found_.statements) {
      if (made.kind == EdgeStatement::Kind::scatter) ++written[static_cast<size_t>(made.list)];
    }
    return static_cast<size_t>(std::max_element(written.begin(), written.end()) - written.begin());
  }

  /// Makes a list the first one.
  void put_first(size_t first) {
    std::swap(found_.lists[0], found_.lists[first]);
    const auto moved = [&](uint32_t list) -> uint32_t {
      return list == 0 ? static_cast<uint32_t>(first) : list == first ? 0 : list;
    };
    for (auto& [s, made] : found_.statements) {
      if (made.list >= 0) made.list = static_cast<int>(moved(static_cast<uint32_t>(made.list)));
    }
    for (auto& [t, value] : found_.values) {
      uint32_t lists = 0;
      for (uint32_t l = 0; l < found_.lists.size(); ++l)
        lists |= ((value.lists >> l) & 1U) << moved(l);
      value.lists = lists;
    }
  }

  const DraftProgram& draft_;
  Axes& axes_;
  const std::vector<std::optional<GatherOrScatter>>& uses_;
  int axis_;
  EdgeClass found_;
};

}  // namespace

std::vector<EdgeClass> edge_classes(const DraftProgram& draft) {
  std::vector<std::optional<GatherOrScatter>> uses;
  uses.reserve(draft.statements.size());
  for (const DraftStatement& s : draft.statements) uses.push_back(ends_use(draft, s.statement));
  std::vector<EdgeClass> classes;
  if (std::none_of(uses.begin(), uses.end(), [](const auto& use) { return use && use->gathers; }))
    return classes;
  Axes axes(draft);
  std::set<int> seen;
  std::set<size_t> taken;
  for (size_t s = 0; s < uses.size(); ++s) {
    if (!uses[s] || !uses[s]->gathers) continue;
    const int axis = axes.of_index(s, uses[s]->edge);
    if (!seen.insert(axis).second) continue;
    auto found = ClassReader(draft, axes, uses, axis).read();
    if (!found) continue;
    const bool mixed = std::any_of(found->statements.begin(), found->statements.end(),
                                   [&](const auto& entry) { return taken.contains(entry.first); });
    if (mixed) continue;
    for (const auto& [statement, how] : found->statements) taken.insert(statement);
    classes.push_back(std::move(*found));
  }
  return classes;
}

std::vector<EdgeReads> edge_reads(const Statement& statement, const EdgeClass& edges,
                                  IndexId edge) {
  std::vector<EdgeReads> reads(statement.nodes.size(), EdgeReads::nothing);
  for (size_t n = 0; n < statement.nodes.size(); ++n) {
    const Expr& node = statement.nodes[n];
    if (node.kind == Expr::Kind::access) {
      if (edges.values.contains(node.tensor))
        reads[n] = EdgeReads::values;
      else if (has_index(node, edge))
        reads[n] = EdgeReads::edge_data;
    }
    for (const int32_t c : node.children)
      reads[n] = std::max(reads[n], reads[static_cast<size_t>(c)]);
  }
  return reads;
}

bool pays(const DraftProgram& draft, const EdgeClass& edges) {
  double by_edge = 0;
  double on_matrix = 0;
  for (const auto& [s, made] : edges.statements) {
    const Statement& statement = draft.statements[s].statement;
    double inner = 1;  // elements of an edge
    for (size_t i = 0; i < statement.indices.size(); ++i) {
      const auto index = static_cast<IndexId>(i);
      if (index != made.edge && index != made.node)
        inner *= static_cast<double>(statement.indices[i].extent);
    }
    const double visited = static_cast<double>(edges.edges) * inner;
    by_edge += visited;
    if (made.kind == EdgeStatement::Kind::scatter)  // its matrix of bits has these rows, too
      by_edge += static_cast<double>(edges.lists[static_cast<size_t>(made.list)].extent);
    const bool gathers = made.kind == EdgeStatement::Kind::gather;
    if (gathers) continue;  // rows of the matrix's loops are where the elements are
    const auto value = edges.values.find(statement.result);
    if (value != edges.values.end() && value->second.by_node()) {
      const auto list = static_cast<size_t>(__builtin_ctz(value->second.lists));
      on_matrix += static_cast<double>(edges.lists[list].extent) * inner;
    } else {
      on_matrix += static_cast<double>(edges.lists[0].extent) + visited;
    }
  }
  return on_matrix <= 0.9 * by_edge;
}

}  // namespace fuseflow
