#include "import/finish/edge_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <list>
#include <map>

#include "import/finish/edge_class.h"
#include "import/finish/edge_places.h"
#include "import/finish/edge_plan.h"
#include "import/finish/edge_softmax.h"
#include "import/finish/edge_starts.h"
#include "import/finish/edge_terms.h"
#include "import/finish/finalize.h"
#include "import/values/evaluate.h"
#include "support/text.h"

namespace fuseflow {

namespace {

Expr literal_of(float value) {
  Expr literal;
  literal.constant = value;
  return literal;
}

Subscript subscript_of(IndexId index) {
  return Subscript{{{index, 1}}, 0};
}

/// What a subscript is when its indices stand for others.
Subscript substituted(const Subscript& s, const std::vector<Subscript>& by) {
  std::map<IndexId, int64_t> terms;
  Subscript result;
  result.offset = s.offset;
  for (const auto& [index, c] : s.terms) {
    const Subscript& value = by[static_cast<size_t>(index)];
    result.offset += c * value.offset;
    for (const auto& [inner, k] : value.terms) terms[inner] += c * k;
  }
  for (const auto& [index, c] : terms) {
    if (c != 0) result.terms.emplace_back(index, c);
  }
  std::sort(result.terms.begin(), result.terms.end(),
            [](const auto& a, const auto& b) { return a.second > b.second; });
  return result;
}

/// A matrix of edges that the program has.
struct KnownMatrix {
  std::vector<EdgeEnds> coordinates;
  bool counted = false;
  TensorId tensor = -1;
  int number = -1;
  TensorId numbers = -1;  ///< edge_numbers(), once it is needed
};

class MatrixWriter {
 public:
  MatrixWriter(DraftProgram& draft, EdgeClass& edges, EdgePlaces places, KnownMatrix& matrix,
               std::map<size_t, std::vector<DraftStatement>>& before)
      : draft_(draft),
        edges_(edges),
        places_(std::move(places)),
        matrix_(matrix),
        before_(before),
        absent_(plan_edges(draft, edges)) {}

  void run() {
    for (const auto& [s, made] : edges_.statements) {
      if (made.kind == EdgeStatement::Kind::gather)
        gathers_[draft_.statements[s].statement.result] = s;
    }
    for (const auto& [s, made] : edges_.statements) {
      if (made.kind != EdgeStatement::Kind::gather) rewrite(s, made);
    }
    for (const auto& [tensor, value] : edges_.values) {
      if (!gathers_.contains(tensor)) reshape(tensor, value);
    }
  }

 private:
  bool by_node(TensorId tensor) const { return edges_.values.at(tensor).by_node(); }

  void rewrite(size_t s, const EdgeStatement& made) {
    const Statement old = draft_.statements[s].statement;
    at_ = s;
    made_ = made;
    reads_ = edge_reads(old, edges_, made.edge);
    from_ = &old;
    to_ = old;
    to_.nodes.clear();
    where_.assign(places_.coordinates.size(), -1);
    const auto value = edges_.values.find(old.result);
    for (size_t c = 0; c < where_.size(); ++c) {
      if (made.kind == EdgeStatement::Kind::scatter && made.list == static_cast<int>(c)) {
        where_[c] = made.node;
      } else if (value == edges_.values.end() || !value->second.by_node() ||
                 value->second.lists == uint32_t{1} << c) {
        where_[c] = static_cast<IndexId>(to_.indices.size());
        to_.indices.push_back({"edge", places_.coordinates[c].extent});
      }
    }
    const int32_t root = copy(static_cast<int32_t>(old.nodes.size()) - 1);
    if (value != edges_.values.end()) {
      const auto at = to_.result_indices.begin() + static_cast<std::ptrdiff_t>(value->second.dim);
      const auto place = to_.result_indices.erase(at);
      const std::vector<IndexId> own = coordinates_of(value->second);
      to_.result_indices.insert(place, own.begin(), own.end());
      const auto absent = absent_.find(old.result);
      if (absent != absent_.end() && absent->second.masked) mask(root, absent->second.value);
    }
    draft_.statements[s].statement = std::move(to_);
  }

