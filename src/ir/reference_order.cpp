#include "ir/reference_order.h"

#include <fmt/format.h>

#include "ir/names.h"

namespace fuseflow {

namespace {

/// Depth first over definitions, without recursion: chains of statements may be long.
class Sorter {
 public:
  explicit Sorter(const Program& program)
      : p_(program), definition_(program.tensors.size()), state_(program.tensors.size()) {
    for (const Region& region : p_.regions) {
      for (const Statement& s : region.statements) define(s);
    }
    for (const Statement& s : p_.reference.statements) define(s);
  }

  std::vector<const Statement*> run() {
    for (const Region& region : p_.regions) {
      for (const Statement& s : region.statements) visit(s.result);
    }
    for (const Statement& s : p_.reference.statements) visit(s.result);
    return std::move(sorted_);
  }

 private:
  enum class State : uint8_t { untouched, open, done };
  struct Frame {
    const Statement* statement;
    size_t next = 0;  ///< node that is looked at
  };

  void define(const Statement& s) { definition_[static_cast<size_t>(s.result)] = &s; }

  void visit(TensorId root) {
    open(root);
    while (!stack_.empty()) {
      Frame& top = stack_.back();
      if (top.next == top.statement->nodes.size()) {
        state_[static_cast<size_t>(top.statement->result)] = State::done;
        sorted_.push_back(top.statement);
        stack_.pop_back();
        continue;
      }
      const Expr& e = top.statement->nodes[top.next++];
      if (e.kind == Expr::Kind::access) open(e.tensor);
    }
  }

  void open(TensorId tensor) {
    const auto t = static_cast<size_t>(tensor);
    const Statement* definition = definition_[t];
    if (definition == nullptr || state_[t] == State::done) return;
    if (state_[t] == State::open) {
      throw Error(ExitCode::rejected, definition->where,
                  fmt::format("%{} needs its own value by the statements of the reference section, "
                              "expected an order in which producers come before consumers",
                              quote_if_needed(p_.tensors[t].name)));
    }
    state_[t] = State::open;
    stack_.push_back({definition});
  }

  const Program& p_;
  std::vector<const Statement*> definition_;  ///< by tensor
  std::vector<State> state_;                  ///< by tensor
  std::vector<Frame> stack_;
  std::vector<const Statement*> sorted_;
};

}  // namespace

std::vector<const Statement*> reference_order(const Program& program) {
  return Sorter(program).run();
}

}  // namespace fuseflow
