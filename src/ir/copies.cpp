#include "ir/copies.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/names.h"
#include "support/text.h"

namespace fuseflow {

namespace {

bool same_elements(const Tensor& a, const Tensor& b) {
  const auto same_extent = [](const Extent& x, const Extent& y) {
    return x.value == y.value && x.symbol == y.symbol;
  };
  return a.role == b.role && a.type == b.type && same_constant(a.fill, b.fill) &&
         to_string(a.source) == to_string(b.source) &&  // NaN is not equal to NaN
         std::equal(a.shape.begin(), a.shape.end(), b.shape.begin(), b.shape.end(), same_extent);
}

/// The copy's statement: all indices as they are.
Statement copy_statement(const Tensor& tensor, TensorId from, TensorId to) {
  Statement statement;
  statement.result = to;
  Expr access;
  access.kind = Expr::Kind::access;
  access.tensor = from;
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    const auto index = static_cast<IndexId>(d);
    statement.indices.push_back({fmt::format("d{}", d), tensor.shape[d].value});
    statement.result_indices.push_back(index);
    access.subscripts.push_back({{{index, 1}}, 0});
  }
  statement.nodes.push_back(std::move(access));
  return statement;
}

/// The tensors that a region reads, by its graph where it has one.
std::set<TensorId> tensors_read(const Region& region) {
  std::set<TensorId> read;
  for (const Statement& s : region.statements) {
    for (const Expr& e : s.nodes) {
      if (e.kind == Expr::Kind::access) read.insert(e.tensor);
    }
  }
  if (!region.graph) return read;
  for (const Node& node : region.graph->nodes) {
    for_tensors(node, [&](TensorId tensor) { read.insert(tensor); });
  }
  return read;
}

/// What the region (of a consumer that is not -1: its statement) reads of the elements of `tensor`:
/// the tensor itself, another copy, or nothing (then `tensor`).
TensorId read_of(const Program& program, const Region& region, TensorId tensor, TensorId consumer) {
  const TensorId original = original_of(program, tensor);
  TensorId found = -1;
  for (const Statement& s : region.statements) {
    if (consumer >= 0 && s.result != consumer) continue;
    for (const Expr& e : s.nodes) {
      if (e.kind != Expr::Kind::access) continue;
      if (e.tensor == tensor) return tensor;
      if (found < 0 && original_of(program, e.tensor) == original) found = e.tensor;
    }
  }
  return found < 0 ? tensor : found;
}

/// Of lines that place one use, copies of one tensor before: one, in the place of the first. What
/// any of them keeps in the scratchpad is there.
void merge_placements(std::vector<UsePlacement>& lines) {
  std::vector<UsePlacement> merged;
  for (const UsePlacement& line : lines) {
    const auto same = std::find_if(merged.begin(), merged.end(), [&](const UsePlacement& other) {
      return other.tensor == line.tensor && other.consumer == line.consumer;
    });
    if (same == merged.end())
      merged.push_back(line);
    else if (line.placement == Placement::scratchpad)
      same->placement = line.placement;
  }
  lines = std::move(merged);
}

/// Each tensor once, where it comes first.
void drop_repeated(std::vector<TensorId>& tensors) {
  std::set<TensorId> seen;
  std::erase_if(tensors, [&](TensorId tensor) { return !seen.insert(tensor).second; });
}

}  // namespace

void follow_copies(Program& program, size_t region) {
  Region& r = program.regions[region];
  for (UsePlacement& use : r.schedule.placements) {
    use.tensor = read_of(program, r, use.tensor, use.consumer);
  }
  merge_placements(r.schedule.placements);
  for (Join& join : r.schedule.joins) {
    for (TensorId& tensor : join.located) tensor = read_of(program, r, tensor, -1);
    drop_repeated(join.located);
  }
}

TensorId original_of(const Program& program, TensorId tensor) {
  const std::string& of = program.tensors[static_cast<size_t>(tensor)].copy_of;
  const TensorId original = of.empty() ? -1 : find_tensor(program, of);
  return original < 0 ? tensor : original;
}

TensorId copy_as(Program& program, TensorId of, const Format& format, std::string_view suffix) {
  const TensorId original = original_of(program, of);
  Tensor copy = program.tensors[static_cast<size_t>(original)];
  if (copy.format == format) return original;
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    const Tensor& other = program.tensors[t];
    if (other.copy_of == copy.name && other.format == format) return static_cast<TensorId>(t);
  }
  const auto taken = [&](const std::string& name) { return find_tensor(program, name) >= 0; };
  copy.copy_of = copy.name;
  copy.name = unused_name(copy.name, suffix, 1, taken);
  copy.format = format;
  copy.model_shape.reset();
  program.tensors.push_back(std::move(copy));
  return static_cast<TensorId>(program.tensors.size()) - 1;
}

void read_copy(Region& region, TensorId original, TensorId copy) {
  const auto replace = [&](TensorId& tensor) {
    if (tensor == original) tensor = copy;
  };
  for (Statement& statement : region.statements) {
    for (Expr& e : statement.nodes) {
      if (e.kind == Expr::Kind::access) replace(e.tensor);
    }
  }
  if (!region.graph) return;
  for (Node& node : region.graph->nodes) for_tensors(node, replace);
}

