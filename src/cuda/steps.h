// Steps of kernels, one function for each kind that takes more than numbers.
#pragma once

#include "cuda/kernel.h"

namespace fuseflow::cuda {

inline Step step_of(StepKind what, int a = -1, int b = -1) {
  Step step;
  step.what = what;
  step.a = a;
  step.b = b;
  return step;
}

inline Step loop_of(std::string variable, int64_t extent, std::vector<Step> body) {
  Step step = step_of(StepKind::loop);
  step.variable = std::move(variable);
  step.extent = extent;
  step.body = std::move(body);
  return step;
}

inline Step when_of(std::vector<std::string> zero, std::vector<Step> body) {
  Step step = step_of(StepKind::when);
  step.zero = std::move(zero);
  step.body = std::move(body);
  return step;
}

inline Step count_of(std::string variable) {
  Step step = step_of(StepKind::count);
  step.variable = std::move(variable);
  return step;
}

inline Step multiply_of(int sums, FactorOf left, FactorOf right, Coordinate at = {}) {
  Step step = step_of(StepKind::multiply, sums);
  step.left = std::move(left);
  step.left.at = std::move(at);
  step.right = std::move(right);
  return step;
}

inline void append(std::vector<Step>& to, std::vector<Step> more) {
  for (Step& step : more) to.push_back(std::move(step));
}

}  // namespace fuseflow::cuda
