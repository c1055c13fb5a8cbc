// What tests of the reference share: the values of a program's tensors.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/parse.h"
#include "reference/reference.h"
#include "tensor/source.h"

namespace fuseflow {

/// One value a tensor; `text`: a program without its first line.
inline std::vector<Value> run(const std::string& text, const ReferenceOptions& options = {}) {
  const Program program = parse_program({"test", "fuseflow 1\n" + text});
  std::vector<std::shared_ptr<const Storage>> inputs(program.tensors.size());
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    const Tensor& tensor = program.tensors[t];
    if (tensor.source.kind == Source::Kind::none) continue;
    inputs[t] = std::make_shared<Storage>(load(tensor.source, known_shape(tensor), tensor.format,
                                               tensor.fill, {.element = tensor.type}));
  }
  return evaluate(program, inputs, options);
}

inline std::vector<Value> run_with_bounds(const std::string& text, ReferenceOptions options = {}) {
  options.bounds = true;
  return run(text, options);
}

}  // namespace fuseflow