bool is_copy_statement(const Program& program, const Statement& statement) {
  const auto valid = [&](TensorId t) {
    return t >= 0 && static_cast<size_t>(t) < program.tensors.size();
  };
  if (!valid(statement.result) || statement.nodes.size() != 1) return false;
  const Tensor& copy = program.tensors[static_cast<size_t>(statement.result)];
  const Expr& access = statement.root();
  if (copy.copy_of.empty() || copy.role != Role::input || access.kind != Expr::Kind::access ||
      !valid(access.tensor)) {
    return false;
  }
  const bool of = program.tensors[static_cast<size_t>(access.tensor)].name == copy.copy_of;
  return of && std::equal(access.subscripts.begin(), access.subscripts.end(),
                          statement.result_indices.begin(), statement.result_indices.end(),
                          [](const Subscript& subscript, IndexId index) {
                            return subscript.is_plain() && subscript.plain() == index;
                          });
}

bool makes_copy(const Program& program, const Region& region) {
  return region.statements.size() == 1 && is_copy_statement(program, region.statements[0]);
}

Region copy_region(const Program& program, TensorId copy) {
  const Tensor& tensor = program.tensors[static_cast<size_t>(copy)];
  const TensorId original = original_of(program, copy);
  const auto taken = [&](const std::string& name) {
    return std::any_of(program.regions.begin(), program.regions.end(),
                       [&](const Region& region) { return region.name == name; });
  };
  Region region;
  region.name = unused_name(tensor.name, ".copy", 1, taken);
  region.where = tensor.where;
  region.statements.push_back(copy_statement(tensor, original, copy));
  Node node;
  node.kind = NodeKind::convert;
  node.tensor = copy;
  node.other_tensor = original;
  region.graph.emplace();
  region.graph->nodes.push_back(std::move(node));
  return region;
}

std::vector<TensorId> copies_read(const Program& program, const Region& region) {
  std::vector<TensorId> copies;
  if (makes_copy(program, region)) return copies;
  for (const TensorId tensor : tensors_read(region)) {
    const Tensor& t = program.tensors[static_cast<size_t>(tensor)];
    if (t.role == Role::input && !t.copy_of.empty()) copies.push_back(tensor);
  }
  return copies;
}

void add_copy_regions(Program& program) {
  std::set<TensorId> made;
  for (const Region& region : program.regions) {
    if (makes_copy(program, region)) made.insert(region.statements[0].result);
  }
  size_t first = 0;  // after the copies added so far
  for (size_t r = 0; r < program.regions.size(); ++r) {
    for (const TensorId copy : copies_read(program, program.regions[r])) {
      if (!made.insert(copy).second) continue;
      Region region = copy_region(program, copy);
      program.regions.insert(program.regions.begin() + static_cast<std::ptrdiff_t>(first++),
                             std::move(region));
      ++r;
    }
  }
}

Program without_copy_regions(Program program) {
  std::erase_if(program.regions, [&](const Region& region) { return makes_copy(program, region); });
  return program;
}

std::optional<std::string> wrong_copy(const Program& program, const Tensor& copy) {
  const std::string name = "%" + quote_if_needed(copy.name);
  const std::string of = "%" + quote_if_needed(copy.copy_of);
  const TensorId original = find_tensor(program, copy.copy_of);
  if (!copy.given()) {
    return fmt::format(
        "{} is declared copy({}), expected an input or a constant: what is computed "
        "has a statement",
        name, of);
  }
  if (original < 0) {
    return fmt::format("{} is a copy of {}, which is not declared, expected an input or a constant",
                       name, of);
  }
  const Tensor& tensor = program.tensors[static_cast<size_t>(original)];
  if (!tensor.copy_of.empty() || copy.name == copy.copy_of) {
    return fmt::format("{} is a copy of {}, which is a copy itself, expected its original", name,
                       of);
  }
  if (!same_elements(copy, tensor)) {
    return fmt::format("{} is a copy of {}, expected the same role, type, shape, fill and source",
                       name, of);
  }
  return std::nullopt;
}

std::optional<std::string> wrong_copy_region(const Program& program, const Region& region) {
  const bool alone = makes_copy(program, region);
  for (const Statement& s : region.statements) {
    if (alone || !is_copy_statement(program, s)) continue;
    return fmt::format(
        "region @{} makes the copy %{} among other statements, expected a region of "
        "its own",
        quote_if_needed(region.name),
        quote_if_needed(program.tensors[static_cast<size_t>(s.result)].name));
  }
  if (!region.graph || is_conversion(*region.graph) == alone) {
    if (!region.graph || !alone) return std::nullopt;
    const Node& node = region.graph->nodes[0];
    const Statement& made = region.statements[0];
    if (node.tensor == made.result && node.other_tensor == made.root().tensor) return std::nullopt;
  }
  return fmt::format("graph of region @{}: expected {}", quote_if_needed(region.name),
                     alone ? "one node `convert` that makes the copy that the statement defines"
                           : "`convert` only where the region's statement makes a copy, such as "
                             "`%c[i, j] = %a[i, j]` for a %c declared copy(%a)");
}

}  // namespace fuseflow
