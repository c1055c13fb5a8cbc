#include "exchange/ports.h"

#include <fmt/format.h>

#include "support/text.h"

namespace fuseflow {

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

/// The stream that a message is, if it is one.
bool as_stream(const Message& message, PortKey& key) {
  if (const auto* crd = dynamic_cast<const comal::CrdStream*>(&message))
    key = key_of(*crd);
  else if (const auto* ref = dynamic_cast<const comal::RefStream*>(&message))
    key = key_of(*ref);
  else if (const auto* val = dynamic_cast<const comal::ValStream*>(&message))
    key = key_of(*val);
  else if (const auto* sig = dynamic_cast<const comal::RepSigStream*>(&message))
    key = key_of(*sig);
  else
    return false;
  return true;
}

/// Streams in a message and below it. Names of fields say which of them are given: `output_crd`,
/// `out_ref`, `outputs`.
void collect(const Message& message, bool given, Ports& ports) {
  PortKey key;
  if (as_stream(message, key)) {
    if (key.id != 0) (given ? ports.outputs : ports.inputs).push_back(key);
    return;
  }
  const Reflection& fields = *message.GetReflection();
  std::vector<const FieldDescriptor*> set;
  fields.ListFields(message, &set);
  for (const FieldDescriptor* field : set) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const bool out = given || field->name().starts_with("out");
    if (!field->is_repeated()) {
      collect(fields.GetMessage(message, field), out, ports);
      continue;
    }
    for (int i = 0; i < fields.FieldSize(message, field); ++i) {
      collect(fields.GetRepeatedMessage(message, field, i), out, ports);
    }
  }
}

const FieldDescriptor* kind_field(const comal::Operation& operation) {
  if (operation.op_case() == comal::Operation::OP_NOT_SET) return nullptr;
  return comal::Operation::descriptor()->FindFieldByNumber(operation.op_case());
}

std::string tensor_of(const comal::Operation& operation) {
  switch (operation.op_case()) {
    case comal::Operation::kFiberLookup:
      return operation.fiber_lookup().tensor();
    case comal::Operation::kFiberWrite:
      return operation.fiber_write().tensor();
    case comal::Operation::kValWrite:
      return operation.val_write().tensor();
    case comal::Operation::kArray:
      return operation.array().tensor();
    default:
      return "";
  }
}

}  // namespace

PortKey key_of(const comal::Extension::Port& port) {
  if (port.has_crd()) return key_of(port.crd());
  if (port.has_ref()) return key_of(port.ref());
  return key_of(port.val());
}

Ports ports_of(const comal::Operation& operation) {
  Ports ports;
  const FieldDescriptor* kind = kind_field(operation);
  if (kind == nullptr) {
    collect(operation.extension(), false, ports);
    return ports;
  }
  collect(operation.GetReflection()->GetMessage(operation, kind), false, ports);
  for (const auto& port : operation.extension().inputs()) {
    if (key_of(port).id != 0) ports.looked_at.push_back(key_of(port));
  }
  return ports;
}

std::string kind_of(const comal::Operation& operation) {
  const FieldDescriptor* kind = kind_field(operation);
  return kind != nullptr ? kind->name() : operation.extension().kind();
}

std::string text_of(const comal::Operation& operation) {
  const std::string kind = kind_of(operation);
  std::string text = fmt::format("operation {}", operation.id());
  if (kind.empty()) return text;
  const std::string tensor = tensor_of(operation);
  return fmt::format("{} ({}{}{})", text, printable(kind), tensor.empty() ? "" : " ",
                     printable(tensor));
}

}  // namespace fuseflow
