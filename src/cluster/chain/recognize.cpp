#include "cluster/chain/recognize.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "chip/copies.h"
#include "cluster/chain/form_builder.h"
#include "cluster/common/statement_table.h"
#include "cluster/common/tile_graph.h"
#include "ir/names.h"

namespace fuseflow::cluster {
namespace {

class Finder {
 public:
  explicit Finder(const Program& program)
      : program_(program),
        statements_(program),
        inner_([this](TensorId t) { return inner_statement(t); }) {
    for (const Region& region : program.regions) {
      for (const Statement& statement : region.statements) {
        if (!region.graph) defined_[statement.result] = &statement;
        position_.emplace(statement.result, position_.size());
      }
    }
  }

  /// Pairs of products that are no chain, by the tensor of the second.
  std::vector<RefusedChain> take_refused() {
    std::erase_if(refused_, [&](const RefusedChain& r) { return taken_.count(r.tensor) != 0; });
    return std::move(refused_);
  }

  std::vector<FoundChain> find() {
    std::vector<FoundChain> found;
    for (const Region& region : program_.regions) {
      if (region.graph) continue;
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
  /// The statement of a tensor that may be kept on chip.
  const Statement* inner_statement(TensorId tensor) const {
    const auto at = defined_.find(tensor);
    const bool temporary = program_.tensors[static_cast<size_t>(tensor)].role == Role::temporary;
    return at == defined_.end() || !temporary || taken_.count(tensor) != 0 ? nullptr : at->second;
  }

  std::optional<FoundChain> chain_ending_at(const Statement& e) {
    if (taken_.count(e.result) != 0 || !reduces(e)) return std::nullopt;
    std::vector<const Statement*> tail = tail_of(e);
    std::optional<FoundChain> found = longest(e, tail);
    while (found && found->shorter.empty() && !found->chain.sums_alone() && !tail.empty()) {
      tail.pop_back();
      std::string why;
      const auto built = build_form(program_, inner_, e, tail, why);
      if (!built || !why_not(*built).empty()) continue;
      FoundChain shorter = assemble(*built);
      if (shorter.chain.sums_alone()) found->shorter.push_back(std::move(shorter));
    }
    return found;
  }

  /// With as much of `tail` as can be part of the chain.
  std::optional<FoundChain> longest(const Statement& e, std::vector<const Statement*>& tail) {
    for (;; tail.pop_back()) {
      std::string why;
      const auto built = build_form(program_, inner_, e, tail, why);
      if (built) why = why_not(*built);
      if (built && why.empty()) return assemble(*built);
      if (!tail.empty()) continue;
      const TensorId first = nearest_product(e);
      if (!why.empty() && first >= 0) refused_.push_back({first, e.result, why});
      return std::nullopt;
    }
  }

  static bool has_product(const Statement& s) {
    return std::any_of(s.nodes.begin(), s.nodes.end(), [&](const Expr& node) {
      if (node.kind != Expr::Kind::reduce || node.reduction != Reduction::sum) return false;
      const Expr& body = s.nodes[static_cast<size_t>(node.children[0])];
      return body.kind == Expr::Kind::apply && body.op == Op::mul;
    });
  }

  /// The nearest sum of products that a statement reads, at any distance; -1: none.
  TensorId nearest_product(const Statement& e) const {
    std::set<TensorId> seen;
    std::vector<const Statement*> open{&e};
    for (size_t next = 0; next < open.size(); ++next) {
      const Statement& s = *open[next];
      if (&s != &e && has_product(s)) return s.result;
      for (const Expr& node : s.nodes) {
        if (node.kind != Expr::Kind::access || !seen.insert(node.tensor).second) continue;
        if (const auto at = defined_.find(node.tensor); at != defined_.end()) {
          open.push_back(at->second);
        }
      }
    }
    return -1;
  }

  static bool elementwise(const Statement& s) {
    return std::all_of(s.nodes.begin(), s.nodes.end(), [](const Expr& node) {
      return node.kind == Expr::Kind::access || node.kind == Expr::Kind::constant ||
             node.kind == Expr::Kind::apply;
    });
  }

  /// Elementwise statements that read E or another of them, in the order of the program. A chain
  /// takes those up to one of which nothing else needs what comes before it.
  std::vector<const Statement*> tail_of(const Statement& e) const {
    constexpr size_t kMostStatements = 8;
    std::vector<const Statement*> tail;
    std::vector<TensorId> read{e.result};
    for (size_t next = 0; next < read.size() && tail.size() < kMostStatements; ++next) {
      if (inner_statement(read[next]) == nullptr) continue;
      for (const TensorId user : statements_.readers(read[next])) {
        const auto reader = defined_.find(user);
        const bool known = std::find(read.begin(), read.end(), user) != read.end();
        if (known || reader == defined_.end() || taken_.count(user) != 0) continue;
        if (!elementwise(*reader->second)) continue;
        read.push_back(user);
        tail.push_back(reader->second);
      }
    }
    std::sort(tail.begin(), tail.end(), [&](const Statement* a, const Statement* b) {
      return position_.at(a->result) < position_.at(b->result);
    });
    return tail;
  }

  /// Why what was built is no chain: nothing outside may read what it keeps on chip.
  std::string why_not(const BuiltForm& built) const {
    for (const TensorId tensor : built.members) {
      if (tensor == built.form.store.tensor) continue;
      if (statements_.readers(tensor).empty() || statements_.read_beside(tensor, built.members)) {
        return fmt::format("%{} would be kept on chip, but others read it, too",
                           quote_if_needed(program_.tensors[static_cast<size_t>(tensor)].name));
      }
    }
    return "";
  }

  static Activation activation_of_c(const BuiltForm& built) {
    std::multiset<Op> ops = operators_of(built.form.first);
    const bool gated = built.form.b.size() == 2;
    if (gated && ops.count(Op::mul) == 1) ops.erase(Op::mul);  // the gate, not x * sigmoid(x)
    const bool adds_numbers =
        std::any_of(built.form.first.begin(), built.form.first.end(),
                    [](const KernelTerm& term) { return term.kind == KernelTerm::Kind::constant; });
    return ops.empty() && adds_numbers ? Activation::other : activation_of(ops);
  }

  /// Additions left out.
  static std::multiset<Op> operators_of(const std::vector<KernelTerm>& terms) {
    std::multiset<Op> ops;
    for (const KernelTerm& term : terms) {
      if (term.kind == KernelTerm::Kind::map && term.op != Op::add) ops.insert(term.op);
    }
    return ops;
  }

  static Activation activation_of(const std::multiset<Op>& ops) {
    const std::set<Op> rest(ops.begin(), ops.end());
    if (rest.empty()) return Activation::none;
    if (rest == std::set{Op::sigmoid, Op::mul}) return Activation::silu;
    if (rest == std::set{Op::gelu_tanh}) return Activation::gelu;
    return rest.size() == 1 ? cluster::activation_of(*rest.begin()) : Activation::other;
  }

  static LaneWork work_of_maps(const std::vector<KernelTerm>& terms) {
    LaneWork work;
    for (const KernelTerm& term : terms) {
      if (term.kind == KernelTerm::Kind::map) work += lane_work(term.op);
    }
    return work;
  }

  bool by_threads(const ChainForm& form, const KernelTerm& operand, Dim rows, Dim columns) const {
    chip::Operand of;
    const StoredTensor& stored = form.tensors.at(operand.tensor);
    of.shape = stored.shape;
    of.element_bytes = stored.element_bytes;
    of.side = rows == Dim::m ? chip::Side::left : chip::Side::right;
    of.subscripts = operand.subscripts;
    for (const KernelDigit& digit : form.digits) of.digits.push_back(digit.extent);
    const auto digits = [&](Dim dim) {
      return loops_that(form.digits, [&](const KernelDigit& d) { return d.dim == digit_dim(dim); });
    };
    of.rows = digits(rows);
    of.columns = digits(columns);
    return chip::by_threads(of, form.bytes.work());
  }

  FoundChain assemble(const BuiltForm& built) const {
    FoundChain found;
    found.form = built.form;
    Chain& chain = found.chain;
    chain.name = program_.tensors[static_cast<size_t>(built.form.store.tensor)].name;
    for (const Dim dim : kAllDims) chain.size[dim] = chain_extent(built.form.digits, dim);
    chain.kind = built.form.b.size() == 2 ? ChainKind::gated
                 : built.windows          ? ChainKind::conv
                                          : ChainKind::gemm;
    chain.activation = activation_of_c(built);
    chain.last_activation = activation_of(operators_of(built.form.last));
    if (chain.sums_alone() && built.last_read_again) chain.last_activation = Activation::other;
    chain.bias0 = built.first_loads;
    chain.bias1 = built.last_vectors;
    chain.residual = built.last_tensors;
    chain.bytes = built.form.bytes;
    const ChainForm& form = built.form;
    chain.by_threads.a = by_threads(form, form.a, Dim::m, Dim::k);
    for (const KernelTerm& b : form.b)
      chain.by_threads.b = chain.by_threads.b || by_threads(form, b, Dim::k, Dim::n);
    chain.by_threads.d = by_threads(form, form.d, Dim::n, Dim::l);
    chain.found_work = work_of_maps(built.form.first);
    chain.found_last_work = work_of_maps(built.form.last);
    for (const Region& region : program_.regions) {
      for (const Statement& statement : region.statements) {
        if (built.members.count(statement.result) != 0) {
          found.statements.push_back(statement.result);
        }
      }
    }
    return found;
  }

  const Program& program_;
  const StatementTable statements_;
  const ChainStatementOf inner_;
  std::map<TensorId, const Statement*> defined_;
  std::map<TensorId, size_t> position_;  ///< of statements in the program, by result
  std::set<TensorId> taken_;
  std::vector<RefusedChain> refused_;
};

}  // namespace

std::vector<FoundChain> find_chains(const Program& program, std::vector<RefusedChain>* refused) {
  Finder finder(program);
  std::vector<FoundChain> found = finder.find();
  if (refused != nullptr) *refused = finder.take_refused();
  return found;
}

}  // namespace fuseflow::cluster
