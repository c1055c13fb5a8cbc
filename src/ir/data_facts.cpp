#include "ir/data_facts.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "ir/copies.h"
#include "ir/fiber_bounds.h"
#include "ir/missing_facts.h"
#include "ir/sparsity.h"
#include "tensor/survey.h"

namespace fuseflow {

namespace {

/// Joins to the facts of every intermediate what its statement proves of it.
void prove(const std::vector<Region>& regions, Program& proved, const ReductionBound& bound = {}) {
  for (const Region& region : regions) {
    for (const Statement& s : region.statements) {
      Tensor& result = proved.tensors[static_cast<size_t>(s.result)];
      Facts facts = analyse(proved, s, {}, bound).back().facts;
      if (!result.format.all_dense()) facts = both(facts, facts_of_constant(result.fill));
      result.facts = joined(result.facts, held_facts(facts, result.type));
    }
  }
}

class Finder {
 public:
  explicit Finder(Program& program)
      : p_(program),
        reader_(source_reader(program)),
        data_(program.tensors.size()),
        seen_(program.tensors.size(), false),
        definer_(program.tensors.size(), nullptr),
        stored_as_(program.tensors.size()) {
    for (TensorId t = 0; t < static_cast<TensorId>(p_.tensors.size()); ++t) {
      stored_as_[static_cast<size_t>(original_of(p_, t))].push_back(t);
    }
    for (const Region& region : p_.regions) {
      for (const Statement& s : region.statements) definer_[static_cast<size_t>(s.result)] = &s;
    }
  }

  DataRead run() {
    const std::vector<LostSparsity> lost = open_losses();
    bool computed = false;
    for (const LostSparsity& one : lost) {
      read_operands(p_.regions[one.region].statements[one.statement]);
      for (const MissingFact& missing : one.missing) {
        if (tensor(missing.tensor).given()) {
          read(missing.tensor);
        } else {
          computed = true;
          read_cone(missing.tensor);
        }
      }
    }
    if (computed) derive(lost);
    return std::move(data_);
  }

 private:
  Tensor& tensor(TensorId t) { return p_.tensors[static_cast<size_t>(t)]; }

  std::vector<LostSparsity> open_losses() const {
    std::vector<LostSparsity> lost = lost_sparsity(p_);
    std::erase_if(lost, [&](const LostSparsity& one) {
      return one.missing.empty() || p_.regions[one.region].graph.has_value();
    });
    return lost;
  }

  /// Operands of which nothing is known yet, also those that are not the reason: found once for all
  /// tools of a pipe.
  void read_operands(const Statement& statement) {
    for (const Expr& node : statement.nodes) {
      if (node.kind != Expr::Kind::access || !tensor(node.tensor).given()) continue;
      if (tensor(node.tensor).facts == Facts{}) read(node.tensor);
    }
  }

  /// Everything that an intermediate is computed from, unless it holds something whose range is not
  /// known: then nothing would be proved.
  void read_cone(TensorId t) {
    std::vector<TensorId> given;
    std::vector<bool> seen(p_.tensors.size(), false);
    collect_cone(t, seen, given);
    const auto is_hopeless = [&](TensorId g) { return !has_range(g) && !may_tell_more(tensor(g)); };
    if (std::any_of(given.begin(), given.end(), is_hopeless)) return;
    for (const TensorId g : given) {
      if (!has_range(g)) read(g);
    }
  }

  void collect_cone(TensorId t, std::vector<bool>& seen, std::vector<TensorId>& given) {
    const auto i = static_cast<size_t>(t);
    if (seen[i]) return;
    seen[i] = true;
    if (tensor(t).given()) given.push_back(t);
    if (definer_[i] == nullptr) return;
    for (const Expr& node : definer_[i]->nodes) {
      if (node.kind == Expr::Kind::access) collect_cone(node.tensor, seen, given);
    }
  }

  bool has_range(TensorId t) { return is_bounded(admitted_facts(tensor(t))); }

  void read(TensorId t) {
    const auto i = static_cast<size_t>(t);
    if (seen_[i] || !may_tell_more(tensor(t))) return;
    seen_[i] = true;
    data_[i] = reader_(t);
    if (data_[i] != nullptr) tell(t, facts_of(*data_[i]));
  }

  /// What is found of a tensor holds of its copies and of what it is a copy of, which a tool may
  /// read in its place.
  void tell(TensorId t, const Facts& found) {
    for (const TensorId other : stored_as_[static_cast<size_t>(original_of(p_, t))]) {
      tensor(other).facts = joined(tensor(other).facts, found);
    }
  }

  std::optional<float> least_maximum(TensorId t, const std::vector<bool>& along) {
    const auto i = static_cast<size_t>(t);
    if (data_[i] == nullptr) data_[i] = reader_(t);
    return data_[i] == nullptr ? std::nullopt : least_fiber_maximum(*data_[i], along);
  }

  /// What is proved of intermediates, as far as a statement lacks it.
  void derive(const std::vector<LostSparsity>& lost) {
    std::vector<Facts> needed(p_.tensors.size());
    for (const LostSparsity& one : lost) {
      for (const MissingFact& missing : one.missing) {
        Facts& facts = needed[static_cast<size_t>(missing.tensor)];
        facts = joined(facts, missing.facts);
      }
    }
    Program proved;
    proved.tensors = p_.tensors;
    const auto definition = [this](TensorId t) { return definer_[static_cast<size_t>(t)]; };
    const auto fibers = [this](TensorId t, const std::vector<bool>& along) {
      return least_maximum(t, along);
    };
    prove(p_.regions, proved, FiberBounds(proved, definition, fibers));
    for (const Region& region : p_.regions) {
      for (const Statement& s : region.statements) {
        const auto i = static_cast<size_t>(s.result);
        Facts& facts = p_.tensors[i].facts;
        facts = joined(facts, named(proved.tensors[i].facts, needed[i]));
      }
    }
  }

