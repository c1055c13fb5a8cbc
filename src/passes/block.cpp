// The pass `block`: which dimensions are stored and streamed in dense blocks.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>

#include "ir/diagonal.h"
#include "ir/names.h"
#include "lower/lower.h"
#include "passes/option_names.h"
#include "passes/pass_list.h"
#include "support/suggest.h"

namespace fuseflow {

namespace {

constexpr int64_t kMaxBlock = 4096;

/// Dimensions that one index runs through are blocked alike: union of (tensor, dimension) by the
/// indices of all statements, with what forbids blocks.
class Dimensions {
 public:
  explicit Dimensions(const Program& program) : program_(program) {
    for (const Tensor& tensor : program.tensors) {
      first_.push_back(static_cast<int>(parent_.size()));
      for (size_t d = 0; d < tensor.shape.size(); ++d) {
        parent_.push_back(static_cast<int>(parent_.size()));
      }
    }
    obstacle_.resize(parent_.size());
    for (const Region& region : program.regions) {
      for (const Statement& statement : region.statements) visit(statement);
    }
    for (size_t t = 0; t < program.tensors.size(); ++t) check_extents(static_cast<TensorId>(t));
  }

  /// The class of a dimension; equal for all that are blocked alike.
  int find(TensorId tensor, size_t dimension) const {
    int x = first_[tensor] + static_cast<int>(dimension);
    while (parent_[x] != x) x = parent_[x];
    return x;
  }
  /// Why the class cannot be blocked; empty if it can.
  const std::string& obstacle(int found) const { return obstacle_[found]; }

 private:
  void visit(const Statement& statement) {
    std::map<IndexId, int> of_index;
    for (size_t d = 0; d < statement.result_indices.size(); ++d) {
      join(of_index, statement, statement.result_indices[d], statement.result, d);
    }
    for (const Expr& expr : statement.nodes) {
      if (expr.kind != Expr::Kind::access) continue;
      for (size_t d = 0; d < expr.subscripts.size(); ++d) {
        const Subscript& subscript = expr.subscripts[d];
        if (subscript.is_plain()) {
          join(of_index, statement, subscript.plain(), expr.tensor, d);
          if (along_diagonal(expr.subscripts, d)) {
            forbid(find(expr.tensor, d),
                   fmt::format("%{} is accessed along a diagonal",
                               quote_if_needed(program_.tensors[expr.tensor].name)));
          }
          continue;
        }
        const std::string reason =
            fmt::format("dimension {} of %{} is accessed otherwise than by a plain index", d,
                        quote_if_needed(program_.tensors[expr.tensor].name));
        forbid(find(expr.tensor, d), reason);
        for (const auto& term : subscript.terms)
          shifted_.push_back({&statement, term.first, reason});
      }
    }
    for (const auto& [owner, index, reason] : shifted_) {
      const auto found = of_index.find(index);
      if (owner == &statement && found != of_index.end()) forbid(root(found->second), reason);
    }
    shifted_.clear();
  }

  void join(std::map<IndexId, int>& of_index, const Statement& statement, IndexId index,
            TensorId tensor, size_t dimension) {
    const int here = find(tensor, dimension);
    const Extent& extent = program_.tensors[tensor].shape[dimension];
    if (statement.indices[index].extent >= 0 && extent.known() &&
        statement.indices[index].extent != extent.value) {
      forbid(here, fmt::format("index {} runs over a part of dimension {} of %{}",
                               statement.indices[index].name, dimension,
                               quote_if_needed(program_.tensors[tensor].name)));
    }
    const auto [place, is_new] = of_index.emplace(index, here);
    if (!is_new) unite(root(place->second), root(here));
  }

  /// How many blocks there are must be known.
  void check_extents(TensorId tensor) {
    const Tensor& t = program_.tensors[tensor];
    for (size_t d = 0; d < t.shape.size(); ++d) {
      if (!t.shape[d].known()) {
        forbid(find(tensor, d), fmt::format("dimension {} of %{} has no known extent yet", d,
                                            quote_if_needed(t.name)));
      }
    }
  }