  /// The indices of a value's dimensions on the matrix.
  std::vector<IndexId> coordinates_of(const EdgeValue& value) const {
    if (!value.by_node()) return where_;
    return {where_[static_cast<size_t>(__builtin_ctz(value.lists))]};
  }

  int32_t add(Expr node) {
    to_.nodes.push_back(std::move(node));
    return static_cast<int32_t>(to_.nodes.size()) - 1;
  }

  int32_t apply(Op op, std::vector<int32_t> children) {
    Expr node;
    node.kind = Expr::Kind::apply;
    node.op = op;
    node.children = std::move(children);
    return add(std::move(node));
  }

  Expr access_at_edge(TensorId tensor) const {
    Expr access;
    access.kind = Expr::Kind::access;
    access.tensor = tensor;
    for (const IndexId i : where_) access.subscripts.push_back(subscript_of(i));
    return access;
  }

  int32_t mask(int32_t value, float otherwise) {
    const int32_t here = add(access_at_edge(matrix_.tensor));
    const int32_t none = add(literal_of(otherwise));
    return apply(Op::where, {here, value, none});
  }

  int32_t copy(int32_t n) {
    const Expr& node = from_->nodes[static_cast<size_t>(n)];
    if (n == made_.reduction) return reduce(node);
    if (reads_[static_cast<size_t>(n)] == EdgeReads::edge_data) return edge_data(n);
    if (node.kind == Expr::Kind::access && edges_.values.contains(node.tensor)) {
      const auto gather = gathers_.find(node.tensor);
      return gather == gathers_.end() ? add(at_place(node)) : gathered(node, gather->second);
    }
    Expr made = node;
    for (int32_t& c : made.children) c = copy(c);
    return add(std::move(made));
  }

  /// The access to a value of edges by the coordinates of the edge.
  Expr at_place(const Expr& access) const {
    const EdgeValue& value = edges_.values.at(access.tensor);
    Expr made = access;
    const auto at = made.subscripts.begin() + static_cast<std::ptrdiff_t>(value.dim);
    const auto place = made.subscripts.erase(at);
    std::vector<Subscript> own;
    for (const IndexId i : coordinates_of(value)) own.push_back(subscript_of(i));
    made.subscripts.insert(place, own.begin(), own.end());
    return made;
  }

  /// What a gather reads, by the coordinate of its end.
  int32_t gathered(const Expr& access, size_t s) {
    const Statement& gather = draft_.statements[s].statement;
    const EdgeStatement& made = edges_.statements.at(s);
    std::vector<Subscript> by(gather.indices.size());
    by[static_cast<size_t>(made.node)] = subscript_of(where_[static_cast<size_t>(made.list)]);
    for (size_t d = 0; d < gather.result_indices.size(); ++d) {
      if (gather.result_indices[d] != made.edge)
        by[static_cast<size_t>(gather.result_indices[d])] = access.subscripts[d];
    }
    const Expr& choice = gather.nodes[static_cast<size_t>(gather.root().children[0])];
    return substitute(gather, choice.children[1], by);
  }

  int32_t substitute(const Statement& from, int32_t n, const std::vector<Subscript>& by) {
    Expr made = from.nodes[static_cast<size_t>(n)];
    for (int32_t& c : made.children) c = substitute(from, c, by);
    for (Subscript& s : made.subscripts) s = substituted(s, by);
    if (made.kind != Expr::Kind::coordinate) return add(std::move(made));
    return affine(by[static_cast<size_t>(made.index)]);
  }

