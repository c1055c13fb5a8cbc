#include "sim/report/check_rewrite.h"

#include <algorithm>

#include "ir/reference_order.h"
#include "ir/stored.h"

namespace fuseflow {
namespace {

using Inputs = std::vector<std::shared_ptr<const Storage>>;

/// What is computed as f32 alone. Inputs have been rounded as they were read.
Program in_f32(Program program) {
  for (Tensor& tensor : program.tensors) tensor.type = ElementType::f32;
  return program;
}

/// Temporaries that one of the two programs has alone. Where sums may be reordered, so may what is
/// rounded: each of them may be stored, or not.
struct Temporaries {
  std::vector<TensorId> before, after;
};

Temporaries apart(const Program& program) {
  const std::vector<Stored> stored = stored_tensors(program);
  std::vector<bool> read(program.tensors.size(), false);  // on the way to what both have
  for (size_t t = 0; t < read.size(); ++t) read[t] = program.tensors[t].role != Role::temporary;
  const std::vector<const Statement*> order = reference_order(program);
  for (auto s = order.rbegin(); s != order.rend(); ++s) {
    for (const Expr& e : (*s)->nodes) {
      if (e.kind == Expr::Kind::access && read[static_cast<size_t>((*s)->result)]) {
        read[static_cast<size_t>(e.tensor)] = true;
      }
    }
  }
  Temporaries found;
  for (const Statement* s : order) {
    const auto t = static_cast<size_t>(s->result);
    if (stored[t].region < 0) found.before.push_back(s->result);
    if (!read[t] && program.reference.reassociated) found.after.push_back(s->result);
  }
  return found;
}

class RewriteChecker {
 public:
  /// `what`: the program before, in an error.
  RewriteChecker(Program program, const Inputs& inputs, const CheckSettings& settings,
                 std::string what)
      : before_(std::move(program)),
        after_(without_reference(before_)),
        temporaries_(apart(before_)),
        inputs_(inputs),
        settings_(settings),
        what_(std::move(what)),
        computed_(before_.tensors.size()) {}

  std::vector<CheckedTensor> differences(const std::vector<TensorId>& written) {
    const std::vector<CheckedTensor> apart = compared(written, false);
    if (apart.empty()) return apart;
    std::vector<TensorId> again;
    again.reserve(apart.size());
    for (const CheckedTensor& one : apart) again.push_back(one.tensor);
    return compared(again, true);  // rounding may explain it
  }

 private:
  std::vector<CheckedTensor> compared(const std::vector<TensorId>& tensors, bool bounds) {
    evaluate_with(after_, bounds, tensors, temporaries_.after,
                  [&](TensorId t, const Value& value) { computed_[t] = value; });
    std::vector<CheckedTensor> apart;
    const auto compare = [&](TensorId t, const Value& expected) {
      if (std::find(tensors.begin(), tensors.end(), t) == tensors.end()) return;
      CheckedTensor one = fuseflow::compared(t, computed_[t], expected, RoundingScope::all,
                                             settings_.tolerance, what_);
      // Another infinity is not decided; numbers that rounding explains are the same.
      if (!one.passes || one.comparison.overflowed > 0) apart.push_back(std::move(one));
    };
    evaluate_with(before_, bounds, tensors, temporaries_.before, compare);
    return apart;
  }

  void evaluate_with(const Program& program, bool bounds, const std::vector<TensorId>& wanted,
                     const std::vector<TensorId>& maybe_stored,
                     std::function<void(TensorId, const Value&)> on_result) const {
    ReferenceOptions options = reference_options(settings_, bounds, wanted, std::move(on_result));
    options.maybe_stored = maybe_stored;
    evaluate(program, inputs_, options);
  }

  const Program before_, after_;
  const Temporaries temporaries_;
  const Inputs& inputs_;
  const CheckSettings& settings_;
  const std::string what_;
  std::vector<Value> computed_;
};

}  // namespace

bool needs_two_steps(const Program& program) {
  if (program.reference.statements.empty()) return false;
  const std::vector<const Statement*> all = reference_order(program);
  return std::any_of(all.begin(), all.end(), [&](const Statement* s) {
    return !holds_f32(program.tensors[static_cast<size_t>(s->result)].type);
  });
}

Program without_reference(Program program) {
  program.reference = {};
  return program;
}

std::vector<CheckedTensor> check_rewrite(const Program& program, const Inputs& inputs,
                                         const std::vector<TensorId>& written,
                                         const CheckSettings& settings) {
  std::vector<CheckedTensor> found;
  if (program.reference.reassociated) {  // the bounds of narrow types are wide
    found = RewriteChecker(in_f32(program), inputs, settings, "what it was rewritten from, in f32")
                .differences(written);
  }
  std::vector<TensorId> others = written;
  std::erase_if(others, [&](TensorId t) {
    return std::any_of(found.begin(), found.end(),
                       [&](const CheckedTensor& one) { return one.tensor == t; });
  });
  if (others.empty()) return found;
  for (CheckedTensor& one : RewriteChecker(program, inputs, settings, "what it was rewritten from")
                                .differences(others)) {
    found.push_back(std::move(one));
  }
  return found;
}

}  // namespace fuseflow