  int root(int x) const {
    while (parent_[x] != x) x = parent_[x];
    return x;
  }
  void unite(int a, int b) {
    if (a == b) return;
    if (a > b) std::swap(a, b);
    parent_[b] = a;
    if (obstacle_[a].empty()) obstacle_[a] = obstacle_[b];
  }
  void forbid(int found, const std::string& reason) {
    if (obstacle_[found].empty()) obstacle_[found] = reason;
  }

  struct Shifted {
    const Statement* statement;
    IndexId index;
    std::string reason;
  };

  const Program& program_;
  std::vector<int> first_;   ///< by tensor
  std::vector<int> parent_;  ///< by dimension
  std::vector<std::string> obstacle_;
  std::vector<Shifted> shifted_;
};

int64_t parse_extent(std::string_view text, const std::string& option) {
  int64_t extent = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), extent);
  if (code != std::errc() || end != text.data() + text.size() || extent < 1 || extent > kMaxBlock) {
    throw Error(ExitCode::usage, fmt::format("{}: '{}' is not a block extent, expected 1 to {}",
                                             option, text, kMaxBlock));
  }
  return extent;
}

/// `T=16x16`
std::pair<std::string, std::vector<int64_t>> parse_block_request(const std::string& text) {
  const size_t equals = find_last_separator(text, '=');
  if (equals == std::string::npos || equals == 0) {
    throw Error(ExitCode::usage, fmt::format("--block '{}' is malformed, expected a tensor and an "
                                             "extent for each dimension, e.g. --block adj=16x16",
                                             text));
  }
  std::pair<std::string, std::vector<int64_t>> request{name_in_option(text.substr(0, equals), '%'),
                                                       {}};
  std::string_view rest = std::string_view(text).substr(equals + 1);
  while (true) {
    const size_t cross = rest.find('x');
    request.second.push_back(parse_extent(rest.substr(0, cross), "--block"));
    if (cross == std::string_view::npos) return request;
    rest.remove_prefix(cross + 1);
  }
}

TensorId find_requested(const Program& program, const std::string& name) {
  const TensorId tensor = find_tensor(program, name);
  if (tensor >= 0) return tensor;
  std::vector<std::string> names;
  for (const Tensor& t : program.tensors) names.push_back(t.name);
  throw Error(ExitCode::rejected,
              fmt::format("there is no tensor %{}{}", quote_if_needed(name),
                          did_you_mean(name, names, {}, ", did you mean %", "?")));
}

/// Extents by class of dimensions, as asked for by --block.
std::map<int, int64_t> requested(const Program& program, const Dimensions& dimensions,
                                 const std::vector<std::string>& texts) {
  std::map<int, int64_t> blocks;
  for (const std::string& text : texts) {
    const auto [name, extents] = parse_block_request(text);
    const TensorId tensor = find_requested(program, name);
    if (extents.size() != program.tensors[tensor].shape.size()) {
      throw Error(ExitCode::rejected,
                  fmt::format("%{} has {} dimensions, got {} block extents", quote_if_needed(name),
                              program.tensors[tensor].shape.size(), extents.size()));
    }
    for (size_t d = 0; d < extents.size(); ++d) {
      const int found = dimensions.find(tensor, d);
      if (extents[d] > 1 && !dimensions.obstacle(found).empty()) {
        throw Error(ExitCode::rejected,
                    fmt::format("dimension {} of %{} cannot be blocked: {}", d,
                                quote_if_needed(name), dimensions.obstacle(found)));
      }
      const auto [place, is_new] = blocks.emplace(found, extents[d]);
      if (!is_new && place->second != extents[d]) {
        throw Error(ExitCode::rejected,
                    fmt::format("dimension {} of %{} is to have blocks of {}, but an index runs "
                                "through it and through a dimension with blocks of {}",
                                d, quote_if_needed(name), extents[d], place->second));
      }
    }
  }
  return blocks;
}