  /// A number that depends on indices.
  int32_t affine(const Subscript& s) {
    int32_t sum = add(literal_of(static_cast<float>(s.offset)));
    for (const auto& [index, c] : s.terms) {
      Expr coordinate;
      coordinate.kind = Expr::Kind::coordinate;
      coordinate.index = index;
      const int32_t at = add(std::move(coordinate));
      const int32_t factor = add(literal_of(static_cast<float>(c)));
      sum = apply(Op::add, {sum, apply(Op::mul, {at, factor})});
    }
    return sum;
  }

  /// A scatter reduces over the other ends, and what reduces over all edges over both.
  int32_t reduce(const Expr& node) {
    int32_t body = node.children[0];
    if (made_.kind == EdgeStatement::Kind::scatter)
      body = from_->nodes[static_cast<size_t>(body)].children[1];
    Expr made = node;
    std::erase(made.over, made_.edge);
    for (const IndexId i : where_) {
      if (i != made_.node) made.over.push_back(i);
    }
    int32_t value = copy(body);
    if (places_.counted && node.reduction == Reduction::sum) {
      const int32_t count = add(access_at_edge(matrix_.tensor));
      value = apply(Op::mul, {count, value});
    }
    made.children = {mask(value, identity(node.reduction))};
    return add(std::move(made));
  }

  /// The part of an expression that depends on what edges have, brought to the matrix: a constant,
  /// or a statement that takes each edge's to its place.
  int32_t edge_data(int32_t n) {
    Statement part;  // the subtree, over indices of its own
    part.indices = from_->indices;
    take_tree(n, part);
    std::vector<IndexId> others;  // that are not reduced in it, in order of use
    for (const Expr& e : part.nodes) {
      for (const Subscript& s : e.subscripts) {
        for (const auto& term : s.terms) note_free(part, term.first, others);
      }
      if (e.kind == Expr::Kind::coordinate) note_free(part, e.index, others);
    }
    const std::string key = signature(part, others);
    auto known = data_.find(key);
    if (known == data_.end()) known = data_.emplace(key, bring(part, others)).first;
    Expr access = access_at_edge(known->second);
    for (const IndexId i : others) access.subscripts.push_back(subscript_of(i));
    return add(std::move(access));
  }

  int32_t take_tree(int32_t n, Statement& part) const {
    Expr node = from_->nodes[static_cast<size_t>(n)];
    for (int32_t& c : node.children) c = take_tree(c, part);
    part.nodes.push_back(std::move(node));
    return static_cast<int32_t>(part.nodes.size()) - 1;
  }

  void note_free(const Statement& part, IndexId index, std::vector<IndexId>& others) const {
    const auto reduced = [&](const Expr& e) {
      return std::find(e.over.begin(), e.over.end(), index) != e.over.end();
    };
    if (index == made_.edge || std::any_of(part.nodes.begin(), part.nodes.end(), reduced) ||
        std::find(others.begin(), others.end(), index) != others.end())
      return;
    others.push_back(index);
  }

  /// What identifies a part of an expression, whatever its indices are called.
  std::string signature(const Statement& part, const std::vector<IndexId>& others) const {
    std::vector<IndexId> seen = {made_.edge};
    seen.insert(seen.end(), others.begin(), others.end());
    const auto name = [&](IndexId index) {
      auto at = std::find(seen.begin(), seen.end(), index);
      if (at == seen.end()) at = seen.insert(at, index);
      return fmt::format("{}:{}", at - seen.begin(),
                         part.indices[static_cast<size_t>(index)].extent);
    };
    std::string text;
    for (const Expr& e : part.nodes) {
      text += fmt::format("|{} {} {} {} {}", static_cast<int>(e.kind), e.tensor, e.constant,
                          static_cast<int>(e.op), static_cast<int>(e.reduction));
      for (const int32_t c : e.children) text += fmt::format(",{}", c);
      for (const IndexId i : e.over) text += " over " + name(i);
      if (e.kind == Expr::Kind::coordinate) text += " index " + name(e.index);
      for (const Subscript& s : e.subscripts) {
        text += fmt::format(" [{}", s.offset);
        for (const auto& [index, c] : s.terms) text += fmt::format("+{}*{}", c, name(index));
      }
    }
    return text;
  }

