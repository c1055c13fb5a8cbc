#include "explore/same_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "ir/copies.h"
#include "ir/data_facts.h"
#include "ir/names.h"
#include "ir/print.h"
#include "ir/sparsity.h"
#include "support/error.h"

namespace fuseflow {

namespace {

const std::string& name_of(const Program& program, TensorId tensor) {
  return program.tensors[static_cast<size_t>(tensor)].name;
}

/// `%c[i, j] = %t[i, j]` of an intermediate: what placing makes of one in another order.
bool is_whole_copy(const Program& program, const Statement& s) {
  const Tensor& copy = program.tensors[static_cast<size_t>(s.result)];
  if (copy.role != Role::temporary || s.nodes.size() != 1) return false;
  if (s.root().kind != Expr::Kind::access) return false;
  const Tensor& copied = program.tensors[static_cast<size_t>(s.root().tensor)];
  if (copy.type != copied.type || !same_constant(copy.fill, copied.fill)) return false;
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

/// What a tensor is, as it is declared: stored in any format, without what is known of its values,
/// and without the folder of its file, which may be written in several ways.
std::string meaning(const Tensor& declared, const Format& format) {
  Tensor tensor;
  tensor.name = declared.name;
  tensor.role = declared.role;
  tensor.type = declared.type;
  tensor.shape = declared.shape;
  tensor.fill = declared.fill;
  tensor.format = format;
  tensor.source = declared.source;
  tensor.source.path = std::filesystem::path(tensor.source.path).filename().string();
  tensor.source.nnz.reset();
  return print_tensor(tensor);
}

void compare_meaning(const Tensor& wanted, Tensor tensor) {
  tensor.name = wanted.name;  // that of its original
  const std::string there = meaning(wanted, wanted.format);
  const std::string here = meaning(tensor, wanted.format);
  if (here == there) return;
  throw Error(
      ExitCode::rejected, tensor.where,
      fmt::format("the seed has `{}`, the program that is searched `{}`; expected a seed of "
                  "the same tensors and data",
                  here, there));
}

/// Graphs leave out what facts say has no effect, so they are of data of which these hold.
/// `proved`: the tensor of the program that is searched.
void compare_facts(const Tensor& proved, const Tensor& tensor) {
  const Facts known = admitted_facts(proved);
  const Facts relied = tensor.given() ? admitted_facts(tensor) : tensor.assumed;
  if (joined(known, relied) == known) return;
  throw Error(ExitCode::rejected, tensor.where,
              fmt::format("the seed has graphs, made for data with `facts({})` of %{}; the program "
                          "that is searched has no such facts; expected a seed without graphs",
                          facts_text(relied), quote_if_needed(tensor.name)));
}

}  // namespace

Program on_same_data(const Program& kernels, Program program) {
  compare_statements(kernels, program);
  const bool graphs = std::any_of(program.regions.begin(), program.regions.end(),
                                  [](const Region& region) { return region.graph.has_value(); });
  std::vector<Tensor> proved;
  if (graphs)
    proved = proved_tensors(kernels, read_facts(kernels, [](const auto&) { return true; }));
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    Tensor& tensor = program.tensors[t];
    const TensorId original = original_of(program, static_cast<TensorId>(t));
    const TensorId there = find_tensor(kernels, name_of(program, original));
    if (there >= 0) {
      const Tensor& wanted = kernels.tensors[static_cast<size_t>(there)];
      compare_meaning(wanted, tensor);
      if (graphs) compare_facts(proved[static_cast<size_t>(there)], tensor);
      tensor.source = wanted.source;
      tensor.facts = wanted.facts;
      tensor.assumed = wanted.assumed;
    } else if (!tensor.given()) {  // a copy: what is known of it follows
      tensor.facts = tensor.assumed = {};
    }
  }
  return program;
}

}  // namespace fuseflow
