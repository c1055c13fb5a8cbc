#include "import/finish/edge_starts.h"

#include <algorithm>
#include <limits>
#include <set>

#include "import/finish/edge_ends.h"
#include "import/finish/finalize.h"
#include "support/text.h"

namespace fuseflow {

namespace {

using Rows = std::vector<bool>;

/// What the elements of each row start from; nothing where that varies within a row.
using Starts = std::optional<std::vector<float>>;

class StartReader {
 public:
  StartReader(const DraftProgram& draft, const Statement& statement, const GatherOrScatter& use)
      : draft_(draft), statement_(statement), use_(use) {
    how_ = statement.nodes[static_cast<size_t>(use.reduction)].reduction;
    hit_.assign(static_cast<size_t>(use.ends.extent), false);
    for (const int64_t row : use.ends.nodes) hit_[static_cast<size_t>(row)] = true;
  }

  /// By row; of rows with updates a number that every update is at least (of a minimum: at most).
  Starts read(const Expr& access) const {
    const Draft& start = draft_.tensors[static_cast<size_t>(access.tensor)];
    std::optional<size_t> dim;
    for (size_t d = 0; d < access.subscripts.size(); ++d) {
      const Subscript& s = access.subscripts[d];
      if (s.is_plain() && s.plain() == use_.node && start.shape[d] == use_.ends.extent) dim = d;
    }
    if (!dim) return std::nullopt;
    return start.data ? of_constant(*start.data, *dim) : of_reset(access.tensor);
  }

  const Rows& hit() const { return hit_; }

 private:
  bool loses(float value) const {
    constexpr float kMost = std::numeric_limits<float>::max();
    return how_ == Reduction::max ? value <= -kMost : value >= kMost;
  }

  Starts of_constant(const ConstantTensor& data, size_t dim) const {
    int64_t inner = 1;
    for (size_t d = dim + 1; d < data.shape.size(); ++d) inner *= data.shape[d];
    std::vector<float> starts(hit_.size(), 0);
    std::vector<bool> seen(hit_.size(), false);
    for (int64_t i = 0; i < data.size(); ++i) {
      const auto row = static_cast<size_t>((i / inner) % data.shape[dim]);
      const float value = data.as_float(i);
      if (hit_[row] && !loses(value)) return std::nullopt;
      if (seen[row] && starts[row] != value) return std::nullopt;
      seen[row] = true;
      starts[row] = value;
    }
    return starts;
  }

  const Statement* definition(TensorId tensor) const {
    for (const DraftStatement& s : draft_.statements) {
      if (s.statement.result == tensor) return &s.statement;
    }
    return nullptr;
  }

  /// sum(e) where(bits[n, e], the least of all updates, 0), one entry in each row with updates.
  Starts of_reset(TensorId tensor) const {
    const Statement* s = definition(tensor);
    if (s == nullptr || s->root().kind != Expr::Kind::reduce ||
        s->root().reduction != Reduction::sum || s->root().over.size() != 1)
      return std::nullopt;
    const Expr& choice = s->nodes[static_cast<size_t>(s->root().children[0])];
    if (choice.kind != Expr::Kind::apply || choice.op != Op::where) return std::nullopt;
    const auto child = [&](size_t c) -> const Expr& {
      return s->nodes[static_cast<size_t>(choice.children[c])];
    };
    if (child(2).kind != Expr::Kind::constant || child(2).constant != 0 || !resets(child(0), *s) ||
        !is_least(child(1)))
      return std::nullopt;
    constexpr float kInfinite = std::numeric_limits<float>::infinity();
    std::vector<float> starts(hit_.size(), 0);
    for (size_t row = 0; row < starts.size(); ++row) {
      if (hit_[row]) starts[row] = how_ == Reduction::max ? -kInfinite : kInfinite;
    }
    return starts;
  }

  /// Whether the bits have one entry in each row that has updates, and no other.
  bool resets(const Expr& bits, const Statement& s) const {
    if (bits.kind != Expr::Kind::access || bits.subscripts.size() != 2) return false;
    const ConstantTensor* data = draft_.tensors[static_cast<size_t>(bits.tensor)].data.get();
    if (data == nullptr || !data->sparse() || data->shape[0] != use_.ends.extent ||
        !bits.subscripts[1].is_plain() || bits.subscripts[1].plain() != s.root().over[0])
      return false;
    Rows rows(hit_.size(), false);
    for (const int64_t position : data->entries().positions) {
      auto row = rows[static_cast<size_t>(position / data->shape[1])];
      if (row) return false;
      row = true;
    }
    return rows == hit_;
  }

  /// The tensor that an access reads, through additions of 0.
  const Expr* followed(const Expr* access) const {
    while (access->kind == Expr::Kind::access) {
      const Statement* s = definition(access->tensor);
      if (s == nullptr) return nullptr;
      const Expr& root = s->root();
      if (root.kind == Expr::Kind::reduce) return access;
      const bool adds =
          root.kind == Expr::Kind::apply && root.op == Op::add &&
          s->nodes[static_cast<size_t>(root.children[0])].kind == Expr::Kind::constant &&
          s->nodes[static_cast<size_t>(root.children[0])].constant == 0;
      if (!adds && root.kind != Expr::Kind::access) return nullptr;
      access = adds ? &s->nodes[static_cast<size_t>(root.children[1])] : &root;
    }
    return nullptr;
  }

