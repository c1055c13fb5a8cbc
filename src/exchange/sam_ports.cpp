#include "exchange/sam_ports.h"

#include <optional>

namespace fuseflow {

namespace {

using comal::Operation;

StreamSlot slot(comal::CrdStream* crd) {
  return {crd, nullptr, nullptr, nullptr};
}
StreamSlot slot(comal::RefStream* ref) {
  return {nullptr, ref, nullptr, nullptr};
}
StreamSlot slot(comal::ValStream* val) {
  return {nullptr, nullptr, val, nullptr};
}
StreamSlot slot(comal::RepSigStream* signal) {
  return {nullptr, nullptr, nullptr, signal};
}

// Some fields hold streams of one type, whichever is named first: another type would replace it,
// and those who know where it was would point at nothing. So it finds no place.

template <typename Fork>
bool carries_another(const Fork& fork, const std::string& type) {
  return (fork.has_crd() && type != "crd") || (fork.has_ref() && type != "ref") ||
         (fork.has_val() && type != "val") || (fork.has_repsig() && type != "repsig");
}

template <typename Fork>
StreamSlot bundle_input(Fork& fork, const std::string& type) {
  if (carries_another(fork, type)) return {};
  if (type == "crd") return slot(fork.mutable_crd()->mutable_input());
  if (type == "ref") return slot(fork.mutable_ref()->mutable_input());
  if (type == "val") return slot(fork.mutable_val()->mutable_input());
  if (type == "repsig") return slot(fork.mutable_repsig()->mutable_input());
  return {};
}

template <typename Fork>
StreamSlot bundle_output(Fork& fork, const std::string& type) {
  if (carries_another(fork, type)) return {};
  if (type == "crd") return slot(fork.mutable_crd()->add_outputs());
  if (type == "ref") return slot(fork.mutable_ref()->add_outputs());
  if (type == "val") return slot(fork.mutable_val()->add_outputs());
  if (type == "repsig") return slot(fork.mutable_repsig()->add_outputs());
  return {};
}

StreamSlot payload_slot(comal::Joiner::Payload& payload, const std::string& type) {
  if (type == "val" && !payload.has_ref_stream()) return slot(payload.mutable_val_stream());
  if (type == "ref" && !payload.has_val_stream()) return slot(payload.mutable_ref_stream());
  return {};
}

/// Outer or inner, of a node that names the loops of both. The comment of an edge may be that of
/// its other end, where the same loop is on the other side: the loop decides, if it is one of them.
std::optional<bool> names_inner(const SamNode& node, const EdgeEnd& end) {
  const bool inner = end.name == node.attribute("inner");
  const bool outer = end.name == node.attribute("outer");
  if (inner != outer) return inner;
  if (end.side == "inner" || end.side == "outer") return end.side == "inner";
  return std::nullopt;
}

/// A comment that names neither is of the port that no other edge names.
bool is_inner(const SamNode& node, const EdgeEnd& end, const SamNode::NamedSides& named) {
  return names_inner(node, end).value_or(named.outer && !named.inner);
}

void note(const SamNode& node, const EdgeEnd& end, SamNode::NamedSides& named) {
  const std::optional<bool> inner = names_inner(node, end);
  if (inner) (*inner ? named.inner : named.outer) = true;
}

StreamSlot join_input(SamNode& node, const EdgeEnd& end) {
  comal::Joiner& join = *node.operation->mutable_joiner();
  const auto [pair, fresh] = node.pairs.try_emplace(end.name, join.input_pairs_size());
  if (fresh) {
    join.add_input_pairs();
    join.add_output_refs();
  }
  comal::Joiner::JoinBundle& bundle = *join.mutable_input_pairs(pair->second);
  if (end.type == "crd") return slot(bundle.mutable_crd());
  return payload_slot(*bundle.mutable_in_ref(), end.type);
}

StreamSlot join_output(SamNode& node, const EdgeEnd& end) {
  comal::Joiner& join = *node.operation->mutable_joiner();
  if (end.type == "crd") return slot(join.mutable_output_crd());
  const auto pair = node.pairs.find(end.name);
  if (pair == node.pairs.end()) return {};
  return payload_slot(*join.mutable_output_refs(pair->second), end.type);
}

StreamSlot repeat_input(comal::Repeat& op, const std::string& type) {
  if (type == "repsig") return slot(op.mutable_rep_sig());
  if (type == "ref" && !op.has_in_val()) return slot(op.mutable_in_ref());
  if (type == "val" && !op.has_in_ref()) return slot(op.mutable_in_val());
  return {};
}

StreamSlot repeat_output(comal::Repeat& op, const std::string& type) {
  if (type == "ref" && !op.has_out_val()) return slot(op.mutable_out_ref());
  if (type == "val" && !op.has_out_ref()) return slot(op.mutable_out_val());
  return {};
}

/// The coordinates of in0 are the innermost; in1, in2, .. are around them, outermost last.
StreamSlot accumulate_output(SamNode& node, const EdgeEnd& end) {
  comal::SparseAccumulator& op = *node.operation->mutable_spacc();
  if (end.type == "val") return slot(op.mutable_output_val());
  if (end.name == op.inner_crd()) return slot(op.mutable_output_inner_crd());
  for (int i = 0; i < op.outer_crds_size(); ++i) {
    if (op.outer_crds(i) != end.name) continue;
    while (op.output_outer_crds_size() < op.outer_crds_size()) op.add_output_outer_crds();
    return slot(op.mutable_output_outer_crds(i));
  }
  return {};
}

StreamSlot accumulate_input(SamNode& node, const EdgeEnd& end) {
  comal::SparseAccumulator& op = *node.operation->mutable_spacc();
  if (end.type == "val") return slot(op.mutable_input_val());
  const bool only = op.order() == 1 && op.outer_crds_size() == 0;  // a vector reducer
  const bool inner = end.name == op.inner_crd() || end.label == op.inner_crd();
  return only || inner ? slot(op.mutable_input_inner_crd()) : slot(op.add_input_outer_crds());
}

StreamSlot drop_input(SamNode& node, const EdgeEnd& end) {
  comal::CoordDrop& op = *node.operation->mutable_coord_drop();
  if (end.type == "val") return slot(op.mutable_input_inner_val());
  return is_inner(node, end, node.named_in) ? slot(op.mutable_input_inner_crd())
                                            : slot(op.mutable_input_outer_crd());
}

StreamSlot drop_output(SamNode& node, const EdgeEnd& end) {
  comal::CoordDrop& op = *node.operation->mutable_coord_drop();
  if (end.type == "val") return slot(op.mutable_output_inner_val());
  // Coordinates of a drop of values are outer ones; an index may be called `val`, too.
  const bool inner = !node.takes_values && is_inner(node, end, node.named_out);
  return inner ? slot(op.mutable_output_inner_crd()) : slot(op.mutable_output_outer_crd());
}

StreamSlot hold_input(SamNode& node, const EdgeEnd& end) {
  comal::CoordHold& op = *node.operation->mutable_coord_hold();
  return is_inner(node, end, node.named_in) ? slot(op.mutable_input_inner_crd())
                                            : slot(op.mutable_input_outer_crd());
}

StreamSlot hold_output(SamNode& node, const EdgeEnd& end) {
  comal::CoordHold& op = *node.operation->mutable_coord_hold();
  return is_inner(node, end, node.named_out) ? slot(op.mutable_output_inner_crd())
                                             : slot(op.mutable_output_outer_crd());
}

}  // namespace

void StreamSlot::set(uint64_t id) const {
  if (crd != nullptr) crd->mutable_id()->set_id(id);
  if (ref != nullptr) ref->mutable_id()->set_id(id);
  if (val != nullptr) val->mutable_id()->set_id(id);
  if (signal != nullptr) signal->mutable_id()->set_id(id);
}

const void* StreamSlot::address() const {
  if (crd != nullptr) return crd;
  if (ref != nullptr) return ref;
  if (val != nullptr) return val;
  return signal;
}

EdgeEnd::EdgeEnd(const DotEdge& edge, bool first) {
  const auto text = [&](const char* key) {
    const auto found = edge.attributes.find(key);
    return found == edge.attributes.end() ? std::string() : found->second;
  };
  type = text("type");
  name = text(first && edge.attributes.contains("from") ? "from" : "comment");
  if (text("label").starts_with(type + "_")) label = text("label").substr(type.size() + 1);
  if (name.empty()) name = label;
  for (const std::string part : {"in", "out", "inner", "outer"}) {
    const bool written = part.size() > 3 && name.starts_with(part + "_");
    if (!written && !name.starts_with(part + "-")) continue;
    side = part;
    name = name.substr(side.size() + 1);
    return;
  }
}

std::string SamNode::attribute(const std::string& key) const {
  const auto found = attributes.find(key);
  return found == attributes.end() ? std::string() : found->second;
}

void note_input(SamNode& node, const EdgeEnd& end) {
  note(node, end, node.named_in);
  node.takes_values = node.takes_values || end.type == "val";
}

void note_output(SamNode& node, const EdgeEnd& end) {
  note(node, end, node.named_out);
}

StreamSlot input_slot(SamNode& node, const EdgeEnd& end) {
  Operation& op = *node.operation;
  const std::string& type = end.type;
  switch (op.op_case()) {
    case Operation::kBroadcast:
      return bundle_input(*op.mutable_broadcast(), type);
    case Operation::kJoiner:
      return join_input(node, end);
    case Operation::kRepeat:
      return repeat_input(*op.mutable_repeat(), type);
    case Operation::kSpacc:
      return type == "crd" || type == "val" ? accumulate_input(node, end) : StreamSlot{};
    case Operation::kCoordDrop:
      return type == "crd" || type == "val" ? drop_input(node, end) : StreamSlot{};
    default:
      break;
  }
  if (type == "crd") {
    if (op.has_repeatsig()) return slot(op.mutable_repeatsig()->mutable_input_crd());
    if (op.has_fiber_write()) return slot(op.mutable_fiber_write()->mutable_input_crd());
    if (op.has_coord_hold()) return hold_input(node, end);
  }
  if (type == "ref") {
    if (op.has_fiber_lookup()) return slot(op.mutable_fiber_lookup()->mutable_input_ref());
    if (op.has_array()) return slot(op.mutable_array()->mutable_input_ref());
  }
  if (type == "val") {
    if (op.has_alu()) return slot(op.mutable_alu()->mutable_vals()->add_inputs());
    if (op.has_func()) return slot(op.mutable_func()->mutable_input_val());
    if (op.has_reduce()) return slot(op.mutable_reduce()->mutable_input_val());
    if (op.has_val_write()) return slot(op.mutable_val_write()->mutable_input_val());
  }
  return {};
}

StreamSlot output_slot(SamNode& node, const EdgeEnd& end) {
  Operation& op = *node.operation;
  const std::string& type = end.type;
  switch (op.op_case()) {
    case Operation::kBroadcast:
      return bundle_output(*op.mutable_broadcast(), type);
    case Operation::kRepeat:
      return repeat_output(*op.mutable_repeat(), type);
    case Operation::kJoiner:
      return join_output(node, end);
    case Operation::kSpacc:
      return type == "crd" || type == "val" ? accumulate_output(node, end) : StreamSlot{};
    case Operation::kCoordDrop:
      return type == "crd" || type == "val" ? drop_output(node, end) : StreamSlot{};
    default:
      break;
  }
  if (type == "repsig" && op.has_repeatsig()) {
    return slot(op.mutable_repeatsig()->mutable_output_rep_sig());
  }
  if (type == "crd") {
    if (op.has_fiber_lookup()) return slot(op.mutable_fiber_lookup()->mutable_output_crd());
    if (op.has_coord_hold()) return hold_output(node, end);
  }
  if (type == "ref") {
    if (op.has_root()) return slot(op.mutable_root()->mutable_output_ref());
    if (op.has_fiber_lookup()) return slot(op.mutable_fiber_lookup()->mutable_output_ref());
  }
  if (type == "val") {
    if (op.has_array()) return slot(op.mutable_array()->mutable_output_val());
    if (op.has_alu()) return slot(op.mutable_alu()->mutable_vals()->mutable_output());
    if (op.has_func()) return slot(op.mutable_func()->mutable_output_val());
    if (op.has_reduce()) return slot(op.mutable_reduce()->mutable_output_val());
  }
  return {};
}

}  // namespace fuseflow
