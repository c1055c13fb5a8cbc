// Parts that occur in several places, computed once.
#include <algorithm>
#include <functional>
#include <map>

#include "ir/names.h"
#include "rewrite/canonical.h"
#include "rewrite/site.h"
#include "rewrite/stored_types.h"

namespace fuseflow {

namespace {

/// A statement taken apart.
struct Parsed {
  const Statement* statement = nullptr;
  const Region* region = nullptr;
  Scope scope;
  Term root;
};

struct Occurrence {
  size_t statement = 0;       ///< position in the program, of those without a graph
  std::vector<size_t> path;   ///< from the root, by operand
  std::vector<IndexId> free;  ///< indices in the order of the canonical text
  bool is_whole() const { return path.empty(); }
};

Term& at_path(Term& root, const std::vector<size_t>& path) {
  Term* at = &root;
  for (const size_t operand : path) at = &at->children[operand];
  return *at;
}

class CommonFinder {
 public:
  CommonFinder(const Site& site, std::vector<Rewrite>& found) : site_(site), found_(found) {}

  void run() {
    for (const Region& region : site_.program.regions) {
      for (const Statement& s : region.statements) {
        if (!region.graph) add(region, s);
      }
    }
    for (const auto& [text, places] : places_) {
      if (places.size() > 1 && !is_part_of_larger(places)) groups_.push_back(&places);
    }
    std::stable_sort(groups_.begin(), groups_.end(), [](const auto* a, const auto* b) {
      return std::tie(a->front().statement, a->front().path) <
             std::tie(b->front().statement, b->front().path);
    });
    for (const auto* places : groups_) share(*places);
  }

 private:
  using Places = std::vector<Occurrence>;

  void add(const Region& region, const Statement& s) {
    Parsed one{&s, &region, {}, {}};
    const std::vector<IndexId> indices = add_indices(site_.program, s, one.scope);
    one.root = term_at(s, static_cast<int32_t>(s.nodes.size()) - 1, indices);
    statements_.push_back(std::move(one));
    const Parsed& kept = statements_.back();
    std::vector<size_t> path;
    const auto reads_stream = [&](TensorId t) {
      return site_.definitions.reads_stream(t, s.result);
    };
    collect(CanonicalTexts(kept.scope, kept.root, reads_stream), kept.root, path);
  }

  void collect(const CanonicalTexts& texts, const Term& at, std::vector<size_t>& path) {
    if (!computes(at)) return;
    Canonical found = texts.of(at);
    const auto group = places_.try_emplace(std::move(found.text)).first;
    group->second.push_back({statements_.size() - 1, path, std::move(found.free)});
    whole_[{statements_.size() - 1, path}] = &group->second;
    for (size_t c = 0; c < at.children.size(); ++c) {
      path.push_back(c);
      collect(texts, at.children[c], path);
      path.pop_back();
    }
  }

  /// Whether the parts are in larger ones that are the same, too.
  bool is_part_of_larger(const Places& places) const {
    const Places* shared = nullptr;
    for (const Occurrence& one : places) {
      if (one.is_whole()) return false;
      std::vector<size_t> parent = one.path;
      parent.pop_back();
      const Places* larger = whole_.at({one.statement, parent});
      if (shared != nullptr && shared != larger) return false;
      shared = larger;
    }
    return shared->size() > 1;
  }

  const Tensor& result_of(const Occurrence& place) const {
    const Statement& s = *statements_[place.statement].statement;
    return site_.program.tensors[static_cast<size_t>(s.result)];
  }

  /// Whether the first place is a statement whose tensor may stand for the others: its indices are
  /// those of the expression, and it rounds nothing, or all are rounded to its type before they are
  /// read.
  bool is_defined(const Places& places) const {
    const Occurrence& first = places[0];
    const Statement& s = *statements_[first.statement].statement;
    if (!first.is_whole() || first.free.size() != s.result_indices.size()) return false;
    const ElementType type = result_of(first).type;
    return holds_f32(type) || std::all_of(places.begin(), places.end(), [&](const Occurrence& o) {
             return o.is_whole() && result_of(o).type == type && !streams(o.statement);
           });
  }

  /// Whether a statement's own region reads its result, which may then be a stream.
  bool streams(size_t statement) const {
    const TensorId result = statements_[statement].statement->result;
    return std::any_of(statements_.begin(), statements_.end(), [&](const Parsed& other) {
      return other.region == statements_[statement].region && count(other.root, result) > 0;
    });
  }

  void share(const Places& places) {
    Rewrite rewrite;
    rewrite.kind = RewriteKind::common;
    const Parsed& first = statements_[places[0].statement];
    const Statement& origin = *first.statement;
    rewrite.before = origin.result;
    KnownTensors known(site_);
    Read read;
    if (is_defined(places)) {
      read = of_statement(places[0]);
    } else {
      Term value = first.root;
      value = Term(at_path(value, places[0].path));
      const std::optional<Term> made =
          add_intermediate(first.scope, places[0].free, value, origin, {}, known, rewrite);
      if (!made) return;
      read.tensor = made->expr.tensor;
      for (size_t d = 0; d < places[0].free.size(); ++d) read.from_free.push_back(d);
    }
    replace(places, read, rewrite);
    found_.push_back(std::move(rewrite));
  }