  TensorId bring(const Statement& part, const std::vector<IndexId>& others) {
    View view;
    for (const Index& index : part.indices) view.atoms.push_back(index.extent);
    view.dims.push_back({made_.edge});
    for (const IndexId i : others) view.dims.push_back({i});
    view.nodes = part.nodes;
    const Expr& read = *std::find_if(part.nodes.begin(), part.nodes.end(), [&](const Expr& e) {
      return e.kind == Expr::Kind::access && has_index(e, made_.edge);
    });
    const Draft& source = draft_.tensors[static_cast<size_t>(read.tensor)];
    if (part.nodes.size() == 1) view.type = source.tensor.type;
    const auto constant = [this](TensorId t) {
      return draft_.tensors[static_cast<size_t>(t)].data.get();
    };
    const bool known = std::all_of(part.nodes.begin(), part.nodes.end(), [&](const Expr& e) {
      return e.kind != Expr::Kind::access || constant(e.tensor) != nullptr;
    });
    Draft made;
    made.tensor.name = name_for(source.tensor.name + ".by_edge");
    made.edges = matrix_.number;
    made.from_input = source.from_input;
    if (known && view.size() <= kMaxFoldedElements) {
      made.data = on_matrix(places_, *evaluate_value(view, constant), 0);
      made.tensor.role = Role::constant;
      made.tensor.type = made.data->type;
      made.shape = made.data->shape;
      draft_.tensors.push_back(std::move(made));
      return static_cast<TensorId>(draft_.tensors.size()) - 1;
    }
    made.tensor.type = view.type;
    made.shape = places_.shape();
    for (const IndexId i : others)
      made.shape.push_back(part.indices[static_cast<size_t>(i)].extent);
    return place(part, others, std::move(made));
  }

  /// A statement: the sum over edges of what stands at the place.
  TensorId place(Statement part, const std::vector<IndexId>& others, Draft made) {
    if (matrix_.numbers < 0) {
      Draft numbers;
      numbers.tensor.name = name_for(tensor_name(matrix_.tensor) + ".number");
      numbers.tensor.role = Role::constant;
      numbers.tensor.type = ElementType::boolean;
      numbers.data = edge_numbers(places_);
      numbers.shape = numbers.data->shape;
      draft_.tensors.push_back(std::move(numbers));
      matrix_.numbers = static_cast<TensorId>(draft_.tensors.size()) - 1;
    }
    draft_.tensors.push_back(std::move(made));
    part.result = static_cast<TensorId>(draft_.tensors.size()) - 1;
    part.from = from_->from;
    Expr bits;
    bits.kind = Expr::Kind::access;
    bits.tensor = matrix_.numbers;
    for (const EdgeEnds& ends : places_.coordinates) {
      const auto index = static_cast<IndexId>(part.indices.size());
      part.indices.push_back({"edge", ends.extent});
      part.result_indices.push_back(index);
      bits.subscripts.push_back(subscript_of(index));
    }
    bits.subscripts.push_back(subscript_of(made_.edge));
    part.result_indices.insert(part.result_indices.end(), others.begin(), others.end());
    const auto value = static_cast<int32_t>(part.nodes.size()) - 1;
    Expr choice;
    choice.kind = Expr::Kind::apply;
    choice.op = Op::where;
    choice.children = {value + 1, value, value + 2};
    Expr sum;
    sum.kind = Expr::Kind::reduce;
    sum.over = {made_.edge};
    sum.children = {value + 3};
    part.nodes.push_back(std::move(bits));
    part.nodes.push_back(literal_of(0));
    part.nodes.push_back(std::move(choice));
    part.nodes.push_back(std::move(sum));
    const TensorId result = part.result;
    before_[at_].push_back({std::move(part), draft_.statements[at_].group});
    return result;
  }

  std::string tensor_name(TensorId tensor) const {
    return draft_.tensors[static_cast<size_t>(tensor)].tensor.name;
  }