void set_blocks(Program& program, const Dimensions& dimensions,
                const std::map<int, int64_t>& blocks) {
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    Tensor& tensor = program.tensors[t];
    std::vector<int64_t> extents(tensor.shape.size(), 1);
    for (size_t d = 0; d < extents.size(); ++d) {
      const auto found = blocks.find(dimensions.find(static_cast<TensorId>(t), d));
      if (found != blocks.end()) extents[d] = found->second;
    }
    const bool any = std::any_of(extents.begin(), extents.end(), [](int64_t e) { return e > 1; });
    tensor.format.block = any ? extents : std::vector<int64_t>{};
    check_format(tensor.format, tensor.format.rank());
  }
  for (Region& region : program.regions) {
    if (!region.statements.empty()) region.graph.reset();
  }
}

void check_block(const PassArguments& arguments) {
  if (!arguments.has("block") && !arguments.has("block-all")) {
    throw Error(ExitCode::usage, "expected --block TENSOR=BxC or --block-all B");
  }
  for (const std::string& text : arguments.all("block"))
    static_cast<void>(parse_block_request(text));
  if (arguments.has("block-all")) {
    static_cast<void>(parse_extent(arguments.get("block-all"), "--block-all"));
  }
}

Program run_block(const Program& given, const PassArguments& arguments, PassLog& log) {
  check_block(arguments);
  const Dimensions dimensions(given);
  std::map<int, int64_t> blocks = requested(given, dimensions, arguments.all("block"));
  if (arguments.has("block-all")) {
    const int64_t all = parse_extent(arguments.get("block-all"), "--block-all");
    for (size_t t = 0; t < given.tensors.size(); ++t) {
      for (size_t d = 0; d < given.tensors[t].shape.size(); ++d) {
        const int found = dimensions.find(static_cast<TensorId>(t), d);
        if (!dimensions.obstacle(found).empty()) {
          if (blocks.emplace(found, 1).second)
            log.note("not blocked: " + dimensions.obstacle(found));
        } else {
          // A block larger than what it holds would be padding for the most part.
          blocks.emplace(found, given.tensors[t].shape[d].value < all ? 1 : all);
        }
      }
    }
    if (std::none_of(blocks.begin(), blocks.end(), [](const auto& b) { return b.second > 1; })) {
      log.note(fmt::format("nothing is blocked: no dimension that can be has {} elements", all));
    }
  }
  for (size_t t = 0; t < given.tensors.size(); ++t) {  // what was blocked before stays so
    const std::vector<int64_t>& block = given.tensors[t].format.block;
    for (size_t d = 0; d < block.size(); ++d) {
      if (block[d] > 1) blocks.emplace(dimensions.find(static_cast<TensorId>(t), d), block[d]);
    }
  }
  Program program = given;
  set_blocks(program, dimensions, blocks);
  for (size_t r = 0; r < program.regions.size(); ++r) {
    if (program.regions[r].statements.empty()) continue;
    try {
      Graph graph = lower_region(program, r);  // says why, where it is not possible
      if (given.regions[r].graph) program.regions[r].graph = std::move(graph);
    } catch (const LoweringConflict&) {
      // What lowering completes it will complete again, where the graph is not wanted now.
      Program completed = program;
      std::vector<std::string> notes;
      Graph graph = complete_and_lower(completed, r, notes);
      if (!given.regions[r].graph) continue;
      program = std::move(completed);
      program.regions[r].graph = std::move(graph);
      for (std::string& note : notes) log.note(std::move(note));
    }
  }
  return program;
}

}  // namespace

Pass block_pass() {
  return {
      "block",
      "Store and stream tensors in dense blocks; every operator works on blocks",
      {{"block", "TENSOR=BxC", "Blocks of a tensor, one extent for each dimension; repeatable",
        true},
       {"block-all", "B", "Use blocks of B in every possible dimension of at least B elements"}},
      run_block,
      check_block};
}

}  // namespace fuseflow
