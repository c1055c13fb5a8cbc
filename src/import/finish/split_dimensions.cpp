// Cutting by propagation of cuts to a fixed point. An axis is a dimension of a tensor or an index
// of a statement; its cuts are the products of the extents after each cut, a chain of divisors.
#include "import/finish/split_dimensions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "import/values/view.h"
#include "support/defect.h"
#include "support/error.h"

namespace fuseflow {

namespace {

struct Axis {
  int64_t extent = 1;
  std::set<int64_t> cuts;
  bool frozen = false;
};

/// One subscript: tensor axis = offset + sum of coefficient * index axis.
struct Link {
  int tensor_axis = -1;
  std::vector<std::pair<int, int64_t>> terms;  ///< index axis and coefficient, descending
  int64_t offset = 0;
  bool aligned = true;  ///< the indices are digits of the tensor's coordinate
};

class DimensionSplitter {
 public:
  explicit DimensionSplitter(DraftProgram& draft) : draft_(draft) {
    make_axes();
    make_links();
  }

  void run() {
    while (!settle_cuts()) {
      for (Axis& axis : axes_) axis.cuts.clear();
    }
    rewrite_statements();
    rewrite_shapes();
  }

 private:
  void make_axes() {
    for (const Draft& t : draft_.tensors) {
      tensor_base_.push_back(static_cast<int>(axes_.size()));
      for (const int64_t e : t.shape) axes_.push_back({e, {}, t.pinned});
    }
    for (const DraftStatement& s : draft_.statements) {
      index_base_.push_back(static_cast<int>(axes_.size()));
      for (const Index& i : s.statement.indices) axes_.push_back({i.extent, {}, false});
    }
    twin_.assign(axes_.size(), -1);
  }

  int tensor_axis(TensorId tensor, size_t dim) const {
    return tensor_base_[static_cast<size_t>(tensor)] + static_cast<int>(dim);
  }

  void make_links() {
    for (size_t s = 0; s < draft_.statements.size(); ++s) {
      const Statement& statement = draft_.statements[s].statement;
      for (size_t d = 0; d < statement.result_indices.size(); ++d) {
        const int t = tensor_axis(statement.result, d);
        const int i = index_base_[s] + statement.result_indices[d];
        twin_[static_cast<size_t>(t)] = i;
        links_.push_back({t, {{i, 1}}, 0, true});
        if (axes_[static_cast<size_t>(t)].frozen) axes_[static_cast<size_t>(i)].frozen = true;
      }
      for (const Expr& node : statement.nodes) {
        if (node.kind != Expr::Kind::access ||
            draft_.tensors[static_cast<size_t>(node.tensor)].data)
          continue;
        for (size_t d = 0; d < node.subscripts.size(); ++d) add_link(node, d, index_base_[s]);
      }
    }
  }

  void add_link(const Expr& node, size_t d, int base) {
    Link link;
    link.tensor_axis = tensor_axis(node.tensor, d);
    link.offset = node.subscripts[d].offset;
    for (const auto& [index, c] : node.subscripts[d].terms)
      link.terms.emplace_back(base + index, c);
    std::sort(link.terms.begin(), link.terms.end(),
              [](const auto& a, const auto& b) { return a.second > b.second; });
    link.aligned = is_aligned(link);
    if (!link.aligned) freeze(link.tensor_axis);
    links_.push_back(std::move(link));
  }

  bool is_aligned(const Link& link) const {
    int64_t above = axes_[static_cast<size_t>(link.tensor_axis)].extent;
    if (link.offset < 0 || link.offset >= above) return false;
    for (const auto& [axis, c] : link.terms) {
      const int64_t extent = axes_[static_cast<size_t>(axis)].extent;
      if (c <= 0 || above % (c * extent) != 0 || (link.offset / c) % extent != 0) return false;
      above = c;
    }
    return true;
  }

  void freeze(int axis) {
    axes_[static_cast<size_t>(axis)].frozen = true;
    const int twin = twin_[static_cast<size_t>(axis)];
    if (twin >= 0) axes_[static_cast<size_t>(twin)].frozen = true;
  }