  /// Those of the proved facts that are needed. The range is seldom tight, and named only where
  /// what is needed is one: where values without bounds could overflow.
  static Facts named(const Facts& proved, const Facts& needed) {
    Facts facts;
    facts.finite = proved.finite && needed.finite;
    facts.below_inf = proved.below_inf && needed.below_inf;
    facts.no_nan = proved.no_nan && needed.no_nan;
    facts.nonnegative = proved.nonnegative && needed.nonnegative;
    facts.nonzero = proved.nonzero && needed.nonzero;
    if (is_bounded(needed) && is_bounded(proved)) return within(facts, proved);
    if (is_above_minus_inf(needed) && proved.no_nan) facts.least = proved.least;
    return facts;
  }

  Program& p_;
  TensorReader reader_;
  DataRead data_;
  std::vector<bool> seen_;
  std::vector<const Statement*> definer_;
  std::vector<std::vector<TensorId>> stored_as_;  ///< by original: it and its copies
};

}  // namespace

bool is_bounded(const Facts& facts) {
  constexpr float kMost = std::numeric_limits<float>::max();
  return facts.finite && facts.least > -kMost && facts.largest < kMost;
}

bool is_above_minus_inf(const Facts& facts) {
  return !facts.finite && !facts.nonnegative &&
         facts.least > -std::numeric_limits<float>::infinity();
}

bool may_tell_more(const Tensor& given) {
  if (given.source.kind == Source::Kind::none) return false;
  return given.source.kind != Source::Kind::onnx || given.facts == Facts{};
}

namespace {

/// Tensors that some region keeps on chip, by TensorId.
std::vector<bool> kept_on_chip(const Program& program) {
  std::vector<bool> kept(program.tensors.size(), false);
  const auto keep = [&](TensorId t) { kept[static_cast<size_t>(t)] = true; };
  for (size_t t = 0; t < kept.size(); ++t) {
    kept[t] = program.tensors[t].placement == Placement::scratchpad;
  }
  for (const Region& region : program.regions) {
    for (const UsePlacement& use : region.schedule.placements) {
      if (use.placement == Placement::scratchpad) keep(use.tensor);
    }
    if (!region.graph) continue;
    for (const TensorId tensor : region.graph->scratchpad) keep(tensor);
  }
  return kept;
}

/// The entries of a source, as `nnz=` counts them; nothing where they cannot be read.
std::optional<int64_t> entries_of(const Tensor& tensor) {
  try {
    return read_raw(tensor.source, known_shape(tensor)).present(tensor.fill);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// What a tensor takes on chip follows from its entries, so those of what is kept there are
/// counted. (Copies state what their original does.)
void count_entries_on_chip(Program& program) {
  const std::vector<bool> kept = kept_on_chip(program);
  for (size_t t = 0; t < kept.size(); ++t) {
    const Tensor& tensor = program.tensors[t];
    const bool counts =
        tensor.given() && tensor.source.kind != Source::Kind::none && !tensor.format.all_dense();
    if (!kept[t] || !counts || tensor.source.nnz) continue;
    const std::optional<int64_t> entries = entries_of(tensor);
    if (!entries) continue;
    const TensorId original = original_of(program, static_cast<TensorId>(t));
    for (size_t other = 0; other < kept.size(); ++other) {
      if (original_of(program, static_cast<TensorId>(other)) != original) continue;
      program.tensors[other].source.nnz = entries;
    }
  }
}

}  // namespace

DataRead find_data_facts(Program& program) {
  count_entries_on_chip(program);
  return Finder(program).run();
}

std::vector<Facts> read_facts(const Program& program,
                              const std::function<bool(const Tensor&)>& may_read) {
  const TensorReader reader = source_reader(program);
  std::vector<Facts> facts(program.tensors.size());
  for (size_t t = 0; t < facts.size(); ++t) {
    if (!program.tensors[t].given() || !may_read(program.tensors[t])) continue;
    const auto data = reader(static_cast<TensorId>(t));
    if (data != nullptr) facts[t] = facts_of(*data);
  }
  return facts;
}

std::vector<Tensor> proved_tensors(const Program& program, const std::vector<Facts>& read) {
  Program proved;
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    Tensor& tensor = proved.tensors.emplace_back(program.tensors[t]);
    tensor.source = {};
    if (t < read.size()) tensor.facts = joined(tensor.facts, read[t]);
  }
  prove(program.regions, proved);
  return std::move(proved.tensors);
}

TensorReader source_reader(const Program& program) {
  return [&program](TensorId t) -> std::shared_ptr<const Storage> {
    const Tensor& tensor = program.tensors[static_cast<size_t>(t)];
    if (tensor.source.kind == Source::Kind::none) return nullptr;
    try {
      return load_shared(tensor.source, known_shape(tensor), tensor.format, tensor.fill,
                         {.element = tensor.type});
    } catch (const Error&) {
      return nullptr;
    }
  };
}

}  // namespace fuseflow
