// Union of dimensions by the indices that run through them. Sparse inputs and constants are
// dimensions of their own in each region: they can be copied.
#include "linalg/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "ir/copies.h"
#include "ir/diagonal.h"
#include "support/diagnostics.h"

namespace fuseflow {

namespace {

int64_t block_of(const Format& format, size_t dim) {
  return format.block.empty() ? 1 : format.block[dim];
}

class BlockAgreement {
 public:
  explicit BlockAgreement(Program& program) : program_(program) {}
  void run();

 private:
  /// The region of a tensor that each region may read in a format of its own; else -1.
  int owner(TensorId tensor, size_t region) const {
    const Tensor& t = program_.tensors[static_cast<size_t>(tensor)];
    return t.given() && !t.format.all_dense() ? static_cast<int>(region) : -1;
  }
  int node(TensorId tensor, size_t dim, size_t region);
  int root(int n) const {
    while (parent_[static_cast<size_t>(n)] != n) n = parent_[static_cast<size_t>(n)];
    return n;
  }
  void unite(int a, int b) { parent_[static_cast<size_t>(root(a))] = root(b); }
  void visit(const Statement& s, size_t region);
  void walk(const Statement& s, TensorId tensor, const std::vector<Subscript>& subscripts,
            size_t region);
  /// By root: the block that its dimensions get.
  std::vector<int64_t> blocks() const;
  Format with_blocks(TensorId tensor, size_t region, const std::vector<int64_t>& blocks);

  Program& program_;
  std::map<std::tuple<TensorId, size_t, int>, int> nodes_;
  std::vector<int> parent_;
  std::vector<int> forbidden_;          ///< nodes
  std::map<IndexId, int> of_index_;     ///< of the statement that is visited
  std::vector<IndexId> of_subscripts_;  ///< indices that are part of sums, or are numbers
};

int BlockAgreement::node(TensorId tensor, size_t dim, size_t region) {
  const auto next = static_cast<int>(parent_.size());
  const auto [at, fresh] = nodes_.emplace(std::tuple(tensor, dim, owner(tensor, region)), next);
  if (fresh) parent_.push_back(next);
  return at->second;
}

void BlockAgreement::walk(const Statement& s, TensorId tensor,
                          const std::vector<Subscript>& subscripts, size_t region) {
  const auto& shape = program_.tensors[static_cast<size_t>(tensor)].shape;
  for (size_t d = 0; d < subscripts.size(); ++d) {
    const int at = node(tensor, d, region);
    const Subscript& subscript = subscripts[d];
    if (!subscript.is_plain()) {
      forbidden_.push_back(at);
      for (const auto& term : subscript.terms) of_subscripts_.push_back(term.first);
      continue;
    }
    const IndexId index = subscript.plain();
    const bool part = s.indices[static_cast<size_t>(index)].extent != shape[d].value;
    if (part || along_diagonal(subscripts, d)) forbidden_.push_back(at);
    const auto [found, fresh] = of_index_.emplace(index, at);
    if (!fresh) unite(found->second, at);
  }
}

void BlockAgreement::visit(const Statement& s, size_t region) {
  of_index_.clear();
  of_subscripts_.clear();
  std::vector<Subscript> result;
  for (const IndexId index : s.result_indices) result.push_back(Subscript{{{index, 1}}, 0});
  walk(s, s.result, result, region);
  for (const Expr& e : s.nodes) {
    if (e.kind == Expr::Kind::access) walk(s, e.tensor, e.subscripts, region);
    if (e.kind == Expr::Kind::coordinate) of_subscripts_.push_back(e.index);
  }
  for (const IndexId index : of_subscripts_) {
    const auto found = of_index_.find(index);
    if (found != of_index_.end()) forbidden_.push_back(found->second);
  }
}

std::vector<int64_t> BlockAgreement::blocks() const {
  // 0: nothing says one. What is computed in a sparse format keeps it; inputs can be copied.
  std::vector<int64_t> computed(parent_.size(), 0);
  std::vector<int64_t> given(parent_.size(), 0);
  const auto say = [](int64_t& agreed, int64_t block) {
    agreed = agreed == 0 || agreed == block ? block : 1;
  };
  for (const auto& [key, n] : nodes_) {
    const auto& [tensor, dim, region] = key;
    const Tensor& t = program_.tensors[static_cast<size_t>(tensor)];
    const int64_t block = block_of(t.format, dim);
    const auto at = static_cast<size_t>(root(n));
    if (!t.given() && !t.format.all_dense()) say(computed[at], block);
    if (block > 1) say(given[at], block);
  }
  for (size_t n = 0; n < given.size(); ++n) {
    if (computed[n] != 0) given[n] = computed[n];
  }
  for (const int n : forbidden_) given[static_cast<size_t>(root(n))] = 1;
  return given;
}

Format BlockAgreement::with_blocks(TensorId tensor, size_t region,
                                   const std::vector<int64_t>& blocks) {
  Format format = program_.tensors[static_cast<size_t>(tensor)].format;
  const auto rank = static_cast<size_t>(format.rank());
  format.block.assign(rank, 1);
  bool any = false;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t block = blocks[static_cast<size_t>(root(node(tensor, d, region)))];
    format.block[d] = std::max<int64_t>(block, 1);
    any = any || block > 1;
  }
  if (!any) format.block.clear();
  return format;
}

void BlockAgreement::run() {
  for (size_t r = 0; r < program_.regions.size(); ++r) {
    for (const Statement& s : program_.regions[r].statements) visit(s, r);
  }
  const std::vector<int64_t> agreed = blocks();
  std::map<std::pair<TensorId, int>, Format> formats;
  for (const auto& [key, n] : nodes_) {
    const auto& [tensor, dim, region] = key;
    formats.emplace(std::pair(tensor, region),
                    with_blocks(tensor, static_cast<size_t>(std::max(region, 0)), agreed));
  }
  for (const auto& [use, format] : formats) {
    const auto [tensor, region] = use;
    Tensor& t = program_.tensors[static_cast<size_t>(tensor)];
    if (format == t.format) continue;
    if (region >= 0) {
      const TensorId copy = copy_as(program_, tensor, format, ".blocks");
      read_copy(program_.regions[static_cast<size_t>(region)], tensor, copy);
      continue;
    }
    if (!t.format.block.empty())
      report(Severity::note, fmt::format("mlir: %{} is stored as {}, not in the blocks of its "
                                         "encoding: what it is computed with cannot be",
                                         t.name, to_string(format)));
    t.format = format;
  }
}

}  // namespace

void agree_on_blocks(Program& program) {
  const bool any = std::any_of(program.tensors.begin(), program.tensors.end(),
                               [](const Tensor& t) { return !t.format.block.empty(); });
  if (any) BlockAgreement(program).run();
}

}  // namespace fuseflow