  enum class CutResult { no, yes, conflict };

  CutResult add(int id, int64_t cut) {
    Axis& axis = axes_[static_cast<size_t>(id)];
    if (cut <= 1 || cut >= axis.extent || axis.cuts.contains(cut)) return CutResult::no;
    bool chain = !axis.frozen && axis.extent % cut == 0;
    for (const int64_t other : axis.cuts) chain = chain && (other % cut == 0 || cut % other == 0);
    if (!chain) return CutResult::conflict;
    axis.cuts.insert(cut);
    return CutResult::yes;
  }

  /// Propagates one link both ways.
  CutResult propagate(const Link& link) {
    std::vector<std::pair<int, int64_t>> wanted;
    for (const auto& [axis, c] : link.terms) {
      const Axis& index = axes_[static_cast<size_t>(axis)];
      wanted.emplace_back(link.tensor_axis, c);
      wanted.emplace_back(link.tensor_axis, c * index.extent);
      for (const int64_t cut : index.cuts) wanted.emplace_back(link.tensor_axis, c * cut);
      for (const int64_t cut : axes_[static_cast<size_t>(link.tensor_axis)].cuts) {
        if (cut <= c || cut >= c * index.extent) continue;
        if (cut % c != 0) return CutResult::conflict;
        wanted.emplace_back(axis, cut / c);
      }
    }
    CutResult result = CutResult::no;
    for (const auto& [axis, cut] : wanted) {
      const CutResult added = add(axis, cut);
      if (added == CutResult::conflict) return added;
      if (added == CutResult::yes) result = added;
    }
    return result;
  }

  /// True at a fixed point; false after an axis had to be frozen, which asks for a fresh start.
  bool settle_cuts() {
    bool changed = true;
    while (changed) {
      changed = false;
      for (const Link& link : links_) {
        const bool skipped = axes_[static_cast<size_t>(link.tensor_axis)].frozen;
        const bool definition = skipped && twin_[static_cast<size_t>(link.tensor_axis)] ==
                                               (link.terms.empty() ? -1 : link.terms[0].first);
        if (skipped || !link.aligned || definition) continue;
        const CutResult added = propagate(link);
        if (added == CutResult::conflict) {
          freeze(link.tensor_axis);
          return false;
        }
        changed = changed || added == CutResult::yes;
      }
    }
    return true;
  }

  /// Extents of the parts of an axis, outermost first.
  std::vector<int64_t> factors(int id) const {
    const Axis& axis = axes_[static_cast<size_t>(id)];
    std::vector<int64_t> result;
    int64_t above = axis.extent;
    for (auto cut = axis.cuts.rbegin(); cut != axis.cuts.rend(); ++cut) {
      result.push_back(above / *cut);
      above = *cut;
    }
    result.push_back(above);
    return result;
  }

  void rewrite_statements() {
    for (size_t s = 0; s < draft_.statements.size(); ++s) {
      Statement& statement = draft_.statements[s].statement;
      split_indices(statement, index_base_[s]);
      for (Expr& node : statement.nodes) {
        if (node.kind == Expr::Kind::access &&
            !draft_.tensors[static_cast<size_t>(node.tensor)].data)
          split_subscripts(node);
      }
    }
  }

  void split_indices(Statement& statement, int base) {
    View view;
    view.nodes = std::move(statement.nodes);
    const size_t count = statement.indices.size();
    std::vector<Index> indices = statement.indices;
    for (const Index& i : indices) view.atoms.push_back(i.extent);
    std::vector<std::vector<IndexId>> parts(count);
    for (size_t i = 0; i < count; ++i) {
      const std::vector<int64_t> extents = factors(base + static_cast<int>(i));
      if (extents.size() == 1) {
        parts[i] = {static_cast<IndexId>(i)};
        continue;
      }
      Subscript sum;
      int64_t below = indices[i].extent;
      for (const int64_t e : extents) {
        below /= e;
        parts[i].push_back(static_cast<IndexId>(indices.size()));
        sum.terms.emplace_back(parts[i].back(), below);
        indices.push_back({indices[i].name, e});
      }
      substitute(view, static_cast<IndexId>(i), sum);
    }
    statement.nodes = std::move(view.nodes);
    std::vector<IndexId> result;
    for (const IndexId i : statement.result_indices) {
      const auto& p = parts[static_cast<size_t>(i)];
      result.insert(result.end(), p.begin(), p.end());
    }
    statement.result_indices = std::move(result);
    statement.indices = std::move(indices);
  }

