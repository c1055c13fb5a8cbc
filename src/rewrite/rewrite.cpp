#include "rewrite/rewrite.h"

#include <algorithm>

#include "ir/print.h"
#include "rewrite/site.h"

namespace fuseflow {

std::string_view rewrite_name(RewriteKind kind) {
  switch (kind) {
    case RewriteKind::reassociate:
      return "reassociate";
    case RewriteKind::factor:
      return "factor";
    case RewriteKind::collect:
      return "collect";
    case RewriteKind::hoist:
      return "hoist";
    case RewriteKind::common:
      return "common";
  }
  return "";
}

std::vector<Rewrite> find_rewrites(const Program& program, const std::vector<Tensor>& known) {
  std::vector<Rewrite> found;
  for (const Tensor& tensor : program.tensors) {
    for (const Extent& extent : tensor.shape) {
      if (!extent.known()) return found;
    }
  }
  const Definitions definitions(program);
  Site site{program, known, definitions, {}};
  for (const Tensor& tensor : program.tensors) site.names.insert(tensor.name);
  const auto each_statement = [&](const auto& find) {
    for (const Region& region : program.regions) {
      if (region.graph) continue;
      for (const Statement& statement : region.statements) find(site, statement, found);
    }
  };
  each_statement(find_products);
  find_common(site, found);
  each_statement(find_collections);
  each_statement(find_hoists);
  return found;
}

std::vector<std::string> statement_texts(const Program& program, const Rewrite& rewrite) {
  const auto text_of = [&](Statement statement) {
    Program shown;  // the tensors that the statement names, and no others: there may be many
    const auto show = [&](TensorId& tensor) {
      const auto t = static_cast<size_t>(tensor);
      const size_t given = program.tensors.size();
      shown.tensors.emplace_back();
      shown.tensors.back().name =
          t < given ? program.tensors[t].name : rewrite.tensors[t - given].name;
      tensor = static_cast<TensorId>(shown.tensors.size()) - 1;
    };
    show(statement.result);
    for (Expr& e : statement.nodes) {
      if (e.kind == Expr::Kind::access) show(e.tensor);
    }
    return print_statement(shown, statement);
  };
  std::vector<std::string> texts;
  for (const Statement& s : rewrite.added) texts.push_back(text_of(s));
  for (const Statement& s : rewrite.replaced) texts.push_back(text_of(s));
  return texts;
}

}  // namespace fuseflow
