#include "estimate/rows_written.h"

#include <algorithm>

namespace fuseflow::estimate {

double rows_written(const Structure& structure, const Counts& counts, const Node& writer) {
  const Tensor& tensor = structure.program->tensors[static_cast<size_t>(writer.tensor)];
  if (writer.inputs.empty() || writer.inputs[0].is_immediate()) return 1;
  const bool dense = tensor.format.all_dense();
  // Rows of a dense tensor are its outermost loop, if that is the phase's; else fibers of values.
  const StreamId stream = dense ? writer.inputs.front().stream : writer.inputs.back().stream;
  const int space = structure.space_of(stream);
  const SpaceCount& count = counts.space[static_cast<size_t>(space)];
  if (!dense) return std::max(1.0, count.nonempty);
  const int parent = structure.info(space).parent;
  const bool outermost = parent >= 0 && structure.info(parent).opening == Opening::root;
  return outermost ? std::max(1.0, count.elements) : 1;
}

double fibers_written(const Structure& structure, const Counts& counts, const Node& writer) {
  const int space = structure.space_of(writer.inputs.back().stream);
  return std::max(1.0, counts.space[static_cast<size_t>(space)].nonempty);
}

}  // namespace fuseflow::estimate
