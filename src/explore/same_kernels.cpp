#include "explore/same_kernels.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <utility>

#include "ir/copies.h"
#include "ir/names.h"
#include "ir/print.h"
#include "support/error.h"

namespace fuseflow {

namespace {

const std::string& name_of(const Program& program, TensorId tensor) {
  return program.tensors[static_cast<size_t>(tensor)].name;
}

/// `%c[i, j] = %t[i, j]` of an intermediate: what placing makes of one in another order.
bool is_whole_copy(const Program& program, const Statement& s) {
  const bool temporary = program.tensors[static_cast<size_t>(s.result)].role == Role::temporary;
  if (!temporary || s.nodes.size() != 1 || s.root().kind != Expr::Kind::access) return false;
  const std::vector<Subscript>& read = s.root().subscripts;
  if (read.size() != s.result_indices.size()) return false;
  for (size_t d = 0; d < read.size(); ++d) {
    if (!read[d].is_plain() || read[d].plain() != s.result_indices[d]) return false;
  }
  return true;
}

/// The statements of a program as texts without what is only names: of indices, of copies, of what
/// they come from.
class Texts {
 public:
  explicit Texts(const Program& program) : p_(program) {}

  /// Notes a statement that only copies; gives whether it does.
  bool note_copy(const Statement& s) {
    if (!is_whole_copy(p_, s)) return false;
    copies_[s.result] = read_as(s.root().tensor);
    return true;
  }

  std::string of(Statement s) const {
    Program shown;
    const auto show = [&](TensorId& tensor) {
      shown.tensors.emplace_back();
      shown.tensors.back().name = name_of(p_, read_as(tensor));
      tensor = static_cast<TensorId>(shown.tensors.size()) - 1;
    };
    show(s.result);
    for (Expr& e : s.nodes) {
      if (e.kind == Expr::Kind::access) show(e.tensor);
    }
    for (size_t i = 0; i < s.indices.size(); ++i) s.indices[i].name = fmt::format("i{}", i);
    s.from = {};
    return print_statement(shown, s);
  }

 private:
  TensorId read_as(TensorId tensor) const {
    const TensorId original = original_of(p_, tensor);
    const auto copy = copies_.find(original);
    return copy == copies_.end() ? original : copy->second;
  }

  const Program& p_;
  std::map<TensorId, TensorId> copies_;
};

/// Throws Error(rejected) where the statements of `program` are not those of `kernels`.
void compare_statements(const Program& kernels, const Program& program) {
  std::map<std::string, std::string> wanted;  // by result
  Texts there(kernels);
  for (const Region& region : kernels.regions) {
    for (const Statement& s : region.statements) {
      if (!there.note_copy(s)) wanted[name_of(kernels, s.result)] = there.of(s);
    }
  }
  Texts here(program);
  for (const Region& region : program.regions) {
    if (makes_copy(program, region)) continue;
    for (const Statement& s : region.statements) {
      if (here.note_copy(s)) continue;
      const auto found = wanted.find(name_of(program, s.result));
      if (found == wanted.end()) {
        throw Error(ExitCode::rejected, region.where,
                    fmt::format("%{} is not computed by the program that is searched, expected a "
                                "seed made of the same kernels",
                                quote_if_needed(name_of(program, s.result))));
      }
      const std::string text = here.of(s);
      if (text != found->second) {
        throw Error(ExitCode::rejected, region.where,
                    fmt::format("the seed computes `{}`, the program that is searched `{}`; "
                                "expected a seed made of the same kernels",
                                text, found->second));
      }
      wanted.erase(found);
    }
  }
  if (wanted.empty()) return;
  throw Error(ExitCode::rejected,
              fmt::format("%{} is not computed by the seed, expected a seed made of the same "
                          "kernels",
                          quote_if_needed(wanted.begin()->first)));
}

/// Files by their names: the folder may be written in several ways.
bool same_source(Source a, Source b) {
  for (Source* source : {&a, &b}) {
    source->path = std::filesystem::path(source->path).filename().string();
    source->nnz.reset();
  }
  return to_string(a) == to_string(b);
}

}  // namespace

Program on_same_data(const Program& kernels, Program program) {
  compare_statements(kernels, program);
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    Tensor& tensor = program.tensors[t];
    if (!tensor.given()) continue;
    const TensorId original = original_of(program, static_cast<TensorId>(t));
    const TensorId there = find_tensor(kernels, name_of(program, original));
    if (there < 0) continue;  // nothing reads it
    const Tensor& other = kernels.tensors[static_cast<size_t>(there)];
    if (tensor.type != other.type || !same_source(tensor.source, other.source)) {
      throw Error(ExitCode::rejected,
                  fmt::format("the seed reads %{} from `{}`, the program that is searched from "
                              "`{}`; expected a seed of the same data",
                              quote_if_needed(tensor.name), to_string(tensor.source),
                              to_string(other.source)));
    }
    tensor.source = other.source;
  }
  return program;
}

}  // namespace fuseflow
