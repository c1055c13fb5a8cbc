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
  const Site site{program, known, definitions};
  const auto each_statement = [&](const auto& find) {
    for (const Region& region : program.regions) {
      if (region.graph) continue;
      for (const Statement& statement : region.statements) find(site, statement, found);
    }
  };
  each_statement(find_products);
  find_common(site, found);
  each_statement(find_hoists);
  return found;
}

std::vector<std::string> statement_texts(const Program& program, const Rewrite& rewrite) {
  Program shown;
  shown.tensors = program.tensors;
  shown.tensors.insert(shown.tensors.end(), rewrite.tensors.begin(), rewrite.tensors.end());
  std::vector<std::string> texts;
  for (const Statement& s : rewrite.added) texts.push_back(print_statement(shown, s));
  for (const Statement& s : rewrite.replaced) texts.push_back(print_statement(shown, s));
  return texts;
}

}  // namespace fuseflow