  /// Whether the value is the least (of a minimum: the largest) of the tensor that is scattered.
  bool is_least(const Expr& value) const {
    if (value.kind != Expr::Kind::access || !statement_body_is_access()) return false;
    const Expr* access = followed(&value);
    if (access == nullptr) return false;
    const Statement& s = *definition(access->tensor);
    const Expr& root = s.root();
    const Reduction other = how_ == Reduction::max ? Reduction::min : Reduction::max;
    const Expr& read = s.nodes[static_cast<size_t>(root.children[0])];
    const Expr& scattered = statement_.nodes[static_cast<size_t>(use_.body)];
    if (root.reduction != other || read.kind != Expr::Kind::access ||
        read.tensor != scattered.tensor)
      return false;
    const Draft& all = draft_.tensors[static_cast<size_t>(read.tensor)];
    std::set<IndexId> over(root.over.begin(), root.over.end());
    for (size_t d = 0; d < read.subscripts.size(); ++d) {
      const Subscript& sub = read.subscripts[d];
      if (all.shape[d] == 1 && sub == Subscript{}) continue;
      if (!sub.is_plain() || over.erase(sub.plain()) == 0 ||
          s.indices[static_cast<size_t>(sub.plain())].extent != all.shape[d])
        return false;
    }
    return over.empty();
  }

  bool statement_body_is_access() const {
    return statement_.nodes[static_cast<size_t>(use_.body)].kind == Expr::Kind::access;
  }

  const DraftProgram& draft_;
  const Statement& statement_;
  const GatherOrScatter& use_;
  Reduction how_;
  Rows hit_;
};

/// Puts `start` (nothing: leaves it out) in the place of the first operand of the root.
void start_from(Statement& s, const GatherOrScatter& use, const Expr* start) {
  std::vector<Expr> nodes;
  const int32_t last = use.reduction;
  std::vector<int32_t> moved(s.nodes.size(), -1);
  const auto take = [&](auto&& self, int32_t n) -> int32_t {
    Expr copy = s.nodes[static_cast<size_t>(n)];
    for (int32_t& c : copy.children) c = self(self, c);
    nodes.push_back(std::move(copy));
    return static_cast<int32_t>(nodes.size()) - 1;
  };
  Expr root = s.root();
  if (start != nullptr) nodes.push_back(*start);
  const int32_t reduced = take(take, last);
  if (start != nullptr) {
    root.children = {0, reduced};
    nodes.push_back(std::move(root));
  }
  s.nodes = std::move(nodes);
}

/// A vector of the starts as a constant of the program.
TensorId add_starts(DraftProgram& draft, const std::string& wanted, std::vector<float> starts) {
  Draft made;
  made.tensor.name = unused_name(wanted, ".", 1, [&](const std::string& name) {
    return std::any_of(draft.tensors.begin(), draft.tensors.end(),
                       [&](const Draft& d) { return d.tensor.name == name; });
  });
  made.tensor.role = Role::constant;
  made.shape = {static_cast<int64_t>(starts.size())};
  made.data = constant_floats(std::move(starts), made.shape);
  draft.tensors.push_back(std::move(made));
  return static_cast<TensorId>(draft.tensors.size()) - 1;
}

}  // namespace

void simplify_starts(DraftProgram& draft) {
  bool any = false;
  for (size_t at = 0; at < draft.statements.size(); ++at) {
    Statement& s = draft.statements[at].statement;
    const Expr& root = s.root();
    const bool joins = root.kind == Expr::Kind::apply && (root.op == Op::max || root.op == Op::min);
    if (!joins) continue;
    const auto use = ends_use(draft, s);
    if (!use || use->gathers || root.children[1] != use->reduction) continue;
    const Reduction how = s.nodes[static_cast<size_t>(use->reduction)].reduction;
    if ((how == Reduction::max) != (root.op == Op::max) ||
        (how != Reduction::max && how != Reduction::min))
      continue;
    const Expr first = s.nodes[static_cast<size_t>(root.children[0])];
    if (first.kind != Expr::Kind::access) continue;
    const StartReader reader(draft, s, *use);
    const Starts starts = reader.read(first);
    if (!starts) continue;
    any = true;
    const Rows& hit = reader.hit();
    if (std::find(hit.begin(), hit.end(), false) == hit.end()) {
      start_from(s, *use, nullptr);
      continue;
    }
    if (first.subscripts.size() == 1) continue;
    Expr access;
    access.kind = Expr::Kind::access;
    access.tensor = add_starts(
        draft, draft.tensors[static_cast<size_t>(s.result)].tensor.name + ".start", *starts);
    access.subscripts = {Subscript{{{use->node, 1}}, 0}};
    start_from(draft.statements[at].statement, *use, &access);
  }
  if (any) drop_dead_statements(draft);
}

}  // namespace fuseflow
