#include "sim/report/check_rewrite.h"

#include <algorithm>

#include "ir/stored.h"

namespace fuseflow {
namespace {

using Inputs = std::vector<std::shared_ptr<const Storage>>;

/// What is computed as f32 alone. Inputs have been rounded as they were read.
Program in_f32(Program program) {
  for (Tensor& tensor : program.tensors) tensor.type = ElementType::f32;
  return program;
}

class RewriteChecker {
 public:
  RewriteChecker(const Program& program, const Inputs& inputs, const CheckSettings& settings)
      : before_(in_f32(program)),
        after_(without_reference(before_)),
        inputs_(inputs),
        settings_(settings),
        computed_(program.tensors.size()) {}

  std::vector<CheckedTensor> differences(const std::vector<TensorId>& written) {
    evaluate_with(after_, false, written,
                  [&](TensorId t, const Value& value) { computed_[t] = value; });
    std::vector<CheckedTensor> apart = compared(written, false);
    if (apart.empty()) return apart;
    std::vector<TensorId> again;
    again.reserve(apart.size());
    for (const CheckedTensor& one : apart) again.push_back(one.tensor);
    return compared(again, true);  // rounding may explain it
  }

 private:
  std::vector<CheckedTensor> compared(const std::vector<TensorId>& tensors, bool bounds) const {
    std::vector<CheckedTensor> apart;
    evaluate_with(before_, bounds, tensors, [&](TensorId t, const Value& expected) {
      if (std::find(tensors.begin(), tensors.end(), t) == tensors.end()) return;
      CheckedTensor one =
          fuseflow::compared(t, computed_[t], expected, RoundingScope::all, settings_.tolerance,
                             "what it was rewritten from, in f32");
      if (!one.passes) apart.push_back(std::move(one));
    });
    return apart;
  }

  void evaluate_with(const Program& program, bool bounds, const std::vector<TensorId>& wanted,
                     std::function<void(TensorId, const Value&)> on_result) const {
    evaluate(program, inputs_, reference_options(settings_, bounds, wanted, std::move(on_result)));
  }

  const Program before_, after_;
  const Inputs& inputs_;
  const CheckSettings& settings_;
  std::vector<Value> computed_;
};

}  // namespace

bool needs_two_steps(const Program& program) {
  if (program.reference.statements.empty()) return false;
  const std::vector<Stored> stored = stored_tensors(program);
  for (size_t t = 0; t < stored.size(); ++t) {
    if (stored[t].written && !holds_f32(program.tensors[t].type)) return true;
  }
  return false;
}

Program without_reference(Program program) {
  program.reference = {};
  return program;
}

std::vector<CheckedTensor> check_rewrite(const Program& program, const Inputs& inputs,
                                         const std::vector<TensorId>& written,
                                         const CheckSettings& settings) {
  return RewriteChecker(program, inputs, settings).differences(written);
}

}  // namespace fuseflow