  void split_subscripts(Expr& node) const {
    std::vector<Subscript> result;
    for (size_t d = 0; d < node.subscripts.size(); ++d) {
      const Subscript& old = node.subscripts[d];
      const std::vector<int64_t> extents = factors(tensor_axis(node.tensor, d));
      if (extents.size() == 1) {
        result.push_back(old);
        continue;
      }
      int64_t below = axes_[static_cast<size_t>(tensor_axis(node.tensor, d))].extent;
      size_t placed = 0;
      for (const int64_t e : extents) {
        const int64_t above = below;
        below /= e;
        Subscript part;
        part.offset = (old.offset / below) % e;
        for (const auto& [index, c] : old.terms) {
          if (c >= below && c < above) part.terms.emplace_back(index, c / below), ++placed;
        }
        result.push_back(std::move(part));
      }
      if (placed != old.terms.size()) throw Defect("a subscript could not be cut");
    }
    node.subscripts = std::move(result);
  }

  void rewrite_shapes() {
    for (size_t t = 0; t < draft_.tensors.size(); ++t) {
      Draft& tensor = draft_.tensors[t];
      if (tensor.data) continue;
      std::vector<int64_t> shape;
      for (size_t d = 0; d < tensor.shape.size(); ++d) {
        const std::vector<int64_t> parts = factors(tensor_axis(static_cast<TensorId>(t), d));
        shape.insert(shape.end(), parts.begin(), parts.end());
      }
      tensor.shape = std::move(shape);
    }
  }

  DraftProgram& draft_;
  std::vector<Axis> axes_;
  std::vector<int> tensor_base_;
  std::vector<int> index_base_;
  std::vector<int> twin_;  ///< by tensor axis: the index that defines it
  std::vector<Link> links_;
};

/// Calls `visit` for every access to `tensor`.
template <typename Visit>
void for_each_access(DraftProgram& draft, TensorId tensor, Visit visit) {
  for (DraftStatement& s : draft.statements) {
    for (Expr& node : s.statement.nodes) {
      if (node.kind == Expr::Kind::access && node.tensor == tensor) visit(node);
    }
  }
}

/// The statement for coordinate `at` of result dimension `d`.
Statement at_constant(const Statement& s, size_t d, int64_t at) {
  Statement copy = s;
  View view;
  view.nodes = copy.nodes;
  substitute(view, copy.result_indices[d], Subscript{{}, at});
  copy.nodes = std::move(view.nodes);
  copy.result_indices.erase(copy.result_indices.begin() + static_cast<std::ptrdiff_t>(d));
  return copy;
}

/// Splits what is read at constants only. Goes backwards: who reads a tensor is settled before what
/// defines it, and a split statement may leave its operands read at constants only.
class ConstantSplitter {
 public:
  explicit ConstantSplitter(DraftProgram& draft)
      : draft_(draft), open_(std::move(draft.statements)) {
    readers_.resize(draft_.tensors.size());
  }

  void run() {
    while (!open_.empty()) {
      DraftStatement made = std::move(open_.back());
      open_.pop_back();
      if (!split(made)) settle(std::move(made));
    }
    std::reverse(settled_.begin(), settled_.end());
    draft_.statements = std::move(settled_);
  }

 private:
  void settle(DraftStatement made) {
    for (const Expr& node : made.statement.nodes) {
      if (node.kind == Expr::Kind::access)
        readers_[static_cast<size_t>(node.tensor)].push_back(settled_.size());
    }
    settled_.push_back(std::move(made));
  }

