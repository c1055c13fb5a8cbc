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

/// The steps of k that Kernel::steps has, where it has any, else this part of all of them.
inline Step walk_of(const Kernel& kernel, int64_t extent, Coordinate part, int64_t parts,
                    std::vector<Step> body) {
  Step walk = loop_of("k", extent, std::move(body));
  if (kernel.steps) walk.what = StepKind::walk;
  walk.part = std::move(part);
  walk.parts = parts;
  return walk;
}

/// What a core does that takes a step, and what it does where others alone take it.
inline std::vector<Step> where_taken(const Kernel& kernel, std::vector<Step> body,
                                     std::vector<Step> otherwise) {
  if (!kernel.steps || !kernel.steps->differ) return body;
  Step taken = step_of(StepKind::taken), passed = step_of(StepKind::passed);
  taken.body = std::move(body);
  passed.body = std::move(otherwise);
  std::vector<Step> all{std::move(taken)};
  if (!passed.body.empty()) all.push_back(std::move(passed));
  return all;
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
