#include "cuda/table_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "ir/names.h"
#include "ir/print.h"
#include "ir/reference_order.h"
#include "support/error.h"

namespace fuseflow::cuda {
namespace {

constexpr int64_t kLeastRows = 2;  ///< of a single row nothing tells how far rows are apart

std::string quoted(const std::string& name) {
  return "%" + quote_if_needed(name);
}

[[noreturn]] void reject(const Location& where, std::string message) {
  throw Error(ExitCode::rejected, where, std::move(message));
}

bool is_declared(const Tensor& t) {
  return t.role != Role::temporary;
}

const Tensor* tensor_of(const Program& program, const std::string& name) {
  const TensorId id = find_tensor(program, name);
  return id < 0 ? nullptr : &program.tensors[static_cast<size_t>(id)];
}

/// Names of the tensors of which the first dimension differs between two programs that are equal
/// else.
std::set<std::string> differing(const Program& a, const Program& b) {
  std::set<std::string> names;
  for (const Tensor& t : b.tensors) {
    if (is_declared(t) && tensor_of(a, t.name) == nullptr)
      reject(t.where, fmt::format("{} is not in the first program of the table, expected the same "
                                  "inputs, constants and results",
                                  quoted(t.name)));
  }
  for (const Tensor& t : a.tensors) {
    const Tensor* other = tensor_of(b, t.name);
    if (other == nullptr && !is_declared(t)) continue;
    if (other == nullptr)
      reject(t.where, fmt::format("{} is not in every program of the table, expected the same "
                                  "inputs, constants and results",
                                  quoted(t.name)));
    if (t.role != other->role || t.type != other->type || t.format != other->format ||
        t.fill != other->fill || t.shape.size() != other->shape.size()) {
      reject(other->where, fmt::format("{} is declared otherwise than in the first program of the "
                                       "table, expected another number of rows alone",
                                       quoted(t.name)));
    }
    const std::vector<int64_t> shape = known_shape(t), others = known_shape(*other);
    for (size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] == others[d]) continue;
      if (d > 0)
        reject(other->where,
               fmt::format("dimension {} of {} is {}, and {} in the first program of the table; "
                           "expected that rows alone differ, the first dimension",
                           d + 1, quoted(t.name), others[d], shape[d]));
      names.insert(t.name);
    }
  }
  return names;
}

/// The statements that results need, by what they define.
std::map<std::string, std::string> statements_of(const Program& program) {
  std::map<std::string, std::string> texts;
  std::set<TensorId> needed;
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    if (program.tensors[t].role == Role::result) needed.insert(static_cast<TensorId>(t));
  }
  const std::vector<const Statement*> order = reference_order(program);
  for (size_t i = order.size(); i-- > 0;) {
    const Statement& s = *order[i];
    if (needed.count(s.result) == 0) continue;
    texts[program.tensors[static_cast<size_t>(s.result)].name] = print_statement(program, s);
    for (const Expr& node : s.nodes) {
      if (node.kind == Expr::Kind::access) needed.insert(node.tensor);
    }
  }
  return texts;
}

void require_same_statements(const Program& a, const Program& b) {
  const auto first = statements_of(a), second = statements_of(b);
  for (const auto& [name, text] : first) {
    const auto other = second.find(name);
    if (other != second.end() && other->second == text) continue;
    reject(tensor_of(a, name)->where,
           fmt::format("the programs of the table do not compute the same: `{}` and `{}`", text,
                       other == second.end() ? "no such statement" : other->second));
  }
}

/// Finds which intermediates have rows, and that every row of what has rows depends on the same row
/// alone.
class RowsOfProgram {
 public:
  RowsOfProgram(const Program& program, const std::set<std::string>& names) : program_(program) {
    for (size_t t = 0; t < program.tensors.size(); ++t) {
      const bool rows = names.count(program.tensors[t].name) != 0;
      made_.has_rows[static_cast<TensorId>(t)] = rows;
      if (rows) take_extent(program.tensors[t]);
    }
    if (made_.most < kLeastRows)
      reject({}, fmt::format("a program of the table has {} rows, expected {} at least", made_.most,
                             kLeastRows));
    for (const Region& region : program.regions) {
      for (const Statement& s : region.statements) check(s);
    }
  }

  TableRows take() { return std::move(made_); }

 private:
  const Tensor& tensor(TensorId id) const { return program_.tensors[static_cast<size_t>(id)]; }

  void take_extent(const Tensor& t) {
    const int64_t rows = t.shape[0].value;
    if (made_.most != 0 && made_.most != rows)
      reject(t.where, fmt::format("{} has {} rows, and others of this program have {}; expected "
                                  "one number",
                                  quoted(t.name), rows, made_.most));
    made_.most = rows;
  }

  void check(const Statement& s) {
    if (!made_.has_rows.at(s.result)) find_rows(s);
    const IndexId own = made_.has_rows.at(s.result) ? s.result_indices[0] : -1;
    for (const Expr& node : s.nodes) {
      if (node.kind != Expr::Kind::access) continue;
      const bool rows = made_.has_rows.at(node.tensor);
      const bool same = rows && node.subscripts[0].is_plain() && node.subscripts[0].plain() == own;
      if (rows && !same) refuse(s, node.tensor);
      for (size_t d = rows ? 1 : 0; d < node.subscripts.size(); ++d) {
        for (const auto& [index, factor] : node.subscripts[d].terms) {
          if (index == own) refuse(s, node.tensor);
        }
      }
    }
  }
  [[noreturn]] void refuse(const Statement& s, TensorId read) const {
    reject(s.where,
           fmt::format("`{}`: a row of the result needs other rows of {}, or their number; "
                       "expected rows that do not depend on each other",
                       print_statement(program_, s), quoted(tensor(read).name)));
  }
  /// An intermediate of which the extents of two programs do not tell.
  void find_rows(const Statement& s) {
    for (const Expr& node : s.nodes) {
      if (node.kind != Expr::Kind::access || !made_.has_rows.at(node.tensor)) continue;
      const bool first = !s.result_indices.empty() && node.subscripts[0].is_plain() &&
                         node.subscripts[0].plain() == s.result_indices[0];
      if (first && !is_declared(tensor(s.result))) made_.has_rows[s.result] = true;
    }
  }

  const Program& program_;
  TableRows made_;
};

}  // namespace

std::vector<TableRows> table_rows(const std::vector<Program>& programs) {
  std::set<std::string> names;
  for (size_t i = 1; i < programs.size(); ++i) {
    names.merge(differing(programs[0], programs[i]));
    require_same_statements(programs[0], programs[i]);
  }
  if (names.empty())
    reject({}, "the programs of the table have the same extents, expected different rows");
  std::vector<TableRows> all;
  std::map<std::string, int> numbers;
  for (const Program& program : programs) {
    all.push_back(RowsOfProgram(program, names).take());
    for (size_t t = 0; t < program.tensors.size(); ++t) {
      const int next = static_cast<int>(numbers.size());
      all.back().numbers[static_cast<TensorId>(t)] =
          numbers.emplace(program.tensors[t].name, next).first->second;
    }
    const auto same = [&](const TableRows& other) { return other.most == all.back().most; };
    if (std::find_if(all.begin(), all.end() - 1, same) != all.end() - 1)
      reject({}, fmt::format("two programs of the table have {} rows, expected different ones",
                             all.back().most));
  }
  return all;
}

}  // namespace fuseflow::cuda
