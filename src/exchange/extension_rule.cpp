// Operations that Comal has no kind for: nodes of ours, spelled out.
#include <fmt/format.h>

#include <algorithm>

#include "exchange/node_rules.h"
#include "nodes/rule.h"
#include "support/text.h"

namespace fuseflow {

namespace {

using comal::Extension;

std::vector<Input> inputs_of(NodeReader& r, const Extension& extension) {
  std::vector<Input> inputs;
  for (const Extension::Port& port : extension.inputs()) {
    const bool number = port.stream_case() == Extension::Port::kNumber;
    inputs.push_back(number ? Input{-1, port.number()}
                            : Input{r.take(key_of(port), "an input"), 0});
  }
  return inputs;
}

Node node_of(NodeReader& r, const Extension& extension, NodeKind kind) {
  const NodeFields& info = *node_rule(kind).fields;
  Node node = make_node(kind, inputs_of(r, extension));
  if (info.op) {
    const std::optional<Op> op = find_op(extension.op());
    if (!op) r.fail(fmt::format("operator '{}' is not known", printable(extension.op())));
    node.op = *op;
  }
  if (info.reduction) {
    const std::optional<Reduction> reduction = find_reduction(extension.reduction());
    if (!reduction) {
      r.fail(fmt::format("reduction '{}' is not known", printable(extension.reduction())));
    }
    node.reduction = *reduction;
  }
  if (info.tensor && !extension.tensor().empty()) {
    node.level = extension.level();
    const auto level = static_cast<uint64_t>(std::max(0, extension.level()));
    node.tensor = r.tensors().read_level(extension.tensor(), level);
  }
  node.order = extension.order();
  node.groups.assign(extension.groups().begin(), extension.groups().end());
  node.init = extension.init();
  node.offset = extension.offset();
  if (extension.has_stride()) node.stride = extension.stride();
  node.strides.assign(extension.strides().begin(), extension.strides().end());
  node.capacity = extension.capacity();
  node.least = extension.least();
  return node;
}

/// The spaces that a node opens, by their depth: outputs in as many loops are in one space.
class OpenedSpaces {
 public:
  OpenedSpaces(NodeReader& reader, int base) : r_(reader), base_(base) {}

  int space(const Extension::Port& port) {
    const int depth = port.loops_size();
    if (depth == 0) return GraphAssembler::kRootSpace;
    if (spaces_.empty()) {
      while (r_.graph().depth_of(base_) >= depth) base_ = r_.graph().parent_of(base_);
      spaces_.push_back(base_);
    }
    const int above = r_.graph().depth_of(spaces_[0]);
    if (depth <= above) r_.fail("an output in fewer loops than the one before");
    for (int d = above + static_cast<int>(spaces_.size()); d <= depth; ++d) {
      const int loop = r_.graph().loop(port.loops(d - 1), 0);
      spaces_.push_back(r_.graph().open(spaces_.back(), loop));
    }
    return spaces_[static_cast<size_t>(depth - above)];
  }

 private:
  NodeReader& r_;
  int base_;  ///< the space that all is opened below
  std::vector<int> spaces_;
};

/// The input whose space says where the outputs are; -1 if there is none.
StreamId leading_input(const Node& node) {
  if (node.inputs.empty()) return -1;
  if (node.kind == NodeKind::repeat) return node.inputs.back().stream;
  for (const Input& input : node.inputs) {
    if (!input.is_immediate()) return input.stream;
  }
  return -1;
}

void give(NodeReader& r, NodeId node, const Extension::Port& port, int space) {
  if (port.has_crd()) {
    r.give(node, StreamKind::crd, space, port.crd());
  } else if (port.has_ref()) {
    r.give(node, StreamKind::ref, space, port.ref());
  } else {
    r.give(node, StreamKind::val, space, port.val());
  }
}

}  // namespace

void read_extension(NodeReader& r, const Extension& extension) {
  const std::optional<NodeKind> kind = find_node_kind(extension.kind());
  if (!kind || !node_rule(*kind).exchange->extension) {
    r.fail(extension.kind().empty() ? "has an unknown kind"
                                    : "is not a node that may be an extension");
  }
  Node node = node_of(r, extension, *kind);
  const StreamId leading = leading_input(node);
  if (leading < 0) r.fail("has no input");
  // A reduction without a stream around its values gives one value.
  const bool outermost = *kind == NodeKind::reduce && node.inputs.size() == 1;
  const int base = outermost ? GraphAssembler::kRootSpace : r.graph().space_of(leading);
  const NodeId id = r.graph().add(std::move(node));
  OpenedSpaces opened(r, base);
  const bool stays = node_rule(*kind).exchange->stays_in_space;
  for (const Extension::Port& port : extension.outputs()) {
    give(r, id, port, stays ? base : opened.space(port));
  }
}

}  // namespace fuseflow