  /// Calls `visit` for every access to `tensor`, with the number of its statement.
  template <typename Visit>
  void for_each_reader(TensorId tensor, Visit visit) {
    std::vector<size_t> readers = readers_[static_cast<size_t>(tensor)];
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    for (const size_t s : readers) {
      for (Expr& node : settled_[s].statement.nodes) {
        if (node.kind == Expr::Kind::access && node.tensor == tensor) visit(node, s);
      }
    }
  }

  /// The constants at which dimension `d` is read; empty when some access is not at a constant.
  std::set<int64_t> constants_read(TensorId tensor, size_t d) {
    std::set<int64_t> constants;
    bool all = true;
    for_each_reader(tensor, [&](const Expr& node, size_t) {
      all = all && node.subscripts[d].terms.empty();
      constants.insert(node.subscripts[d].offset);
    });
    return all ? constants : std::set<int64_t>{};
  }

  /// A statement for each constant at which some dimension of the result is read, to be split
  /// further. False if there is no such dimension.
  bool split(const DraftStatement& made) {
    const auto t = static_cast<size_t>(made.statement.result);
    if (draft_.tensors[t].tensor.role != Role::temporary) return false;
    for (size_t d = 0; d < draft_.tensors[t].shape.size(); ++d) {
      const std::set<int64_t> constants = constants_read(made.statement.result, d);
      if (constants.empty()) continue;
      split_at(made, d, constants);
      return true;
    }
    return false;
  }

  void split_at(const DraftStatement& made, size_t d, const std::set<int64_t>& constants) {
    const TensorId tensor = made.statement.result;
    std::map<int64_t, TensorId> parts;
    for (const int64_t at : constants) {
      Draft part = draft_.tensors[static_cast<size_t>(tensor)];
      part.shape.erase(part.shape.begin() + static_cast<std::ptrdiff_t>(d));
      if (part.base_name.empty()) part.base_name = part.tensor.name;
      if (constants.size() > 1) part.tensor.name += fmt::format(".{}", at);
      parts[at] = static_cast<TensorId>(draft_.tensors.size());
      draft_.tensors.push_back(std::move(part));
      open_.push_back({at_constant(made.statement, d, at), made.group});
      open_.back().statement.result = parts[at];
    }
    readers_.resize(draft_.tensors.size());
    for_each_reader(tensor, [&](Expr& node, size_t s) {
      node.tensor = parts.at(node.subscripts[d].offset);
      node.subscripts.erase(node.subscripts.begin() + static_cast<std::ptrdiff_t>(d));
      readers_[static_cast<size_t>(node.tensor)].push_back(s);
    });
  }

  DraftProgram& draft_;
  std::vector<DraftStatement> open_;          ///< in order, the next one last
  std::vector<DraftStatement> settled_;       ///< backwards
  std::vector<std::vector<size_t>> readers_;  ///< by tensor: numbers of settled statements
};

}  // namespace

void split_dimensions(DraftProgram& draft) {
  DimensionSplitter(draft).run();
}

void split_read_at_constants(DraftProgram& draft) {
  ConstantSplitter(draft).run();
}

void drop_unit_dimensions(DraftProgram& draft) {
  for (size_t t = 0; t < draft.tensors.size(); ++t) {
    Draft& tensor = draft.tensors[t];
    if (tensor.tensor.role != Role::input || tensor.data || tensor.pinned) continue;
    for (size_t d = tensor.shape.size(); d-- > 0;) {
      if (tensor.shape[d] != 1) continue;
      const auto at = static_cast<std::ptrdiff_t>(d);
      bool inside = true;
      for_each_access(draft, static_cast<TensorId>(t), [&](const Expr& node) {
        inside = inside && node.subscripts[d] == Subscript{};
      });
      if (!inside) continue;
      tensor.shape.erase(tensor.shape.begin() + at);
      for_each_access(draft, static_cast<TensorId>(t),
                      [&](Expr& node) { node.subscripts.erase(node.subscripts.begin() + at); });
    }
  }
}

}  // namespace fuseflow