  std::string name_for(const std::string& wanted) const {
    return unused_name(wanted, ".", 1, [&](const std::string& name) {
      return std::any_of(draft_.tensors.begin(), draft_.tensors.end(),
                         [&](const Draft& d) { return d.tensor.name == name; });
    });
  }

  void reshape(TensorId tensor, const EdgeValue& value) {
    Draft& made = draft_.tensors[static_cast<size_t>(tensor)];
    const auto place =
        made.shape.erase(made.shape.begin() + static_cast<std::ptrdiff_t>(value.dim));
    if (value.by_node()) {
      made.shape.insert(
          place, places_.coordinates[static_cast<size_t>(__builtin_ctz(value.lists))].extent);
      return;
    }
    const std::vector<int64_t> shape = places_.shape();
    made.shape.insert(place, shape.begin(), shape.end());
    made.edges = matrix_.number;
  }

  DraftProgram& draft_;
  EdgeClass& edges_;
  EdgePlaces places_;
  KnownMatrix& matrix_;
  std::map<size_t, std::vector<DraftStatement>>& before_;  ///< statements to put in front of others
  AbsentValues absent_;
  std::map<TensorId, size_t> gathers_;    ///< the statement of each gather's result
  std::map<std::string, TensorId> data_;  ///< what edges have, on the matrix

  // The statement that is being rewritten.
  size_t at_ = 0;
  EdgeStatement made_;
  std::vector<EdgeReads> reads_;
  const Statement* from_ = nullptr;
  Statement to_;
  std::vector<IndexId> where_;  ///< the index of each coordinate; -1: the statement has none
};

class Converter {
 public:
  explicit Converter(DraftProgram& draft) : draft_(draft) {}

  bool run() {
    bool any = false;
    for (EdgeClass& edges : edge_classes(draft_)) {
      if (!pays(draft_, edges)) continue;
      auto places = edge_places(draft_, edges);
      if (!places) continue;
      KnownMatrix& matrix = matrix_of(*places);
      MatrixWriter(draft_, edges, std::move(*places), matrix, before_).run();
      any = true;
    }
    std::vector<DraftStatement> all;
    for (size_t s = 0; s < draft_.statements.size(); ++s) {
      const auto found = before_.find(s);
      if (found != before_.end()) {
        std::move(found->second.begin(), found->second.end(), std::back_inserter(all));
      }
      all.push_back(std::move(draft_.statements[s]));
    }
    draft_.statements = std::move(all);
    return any;
  }

 private:
  /// Layers that pass messages along the same edges share the matrix.
  KnownMatrix& matrix_of(const EdgePlaces& places) {
    for (KnownMatrix& known : known_) {
      if (known.coordinates == places.coordinates && known.counted == places.counted) return known;
    }
    Draft made;
    made.tensor.name = unused_name("edges", ".", 1, [&](const std::string& name) {
      return std::any_of(draft_.tensors.begin(), draft_.tensors.end(),
                         [&](const Draft& d) { return d.tensor.name == name; });
    });
    made.data = edge_matrix(places);
    made.tensor.role = Role::constant;
    made.tensor.type = made.data->type;
    made.shape = made.data->shape;
    made.edges = static_cast<int>(known_.size());
    made.edge_matrix = true;
    draft_.tensors.push_back(std::move(made));
    known_.push_back({places.coordinates, places.counted,
                      static_cast<TensorId>(draft_.tensors.size()) - 1,
                      static_cast<int>(known_.size()), -1});
    return known_.back();
  }

  DraftProgram& draft_;
  std::list<KnownMatrix> known_;
  std::map<size_t, std::vector<DraftStatement>> before_;
};

}  // namespace

void edges_to_matrices(DraftProgram& draft) {
  simplify_starts(draft);
  split_edge_terms(draft);
  if (!Converter(draft).run()) return;
  drop_dead_statements(draft);
  join_edge_softmax(draft);
}

}  // namespace fuseflow