  /// The tensor that holds the shared value; dimension d is the free index from_free[d].
  struct Read {
    TensorId tensor = -1;
    std::vector<size_t> from_free;
    Term of(const Occurrence& place) const {
      std::vector<IndexId> subscripts;
      for (const size_t f : from_free) subscripts.push_back(place.free[f]);
      return access_term(tensor, subscripts);
    }
  };

  Read of_statement(const Occurrence& whole) const {
    const Statement& s = *statements_[whole.statement].statement;
    Read read{s.result, {}};
    for (const IndexId index : s.result_indices) {
      const auto found = std::find(whole.free.begin(), whole.free.end(), index);
      read.from_free.push_back(static_cast<size_t>(found - whole.free.begin()));
    }
    return read;
  }

  using Changed = std::map<size_t, Term>;  ///< by statement

  Term& changing(Changed& changed, size_t statement) const {
    return changed.try_emplace(statement, statements_[statement].root).first->second;
  }

  void replace(const Places& places, const Read& read, Rewrite& rewrite) const {
    Changed changed;
    for (const Occurrence& place : places) {
      if (statements_[place.statement].statement->result == read.tensor) continue;
      at_path(changing(changed, place.statement), place.path) = read.of(place);
    }
    for (const Occurrence& place : places) remove_copy(place, read, changed, rewrite);
    for (const auto& [position, root] : changed) {
      const Statement& before = *statements_[position].statement;
      const auto& gone = rewrite.removed;
      if (std::find(gone.begin(), gone.end(), before.result) != gone.end()) continue;
      Statement after =
          statement_of(statements_[position].scope, before.result, before.result_indices, root);
      after.from = before.from;
      after.where = before.where;
      rewrite.replaced.push_back(std::move(after));
    }
  }

  /// An intermediate that is only another name of the shared tensor now: its readers read that.
  void remove_copy(const Occurrence& place, const Read& read, Changed& changed,
                   Rewrite& rewrite) const {
    const Statement& copy = *statements_[place.statement].statement;
    const Tensor& tensor = site_.program.tensors[static_cast<size_t>(copy.result)];
    const bool is_other = place.is_whole() && copy.result != read.tensor;
    if (!is_other || tensor.role != Role::temporary || tensor.placement != Placement::memory)
      return;
    const auto t = static_cast<size_t>(read.tensor);
    const Tensor& shared =
        t < site_.program.tensors.size() ? site_.program.tensors[t] : rewrite.tensors[0];
    if (place.free.size() != copy.result_indices.size()) return;
    if (!same_constant(tensor.fill, shared.fill) || !hold_the_same(tensor.type, shared.type))
      return;
    if (accesses(copy.result) != site_.definitions.uses(copy.result)) return;  // a graph reads it
    std::vector<size_t> from;  // dimension of the copy, by dimension of the shared tensor
    for (const size_t f : read.from_free) {
      const auto found =
          std::find(copy.result_indices.begin(), copy.result_indices.end(), place.free[f]);
      from.push_back(static_cast<size_t>(found - copy.result_indices.begin()));
    }
    for (size_t s = 0; s < statements_.size(); ++s) {
      if (count(statements_[s].root, copy.result) == 0) continue;
      redirect(changing(changed, s), copy.result, read.tensor, from);
    }
    rewrite.removed.push_back(copy.result);
  }

  static void redirect(Term& at, TensorId copy, TensorId to, const std::vector<size_t>& from) {
    for (Term& child : at.children) redirect(child, copy, to, from);
    if (at.expr.kind != Expr::Kind::access || at.expr.tensor != copy) return;
    std::vector<Subscript> subscripts;
    subscripts.reserve(from.size());
    for (const size_t d : from) subscripts.push_back(at.expr.subscripts[d]);
    at.expr.tensor = to;
    at.expr.subscripts = std::move(subscripts);
  }

  static int count(const Term& at, TensorId tensor) {
    int found = at.expr.kind == Expr::Kind::access && at.expr.tensor == tensor ? 1 : 0;
    for (const Term& child : at.children) found += count(child, tensor);
    return found;
  }

  int accesses(TensorId tensor) const {
    int found = 0;
    for (const Parsed& one : statements_) found += count(one.root, tensor);
    return found;
  }

  const Site& site_;
  std::vector<Rewrite>& found_;
  std::vector<Parsed> statements_;
  std::map<std::string, Places> places_;                                   ///< by canonical text
  std::map<std::pair<size_t, std::vector<size_t>>, const Places*> whole_;  ///< by statement, path
  std::vector<const Places*> groups_;
};

}  // namespace

void find_common(const Site& site, std::vector<Rewrite>& found) {
  CommonFinder(site, found).run();
}

}  // namespace fuseflow
