#include "passes/alike.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace fuseflow {

namespace {

/// How far around a statement its form is looked at.
constexpr int kRounds = 3;

std::string shape_text(const Program& program, TensorId id) {
  const Tensor& tensor = program.tensors[static_cast<size_t>(id)];
  std::string text = to_string(tensor.format) + "[";
  for (const Extent& extent : tensor.shape) text += fmt::format("{},", extent.value);
  return text + "]";
}

std::string subscript_text(const Subscript& subscript) {
  std::string text;
  for (const auto& [index, factor] : subscript.terms) text += fmt::format("{}*{}+", factor, index);
  return text + fmt::format("{};", subscript.offset);
}

/// The statement without the names of its tensors and indices.
std::string form_of(const Program& program, const Statement& statement) {
  std::string text = shape_text(program, statement.result);
  for (const IndexId index : statement.result_indices) text += fmt::format(" {}", index);
  for (const Index& index : statement.indices) text += fmt::format(" :{}", index.extent);
  for (const Expr& node : statement.nodes) {
    text += fmt::format("|{} {} {} {} {}", static_cast<int>(node.kind), static_cast<int>(node.op),
                        static_cast<int>(node.reduction), node.constant, node.index);
    for (const IndexId index : node.over) text += fmt::format(" o{}", index);
    for (const int32_t child : node.children) text += fmt::format(" c{}", child);
    if (node.kind != Expr::Kind::access) continue;
    text += shape_text(program, node.tensor);
    for (const Subscript& subscript : node.subscripts) text += subscript_text(subscript);
  }
  return text;
}

/// Refines the classes of statements, round by round, by those of their neighbours.
class Classes {
 public:
  Classes(const Program& program, const Region& region) : region_(region) {
    std::map<std::string, int> known;
    for (const Statement& statement : region.statements) {
      of_[statement.result] = number(known, form_of(program, statement));
    }
  }

  int of(TensorId tensor) const { return of_.at(tensor); }

  void refine() {
    std::map<TensorId, std::vector<std::string>> used;  // by whom, and as which operand
    std::map<TensorId, std::string> text;
    for (const Statement& statement : region_.statements) {
      const int own = of(statement.result);
      std::string& all = text[statement.result] = fmt::format("{}", own);
      for (size_t n = 0; n < statement.nodes.size(); ++n) {
        const auto operand = of_.find(statement.nodes[n].tensor);
        if (statement.nodes[n].kind != Expr::Kind::access || operand == of_.end()) continue;
        all += fmt::format(" {}:{}", n, operand->second);
        used[operand->first].push_back(fmt::format("{}.{}", own, n));
      }
    }
    std::map<std::string, int> known;
    for (const Statement& statement : region_.statements) {
      std::string all = text[statement.result];
      std::vector<std::string>& users = used[statement.result];
      std::sort(users.begin(), users.end());
      for (const std::string& user : users) all += " <" + user;
      of_[statement.result] = number(known, all);
    }
  }

 private:
  static int number(std::map<std::string, int>& known, const std::string& text) {
    return known.try_emplace(text, static_cast<int>(known.size())).first->second;
  }

  const Region& region_;
  std::map<TensorId, int> of_;
};

}  // namespace

std::vector<std::vector<TensorGroup>> alike_tensors(const Program& program, const Region& region,
                                                    const TensorGroup& tensors) {
  std::vector<std::vector<TensorGroup>> levels;
  std::set<TensorGroup> seen;
  const auto add = [&](TensorGroup group) {
    if (seen.insert(group).second) levels.back().push_back(std::move(group));
  };
  Classes classes(program, region);
  for (int round = 0; round < kRounds; ++round) {
    std::map<int, TensorGroup> members;
    for (const TensorId tensor : tensors) members[classes.of(tensor)].push_back(tensor);
    levels.emplace_back();
    for (const TensorId tensor : tensors) add(members[classes.of(tensor)]);
    classes.refine();
  }
  levels.emplace_back();
  for (const TensorId tensor : tensors) add({tensor});
  return levels;
}

}  // namespace fuseflow
