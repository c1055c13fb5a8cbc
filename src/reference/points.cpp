#include "reference/points.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/sparsity.h"

namespace fuseflow::reference {

namespace {

[[noreturn]] void too_large(const Program& program, const Statement& statement,
                            const std::string& why) {
  throw Error(ExitCode::rejected, statement.where,
              fmt::format("the reference evaluation cannot spell out %{}: {}; run without --check, "
                          "or compare with a given result by --expect",
                          program.tensors[statement.result].name, why));
}

/// Accesses that together cover every present coordinate of the formula, each with all result
/// indices as plain subscripts. Of an intersection any one member suffices.
bool cover(const Statement& statement, const Presence& presence, std::vector<int32_t>& accesses) {
  switch (presence.kind) {
    case Presence::Kind::all:
      return false;
    case Presence::Kind::never:
      return true;
    case Presence::Kind::access: {
      const Expr& node = statement.nodes[presence.node];
      std::vector<bool> has(statement.indices.size(), false);
      for (const Subscript& subscript : node.subscripts) {
        if (!subscript.is_plain()) return false;
        has[subscript.plain()] = true;
      }
      for (const IndexId index : statement.result_indices) {
        if (!has[index]) return false;
      }
      accesses.push_back(presence.node);
      return true;
    }
    case Presence::Kind::intersection:
      for (const Presence& child : presence.children) {
        std::vector<int32_t> attempt = accesses;
        if (cover(statement, child, attempt)) {
          accesses = attempt;
          return true;
        }
      }
      return false;
    case Presence::Kind::union_:
      return std::all_of(presence.children.begin(), presence.children.end(),
                         [&](const Presence& child) { return cover(statement, child, accesses); });
  }
  return false;
}

/// The value of an expression without reductions at one point.
float at_point(const Program& program, const Statement& statement, const std::vector<Value>& values,
               int32_t position, const std::vector<int64_t>& index) {
  const Expr& node = statement.nodes[position];
  switch (node.kind) {
    case Expr::Kind::constant:
      return node.constant;
    case Expr::Kind::coordinate:
      return static_cast<float>(index[node.index]);
    case Expr::Kind::access: {
      const Value& value = values[node.tensor];
      std::vector<int64_t> coords;
      for (size_t d = 0; d < node.subscripts.size(); ++d) {
        int64_t coord = node.subscripts[d].offset;
        for (const auto& [loop, factor] : node.subscripts[d].terms) coord += factor * index[loop];
        if (coord < 0 || coord >= value.shape[d]) return program.tensors[node.tensor].fill;
        coords.push_back(coord);
      }
      return value.at(coords);
    }
    case Expr::Kind::apply: {
      std::vector<float> operands;
      for (const int32_t child : node.children) {
        operands.push_back(at_point(program, statement, values, child, index));
      }
      return evaluate(node.op, operands);
    }
    case Expr::Kind::reduce:
      too_large(program, statement, "it reduces inside a result beyond the size limit");
  }
  return 0;
}

}  // namespace

std::shared_ptr<const Storage> evaluate_points(const Program& program, const Statement& statement,
                                               const std::vector<Value>& values) {
  const NodeSparsity root = analyse(program, statement).back();
  std::vector<int32_t> accesses;
  if (!root.fill || !cover(statement, root.presence, accesses)) {
    too_large(program, statement, "no sparse operands cover it");
  }
  const std::vector<int64_t> shape = known_shape(program.tensors[statement.result]);
  std::vector<std::vector<int64_t>> points;
  std::vector<int64_t> index(statement.indices.size(), 0);
  for (const int32_t position : accesses) {
    const Expr& node = statement.nodes[position];
    const Value& value = values[node.tensor];
    if (!value.sparse) too_large(program, statement, "its operand is dense");
    for_each_stored(*value.sparse, [&](std::span<const int64_t> coords, float) {
      std::fill(index.begin(), index.end(), -1);
      for (size_t d = 0; d < coords.size(); ++d) {
        int64_t& at = index[node.subscripts[d].plain()];
        if (at >= 0 && at != coords[d]) return;  // off the diagonal
        at = coords[d];
      }
      std::vector<int64_t> point;
      for (const IndexId loop : statement.result_indices) point.push_back(index[loop]);
      points.push_back(std::move(point));
    });
  }
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
  Coo entries{shape, std::vector<std::vector<uint32_t>>(shape.size()), {}};
  const int32_t last = static_cast<int32_t>(statement.nodes.size()) - 1;
  for (const auto& point : points) {
    for (size_t d = 0; d < point.size(); ++d) {
      index[statement.result_indices[d]] = point[d];
      entries.coords[d].push_back(static_cast<uint32_t>(point[d]));
    }
    entries.values.push_back(at_point(program, statement, values, last, index));
  }
  const int rank = static_cast<int>(shape.size());
  return std::make_shared<Storage>(from_coo(std::move(entries), sparse_format(rank), *root.fill));
}

}  // namespace fuseflow::reference
